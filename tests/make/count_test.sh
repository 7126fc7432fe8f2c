#!/bin/sh
# What count.sh makes of outputs.
set -eu
cd "$(dirname -- "$0")"
failed=0

# counts EXPECTED: of standard input.
counts() {
    if said=$(sh ./count.sh) && [ "$said" = "$1" ]; then
        echo "ok - count.sh: $1"
    else
        echo "not ok - count.sh says \"$said\" for \"$1\""
        failed=1
    fi
}

counts '0 passed, 0 failed' </dev/null
counts '7 passed, 2 failed' <<'END'
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 12 filtered out; finished in 0.01s
test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
ok - setup.sh bundle: there is no rustc
END
counts '2 passed, 1 failed, 4 skipped' <<'END'
test result: ok. 1 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.01s
--- PASS: TestRootSaysWhereItRuns (0.00s)
    --- PASS: TestRootSaysWhereItRuns/one (0.00s)
--- SKIP: TestOfAnotherSystem (0.00s)
not ok - setup.sh test succeeded
skip - the suite cluster
END
exit "$failed"
