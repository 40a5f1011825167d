#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD SECONDS SEED STORE... - tortures one store after the other, for so
# many seconds each, and prints a row for each fault; the same goes into
# BUILD/proof/torture.tsv.  Stores that are not installed are skipped.
set -eu
build=$1 seconds=$2 seed=$3
shift 3
tsv=$build/proof/torture.tsv
skipped=77
failed=''

rm -f "$tsv"
for store; do
    status=0
    "$build/proof/torture/hf-torture" --store "$store" --seconds "$seconds" \
        --seed "$seed" --faults all --tsv "$tsv" || status=$?
    [ $status -eq 0 ] || [ $status -eq $skipped ] || failed="$failed $store"
done
if [ -n "$failed" ]; then
    echo "not as promised:$failed"
    exit 1
fi
