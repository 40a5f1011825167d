#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds Curator's worker: FOLDER/lib, FOLDER/classes.
#
# The libraries are those of the peer of the tests, whose build.sh fetches them:
# a current one, or Debian's where there is none.  What is missing is said in
# one line, which also stays in FOLDER/why, and the exit status is 77.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
peer=$here/../../test/interop/curator/build.sh
mkdir -p "${1:?usage: build.sh FOLDER}"
out=$(cd "$1" && pwd)

rc=0
said=$("$peer" "$out/peer") || rc=$?
if [ "$rc" -ne 0 ]; then
    rm -rf "$out/classes"
    echo "$said" >"$out/why"
    exit "$rc"
fi
lib=lib59
[ -d "$out/peer/lib59" ] || lib=lib54
ln -sfn "peer/$lib" "$out/lib"

set -- "$here/Bench.java" "$here"/../java/bench/*.java
if [ ! -d "$out/classes" ] || ! cat "$@" | cmp -s - "$out/made-of"; then
    rm -rf "$out/classes" "$out/classes.new"
    javac --release 17 -Xlint:all,-classfile,-path -Werror -cp "$out/lib/*" \
        -d "$out/classes.new" "$@"
    cat "$@" >"$out/made-of"
    mv "$out/classes.new" "$out/classes"
fi
rm -f "$out/why"
