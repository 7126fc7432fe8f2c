#!/bin/sh
# Builds kokctl for release, and measures how long it and kubeadm by hand take to bring a cluster to the next minor version. Not a test: the figures are this
# machine's.
#
# usage: bench-upgrade.sh [OPTION…]
#   OPTION  of the program bench-upgrade; see `bench-upgrade --help`
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

build() {
    compile
    cargo build --locked --release --bin kokctl
}

part 'packages and tools' sh tests/make/setup.sh test
part 'kokctl' build
part 'bundle' build_bundle older-release
"$programs/bench-upgrade" --kokctl "$CARGO_TARGET_DIR/release/kokctl" --bundle "$bundle" "$@"
