# SPDX-License-Identifier: MIT
#
# The command on a store of servers that agree, ZooKeeper or etcd: HF_SORT says
# which.  CTest runs the file once for each.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/quorum

: "${HF_SORT:=etcd}"

setup_store() {
    on_quorum
}

# ---- run, ls, show, steal --------------------------------------------------

@test "run: one at a time, and the next one gets in" {
    setup_store
    run -0 "$HOLDFAST" run job -- sh -c 'echo "$HOLDFAST_TOKEN"'
    first=$output
    holder job
    run -75 "$HOLDFAST" run -n job -- touch ran
    [ ! -e ran ]
    run -75 "$HOLDFAST" run -w 100ms job -- touch ran
    start "$HOLDFAST" run job -- sh -c 'echo "$HOLDFAST_TOKEN" >token'
    await has_waiters job 1
    kill -TERM "${STARTED[0]}"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ "$(cat token)" -gt "$first" ]
    is_free job
}

@test "run: who is killed lets others in when its session is over" {
    setup_store
    holder job
    kill -KILL "${STARTED[0]}"
    run -0 "$HOLDFAST" run -w 20s job -- true
}

# ran NAME: the job was let in.
ran() {
    "$HOLDFAST" run --skip job -- touch "$1"
    [ -e "$1" ]
}

@test "run: a job is skipped while it runs, and for a while after it ran" {
    setup_store
    holder job
    run -0 "$HOLDFAST" run --skip job -- touch beside
    kill -TERM "${STARTED[0]}"
    ended "${STARTED[0]}"
    run -0 "$HOLDFAST" run --at-least 5s job -- touch first
    run -0 "$HOLDFAST" run --skip job -- touch second
    [ -e first ]
    [ ! -e beside ]
    [ ! -e second ]
    await ran third
    run -76 "$HOLDFAST" run --at-most 300ms job -- tail -f /dev/null
    contains "$output" "--at-most"
}

@test "run: readers share, a writer does not" {
    setup_store
    holder --shared book
    run -0 "$HOLDFAST" run --shared -n book -- true
    run -75 "$HOLDFAST" run --exclusive -n book -- true
    kill -TERM "${STARTED[0]}"
    run -0 "$HOLDFAST" run --exclusive -w 20s book -- true
}

@test "ls and show name the holder, the reason and those who wait" {
    setup_store
    holder --why "nightly copy" job
    start "$HOLDFAST" run --why "me too" job -- true
    await has_waiters job 1
    run -0 "$HOLDFAST" show job
    contains "$output" "held by"
    contains "$output" "pid ${STARTED[0]}"
    contains "$output" "nightly copy"
    contains "$output" "me too"
    json=$("$HOLDFAST" show job --json)
    [ "$(field "$json" state)" = held ]
    [ "$(field "$json" holder.pid)" = "${STARTED[0]}" ]
    [ "$(field "$json" holder.token)" -gt 0 ]
    [ "$(field "$json" waiters.0.pid)" = "$PID" ]
    run -0 --separate-stderr "$HOLDFAST" ls -n -o name,pid
    contains "$output" "${STARTED[0]}"
    run -0 "$HOLDFAST" show nobody
    contains "$output" free
}

@test "steal: the holder is stopped and told, and the next one gets in" {
    setup_store
    holder job
    start "$HOLDFAST" run job -- touch next
    await has_waiters job 1
    run -0 "$HOLDFAST" steal --yes job
    ended "${STARTED[0]}"
    [ "$status" -ne 0 ]
    says "lost the lock 'job'"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e next ]
    run -1 "$HOLDFAST" steal --yes job
}

@test "doctor: what the store is, and what it gives" {
    setup_store
    run -0 "$HOLDFAST" doctor
    contains "$output" "session"
    json=$("$HOLDFAST" doctor --json)
    for kind in lock fair spin read write permit semaphore latch; do
        [ "$(field "$json" "kinds.$kind.hold")" = true ]
    done
    [ "$(field "$json" kinds.simple.hold)" = false ]
    [ "$(field "$json" kinds.lock.order)" = true ]
    [ "$(field "$json" kinds.write.order)" = true ]
}

# ---- numbers ---------------------------------------------------------------

@test "sem: permits are set, taken, leased and given back" {
    setup_store
    run -0 "$HOLDFAST" sem set api 3
    run -75 "$HOLDFAST" sem set api 5
    run -0 "$HOLDFAST" sem acquire api 2
    [ "$("$HOLDFAST" sem count api)" = 1 ]
    run -75 "$HOLDFAST" sem acquire -n api 2
    start "$HOLDFAST" run --permits 1 api -- tail -f /dev/null
    leased() { [ "$(field "$("$HOLDFAST" sem count --json api)" leased)" = 1 ]; }
    await leased
    [ "$("$HOLDFAST" sem count api)" = 0 ]
    start "$HOLDFAST" sem acquire api 2
    run -0 "$HOLDFAST" sem release api 2
    ended "$PID"
    [ "$status" -eq 0 ]
    kill -TERM "${STARTED[0]}"
    is_one() { [ "$("$HOLDFAST" sem count api)" = 1 ]; }
    await is_one
    run -0 "$HOLDFAST" sem delete api
}

@test "latch: who waits goes when it has counted down" {
    setup_store
    run -0 "$HOLDFAST" latch set gate 2
    start "$HOLDFAST" latch wait --verbose gate
    await says "waiting for 'gate'"
    run -0 "$HOLDFAST" latch count-down gate
    is_running "$PID"
    run -0 "$HOLDFAST" show gate
    contains "$output" "gate (latch)"
    contains "$output" "1 to count down"
    run -0 "$HOLDFAST" latch count-down gate
    ended "$PID"
    [ "$status" -eq 0 ]
}

# ---- lead ------------------------------------------------------------------

leader() {
    start "$HOLDFAST" lead web -- sh -c \
        'echo "$1 $HOLDFAST_TOKEN" >>led; exec tail -f /dev/null' sh "$1"
}

leads() {
    [ "$(tail -n 1 led 2>/dev/null | cut -d ' ' -f 1)" = "$1" ]
}

@test "lead: when the leader is killed another process takes over" {
    setup_store
    leader 1
    await leads 1
    leader 2
    await has_waiters web 1
    kill -KILL "${STARTED[0]}"
    await leads 2
    read -r _ first <led
    read -r _ last < <(tail -n 1 led)
    [ "$last" -gt "$first" ]
    leader 3
    await has_waiters web 1
    kill -TERM "${STARTED[1]}" # resigns: no session has to end
    await leads 3
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
    is_free web
}

@test "lead: a leader that sleeps for longer than its session is deposed" {
    setup_store
    leader 1
    await leads 1
    leader 2
    await has_waiters web 1
    kill -STOP "${STARTED[0]}"
    await leads 2
    kill -CONT "${STARTED[0]}"
    await says "no longer leading 'web'; standing by"
    await has_waiters web 1
    kill -TERM "$PID"
    await leads 1
}
