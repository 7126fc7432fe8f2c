#!/bin/sh
# Feeds every reader with inputs that nobody wrote, for a short while: what is found here is found before users find it.
#
# usage: fuzz.sh SECONDS   for each target
#
# What cargo-fuzz does, without its nightly compiler: libFuzzer needs the coverage of the code, and the sanitizers' passes are in every
# rustc. For hours on end, or to make a finding smaller, take cargo-fuzz itself; see the fuzz folders' Cargo.toml.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

seconds=$1
corpus=$cache/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
CARGO_TARGET_DIR=$CARGO_TARGET_DIR/fuzz
export CARGO_TARGET_DIR
coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
 -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares'

# With a target named, programs that run while it is built are not instrumented.
for folder in crds tasks; do
    RUSTFLAGS="--cfg fuzzing $(printf '%s' "$coverage" | tr -d '\n')" \
        cargo build --quiet --locked --release --target "$triple" --manifest-path "$folder/fuzz/Cargo.toml"
done

# fuzz TARGET SEED…: it begins with what the project keeps, small files of every syntax, and with what tests have anyway; what is found to
# be interesting on the way is kept in the cache.
fuzz() {
    target=$1
    shift
    mkdir -p "$corpus/$target"
    if ! "$CARGO_TARGET_DIR/$triple/release/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="$corpus/$target-" "$corpus/$target" "$@" >"$corpus/$target.log" 2>&1; then
        tail -n 40 "$corpus/$target.log" >&2
        fail "the fuzz target $target found something" "$corpus/$target.log" '' 'run the target with the file that the log names; keep that input as a test'
    fi
    say "$(printf '%-14s %s' "$target" "$(sed -n 's/^Done \(.*\)/\1/p' "$corpus/$target.log")")"
}

for target in inventory ini expressions objects arguments input machines manifest; do
    fuzz "$target" "crds/fuzz/seeds/$target" tests/corpus
done
for target in facts observations plan; do
    fuzz "$target" tasks/tests/fixtures/answers
done
fuzz document tasks/fuzz/seeds/document
