#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-tested.sh BUILD [FILE...]    - whether the tests that the tables of
#                                      these pages name exist; without FILE,
#                                      of those in docs/ that name tests
# check-tested.sh BUILD --self-test  - shows that a missing one is noticed
#
# The last cell of each row names tests as ctest lists them, in backquotes; a
# star stands for anything, as in `*_contract_test.a_killed_holder_…`, and must
# match something.  A row without a test says "not tested".  What looks like a
# report of a bug in the first cell (Name#12, NAME-12) must also stand beside
# the test, in test/.
# shellcheck disable=SC2016 # backquotes are meant as such
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?"usage: check-tested.sh BUILD [--self-test | FILE...]"}
shift
tmp=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-tested-XXXXXX")
trap 'rm -rf "$tmp"' EXIT

if [ "${1-}" = --self-test ]; then
    echo some_test.that_is_there >"$tmp/tests"
else
    ctest --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p' >"$tmp/tests"
fi
[ -s "$tmp/tests" ] || {
    echo "$build has no tests"
    exit 1
}
cat "$root"/test/*/*.[ch] >"$tmp/sources"

# "LINE|first cell|last cell" of each row, heads and rules left out.
rows() {
    awk -F'|' '/^\|/ && !/^\|[-: |]*$/ && was ~ /^\|/ {
        print NR "|" $2 "|" $(NF - 1) } { was = $0 }' "$1"
}

complain() {
    echo "$page:$line: $*"
    bad=1
}

named() { # last cell
    tests=$(printf '%s\n' "$1" | grep -o '`[^`]*`' | tr -d '`') || tests=
    case $1 in
    *"not tested"*) return ;;
    esac
    [ -n "$tests" ] || complain "names no test, and does not say \"not tested\""
    for test in $tests; do
        pattern=$(printf '%s\n' "$test" | sed -e 's/[.]/[.]/g' -e 's/\*/.*/g')
        grep -q "^$pattern\$" "$tmp/tests" || complain "no test is called $test"
    done
}

reported() { # first cell
    for bug in $(printf '%s\n' "$1" | grep -Eo '([A-Za-z]*#|[A-Z]+-)[0-9]+'); do
        grep -q "$bug" "$tmp/sources" || complain "no test says it is for $bug"
    done
}

check() { # page
    page=${1#"$root"/}
    rows "$1" >"$tmp/rows"
    [ -s "$tmp/rows" ] || {
        line=1
        complain "has no table"
    }
    set -f # a star is not for files
    while IFS='|' read -r line first last; do
        named "$last"
        reported "$first"
    done <"$tmp/rows"
    set +f
}

# One row with a fault of its own, and what is said about it.
notice() { # row text
    printf '| a | b |\n|---|---|\n%s\n' "$1" >"$tmp/page.md"
    bad=0
    check "$tmp/page.md" >"$tmp/said"
    grep -q "$2" "$tmp/said" || {
        echo "self-test: not noticed: $1"
        exit 1
    }
}

self_test() {
    some=$(head -n 1 "$tmp/tests")
    notice '| x | `uri_test.nobody_wrote_this` |' 'no test is called'
    notice '| x | `*.nobody_wrote_this` |' 'no test is called'
    notice "| x | \`$some\`, \`${some}x\` |" 'no test is called'
    notice '| x | somehow |' 'names no test'
    notice "| Nobody#987654 | \`$some\` |" 'no test says'
    printf '| a | b |\n|---|---|\n| x | `%s` |\n' "$some" >"$tmp/page.md"
    bad=0
    check "$tmp/page.md"
    [ "$bad" = 0 ] && echo "self-test: what is missing was noticed"
}

bad=0
if [ "${1-}" = --self-test ]; then
    self_test
    exit
fi
[ $# -gt 0 ] || set -- "$root/docs/peers-bugs.md" "$root/docs/fault-matrix.md"
for file in "$@"; do
    check "$file"
done
exit "$bad"
