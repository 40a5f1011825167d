#!/bin/sh
# SPDX-License-Identifier: MIT
#
# judge-test.sh HF-JUDGE CORPUS TABLE.AWK - the command as a user meets it: its
# exit status, what it says and draws, and the table of many verdicts.
set -eu
judge=$1 corpus=$2 table=$3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "judge-test: $*" >&2
    cat "$tmp/out" >&2
    exit 1
}

# ends STATUS WORD ARGUMENT...: so it ends, and that it says.
ends() {
    status=$1 word=$2 got=0
    shift 2
    "$judge" "$@" >"$tmp/out" 2>&1 || got=$?
    [ "$got" = "$status" ] || fail "$* ended with $got, not $status"
    grep -q -e "$word" "$tmp/out" || fail "$* does not say '$word'"
}

ends 0 'EXCLUSION .* kept' "$corpus/01"
ends 1 'EXCLUSION .* BROKEN' --picture "$tmp/what.svg" "$corpus/10"
grep -q '</svg>' "$tmp/what.svg" || fail "nothing was drawn"
ends 0 'EXCLUSION .* broken, as told' --waive exclusion "$corpus/10"
ends 2 'cut in the middle of a record' "$corpus/02"
ends 2 'No such file' "$tmp/nothing"
ends 2 'no such invariant' --waive nonsense "$corpus/01"
ends 2 'usage' --nonsense
ends 2 'usage'

for file in 01 10 10; do
    "$judge" --tsv --store redis --fault "of-$file" --waive exclusion \
        "$corpus/$file"
done >"$tmp/tsv"
awk -f "$table" "$tmp/tsv" >"$tmp/out"
grep -q '^| redis | of-01 | 1 |.*| – | – |$' "$tmp/out" || fail "a row is wrong"
grep -q '^| redis | of-10 | 2 |.*| – | EXCLUSION 2 (10.0 ms) |$' "$tmp/out" ||
    fail "a row is wrong"
echo "hf-judge ends and says what it should"
