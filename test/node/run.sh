#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh FILE... - runs tests of the Node client, where Node is new enough.
set -eu
node=${NODE:-node}
if ! command -v "$node" >/dev/null; then
    echo "skipped: node is not installed"
    exit 77
fi
version=$("$node" -p 'process.versions.node')
if [ "${version%%.*}" -lt 18 ]; then
    echo "skipped: node $version is older than 18"
    exit 77
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
"$node" --test "$@" >"$out" 2>&1 || status=$?
sed 's/^# skipped: /skipped: /' "$out" # as tools/skips.sh looks for them
exit "$status"
