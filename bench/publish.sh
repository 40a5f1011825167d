#!/bin/sh
# SPDX-License-Identifier: MIT
#
# publish.sh BUILD - puts what `make bench` and `make scale` measured last into
# docs/: the picture, and every table between its two marks.  What was not
# measured stays as it was; the other figures of the pages are written by hand.
set -eu
results=${1:?usage: publish.sh BUILD}/bench
here=$(cd "$(dirname "$0")" && pwd)
docs=$here/../docs
new=$(mktemp)
trap 'rm -f "$new"' EXIT

# has NAME: did the last run measure it?
has() {
    [ -f "$results/$1.tsv" ] && return
    echo "publish: no $results/$1.tsv: run make bench, or make scale"
    return 1
}

# tables NAME PAGE [AWK]: what AWK.awk, or NAME.awk, makes of NAME.tsv.
tables() {
    for mark in from to; do
        grep -q "<!-- $1: $mark here -->" "$docs/$2" || {
            echo "publish: docs/$2 has no mark '$1: $mark here'" >&2
            exit 1
        }
    done
    {
        sed "/<!-- $1: from here -->/q" "$docs/$2"
        echo
        awk -f "$here/page.awk" -f "$here/${3-$1}.awk" "$results/$1.tsv"
        echo
        sed -n "/<!-- $1: to here -->/,\$p" "$docs/$2"
    } >"$new"
    cat "$new" >"$docs/$2"
    echo "publish: the tables of $1 in docs/$2 are new"
}

if has redisson; then
    if awk -F '\t' '$1 == "about" && $3 == "-"' "$results/redisson.tsv" |
        grep -q .; then
        echo "publish: Redisson was not measured in that run" >&2
        exit 1
    fi
    awk -f "$here/picture.awk" "$results/redisson.tsv" >"$new"
    cat "$new" >"$docs/performance.svg"
    tables redisson performance.md
fi
if has topology; then
    tables topology performance.md
fi
for store in zookeeper etcd postgres mariadb; do
    if has "$store"; then
        tables "$store" performance.md rivals
    fi
done
if has scale; then
    tables scale scale.md
fi
