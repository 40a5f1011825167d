#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds Redisson's worker: FOLDER/lib, FOLDER/classes.
#
# In the manner of the peer of the tests: quick when there is nothing to do,
# and what is missing here - Java, Maven, the registry - is said in one line,
# which also stays in FOLDER/why, and the exit status is 77.
set -eu
DEADLINE=200 # seconds for Maven: the first time it fetches about 30 MB

here=$(cd "$(dirname "$0")" && pwd)
pom=$here/pom.xml
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
    rm -rf "${out:?}/lib" "$out/lib.new"
    timeout "$DEADLINE" mvn -q -B -ntp -f "$pom" \
        dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$out/lib.new" >"$out/mvn.log" 2>&1 ||
        skip "Maven could not fetch Redisson: see $out/mvn.log"
    mv "$out/lib.new" "$out/lib"
    cp "$pom" "$out/pom.xml"
}

# compile SOURCE...
compile() {
    rm -rf "$out/classes" "$out/classes.new"
    javac --release 17 -Xlint:all -Werror -cp "$out/lib/*" \
        -d "$out/classes.new" "$@"
    cat "$@" >"$out/made-of"
    mv "$out/classes.new" "$out/classes"
}

for command in java javac mvn; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done
if [ ! -d "$out/lib" ] || ! cmp -s "$pom" "$out/pom.xml"; then
    rm -rf "$out/classes"
    fetch
fi
set -- "$here/Bench.java" "$here"/../java/bench/*.java
if [ ! -d "$out/classes" ] || ! cat "$@" | cmp -s - "$out/made-of"; then
    compile "$@"
fi
rm -f "$out/why"
