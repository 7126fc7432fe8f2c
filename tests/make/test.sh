#!/bin/sh
# Everything that can be tested on one machine, or with `unit` only what needs neither hosts nor the bundle.
#
# usage: test.sh unit|faults|all
#   faults  all faults on hosts of the lab, of which `all` takes a few
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

which=$1
mkdir -p "$cache/test"
log=$cache/test/results.$$
status=$cache/test/status.$$
: >"$log"
cleanup() { rm -f "$log" "$status"; }

# counted COMMAND…: runs it, keeps its output for the count at the end, and ends as it did.
counted() {
    { "$@" 2>&1 && echo 0 >"$status" || echo $? >"$status"; } | tee -a "$log"
    return "$(cat "$status")"
}

# skip NAME: what is not run this time is counted, as skipped.
skip() { echo "skip - $1" | tee -a "$log"; }

formatting() { cargo fmt --all --check; }
clippy() { cargo clippy --locked --workspace --all-targets -- -D warnings; }
setup_checks() {
    counted sh tests/make/setup_test.sh
    counted sh tests/make/count_test.sh
}

# The tests of the SSH transport start an sshd in namespaces of its own.
unit() {
    set --
    if [ "$(id -u)" -ne 0 ] || [ ! -x /usr/sbin/sshd ] || ! command -v sudo >/dev/null; then
        skip 'tests of the SSH transport: they need root and the packages openssh-server and sudo'
        set -- --skip remote::tests
    fi
    counted cargo test --locked --workspace --exclude kok-tests -- "$@"
    counted cargo test --locked -p kok-tests --lib --bins
}

go_tests() {
    for test in tests/release/*/*/*_test.go; do
        (cd "$(dirname "$test")" && GOWORK=off GOFLAGS='' GOTOOLCHAIN=local counted go test -v ./...)
    done
}

count() {
    print_times
    sh tests/make/count.sh <"$log"
}

bundle() {
    KOKCTL_BUNDLE=$("$programs/release" build)
    export KOKCTL_BUNDLE
}

if [ "$which" = faults ]; then
    part 'packages and tools' sh tests/make/setup.sh test
    part 'kokctl, lab and release' cargo build --locked --workspace --bins
    part 'bundle' bundle
    export KOK_TEST_FAULTS=all
    part 'lab: faults' counted cargo test --locked -p kok-tests --test faults -- --test-threads=1 --nocapture
    count
    exit
fi
part 'packages and tools' sh tests/make/setup.sh "$([ "$which" = all ] && echo test || echo unit)"
part 'checks of the setup' setup_checks
part 'formatting' formatting
part 'what may be in the program' sh tests/make/deny.sh
part 'clippy' clippy
part 'unit tests' unit
# Not where people only want to know whether they broke something: instrumenting takes minutes.
if [ "$which" = unit ]; then
    skip 'readers, with what nobody wrote'
    skip 'tests of Go programs'
    for file in tests/tests/*.rs; do skip "the suite $(basename "$file" .rs)"; done
else
    part 'readers, with what nobody wrote' sh tests/make/fuzz.sh 3
    part 'tests of Go programs' go_tests
    part 'kokctl, lab and release' cargo build --locked --workspace --bins
    part 'bundle' bundle
    part 'the bundle'\''s builder' counted cargo test --locked -p kok-tests --test release_build -- --ignored
    part 'what Kubernetes knows' counted cargo test --locked -p kok-tests --test known
    # One after the other: each boots hosts, and two of them would only take the processors from each other.
    for file in tests/tests/*.rs; do
        test=$(basename "$file" .rs)
        case $test in release_build | known) continue ;; esac
        # One that hangs ends itself, and its lab goes with the next.
        part "lab: $test" counted timeout --kill-after=60 3600 cargo test --locked -p kok-tests --test "$test" -- --test-threads=1 --nocapture
    done
fi
count
