# SPDX-License-Identifier: MIT
#
# A lock of holdfast's on etcd is the one that `etcdctl lock` has: each waits
# for the other in one line, and is woken.

load ../cli/helper
load ../support/etcd

# A server; bats can skip in a test only.
begin() {
    command -v etcd >/dev/null || skip "etcd is not installed"
    command -v etcdctl >/dev/null || skip "etcdctl is not installed"
    etcd_start
    export HOLDFAST_STORE=etcd://127.0.0.1:$ETCD_PORT
    run "$HOLDFAST" ls
    case $output in *"libholdfast-etcd1"*) skip "$output" ;; esac
    [ "$status" -eq 0 ]
}

# etcdctl_holds OPTION...: until it is told to stop; its pid in HOLDER.
etcdctl_holds() {
    etcdctl lock "$@" job >key 2>&1 3>&- </dev/null &
    HOLDER=$!
    STARTED+=("$HOLDER")
    await grep -q '^job/' key
}

# stop PID: as one would by hand; a command in the background ignores SIGINT.
stop() {
    kill -TERM "$1"
}

@test "what etcdctl holds is busy for holdfast, and free after its release" {
    begin
    etcdctl_holds
    run -75 "$HOLDFAST" run -n job -- true
    start "$HOLDFAST" run -w 20s job -- touch entered
    await has_waiter job
    [ ! -e entered ]
    stop "$HOLDER"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e entered ]
}

@test "what holdfast holds is busy for etcdctl, and free after its release" {
    begin
    holder job
    local first=$PID
    start etcdctl lock job touch entered
    await has_waiter job
    [ ! -e entered ]
    kill -TERM "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e entered ]
    is_free job
}

@test "etcdctl is shown as somebody who holds, and as one who waits" {
    begin
    etcdctl_holds
    start etcdctl lock job true
    await has_waiters job 1
    run -0 "$HOLDFAST" show job
    contains "$output" "$(sed 's,^job/,,;q' key)"
}

@test "etcdctl and holdfast are served in the order in which they came" {
    begin
    holder job
    local first=$PID i
    for i in 1 2 3 4; do
        if [ $((i % 2)) = 1 ]; then
            start etcdctl lock job -- sh -c "echo $i >>order"
        else
            start "$HOLDFAST" run -w 20s job -- sh -c "echo $i >>order"
        fi
        await has_waiters job "$i"
    done
    kill -TERM "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ "$(tr -d '\n' <order)" = 1234 ]
}

@test "together they count without losing one" {
    begin
    echo -n 0 >number
    cat >add <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do
    "$@" sh -c 'read -r n <number; printf %d $((n + 1)) >number' || exit
done
END
    sh add etcdctl lock job -- 3>&- &
    local first=$!
    sh add etcdctl lock job -- 3>&- &
    local second=$!
    STARTED+=("$first" "$second")
    sh add "$HOLDFAST" run job --
    wait "$first"
    wait "$second"
    [ "$(cat number)" -eq 30 ]
}

@test "what a killed etcdctl held is free when its lease ends" {
    begin
    etcdctl_holds --ttl 2
    kill -KILL "$HOLDER"
    run -0 "$HOLDFAST" run -w 20s job -- true
}

@test "what a killed holdfast held is free for etcdctl when its lease ends" {
    begin
    start "$HOLDFAST" run --lease 2s job -- \
        sh -c 'touch entered; exec tail -f /dev/null'
    await test -e entered
    kill -KILL "$PID"
    start etcdctl lock job true
    ended "$PID"
    [ "$status" -eq 0 ]
}
