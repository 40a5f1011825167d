# SPDX-License-Identifier: MIT
#
# The simple lock is the one that Node's redlock has: each waits for the other,
# and neither frees what the other holds.

load ../cli/helper
load ../support/redis

PEER=${HF_REDLOCK:-${TMPDIR:-/tmp}/holdfast-redlock}

peer() {
    node "$PEER/redlock.js" "$REDIS_PORT" "$@"
}

# A server, and the peer to share it with; bats can skip in a test only.
begin() {
    run "$BATS_TEST_DIRNAME/redlock/build.sh" "$PEER"
    if [ "$status" -eq 77 ]; then
        skip "$output"
    fi
    [ "$status" -eq 0 ]
    redis_start
    export HOLDFAST_STORE=redis://127.0.0.1:$REDIS_PORT
}

# peer_begins COMMAND...: in the background, until descriptor 9 is closed.
peer_begins() {
    mkfifo in
    peer "$@" <in >said 3>&- &
    STARTED+=($!)
    PEER_PID=$!
    exec 9>in
    await grep -q held said
}

@test "what redlock holds is busy for holdfast, and free after its release" {
    begin
    peer_begins hold job
    run -75 "$HOLDFAST" run --simple -n job -- true
    start "$HOLDFAST" run --simple -w 20s job -- touch entered 9>&-
    exec 9>&-
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e entered ]
}

@test "what holdfast holds is busy for redlock, and free after its release" {
    begin
    run -0 "$HOLDFAST" run --simple job -- \
        node "$PEER/redlock.js" "$REDIS_PORT" try job 5000
    contains "$output" busy
    run -0 peer try job 5000
    [ "$output" = held ]
}

@test "what either left behind ends with its lease" {
    begin
    run -0 peer try job 300
    [ "$output" = held ]
    run -75 "$HOLDFAST" run --simple -n job -- true
    run -0 "$HOLDFAST" run --simple -w 20s job -- true
    start "$HOLDFAST" run --simple --lease 1s job -- \
        sh -c 'touch entered; exec tail -f /dev/null'
    await test -e entered
    kill -KILL "$PID"
    peer_begins hold job
    exec 9>&-
}

@test "redlock's late release does not free what holdfast holds" {
    begin
    peer_begins late job 300
    start "$HOLDFAST" run --simple -w 20s job -- \
        sh -c 'touch entered; exec tail -f /dev/null' 9>&-
    await test -e entered
    exec 9>&-
    ended "$PEER_PID"
    grep -q 'too late' said
    run -75 "$HOLDFAST" run --simple -n job -- true
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
