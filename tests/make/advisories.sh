#!/bin/sh
# Asks the database of advisories for what is known of the crates of Cargo.lock, and writes into CONTRIBUTING.md when that was. It needs a
# network on which cargo-deny finds the database, which CI has not.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

sh tests/make/deny.sh fetch db || fail 'the database of advisories could not be had' '' 'cargo-deny says why, see above' \
    'run this on a machine from which the database can be reached'
found='nothing was found'
sh tests/make/deny.sh --offline check --hide-inclusion-graph advisories || found='something was found'
sed -i "s/^\(Last asked for known vulnerabilities:\).*/\1 $(date -u +%F), and $found./" CONTRIBUTING.md
say "$found; CONTRIBUTING.md has the date: commit it"
[ "$found" = 'nothing was found' ]
