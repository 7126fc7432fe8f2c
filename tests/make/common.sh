# Sourced by the scripts of this folder: messages, times of parts, folders. They stop at the first error.
# shellcheck shell=sh
set -eu
umask 022

project=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$project"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/kok
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
# shellcheck disable=SC2034 # for those who source this
programs=$CARGO_TARGET_DIR/debug

# sudo and CI often have a PATH without the usual folders of Rust and Go.
PATH=$PATH:$HOME/.cargo/bin:${GOROOT:-/usr/local/go}/bin:/usr/sbin:/sbin
export PATH

say() { printf '%s\n' "$*" >&2; }

# Checkouts share this folder, and cargo takes what one of them built for the other's where its files are older: what is ours is built again.
if [ -d "$CARGO_TARGET_DIR" ] && [ "$(cat "$CARGO_TARGET_DIR/checkout" 2>/dev/null)" != "$project" ]; then
    find . -path ./target -prune -o -name '*.rs' -exec touch {} +
    printf '%s\n' "$project" >"$CARGO_TARGET_DIR/checkout"
fi

# fail WHAT AT BECAUSE HINT: ends the script in the form of kokctl's own errors; empty parts are left out.
fail() {
    say "error: $1"
    if [ -n "$2" ]; then say "     at: $2"; fi
    if [ -n "$3" ]; then say "because: $3"; fi
    if [ -n "$4" ]; then say "   hint: $4"; fi
    exit 1
}

now() { date +%s%3N; }
seconds() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# The part that is at work, for the message when it fails; the times of those that are done.
part='' times='' began=$(now)

# part NAME COMMAND…: runs a part and keeps its time. COMMAND may be a function: errors end it as they end the script.
part() {
    part=$1 part_began=$(now)
    shift
    say "==> $part"
    "$@"
    times=$times$(printf '%-28s %10s' "$part" "$(seconds $(($(now) - part_began)))")'
'
    part=''
}

print_times() {
    say ''
    printf '%s' "$times" >&2
    say "$(printf '%-28s %10s' total "$(seconds $(($(now) - began)))")"
}

# What stories, demo and benches run. With an example, for then all of it has the features that the unit tests have (tests/Cargo.toml), and is compiled once.
compile() { cargo build --locked --workspace --bins --example two_clusters; }

# The bundle, in $bundle. The older release takes minutes: with `older-release` it is built, and otherwise taken where that was done.
build_bundle() {
    if [ "${1:-}" = older-release ]; then older=--with; else older=--with-built; fi
    bundle=$("$programs/release" build "$older" older-release)
}

# What a script has to clean up when it ends; it may define its own.
cleanup() { :; }

ended() {
    code=$?
    cleanup
    if [ "$code" -ne 0 ] && [ -n "$part" ]; then
        say "FAILED: $part, after $(seconds $(($(now) - part_began)))"
    fi
    exit "$code"
}
trap ended EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
