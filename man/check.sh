#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh BUILD lint         - are the pages in BUILD/man good roff, and do
#                               they fit into 80 columns?
# check.sh BUILD links        - does every page exist that a page of ours
#                               refers to as "name(section)"?
# check.sh BUILD same         - do the pages name the commands, options,
#                               variables, schemes and parameters that there
#                               are, and no others?
# check.sh BUILD --self-test  - is a fault of each sort noticed?
set -eu

usage="usage: check.sh BUILD lint | links | same | --self-test"
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
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

# Those that have a source: others only point to one, or are left over.
real() {
    for source in "$here"/*.[1-9].scd; do
        page=${source##*/}
        echo "$pages/${page%.scd}"
    done
}

# The page as a reader sees it, without overstrikes.
text() { # PAGE
    mandoc -Tutf8 -O width=78 "$1" | sed "s/.$(printf '\b')//g"
}

lint_one() { # PAGE
    mandoc -Tlint -W warning "$1" || complain "mandoc warns of $1"
    if command -v groff >/dev/null; then
        groff -Kutf8 -t -man -ww -z -Tutf8 "$1" 2>"$tmp/groff" || :
        [ ! -s "$tmp/groff" ] || {
            cat "$tmp/groff"
            complain "groff warns of $1"
        }
    fi
    text "$1" >"$tmp/text"
    wide=$(wc -L <"$tmp/text")
    [ "$wide" -le 80 ] || complain "$1 is $wide columns wide, 80 are enough"
    if grep -nE '(^|[^A-Za-z0-9_])(_[A-Za-z]+_|\*[A-Za-z-]+\*)([^A-Za-z0-9_]|$)' \
        "$tmp/text"; then
        complain "$1 has marks of scdoc that were not understood"
    fi
    case $1 in
    *.1) more="OPTIONS EXIT_STATUS ENVIRONMENT FILES SIGNALS EXAMPLES" ;;
    *) more= ;;
    esac
    for part in $sections $more; do
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
        holdfast* | libholdfast* | hf_*)
            [ -f "$pages/$name.$section" ] ||
                complain "$1 refers to $name($section), which is not there"
            ;;
        esac
    done <"$tmp/references"
}

# ---- what the program says ---------------------------------------------------

# The lines of a section as a reader sees them.
section() { # PAGE TITLE
    while points=$(sed -n 's/^\.so man.\///p' "$1") && [ -n "$points" ]; do
        set -- "$pages/$points" "$2"
    done
    text "$1" | awk -v title="$2" '/^[^ ]/ { inside = $0 == title }
        /^ / && inside'
}

# What stands at the left edge of a list, under a heading or not.
entries() { # PAGE TITLE
    section "$1" "$2" | sed -n 's/^ \{7\}\([^ ]\)/\1/p'
}

# Two lists must be one.
same() { # WHAT PAGE FILE_OF_PAGE FILE_OF_PROGRAM
    for list in "$3" "$4"; do
        [ -s "$list" ] || complain "$2: nothing is known of its $1"
    done
    sort -u "$3" >"$tmp/page"
    sort -u "$4" >"$tmp/program"
    comm -23 "$tmp/page" "$tmp/program" | while read -r line; do
        echo "$2: there is no $1 $line"
    done
    comm -13 "$tmp/page" "$tmp/program" | while read -r line; do
        echo "$2: says nothing of $1 $line"
    done
    cmp -s "$tmp/page" "$tmp/program" || bad=1
}

commands() {
    "$holdfast" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

same_options() { # COMMAND
    page=$pages/holdfast-$1.1
    [ -f "$page" ] || {
        complain "there is no page of the command $1"
        return
    }
    "$holdfast" "$1" --help >"$tmp/help"
    entries "$page" OPTIONS | grep '^-' >"$tmp/options"
    sed -n '/^Options:/,$s/^ *\(-[^ ]*\(,* [^ ]\+\)*\)  *.*/\1/p' "$tmp/help" |
        sed 's/  .*//' >"$tmp/rows"
    same option "holdfast-$1.1" "$tmp/options" "$tmp/rows"
    usage=$(sed -n '1s/^Usage: //p' "$tmp/help")
    section "$page" SYNOPSIS | grep -qFx "       $usage" ||
        complain "holdfast-$1.1: its synopsis is not: $usage"
    summary=$(sed -n '3s/\.$//p' "$tmp/help")
    section "$page" NAME | tr -s ' \n' ' ' | grep -qFi -- "- $summary " ||
        [ "$1" = help ] || complain "holdfast-$1.1: its NAME is not: $summary"
}

same_commands() {
    commands >"$tmp/commands"
    entries "$pages/holdfast.1" COMMANDS >"$tmp/listed"
    same command holdfast.1 "$tmp/listed" "$tmp/commands"
    for page in "$here"/holdfast-*.1.scd; do
        page=${page##*/holdfast-}
        echo "${page%.1.scd}"
    done >"$tmp/listed"
    echo help >>"$tmp/listed" # of holdfast.1
    same "page of a command" man "$tmp/listed" "$tmp/commands"
    while read -r cmd; do
        same_options "$cmd"
    done <"$tmp/commands"
}

# Those of sources that read them, and of those that hand them down.
same_variables() {
    grep -hoE '"HOLDFAST_[A-Z_]+"' "$root"/cli/*.c "$root"/src/*.c \
        "$root"/src/*/*.c "$root"/console/*.c | tr -d '"' >"$tmp/sources"
    section "$pages/holdfast.1" ENVIRONMENT | grep -oE 'HOLDFAST_[A-Z_]+' \
        >"$tmp/listed"
    same variable holdfast.1 "$tmp/listed" "$tmp/sources"
}

same_statuses() {
    sed -n 's/^ *EXIT_[A-Z_]* = \([0-9]*\).*/\1/p' "$root/cli/status.h" \
        >"$tmp/sources"
    { echo 0 && cat "$tmp/sources"; } >"$tmp/statuses"
    entries "$pages/holdfast.1" "EXIT STATUS" | grep -oE '^[0-9]+|, [0-9]+' |
        tr -d ', ' >"$tmp/listed"
    same "exit status" holdfast.1 "$tmp/listed" "$tmp/statuses"
}

same_addresses() {
    sed -n '/struct scheme schemes/,/^};/s/^    {"\([^"]*\)".*/\1/p' \
        "$root/src/uri.c" >"$tmp/sources"
    section "$pages/holdfast-uri.7" STORES | grep -oE '[a-z0-9+-]+' |
        grep -xFf "$tmp/sources" >"$tmp/listed"
    same scheme holdfast-uri.7 "$tmp/listed" "$tmp/sources"
    {
        sed -n '/params\[\] = {/,/}/p; /_PARAMS  *\\$/,/[^\\]$/p' \
            "$root"/src/backend/*/*.[ch] "$root"/src/backend/redis/*/*.[ch] |
            sed '/Of libpq/,/NULL/d'
        sed -n '/common\[\] = {/,/}/p' "$root/src/suggest.c"
    } | grep -oE '"[a-z_]+"' | tr -d '"' >"$tmp/sources"
    entries "$pages/holdfast-uri.7" PARAMETERS | grep -oE '[a-z_]+=' |
        tr -d = >"$tmp/listed"
    same parameter holdfast-uri.7 "$tmp/listed" "$tmp/sources"
}

same_settings() {
    sed -n 's/^ *\[SET_[A-Z]*\] = {"\([a-z-]*\)".*/\1/p' \
        "$root/cli/settings.c" >"$tmp/sources"
    entries "$pages/holdfast.conf.5" SETTINGS >"$tmp/listed"
    same setting holdfast.conf.5 "$tmp/listed" "$tmp/sources"
}

check_same() {
    holdfast=$build/holdfast
    same_commands
    same_variables
    same_statuses
    same_settings
    same_addresses
    echo "$(wc -l <"$tmp/commands") commands"
    exit "$bad"
}

# ---- is a fault noticed? -----------------------------------------------------

# A page with one fault, and what is said about it.
notice() { # CHECK TEXT SAID
    {
        printf 'holdfast-x(7)\n\n# NAME\n\nholdfast-x - x\n\n# SYNOPSIS\n\nx\n'
        printf '\n# DESCRIPTION\n\nx\n\n# SEE ALSO\n\n*holdfast-x*(7)\n\n'
        printf '%s\n' "$2"
    } | scdoc | awk -v release=x -f "$here/tidy.awk" >"$tmp/man/holdfast-x.7"
    pages=$tmp/man
    bad=0
    "$1" "$tmp/man/holdfast-x.7" >"$tmp/said" 2>&1
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

# A program that says something else than the page of `wait`.
drift() {
    pages=$build/man
    holdfast=$tmp/holdfast
    printf '#!/bin/sh\n"%s" "$@" | sed "s/--permits N/--permit N/"\n' \
        "$build/holdfast" >"$holdfast"
    chmod +x "$holdfast"
    bad=0
    same_options wait >"$tmp/said"
    for said in 'there is no option --permits N' \
        'says nothing of option --permit N'; do
        grep -q -- "$said" "$tmp/said" || {
            echo "self-test: same_options does not say: $said"
            exit 1
        }
    done
    [ "$bad" = 1 ] # and it is a failure
}

self_test() {
    mkdir "$tmp/man"
    notice lint_one '' ''
    notice links_one '' ''
    notice lint_one "$(printf '%090d' 0)" '80 are enough'
    notice lint_one '128+_n_' 'marks of scdoc'
    notice links_one '*holdfast-nobody*(1)' 'holdfast-nobody(1), which is not'
    notice links_one '*hf_nobody*(3)' 'hf_nobody(3), which is not'
    printf '.TH x 1\n.SH NAME\nx \\- y\n.SH NAME\n.P\n.P\n' >"$tmp/man/bad.1"
    bad=0
    lint_one "$tmp/man/bad.1" >"$tmp/said" 2>&1
    for said in 'mandoc warns' 'no section SYNOPSIS' 'no section OPTIONS'; do
        grep -q "$said" "$tmp/said" || {
            echo "self-test: lint_one does not say: $said"
            exit 1
        }
    done
    drift
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
same) check_same ;;
--self-test) self_test ;;
*) echo "$usage" >&2 && exit 2 ;;
esac
