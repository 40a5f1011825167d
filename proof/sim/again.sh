#!/bin/sh
# SPDX-License-Identifier: MIT
#
# again.sh HF-SIM - a seed decides everything: two runs of it write the same
# trace, byte for byte, whatever ran before in the same process.
set -eu
sim=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for store in lease session table; do
    "$sim" --seed 7 --trials 1 --profile storm --store $store --trace \
        >"$dir/one"
    "$sim" --seed 7 --trials 1 --profile storm --store $store --trace \
        >"$dir/same"
    "$sim" --seed 6 --trials 2 --profile storm --store $store --trace |
        sed -n '/^seed 7$/,$p' >"$dir/later"
    test -s "$dir/one"
    cmp "$dir/one" "$dir/same"
    cmp "$dir/one" "$dir/later"
    echo "$store: $(wc -l <"$dir/one") lines, three times the same"
done
