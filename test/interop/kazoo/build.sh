#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build.sh FOLDER - the kazoo peer: FOLDER/lib28 stands for the library that
# Debian 12 packages, FOLDER/lib211 has a current one from PyPI.
#
# Quick when there is nothing to do.  A library that is not to be had is said
# so in one line, which also stays in FOLDER/LIB.why; if neither is, the exit
# status is 77: skip.
set -eu
DEADLINE=100 # seconds for pip
VERSION=2.11.0
PYTHON=/usr/bin/python3 # Debian's, whose packages python3-kazoo is one of

out=${1:?usage: build.sh FOLDER}
mkdir -p "$out"

# lacks LIB WHY
lacks() {
    rm -rf "${out:?}/$1"
    echo "$2" >"$out/$1.why"
    echo "without $1: $2"
}

# An empty folder: Python then finds what is installed.
take() {
    "$PYTHON" -c 'import kazoo' 2>/dev/null || {
        lacks lib28 "kazoo is not installed: apt-get install python3-kazoo"
        return
    }
    rm -f "$out/lib28.why"
    mkdir -p "$out/lib28"
}

# The name changes when it is complete, so that half a folder is never used.
fetch() {
    rm -rf "$out/lib211" "$out/lib211.new" "$out/lib211.why"
    command -v pip3 >/dev/null || {
        lacks lib211 "pip3 is not installed"
        return
    }
    timeout "$DEADLINE" pip3 install -q --no-deps --target "$out/lib211.new" \
        "kazoo==$VERSION" >"$out/pip.log" 2>&1 || {
        lacks lib211 "pip could not fetch kazoo: see $out/pip.log"
        return
    }
    mv "$out/lib211.new" "$out/lib211"
}

[ -x "$PYTHON" ] || {
    echo "$PYTHON is not installed" | tee "$out/lib28.why" >"$out/lib211.why"
    echo "skipped: $PYTHON is not installed"
    exit 77
}
[ -d "$out/lib28" ] || take
[ -d "$out/lib211/kazoo" ] || fetch
[ -d "$out/lib28" ] || [ -d "$out/lib211" ] || exit 77
