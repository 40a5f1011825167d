# SPDX-License-Identifier: MIT
#
# Signals: while waiting they leave the line, while running they reach the
# command; and nothing is released before the command is gone.
# shellcheck disable=SC2016,SC2154

load helper

# The one who waits leaves the line, exits with 128+n, and ran nothing.
leaves_the_line() {
    holder job
    start "$HOLDFAST" run job -- touch "$DIR/ran"
    await has_waiter job
    kill "-$1" "$PID"
    ended "$PID"
    [ "$status" -eq "$2" ]
    run ! has_waiter job
    [ ! -e ran ]
}

@test "SIGTERM while waiting leaves the line and exits with 143" {
    leaves_the_line TERM 143
}

@test "SIGINT while waiting leaves the line and exits with 130" {
    leaves_the_line INT 130
}

@test "SIGHUP while waiting leaves the line and exits with 129" {
    leaves_the_line HUP 129
}

# reaches_the_command SIGNAL: it gets it, says so, and ends when it likes.
reaches_the_command() {
    start "$HOLDFAST" run job -- bash -c '
        trap "touch got; exit 7" '"$1"'
        touch ready
        while :; do read -rt 0.05 <> <(:) || :; done'
    await test -e ready
    kill "-$1" "$PID"
    ended "$PID"
    [ -e got ]
    [ "$status" -eq 7 ]
    is_free job
}

@test "SIGTERM while running reaches the command" {
    reaches_the_command TERM
}

@test "SIGINT while running reaches the command" {
    reaches_the_command INT
}

@test "SIGHUP while running reaches the command" {
    reaches_the_command HUP
}

@test "SIGQUIT, SIGUSR1 and SIGUSR2 while running reach the command" {
    for sig in QUIT USR1 USR2; do
        rm -f ready got
        reaches_the_command "$sig"
    done
}

@test "a command that dies by the forwarded signal gives 128+n" {
    start "$HOLDFAST" run job -- tail -f /dev/null
    await is_held job
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
}

@test "the lock is kept until the command is gone, however long it cleans up" {
    start "$HOLDFAST" run job -- bash -c '
        trap "touch got; until [ -e go ]; do :; done; exit 0" TERM
        touch ready
        while :; do read -rt 0.05 <> <(:) || :; done'
    await test -e ready
    kill -TERM "$PID"
    await test -e got
    is_held job
    touch go
    ended "$PID"
    [ "$status" -eq 0 ]
    is_free job
}

@test "SIGTSTP stops the command and us, SIGCONT lets both go on" {
    start "$HOLDFAST" run job -- bash -c '
        echo $$ > pid; while :; do read -rt 0.05 <> <(:) || :; done'
    await test -s pid
    kill -TSTP "$PID"
    await grep -q '^State:.T' "/proc/$PID/status"
    await grep -q '^State:.T' "/proc/$(cat pid)/status"
    kill -CONT "$PID"
    await grep -q '^State:.[SR]' "/proc/$(cat pid)/status"
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
}

@test "what our parent ignores stays ignored" {
    holder job
    env --ignore-signal=HUP "$HOLDFAST" run -w 20s job -- touch ran \
        >>out 2>>err 3>&- &
    waiter=$!
    STARTED+=("$waiter")
    await has_waiter job
    kill -HUP "$waiter"
    kill -KILL "$PID"
    ended "$waiter"
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "a signal while the store is being opened ends us at once" {
    # A server that takes the connection and never says a word.
    python3 -c '
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(8)
open("port", "w").write(str(s.getsockname()[1]))
kept = []
while True: kept.append(s.accept())' 3>&- &
    STARTED+=("$!")
    await test -s port
    start "$HOLDFAST" run --store "redis://127.0.0.1:$(cat port)" job -- true
    await grep -q 'SigBlk:.*[1-9a-f]' "/proc/$PID/status"
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
}

@test "Ctrl-C on a terminal ends the command, and us with 130" {
    run -130 python3 "$SUPPORT/terminal.py" --type $'\003' "$HOLDFAST" run job \
        -- sh -c 'echo ready; exec tail -f /dev/null'
    is_free job
}

@test "Ctrl-C on a terminal leaves the line" {
    holder job
    run -130 python3 "$SUPPORT/terminal.py" --type $'\003' "$HOLDFAST" run job \
        -- touch ran
    contains "$output" "nothing was run"
    run ! has_waiter job
    [ ! -e ran ]
}
