#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds the worker of etcd's Go client: FOLDER/worker.
#
# Quick when there is nothing to do.  What is missing here - Go, the registry -
# is said in one line, which also stays in FOLDER/why, and the exit status is
# 77: skip.
set -eu
DEADLINE=240 # seconds: the first time Go compiles its own library too

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: build.sh FOLDER}"
out=$(cd "$1" && pwd)

skip() {
    rm -f "$out/worker"
    echo "$1" >"$out/why"
    echo "skipped: $1"
    exit 77
}

command -v go >/dev/null || skip "go is not installed"
if [ ! -x "$out/worker" ] || ! cat "$here/go.sum" "$here/main.go" |
    cmp -s - "$out/made-of"; then
    rm -f "$out/made-of"
    (cd "$here" && timeout "$DEADLINE" \
        go build -mod=readonly -o "$out/worker" .) >"$out/go.log" 2>&1 ||
        skip "go could not fetch or build etcd's client: see $out/go.log"
    cat "$here/go.sum" "$here/main.go" >"$out/made-of"
fi
rm -f "$out/why"
