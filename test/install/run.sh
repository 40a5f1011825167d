#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD CC - installs BUILD into a folder and builds the example against
# it as strangers would: by pkg-config, shared and static, by CMake, and from
# C++ where there is a compiler for it.
set -eu
build=$1
cc=$2
example=$(cd "$(dirname "$0")/example" && pwd)
root=$(mktemp -d "${HF_TEST_DIR:-/tmp}/install.XXXXXX")
trap 'rm -rf "$root"' EXIT
cd "$root"

# Its own rule, so that the developer's prefix does not matter.
cmake --install "$build" --prefix "$root/usr" >install.log
lib=$(dirname "$(find usr -name libholdfast.a)")
sed -i "s|^prefix=.*|prefix=$root/usr|; s|^libdir=.*|libdir=$root/$lib|
    s|^includedir=.*|includedir=$root/usr/include|" "$lib/pkgconfig/holdfast.pc"
export PKG_CONFIG_PATH="$root/$lib/pkgconfig"

runs() {
    [ "$("$1")" = "$(usr/bin/holdfast --version | awk '{ print $2 }')" ] ||
        { echo "$1 does not run" && exit 1; }
}

flags=$(pkg-config --cflags --libs holdfast)
private=$(pkg-config --cflags --libs --static holdfast | sed 's/-lholdfast//')
# shellcheck disable=SC2086
"$cc" -Wall -Wextra -pedantic -Werror "$example/main.c" $flags \
    "-Wl,-rpath,$root/$lib" -o shared
# shellcheck disable=SC2086
"$cc" "$example/main.c" "$lib/libholdfast.a" $private -o static
runs ./shared
runs ./static

# What the README shows must be true, too.
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' \
    "$example/../../../README.md" >readme.c
# shellcheck disable=SC2086
"$cc" -Wall -Wextra -Werror readme.c $flags "-Wl,-rpath,$root/$lib" -o readme
HOLDFAST_STORE=sqlite:$root/locks.db ./readme | grep -q '^ours, with token [0-9]' ||
    { echo "the README's program does not run" && exit 1; }

if command -v clang++ >/dev/null; then
    clang++ -std=c++17 -Wall -Wextra -pedantic -Werror -x c++ -fsyntax-only \
        -Iusr/include "$example/main.c"
fi

cmake -S "$example" -B by_cmake -G Ninja "-DCMAKE_C_COMPILER=$cc" \
    "-DCMAKE_PREFIX_PATH=$root/usr" >cmake.log
cmake --build by_cmake >>cmake.log
runs by_cmake/with_holdfast
runs by_cmake/with_static
echo "the installed tree can be built against"
