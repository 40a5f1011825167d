#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check.sh rules               - are the alerts right, and do they fire?
# check.sh names HOLDFAST      - does what the dashboard and the alerts ask for
#                                exist in what the command HOLDFAST counts?
# check.sh --self-test HOLDFAST - is a wrong name noticed?
#
# Exits with 77 where promtool, which is needed for the rules, is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-monitoring-XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# The names of metrics in a text: what begins like one, without the endings
# that Prometheus adds to a histogram, and without what only looks like one.
names() {
    grep -oE 'holdfast_[a-z_]+' "$@" | sed -E 's/_(bucket|sum|count)$//' |
        sort -u
}

# Of a client that held a lock long enough to renew it: then each metric has a
# line.
counted() { # HOLDFAST
    "$1" run --store "sqlite:$tmp/locks.db" --lease 300ms \
        --metrics-file "$tmp/metrics" monitoring -- sleep 1
    sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$tmp/metrics" | sort
}

check_rules() {
    command -v promtool >/dev/null || {
        echo "skipped: promtool is not installed"
        exit 77
    }
    cd "$here"
    promtool check rules alerts.yml
    promtool test rules alerts_test.yml
}

check_names() { # HOLDFAST FILE...
    counted "$1" >"$tmp/there"
    shift
    for file; do
        names -h "$file" >"$tmp/wanted"
        [ -s "$tmp/wanted" ] || { echo "$file names no metric" && return 1; }
        comm -13 "$tmp/there" "$tmp/wanted" >"$tmp/wrong"
        [ ! -s "$tmp/wrong" ] || {
            echo "$file: the library counts nothing of the name"
            cat "$tmp/wrong"
            return 1
        }
    done
    # And the dashboard shows everything there is.
    names -h "$here/grafana-dashboard.json" >"$tmp/shown"
    comm -23 "$tmp/there" "$tmp/shown" >"$tmp/unseen"
    [ ! -s "$tmp/unseen" ] || {
        echo "the dashboard does not show"
        cat "$tmp/unseen"
        return 1
    }
}

self_test() { # HOLDFAST
    sed 's/holdfast_lock_lost_total/holdfast_lock_gone_total/' \
        "$here/alerts.yml" >"$tmp/wrong.yml"
    if check_names "$1" "$tmp/wrong.yml" >"$tmp/said"; then
        echo "self-test: a wrong name was not noticed"
        exit 1
    fi
    grep -q holdfast_lock_gone_total "$tmp/said"
}

case ${1-} in
rules) check_rules ;;
names) check_names "$2" "$here/grafana-dashboard.json" "$here/alerts.yml" \
    "$here/alerts_test.yml" ;;
--self-test) self_test "$2" ;;
*) echo "usage: check.sh rules|names HOLDFAST|--self-test HOLDFAST" >&2 && exit 2 ;;
esac
