#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fuzz.sh [TARGET|all] [HOURS] - goes on fuzzing where the tests stop.
#
# Each target runs for so many hours (1; 0.1 is six minutes), all one after the
# other.  What a target learns stays in build/test/fuzz/found.  An input that
# breaks it is made as small as possible and put into the corpus, where the
# tests replay it from then on: fix the cause, and commit both.
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
here=$build/test/fuzz

usage() {
    echo "usage: tools/fuzz.sh [TARGET|all] [HOURS]" >&2
    exit 2
}

targets() {
    for source in test/fuzz/*_fuzz.c; do
        basename "$source" _fuzz.c
    done
}

# The sum of an input names it, so that it is there once.
keep() { # target input
    sum=$(sha1sum "$2" | cut -c 1-12)
    cp "$2" "test/fuzz/corpus/$1/found-$sum"
    echo "fuzz: $1 breaks; see test/fuzz/corpus/$1/found-$sum"
}

minimise() { # target input limits...
    target=$1 input=$2
    shift 2
    small=$here/found/$target.small
    rm -f "$small"
    "$here/${target}_fuzz" -minimize_crash=1 -max_total_time=60 "$@" \
        -exact_artifact_path="$small" "$input" >/dev/null 2>&1 || :
    if [ -s "$small" ]; then
        keep "$target" "$small"
    else
        keep "$target" "$input"
    fi
    rm -f "$small" "$input"
}

run() { # target seconds
    program=$here/$1_fuzz
    length=$(cat "$program.length")
    seen=$here/found/$1
    mkdir -p "$seen"
    echo "fuzz: $1 for $2 s"
    status=0
    "$program" -max_total_time="$2" -max_len="$length" -timeout=5 \
        -rss_limit_mb=1024 -malloc_limit_mb=64 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$here/broke-$1-" \
        "$seen" "test/fuzz/corpus/$1" >"$here/$1.log" 2>&1 || status=$?
    sed -n 's/^stat::number_of_executed_units: */    inputs: /p' \
        "$here/$1.log"
    for input in "$here/broke-$1-"*; do
        [ -e "$input" ] || continue
        minimise "$1" "$input" -timeout=5 -rss_limit_mb=1024 \
            -malloc_limit_mb=64
    done
    [ "$status" = 0 ] || {
        echo "fuzz: what it said is in $here/$1.log"
        return 1
    }
}

[ $# -le 2 ] || usage
which=${1:-all}
seconds=$(awk -v hours="${2:-1}" 'BEGIN { print int(hours * 3600) }')
[ "$seconds" -gt 0 ] || usage
[ "$which" != all ] || which=$(targets)

cmake -G Ninja -S . -B "$build" --log-level=NOTICE -DHF_TESTS=ON >/dev/null
broken=
for target in $which; do
    [ -e "test/fuzz/${target}_fuzz.c" ] || usage
    ninja -C "$build" --quiet "${target}_fuzzer"
    run "$target" "$seconds" || broken="$broken $target"
done
[ -z "$broken" ] || {
    echo "fuzz: broken:$broken"
    exit 1
}
