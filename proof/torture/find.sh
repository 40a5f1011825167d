#!/bin/sh
# SPDX-License-Identifier: MIT
#
# find.sh PLANTED FAULT STORE INVARIANT DIR - torture of a library with a planted
# bug must find it, by the invariant that it breaks, within a few attempts.  The
# sound library is tortured beside it, by the tests torture.STORE.
set -eu
planted=$1 fault=$2 store=$3 invariant=$4 dir=$5
attempts=4 seconds=7 skipped=77

for seed in $(seq $attempts); do
    status=0
    said=$("$planted" --store "$store" --faults "$fault" --seed "$seed" \
        --seconds $seconds --dir "$dir" 2>&1) || status=$?
    rm -rf "$dir"
    [ $status -ne $skipped ] || {
        echo "$said"
        exit $skipped
    }
    if echo "$said" | grep "^$store.*BROKEN.* $invariant="; then
        exit 0
    fi
    echo "$said" | grep "^$store" || true
done
echo "the bug was not found by $invariant in $attempts attempts"
exit 1
