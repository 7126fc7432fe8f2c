#!/bin/sh
# Fetches a bundle from upstream itself, and verifies it; with REGISTRY in the environment it pushes the images there too, twice. For a machine with a
# network. No test runs it.
#
# usage: [REGISTRY=registry.example/folder] try.sh [VERSION [FOLDER]]   a release of Kubernetes, and where to put the bundle
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
echo "==> packages of Debian and Ubuntu"
# shellcheck disable=SC2086
$kokctl bundle create --kubernetes "$version" --architecture amd64,arm64 --packages debian-12,debian-13,ubuntu-22.04,ubuntu-24.04 --output "$folder"
# shellcheck disable=SC2086
$kokctl bundle verify "$folder"
if [ -n "${REGISTRY:-}" ]; then
    echo "==> to $REGISTRY, and again: nothing is sent"
    # shellcheck disable=SC2086
    $kokctl bundle push "$REGISTRY" "$folder"
    # shellcheck disable=SC2086
    $kokctl bundle push "$REGISTRY" "$folder"
fi
