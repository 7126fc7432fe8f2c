#!/bin/sh
# Builds kokctl for release, and measures how long it and kubeadm take to make a cluster. Not a test: the figures are this machine's.
#
# usage: bench-create.sh [OPTION…]
#   OPTION  of the program bench-create; see `bench-create --help`
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

build() {
    compile
    cargo build --locked --release --bin kokctl
}

part 'packages and tools' sh tests/make/setup.sh test
part 'kokctl' build
part 'bundle' build_bundle
"$programs/bench-create" --kokctl "$CARGO_TARGET_DIR/release/kokctl" --bundle "$bundle" "$@"
