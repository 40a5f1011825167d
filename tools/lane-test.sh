#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lane-test.sh - what lane.sh forgives, and what it does not.
set -eu
lane=$(cd "$(dirname "$0")" && pwd)/lane.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# tests COMMAND...: a build folder that has them, one test each, and one that
# passes.
tests() {
    rm -rf "$dir/build"
    mkdir "$dir/build"
    n=0
    for command in true "$@"; do
        n=$((n + 1))
        printf 'add_test(t%d sh -c [[%s]])\n' $n "$command"
    done >"$dir/build/CTestTestfile.cmake"
}
passes() {
    "$lane" "$dir/build" 2 >"$dir/out" 2>&1 || {
        cat "$dir/out"
        exit 1
    }
}
fails() {
    if "$lane" "$dir/build" 2 >"$dir/out" 2>&1; then
        cat "$dir/out"
        exit 1
    fi
}
says() {
    grep -q "$1" "$dir/out" || {
        echo "nothing about '$1' in:" && cat "$dir/out"
        exit 1
    }
}
once="test -e $dir/build/seen || { touch $dir/build/seen;"

tests
passes
tests "$once echo busy; false; }"
passes
says 'unsteady.*t2'
tests "$once echo UNSAFE: two inside; false; }"
fails
says 'not to be forgiven'
tests "$once echo ERROR: AddressSanitizer: heap; false; }"
fails
says 'not to be forgiven'
tests false
fails
tests "echo x >>$dir/build/runs; test \$(wc -l <$dir/build/runs) -gt 3"
fails # once more alone is not enough
tests false false false false false false false
fails
says 'not chance'
echo "lane: as expected"
