# SPDX-License-Identifier: MIT
#
# A second store for bad times: --escalate-to.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

setup_two() {
    on_redis
    SECOND=sqlite:$DIR/second.db
}

both() {
    "$HOLDFAST" "$1" --escalate-to "$SECOND" --lease 6s "${@:2}"
}

start_both() {
    start "$HOLDFAST" "$1" --escalate-to "$SECOND" --lease 6s "${@:2}"
}

held_in_second() {
    HOLDFAST_STORE=$SECOND is_held "$1"
}

redis_again() {
    redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' \
        --appendonly no --dir "$DIR" >"$DIR/redis.log" 2>&1 3>&- &
    REDIS_PID=$!
    STARTED+=("$REDIS_PID")
    await redis_decided
}

@test "as long as the store lives the lock is there" {
    setup_two
    start_both run job -- tail -f /dev/null
    await is_held job
    run held_in_second job
    [ "$status" -ne 0 ]
    run -75 both run -n job -- touch ran
    kill -TERM "$PID"
    ended "$PID"
    run -0 both run -n job -- touch ran
    [ -e ran ]
}

@test "a job whose store dies goes on, and nobody else gets in" {
    setup_two
    mkfifo end
    start_both run --verbose job -- sh -c 'echo $HOLDFAST_TOKEN >first; cat end'
    job=$PID
    await test -s first
    start_both run job -- sh -c 'echo $HOLDFAST_TOKEN >second; touch ran'
    waiter=$PID
    redis_stop
    await held_in_second job
    await says "'job' is held in"
    run -75 both run -n job -- touch ran
    [ ! -e ran ]
    is_running "$job"
    : >end
    ended "$job"
    [ "$status" -eq 0 ]
    ended "$waiter"
    [ "$status" -eq 0 ]
    [ -e ran ]
    [ "$(cat second)" -gt "$(cat first)" ]
}

@test "a job can start while the store is down" {
    setup_two
    redis_stop
    run -0 both run -w 20s job -- sh -c 'echo $HOLDFAST_TOKEN'
    [ "$output" -gt 0 ]
}

@test "the environment may name it, and doctor hides its password" {
    setup_two
    start env HOLDFAST_ESCALATE_TO="$SECOND" \
        "$HOLDFAST" run --lease 6s job -- tail -f /dev/null
    await is_held job
    redis_stop
    await held_in_second job
    kill -TERM "$PID"
    ended "$PID"
    HOLDFAST_STORE=$SECOND HOLDFAST_ESCALATE_TO=redis://:geheim@127.0.0.1:1 \
        run "$HOLDFAST" doctor
    lacks "$output" geheim
    contains "$output" HOLDFAST_ESCALATE_TO
}

@test "what cannot go over is refused" {
    setup_two
    run -78 both run --permits 1 --limit 1 job -- true
    run -78 "$HOLDFAST" run --escalate-to nonsense:// job -- true
}
