#!/bin/sh
# What mirror.py brings over, takes away and leaves alone.
# shellcheck source=common.sh
. "$(dirname -- "$0")/common.sh"

folder=$(mktemp -d)
# shellcheck disable=SC2317 # common.sh calls it
cleanup() { rm -rf "$folder"; }
from=$folder/from to=$folder/to

is() {
    if [ "$2" != "$3" ]; then fail "$1" tests/make/mirror.py "it is $2, and has to be $3" ''; fi
    echo "ok - $1"
}

mkdir -p "$from/.git" "$from/target" "$from/src/target" "$from/turns"
echo one >"$from/src/same"
echo one >"$from/src/edited"
echo one >"$from/src/target/kept"
echo one >"$from/gone"
ln -s src "$from/link"
python3 tests/make/mirror.py "$from" "$to"
is 'all of a checkout is there but what git and cargo keep in it' "$(ls -A "$to" | paste -sd ' ')" 'gone link src turns'
is 'only the outermost target is cargo'"'"'s' "$(cat "$to/src/target/kept")" one

touch -d @1 "$to/src/same" "$to/src/edited" "$to/src/target/kept"
began_again=$(date +%s)
rm -r "$from/gone" "$from/link" "$from/turns"
echo two >"$from/src/edited"
echo two >"$from/turns"
chmod +x "$from/src/target/kept"
ln -s elsewhere "$from/link"
python3 tests/make/mirror.py "$from" "$to"
is 'what is the same keeps its time' "$(stat -c %Y "$to/src/same")" 1
is 'what is not gets another one' "$([ "$(stat -c %Y "$to/src/edited")" -ge "$began_again" ] && cat "$to/src/edited")" two
is 'what is run now may be run' "$([ -x "$to/src/target/kept" ] && echo yes)" yes
is 'a folder that turned into a file is one, and a link leads where it should' "$(cat "$to/turns") $(readlink "$to/link")" 'two elsewhere'
is 'what is gone is gone' "$(ls -A "$to" | paste -sd ' ')" 'link src turns'
