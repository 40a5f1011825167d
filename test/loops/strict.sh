#!/bin/sh
# SPDX-License-Identifier: MIT
#
# strict.sh CC LOOP - include/holdfast/adapters/LOOP.h alone, as C11 and as
# C++17, without a warning; its loop's own headers may have theirs.
set -eu
cc=$1
loop=$2
cd "$(dirname "$0")/../.."
case $loop in
epoll) module= ;;
uv) module=libuv ;;
event) module=libevent_core ;;
glib) module=glib-2.0 ;;
*) echo "usage: strict.sh CC LOOP" >&2 && exit 2 ;;
esac
[ -z "$module" ] || module=$(pkg-config --cflags-only-I "$module" |
    sed 's/-I/-isystem /g')
flags="-Wall -Wextra -pedantic -Wshadow -Werror -fsyntax-only -D_GNU_SOURCE"
text="#include <holdfast/adapters/$loop.h>"

# shellcheck disable=SC2086
echo "$text" | "$cc" -std=c11 $flags -Iinclude $module -x c -
cxx=$(command -v c++ || command -v clang++) || {
    echo "skipped: there is no C++ compiler"
    exit 77
}
# shellcheck disable=SC2086
echo "$text" | "$cxx" -std=c++17 $flags -Iinclude $module -x c++ -
