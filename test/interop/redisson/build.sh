#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds the Redisson peer: FOLDER/lib, FOLDER/classes.
#
# Quick when there is nothing to do.  What is missing here - Java, Maven, the
# registry - is said in one line, which also stays in FOLDER/why, and the exit
# status is 77: skip.  Anything else is our own mistake.
set -eu
DEADLINE=200 # seconds for Maven: the first time it fetches about 30 MB

here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: build.sh FOLDER}

skip() {
    rm -rf "$out/classes"
    echo "$1" >"$out/why"
    echo "skipped: $1"
    exit 77
}

# Names change when they are complete, so that half a folder is never used.
fetch() {
    rm -rf "${out:?}/lib" "$out/lib.new"
    timeout "$DEADLINE" mvn -q -B -ntp -f "$here/pom.xml" \
        dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$out/lib.new" >"$out/mvn.log" 2>&1 ||
        skip "Maven could not fetch Redisson: see $out/mvn.log"
    mv "$out/lib.new" "$out/lib"
    cp "$here/pom.xml" "$out/pom.xml"
}

compile() {
    rm -rf "$out/classes" "$out/classes.new"
    javac --release 17 -Xlint:all -Werror -cp "$out/lib/*" \
        -d "$out/classes.new" "$here/Peer.java"
    cp "$here/Peer.java" "$out/Peer.java"
    mv "$out/classes.new" "$out/classes"
}

mkdir -p "$out"
for command in java javac mvn; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done
if [ ! -d "$out/lib" ] || ! cmp -s "$here/pom.xml" "$out/pom.xml"; then
    rm -rf "$out/classes"
    fetch
fi
if [ ! -d "$out/classes" ] || ! cmp -s "$here/Peer.java" "$out/Peer.java"; then
    compile
fi
rm -f "$out/why"
