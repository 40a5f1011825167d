#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD CC CXX - installs BUILD into a folder, moves it, and builds the
# example against it as strangers would: by pkg-config and by CMake, shared and
# static, from C and from C++.
set -eu
build=$1
cc=$2
cxx=$3
example=$(cd "$(dirname "$0")/example" && pwd)
root=$(mktemp -d "${HF_TEST_DIR:-/tmp}/install.XXXXXX")
trap 'rm -rf "$root"' EXIT
cd "$root"
strict='-Wall -Wextra -pedantic -Werror'

fail() {
    echo "$*"
    exit 1
}

# ---- below DESTDIR, as packages are made -----------------------------------
# Nothing in it may name the folder that it was staged in, nor the build's.
DESTDIR=$root/stage cmake --install "$build" --prefix /usr >install.log
lib=$(dirname "$(find stage/usr -name libholdfast.a)")
! grep -rlI -e "$root" -e "$build" stage/usr ||
    fail "these files name folders of the build"
# No other package is asked for: who uses one store needs nothing of the rest.
flags=$(PKG_CONFIG_LIBDIR="$lib/pkgconfig" pkg-config --cflags --libs holdfast)
[ "${flags% }" = -lholdfast ] || fail "flags for /usr need no folders: $flags"

# ---- in a folder of its own, and moved afterwards --------------------------
cmake --install "$build" --prefix "$root/first" >>install.log
mv first moved
lib=$root/moved/${lib#stage/usr/}
export PKG_CONFIG_PATH="$lib/pkgconfig"
version=$(moved/bin/holdfast --version | awk '{ print $2 }')
[ "$(pkg-config --modversion holdfast)" = "$version" ] ||
    fail "pkg-config takes it for $(pkg-config --modversion holdfast)"

runs() { # program shared|static
    [ "$("$1")" = "$version" ] || fail "$1 does not run"
    case $(ldd "$1") in
    *libholdfast.so.1*) [ "$2" = shared ] || fail "$1 wants libholdfast.so" ;;
    *) [ "$2" = static ] || fail "$1 does without libholdfast.so" ;;
    esac
}

# Flags are words.
# shellcheck disable=SC2046,SC2086
by_pkg_config() { # program compiler standard source
    "$2" "$3" $strict "$4" $(pkg-config --cflags --libs holdfast) \
        "-Wl,-rpath,$lib" -o "$1_shared"
    "$2" "$3" $strict "$4" $(pkg-config --cflags --libs holdfast-static) \
        -o "$1_static"
    runs "./$1_shared" shared
    runs "./$1_static" static
}
by_pkg_config c "$cc" -std=c11 "$example/main.c"
by_pkg_config cpp "$cxx" -std=c++17 "$example/main.cpp"

# Where there is only the archive, --static is enough.
mkdir archive
mv "$lib"/libholdfast.so* archive/
# shellcheck disable=SC2046
"$cc" "$example/main.c" $(pkg-config --static --cflags --libs holdfast) -o only
mv archive/* "$lib/"
runs ./only static

# What the README shows must be true, too.
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' \
    "$example/../../../README.md" >readme.c
# shellcheck disable=SC2046
"$cc" -Wall -Wextra -Werror readme.c $(pkg-config --cflags --libs holdfast) \
    "-Wl,-rpath,$lib" -o readme
HOLDFAST_STORE=sqlite:$root/locks.db ./readme | grep -q '^ours, with token [0-9]' ||
    fail "the README's program does not run"

# So must the lines that the examples have in their heads, word for word.
cp -r "$example/../../../examples" .
for source in examples/*.c examples/exactly-once/exactly-once.c \
    examples/loops/*.c; do
    line=$(sed -n 's/^ \*     cc //p' "$source")
    wants=$(echo "$line" | sed -n 's/.*(pkg-config [-a-z ]*--libs \(.*\)).*/\1/p')
    # shellcheck disable=SC2086
    pkg-config --exists $wants || {
        echo "left out: $source, which wants $wants"
        continue
    }
    (cd "$(dirname "$source")" && LD_RUN_PATH=$lib sh -c "$cc -Werror $line") ||
        fail "$source is not built by its own line"
done
TMPDIR=$root examples/flash-sale >/dev/null || fail "an example does not run"
examples/loops/epoll "sqlite:$root/loop.db" >/dev/null ||
    fail "the example for epoll does not run"

# Headers, alone; C's in both languages.  Adapters want their loop's own.
for header in $(cd moved/include && find . -name '*.h*' ! -path '*/adapters/*'); do
    echo "#include <${header#./}>" >alone.c
    # shellcheck disable=SC2086
    "$cxx" -std=c++17 $strict -Imoved/include -x c++ -fsyntax-only alone.c
    # shellcheck disable=SC2086
    [ "${header%.h}" = "$header" ] ||
        "$cc" -std=c11 $strict -Imoved/include -fsyntax-only alone.c
done

# ---- by CMake --------------------------------------------------------------
by_cmake() { # folder, what to find
    cmake -S "$example" -B "$1" -G Ninja "-DCMAKE_C_COMPILER=$cc" \
        "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_PREFIX_PATH=$root/moved" \
        "-DSTORES=$2" >"$1.log" 2>&1
}
by_cmake found 'sqlite' || fail "$(cat found.log)"
cmake --build found >>found.log || fail "$(cat found.log)"
for language in c cpp; do
    runs "found/${language}_shared" shared
    runs "found/${language}_static" static
done
touch "$lib/holdfast/holdfast-redis.so" # where its client library is missing
by_cmake found 'sqlite;redis' || fail "$(cat found.log)"
rm "$lib/holdfast/holdfast-redis.so"
! by_cmake found 'sqlite;redis' || fail "CMake finds a store that is not there"
tr -s ' \n' ' ' <found.log | grep -q 'redis is not part of this installation.*libholdfast-redis1' ||
    fail "CMake does not say which store is missing: $(cat found.log)"
! by_cmake found 'rediss' || fail "CMake finds a store that does not exist"
grep -q "no component 'rediss'" found.log || fail "$(cat found.log)"
echo "the installed tree can be built against"
