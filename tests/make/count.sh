#!/bin/sh
# Counts the tests of an output: those of cargo, of go and of scripts that say `ok - NAME`, `not ok - NAME` or `skip - NAME`.
#
# usage: count.sh <OUTPUT
# Skipped is what somebody could have run and did not: tests that cargo calls ignored, those of Go, and whole suites by a line of their own.
awk '
    /^test result:/ { passed += $4; failed += $6; skipped += $8 }
    /^--- PASS|^ok - / { passed++ }
    /^--- FAIL|^not ok - / { failed++ }
    /^--- SKIP|^skip - / { skipped++ }
    END { printf "%d passed, %d failed", passed, failed; if (skipped) printf ", %d skipped", skipped; print "" }'
