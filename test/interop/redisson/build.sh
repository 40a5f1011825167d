#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds the Redisson peer: FOLDER/lib3 and FOLDER/lib4, the
# newest libraries of either line, and FOLDER/classes for both.
#
# Quick when there is nothing to do.  What is missing here - Java, Maven, the
# registry - is said in one line, which also stays in FOLDER/why, and the exit
# status is 77: skip.  Anything else is our own mistake.
set -eu
DEADLINE=120 # seconds for Maven: the first time it fetches about 25 MB

here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: build.sh FOLDER}

skip() {
    rm -rf "$out/classes"
    echo "$1" >"$out/why"
    echo "skipped: $1"
    exit 77
}

# fetch LIB: what the profile of that name in pom.xml wants.  Names change
# when they are complete, so that half a folder is never used.
fetch() {
    rm -rf "${out:?}/$1" "$out/$1.new"
    timeout "$DEADLINE" mvn -q -B -ntp -f "$here/pom.xml" -P "$1" \
        dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$out/$1.new" >"$out/mvn.log" 2>&1 ||
        skip "Maven could not fetch Redisson: see $out/mvn.log"
    mv "$out/$1.new" "$out/$1"
}

# compile SOURCE...
compile() {
    rm -rf "$out/classes" "$out/classes.new"
    javac --release 17 -Xlint:all -Werror -cp "$out/lib4/*" \
        -d "$out/classes.new" "$@"
    cat "$@" >"$out/made-of"
    mv "$out/classes.new" "$out/classes"
}

mkdir -p "$out"
for command in java javac mvn; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done
if ! cmp -s "$here/pom.xml" "$out/pom.xml"; then
    rm -rf "$out/classes"
    fetch lib3
    fetch lib4
    cp "$here/pom.xml" "$out/pom.xml"
fi
set -- "$here/Peer.java" "$here"/../java/peer/*.java
if [ ! -d "$out/classes" ] || ! cat "$@" | cmp -s - "$out/made-of"; then
    compile "$@"
fi
rm -f "$out/why"
