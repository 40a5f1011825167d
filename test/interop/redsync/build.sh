#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds the peer that is redsync, the Go client, in FOLDER.
#
# Quick when there is nothing to do.  What is missing here - Go, the registry -
# is said in one line, and the exit status is 77: skip.
set -eu
DEADLINE=240 # seconds: the first time Go compiles its own library too

here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: build.sh FOLDER}

command -v go >/dev/null || {
    echo "go is not installed"
    exit 77
}
mkdir -p "$out"
if [ ! -x "$out/redsync" ] || ! cat "$here/go.sum" "$here/main.go" |
    cmp -s - "$out/made-of"; then
    rm -f "$out/made-of"
    (cd "$here" && timeout "$DEADLINE" go build -mod=readonly -o "$out/redsync" .) \
        >"$out/go.log" 2>&1 || {
        echo "go could not fetch or build redsync: see $out/go.log"
        exit 77
    }
    cat "$here/go.sum" "$here/main.go" >"$out/made-of"
fi
