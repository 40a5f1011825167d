#!/bin/sh
# SPDX-License-Identifier: MIT
#
# examples-test.sh - does examples.py notice an example that does not work?
# shellcheck disable=SC2016 # backquotes and dollars are meant as such
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-examples-XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# One block of a page, and the same in Markdown; what must become of it.
becomes() { # VERDICT DIRECTIVE TEXT...
    echo "$1" >>"$tmp/wanted"
    what=$2
    shift 2
    {
        [ -z "$what" ] || printf '; %s\n' "$what"
        printf '```\n'
        printf '%s\n' "$@"
        printf '```\n\n'
    } >>"$tmp/page.1.scd"
    {
        [ -z "$what" ] || printf '<!-- %s -->\n' "$what"
        printf '```sh\n'
        printf '%s\n' "$@"
        printf '```\n\n'
    } >>"$tmp/page.md"
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

for page in page.1.scd page.md; do
    rc=0
    HF_VERBOSE=1 "$here/examples.py" "$tmp/$page" >"$tmp/said" 2>&1 || rc=$?
    sed -n -e "s/.*$page:[0-9]*: [0-9.]* s\$/passed/p" \
        -e "s/.*$page:[0-9]*: \([a-z ]*\):.*/\1/p" "$tmp/said" >"$tmp/got"
    cmp -s "$tmp/wanted" "$tmp/got" && [ "$rc" = 1 ] && continue
    diff "$tmp/wanted" "$tmp/got" || :
    cat "$tmp/said"
    exit 1
done

# And a page that promises what a store does not keep: a simple lock, no order.
page=$here/holdfast-guarantees.7.scd
"$here/promises.py" "$page" sqlite >"$tmp/said" || { cat "$tmp/said" && exit 1; }
awk '/^\|  simple/ || /^\|  order, lock/ { next_one = 1; print; next }
    next_one { $2 = $2 == "-" ? "yes" : "no"; next_one = 0 } { print }' \
    "$page" >"$tmp/page.7.scd"
rc=0
"$here/promises.py" "$tmp/page.7.scd" sqlite >"$tmp/said" || rc=$?
for said in 'sqlite, simple: the page says yes' \
    'sqlite, order, lock: the page says no'; do
    grep -q "$said" "$tmp/said" && [ "$rc" = 1 ] && continue
    echo "promises.py does not say: $said"
    cat "$tmp/said"
    exit 1
done
echo "what does not work was noticed"
