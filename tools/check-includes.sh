#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-includes.sh [--self-test] - keeps the picture in ARCHITECTURE.md true:
# who may include what of ours, read from the #include lines.
#
#   view         only holdfast.h and its own headers
#   cli          holdfast.h, the view, and its own headers
#   console      the same, and what it shares with cli; nobody uses it
#   primitives   (lock, semaphore, latch, multi) know claims and the core, but
#                no store
#   stores       know backend.h and the claim, but no part of the core above
#                them, and not each other; table, trace, fault and escalate
#                are the exceptions that hold stores.  What several stores share
#                is a folder of its own: line (zookeeper, etcd), net (redis,
#                etcd, mariadb), tables (postgres, mariadb)
#   guard        needs no client, and knows none
#   claim        knows only the public headers
#   presence, records, deadlock   texts and graphs, pure: each knows the one
#                before it, and no clock, store or thread
#   proof        judges by the public header alone; what makes histories, in
#                folders of its own, may use everything, and nobody uses it
#
# One rule a line: files (a pattern), verdict, headers (a pattern) by path from
# the root.  The first rule whose two patterns match decides; what no rule
# speaks of is allowed.
set -eu

rules() {
    cat <<'RULES'
view/*                   allow  include/holdfast.h
view/*                   allow  view/*
view/*                   deny   *
cli/*                    allow  include/holdfast.h
cli/*                    allow  view/*
cli/*                    allow  cli/*
cli/*                    deny   *
console/*                allow  include/holdfast.h
console/*                allow  view/*
console/*                allow  cli/*
console/*                allow  console/*
console/*                deny   *
src/claim.*              allow  include/*
src/claim.*              allow  src/claim.h
src/claim.*              deny   *
src/presence.*           allow  include/*
src/presence.*           allow  src/presence.h
src/presence.*           allow  src/claim.h
src/presence.*           allow  src/client.h
src/presence.*           deny   *
src/records.*            allow  src/records.h
src/records.*            allow  src/alloc.h
src/records.*            allow  src/presence.h
src/records.*            deny   *
src/deadlock.*           allow  src/deadlock.h
src/deadlock.*           allow  src/alloc.h
src/deadlock.*           allow  src/records.h
src/deadlock.*           deny   *
src/backend/*            deny   src/client.h
src/backend/*            deny   src/lock.h
src/backend/*            deny   src/acquire.h
src/backend/*            deny   src/waiters.h
src/backend/*            deny   src/keeper.h
src/backend/*            deny   cli/*
src/backend/redis/*      allow  src/backend/redis/*
src/backend/sqlite/*     allow  src/backend/sqlite/*
src/backend/zookeeper/*  allow  src/backend/zookeeper/*
src/backend/etcd/*       allow  src/backend/etcd/*
src/backend/line/*       allow  src/backend/line/*
src/backend/zookeeper/*  allow  src/backend/line/*
src/backend/etcd/*       allow  src/backend/line/*
src/backend/net/*        allow  src/backend/net/*
src/backend/redis/*      allow  src/backend/net/*
src/backend/etcd/*       allow  src/backend/net/*
src/backend/postgres/*   allow  src/backend/postgres/*
src/backend/mariadb/*    allow  src/backend/mariadb/*
src/backend/tables/*     allow  src/backend/tables/*
src/backend/postgres/*   allow  src/backend/tables/*
src/backend/mariadb/*    allow  src/backend/tables/*
src/backend/mariadb/*    allow  src/backend/net/*
src/backend/escalate/*   allow  src/backend/escalate/*
src/backend/escalate/*   allow  src/backend/table.h
src/backend/*/*          deny   src/backend/*
src/backend/*            deny   src/backend/redis/*
src/backend/*            deny   src/backend/sqlite/*
src/backend/*            deny   src/backend/zookeeper/*
src/backend/*            deny   src/backend/etcd/*
src/backend/*            deny   src/backend/line/*
src/backend/*            deny   src/backend/net/*
src/backend/*            deny   src/backend/postgres/*
src/backend/*            deny   src/backend/mariadb/*
src/backend/*            deny   src/backend/tables/*
src/backend/*            deny   src/backend/escalate/*
src/backend/memory.c     deny   src/backend/*
src/lock.*               deny   src/backend/*
src/semaphore.*          deny   src/backend/*
src/latch.*              deny   src/backend/*
src/multi.*              deny   src/backend/*
src/count.*              deny   src/backend/*
src/job.*                deny   src/backend/*
src/guard*               allow  include/holdfast.h
src/guard*               allow  src/alloc.h
src/guard*               allow  src/err.h
src/guard*               allow  src/uncancelled.h
src/guard*               allow  src/world.h
src/guard*               deny   *
src/acquire.*            deny   src/backend/*
src/doing.*              deny   src/backend/*
src/look*                deny   src/backend/*
src/acquire.*            deny   src/lock.h
src/runner.*             deny   src/client.h
src/runner.*             deny   src/backend/*
src/loop.*               deny   src/backend/*
src/async.*              deny   src/backend/*
src/backend/*            deny   src/runner.h
src/backend/*            deny   src/loop.h
src/waiters.*            deny   src/backend/*
src/waiters.*            deny   src/lock.h
src/keeper.*             deny   src/backend/*
src/keeper.*             deny   src/lock.h
src/client.c             allow  src/backend/table.h
src/client.*             deny   src/backend/*
src/*                    deny   cli/*
src/*                    deny   view/*
src/*                    deny   console/*
src/*                    deny   test/*
src/*                    deny   proof/*
proof/sim/*              allow  *
proof/torture/*          allow  *
proof/plants/*           allow  *
proof/*                  allow  include/holdfast.h
proof/*                  allow  proof/history.h
proof/*                  allow  proof/check*
proof/*                  deny   *
include/*                allow  include/*
include/*                deny   *
RULES
}

# "file header" for every #include "…" of ours, both by path from the root.  A
# quoted name is looked for beside the file, then in src/, include/ and proof/;
# what the build makes is nowhere and depends on nothing.
includes() {
    find include src view cli console proof -name '*.[ch]' | sort | while read -r file; do
        sed -n 's/^[ \t]*#[ \t]*include[ \t]*[<"]\([^>"]*\)[>"].*/\1/p' "$file" |
            while read -r name; do
                for folder in "${file%/*}" src include proof; do
                    if [ -f "$folder/$name" ]; then
                        path=$(realpath --relative-to=. "$folder/$name")
                        echo "$file $path"
                        break
                    fi
                done
            done
    done
}

verdict() { # file header
    rules | while read -r files verdict headers; do
        # The patterns are meant as patterns.
        # shellcheck disable=SC2254
        case $1 in $files)
            case $2 in $headers)
                echo "$verdict"
                break
                ;;
            esac
            ;;
        esac
    done
}

check() {
    wrong=$(includes | while read -r file header; do
        if [ "$(verdict "$file" "$header")" = deny ]; then
            echo "$file must not include $header"
        fi
    done)
    [ -n "$wrong" ] || return 0
    echo "$wrong"
    echo "see the picture in ARCHITECTURE.md, and the rules in" \
        "tools/check-includes.sh"
    return 1
}

# A check that cannot fail shows nothing: each wrong include must be found,
# alone, in a tree that is right otherwise.
self_test() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    cd "$tree"
    mkdir -p include/holdfast src/backend/sqlite src/backend/redis cli view console \
        src/backend/line src/backend/net src/backend/zookeeper \
        src/backend/etcd src/backend/tables src/backend/postgres \
        src/backend/mariadb src/backend/escalate proof/check proof/sim
    touch include/holdfast.h view/view.h view/lines.h console/route.h \
        src/claim.h src/client.h src/lock.h cli/options.h \
        src/waiters.h src/keeper.h src/world.h src/backend/table.h \
        src/backend/redis/conn.h src/backend/sqlite/wake.h \
        src/backend/line/port.h src/backend/net/tls.h \
        src/backend/zookeeper/handle.h src/backend/etcd/link.h \
        src/backend/tables/database.h src/backend/postgres/pool.h \
        src/backend/escalate/escalate.h proof/history.h proof/check/trial.h \
        proof/sim/store.h
    echo '#include "../holdfast.h"' >include/holdfast/backend.h
    printf '#include <holdfast.h>\n#include "options.h"\n' >cli/main.c
    printf '#include "../view/view.h"\n' >>cli/main.c
    printf '#include "../include/holdfast.h"\n#include "lines.h"\n' >view/view.c
    printf '#include "../cli/options.h"\n#include "route.h"\n' >console/serve.c
    printf '#include "../view/view.h"\n' >>console/serve.c
    printf '#include "claim.h"\n#include "client.h"\n' >src/lock.c
    printf '#include "backend/table.h"\n' >src/client.c
    printf '#include "conn.h"\n#include "../net/tls.h"\n' \
        >src/backend/redis/redis.c
    printf '#include "link.h"\n#include "../line/port.h"\n' \
        >src/backend/etcd/etcd.c
    printf '#include "pool.h"\n#include "../tables/database.h"\n' \
        >src/backend/postgres/postgres.c
    printf '#include "escalate.h"\n#include "../table.h"\n' \
        >src/backend/escalate/move.c
    printf '#include "check/trial.h"\n' >proof/checker.c
    printf '#include "history.h"\n#include "trial.h"\n' >proof/check/holds.c
    printf '#include "history.h"\n#include "world.h"\n' >proof/sim/store.c
    check || { echo "self-test: the right tree was refused" && exit 1; }

    while read -r file header; do
        cp "$file" kept 2>/dev/null || : >kept
        echo "#include \"$header\"" >>"$file"
        if check >complaint; then
            echo "self-test: $file including $header was not noticed"
            exit 1
        fi
        grep -q "^$file must not include" complaint
        cp kept "$file"
    done <<'WRONG'
cli/main.c ../src/client.h
cli/main.c holdfast/backend.h
cli/main.c ../console/route.h
console/serve.c ../src/client.h
console/serve.c holdfast/backend.h
view/view.c ../src/client.h
view/view.c ../console/route.h
src/lock.c ../console/route.h
view/view.c ../cli/options.h
view/view.c ../include/holdfast/backend.h
src/lock.c ../view/view.h
src/backend/memory.c ../../view/view.h
src/lock.c backend/redis/conn.h
src/lock.c backend/table.h
src/claim.c world.h
src/backend/memory.c ../client.h
src/backend/memory.c ../lock.h
src/backend/redis/redis.c ../../waiters.h
src/backend/redis/redis.c ../sqlite/wake.h
src/backend/sqlite/sqlite.c ../../keeper.h
src/backend/sqlite/sqlite.c ../redis/conn.h
src/backend/sqlite/sqlite.c ../line/port.h
src/backend/redis/redis.c ../line/port.h
src/backend/etcd/etcd.c ../zookeeper/handle.h
src/backend/etcd/etcd.c ../redis/conn.h
src/backend/zookeeper/zookeeper.c ../etcd/link.h
src/backend/zookeeper/zookeeper.c ../net/tls.h
src/backend/line/line.c ../etcd/link.h
src/backend/net/tls.c ../redis/conn.h
src/backend/memory.c line/port.h
src/backend/memory.c tables/database.h
src/backend/sqlite/sqlite.c ../tables/database.h
src/backend/tables/tables.c ../postgres/pool.h
src/backend/mariadb/mariadb.c ../postgres/pool.h
src/backend/postgres/postgres.c ../sqlite/wake.h
src/backend/escalate/move.c ../redis/conn.h
src/backend/escalate/move.c ../../keeper.h
src/backend/memory.c escalate/escalate.h
src/backend/table.c escalate/escalate.h
src/backend/redis/redis.c ../escalate/escalate.h
include/holdfast.h ../src/claim.h
src/lock.c ../proof/history.h
proof/checker.c ../src/claim.h
proof/checker.c sim/store.h
proof/check/holds.c world.h
WRONG
    echo "self-test: every wrong include was found"
}

case ${1-} in
--self-test) self_test ;;
'') cd "$(dirname "$0")/.." && check ;;
*) echo "usage: tools/check-includes.sh [--self-test]" >&2 && exit 2 ;;
esac
