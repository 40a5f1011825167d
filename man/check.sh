#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh BUILD lint         - are the pages in BUILD/man good roff, and do
#                               they fit into 80 columns?
# check.sh BUILD links        - does every page exist that a page of ours
#                               refers to as "name(section)"?
# check.sh BUILD --self-test  - is a fault of each sort noticed?
set -eu

usage="usage: check.sh BUILD lint | links | --self-test"
here=$(cd "$(dirname "$0")" && pwd)
build=${1:?"$usage"}
pages=$build/man
tmp=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-manual-XXXXXX")
trap 'rm -rf "$tmp"' EXIT

LC_ALL=C.UTF-8
export LC_ALL
sections="NAME SYNOPSIS DESCRIPTION SEE_ALSO"
command -v mandoc >/dev/null || {
    echo "skipped: mandoc is not installed"
    exit 77
}

bad=0
complain() {
    echo "$*"
    bad=1
}

# Pages that only point to another are no pages to be checked.
real() {
    for page in "$pages"/*.[1-9]; do
        [ ! -f "$page" ] || grep -q '^\.so ' "$page" || echo "$page"
    done
}

# The page as a reader sees it, without overstrikes.
text() { # PAGE
    mandoc -Tutf8 -O width=78 "$1" | sed "s/.$(printf '\b')//g"
}

lint_one() { # PAGE
    mandoc -Tlint -W warning "$1" || complain "mandoc warns of $1"
    if command -v groff >/dev/null; then
        groff -t -man -ww -z -Tutf8 "$1" 2>"$tmp/groff" || :
        [ ! -s "$tmp/groff" ] || {
            cat "$tmp/groff"
            complain "groff warns of $1"
        }
    fi
    text "$1" >"$tmp/text"
    wide=$(wc -L <"$tmp/text")
    [ "$wide" -le 80 ] || complain "$1 is $wide columns wide, 80 are enough"
    for part in $sections; do
        grep -qx "$(echo "$part" | tr _ ' ')" "$tmp/text" ||
            complain "$1 has no section $part"
    done
}

# "name section" of what is written as a reference, in bold.
references() { # PAGE
    sed 's/\\&//g; s/\\-/-/g' "$1" |
        grep -oE '\\fB[a-zA-Z0-9_.-]+\\fR\([1-9]\)' |
        sed -E 's/\\fB(.*)\\fR\((.)\)/\1 \2/' | sort -u
}

# Ours must be there; of others it is enough that they are not called ours.
links_one() { # PAGE
    references "$1" >"$tmp/references"
    [ -s "$tmp/references" ] || complain "$1 refers to no page"
    while read -r name section; do
        case $name in
        holdfast* | hf_*)
            [ -f "$pages/$name.$section" ] ||
                complain "$1 refers to $name($section), which is not there"
            ;;
        esac
    done <"$tmp/references"
}

# A page with one fault, and what is said about it.
notice() { # CHECK TEXT SAID
    {
        printf 'holdfast-x(1)\n\n# NAME\n\nholdfast-x - x\n\n# SYNOPSIS\n\nx\n'
        printf '\n# DESCRIPTION\n\nx\n\n# SEE ALSO\n\n*holdfast-x*(1)\n\n'
        printf '%s\n' "$2"
    } | scdoc | awk -v release=x -f "$here/tidy.awk" >"$tmp/man/holdfast-x.1"
    pages=$tmp/man
    bad=0
    "$1" "$tmp/man/holdfast-x.1" >"$tmp/said" 2>&1
    [ "$bad" = 1 ] || [ -z "$3" ] || {
        echo "self-test: $1 has not noticed: $3"
        exit 1
    }
    if [ -n "$3" ]; then
        grep -q "$3" "$tmp/said" && return
        echo "self-test: $1 does not say: $3"
    else
        [ -s "$tmp/said" ] || return 0
        echo "self-test: $1 complains without reason:"
    fi
    cat "$tmp/said"
    exit 1
}

self_test() {
    mkdir "$tmp/man"
    notice lint_one '' ''
    notice links_one '' ''
    notice lint_one "$(printf '%090d' 0)" '80 are enough'
    notice links_one '*holdfast-nobody*(1)' 'holdfast-nobody(1), which is not'
    notice links_one '*hf_nobody*(3)' 'hf_nobody(3), which is not'
    printf '.TH x 1\n.SH NAME\nx \\- y\n.SH NAME\n.P\n.P\n' >"$tmp/man/bad.1"
    bad=0
    lint_one "$tmp/man/bad.1" >"$tmp/said" 2>&1
    for said in 'mandoc warns' 'no section SYNOPSIS'; do
        grep -q "$said" "$tmp/said" || {
            echo "self-test: lint_one does not say: $said"
            exit 1
        }
    done
    echo "self-test: the faults were noticed"
}

each() { # CHECK
    real >"$tmp/pages"
    [ -s "$tmp/pages" ] || complain "no pages in $pages"
    while read -r page; do
        "$1" "$page"
    done <"$tmp/pages"
    echo "$(wc -l <"$tmp/pages") pages"
    exit "$bad"
}

case ${2-} in
lint) each lint_one ;;
links) each links_one ;;
--self-test) self_test ;;
*) echo "$usage" >&2 && exit 2 ;;
esac
