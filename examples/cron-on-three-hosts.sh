#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cron-on-three-hosts.sh [STORE] - the same line in the crontab of three hosts,
# whose clocks differ; one of them runs the job, once.
#
#     0 2 * * *  holdfast run --skip --at-least 30s nightly -- report
#
# --skip: who comes second does not wait, and cron has nothing to mail.
# --at-least: who comes late finds the name taken, even when the job was over
# in a moment.  Longer than clocks differ, shorter than the interval.
#
# The hosts are processes, their clocks late by 0, 100 and 250 ms; a night is
# over in seconds.  On the second night the host that runs the job is killed in
# the middle of it.
set -eu

hosts='a b c'
at_least=2s
folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-XXXXXX")
trap 'rm -rf "$folder"' EXIT
HOLDFAST_STORE=${1:-sqlite:$folder/locks.db}
export HOLDFAST_STORE
ran=$folder/ran
mkfifo "$folder/begun"

# ---- a host ----------------------------------------------------------------

# strike HOST JOB [OPTION...] - its clock strikes two.  HOLDFAST_HOST is what
# `holdfast show` calls the host; a real one has a name already.
strike() {
    host=$1 job=$2
    shift 2
    HOLDFAST_HOST=$host holdfast run --skip --lease 2s "$@" nightly -- \
        sh -c "$job" report "$host" "$ran"
}

# The jobs, with the host and where to write in $1 and $2.
# shellcheck disable=SC2016 # it is for the other shell
report='echo "$1 ran it, token $HOLDFAST_TOKEN" >>"$2"'
# shellcheck disable=SC2016
endless='echo >"${2%/*}/begun"; exec tail -f /dev/null'

# ---- nights ----------------------------------------------------------------

# late HOST - so much later than the first one's its clock strikes.
late() {
    case $1 in b) sleep 0.1 ;; c) sleep 0.15 ;; esac
}

# night NAME [OPTION...] - all clocks strike, one after the other.  The worst
# case: each host asks when the one before it is done.
night() {
    name=$1
    shift
    : >"$ran"
    for host in $hosts; do
        late "$host"
        strike "$host" "$report" "$@"
    done
    tell "$name"
}

# The name of the last night is still taken, until at least has passed.
next_night() {
    holdfast wait -w 20s nightly
}

# crash - as night, but the first host is killed while its job runs.
crash() {
    : >"$ran"
    # The process itself, not a shell around it: that is who has to die.
    HOLDFAST_HOST=a holdfast run --skip --lease 2s --at-least "$at_least" \
        nightly -- sh -c "$endless" report a "$ran" &
    host_a=$!
    read -r _ <"$folder/begun"
    kill -9 "$host_a"
    wait "$host_a" 2>/dev/null || :
    # Its clock is so late that the name is free again: at once on the
    # embedded store, elsewhere when the lease of the dead host is over.
    next_night
    strike b "$report" --at-least "$at_least"
    late c
    strike c "$report" --at-least "$at_least"
    tell "$1"
}

tell() {
    sed 's/^/    /' "$ran"
    echo "$1: reported $(wc -l <"$ran") times"
}

if [ $# -gt 0 ]; then
    echo "locks in the store that was named"
else
    echo "locks in $HOLDFAST_STORE"
fi
night "without --at-least"
night "first night" --at-least "$at_least"
next_night
crash "second night, a is killed in the middle"
next_night
night "third night" --at-least "$at_least"
