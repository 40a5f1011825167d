#!/bin/sh
# SPDX-License-Identifier: MIT
#
# seeds.sh HF-SIM - runs the trials of the file `seeds`, which once failed.
set -eu
sim=$1
failed=0

while read -r store profile seed; do
    case $store in '' | '#'*) continue ;; esac
    "$sim" --seed "$seed" --trials 1 --store "$store" --profile "$profile" ||
        failed=1
done <"$(dirname "$0")/seeds"
exit $failed
