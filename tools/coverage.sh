#!/bin/sh
# SPDX-License-Identifier: MIT
#
# coverage.sh quick|full - which lines and branches the tests go through.
#
#   quick  The rule of admission and the parsers, by their unit tests and the
#          corpus of the fuzzer.  Every branch must have been taken both ways;
#          every line is shown that has one which was not.
#          Half a minute: only these files are compiled anew, the rest is taken
#          from the build folder (BUILD).
#   full   Everything, by the unit tests, the contracts, the backend and fault
#          tests and the command: lines per folder, and branches of the files
#          above.  As long as a lane of 'make test'; COVERAGE_WITHOUT, a pattern
#          of tests to be left out, makes it shorter.
#
# gcc and gcov do it; the table is made here.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
build=$(realpath -m "${BUILD:-build}")

# The rule of admission, and what reads what others wrote: every branch must
# have been taken, also for want of memory (support/want.h).
measured='src/claim.c
src/name.c
src/uri.c
src/uri_rules.c
src/redact.c
src/suggest.c
src/presence.c
src/backend/etcd/keys.c
src/backend/etcd/proto.c
src/backend/etcd/value.c
src/backend/etcd/wire.c
src/backend/line/note.c
src/backend/mariadb/address.c
src/backend/postgres/conninfo.c
src/backend/redis/reply.c
src/backend/redis/keys.c
src/backend/redis/record.c
src/backend/redis/info.c
src/backend/redis/address.c
src/backend/redis/topology/naming.c
src/backend/redis/topology/cluster_map.c
src/backend/redis/topology/sentinel_uri.c
src/backend/zookeeper/layout.c'

# Of the .gcov files in a folder: "FILE LINES LINES-RUN BRANCHES BRANCHES-TAKEN"
figures() { # folder
    find "$1" -name '*.gcov' -exec cat {} + | awk '
        /^ *-: *0:Source:/ {
            file = $0
            sub(/.*Source:/, "", file)
            next
        }
        /^branch/ {
            branches[file, at, nth] = 1
            if ($0 !~ /never executed|taken 0/)
                taken[file, at, nth] = 1
            nth++
            next
        }
        /^ *[0-9#=*-]+\*?: *[0-9]+:/ {
            split($0, part, ":")
            at = part[2] + 0
            nth = 0
            if (part[1] ~ /-$/)
                next
            lines[file, at] = 1
            if (part[1] !~ /[#=]/)
                run[file, at] = 1
        }
        END {
            for (key in lines) {
                split(key, part, SUBSEP)
                all[part[1]]++
                hit[part[1]] += key in run
            }
            for (key in branches) {
                split(key, part, SUBSEP)
                ways[part[1]]++
                went[part[1]] += key in taken
            }
            for (file in all)
                print file, all[file], hit[file], ways[file] + 0, went[file] + 0
        }' | sed "s|^$root/||; s|^\(\.\./\)*||" | grep -E '^(src|cli)/.*\.c ' | sort
}

# The lines whose branches were not all taken.
missing() { # folder file
    find "$1" -name "*$(basename "$2").gcov" -exec cat {} + | awk -v wanted="$2" '
        /^ *-: *0:Source:/ { ours = index($0, wanted) > 0 }
        !ours { next }
        /^branch/ && /never executed|taken 0/ { print "    " text; next }
        /^ *[0-9#=*-]+\*?: *[0-9]+:/ {
            text = $0
            sub(/^[^:]*: */, "", text)
        }' | uniq -c
}

table() { # of figures
    awk '
        {
            folder = $1
            sub(/\/[^\/]*$/, "", folder)
            lines[folder] += $2
            run[folder] += $3
            all += $2
            ran += $3
        }
        END {
            printf "%-34s %7s %7s %6s\n", "folder", "lines", "run", "%"
            for (folder in lines)
                printf "%-34s %7d %7d %6.1f\n", folder, lines[folder],
                    run[folder], 100 * run[folder] / lines[folder] | "sort"
            close("sort")
            printf "%-34s %7d %7d %6.1f\n", "all", all, ran, 100 * ran / all
        }'
}

branches() { # figures; fails unless all are taken
    echo "$measured" | awk '
        FNR == NR {
            wanted[$1]
            next
        }
        $1 in wanted {
            printf "%-46s %5d branches %5d taken %6.1f %%\n", $1, $4, $5,
                $4 ? 100 * $5 / $4 : 100
            seen[$1] = 1
            bad += $4 != $5
        }
        END {
            for (file in wanted)
                if (!(file in seen)) {
                    print file " was not measured"
                    bad++
                }
            exit bad > 0
        }' - "$1"
}

libraries() {
    pkg-config --libs cmocka sqlite3 hiredis openssl libnghttp2 libpq libmariadb
    echo -lzookeeper_mt -ldl -pthread
}

quick() {
    here=$build/coverage/quick
    rm -rf "$here"
    mkdir -p "$here"
    flags="--coverage -O0 -g -std=gnu11 -D_GNU_SOURCE -I$root/src
        -I$root/include -I$root/test -I$build/src/gen
        $(pkg-config --cflags cmocka libpq libmariadb)"
    # shellcheck disable=SC2016
    echo "$measured" | xargs -P 2 -I FILE sh -c '
        gcc $2 -c "$3/$1" -o "$4/$(echo "$1" | tr / .).o"' sh FILE \
        "$(echo "$flags" | tr '\n' ' ')" "$root" "$here"
    # The archive gives what is not among them.
    for test in $tests; do
        # shellcheck disable=SC2046,SC2086
        gcc ${flags#--coverage} -UNDEBUG "test/unit/$test.c" "$here"/src.*.o \
            "$build/test/libtest_support.a" "$build/libholdfast.a" \
            $(libraries) -lgcov -o "$here/$test"
        HF_TEST_DIR=$build/tmp "$here/$test" >"$here/$test.log" 2>&1 || {
            cat "$here/$test.log"
            exit 1
        }
    done
    for target in $targets; do
        # shellcheck disable=SC2046,SC2086
        gcc ${flags#--coverage} -UNDEBUG "test/fuzz/${target}_fuzz.c" \
            test/fuzz/replay.c $(fuzz_needs $target) "$here"/src.*.o \
            "$build/libholdfast.a" $(libraries) -lgcov -o "$here/$target"
        "$here/$target" "test/fuzz/corpus/$target" >/dev/null
    done
    (cd "$here" && gcov -b -c -p ./*.gcda >/dev/null 2>&1)
    figures "$here" >"$here/figures"
    branches "$here/figures" && return
    awk '$4 != $5 { print $1 }' "$here/figures" | while read -r file; do
        echo "$file: branches that no test takes"
        missing "$here" "$file"
    done
    return 1
}

fuzz_needs() {
    case $1 in
    cluster | sentinel | told) echo test/fuzz/recipe.c ;;
    address) echo -Wl,--wrap=PQconnectStartParams ;;
    esac
}

tests='claim_test uri_test cluster_map_test etcd_proto_test
zookeeper_layout_test parsers_test redis_parsers_test store_parsers_test
slot_test presence_test'
targets='uri cluster sentinel name entry etcd told resp address'

full() {
    here=$build/coverage/full
    cmake -G Ninja -S . -B "$here" --log-level=NOTICE -DHF_TESTS=ON \
        -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS=--coverage -O0" >/dev/null
    ninja -C "$here" --quiet
    find "$here" -name '*.gcda' -delete
    ctest --test-dir "$here" -j "${TEST_JOBS:-6}" \
        -L 'unit|contract|backend|fault|cli' \
        -E "${COVERAGE_WITHOUT:-^(escalation_to|failover|replication)}" \
        >"$here/tests.log" 2>&1 || tail -n 20 "$here/tests.log"
    # Also of what no test has loaded.
    (cd "$here" && find . -name '*.gcno' ! -path '*/test/*' \
        -exec gcov -b -c -l -p {} + >/dev/null 2>&1)
    figures "$here" >"$here/figures"
    table <"$here/figures"
    echo
    branches "$here/figures" || :
}

case ${1-} in
quick) quick ;;
full) full ;;
*) echo "usage: tools/coverage.sh quick|full" >&2 && exit 2 ;;
esac
