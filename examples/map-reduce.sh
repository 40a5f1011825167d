#!/bin/sh
# SPDX-License-Identifier: MIT
#
# map-reduce.sh [STORE] - parts of a sum, counted by a semaphore and a latch.
#
# A semaphore counts what is there to be taken: the splitter gives a permit for
# each part that it has written, and workers, which are other processes, take
# one for each part that they work on.  Such permits are nobody's; those of
# `holdfast run --limit` would return to the splitter when it ends.
#
# A latch counts what is still missing: it opens when the last part is done, and
# the reducer, who waits for that, adds up.
set -eu

parts=6 workers=3
folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-XXXXXX")
trap 'rm -rf "$folder"' EXIT
HOLDFAST_STORE=${1:-sqlite:$folder/locks.db}
export HOLDFAST_STORE
cd "$folder"

# Numbers 1 to 60, ten in each part.
split_up() {
    n=0
    while [ "$n" -lt "$parts" ]; do
        seq $((n * 10 + 1)) $((n * 10 + 10)) >draft
        mv draft "part.$n"
        holdfast sem release parts
        n=$((n + 1))
    done
}

# take NAME - a part, by renaming it, which works for one worker only; it is
# then in $part.  False: others were quicker with all that were seen.
take() {
    for part in part.*; do
        if mv "$part" "$1.$part" 2>/dev/null; then
            return 0
        fi
    done
    return 1
}

# work NAME - two parts, whichever there are.
work() {
    for _ in 1 2; do
        holdfast sem acquire -w 20s parts
        until take "$1"; do
            : # the permit says that there is one for us
        done
        awk '{ sum += $1 } END { print sum }' "$1.$part" >draft."$1"
        mv draft."$1" "sum.$1.$part"
        holdfast latch count-down missing
    done
}

add_up() {
    cat sum.* 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'
}

if [ $# -gt 0 ]; then
    echo "locks in the store that was named"
else
    echo "locks in $HOLDFAST_STORE"
fi
holdfast sem set parts 0
holdfast latch set missing "$parts"
running=
for name in $(seq "$workers"); do
    work "$name" &
    running="$running $!"
done
echo "nothing is there yet: $(holdfast sem count parts) parts, $(holdfast latch count missing) missing"
echo "without the latch: $(add_up) of 1830"
split_up
holdfast latch wait -w 20s missing
echo "with the latch: $(add_up) of 1830, in $(find . -name 'sum.*' | wc -l) parts"
for pid in $running; do
    wait "$pid"
done
echo "left: $(holdfast sem count parts) parts, $(holdfast latch count missing) missing"
holdfast sem delete parts
