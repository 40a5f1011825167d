# SPDX-License-Identifier: MIT
#
# The history as a demonstration: every broken design breaks, every cure holds,
# and nothing is left behind.
# shellcheck disable=SC2154

load helper

needs_redis() {
    command -v redis-server >/dev/null || skip "redis-server is not installed"
    command -v redis-cli >/dev/null || skip "redis-cli is not installed"
    mkdir tmp
    export TMPDIR=$DIR/tmp
}

# Processes that work in our folder: servers do, by --dir.
servers() {
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$DIR/tmp/*" 2>/dev/null
}

has_servers() {
    [ -n "$(servers)" ]
}

@test "every broken design breaks, every cure holds, in less than a minute" {
    needs_redis
    SECONDS=0
    run -0 "$HOLDFAST" demo evolution
    ((SECONDS < 60))
    [ "$(grep -c '^   breaks ' <<<"$output")" -eq 5 ]
    [ "$(grep -c '^   holds ' <<<"$output")" -eq 5 ]
    lacks "$output" "not shown"
    contains "$output" "TTL -1"
    contains "$output" "it was refused"
    lacks "$output" $'\033'
    [ -z "$(ls tmp)" ]
    run ! has_servers
}

@test "an interrupted evolution stops its servers and removes their data" {
    needs_redis
    start "$HOLDFAST" demo evolution
    await has_servers
    kill -INT "$PID"
    ended "$PID"
    [ "$status" -eq 130 ]
    await eval '! has_servers'
    [ -z "$(ls tmp)" ]
}

@test "a killed evolution leaves no server" {
    needs_redis
    start "$HOLDFAST" demo evolution
    await has_servers
    kill -KILL "$PID"
    ended "$PID"
    await eval '! has_servers'
}

@test "without Redis the evolution says what to install" {
    mkdir bin
    run -69 env PATH="$DIR/bin" "$HOLDFAST" demo evolution
    contains "$output" "redis-server is not installed"
    contains "$output" "apt install redis-tools"
}

@test "the demonstrations without a name need no Redis" {
    mkdir bin
    ln -s "$(command -v sh)" bin/sh
    run -0 env PATH="$DIR/bin" "$HOLDFAST" demo
    lacks "$output" "designs of a lock"
}
