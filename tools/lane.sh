#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lane.sh BUILD JOBS [CTEST-OPTION...] - runs the tests of a build folder, then
# those that failed once more, alone: docs/decisions/0029.
#
# A test that fails beside others and then passes three times in a row alone is
# called unsteady, and shown with what it said; a few of them do not fail the
# lane.  What endangers data is never forgiven: a sanitizer's report, or two at
# a time where one should be ("UNSAFE", test/support/guarded.c).
set -eu
build=$1 jobs=$2
shift 2
most=6
log=$build/Testing/Temporary/LastTest.log
failed=$build/Testing/Temporary/LastTestsFailed.log

rm -f "$failed"
if ctest --output-on-failure --no-tests=error --test-dir "$build" -j"$jobs" "$@"
then
    "$(dirname "$0")/skips.sh" "$build"
    exit 0
fi
"$(dirname "$0")/skips.sh" "$build"
[ -s "$failed" ] || exit 1

# unforgivable: names of failed tests whose output says so.
unforgivable() {
    awk 'FNR == NR { sub(/^[0-9]+:/, ""); bad[$0] = 1; next }
         /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
         /Sanitizer|runtime error:|UNSAFE/ && name in bad && !told[name]++ {
             print name
         }' "$failed" "$log"
}
names=$(sed 's/^[0-9]*://' "$failed")
unsafe=$(unforgivable)
if [ -n "$unsafe" ]; then
    printf 'not to be forgiven:\n%s\n' "$unsafe"
    exit 1
fi
if [ "$(wc -l <"$failed")" -gt $most ]; then
    echo "more than $most tests failed: that is not chance"
    exit 1
fi
echo "== again, alone: $(echo "$names" | tr '\n' ' ')"
cp "$failed" "$failed.first"
cp "$log" "$log.first"
for time in first second third; do
    echo "-- the $time time"
    cp "$failed.first" "$failed" # which is what ctest reads
    ctest --output-on-failure --test-dir "$build" -j1 --rerun-failed
done
echo "$names" |
    sed 's/^/unsteady: failed beside others, passed three times alone: /'
