# SPDX-License-Identifier: MIT
#
# bench: figures, consent, and that nothing is left behind.
# shellcheck disable=SC2154

load helper
load ../support/redis

@test "bench measures the embedded store without asking, and cleans up" {
    run -0 --separate-stderr "$HOLDFAST" bench --for 1s
    contains "$output" "acquire + release"
    contains "$output" "hand-over"
    contains "$output" "times a second"
    contains "$stderr" "'holdfast-bench-"
    contains "$stderr" "sqlite:$DIR/locks.db"
    [ -z "$("$HOLDFAST" ls -n -o NAME)" ]
}

@test "bench --json: every figure was measured" {
    run -0 --separate-stderr "$HOLDFAST" bench --json --for 1s
    for what in bare acquire_release hand_over; do
        [ "$(field "$output" "$what.times")" -gt 0 ]
        [ "$(field "$output" "$what.p99")" != 0 ]
    done
    [ "$(field "$output" per_second)" -gt 0 ]
    [ "$(field "$output" store)" = "sqlite:$DIR/locks.db" ]
}

@test "bench on a server wants --yes where nobody can be asked" {
    on_redis
    run -64 "$HOLDFAST" bench --for 1s </dev/null
    contains "$output" "--yes"
    [ -z "$("$HOLDFAST" ls -n -o NAME)" ]
    run -0 "$HOLDFAST" bench --for 1s --yes </dev/null
    contains "$output" "hand-over"
    [ -z "$("$HOLDFAST" ls -n -o NAME)" ]
    redis_stop
}

@test "bench: a store that is not there, and a time that is too short" {
    run -69 "$HOLDFAST" bench --yes --store redis://127.0.0.1:1
    run -64 "$HOLDFAST" bench --for 1ms
    contains "$output" "at least 100ms"
}

@test "bench that is interrupted gives the lock back" {
    start "$HOLDFAST" bench --for 10m
    await says "takes and releases"
    await test -s locks.db
    kill -INT "$PID"
    ended "$PID"
    [ "$status" -eq 130 ]
    [ -z "$("$HOLDFAST" ls -n -o NAME)" ]
}
