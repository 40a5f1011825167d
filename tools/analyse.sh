#!/bin/sh
# SPDX-License-Identifier: MIT
#
# analyse.sh [gcc|cppcheck|tidy|deep]... - static analysis of the library and
# what stands on it; nothing may be found.  Without arguments: gcc, cppcheck and tidy.
#
#   gcc       -fanalyzer, without its search for leaks: the one of gcc 12 loses
#             sight of what is stored in a struct.  Leaks are looked for by the
#             address sanitizer, while allocations fail (alloc_fault_test).
#   cppcheck  warnings, performance, portability
#   tidy      clang-tidy, with the checks of .clang-tidy
#   deep      the same with clang's own analyser, which takes ten times as long
#
# What is found and is no fault stands in analyse.known, with the reason.  A
# line there that nothing matches any more is a fault as well.
#
# BUILD names the build folder, whose generated headers are needed.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath -m "${BUILD:-build}")
known=tools/analyse.known
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT

# As the build has them.  HF_ANALYSED: see err.h.
flags="-std=gnu11 -D_GNU_SOURCE -DHF_ANALYSED -I$build/src/gen -I$build/console"
for store in SQLITE REDIS ZOOKEEPER ETCD POSTGRES MARIADB; do
    flags="$flags -DHF_WITH_$store"
done
for package in libpq libmariadb; do
    flags="$flags $(pkg-config --cflags-only-I $package 2>/dev/null |
        sed 's/-I/-isystem /g')"
done

sources() {
    find src view cli console -name '*.c' | sort
}

# Each prints "FILE:LINE CHECK what", and nothing else.
gcc_finds() {
    # shellcheck disable=SC2016
    sources | xargs -P 2 -n 8 sh -c '
        flags=$1
        shift
        for file; do
            gcc -fanalyzer -Wno-analyzer-malloc-leak -O1 $flags -c "$file" \
                -fdiagnostics-plain-output -o /dev/null 2>&1
        done' gcc "$flags" |
        sed -n 's/^\([^ :]*:[0-9]*\):[0-9]*: warning: \(.*\) \[-W\(.*\)\]$/\1 \3 \2/p
            s/^\([^ :]*:[0-9]*\):[0-9]*: error: /\1 error /p'
}

# NULL at the end of variadic arguments is a pointer wherever we run.  One
# job: with more it does not look from file to file.
cppcheck_finds() {
    cppcheck --quiet --std=c11 --inline-suppr \
        --enable=warning,performance,portability \
        --suppress=missingIncludeSystem --suppress=varFuncNullUB -D_GNU_SOURCE -D__linux__ \
        -DHF_ANALYSED "-I$build/src/gen -I$build/console" \
        --template='{file}:{line} {id} {message}' src view cli console 2>&1 |
        grep -E '^[a-z].*:[0-9]+ ' || :
}

tidy_finds() { # more checks
    # shellcheck disable=SC2016
    sources | xargs -P 2 -n 8 sh -c '
        flags=$1 more=$2
        shift 2
        clang-tidy --quiet $more "$@" -- $flags 2>/dev/null' tidy "$flags" "$1" |
        sed -n 's/^\([^ :]*:[0-9]*\):[0-9]*: [a-z]*: \(.*\) \[\([^]]*\)\]$/\1 \3 \2/p' |
        sed "s|^$PWD/||"
}

deep_finds() {
    tidy_finds "--checks=-*,clang-analyzer-*,$(sed -n \
        's/^ *\(-clang-analyzer-[^ ,]*\),*$/\1/p' .clang-tidy | tr '\n' ',')"
}

# "TOOL FILE CHECK reason" allows what TOOL finds of that sort in FILE.
judge() { # tool
    sort -u "$found/$1" | awk -v tool="$1" '
        FNR == NR {
            if ($1 == tool) {
                reason[$2 " " $3] = FNR
            }
            next
        }
        {
            file = $1
            sub(/:[0-9]+$/, "", file)
            if ((file " " $2) in reason) {
                used[file " " $2] = 1
                next
            }
            print tool ": " $0
            bad = 1
        }
        END {
            for (entry in reason)
                if (!(entry in used)) {
                    print tool ": nothing is found any more for \"" entry \
                        "\": take it out of tools/analyse.known"
                    bad = 1
                }
            exit bad
        }' "$known" -
}

[ -e "$build/src/gen/lua.gen.h" ] || {
    echo "analyse: build first: $build/src/gen is missing" >&2
    exit 2
}
[ $# -gt 0 ] || set -- gcc cppcheck tidy
status=0
for tool; do
    case $tool in
    gcc) gcc_finds >"$found/$tool" ;;
    cppcheck) cppcheck_finds >"$found/$tool" ;;
    deep) deep_finds >"$found/$tool" ;;
    tidy) tidy_finds "" >"$found/$tool" ;;
    *) echo "usage: tools/analyse.sh [gcc|cppcheck|tidy|deep]..." >&2 &&
        exit 2 ;;
    esac
    if judge "$tool"; then
        echo "analyse: $tool finds nothing"
    else
        status=1
    fi
done
exit $status
