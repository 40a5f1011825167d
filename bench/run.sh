#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD - every benchmark in turn.  Ratios within one run are what
# counts; absolute times only show the scale.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)

# Redisson's side is left out, and said to be, where Java or the registry is
# missing.
beside_redisson() {
    folder=$build/bench/redisson
    results=$build/bench/redisson.tsv
    rc=0
    "$here/redisson/build.sh" "$folder" >/dev/null || rc=$?
    case $rc in
    0) "$build/bench/redisson_bench" --redisson "$folder" --results "$results" ;;
    77)
        echo "Redisson: not measured, because $(cat "$folder/why")"
        "$build/bench/redisson_bench" --results "$results"
        ;;
    *) return 1 ;;
    esac
    awk -f "$here/picture.awk" "$results" >"$build/bench/performance.svg"
    echo
    echo "as a picture: $build/bench/performance.svg"
}

# built SCRIPT FOLDER: a side of others; where it cannot be built, why is in
# FOLDER/why.
built() {
    rc=0
    "$here/$1" "$2" >"$2.log" 2>&1 || rc=$?
    case $rc in
    0 | 77) ;;
    *)
        cat "$2.log" >&2
        return 1
        ;;
    esac
}

# Those who are missing are left out, and said to be.
beside_curator_and_kazoo() {
    built curator/build.sh "$build/bench/curator"
    built ../test/interop/kazoo/build.sh "$build/bench/kazoo"
    "$build/bench/zookeeper_bench" \
        --curator "$build/bench/curator" --kazoo "$build/bench/kazoo" \
        --results "$build/bench/zookeeper.tsv"
}

beside_etcdctl() {
    built etcd/build.sh "$build/bench/etcd"
    "$build/bench/etcd_bench" --go "$build/bench/etcd" \
        --command "$build/holdfast" --results "$build/bench/etcd.tsv"
}

# beside_shedlock STORE
beside_shedlock() {
    built shedlock/build.sh "$build/bench/shedlock"
    "$build/bench/$1_bench" --shedlock "$build/bench/shedlock" \
        --results "$build/bench/$1.tsv"
}

echo "$("$build/holdfast" --version | head -n 1), $(nproc) cores, $(date -u +%F)"
echo
"$build/bench/start_bench" "$build/holdfast"
echo
"$build/bench/sqlite_bench"
echo
"$build/bench/list_bench"
echo
if [ -x "$build/bench/redis_bench" ] && command -v redis-server >/dev/null; then
    "$build/bench/redis_bench"
    echo
    "$build/bench/loop_bench"
    echo
    "$build/bench/topology_bench" --results "$build/bench/topology.tsv"
    "$build/bench/redlock_bench"
    echo
    beside_redisson
else
    echo "redis: not measured, because redis-server or the redis store is missing"
fi
echo
if [ -x "$build/bench/zookeeper_bench" ]; then
    beside_curator_and_kazoo
else
    echo "zookeeper: not measured, because the zookeeper store is missing"
fi
echo
if [ -x "$build/bench/etcd_bench" ] && command -v etcd >/dev/null; then
    beside_etcdctl
else
    echo "etcd: not measured, because etcd or the etcd store is missing"
fi
for store in postgres mariadb; do
    echo
    if [ -x "$build/bench/${store}_bench" ]; then
        beside_shedlock "$store"
    else
        echo "$store: not measured, because the $store store is missing"
    fi
done
