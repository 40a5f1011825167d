# SPDX-License-Identifier: MIT
#
# Looking and taking away: show, ls, wait, release, steal.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

@test "show names the holder, the reason and those who wait" {
    holder --why "nightly copy" job
    start "$HOLDFAST" run --why "me too" job -- true
    await has_waiter job
    run -0 "$HOLDFAST" show job
    contains "$output" "held by"
    contains "$output" "pid ${STARTED[0]}"
    contains "$output" "nightly copy"
    contains "$output" "me too"
    run -0 "$HOLDFAST" show nobody
    contains "$output" free
}

@test "show --json can be read by programs" {
    holder --why $'"quoted" \\ \302\265 \377' job
    start "$HOLDFAST" run job -- true
    await has_waiter job
    json=$("$HOLDFAST" show job --json)
    [ "$(field "$json" name)" = job ]
    [ "$(field "$json" state)" = held ]
    [ "$(field "$json" store)" = "sqlite:$DIR/locks.db" ]
    [ "$(field "$json" holder.pid)" = "${STARTED[0]}" ]
    [ "$(field "$json" holder.why)" = $'"quoted" \\ \302\265 \\xff' ]
    [ "$(field "$json" waiters.0.pid)" = "$PID" ]
    [[ $(field "$json" holder.since) == 20*T*Z ]]
    [ "$(field "$("$HOLDFAST" show --json nobody)" holder)" = null ]
}

@test "ls shows a table of what is held, and names the store" {
    holder job
    holder other
    run -0 --separate-stderr "$HOLDFAST" ls
    contains "$stderr" "$DIR/locks.db"
    contains "${lines[0]}" NAME
    contains "$output" job
    contains "$output" other
    run -0 --separate-stderr "$HOLDFAST" ls -n -o name,pid
    [ "${#lines[@]}" -eq 2 ]
    contains "$output" "${STARTED[0]}"
    run -64 "$HOLDFAST" ls -o nmae
    contains "$output" "did you mean NAME"
}

@test "ls --json can be read by programs" {
    [ "$(field "$("$HOLDFAST" ls --json)" locks)" = "[]" ]
    holder job
    json=$("$HOLDFAST" ls -J)
    [ "$(field "$json" locks.0.name)" = job ]
    [ "$(field "$json" locks.0.holder.token)" -gt 0 ]
}

@test "wait ends when the lock is free, and with 75 when time is up" {
    run -0 "$HOLDFAST" wait job
    holder job
    first=$PID
    run -75 "$HOLDFAST" wait -w 50ms job
    start "$HOLDFAST" wait job
    kill -TERM "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
}

@test "release frees what that owner holds and nothing else" {
    holder --lease 600ms job
    owner=$(field "$("$HOLDFAST" show --json job)" holder.owner)
    run -64 "$HOLDFAST" release job
    run -77 "$HOLDFAST" release job --owner somebody-else
    is_held job
    run -0 "$HOLDFAST" release job --owner "$owner"
    ended "$PID"
    [ "$status" -eq 76 ]
    run -1 "$HOLDFAST" release job --owner "$owner"
}

@test "steal shows the holder and wants --yes without a terminal" {
    holder --lease 600ms job
    run -64 "$HOLDFAST" steal job </dev/null
    contains "$output" "held by"
    contains "$output" "--yes"
    is_held job
    run -0 "$HOLDFAST" steal --yes job
    ended "$PID"
    [ "$status" -eq 76 ]
    run -1 "$HOLDFAST" steal --yes job
    contains "$output" free
}

@test "steal on a terminal wants the name typed" {
    holder --lease 600ms job
    run -1 python3 "$SUPPORT/terminal.py" --type yes "$HOLDFAST" steal job
    is_held job
    run -0 python3 "$SUPPORT/terminal.py" --type job "$HOLDFAST" steal job
    ended "$PID"
    [ "$status" -eq 76 ]
}

@test "a stolen lock's next token is above the stolen one" {
    holder --lease 600ms job
    old=$(field "$("$HOLDFAST" show --json job)" holder.token)
    "$HOLDFAST" steal --yes job
    new=$("$HOLDFAST" run job -- sh -c 'echo $HOLDFAST_TOKEN')
    [ "$new" -gt "$old" ]
}

@test "on Redis: run, show, the simple lock" {
    on_redis
    run -0 "$HOLDFAST" run job -- sh -c 'echo "$HOLDFAST_TOKEN"'
    [ "$output" -gt 0 ]
    holder --why "in redis" job
    await is_known job "in redis"
    run -75 "$HOLDFAST" run -n job -- true
    contains "$output" "in redis"
    run -0 "$HOLDFAST" run --simple plain -- true
}

@test "show and ls tell readers and writers" {
    on_store
    holder -s job
    readers=("$PID")
    holder -s job
    readers+=("$PID")
    await has_holders job 2
    start "$HOLDFAST" run -x --writers-first --why "to write" job -- true
    await has_waiters job 1
    for pid in "${readers[@]}" "$PID"; do
        await is_known job "pid $pid"
    done
    run -0 "$HOLDFAST" show job
    contains "$output" "job (read)"
    [ "$(grep -c "held by" <<<"$output")" -eq 2 ]
    contains "$output" "\"to write\"), wants to write"
    json=$("$HOLDFAST" show --json job)
    [ "$(field "$json" kind)" = read ]
    [ "$(field "$json" state)" = held ]
    [ "$(field "$json" count)" = null ]
    [ "$(field "$json" holders.1.kind)" = read ]
    [ "$(field "$json" waiters.0.kind)" = write ]
    run -0 "$HOLDFAST" ls
    contains "$output" " +1 "
    json=$("$HOLDFAST" ls --json)
    [ "$(field "$json" locks.0.holders.1.kind)" = read ]
}

@test "show and ls tell a semaphore's numbers and its permits" {
    on_store
    holder --limit 3 api
    run -0 "$HOLDFAST" show api
    contains "$output" "api (semaphore)"
    contains "$output" "2 permits"
    contains "$output" "held by"
    json=$("$HOLDFAST" show --json api)
    [ "$(field "$json" kind)" = semaphore ]
    [ "$(field "$json" state)" = held ]
    [ "$(field "$json" count)" = 2 ]
    [ "$(field "$json" holders.0.kind)" = permit ]
    [ "$(field "$json" holders.0.permits)" = 1 ]
    run -0 --separate-stderr "$HOLDFAST" ls -n -o NAME,KIND,COUNT,HOLDERS
    [ "$(tr -s ' ' <<<"$output")" = "api semaphore 2 1" ]
    "$HOLDFAST" sem set pool 4
    run -0 "$HOLDFAST" show pool
    contains "$output" "4 permits"
    [ "$(field "$("$HOLDFAST" show --json pool)" state)" = free ]
    "$HOLDFAST" sem drain pool
    [ "$(field "$("$HOLDFAST" show --json pool)" state)" = held ]
}

@test "show tells a latch while somebody waits for it" {
    on_store
    "$HOLDFAST" latch set gate 2
    start "$HOLDFAST" latch wait --verbose gate
    await says "waiting for 'gate'"
    run -0 "$HOLDFAST" show gate
    contains "$output" "gate (latch)"
    contains "$output" "2 to count down"
    json=$("$HOLDFAST" show --json gate)
    [ "$(field "$json" kind)" = latch ]
    [ "$(field "$json" state)" = closed ]
    [ "$(field "$json" count)" = 2 ]
}

@test "steal takes a write lock, a fair lock and a simple lock" {
    on_store
    for option in -x --fair $(if_simple); do
        name=job$option
        holder --lease 600ms "$option" "$name"
        run -0 "$HOLDFAST" steal --yes "$name"
        ended "$PID"
        [ "$status" -eq 76 ]
        run -1 "$HOLDFAST" steal --yes "$name"
        contains "$output" "nobody holds it"
    done
}

@test "of several holders steal wants to know which" {
    on_store
    holder --lease 600ms -s job
    first=$PID
    holder --lease 600ms -s job
    await has_holders job 2
    await is_known job "pid $first"
    run -64 "$HOLDFAST" steal --yes job
    contains "$output" "several holders: say which by --owner"
    owner=$("$HOLDFAST" show job | sed -n "/pid $first/,/owner/s/.*owner *//p")
    run -0 "$HOLDFAST" steal --yes --owner "$owner" job
    ended "$first"
    [ "$status" -eq 76 ]
    await has_holders job 1
    run -77 "$HOLDFAST" release --owner "$owner" job
    is_held job
}

@test "steal takes one permit by its id, and its number is free" {
    on_store
    holder --lease 600ms --limit 2 api
    first=$PID
    owner=$(field "$("$HOLDFAST" show --json api)" holder.owner)
    holder --lease 600ms --limit 2 api
    await has_holders api 2
    run -0 "$HOLDFAST" steal --yes --owner "$owner" api
    ended "$first"
    [ "$status" -eq 76 ]
    contains "$(cat err)" "lost the leased permit 'api'"
    [ "$("$HOLDFAST" sem count api)" = 1 ]
    await has_holders api 1
    "$HOLDFAST" sem set pool 1
    run -1 "$HOLDFAST" steal --yes pool
    contains "$output" "holdfast sem delete"
}
