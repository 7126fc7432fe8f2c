#!/bin/sh
# Builds kokctl for release, and measures how long whole clusters take by it, and by kubeadm. Not a test: the figures are this machine's.
#
# usage: bench-clusters.sh create|upgrade|grow [OPTION…]
#   OPTION  of the program bench-clusters; see `bench-clusters create --help`
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

build() {
    compile
    cargo build --locked --release --bin kokctl
}

case ${1:-} in
    create | grow) with= ;;
    upgrade) with=older-release ;;
    *) fail "bench-clusters.sh does not know what to measure: ${1:-nothing}" '' '' 'one of create, upgrade, grow' ;;
esac
what=$1
shift

part 'packages and tools' sh tests/make/setup.sh test
part 'kokctl' build
part 'bundle' build_bundle $with
"$programs/bench-clusters" "$what" --kokctl "$CARGO_TARGET_DIR/release/kokctl" --bundle "$bundle" "$@"
