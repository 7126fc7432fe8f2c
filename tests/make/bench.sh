#!/bin/sh
# Builds kokctl for release and what it is compared with, and measures both. Not a test: the figures are this machine's.
#
# usage: bench.sh [OPTION…]
#   OPTION  of the program bench; see `bench --help`
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

release=$CARGO_TARGET_DIR/release

build() {
    compile
    cargo build --locked --release --bin kokctl
    cargo build --locked --release -p kok-tests --example floor --bin upstream
}

part 'packages and tools' sh tests/make/setup.sh test
part 'kokctl, and what it is compared with' build
part 'bundle' build_bundle
"$programs/bench" --kokctl "$release/kokctl" --floor "$release/examples/floor" --upstream "$release/upstream" --bundle "$bundle" "$@"
