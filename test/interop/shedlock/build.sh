#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds the ShedLock peer: FOLDER/lib7, ShedLock and the
# JDBC drivers from Maven's registry, and FOLDER/classes.
#
# Quick when there is nothing to do.  What is not to be had is said so in one
# line, which also stays in FOLDER/why, and the exit status is 77: skip.
# Anything else is our own mistake.
set -eu
DEADLINE=120 # seconds for Maven: the first time it fetches about 10 MB

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: build.sh FOLDER}"
out=$(cd "$1" && pwd) # Maven would take it from where the pom is

skip() {
    rm -rf "$out/classes"
    echo "$1" >"$out/why"
    echo "skipped: $1"
    exit 77
}

# Names change when they are complete, so that half a folder is never used.
fetch() {
    rm -rf "$out/lib7" "$out/lib7.new"
    timeout "$DEADLINE" mvn -q -B -ntp -f "$here/pom.xml" \
        dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$out/lib7.new" >"$out/mvn.log" 2>&1 ||
        skip "Maven could not fetch ShedLock: see $out/mvn.log"
    mv "$out/lib7.new" "$out/lib7"
    cp "$here/pom.xml" "$out/pom.xml"
}

# compile SOURCE...
compile() {
    rm -rf "$out/classes" "$out/classes.new"
    # The jars name annotations that need not be there.
    javac --release 17 -Xlint:all,-classfile,-path -Werror \
        -cp "$out/lib7/*" -d "$out/classes.new" "$@"
    cat "$@" >"$out/made-of"
    mv "$out/classes.new" "$out/classes"
}

for command in java javac mvn; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done
if [ ! -d "$out/lib7" ] || ! cmp -s "$here/pom.xml" "$out/pom.xml"; then
    fetch
fi
set -- "$here/Peer.java" "$here"/../java/peer/*.java
if [ ! -d "$out/classes" ] || ! cat "$@" | cmp -s - "$out/made-of"; then
    compile "$@"
fi
rm -f "$out/why"
