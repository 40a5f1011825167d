#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh MODEL VARIANT - one search of the file `variants`, as a test: exits
# with 0 if its verdict is the expected one and every state was seen.
# check.sh [test|all]    - those searches in turn, as a table.
# check.sh --self-test   - shows that a wrong verdict would be noticed.
#
# Without spin or gcc it says so and exits with 77: skip.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
megabytes=1500 # for one search of the tests
more=6000      # for one of the others

for command in spin gcc; do
    command -v "$command" >/dev/null || {
        echo "skipped: $command is not installed"
        exit 77
    }
done

dir=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-models-XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# "model|variant|when|defines|depth|verdict|words" without blanks around |.
rows() {
    sed -e '/^#/d' -e '/^ *$/d' -e 's/ *| */|/g' "$here/variants"
}

# search MODEL DEFINES DEPTH MEGABYTES: what pan said is in $dir/out.  Without
# reduction: every order of steps is looked at.  Only a long search is worth
# compiling well.
search() {
    level=-O0
    [ "$3" -le 100000 ] || level=-O2
    defines=
    for word in $2; do
        defines="$defines -D$word"
    done
    rm -f "$dir"/*
    # shellcheck disable=SC2086
    (cd "$dir" && spin $defines -a "$here/$1.pml" >log 2>&1 &&
        gcc $level -w -DSAFETY -DNOREDUCE -DCOLLAPSE "-DMEMLIM=$4" \
            -o pan pan.c >>log 2>&1 && ./pan "-m$3" >out 2>>log)
}

# The verdict in $found, what it rests on in $why, and $states.
judge() {
    states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$dir/out")
    why=$(sed -n 's/^pan:1: assertion violated \([^ ]*\) .*/\1/p' "$dir/out")
    found=holds
    if [ -n "$why" ]; then
        found=violated
    elif grep -q '^pan:1: invalid end state' "$dir/out"; then
        found=deadlock
    elif grep -Eq 'search depth too small|MEMLIM|not completed' "$dir/out" ||
        ! grep -q 'errors: 0$' "$dir/out"; then
        found=incomplete
        why=$(grep -Ehi -m 1 'too small|MEMLIM|memory' "$dir/out" "$dir/log" ||
            :)
    fi
}

# Fails if the verdict is not the expected one.
run() { # row
    IFS='|' read -r model variant when defines depth verdict words <<ROW
$1
ROW
    limit=$megabytes
    [ "$when" = test ] || limit=$more
    if search "$model" "$defines" "$depth" "$limit"; then
        judge
    else
        found=broken why=$(tail -n 3 "$dir/log") states=-
    fi
    [ "$found" = "$verdict" ]
}

one() { # model variant
    row=$(rows | grep "^$1|$2|") || {
        echo "models/variants has no $1 $2" >&2
        exit 2
    }
    if run "$row"; then
        echo "$model $variant: $found${why:+ ($why)}, $states states: $words"
    else
        echo "$model $variant: $found${why:+ ($why)} instead of $verdict: $words"
        exit 1
    fi
}

table() { # test|all
    failed=0
    line='| %-13s | %-20s | %-26s | %8s | %s |\n'
    # shellcheck disable=SC2059
    printf "$line" model variant verdict states 'what it shows'
    echo '|---|---|---|--:|---|'
    rows >"$dir.rows"
    trap 'rm -rf "$dir" "$dir.rows"' EXIT
    while read -r row; do
        case $row in
        *"|all|"*) [ "$1" = all ] || continue ;;
        esac
        run "$row" || {
            failed=$((failed + 1))
            why="$why instead of $verdict"
        }
        # shellcheck disable=SC2059
        printf "$line" "$model" "$variant" "$found${why:+: $why}" "$states" \
            "$words"
    done <"$dir.rows"
    [ "$failed" = 0 ] || {
        echo "$failed of these are not as they should be" >&2
        exit 1
    }
}

# A check that cannot fail shows nothing.
notice() { # expected row
    if run "$2" || [ "$found" != "$1" ]; then
        echo "self-test: $1 was not noticed, but $found: $2"
        exit 1
    fi
}

# Nor does a model without both sorts of verdict, in what the tests search.
both_sorts() {
    rows | awk -F'|' '
        { models[$1] }
        $3 == "test" { if ($6 == "holds") held[$1]; else broke[$1] }
        END {
            for (m in models)
                if (!(m in held) || !(m in broke)) {
                    print "self-test: " m " cannot both hold and break"
                    bad = 1
                }
            exit bad
        }'
}

self_test() {
    both_sorts
    notice violated 'lease||test|ORDER|10000|holds|'
    notice holds 'lease||test|ORDER FENCE|10000|violated|'
    notice holds 'wake||test||10000|deadlock|'
    notice incomplete 'lease||test|ORDER FENCE|20|holds|'
    megabytes=150
    notice incomplete 'lease||test|ORDER FENCE CLIENTS=3|10000|holds|'
    notice broken 'lease||test|CLIENTS=|10000|holds|'
    echo "self-test: every wrong verdict was noticed, every model can break"
}

case $#:${1-test} in
2:*) one "$1" "$2" ;;
0:test | 1:test | 1:all) table "${1-test}" ;;
1:--self-test) self_test ;;
*)
    echo "usage: models/check.sh [test|all|--self-test] or MODEL VARIANT" >&2
    exit 2
    ;;
esac
