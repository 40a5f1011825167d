#!/bin/bash
# SPDX-License-Identifier: MIT
#
# packages-try.sh - inside the bare Debian that packages.sh makes: installs our
# packages from /archive, uses them as people would, and purges them.
set -euo pipefail
cd /archive
export DEBIAN_FRONTEND=noninteractive
echo 'deb [trusted=yes] file:/archive ./' >/etc/apt/sources.list.d/ours.list
apt-get update -qq

say() { echo "== $*"; }

fail() {
    echo "packages: $*"
    exit 1
}

get() {
    apt-get install -qq -y --no-install-recommends "$@" >/tmp/apt.log 2>&1 &&
        return
    ! grep -q '^E: Failed to fetch http' /tmp/apt.log || say "no mirror"
    fail "apt-get install $*: $(cat /tmp/apt.log)"
}

has() { # package
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# One of debian/tests, with the packages that it says it needs.
own_test() { # name
    # shellcheck disable=SC2046
    get $(awk -v name="$1" '$1 == "Tests:" { mine = $2 == name }
        mine && $1 == "Depends:" { gsub(/Depends:|,/, ""); print }' \
        tests/control)
    AUTOPKGTEST_TMP=$(mktemp -d)
    export AUTOPKGTEST_TMP
    "tests/$1" || fail "debian/tests/$1 fails"
    rm -rf "$AUTOPKGTEST_TMP"
}

say "the command alone"
get holdfast
has libholdfast1 || fail "the command has no library"
for other in libpq5 libmariadb3 libssl3 libhiredis0.14 libmicrohttpd12; do
    ! has $other || fail "the command alone drags in $other"
done
[ -s /usr/share/man/man1/holdfast.1.gz ] || fail "there is no manual page"
holdfast --version
[ "$(holdfast run first -- echo held)" = held ] || fail "no lock"
[ -e /var/lib/holdfast/holdfast.db ] || fail "the host's store is not used"

say "stores, each by the name that its absence tells"
stores='redis://127.0.0.1:1 zk://127.0.0.1:1 etcd://127.0.0.1:1
    postgresql://127.0.0.1:1/x mariadb://127.0.0.1:1/x'
for store in $stores; do
    told=$(holdfast run -w 0.2 --store "$store" x -- echo HELD 2>&1) || :
    package=$(echo "$told" | grep -o 'install libholdfast-[a-z]*1') ||
        fail "$store without its module: $told"
    get "${package#install }"
    told=$(holdfast run -w 0.2 --store "$store" x -- echo HELD 2>&1) || :
    case $told in
    *HELD* | *install* | '') fail "$store with its module: $told" ;;
    esac
    echo "$store needs ${package#install }; then: $told"
done

say "the console"
told=$(holdfast serve 2>&1) || :
case $told in
*'install holdfast-console'*) ;;
*) fail "the console is missing, and: $told" ;;
esac
own_test command

say "Python"
own_test python

say "Redis"
own_test redis

say "programs that use the library"
own_test library
while read -r file; do
    [ -s "/usr/$file" ] || fail "no package has /usr/$file"
done <files

say "purged"
apt-get purge -qq -y '.*holdfast.*' >/tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
rest=$(find / -xdev \( -path /proc -o -path /sys -o -path /archive -o \
    -path /var/lib/apt -o -path /var/cache/apt \) -prune -o \
    -iname '*holdfast*' -print)
[ -z "$rest" ] || fail "left behind: $rest"
say "all is well"
