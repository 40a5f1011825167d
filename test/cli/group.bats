# SPDX-License-Identifier: MIT
#
# The command as a group of processes: all of it is reached, and nothing of it
# is left behind when we are killed.
# shellcheck disable=SC2016,SC2154

load helper

# Starts a shell with a child; their pids are in `shell` and `child`.
start_family() {
    start "$HOLDFAST" run "$@" job -- sh -c '
        tail -f /dev/null & echo $! > child; echo $$ > shell; wait'
    await test -s shell
}

@test "SIGTERM reaches the children of the command too" {
    start_family
    kill -TERM "$PID"
    ended "$PID"
    await is_dead "$(cat child)"
    await is_dead "$(cat shell)"
}

@test "SIGKILL of us leaves nothing of the command behind" {
    start_family
    kill -KILL "$PID"
    ended "$PID"
    await is_dead "$(cat child)"
    await is_dead "$(cat shell)"
    await is_free job
}

@test "SIGKILL of us stops a command that does not heed SIGTERM" {
    start "$HOLDFAST" run -k 100ms job -- sh -c '
        trap "" TERM; echo $$ > shell; while :; do :; done'
    await test -s shell
    kill -KILL "$PID"
    ended "$PID"
    await is_dead "$(cat shell)"
}

@test "when we are killed, the next in line gets in" {
    start_family
    first=$PID
    start "$HOLDFAST" run -w 20s job -- touch "$DIR/ran"
    await has_waiter job
    kill -KILL "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "when we are killed, the next does not run beside the old command" {
    start "$HOLDFAST" run job -- bash -c '
        trap "for _ in {1..30}; do read -rt 0.01 <> <(:) || :; done
              echo first ends >>order; exit" TERM
        touch ready; while :; do read -rt 0.05 <> <(:) || :; done'
    first=$PID
    await test -e ready
    start "$HOLDFAST" run -w 20s job -- sh -c 'echo second runs >>order'
    await has_waiter job
    kill -KILL "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ "$(cat order)" = "$(printf 'first ends\nsecond runs')" ]
}

@test "the guard is told apart from the command, and goes with it" {
    start_family
    guard=
    for stat in /proc/[0-9]*/stat; do
        read -r pid name _ ppid _ <"$stat" 2>/dev/null || continue
        if [ "$ppid" = "$PID" ] && [ "$name" = "(holdfast-guard)" ]; then
            guard=$pid
        fi
    done
    [ -n "$guard" ]
    [ "$(tr -d '\0' <"/proc/$guard/cmdline")" = holdfast-guard ]
    run ! test -e "/proc/$guard/fd/0"
    run ! test -e "/proc/$guard/fd/1"
    run ! test -e "/proc/$guard/fd/2"
    kill -TERM "$guard" "$PID"
    ended "$PID"
    await is_dead "$guard"
}

@test "a reader of the command's output sees its end while we still run" {
    mkfifo pipe
    "$HOLDFAST" run job -- sh -c 'echo hello; exec >/dev/null; until [ -e go ]
        do :; done' >pipe 2>/dev/null 3>&- </dev/null &
    pid=$!
    STARTED+=("$pid")
    run -0 timeout 10 head -n 1 pipe
    [ "$output" = hello ]
    touch go
    ended "$pid"
    [ "$status" -eq 0 ]
}

@test "the command leads a group of its own when there is no terminal" {
    run -0 "$HOLDFAST" run job -- sh -c '
        read -r pid _ _ _ pgrp _ < /proc/$$/stat; [ "$pid" = "$pgrp" ]'
}

@test "on a terminal in the foreground the command stays in its group" {
    run -0 python3 "$SUPPORT/terminal.py" "$HOLDFAST" run job -- sh -c '
        read -r pid _ _ _ pgrp _ _ foreground _ < /proc/$$/stat
        [ "$pgrp" = "$foreground" ] && echo in-the-foreground'
    contains "$output" in-the-foreground
}

@test "on a terminal SIGKILL of us leaves no descendant behind" {
    start python3 "$SUPPORT/terminal.py" sh -c '
        "$0" run job -- sh -c "
            tail -f /dev/null & echo \$! > child; echo \$\$ > shell; wait" &
        echo $! > wrapper; fg 2>/dev/null || wait' "$HOLDFAST"
    await test -s shell
    kill -KILL "$(cat wrapper)"
    await is_dead "$(cat child)"
    await is_dead "$(cat shell)"
}

@test "stdin reaches the command" {
    run -0 bash -c 'printf "one\ntwo\n" | "$0" run job -- cat' "$HOLDFAST"
    [ "$output" = $'one\ntwo' ]
}

@test "the flags of the command are its own" {
    run -0 "$HOLDFAST" run job printf '%s ' -n --help --version -w -- -E
    [ "$output" = "-n --help --version -w -- -E " ]
    run -0 "$HOLDFAST" run job -- printf '%s ' -n -- x
    [ "$output" = "-n -- x " ]
    run -0 "$HOLDFAST" run job -w 5s -- printf '%s ' -n
    [ "$output" = "-n " ]
}

@test "-c runs a string by the shell, before and behind the name" {
    export SHELL=/bin/sh
    run -0 "$HOLDFAST" run -c 'echo $((1 + 1))' job
    [ "$output" = 2 ]
    run -0 "$HOLDFAST" run job -c 'echo "$HOLDFAST_LOCK"'
    [ "$output" = job ]
}
