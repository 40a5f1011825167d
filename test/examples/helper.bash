# SPDX-License-Identifier: MIT
#
# helper.bash - runs an example and looks at what it printed.
# shellcheck shell=bash disable=SC2154

load ../cli/helper

# example NAME [ARGUMENT...]: it must succeed; its output is $output.  What it
# makes for the moment is made in the test's folder, and is gone at its end.
example() {
    local name=$1 tmp=$DIR/tmp
    shift
    mkdir -p "$tmp"
    TMPDIR=$tmp run -0 "${HF_EXAMPLES:-$(dirname "$HOLDFAST")/examples}/$name" "$@"
    echo "$output"
    [ -z "$(ls -A "$tmp")" ]
}

# number PATTERN: the group of the pattern, in the one line that it matches.
number() {
    local found
    found=$(sed -nE "s/^.*$1.*\$/\\1/p" <<<"$output")
    [[ $found =~ ^[0-9]+$ ]] || {
        echo "no single line matches: $1" >&2
        return 1
    }
    echo "$found"
}
