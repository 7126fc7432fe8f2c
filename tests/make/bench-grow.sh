#!/bin/sh
# Builds kokctl for release, and measures how long hosts take that join a cluster by it, and by kubeadm. Not a test: the figures are this machine's.
#
# usage: bench-grow.sh [OPTION…]
#   OPTION  of the program bench-grow; see `bench-grow --help`
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

build() {
    compile
    cargo build --locked --release --bin kokctl
}

part 'packages and tools' sh tests/make/setup.sh test
part 'kokctl' build
part 'bundle' build_bundle
"$programs/bench-grow" --kokctl "$CARGO_TARGET_DIR/release/kokctl" --bundle "$bundle" "$@"
