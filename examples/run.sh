#!/bin/sh
# SPDX-License-Identifier: MIT
#
# run.sh BUILD - runs the examples that were built there, one after the other,
# and says which of them did not show what they should.
set -eu
build=$(cd "$1" && pwd)
PATH=$build:$PATH
failed=
for name in flash-sale bank-transfer price-list rate-limit cache-refresh \
    map-reduce cron-on-three-hosts leader-election exactly-once \
    loops/epoll loops/uv loops/event loops/glib; do
    printf '== %s\n' "$name"
    if [ ! -x "$build/examples/$name" ]; then
        echo "was not built"
    elif ! "$build/examples/$name"; then
        failed="$failed $name"
    fi
done
[ -z "$failed" ] || { echo "failed:$failed" && exit 1; }
