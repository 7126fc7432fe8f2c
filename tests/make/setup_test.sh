#!/bin/sh
# What setup.sh says on a machine that lacks something: run with programs that only pretend.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

folder=$(mktemp -d)
# shellcheck disable=SC2317 # common.sh calls it
cleanup() { rm -rf "$folder"; }
failed=0

# pretend NAME WORDS…: a program NAME that prints the words.
pretend() {
    name=$1
    shift
    printf '#!/bin/sh\necho "%s"\n' "$*" >"$folder/$name"
    chmod +x "$folder/$name"
}

# The system's programs but Go and Rust.
system=$folder/system
mkdir "$system"
for program in sh awk cat cut date dirname dpkg-query env grep head id mkdir printf sed sort tail tr; do
    ln -s "$(command -v "$program")" "$system/$program"
done

# says TARGET TEXT…: setup.sh TARGET must fail and say each text, among them the four parts of an error.
says() {
    target=$1
    shift
    if output=$(env -i HOME=/nonexistent GOROOT=/nonexistent PATH="$folder:$system" sh tests/make/setup.sh "$target" 2>&1); then
        echo "not ok - setup.sh $target succeeded"
        failed=1
        return
    fi
    for text in 'error: ' "$@"; do
        case $output in *"$text"*) ;; *)
            echo "not ok - setup.sh $target does not say \"$text\":"
            echo "$output"
            failed=1
            return ;;
        esac
    done
    echo "ok - setup.sh $target: $1"
}

rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
pretend cargo cargo
says bundle 'there is no rustc' "Rust $rust or newer" 'hint: '
pretend rustc 'rustc 1.9.0 (0 2016-05-23)'
says bundle 'Rust 1.9.0 is too old' "Rust $rust or newer" 'hint: '
pretend rustc "rustc $rust.0 (0 2026-01-01)"
says bundle 'there is no go' 'because: ' 'go.dev/dl'
pretend go go1.9.7
says bundle 'Go go1.9.7 is too old' "at: $folder/go" 'go.mod asks for Go' 'go.dev/dl'
pretend go go1.999
pretend id 0
pretend dpkg-query nothing
ln -s "$(command -v false)" "$folder/apt-get"
says bundle 'packages could not be installed' 'binutils' 'because: ' 'hint: '
pretend id 1000
says bundle 'packages are missing' 'binutils' 'only root' 'apt-get install'
pretend dpkg-query installed
ln -s "$(command -v false)" "$folder/apt-cache"
says bundle 'apt knows no package haproxy' 'only root' 'sudo apt-get update'
pretend rustfmt rustfmt
pretend cargo-clippy clippy
pretend dpkg-query nothing
says unit 'packages are missing' 'python3-venv' 'only root' 'apt-get install'
pretend dpkg-query installed
pretend id 0
says bundle 'lists of packages could not be updated' 'because: ' 'hint: '
pretend id 1000
says demo 'has to be run as root' 'at: user' 'make test-unit'
exit "$failed"
