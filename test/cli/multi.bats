# SPDX-License-Identifier: MIT
#
# Several locks at once: --also.  And how many copies there must be of one:
# --replicas.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

nobody_holds_anything() {
    [ -z "$("$HOLDFAST" ls -n -o NAME)" ]
}

# ---- all or none ---------------------------------------------------------

@test "--also holds all of them, and gives all of them back" {
    holder --also b --also c a
    for name in a b c; do
        run -75 "$HOLDFAST" run -n "$name" -- touch ran
    done
    [ ! -e ran ]
    kill -TERM "$PID"
    ended "$PID"
    nobody_holds_anything
}

@test "who cannot have all has none, and is told which is held" {
    holder b
    run -75 "$HOLDFAST" run -n a --also b --also c -- touch ran
    contains "$output" "'b' is held by"
    run -75 "$HOLDFAST" run -w 100ms c --also a --also b -- touch ran
    contains "$output" "'b' is held by"
    contains "$output" "not obtained in"
    run -0 "$HOLDFAST" run --skip c --also b -- touch ran
    [ ! -e ran ]
    [ "$("$HOLDFAST" ls -n -o NAME)" = b ]
}

@test "while it waits it says for which, and a signal leaves nothing" {
    holder b
    start "$HOLDFAST" run --verbose a --also b -- touch ran
    await says "waiting for 'b', held by"
    kill -INT "$PID"
    ended "$PID"
    [ "$status" -eq 130 ]
    run -0 "$HOLDFAST" run -n a -- true
    start "$HOLDFAST" run a --also b -- touch ran
    kill -TERM "${STARTED[0]}"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e ran ]
    nobody_holds_anything
}

@test "runs that name the same locks in another order all get through" {
    echo 0 >n
    for _ in 1 2 3 4 5; do
        for order in 'a --also b --also c' 'c --also b --also a' 'b --also a'; do
            # shellcheck disable=SC2086
            start "$HOLDFAST" run -w 20s $order -- \
                sh -c 'read -r n <n; echo $((n + 1)) >n'
        done
    done
    for pid in "${STARTED[@]}"; do
        ended "$pid"
        [ "$status" -eq 0 ]
    done
    [ "$(cat n)" -eq 15 ]
}

@test "every kind can be had several times" {
    on_redis
    holder -s --also b a
    run -0 "$HOLDFAST" run -n -s b --also a -- true
    run -75 "$HOLDFAST" run -n -x b -- true
    holder --limit 1 --also seats rooms
    run -75 "$HOLDFAST" run -n --permits 1 seats -- true
    contains "$output" "'seats' has 0 permits free"
    run -75 "$HOLDFAST" run -n --limit 1 others --also seats -- true
    contains "$output" "'seats' has 0 permits free"
    [ "$("$HOLDFAST" sem count others)" -eq 1 ]
    run -0 "$HOLDFAST" run -n --fair y --also x -- true
}

@test "--at-least keeps all of them" {
    "$HOLDFAST" run --at-least 30s a --also b -- true
    run -75 "$HOLDFAST" run -n a -- true
    run -75 "$HOLDFAST" run -n b -- true
}

# ---- what the command is told --------------------------------------------

@test "the command is told every name with its token" {
    run -0 "$HOLDFAST" run 'b c' --also a:x -- sh -c '
        [ "$HOLDFAST_LOCK" = "b c" ] || exit 1
        [ "$HOLDFAST_HELD" = "b c:a%3Ax" ] || exit 2
        echo "$HOLDFAST_TOKENS" | {
            read -r token name
            [ "$name" = "b c" ] && [ "$token" = "$HOLDFAST_TOKEN" ] || exit 3
            read -r token name
            [ "$name" = a:x ] && [ "$token" -gt 0 ] || exit 4
            ! read -r token name || exit 5
        }'
    run -0 "$HOLDFAST" run job -- sh -c '
        [ "$HOLDFAST_TOKENS" = "$HOLDFAST_TOKEN job" ]'
}

@test "a run inside that wants one of them again fails fast" {
    run -75 "$HOLDFAST" run a --also b -- "$HOLDFAST" run c --also b -- true
    contains "$output" "'b' is held by a 'holdfast run' that this command is"
    run -0 "$HOLDFAST" run a --also b -- "$HOLDFAST" run c --also d -- sh -c \
        'echo "$HOLDFAST_HELD"'
    [ "$output" = a:b:c:d ]
}

@test "hold prints the tokens in the order of the names" {
    run -0 "$HOLDFAST" hold --json b --also a </dev/null
    [ "$(field "$output" name)" = b ]
    [ "$(field "$output" locks.0.name)" = b ]
    [ "$(field "$output" locks.0.token)" = "$(field "$output" token)" ]
    [ "$(field "$output" locks.1.name)" = a ]
    before=$(field "$output" locks.1.token)
    run -0 "$HOLDFAST" hold b --also a </dev/null
    [[ $output =~ ^[0-9]+\ [0-9]+$ ]]
    [ "${output#* }" -gt "$before" ]
}

@test "--json-status names all of them" {
    "$HOLDFAST" run --json-status 5 b --also a -- true 5>status
    [ "$(field "$(cat status)" outcome)" = exited ]
    [ "$(field "$(cat status)" lock)" = b ]
    [ "$(field "$(cat status)" locks.1.name)" = a ]
    [ "$(field "$(cat status)" locks.1.token)" -gt 0 ]
    holder a
    run -75 "$HOLDFAST" run -n --json-status 5 b --also a -- true 5>status
    [ "$(field "$(cat status)" outcome)" = busy ]
    [ "$(field "$(cat status)" locks.0.token)" = null ]
}

# ---- loss ----------------------------------------------------------------

@test "the loss of one stops the command and frees the others" {
    start "$HOLDFAST" run --lease 600ms --json-status 5 a --also b --also c \
        -- tail -f /dev/null 5>status
    await is_held c
    run -0 "$HOLDFAST" steal --yes b
    ended "$PID"
    [ "$status" -eq 76 ]
    contains "$(cat err)" "lost the lock 'b'"
    [ "$(field "$(cat status)" outcome)" = lost ]
    nobody_holds_anything
}

@test "hold ends when one of them is lost" {
    mkfifo in
    "$HOLDFAST" hold --lease 600ms c --also d <in >held 2>>err 3>&- &
    pid=$!
    STARTED+=("$pid")
    exec 7>in
    await test -s held
    run -0 "$HOLDFAST" steal --yes d
    ended "$pid"
    exec 7>&-
    [ "$status" -eq 76 ]
    contains "$(cat err)" "lost the lock 'd'"
}

@test "--at-most ends all of them" {
    run -76 "$HOLDFAST" run --lease 600ms --at-most 300ms a --also b -- \
        tail -f /dev/null
    contains "$output" "--at-most"
    nobody_holds_anything
}

# ---- what is refused -----------------------------------------------------

@test "a name that comes twice is refused" {
    run -64 "$HOLDFAST" run a --also b --also a -- touch ran
    contains "$output" "'a'"
    contains "$output" "twice"
    run -64 "$HOLDFAST" run a --also '' -- touch ran
    contains "$output" "empty"
    run -64 "$HOLDFAST" run a --also
    contains "$output" "needs a value"
    many=(--also={1..31})
    run -0 "$HOLDFAST" run a "${many[@]}" -- true
    run -64 "$HOLDFAST" run a "${many[@]}" --also b -- touch ran
    contains "$output" "'b' is one too many"
    [ ! -e ran ]
}

# ---- replicas ------------------------------------------------------------

# has_replica PORT: a replica of that master confirms what is written.
has_replica() {
    printf 'SET probe 1\nWAIT 1 100\n' | redis-cli -p "$1" | grep -qx 1
}

@test "--replicas waits for so many copies, or says that there are fewer" {
    redis_start --repl-diskless-sync-delay 0
    master=$REDIS_PORT
    export HOLDFAST_STORE="redis://127.0.0.1:$master?hf_timeout=500ms"
    run -69 "$HOLDFAST" run -n --replicas 1 job -- touch ran
    [ ! -e ran ]
    await is_free job
    redis_start --replicaof 127.0.0.1 "$master"
    await has_replica "$master"
    for count in 0 1 majority all; do
        run -0 "$HOLDFAST" run -n --replicas "$count" job -- true
        run -0 "$HOLDFAST" hold -n --replicas "$count" job </dev/null
        run -0 "$HOLDFAST" lead --replicas "$count" job -- true
    done
    run -0 "$HOLDFAST" run -n --replicas 1 job --also other -- true
    run -69 "$HOLDFAST" run -n --replicas 2 other --also job -- touch ran
    [ ! -e ran ]
}

@test "--replicas is refused where it makes no sense" {
    run -64 "$HOLDFAST" run --replicas some job -- touch ran
    contains "$output" "'some' is not a number, majority or all"
    run -64 "$HOLDFAST" lead --replicas -1 job -- touch ran
    run -64 "$HOLDFAST" hold --replicas '' job </dev/null
    run -78 "$HOLDFAST" run --replicas 1 job -- touch ran
    contains "$output" "no replicas"
    [ ! -e ran ]
}

@test "the completion knows names behind --also and words behind --replicas" {
    holder nightly
    run -0 "$HOLDFAST" completion reply 4 holdfast run job --also ni
    [ "$output" = nightly ]
    run -0 "$HOLDFAST" completion reply 3 holdfast lead --replicas ''
    [ "$output" = $'majority\nall' ]
}
