#!/bin/sh
# SPDX-License-Identifier: MIT
#
# example.sh PROGRAM - runs an example of examples/loops twice at once, with a
# store of their own: each sells its twenty tickets, nobody holds the lock
# beside somebody else, and the timers tick.
set -eu
dir=$(mktemp -d "${HF_TEST_DIR:-/tmp}/loop-XXXXXX")
trap 'rm -rf "$dir"' EXIT
export HOLDFAST_STORE="sqlite:$dir/locks.db"

"$1" >"$dir/one" &
other=$!
status=0
"$1" "$HOLDFAST_STORE" >"$dir/two" || status=$?
wait $other || status=$?

for out in "$dir/one" "$dir/two"; do
    cat "$out"
    [ "$(sed -n 's/.*sells ticket *\([0-9]*\),.*/\1/p' "$out")" = "$(seq 20)" ] ||
        status=1
    grep -q '^20 of 20 tickets sold' "$out" || status=1
    # A tick for each sale at the least, and five while somebody pays.
    ticks=$(sed -n 's/^the timer ticked \([0-9]*\) times.*/\1/p' "$out")
    [ "${ticks:-0}" -ge 100 ] || status=1
done
# Of all sales each has a token of its own.
[ "$(sed -n 's/.*token //p' "$dir/one" "$dir/two" | sort -u | wc -l)" = 40 ] ||
    status=1
exit $status
