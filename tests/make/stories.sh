# Sourced by test.sh: the stories of stories.txt, which of them are drawn, and two of them side by side.
# shellcheck shell=sh

queue=$cache/test/queue.$$
logs=$cache/test/logs
suites=

# Every line of stories.txt that says something.
stories() { sed '/^ *#/d;/^ *$/d' tests/make/stories.txt; }

# The program with all suites, as cargo says where it is, and what a suite runs beside itself.
find_suites() {
    suites=$(cargo test --locked -p kok-tests --test suites --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
    [ -n "$suites" ] || fail 'cargo did not say where the tests are' 'cargo test -p kok-tests --test suites --no-run' '' 'run that and see'
    case $suites in /*) ;; *) suites=$project/$suites ;; esac
}

# Each test is in one story; a fault that is chosen by name is of the same test.
check_stories() {
    "$suites" --list 2>/dev/null | sed -n 's/: test$//p' | while read -r test; do
        found=0
        for story in $(stories | awk '{ print $5 }' | sort -u); do
            case $test in *"$story"*) found=$((found + 1)) ;; esac
        done
        [ "$found" = 1 ] || fail "the test $test is in $found stories" tests/make/stories.txt '' 'give it one line there'
    done
}

# has NEEDS: whether the bundle has what a story needs besides.
has() {
    case $1 in
        -) ;;
        older)
            release=$(grep -l '^group: older-release' tests/release/kubernetes/*/component.yaml)
            release=${release%/*}
            grep -q "/v${release##*/}/" "$KOKCTL_BUNDLE/bundle.json" ;;
        *) fail "a story needs $1" tests/make/stories.txt '' 'there is: older' ;;
    esac
}

# drawn SEED: the stories that this seed takes, in their order. One without a place among the first DRAWN of those of its part that may be drawn is
# left out, and so is one that needs what is not built, unless all are to be told.
drawn() {
    stories | while read -r part count needs lane story more; do
        [ "$1" = all ] || has "$needs" || continue
        place=x$(printf '%s %s %s' "$1" "$part" "$story" | sha256sum | cut -c 1-16)
        printf '%s %s %s %s %s\n' "$place" "$part" "$count" "$lane" "$story${more:+ $more}"
    done | awk -v seed="$1" '
        { place[NR] = $1; part[NR] = $2; count[NR] = $3; line[NR] = $0; sub(/^[^ ]+ /, "", line[NR]) }
        END {
            for (i = 1; i <= NR; i++) {
                before = 0
                for (j = 1; j <= NR; j++) if (part[j] == part[i] && count[j] != "-" && place[j] < place[i]) before++
                if (seed == "all" || count[i] == "all" || (count[i] != "-" && before < count[i])) print line[i]
            }
        }'
}

# tell STORY CODE MILLISECONDS: its whole output, in one piece, and what it came to.
tell() {
    file=$logs/$(name_of "$1").log
    said=$([ "$2" = 0 ] && echo ok || echo FAILED)
    {
        flock 9
        say "==> $1: $said, $(seconds "$3")"
        cat "$file"
        [ "$2" = 0 ] || say "FAILED: the story $1; all of it is in $file"
        cat "$file" >>"$log"
        printf '  %-46s %10s\n' "$1" "$(seconds "$3")" >>"$queue/times"
    } 9>"$queue/print"
}

name_of() { printf '%s' "$1" | tr -c 'a-z0-9_\n' - | sed 's/-*$//'; }

# story STORY [--OPTION|NAME=VALUE]…: one that hangs ends itself, and its lab goes with the next.
story() {
    story=$1
    shift
    options='' began_story=$(now) code=0
    say "==> $story begins"
    (
        for word in "$@"; do
            case $word in --*) options="$options $word" ;; *) export "${word?}" ;; esac
        done
        cd tests
        # shellcheck disable=SC2086 # words
        exec timeout --kill-after=60 3600 "$suites" "$story" $options --test-threads=1 --nocapture
    ) >"$logs/$(name_of "$story").log" 2>&1 </dev/null &
    echo $! >"$queue/running/$!"
    wait $! || code=$?
    rm -f "$queue/running/$!"
    tell "$story" "$code" $(($(now) - began_story))
    [ "$code" = 0 ] || echo "$story" >>"$queue/failed"
}

# lane KIND…: takes stories of these kinds, those of the first kind first, until none is left or one has failed anywhere.
lane() {
    for kind in "$@"; do
        for file in "$queue/$kind"/*; do
            [ ! -e "$queue/failed" ] || return 0
            # Whoever can move it has it.
            mv "$file" "$queue/taken/" 2>/dev/null || continue
            # shellcheck disable=SC2046 # words
            story $(cat "$queue/taken/${file##*/}")
        done
    done
}

# Hosts and snapshots of a few stories at a time; and where less than one is free, kubelets evict pods, and clusters wait for room until somebody ends them.
least_gib=8
has_room() {
    free=$(df -Pk "$cache" | awk 'NR == 2 { print int($4 / 1048576) }')
    [ "$free" -ge "$least_gib" ] || fail "the disk has $free GiB left, and stories need $least_gib" "$cache" \
        'hosts of the lab keep their files there' "make room: what is in $CARGO_TARGET_DIR/debug/incremental is compiled again where it is missing"
}

# run_stories: those on standard input, lines of `drawn`. What waits for something leaves the processors to others, so two run side by side;
# KOK_TEST_LANES=1 has one after the other.
run_stories() {
    has_room
    mkdir -p "$logs" "$queue/alone" "$queue/big" "$queue/small" "$queue/taken" "$queue/running"
    : >"$queue/times"
    number=100
    while read -r _ _ lane line; do
        number=$((number + 1))
        echo "$line" >"$queue/$lane/$number"
    done
    lane alone
    if [ "${KOK_TEST_LANES:-2}" = 1 ]; then
        lane big small
    else
        lane big small &
        lane small &
        wait
    fi
    times=$times$(cat "$queue/times")'
'
    failed=$(cat "$queue/failed" 2>/dev/null || :)
    for file in "$queue"/alone/* "$queue"/big/* "$queue"/small/*; do
        [ ! -e "$file" ] || skip "the story $(cat "$file"): another one failed before"
    done
    rm -rf "$queue"
    [ -z "$failed" ] || fail "these stories failed: $(echo "$failed" | paste -sd ' ')" "$logs" '' "the seed was $seed; repeat it with KOK_TEST_SEED"
}

# Programs that were started beside this one would go on: what asks for the end of a shell reaches none that waits in the background.
end_stories() {
    for file in "$queue/running"/*; do
        [ ! -e "$file" ] || kill "$(cat "$file")" 2>/dev/null || :
    done
    rm -rf "$queue"
}
