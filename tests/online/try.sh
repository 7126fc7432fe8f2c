#!/bin/sh
# Fetches a bundle from upstream itself, and verifies it: for a machine with a network. No test runs it.
#
# usage: try.sh [VERSION [FOLDER]]   a release of Kubernetes, and where to put the bundle
set -eu
cd "$(dirname -- "$0")/../.."

version=${1:-1.36.3}
folder=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/kok/online/$version}
kokctl="cargo run --quiet --locked --release --bin kokctl --"

for architecture in amd64 arm64; do
    echo "==> Kubernetes $version for $architecture"
    # shellcheck disable=SC2086 # these are words
    $kokctl bundle create --kubernetes "$version" --architecture "$architecture" --output "$folder"
done
echo "==> again: nothing is fetched"
# shellcheck disable=SC2086
$kokctl bundle create --kubernetes "$version" --architecture amd64,arm64 --output "$folder"
# shellcheck disable=SC2086
$kokctl bundle verify "$folder"
