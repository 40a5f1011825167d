#!/bin/sh
# SPDX-License-Identifier: MIT
#
# publish.sh BUILD - puts the comparison with Redisson that `make bench` made
# last into docs/: the picture, and the tables of performance.md between their
# two marks.  The other figures of that page are written by hand.
set -eu
results=${1:?usage: publish.sh BUILD}/bench/redisson.tsv
here=$(cd "$(dirname "$0")" && pwd)
docs=$here/../docs

[ -f "$results" ] || { echo "publish: no $results: run make bench" >&2; exit 1; }
if awk -F '\t' '$1 == "about" && $3 == "-"' "$results" | grep -q .; then
    echo "publish: Redisson was not measured in that run" >&2
    exit 1
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT

awk -f "$here/picture.awk" "$results" >"$new"
cat "$new" >"$docs/performance.svg"

{
    sed '/<!-- redisson: from here -->/q' "$docs/performance.md"
    echo
    awk -f "$here/page.awk" "$results"
    echo
    sed -n '/<!-- redisson: to here -->/,$p' "$docs/performance.md"
} >"$new"
cat "$new" >"$docs/performance.md"
echo "publish: docs/performance.svg and the tables of docs/performance.md are new"
