# SPDX-License-Identifier: MIT
#
# Looking at many: ls with its filters, clients, deadlocks, events.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

# waiter NAME: a background command that waits for it.
waiter() {
    start "$HOLDFAST" run "$@" -- true
    await claims "${@: -1}" "$PID"
}

# claims NAME PID: the process holds or waits for it, as the store knows.
claims() {
    "$HOLDFAST" ls -W -r -n -o NAME,PID "$1" | grep -q "^$1 $2\$"
}

# watch: follows the events, in the file events.
watch() {
    rm -f events watching # of one before
    env --default-signal=INT "$HOLDFAST" events --every 100ms "$@" \
        >events 2>watching 3>&- 4>&- </dev/null &
    WATCH=$!
    STARTED+=("$WATCH")
    await grep -q watching watching
}

# saw EVENT PID: it was told of that process.
saw() {
    grep -Eq "  $1 .*pid $2[,)]" events
}

# each_line COMMAND...: of stdin, for itself.
each_line() {
    local line
    while IFS= read -r line; do
        "$@" <<<"$line" >/dev/null || return
    done
}

@test "ls shows each claim, who waits with a * and who is in the way" {
    on_store
    holder job
    first=$PID
    waiter job
    run -0 --separate-stderr "$HOLDFAST" ls -W
    [[ ${lines[0]} == *BLOCKER* ]]
    [ "$(grep -c "^job " <<<"$output")" -eq 2 ]
    run -0 --separate-stderr "$HOLDFAST" ls -W -r -n -o NAME,KIND,STATE,PID,BLOCKER
    host=$("$HOLDFAST" ls -n -o HOST)
    [ "${lines[0]}" = "job lock held $first -" ]
    [ "${lines[1]}" = "job lock* waits $PID $host:$first" ]
    json=$("$HOLDFAST" show -J job)
    [ "$(field "$json" waiters.0.blocker.pid)" = "$first" ]
    [ "$(field "$json" lost)" = "[]" ]
}

@test "ls filters by name, by state, by host" {
    on_store
    holder orders:1
    holder orders:2
    holder stock
    waiter orders:2
    "$HOLDFAST" sem set pool 3
    names() {
        "$HOLDFAST" ls -o name "$@" | sort | tr '\n' ' '
    }
    [ "$(names)" = "orders:1 orders:2 pool stock " ]
    [ "$(names orders:)" = "orders:1 orders:2 " ]
    [ "$(names '*s:2')" = "orders:2 " ]
    [ "$(names --match 'st?ck')" = "stock " ]
    [ "$(names --held)" = "orders:1 orders:2 stock " ]
    [ "$(names --waiting)" = "orders:2 " ]
    [ "$(names --state free)" = "pool " ]
    [ "$(names --state waits)" = "orders:2 " ]
    [ "$(names --host nowhere)" = "" ]
    [ "$(names --host "$("$HOLDFAST" ls -n -o HOST stock)" st)" = "stock " ]
    run -64 "$HOLDFAST" ls --state heldd
    contains "$output" "did you mean 'held'"
}

@test "ls sorts, when it is asked to" {
    on_store
    for name in b a c; do
        holder "$name"
    done
    run -0 --separate-stderr "$HOLDFAST" ls -n -o NAME --sort name
    [ "$output" = $'a\nb\nc' ]
    run -0 --separate-stderr "$HOLDFAST" ls -n -o PID --sort pid:desc
    [ "$output" = "$(sort -rn <<<"$output")" ]
    [ "${#lines[@]}" -eq 3 ]
    run -64 "$HOLDFAST" ls --sort name:up
    contains "$output" ":desc"
}

@test "ls prints an object on each line, whatever the names" {
    on_store
    for name in plain $'h\\"o' "a b"; do
        holder --why $'x\e[31m' "$name"
    done
    "$HOLDFAST" ls -o jsonl >lines
    [ "$(wc -l <lines)" -eq 3 ]
    each_line python3 -m json.tool <lines
    run -0 --separate-stderr "$HOLDFAST" ls -r -n -o NAME
    contains "$output" 'a\x20b'
    run -0 --separate-stderr "$HOLDFAST" ls -o wide
    lacks "$output" $'\e'
}

@test "clients lists who uses the store, and not who looks" {
    on_store
    holder --why "to copy" job
    first=$PID
    waiter job
    await eval '"$HOLDFAST" clients -J | grep -q "\"waits\":1"'
    run -0 "$HOLDFAST" clients
    contains "${lines[0]}" HOLDS
    [ "${#lines[@]}" -eq 3 ]
    contains "$output" "to copy"
    contains "$output" "$first"
    contains "$output" "$PID"
    json=$("$HOLDFAST" clients -J)
    contains "$json" "\"pid\":$first"
}

@test "events tells of a grant, a wait and a release, in order" {
    on_store
    watch
    holder job
    first=$PID
    await saw granted "$first"
    start "$HOLDFAST" run job -- tail -f /dev/null
    await saw waits "$PID"
    kill -TERM "$first"
    await saw granted "$PID"
    run -0 awk '{print $2}' events
    [ "$output" = $'granted\nwaits\nreleased\ngranted' ]
    kill -INT "$WATCH"
    ended "$WATCH"
    [ "$status" -eq 0 ]
}

# The embedded store notices at once that a process is gone; Redis when its
# lease ends.
@test "events tells when a holder is killed, and who comes next" {
    on_store
    watch -J
    start "$HOLDFAST" run --lease 5s job -- tail -f /dev/null
    first=$PID
    await grep -q "\"granted\".*\"pid\":$first," events
    start "$HOLDFAST" run job -- tail -f /dev/null
    await grep -q "\"waits\".*\"pid\":$PID," events
    kill -KILL "$first"
    await grep -q "\"granted\".*\"pid\":$PID," events
    each_line python3 -m json.tool <events
    word=$(sed -n 3p events)
    [ "$(field "$word" pid)" = "$first" ]
    if [ "${HF_TEST_STORE:-sqlite}" = redis ]; then
        [ "$(field "$word" event)" = expired ]
    else
        [[ $(field "$word" event) == @(released|expired) ]]
    fi
}

@test "events ends when enough were told, when time is up, or nobody reads" {
    on_store
    watch --count 1
    holder job
    ended "$WATCH"
    [ "$status" -eq 0 ]
    [ "$(wc -l <events)" -eq 1 ]
    run -0 "$HOLDFAST" events --for 50ms
    watch other
    holder another
    holder other
    await saw granted "$PID"
    [ "$(wc -l <events)" -eq 1 ]
    "$HOLDFAST" events --every 50ms 2>/dev/null | true
    [ "${PIPESTATUS[0]}" -eq 0 ]
}

@test "events survives a store that goes away" {
    on_redis
    watch
    kill -STOP "$REDIS_PID"
    await grep -q store-down events
    kill -CONT "$REDIS_PID"
    await grep -q store-up events
    holder job
    await saw granted "$PID"
}

# entangled HAS WANTS: a process that takes the one and then wants the other,
# once both are held.
entangled() {
    start sh -c "{ echo 'open $HOLDFAST_STORE'
        echo 'lock 0 $1'; echo 'lock 1 $2'; echo 'acquire 0 20000'
        until '$HOLDFAST' show -J $2 | grep -q '\"state\":\"held\"'
            do sleep 0.05; done
        echo 'acquire 1 -1'; } | exec '$HF_PEER'"
}

@test "deadlocks finds two who wait for each other" {
    on_store
    [ -x "${HF_PEER:-}" ] || skip "hf-peer is not built"
    run -0 "$HOLDFAST" deadlocks
    watch
    entangled a b
    entangled b a
    await eval '"$HOLDFAST" deadlocks; [ $? = 1 ]'
    run -1 "$HOLDFAST" deadlocks
    contains "$output" "deadlock of 2"
    contains "$output" "has 'b', wants 'a'"
    contains "$output" "has 'a', wants 'b'"
    json=$("$HOLDFAST" deadlocks -J || true)
    [ "$(field "$json" circles.0.1.wants)" != "$(field "$json" circles.0.0.wants)" ]
    await grep -q " deadlock " events
}

# nested OUTER INNER OPTION...: a run inside of a run, once both outer locks
# are held.
nested() {
    outer=$1 inner=$2
    shift 2
    start "$HOLDFAST" run "$outer" -- sh -c "
        until '$HOLDFAST' show -J $inner | grep -q '\"state\":\"held\"'
            do sleep 0.05; done
        exec '$HOLDFAST' run $* $inner -- true"
}

@test "deadlocks finds commands that run inside of each other's locks" {
    on_store
    nested a b
    nested b a
    await eval '"$HOLDFAST" deadlocks; [ $? = 1 ]'
    run -1 "$HOLDFAST" deadlocks
    contains "$output" "deadlock of 2"
    contains "$output" "wants 'a'"
    contains "$output" "wants 'b'"
}

@test "run --deadlock: one of two gives way, and the other goes on" {
    on_store
    nested a b --deadlock
    first=$PID
    nested b a --deadlock
    wait "$PID" && one=0 || one=$?
    wait "$first" && other=0 || other=$?
    [ "$((one + other))" -eq 75 ]
    [ "$one" -eq 0 ] || [ "$other" -eq 0 ]
    grep -q "deadlock: '.' is held by .* held by the caller" "$DIR/err"
}

# fill: a hundred thousand names, a thousand of them held by others.
fill() {
    redis-cli -p "$REDIS_PORT" >/dev/null eval '
        for i = 1, 1000 do
            local name = string.format("held:%05d", i)
            redis.call("hset", name, "00000000-0000-4000-8000-000000000000:1", 1)
            redis.call("pexpire", name, 3600000)
        end
        for i = 1, 99000 do
            local name = string.format("pool:%05d", i)
            redis.call("set", name, 3)
            redis.call("set", "holdfast_counter:{" .. name .. "}", "semaphore")
        end' 0
}

# How many steps through the keys the server was asked for.
scans() {
    redis-cli -p "$REDIS_PORT" info commandstats |
        sed -n 's/^cmdstat_scan:calls=\([0-9]*\).*/\1/p'
}

# Nobody reads on behind the first row, so ls stops when the pipe is full: by
# then it must not have gone through everything.
@test "ls begins before it has read a hundred thousand names" {
    command -v redis-cli >/dev/null || skip "redis-cli is not installed"
    on_redis
    fill
    mkfifo rows
    start sh -c "exec '$HOLDFAST' ls -n -o NAME,HOLDER,OWNER >rows"
    exec 5<rows
    IFS= read -r first <&5
    early=$(scans)
    kill -KILL "$PID"
    exec 5<&-
    [[ $first == @(held|pool):* ]]
    "$HOLDFAST" ls -n -o NAME,HOLDER --store "$HOLDFAST_STORE?hf_timeout=60s" >all
    full=$(($(scans) - early))
    echo "first row after $early steps, all after $full"
    [ "$early" -lt $((full / 2)) ]
    [ "$(grep -c '^held:.*(foreign)' all)" -eq 1000 ]
    [ "$(grep -c ^pool: all)" -eq 99000 ]
}
