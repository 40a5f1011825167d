#!/bin/bash
# SPDX-License-Identifier: MIT
#
# packages.sh build OUT   makes the Debian packages from a copy of the tree, and
#                         lets lintian look at them
# packages.sh try OUT     installs them in a bare Debian, uses them, and purges
#                         them
#
# Exit code 77: cannot be done here, and why.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
case ${1-} in
build | try) ;;
*) echo "usage: tools/packages.sh build|try OUT" >&2 && exit 2 ;;
esac
mkdir -p "${2:?where to}"
out=$(cd "$2" && pwd)

skip() {
    echo "skipped: $*"
    exit 77
}

need() { # command package
    command -v "$1" >/dev/null || skip "$1 is not installed: apt-get install $2"
}

# ---- build -------------------------------------------------------------------
# What git does not know is left out where there is git; a build folder is
# always.
copy() {
    if git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
        git -C "$top" ls-files -z --cached --others --exclude-standard |
            tar -c -C "$top" --null --ignore-failed-read -T - 2>/dev/null
    else
        tar -c -C "$top" --exclude=./build --exclude='./build-*' .
    fi | tar -x -C "$1"
}

build() {
    need dpkg-buildpackage dpkg-dev
    need dh debhelper
    need lintian lintian
    local jobs
    jobs=${JOBS:-$(nproc)}
    rm -rf "$out"
    mkdir -p "$out/holdfast"
    copy "$out/holdfast"
    echo "== building, with $jobs at a time"
    (cd "$out/holdfast" && env -u CFLAGS -u CPPFLAGS -u LDFLAGS \
        DEB_BUILD_OPTIONS="parallel=$jobs" nice dpkg-buildpackage -us -uc) \
        >"$out/build.log" 2>&1 || {
        tail -n 40 "$out/build.log"
        exit 1
    }
    rm -rf "$out/holdfast/obj-"*
    echo "== lintian"
    local who=()
    [ "$(id -u)" != 0 ] || who=(--allow-root)
    lintian "${who[@]}" --fail-on error,warning "$out"/*.changes
    (cd "$out" && ls -1 -- *.deb)
}

# ---- try -----------------------------------------------------------------------
# The mirror that this machine uses.
sources() {
    local suite=$1 mirror
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        sed -nE 's/^(URIs: *|deb (\[[^]]*\] )?)(https?:[^ ]*\/debian)\/?( .*)?$/\3/p' |
        head -n 1)
    [ -n "$mirror" ] || return 1
    echo "deb $mirror $suite main"
    echo "deb $mirror $suite-updates main"
    echo "deb $mirror-security $suite-security main"
}

try() {
    need mmdebstrap mmdebstrap
    need dpkg-scanpackages dpkg-dev
    ls "$out"/holdfast_*.deb >/dev/null 2>&1 || skip "there are no packages"
    local id suite
    # shellcheck disable=SC1091
    id=$(. /etc/os-release && echo "$ID")
    # shellcheck disable=SC1091
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    [ "$id" = debian ] || skip "this is no Debian, whose libraries they want"
    sources "$suite" >"$out/sources.list" ||
        skip "no mirror of Debian in /etc/apt"

    # A small archive, so that apt finds them by name.
    rm -rf "$out/archive"
    mkdir "$out/archive"
    cp "$out"/*.deb "$out/archive/"
    rm -f "$out/archive"/*-dbgsym_*
    (cd "$out/archive" && dpkg-scanpackages . >Packages 2>/dev/null)
    cp -r "$top/debian/tests" "$out/archive/"
    mkdir -p "$out/archive/test"
    cp -r "$top/test/install" "$out/archive/test/"
    cp "$top/tools/packages-try.sh" "$out/archive/"

    # Whatever is added to these folders must get into a package.
    (cd "$top" && find include -name '*.h' -o -name '*.hpp' &&
        find man -name '*.[1-8].scd' |
        sed 's|man/\(.*\.\([1-8]\)\)\.scd|share/man/man\2/\1.gz|') \
        >"$out/archive/files"

    # Until its last hook nothing of ours is in it: a mirror out of reach, or a
    # machine that lets nobody make another root, says nothing of our packages.
    # shellcheck disable=SC2016
    if mmdebstrap --quiet --variant=apt --format=null \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Retries "3"' \
        --customize-hook="copy-in $out/archive /" \
        --customize-hook='echo "== a bare Debian is there"' \
        --customize-hook='chroot "$1" bash /archive/packages-try.sh' \
        "$suite" /dev/null "$out/sources.list" 2>&1 | tee "$out/try.log" |
        grep --line-buffered '^==\|^packages:'; then
        grep -q '^== all is well' "$out/try.log" && return
    fi
    if grep -q '^== no mirror' "$out/try.log"; then
        tail -n 5 "$out/try.log"
        skip "the mirror went out of reach"
    elif grep -q '^== a bare Debian is there' "$out/try.log"; then
        tail -n 40 "$out/try.log"
        exit 1
    fi
    tail -n 5 "$out/try.log"
    skip "a bare Debian cannot be made here"
}

"$1"
