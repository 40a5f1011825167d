#!/bin/sh
# SPDX-License-Identifier: MIT
#
# skips.sh BUILD - why tests were skipped in the last run of ctest, one line for
# each reason: ctest itself names the tests and keeps the reason to itself.
set -eu
log=$1/Testing/Temporary/LastTest.log
[ -f "$log" ] || exit 0
awk '/^skipped: / || / # skip / {
         sub(/^skipped: /, "")
         sub(/^.* # skip /, "")
         if (!count[$0]++)
             order[++n] = $0
     }
     END {
         for (i = 1; i <= n; i++)
             printf "skipped %d: %s\n", count[order[i]], order[i]
     }' "$log"
