#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - fetches redlock, the Node client, into FOLDER.
#
# Quick when there is nothing to do.  What is missing here - Node, npm, the
# registry - is said in one line, and the exit status is 77: skip.  A registry
# that was out of reach is left alone for a while: every test asks for this.
set -eu
DEADLINE=60 # seconds for npm: it fetches about 2 MB

here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: build.sh FOLDER}

for command in node npm; do
    command -v "$command" >/dev/null || {
        echo "$command is not installed"
        exit 77
    }
done
mkdir -p "$out"
if [ -n "$(find "$out/why" -mmin -20 2>/dev/null)" ]; then
    cat "$out/why"
    exit 77
fi
if [ ! -e "$out/complete" ] ||
    ! cmp -s "$here/package-lock.json" "$out/package-lock.json"; then
    rm -rf "$out/complete" "$out/node_modules"
    cp "$here/package.json" "$here/package-lock.json" "$out/"
    (cd "$out" && timeout "$DEADLINE" npm ci --ignore-scripts --no-audit \
        --no-fund >npm.log 2>&1) || {
        echo "npm could not fetch redlock: see $out/npm.log" | tee "$out/why"
        exit 77
    }
    touch "$out/complete"
fi
cp "$here/redlock.js" "$out/"
