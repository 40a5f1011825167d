#!/bin/bash
# SPDX-License-Identifier: MIT
#
# abi.sh [check] BUILD   compares the library with abi/libholdfast.so.1.abi, and
#                        with the last release where git knows one: what was
#                        added is told, what was removed or changed is a failure
# abi.sh update BUILD    writes that file anew, and debian/libholdfast1.symbols
# abi.sh --self-test CC  shows that it notices what it must
#
# The interface is what include/holdfast.h declares.  For its types the library
# must be compiled with debug information: it is, in BUILD/abi.
# Exit code 77: cannot be done here, and why.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
reference=$top/abi/libholdfast.so.1.abi
symbols=$top/debian/libholdfast1.symbols

skip() {
    echo "skipped: $*"
    exit 77
}

command -v abidiff >/dev/null ||
    skip "abidiff is not installed: apt-get install abigail-tools"
[ "$(getconf LONG_BIT)" = 64 ] || [ "${1-}" = --self-test ] ||
    skip "the description is of a machine with 64 bits"

# Sets library.
compile() { # tree folder
    if ! {
        cmake -G Ninja -S "$1" -B "$2" --log-level=ERROR \
            -DCMAKE_BUILD_TYPE=Debug \
            "-DCMAKE_C_FLAGS=-fdebug-prefix-map=$1/=" &&
            library=$(ninja -C "$2" -t targets all |
                sed -n 's/^\(lib\/libholdfast\.so\.[0-9.]*\): C_SHARED.*/\1/p') &&
            ninja -C "$2" "$library"
    } >"$2.log" 2>&1; then
        tail -n 30 "$2.log"
        exit 1
    fi
    library=$2/$library
}

exported() { # library
    nm -D --defined-only "$1" | sed -n 's/.* \(hf_[a-z].*\)@@HOLDFAST_[0-9].*/\1/p' |
        LC_ALL=C sort
}

# Results, flags and limits travel as int, so that types do not tell of them:
# "NAME VALUE" for every enumerator, and every macro that is a number.
constants() { # header
    local dir
    dir=$(mktemp -d)
    cp "$1" "$dir/holdfast.h"
    {
        "${CC:-cc}" -E -P "$dir/holdfast.h" | grep -ow 'HF_[A-Z0-9_]*'
        "${CC:-cc}" -dM -E "$dir/holdfast.h" |
            sed -nE 's/^#define (HF_[A-Z0-9_]*) \(?-?[0-9]+\)?$/\1/p'
    } | LC_ALL=C sort -u >"$dir/names"
    {
        printf '#include "holdfast.h"\n#include <stdio.h>\nint main(void) {\n'
        sed 's/.*/printf("& %lld\\n", (long long)&);/' "$dir/names"
        echo '}'
    } >"$dir/constants.c"
    "${CC:-cc}" "$dir/constants.c" -o "$dir/constants"
    "$dir/constants"
    rm -r "$dir"
}

# A folder with this one header tells abidw which types are public.
describe() { # library header result
    local dir
    dir=$(mktemp -d)
    mkdir "$dir/include"
    cp "$2" "$dir/include/"
    {
        echo '[holdfast_whitelist]'
        exported "$1" | while read -r name; do
            ! grep -qw "$name" "$2" || echo "  $name"
        done
    } >"$dir/names"
    abidw --headers-dir "$dir/include" --drop-private-types \
        --kmi-whitelist "$dir/names" --no-corpus-path --no-comp-dir-path \
        --no-show-locs --no-architecture --no-elf-needed --no-parameter-names \
        --no-write-default-sizes --type-id-style hash "$1" >"$3"
    constants "$2" >"$3.constants"
    rm -r "$dir"
}

# Bits of abidiff's exit code: 1 and 2 it failed, 4 something is different.
differ() { # old new [option]...
    local code=0
    abidiff --no-corpus-path --no-architecture "${@:3}" "$1" "$2" || code=$?
    [ $((code & 3)) = 0 ] || {
        echo "abidiff fails with $code"
        exit 1
    }
    [ $code != 0 ]
}

# Constants of the first that the second has not, or otherwise.
unlike() { # old new
    LC_ALL=C comm -23 <(LC_ALL=C sort "$1") <(LC_ALL=C sort "$2")
}

compare() { # old new what
    local report grown
    report=$(unlike "$1.constants" "$2.constants")
    if [ -n "$report" ]; then
        printf 'was %s\n' "${report//$'\n'/$'\n'was }"
        echo "abi: the constants are not those of $3 any more"
        return 1
    fi
    : >"$2.grown"
    awk -v told="$2.grown" -f "$top/tools/abi-grown.awk" "$top/abi/may-grow" \
        "$1" "$2" >"$2.rest"
    unlike "$2.constants" "$1.constants" | sed 's/^/  [A] /' >>"$2.grown"
    grown=$(cat "$2.grown")
    if report=$(differ "$1" "$2.rest" --no-added-syms); then
        printf '%s\n' "$report"
        echo "abi: the interface is not that of $3 any more"
        return 1
    fi
    if report=$(differ "$1" "$2.rest") || [ -n "$grown" ]; then
        printf '%s\n' "$report" | grep '\[A\]' || :
        [ -z "$grown" ] || printf '%s\n' "$grown"
        echo "abi: that was added to the interface of $3"
    else
        echo "abi: the interface of $3 is as it was"
    fi
}

# Of the same soname, that is: a new one may be anything.
last_release() {
    git -C "$top" describe --tags --abbrev=0 --match 'v*' 2>/dev/null
}

check() { # build
    local tag old now=$1/abi/now
    compile "$top" "$1/abi/build"
    describe "$library" "$top/include/holdfast.h" "$now"
    compare "$reference" "$now" "abi/$(basename "$reference")"

    if ! tag=$(last_release); then
        echo "abi: git knows no release here, so that was all"
        return
    fi
    old=$1/abi/$tag
    if [ ! -e "$old.abi.constants" ]; then # which is written last
        rm -rf "$old"
        mkdir -p "$old/tree"
        git -C "$top" archive "$tag" | tar -x -C "$old/tree"
        compile "$old/tree" "$old/build"
        describe "$library" "$old/tree/include/holdfast.h" "$old.abi"
        rm -rf "$old"
    fi
    if [ "$(soname "$old.abi")" != "$(soname "$now")" ]; then
        echo "abi: $tag has another soname, and is not compared"
        return
    fi
    compare "$old.abi" "$now" "$tag"
}

soname() { # description
    sed -n "s/.* soname='\([^']*\)'.*/\1/p" "$1" | head -n 1
}

# A symbol keeps the version that had it first.
update() { # build
    local version name
    compile "$top" "$1/abi/build"
    describe "$library" "$top/include/holdfast.h" "$1/abi/now"
    cp "$1/abi/now" "$reference"
    cp "$1/abi/now.constants" "$reference.constants"
    version=$(sed -n 's/^#define HF_VERSION *"\(.*\)"/\1/p' "$top/include/holdfast.h")
    {
        sed -n '/^[^ ]/p; /^ (/p; /^ HOLDFAST_/p' "$symbols"
        exported "$library" | while read -r name; do
            grep "^ $name@" "$symbols" || echo " $name@HOLDFAST_1 $version"
        done
    } >"$1/abi/symbols"
    cp "$1/abi/symbols" "$symbols"
    echo "abi: wrote ${reference#"$top"/} and ${symbols#"$top"/}"
}

# ---- self-test ---------------------------------------------------------------
self_test() { # cc
    local dir failed=0
    dir=$(mktemp -d "${HF_TEST_DIR:-/tmp}/abi.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$dir'" EXIT
    cat >"$dir/holdfast.h" <<'HEADER'
#include <stddef.h>
typedef struct hf_client hf_client;
#define HF_VERSION "1.0.0"
#define HF_NAME_MAX 255
enum hf_flag { HF_FAIR = 1 };
enum hf_result { HF_OK, HF_BUSY };
typedef struct hf_error { int code; char text[240]; } hf_error;
typedef struct hf_options { size_t size; int lease_ms; } hf_options;
int hf_open(hf_client **ret, const hf_options *options, hf_error *err);
enum hf_result hf_try(hf_client *client);
void hf_close(hf_client *client);
HEADER
    cat >"$dir/library.c" <<'SOURCE'
#include "holdfast.h"
struct hf_client { int private_field; };
int hf_open(hf_client **ret, const hf_options *options, hf_error *err) {
    return ret == NULL || options == NULL || err == NULL;
}
enum hf_result hf_try(hf_client *client) { return client ? HF_OK : HF_BUSY; }
void hf_close(hf_client *client) { (void)client; }
int hf__private(int a) { return a; }
SOURCE
    make_library() { # folder
        "$1" -g -fPIC -shared -Wl,-soname,libholdfast.so.1 \
            "-Wl,--version-script=$top/src/holdfast.map" \
            "$2/library.c" -o "$2/library.so"
        describe "$2/library.so" "$2/holdfast.h" "$2/abi"
    }
    make_library "$1" "$dir"
    expect() { # well|broken what sed-expression
        local it=$dir/it said=well
        rm -rf "$it" && mkdir "$it"
        sed -E "$3" "$dir/holdfast.h" >"$it/holdfast.h"
        sed -E "$3" "$dir/library.c" >"$it/library.c"
        cat "$it/holdfast.h" "$it/library.c" >"$it/both"
        [ -z "$3" ] || ! cat "$dir/holdfast.h" "$dir/library.c" | cmp -s - "$it/both" ||
            { echo "nothing was changed by: $3" && failed=1; }
        make_library "$cc" "$it"
        compare "$dir/abi" "$it/abi" "the test" >"$it/said" || said=broken
        if [ $said != "$1" ]; then
            echo "$2: is $said, should be $1"
            cat "$it/said"
            failed=1
        fi
    }
    local cc=$1
    expect well "nothing" ''
    expect well "a private field" 's/private_field;/&int b;/'
    expect well "a private function" '/hf__private/d'
    expect well "a new function" 's/^void hf_close(.*)(;| \{.*)$/&\nint hf_new(int a)\2/; s/(hf_new.*)\{.*/\1{ return a; }/'
    grep -q 'hf_new' "$dir/it/said" ||
        { echo "a new function is not told of" && failed=1; }
    expect well "a new result" 's/HF_BUSY \}/HF_BUSY, HF_NEW }/'
    expect well "a new option at the end" 's/lease_ms;/&const char *host;/'
    grep -q "'host' of hf_options" "$dir/it/said" ||
        { echo "a new option is not told of" && failed=1; }
    expect broken "a new option in the padding" 's/lease_ms;/&int renew_ms;/'
    expect broken "a new option before others" 's/int lease_ms;/int renew_ms;&/'
    expect broken "an option of another type" 's/int lease_ms;/long lease_ms;/'
    expect broken "an option less" 's/int lease_ms;//'
    expect broken "a larger error" 's/char text\[240\];/char text[480];/'
    expect broken "a longer error" 's/char text\[240\];/&int more;/'
    expect broken "another flag" 's/HF_FAIR = 1/HF_FAIR = 2/'
    expect broken "a limit less" '/HF_NAME_MAX/d'
    expect broken "another limit" 's/HF_NAME_MAX 255/HF_NAME_MAX 100/'
    expect well "another version" 's/"1.0.0"/"1.0.1"/'
    expect broken "another result" 's/HF_OK, HF_BUSY/HF_BUSY, HF_OK/'
    expect broken "another parameter" 's/hf_try\(hf_client \*client/hf_try(int client/'
    expect broken "one parameter more" 's/hf_close\(hf_client \*client/&, int how/'
    expect broken "another return" 's/^void (hf_close.*)\{.*/int \1{ return client == 0; }/; s/^void hf_close/int hf_close/'
    expect broken "a function less" '/hf_close/d'
    [ $failed = 0 ] || exit 1
    echo "abi: what breaks programs is noticed, what does not passes"
}

case ${1-} in
--self-test) self_test "${2:-cc}" ;;
check | update)
    mkdir -p "${2:?the folder of the build}/abi"
    "$1" "$(cd "$2" && pwd)"
    ;;
*) echo "usage: tools/abi.sh check|update BUILD, or --self-test CC" >&2 && exit 2 ;;
esac
