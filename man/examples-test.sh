#!/bin/sh
# SPDX-License-Identifier: MIT
#
# examples-test.sh - does examples.py notice an example that does not work?
# shellcheck disable=SC2016 # backquotes and dollars are meant as such
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-examples-XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# One block, and what becomes of it; the same in Markdown.
becomes() { # VERDICT DIRECTIVE TEXT...
    wanted=$1 what=$2
    shift 2
    {
        printf 'x(1)\n\n'
        [ -z "$what" ] || printf '; %s\n' "$what"
        printf '```\n'
        printf '%s\n' "$@"
        printf '```\n'
    } >"$tmp/page.1.scd"
    {
        [ -z "$what" ] || printf '<!-- %s -->\n' "$what"
        printf '```sh\n'
        printf '%s\n' "$@"
        printf '```\n'
    } >"$tmp/page.md"
    "$here/examples.py" "$tmp/page.1.scd" "$tmp/page.md" >"$tmp/said" 2>&1 || :
    grep -q "2 $wanted" "$tmp/said" || {
        echo "not $wanted: $what: $*"
        cat "$tmp/said"
        exit 1
    }
}

becomes passed run 'holdfast run x -- true'
becomes failed run 'holdfast run x -- false'
becomes failed run 'holdfast run --nonsense x -- true' 'true'
becomes passed 'run exit=75' 'holdfast run x -- holdfast run x -- true'
becomes failed 'run exit=75' 'holdfast run x -- true'
becomes passed run '$ holdfast run x -- echo one' 'one' '$ echo $?' '0'
becomes failed run '$ holdfast run x -- echo one' 'two'
becomes failed run '$ holdfast run x -- echo one'
becomes failed run '$ holdfast run x -- false' '$ echo $?' '0'
becomes passed run '$ holdfast run x -- echo one two' 'one...'
becomes 'not run' 'not run: it takes a server' 'holdfast ls --store redis://db1'
becomes failed 'not run:' 'holdfast ls --store redis://db1'
becomes failed '' 'holdfast ls'
becomes failed 'runs' 'holdfast ls'
echo "what does not work was noticed"
