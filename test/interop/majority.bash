# SPDX-License-Identifier: MIT
#
# majority.bash - a simple lock held by a majority of three servers, shared with
# another client of that algorithm.  Whoever loads it says how that one is
# built, build_peer, and called, PEER.
# shellcheck shell=bash disable=SC2016,SC2034,SC2153,SC2154

REAL_HOME=$HOME # where those who build keep what they fetched

load ../cli/helper
load ../support/redis

# Three servers, and the peer to share them with; bats can skip in a test only.
begin() {
    local folder=$DIR i
    run build_peer
    if [ "$status" -eq 77 ]; then
        skip "$output"
    fi
    [ "$status" -eq 0 ]
    PORTS=()
    PIDS=()
    for i in 1 2 3; do
        DIR=$folder/server$i
        mkdir "$DIR"
        redis_start
        PORTS+=("$REDIS_PORT")
        PIDS+=("$REDIS_PID")
    done
    DIR=$folder
    ALL=${PORTS[0]},${PORTS[1]},${PORTS[2]}
    HOLDFAST_STORE=redlock://127.0.0.1:${PORTS[0]},127.0.0.1:${PORTS[1]}
    HOLDFAST_STORE+=",127.0.0.1:${PORTS[2]}?durable=1&node_timeout=2s"
    export HOLDFAST_STORE
}

# peer_begins COMMAND...: in the background, until descriptor 9 is closed.
peer_begins() {
    mkfifo in
    "${PEER[@]}" "$ALL" "$@" <in >said 3>&- &
    STARTED+=($!)
    PEER_PID=$!
    exec 9>in
    await grep -q held said
}

what_the_peer_holds_is_busy_for_holdfast() {
    begin
    peer_begins hold job
    run -75 "$HOLDFAST" run --simple -n job -- true
    start "$HOLDFAST" run --simple -w 20s job -- touch entered 9>&-
    exec 9>&-
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e entered ]
}

what_holdfast_holds_is_busy_for_the_peer() {
    begin
    run -0 "$HOLDFAST" run --simple job -- "${PEER[@]}" "$ALL" try job 5000
    contains "$output" busy
    run -0 "${PEER[@]}" "$ALL" try job 5000
    [ "$output" = held ]
}

it_works_without_one_server() {
    begin
    kill -KILL "${PIDS[1]}"
    peer_begins hold job
    run -75 "$HOLDFAST" run --simple -n job -- true
    exec 9>&-
    ended "$PEER_PID"
    run -0 "$HOLDFAST" run --simple -w 20s job -- \
        "${PEER[@]}" "$ALL" try job 5000
    contains "$output" busy
}

a_late_release_of_the_peers_does_no_harm() {
    begin
    peer_begins late job 1000
    start "$HOLDFAST" run --simple -w 20s job -- \
        sh -c 'touch entered; exec tail -f /dev/null' 9>&-
    await test -e entered
    exec 9>&-
    ended "$PEER_PID"
    grep -q 'too late' said
    run -75 "$HOLDFAST" run --simple -n job -- true
}

together_they_count_without_losing_one() {
    begin
    echo -n 0 >number
    "${PEER[@]}" "$ALL" add job number 15 3>&- &
    local peer=$!
    STARTED+=("$peer")
    for _ in {1..15}; do
        "$HOLDFAST" run --simple job -- \
            sh -c 'read -r n <number; printf %d $((n + 1)) >number'
    done
    wait "$peer"
    [ "$(cat number)" -eq 30 ]
}
