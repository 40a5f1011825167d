#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - builds the Curator peer: FOLDER/lib54, the library that
# Debian 12 packages, FOLDER/lib59, a current one from Maven's registry, and
# FOLDER/classes for both.
#
# Quick when there is nothing to do.  A library that is not to be had is said
# so in one line, which also stays in FOLDER/LIB.why; if neither is, or Java is
# missing, in FOLDER/why, and the exit status is 77: skip.  Anything else is
# our own mistake.
set -eu
DEADLINE=120 # seconds for Maven: the first time it fetches about 15 MB
DEBIAN=${HF_CURATOR_JARS:-/usr/share/java}

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: build.sh FOLDER}"
out=$(cd "$1" && pwd) # Maven would take it from where the pom is

skip() {
    rm -rf "$out/classes"
    echo "$1" >"$out/why"
    echo "skipped: $1"
    exit 77
}

# lacks LIB WHY
lacks() {
    rm -rf "${out:?}/$1"
    echo "$2" >"$out/$1.why"
    echo "without $1: $2"
}

# Debian's jars have no versions in their names.
take() {
    rm -rf "$out/lib54" "$out/lib54.new" "$out/lib54.why"
    mkdir "$out/lib54.new"
    for jar in curator-recipes curator-framework curator-client zookeeper \
        zookeeper-jute guava slf4j-api; do
        [ -e "$DEBIAN/$jar.jar" ] || {
            lacks lib54 "no $jar.jar: apt-get install libcurator-recipes-java"
            return
        }
        ln -s "$DEBIAN/$jar.jar" "$out/lib54.new/$jar.jar"
    done
    mv "$out/lib54.new" "$out/lib54"
}

# Names change when they are complete, so that half a folder is never used.
fetch() {
    rm -rf "$out/lib59" "$out/lib59.new" "$out/lib59.why"
    command -v mvn >/dev/null || {
        lacks lib59 "mvn is not installed"
        return
    }
    timeout "$DEADLINE" mvn -q -B -ntp -f "$here/pom.xml" \
        dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$out/lib59.new" >"$out/mvn.log" 2>&1 || {
        lacks lib59 "Maven could not fetch Curator: see $out/mvn.log"
        return
    }
    mv "$out/lib59.new" "$out/lib59"
    cp "$here/pom.xml" "$out/pom.xml"
}

# compile LIB SOURCE...
compile() {
    rm -rf "$out/classes" "$out/classes.new"
    lib=$1
    shift
    # Debian's jars name others that need not be there.
    javac --release 17 -Xlint:all,-classfile,-path -Werror \
        -cp "$out/$lib/*" -d "$out/classes.new" "$@"
    cat "$@" >"$out/made-of"
    mv "$out/classes.new" "$out/classes"
}

for command in java javac; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done
[ -d "$out/lib54" ] || take
if [ ! -d "$out/lib59" ] || ! cmp -s "$here/pom.xml" "$out/pom.xml"; then
    fetch
fi
if [ -d "$out/lib54" ]; then
    lib=lib54
elif [ -d "$out/lib59" ]; then
    lib=lib59
else
    skip "no Curator: $(cat "$out/lib54.why"); $(cat "$out/lib59.why")"
fi
set -- "$here/Peer.java" "$here"/../java/peer/*.java
if [ ! -d "$out/classes" ] || ! cat "$@" | cmp -s - "$out/made-of"; then
    compile "$lib" "$@"
fi
rm -f "$out/why"
