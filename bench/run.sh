#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD - every benchmark in turn.  Ratios within one run are what
# counts; absolute times only show the scale.
set -eu
build=$1
echo "$("$build/holdfast" --version | head -n 1), $(nproc) cores, $(date -u +%F)"
echo
"$build/bench/start_bench" "$build/holdfast"
echo
"$build/bench/sqlite_bench"
echo
if [ -x "$build/bench/redis_bench" ] && command -v redis-server >/dev/null; then
    "$build/bench/redis_bench"
else
    echo "redis: not measured, because redis-server or the redis store is missing"
fi
