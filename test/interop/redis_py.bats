# SPDX-License-Identifier: MIT
#
# The simple lock is the one that redis-py has: each waits for the other, and
# neither frees what the other holds.

load ../cli/helper
load ../support/redis

PYTHON=/usr/bin/python3 # Debian's, whose packages python3-redis is one of

peer() {
    "$PYTHON" "$BATS_TEST_DIRNAME/redis_py.py" "$REDIS_PORT" "$@"
}

# A server, and the peer to share it with; bats can skip in a test only.
begin() {
    "$PYTHON" -c 'import redis' 2>/dev/null ||
        skip "redis-py is not installed: apt-get install python3-redis"
    redis_start
    export HOLDFAST_STORE=redis://127.0.0.1:$REDIS_PORT
}

@test "what redis-py holds is busy for holdfast, and free after its release" {
    begin
    mkfifo in
    "$PYTHON" "$BATS_TEST_DIRNAME/redis_py.py" "$REDIS_PORT" hold job \
        <in >said 3>&- &
    STARTED+=($!)
    exec 9>in
    await grep -q held said
    run -75 "$HOLDFAST" run --simple -n job -- true
    start "$HOLDFAST" run --simple -w 20s job -- touch entered 9>&-
    exec 9>&-
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e entered ]
}

@test "what holdfast holds is busy for redis-py" {
    begin
    run -0 "$HOLDFAST" run --simple job -- "$PYTHON" -c "
import redis
lock = redis.Redis(port=$REDIS_PORT).lock('job', timeout=5)
assert not lock.acquire(blocking=False)"
    run -0 "$PYTHON" -c "
import redis
lock = redis.Redis(port=$REDIS_PORT).lock('job', timeout=5)
assert lock.acquire(blocking=False)"
}

@test "together they count without losing one" {
    begin
    echo -n 0 >number
    peer add job number 15 3>&- &
    local first=$!
    peer add job number 15 3>&- &
    local second=$!
    STARTED+=("$first" "$second")
    for _ in {1..15}; do
        "$HOLDFAST" run --simple job -- \
            sh -c 'read -r n <number; printf %d $((n + 1)) >number'
    done
    wait "$first"
    wait "$second"
    [ "$(cat number)" -eq 45 ]
}
