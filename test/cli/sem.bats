# SPDX-License-Identifier: MIT
#
# Numbers: the semaphore whose permits are nobody's, and the latch.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

# ---- sem -----------------------------------------------------------------

@test "sem: permits are set once, taken and given back" {
    on_store
    run -0 "$HOLDFAST" sem set api 3
    [ -z "$output" ]
    run -75 "$HOLDFAST" sem set api 5
    contains "$output" "'api' is set already"
    run -0 "$HOLDFAST" sem count api
    [ "$output" = 3 ]
    run -0 "$HOLDFAST" sem acquire api 2
    run -0 "$HOLDFAST" sem acquire api
    [ "$("$HOLDFAST" sem count api)" = 0 ]
    run -75 "$HOLDFAST" sem acquire -n api
    contains "$output" "'api' has 0 permits free"
    run -75 "$HOLDFAST" sem acquire -w 50ms api
    contains "$output" "not obtained in"
    run -3 "$HOLDFAST" sem acquire -n -E 3 api
    run -0 "$HOLDFAST" sem release api
    run -0 "$HOLDFAST" sem acquire -n api
    run -0 "$HOLDFAST" sem release api 3
    [ "$("$HOLDFAST" sem count api)" = 3 ]
}

@test "sem: their number is changed, drained, deleted" {
    on_store
    "$HOLDFAST" sem set api 3
    run -0 "$HOLDFAST" sem add api 2
    [ "$("$HOLDFAST" sem count api)" = 5 ]
    run -0 "$HOLDFAST" sem reduce api 4
    [ "$("$HOLDFAST" sem count api)" = 1 ]
    run -0 "$HOLDFAST" sem resize api 4
    run -0 "$HOLDFAST" sem drain api
    [ "$output" = 4 ]
    run -0 "$HOLDFAST" sem drain api --json
    [ "$(field "$output" taken)" = 0 ]
    run -0 "$HOLDFAST" sem delete api
    run -1 "$HOLDFAST" sem delete api
    contains "$output" "there is no semaphore 'api'"
    run -1 "$HOLDFAST" sem release api
    [ "$("$HOLDFAST" sem count api)" = 0 ]
}

@test "sem: leased permits count as such, and resize counts them in" {
    on_store
    holder --permits 2 --limit 3 api
    json=$("$HOLDFAST" sem count --json api)
    [ "$(field "$json" name)" = api ]
    [ "$(field "$json" kind)" = semaphore ]
    [ "$(field "$json" count)" = 1 ]
    [ "$(field "$json" leased)" = 2 ]
    contains "$(field "$json" store)" "$HOLDFAST_STORE"
    "$HOLDFAST" sem resize api 5
    [ "$("$HOLDFAST" sem count api)" = 3 ]
}

@test "sem: a waiter gets what another one gives" {
    on_store
    "$HOLDFAST" sem set api 0
    start "$HOLDFAST" sem acquire --verbose api 2
    await says "waiting for 'api', 0 permits free"
    "$HOLDFAST" sem release api
    is_running "$PID"
    "$HOLDFAST" sem release api
    ended "$PID"
    [ "$status" -eq 0 ]
    [ "$("$HOLDFAST" sem count api)" = 0 ]
}

@test "sem: a signal ends the wait, and takes nothing" {
    on_store
    "$HOLDFAST" sem set api 1
    start "$HOLDFAST" sem acquire --verbose api 2
    await says "waiting for 'api'"
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
    [ "$("$HOLDFAST" sem count api)" = 1 ]
}

@test "sem: --ttl lets it vanish" {
    on_store
    "$HOLDFAST" sem set --ttl 3s api 1
    [ "$("$HOLDFAST" sem count api)" = 1 ]
    vanished() { [ "$("$HOLDFAST" sem count api)" = 0 ]; }
    await vanished
    run -0 "$HOLDFAST" sem set api 2
}

@test "sem: five jobs share two permits, never more at a time" {
    on_store
    "$HOLDFAST" sem set api 2
    mkdir inside
    jobs=()
    for _ in 1 2 3 4 5; do
        start sh -c '"$0" sem acquire api || exit
            touch inside/$$; ls inside | wc -l >>seen; rm inside/$$
            "$0" sem release api' "$HOLDFAST"
        jobs+=("$PID")
    done
    for pid in "${jobs[@]}"; do
        ended "$pid"
        [ "$status" -eq 0 ]
    done
    [ "$(wc -l <seen)" -eq 5 ]
    run ! grep -Eq '^[3-9]$' seen
    [ "$("$HOLDFAST" sem count api)" = 2 ]
}

@test "sem and latch: bad usage is refused with 64" {
    run -64 "$HOLDFAST" sem
    contains "$output" "sem what?"
    run -64 "$HOLDFAST" sem aquire api
    contains "$output" "did you mean 'acquire'"
    run -64 "$HOLDFAST" sem set
    contains "$output" "which name?"
    run -64 "$HOLDFAST" sem set api
    contains "$output" "how many?"
    run -64 "$HOLDFAST" sem set api many
    contains "$output" "'many' is not a whole number"
    run -64 "$HOLDFAST" sem set api -3
    run -64 "$HOLDFAST" sem set api 3 4
    contains "$output" "'4' is too much"
    run -64 "$HOLDFAST" sem count api 3
    contains "$output" "'3' is too much"
    run -64 "$HOLDFAST" sem set -w 5s api 3
    contains "$output" "'set' does not wait"
    run -64 "$HOLDFAST" sem acquire --ttl 5s api
    contains "$output" "'acquire' takes no --ttl"
    run -64 "$HOLDFAST" sem set --json api 3
    contains "$output" "'set' prints nothing"
    run -64 "$HOLDFAST" latch wait api 3
    run -64 "$HOLDFAST" latch count-down
    run -64 "$HOLDFAST" latch open gate
}

@test "sem and latch: a store that cannot be reached gives 69" {
    export HOLDFAST_STORE=redis://127.0.0.1:1
    run -69 "$HOLDFAST" sem count api
    run -69 "$HOLDFAST" sem acquire -n api
    run -69 "$HOLDFAST" latch wait -n gate
}

# ---- latch ---------------------------------------------------------------

@test "latch: it opens when it was counted down" {
    on_store
    run -0 "$HOLDFAST" latch wait -n gate
    run -0 "$HOLDFAST" latch set gate 2
    run -75 "$HOLDFAST" latch set gate 3
    contains "$output" "'gate' is set already"
    run -75 "$HOLDFAST" latch wait -n gate
    contains "$output" "2 to count down"
    start "$HOLDFAST" latch wait --verbose gate
    await says "waiting for 'gate', closed, 2 to count down"
    run -0 "$HOLDFAST" latch count-down gate
    is_running "$PID"
    [ "$("$HOLDFAST" latch count gate)" = 1 ]
    [ "$(field "$("$HOLDFAST" latch count --json gate)" count)" = 1 ]
    run -0 "$HOLDFAST" latch count-down gate
    ended "$PID"
    [ "$status" -eq 0 ]
    [ "$("$HOLDFAST" latch count gate)" = 0 ]
    run -0 "$HOLDFAST" latch wait gate
}

@test "latch: the time allowed runs out with 75, -E changes it" {
    on_store
    "$HOLDFAST" latch set gate 1
    run -75 "$HOLDFAST" latch wait -w 50ms gate
    run -9 "$HOLDFAST" latch wait -w 50ms -E 9 gate
}

@test "sem and latch: on a terminal one line shows the number" {
    on_store
    "$HOLDFAST" latch set gate 2
    run -75 python3 "$SUPPORT/terminal.py" "$HOLDFAST" latch wait -w 600ms gate
    contains "$output" "for 'gate', closed, 2 to count down"
    "$HOLDFAST" sem set api 1
    run -75 python3 "$SUPPORT/terminal.py" "$HOLDFAST" sem acquire -w 600ms \
        api 2
    contains "$output" "for 'api', 1 permit free"
}

@test "latch: a signal ends the wait" {
    on_store
    "$HOLDFAST" latch set gate 1
    start "$HOLDFAST" latch wait --verbose gate
    await says "waiting for 'gate'"
    kill -INT "$PID"
    ended "$PID"
    [ "$status" -eq 130 ]
}

@test "latch: deleting it lets everyone through" {
    on_store
    "$HOLDFAST" latch set gate 5
    start "$HOLDFAST" latch wait --verbose gate
    await says "waiting for 'gate'"
    run -0 "$HOLDFAST" latch delete gate
    ended "$PID"
    [ "$status" -eq 0 ]
    run -1 "$HOLDFAST" latch delete gate
    contains "$output" "there is no latch 'gate'"
}
