# SPDX-License-Identifier: MIT
#
# A lost lock: the command is stopped, and the exit status says so.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

@test "a stolen lock stops the command and exits with 76" {
    start "$HOLDFAST" run --lease 600ms --json-status 5 job -- \
        tail -f /dev/null 5>status
    await is_held job
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
    contains "$(cat err)" "lost the lock 'job'"
    contains "$(cat err)" SIGTERM
    [ "$(field "$(cat status)" outcome)" = lost ]
    [ "$(field "$(cat status)" command_signal)" = TERM ]
}

@test "76 whatever the command then returns" {
    start "$HOLDFAST" run --lease 600ms job -- bash -c '
        trap "exit 0" TERM; touch ready
        while :; do read -rt 0.05 <> <(:) || :; done'
    await test -e ready
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
}

@test "who does not heed SIGTERM is killed after the grace, its group too" {
    start "$HOLDFAST" run --lease 600ms -k 100ms job -- sh -c '
        trap "" TERM
        (trap "" TERM; while :; do :; done) & echo $! > child
        while :; do :; done'
    await test -s child
    await is_held job
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
    await is_dead "$(cat child)"
}

@test "--on-lost=USR1 lets the command write down where it is" {
    start "$HOLDFAST" run --lease 600ms --on-lost=USR1 job -- bash -c '
        trap "touch saved; exit 0" USR1; touch ready
        while :; do read -rt 0.05 <> <(:) || :; done'
    await test -e ready
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
    [ -e saved ]
}

@test "--lost-signal chooses the first signal" {
    start "$HOLDFAST" run --lease 600ms --lost-signal INT job -- bash -c '
        trap "touch got; exit 0" INT; touch ready
        while :; do read -rt 0.05 <> <(:) || :; done'
    await test -e ready
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
    [ -e got ]
}

@test "--on-lost=ignore lets the command run on, and still exits with 76" {
    start "$HOLDFAST" run --lease 600ms --on-lost=ignore job -- bash -c '
        until [ -e go ]; do read -rt 0.05 <> <(:) || :; done; touch done'
    await is_held job
    run -0 "$HOLDFAST" steal --yes job
    await grep -q "runs on" err
    touch go
    ended "$PID"
    [ "$status" -eq 76 ]
    [ -e done ]
}

@test "--on-lost=kill kills at once" {
    start "$HOLDFAST" run --lease 600ms --on-lost=kill --json-status 5 job -- \
        sh -c 'trap "" TERM; while :; do :; done' 5>status
    await is_held job
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
    [ "$(field "$(cat status)" command_signal)" = KILL ]
}

@test "--at-most stops a command that runs too long" {
    run -76 "$HOLDFAST" run --lease 600ms --at-most 300ms job -- \
        tail -f /dev/null
    contains "$output" "--at-most"
    await is_free job
}

@test "a store that goes away is a lost lock when the lease ends" {
    redis_start
    start "$HOLDFAST" run --store "redis://127.0.0.1:$REDIS_PORT" \
        --lease 1s job -- sh -c 'touch ready; exec tail -f /dev/null'
    await test -e ready
    redis_stop
    ended "$PID"
    [ "$status" -eq 76 ]
    contains "$(cat err)" "lost the lock 'job'"
    contains "$(cat err)" "last renewed"
}

@test "a holder that was stopped past its lease learns it on waking" {
    start "$HOLDFAST" run --lease 500ms job -- sh -c '
        echo $$ > shell; exec tail -f /dev/null'
    first=$PID
    await test -s shell
    kill -STOP "$first"
    run -0 "$HOLDFAST" run -w 10s job -- true
    kill -CONT "$first"
    ended "$first"
    [ "$status" -eq 76 ]
    await is_dead "$(cat shell)"
}

@test "a grace that outlasts the lease is warned about" {
    run -0 "$HOLDFAST" run --lease 2s -k 5s job -- true
    contains "$output" "--kill-after is longer than the lease"
    run -0 "$HOLDFAST" run --lease 2s job -- true
    [ -z "$output" ]
}

@test "a lease is kept up for as long as the command runs" {
    start "$HOLDFAST" run --lease 300ms job -- sh -c '
        until [ -e go ]; do :; done'
    await is_held job
    run -75 "$HOLDFAST" run -w 1200ms job -- true
    touch go
    ended "$PID"
    [ "$status" -eq 0 ]
}
