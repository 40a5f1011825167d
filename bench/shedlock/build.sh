#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds ShedLock's worker: FOLDER/lib, FOLDER/pool,
# FOLDER/classes.
#
# ShedLock and the drivers are those of the peer of the tests, whose build.sh
# fetches them; the pool of connections is fetched here.  What is missing is
# said in one line, which also stays in FOLDER/why, and the exit status is 77.
set -eu
DEADLINE=120 # seconds for Maven

here=$(cd "$(dirname "$0")" && pwd)
peer=$here/../../test/interop/shedlock/build.sh
mkdir -p "${1:?usage: build.sh FOLDER}"
out=$(cd "$1" && pwd)

skip() {
    rm -rf "$out/classes"
    echo "$1" >"$out/why"
    echo "skipped: $1"
    exit 77
}

rc=0
said=$("$peer" "$out/peer") || rc=$?
[ "$rc" -ne 77 ] || skip "${said#skipped: }"
[ "$rc" -eq 0 ] || exit "$rc"
ln -sfn peer/lib7 "$out/lib"

# The name changes when it is complete, so that half a folder is never used.
if [ ! -d "$out/pool" ] || ! cmp -s "$here/pom.xml" "$out/pom.xml"; then
    rm -rf "$out/pool" "$out/pool.new"
    timeout "$DEADLINE" mvn -q -B -ntp -f "$here/pom.xml" \
        dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$out/pool.new" >"$out/mvn.log" 2>&1 ||
        skip "Maven could not fetch HikariCP: see $out/mvn.log"
    mv "$out/pool.new" "$out/pool"
    cp "$here/pom.xml" "$out/pom.xml"
fi

set -- "$here/Bench.java" "$here"/../java/bench/*.java
if [ ! -d "$out/classes" ] || ! cat "$@" | cmp -s - "$out/made-of"; then
    rm -rf "$out/classes" "$out/classes.new"
    # The jars name annotations that need not be there.
    javac --release 17 -Xlint:all,-classfile,-path -Werror \
        -cp "$out/lib/*:$out/pool/*" -d "$out/classes.new" "$@"
    cat "$@" >"$out/made-of"
    mv "$out/classes.new" "$out/classes"
fi
rm -f "$out/why"
