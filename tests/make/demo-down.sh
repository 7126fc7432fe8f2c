#!/bin/sh
# Takes the demo down and leaves nothing of it. The caches of builds stay.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

if [ ! -x "$programs/lab" ]; then
    fail "there is no program lab" "$programs/lab" 'make demo builds it' 'if a demo is up, run "make build" first'
fi
"$programs/lab" down --name demo
rm -rf "$cache/demo"
