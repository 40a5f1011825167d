# SPDX-License-Identifier: MIT
#
# Looking and taking away: show, ls, wait, release, steal, doctor.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

# The record that says who a client is comes a moment after the lock.
is_known() {
    "$HOLDFAST" show "$1" | grep -q "$2"
}

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

@test "doctor tells settings, where they come from, and what the store gives" {
    mkdir -p config/holdfast
    printf '# mine\nwhy = because\nlease = 20s\n' >config/holdfast/config
    run -0 "$HOLDFAST" doctor
    contains "$output" "HOLDFAST_STORE"
    contains "$output" "because  ($DIR/config/holdfast/config:2)"
    contains "$output" "20s  ($DIR/config/holdfast/config:3)"
    contains "$output" "auto  (built-in)"
    contains "$output" "killed holder"
    HOLDFAST_LEASE=9s run -0 "$HOLDFAST" doctor
    contains "$output" "9s  (HOLDFAST_LEASE)"
    json=$("$HOLDFAST" doctor --json)
    [ "$(field "$json" settings.lease.value)" = 20s ]
    [ "$(field "$json" kinds.lock.hold)" = true ]
    [ "$(field "$json" kinds.simple.hold)" = false ]
    run -69 "$HOLDFAST" doctor --store redis://127.0.0.1:1
}

@test "on Redis: run, show, the simple lock" {
    redis_start
    export HOLDFAST_STORE=redis://127.0.0.1:$REDIS_PORT
    run -0 "$HOLDFAST" run job -- sh -c 'echo "$HOLDFAST_TOKEN"'
    [ "$output" -gt 0 ]
    holder --why "in redis" job
    await is_known job "in redis"
    run -75 "$HOLDFAST" run -n job -- true
    contains "$output" "in redis"
    run -0 "$HOLDFAST" run --simple plain -- true
    redis_stop
}
