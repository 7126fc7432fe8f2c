#!/bin/sh
# Makes what a release of kokctl consists of, and tries it: the archive in an empty root, where there is no library to load.
#
# usage: dist.sh [FOLDER]   where the files go; without it `dist` in the cache
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

output=${1:-$cache/dist}
case $(uname -m) in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    *) fail "no release is made for $(uname -m)" '' '' 'run it on x86_64 or aarch64' ;;
esac
target=$(uname -m)-unknown-linux-gnu
# The time of the sources, so that the same sources make the same files.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
registry=${CARGO_HOME:-$HOME/.cargo}
# Each node that the operator moves to fetches it.
most_image_bytes=45000000

# A static program with addresses of its own at each start (static-pie), of glibc, which has the resolvers `files` and `dns` built in. Nothing of
# this machine's folders stands in it.
build() {
    cargo build --locked -p kok-tests --bin dist --bin release
    RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$project=kokctl --remap-path-prefix=$registry=cargo" \
        CFLAGS="-ffile-prefix-map=$registry=cargo" \
        cargo build --locked --release --bin kokctl --target "$target"
}

pack() {
    "$programs/dist" --program "$CARGO_TARGET_DIR/$target/release/kokctl" --sources "$project" --target "$target" \
        --architecture "$architecture" --epoch "$epoch" --output "$output"
}

# The image of `kokctl operator`, of the same program and the authorities of this machine.
image() {
    archive=$(ls "$output"/kokctl-*-linux-"$architecture".tar.gz)
    file=$(basename "$archive" .tar.gz)
    file=kokctl-operator-${file#kokctl-}.tar
    "$programs/release" operator-image --program "$CARGO_TARGET_DIR/$target/release/kokctl" --output "$output/$file"
    # Nothing of the archive is packed, so it is as large as what a node keeps of it.
    bytes=$(wc -c <"$output/$file")
    [ "$bytes" -le "$most_image_bytes" ] || fail "the operator's image has $bytes bytes" "$output/$file" "$most_image_bytes are the most" \
        'see what has grown (nm --size-sort of a program with CARGO_PROFILE_RELEASE_STRIP=none), or make more of it small in Cargo.toml'
    (cd "$output" && sha256sum "$file" >>SHA256SUMS)
}

try() {
    root=$(mktemp -d)
    archive=$(ls "$output"/kokctl-*-linux-"$architecture".tar.gz)
    tar -xzf "$archive" -C "$root" --strip-components=1
    (cd "$output" && sha256sum --quiet --check SHA256SUMS)
    said=$("$root/kokctl" --version)
    if [ "$(id -u)" -eq 0 ]; then
        inside=$(chroot "$root" /kokctl --version) || fail 'the program does not start in an empty root' "$archive" '' 'see what it says above'
        [ "$inside" = "$said" ] || fail "in an empty root it says $inside" "$archive" '' ''
    fi
    # By what is in the home: that of root, /root/, stands in texts of the program's too.
    folders=$(ls -A "$HOME" | sed "s|^|$HOME/|")
    found=$(grep -aoF -e "$folders" -e "$project/" -e "$registry/" -e "$CARGO_TARGET_DIR/" "$root/kokctl" | sort -u | paste -sd ' ' -)
    [ -z "$found" ] || fail 'folders of this machine stand in the program' "$archive" "it has $found" \
        'have the compiler write something else in their place (--remap-path-prefix in tests/make/dist.sh)'
    rm -rf "$root"
    say "$said: $output"
}

part 'packages and tools' sh tests/make/setup.sh unit
part 'kokctl, static' build
part 'archive, package, SBOM, sums' pack
part 'image of the operator' image
part 'a try' try
