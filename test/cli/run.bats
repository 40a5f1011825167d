# SPDX-License-Identifier: MIT
#
# What the command is told, what those who wait are shown, what systemd hears.
# shellcheck disable=SC2016,SC2154

load helper

@test "the command finds the lock, its token, owner and store" {
    run -0 "$HOLDFAST" run job -- sh -c '
        echo "$HOLDFAST_LOCK|$HOLDFAST_STORE|$HOLDFAST_HELD"
        "$0" show --json job | grep -q "\"token\":$HOLDFAST_TOKEN" || exit 1
        "$0" show --json job | grep -q "\"owner\":\"$HOLDFAST_OWNER\""' \
        "$HOLDFAST"
    [ "$output" = "job|sqlite:$DIR/locks.db|job" ]
}

@test "tokens grow" {
    first=$("$HOLDFAST" run job -- sh -c 'echo $HOLDFAST_TOKEN')
    second=$("$HOLDFAST" run job -- sh -c 'echo $HOLDFAST_TOKEN')
    [ "$second" -gt "$first" ]
}

@test "commands under one lock do not overlap" {
    for _ in 1 2 3 4 5 6; do
        start "$HOLDFAST" run job -- sh -c '
            mkdir inside || echo overlap >> overlaps
            rmdir inside; echo x >> done'
    done
    for pid in "${STARTED[@]}"; do
        ended "$pid"
        [ "$status" -eq 0 ]
    done
    [ ! -e overlaps ]
    [ "$(wc -l <done)" -eq 6 ]
}

@test "a nested run of the same name fails fast instead of waiting for ever" {
    run -75 "$HOLDFAST" run a:b -- "$HOLDFAST" run a:b -- touch ran
    contains "$output" "would never end"
    [ ! -e ran ]
    run -75 "$HOLDFAST" run a -- "$HOLDFAST" run b -- "$HOLDFAST" run a -- true
}

@test "a nested run of another name or in another store works" {
    run -0 "$HOLDFAST" run a -- "$HOLDFAST" run b -- sh -c \
        'echo "$HOLDFAST_HELD"'
    [ "$output" = a:b ]
    run -0 "$HOLDFAST" run a -- "$HOLDFAST" run --store "sqlite:$DIR/b.db" a \
        -- true
}

@test "--at-least keeps others out for a while after a short job" {
    "$HOLDFAST" run --at-least 30s job -- true
    run -75 "$HOLDFAST" run -n job -- true
    "$HOLDFAST" run --at-least 10ms other -- tail -n 0 /dev/null
    run -0 "$HOLDFAST" run -w 5s other -- true
}

@test "without a terminal a wait is silent" {
    holder job
    run -75 "$HOLDFAST" run -w 600ms -E 75 job -- true
    [ "${#lines[@]}" -eq 1 ]
}

@test "--verbose names the holder of what one waits for, and the store" {
    holder --why "nightly copy" job
    run -75 "$HOLDFAST" run --verbose -w 900ms job -- true
    contains "$output" "waiting for 'job', held by"
    contains "$output" "nightly copy"
    contains "$output" "tail"
    run -0 "$HOLDFAST" run --verbose other -- true
    contains "$output" "$DIR/locks.db"
}

@test "on a terminal one line shows the holder and the place in line" {
    holder --why "nightly copy" job
    run -75 python3 "$SUPPORT/terminal.py" "$HOLDFAST" run -w 1500ms job -- true
    contains "$output" "for 'job' (place 1 of 1), held for"
    contains "$output" "nightly copy"
    run -0 python3 "$SUPPORT/terminal.py" "$HOLDFAST" run other -- true
    [ -z "$output" ]
}

@test "--owner and --why are shown to those who wait" {
    holder --owner deploy-7 --why release job
    run -75 "$HOLDFAST" run -n job -- true
    contains "$output" "deploy-7: release"
}

@test "what strangers write does not reach the terminal raw" {
    holder --why $'\033]0;owned\007\033[2J' job
    run -75 "$HOLDFAST" run -n job -- true
    lacks "$output" $'\033'
    run -0 "$HOLDFAST" show job
    lacks "$output" $'\033'
    run -0 "$HOLDFAST" ls
    lacks "$output" $'\033'
    [ "$(field "$("$HOLDFAST" show --json job)" holder.why | wc -l)" -eq 1 ]
}

@test "systemd hears STATUS while waiting, READY and WATCHDOG when running" {
    holder job
    first=$PID
    start python3 "$SUPPORT/notified.py" heard
    await test -S notify
    export NOTIFY_SOCKET=$DIR/notify WATCHDOG_USEC=40000
    start "$HOLDFAST" run job -- sh -c 'until [ -e go ]; do :; done'
    waiter=$PID
    unset NOTIFY_SOCKET WATCHDOG_USEC
    await grep -q "STATUS=waiting for 'job', held by" heard
    run ! grep -q READY=1 heard
    kill -TERM "$first"
    await grep -q READY=1 heard
    await grep -q WATCHDOG=1 heard
    touch go
    ended "$waiter"
    [ "$status" -eq 0 ]
    await grep -q STOPPING=1 heard
}

@test "hold keeps the lock until stdin closes" {
    mkfifo in
    "$HOLDFAST" hold job <in >token 2>>err 3>&- &
    pid=$!
    STARTED+=("$pid")
    exec 7>in
    await test -s token
    [ "$(cat token)" -gt 0 ]
    is_held job
    run -75 "$HOLDFAST" hold -n job </dev/null
    exec 7>&-
    ended "$pid"
    [ "$status" -eq 0 ]
    is_free job
}

@test "hold prints JSON, releases on a signal, exits with 76 when lost" {
    mkfifo in
    "$HOLDFAST" hold --json --lease 600ms job <in >held 2>>err 3>&- &
    pid=$!
    STARTED+=("$pid")
    exec 7>in
    await test -s held
    [ "$(field "$(cat held)" name)" = job ]
    run -0 "$HOLDFAST" steal --yes job
    ended "$pid"
    [ "$status" -eq 76 ]
    "$HOLDFAST" hold job <in >token 2>>err 3>&- &
    pid=$!
    STARTED+=("$pid")
    await test -s token
    kill -TERM "$pid"
    ended "$pid"
    [ "$status" -eq 143 ]
    is_free job
}

# A container may count CLOCK_BOOTTIME from another moment than its host.
elsewhere_in_time() {
    unshare --time --fork --kill-child --boottime 5000 --monotonic 5000 "$@"
}

@test "a lease is as long in another time namespace" {
    elsewhere_in_time true 2>/dev/null || skip "cannot make a time namespace"
    holder job
    run -75 elsewhere_in_time "$HOLDFAST" run -n job -- true
    start unshare --time --fork --kill-child --boottime 5000 \
        "$HOLDFAST" run other -- tail -f /dev/null
    await is_held other
    run -75 "$HOLDFAST" run -n other -- true
    contains "$("$HOLDFAST" show --json other)" '"state":"held"'
}
