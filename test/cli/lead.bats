# SPDX-License-Identifier: MIT
#
# Leading: one runs its command, the others stand by.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

# leader N OPTION...: a candidate that says when it leads, until it is told to
# stop.
leader() {
    local n=$1
    shift
    start "$HOLDFAST" lead "$@" web -- sh -c \
        'echo "$1 $HOLDFAST_TOKEN" >>led; exec tail -f /dev/null' sh "$n"
}

leads() {
    [ "$(tail -n 1 led 2>/dev/null | cut -d ' ' -f 1)" = "$1" ]
}

# The number of terms so far.
terms() {
    [ "$(wc -l <led)" -eq "$1" ]
}

@test "lead: when the leader is killed another one takes over" {
    leader 1
    await leads 1
    leader 2
    await has_waiters web 1
    leader 3
    await has_waiters web 2
    terms 1
    kill -KILL "${STARTED[0]}"
    await leads 2
    kill -KILL "${STARTED[1]}"
    await leads 3
    read -r _ first <led
    read -r _ last < <(tail -n 1 led)
    [ "$last" -gt "$first" ]
    kill -TERM "${STARTED[2]}"
    ended "${STARTED[2]}"
    [ "$status" -eq 143 ]
}

@test "lead: on Redis too, when the lease of the killed leader has ended" {
    on_redis
    leader 1 --lease 3s
    await leads 1
    leader 2 --lease 3s
    kill -KILL "${STARTED[1]}"
    await leads 2
}

@test "lead: the one who stood by longest is next with --fair" {
    on_redis
    leader 1 --fair
    await leads 1
    leader 2 --fair
    await has_waiters web 1
    leader 3 --fair
    await has_waiters web 2
    kill -TERM "${STARTED[1]}"
    await leads 2
    terms 2
}

@test "lead: who loses it stops the command and stands by again" {
    leader 1 --lease 3s
    await leads 1
    run -0 "$HOLDFAST" steal --yes web
    await terms 2
    contains "$(cat err)" "lost the lock 'web'"
    contains "$(cat err)" "no longer leading 'web'; standing by"
    read -r _ first <led
    read -r _ last < <(tail -n 1 led)
    [ "$last" -gt "$first" ]
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
    is_free web
}

@test "lead: when the command ends by itself, so do we, with its status" {
    run -0 "$HOLDFAST" lead web -- true
    run -42 "$HOLDFAST" lead web -- sh -c 'exit 42'
    run -5 "$HOLDFAST" lead -c 'exit 5' web
    run -127 "$HOLDFAST" lead web -- no-such-command-here
    is_free web
}

@test "lead: a signal while standing by gives 128+n" {
    holder web
    start "$HOLDFAST" lead web -- touch ran
    await has_waiter web
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
    run ! has_waiter web
    [ ! -e ran ]
}

@test "lead: a signal reaches the command, and it is not started again" {
    start "$HOLDFAST" lead web -- bash -c '
        trap "touch got; exit 7" TERM; touch ready
        while :; do read -rt 0.05 <> <(:) || :; done'
    await test -e ready
    kill -TERM "$PID"
    ended "$PID"
    [ -e got ]
    [ "$status" -eq 7 ]
    is_free web
}

@test "lead: --on-gain comes before the command, --on-loss behind it" {
    export SHELL=/bin/sh
    run -3 "$HOLDFAST" lead --on-gain 'echo "gain $HOLDFAST_LOCK" >>order' \
        --on-loss 'echo "loss $HOLDFAST_TOKEN" >>order; exit 9' web -- \
        sh -c 'echo "lead $HOLDFAST_TOKEN" >>order; exit 3'
    [ "$(cut -d ' ' -f 1 order)" = $'gain\nlead\nloss' ]
    [ "$(grep -c 'gain web' order)" -eq 1 ]
    [ "$(sed -n 's/lead //p' order)" = "$(sed -n 's/loss //p' order)" ]
}

@test "lead: if --on-gain fails the command is not started" {
    run -4 "$HOLDFAST" lead --on-gain 'exit 4' --on-loss 'touch lost' web -- \
        touch ran
    [ ! -e ran ]
    [ -e lost ]
    is_free web
}

@test "lead: without a command the hooks tell, and we lead until a signal" {
    start "$HOLDFAST" lead --lease 3s --on-gain 'echo gain >>order' \
        --on-loss 'echo loss >>order' web
    await test -s order
    is_held web
    run -0 "$HOLDFAST" steal --yes web
    said() { [ "$(cat order)" = "$1" ]; }
    await said $'gain\nloss\ngain'
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
    [ "$(cat order)" = $'gain\nloss\ngain\nloss' ]
    is_free web
}

@test "lead: the lock is kept until --on-loss is done" {
    start "$HOLDFAST" lead --on-loss 'touch got; until [ -e go ]; do :; done' \
        web -- true
    await test -e got
    is_held web
    touch go
    ended "$PID"
    [ "$status" -eq 0 ]
    is_free web
}

@test "lead: a store that goes away is waited for once it was reached" {
    on_redis
    leader 1 --lease 3s
    await leads 1
    redis_stop
    await says "standing by"
    redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' \
        --dir "$DIR" >>redis.log 2>&1 3>&- &
    STARTED+=("$!")
    await terms 2
    kill -TERM "${STARTED[1]}"
    ended "${STARTED[1]}"
    [ "$status" -eq 143 ]
}

@test "lead: a store that was never reached gives 69" {
    run -69 "$HOLDFAST" lead --store redis://127.0.0.1:1 web -- touch ran
    [ ! -e ran ]
}

@test "lead: systemd hears READY and WATCHDOG while standing by" {
    holder web
    start python3 "$SUPPORT/notified.py" heard
    await test -S notify
    export NOTIFY_SOCKET=$DIR/notify WATCHDOG_USEC=40000
    start "$HOLDFAST" lead web -- true
    unset NOTIFY_SOCKET WATCHDOG_USEC
    await grep -q READY=1 heard
    await grep -q WATCHDOG=1 heard
    await grep -q "STATUS=waiting for 'web', held by" heard
    kill -TERM "${STARTED[0]}"
    ended "$PID"
    [ "$status" -eq 0 ]
    await grep -q "STATUS=leading 'web'" heard
    await grep -q STOPPING=1 heard
}

@test "lead: bad usage gives 64" {
    run -64 "$HOLDFAST" lead
    run -64 "$HOLDFAST" lead web
    contains "$output" "which command?"
    run -64 "$HOLDFAST" lead --on-lost ignore web -- true
    contains "$output" "two would lead"
    run -64 "$HOLDFAST" lead -n web -- true
    run -75 "$HOLDFAST" lead web -- "$HOLDFAST" lead web -- true
    contains "$output" "would never end"
}
