#!/bin/sh
# Tests: what every change has to pass, everything, or with `unit` only what needs neither hosts nor the bundle.
#
# usage: test.sh unit|test
#        test.sh all [PART…]
#   test  of the long stories a few, by KOK_TEST_SEED (a number; without it any)
#   all   everything, or these parts of it: code, histories, readers, dist, and those of stories.txt
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"
# shellcheck source=stories.sh
. "$project/tests/make/stories.sh"

which=$1
shift
parts=$*
mkdir -p "$cache/test"
log=$cache/test/results.$$
status=$cache/test/status.$$
: >"$log"
cleanup() {
    end_stories
    rm -f "$log" "$status" "$queue.stories"
}

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
    # Many of them wait: for a deadline, or for an sshd.
    export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$(($(nproc) * 2))}"
    # Without the programs, which stories are told with in another profile, and without examples in docs, of which there are none: for them all of it would be
    # compiled once more.
    counted cargo test --locked --workspace --exclude kok-tests --lib --tests -- "$@"
    counted cargo test --locked -p kok-tests --lib
}

go_tests() {
    for test in tests/release/*/*/*_test.go; do
        (cd "$(dirname "$test")" && GOWORK=off GOFLAGS='' GOTOOLCHAIN=local counted go test -v ./...)
    done
}

# Nothing of it needs hosts.
code() {
    part 'checks of the setup' setup_checks
    part 'formatting' formatting
    part 'what may be in the program' sh tests/make/deny.sh
    part 'clippy' clippy
    part 'unit tests' unit
    if [ "$which" = unit ]; then
        skip 'tests of Go programs'
    else
        part 'tests of Go programs' go_tests
    fi
}

# Readers, with what nobody wrote: instrumenting them takes minutes.
readers() { sh tests/make/fuzz.sh "${KOK_TEST_READERS:-20}"; }

# What the unit tests take a thousand of, and four hundred upgrades.
histories() {
    counted env KOK_TEST_HISTORIES="${KOK_TEST_HISTORIES:-100000}" KOK_TEST_UPGRADES="${KOK_TEST_UPGRADES:-4000}" cargo test --locked -p kokctl --lib every_history_keeps_what_must_hold
}

# Where all stories are told there are some that need the older release.
bundle() {
    if [ "$which" = all ]; then build_bundle older-release; else build_bundle; fi
    export KOKCTL_BUNDLE="$bundle"
}

# A bundle that has Calico too. It takes minutes more, and one part alone needs it.
bundle_with_calico() {
    sh tests/make/setup.sh calico
    "$programs/release" build --with older-release --with calico --output "$cache/release/bundle-calico"
}

# A bundle that has Kubernetes 1.35 too, for the same reason.
bundle_with_oldest() {
    "$programs/release" build --with older-release --with oldest-release --output "$cache/release/bundle-oldest"
}

# What the stories are told with.
programs() {
    part 'kokctl, lab and release' compile
    part 'the stories' find_suites
    check_stories
    part 'bundle' bundle
}

# told PART…: the stories on standard input. Those that this time are not told are counted.
told() { part "$1" run_stories; }

is_wanted() {
    [ -z "$parts" ] || case " $parts " in *" $1 "*) ;; *) return 1 ;; esac
}

count() {
    print_times
    sh tests/make/count.sh <"$log"
}

every_part() {
    known="code histories readers dist $(stories | awk '!seen[$1]++ { print $1 }' | paste -sd ' ')"
    for one in $parts; do
        case " $known " in *" $one "*) ;; *) fail "there is no part $one" "PART=$parts" '' "one or some of: $known" ;; esac
    done
    export KOK_TEST_SEED=$seed
    if is_wanted code; then code; fi
    if is_wanted histories; then part 'part histories' histories; fi
    if is_wanted readers; then part 'part readers' readers; fi
    if is_wanted dist; then part 'part dist' sh tests/make/dist.sh; fi
    left=$(for one in $parts; do case $one in code | histories | readers | dist) ;; *) echo "$one" ;; esac done)
    if [ -n "$parts" ] && [ -z "$left" ]; then return; fi
    programs
    if is_wanted page; then part 'a browser' sh tests/make/setup.sh page; fi
    if is_wanted calico; then part 'bundle with Calico' bundle_with_calico; fi
    if is_wanted upgrades-far; then part 'bundle with Kubernetes 1.35' bundle_with_oldest; fi
    for one in ${known#code histories readers dist }; do
        if is_wanted "$one"; then
            drawn all | grep "^$one " >"$queue.stories"
            told "part $one" <"$queue.stories"
        fi
    done
}

some_of_it() {
    say "KOK_TEST_SEED=$seed"
    export KOK_TEST_SEED=$seed
    code
    programs
    drawn "$seed" >"$queue.stories"
    drawn all | grep -vxFf "$queue.stories" | while read -r _ _ _ story; do skip "the story $story"; done
    told 'stories on hosts' <"$queue.stories"
}

seed=${KOK_TEST_SEED:-$(($(now) % 10000))}
[ "$which" != all ] || seed=all
part 'packages and tools' sh tests/make/setup.sh "$([ "$which" = unit ] && echo unit || echo test)"
case $which in
    unit)
        code
        stories | while read -r _ _ _ _ story; do skip "the story $story"; done ;;
    test) some_of_it ;;
    all) every_part ;;
    *) fail "test.sh does not know $which" '' '' 'unit, test or all' ;;
esac
count
