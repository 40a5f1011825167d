# SPDX-License-Identifier: MIT
#
# Other kinds than the plain lock: shared and exclusive, fair, permits.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

# ---- shared and exclusive ------------------------------------------------

@test "two readers hold together, and a writer stays out" {
    on_store
    holder -s job
    first=$PID
    holder --shared job
    second=$PID
    await has_holders job 2
    run -0 "$HOLDFAST" run -n -s job -- true
    run -75 "$HOLDFAST" run -n -x job -- touch ran
    contains "$output" "'job' is held by"
    contains "$output" "and 1 more"
    start "$HOLDFAST" run --verbose -x job -- touch ran
    writer=$PID
    await says "waiting for 'job'"
    kill -TERM "$first"
    ended "$first"
    [ ! -e ran ]
    kill -TERM "$second"
    ended "$writer"
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "a writer keeps readers and writers out" {
    on_store
    holder -x job
    writer=$PID
    run -75 "$HOLDFAST" run -n -s job -- touch ran
    run -75 "$HOLDFAST" run -n --exclusive job -- touch ran
    [ ! -e ran ]
    start "$HOLDFAST" run -w 20s -s job -- touch ran
    kill -TERM "$writer"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "with --writers-first readers stay behind a writer that waits" {
    on_store
    holder -s job
    reader=$PID
    start "$HOLDFAST" run -x --writers-first job -- touch ran
    await has_waiters job 1
    run -75 "$HOLDFAST" run -n -s --writers-first job -- true
    run -0 "$HOLDFAST" run -n -s job -- true
    [ ! -e ran ]
    kill -TERM "$reader"
    ended "$PID"
    [ "$status" -eq 0 ]
    run -0 "$HOLDFAST" run -w 20s -s --writers-first job -- true
}

@test "a signal ends the wait of a writer and of a reader" {
    on_store
    holder -x job
    for letter in -s -x; do
        : >err
        start "$HOLDFAST" run --verbose "$letter" job -- touch ran
        await says "waiting for 'job'"
        kill -TERM "$PID"
        ended "$PID"
        [ "$status" -eq 143 ]
        contains "$(cat err)" "nothing was run"
    done
    [ ! -e ran ]
}

@test "a reader inside a reader shares, a writer inside it fails fast" {
    on_store
    run -0 "$HOLDFAST" run -s job -- "$HOLDFAST" run -s job -- sh -c \
        'echo "$HOLDFAST_HELD"'
    [ "$output" = job:job ]
    run -75 "$HOLDFAST" run -s job -- "$HOLDFAST" run -x job -- true
    contains "$output" "would never end"
    run -75 "$HOLDFAST" run -x job -- "$HOLDFAST" run -s job -- true
    contains "$output" "would never end"
}

@test "a reader inside a reader does not wait for a writer that waits" {
    on_store
    start "$HOLDFAST" run -s --writers-first job -- sh -c '
        until [ -e go ]; do :; done
        exec "$0" run -w 20s -s --writers-first job -- touch ran' "$HOLDFAST"
    reader=$PID
    await is_held job
    start "$HOLDFAST" run -x --writers-first job -- true
    await has_waiters job 1
    touch go
    ended "$reader"
    [ "$status" -eq 0 ]
    [ -e ran ]
    ended "$PID"
    [ "$status" -eq 0 ]
}

@test "wait -s ends when only readers hold, wait when nobody does" {
    on_store
    holder -x job
    run -75 "$HOLDFAST" wait -n -s job
    kill -TERM "$PID"
    ended "$PID"
    run -0 "$HOLDFAST" wait -w 20s -s job
    holder -s job
    run -0 "$HOLDFAST" wait -n -s job
    run -75 "$HOLDFAST" wait -w 50ms job
}

# ---- fair ----------------------------------------------------------------

@test "a fair lock is given first come, first served" {
    on_store
    holder --fair job
    first=$PID
    waiters=()
    for i in 1 2 3; do
        start "$HOLDFAST" run --fair --why "waiter $i" job -- \
            sh -c "echo $i >>order"
        waiters+=("$PID")
        await has_waiters job "$i"
        await is_known job "waiter $i"
    done
    run -0 "$HOLDFAST" show job
    contains "$output" "job (fair)"
    [[ $output == *"1. "*"waiter 1"*"2. "*"waiter 2"*"3. "*"waiter 3"* ]]
    run -75 "$HOLDFAST" run -n --fair job -- true
    kill -TERM "$first"
    for pid in "${waiters[@]}"; do
        ended "$pid"
        [ "$status" -eq 0 ]
    done
    [ "$(cat order)" = $'1\n2\n3' ]
}

@test "a fair waiter that is told to leave leaves the line" {
    on_store
    holder --fair job
    start "$HOLDFAST" run --fair job -- touch ran
    await has_waiters job 1
    kill -INT "$PID"
    ended "$PID"
    [ "$status" -eq 130 ]
    await has_waiters job 0
    [ ! -e ran ]
}

# ---- permits -------------------------------------------------------------

@test "no more than --limit hold at a time" {
    on_store
    holder --limit 2 job
    first=$PID
    holder --limit 2 job
    await has_holders job 2
    run -75 "$HOLDFAST" run -n --limit 2 job -- touch ran
    contains "$output" "'job' has 0 permits free"
    [ ! -e ran ]
    start "$HOLDFAST" run --limit 2 job -- touch ran
    kill -TERM "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "--permits takes several together" {
    on_store
    holder --permits 2 --limit 3 job
    run -75 "$HOLDFAST" run -n --permits 2 job -- true
    contains "$output" "'job' has 1 permit free"
    run -0 "$HOLDFAST" run -n --permits 1 job -- true
    [ "$("$HOLDFAST" sem count job)" -eq 1 ]
    kill -TERM "$PID"
    ended "$PID"
    [ "$("$HOLDFAST" sem count job)" -eq 3 ]
}

@test "the first --limit counts, and without any there are no permits" {
    on_store
    run -0 "$HOLDFAST" run --limit 1 job -- true
    run -75 "$HOLDFAST" run -n --permits 2 --limit 5 job -- true
    run -75 "$HOLDFAST" run -n --permits 1 other -- true
    contains "$output" "'other' has no permits: nobody has set their number"
}

@test "the permit of a killed holder returns" {
    on_store
    holder --limit 1 --lease 600ms job
    run -75 "$HOLDFAST" run -n --permits 1 job -- true
    kill -KILL "$PID"
    run -0 "$HOLDFAST" run -w 20s --permits 1 job -- true
}

@test "a signal ends the wait for permits" {
    on_store
    holder --limit 1 job
    start "$HOLDFAST" run --verbose --limit 1 job -- touch ran
    await says "waiting for 'job', 0 permits free"
    kill -HUP "$PID"
    ended "$PID"
    [ "$status" -eq 129 ]
    [ ! -e ran ]
}

@test "wait --permits ends when so many are free" {
    on_store
    run -75 "$HOLDFAST" wait -n --permits 1 job
    holder --limit 2 job
    first=$PID
    run -0 "$HOLDFAST" wait -n --permits 1 job
    run -75 "$HOLDFAST" wait -w 50ms --permits 2 job
    contains "$output" "1 permit free"
    start "$HOLDFAST" wait --permits 2 job
    kill -TERM "$first"
    ended "$PID"
    [ "$status" -eq 0 ]
}

# ---- all of them ---------------------------------------------------------

@test "the command is told the name and the token of every kind" {
    on_store
    for option in -s -x --fair --limit=2 $(if_simple); do
        run -0 "$HOLDFAST" run "$option" "job$option" -- sh -c '
            [ "$HOLDFAST_LOCK" = "$0" ] && [ "$HOLDFAST_TOKEN" -gt 0 ] &&
                [ -n "$HOLDFAST_OWNER" ]' "job$option"
    done
}

@test "the command finds its owner as show has it" {
    on_store
    for option in -s -x --fair --limit=1 $(if_simple); do
        run -0 "$HOLDFAST" run "$option" "job$option" -- sh -c '
            "$0" show --json "$HOLDFAST_LOCK" |
                grep -q "\"owner\":\"$HOLDFAST_OWNER\""' "$HOLDFAST"
    done
}

@test "a lease of every kind is kept up, and a stolen one stops the command" {
    on_store
    for option in -s -x --fair --limit=1; do
        name=job$option
        start "$HOLDFAST" run --lease 600ms --json-status 5 "$option" \
            "$name" -- tail -f /dev/null 5>status
        await is_held "$name"
        owner=$(field "$("$HOLDFAST" show --json "$name")" holder.owner)
        run -75 timeout 20 "$HOLDFAST" wait -w 1200ms "$name"
        run -0 "$HOLDFAST" release "$name" --owner "$owner"
        ended "$PID"
        [ "$status" -eq 76 ]
        [ "$(field "$(cat status)" outcome)" = lost ]
    done
    [ "$(field "$(cat status)" kind)" = permit ]
}

@test "hold holds every kind" {
    on_store
    mkfifo in
    "$HOLDFAST" hold --json --permits 2 --limit 2 job <in >held 2>>err 3>&- &
    pid=$!
    STARTED+=("$pid")
    exec 7>in
    await test -s held
    [ "$(field "$(cat held)" kind)" = permit ]
    run -75 "$HOLDFAST" hold -n --permits 1 job </dev/null
    exec 7>&-
    ended "$pid"
    [ "$status" -eq 0 ]
    run -0 "$HOLDFAST" hold -n --permits 2 job </dev/null
    run -0 "$HOLDFAST" hold -n -s pages </dev/null
    run -0 "$HOLDFAST" hold -n -x pages </dev/null
    run -0 "$HOLDFAST" hold -n --fair turns </dev/null
}

@test "--at-least and --at-most work for every kind" {
    on_store
    for option in -x --fair --limit=1; do
        name=job$option
        "$HOLDFAST" run "$option" --at-least 30s "$name" -- true
        run -75 "$HOLDFAST" run -n "$option" "$name" -- true
        run -76 "$HOLDFAST" run "$option" --lease 600ms --at-most 300ms \
            "other$option" -- tail -f /dev/null
        contains "$output" "--at-most"
    done
    "$HOLDFAST" run -s --at-least 30s pages -- true
    run -75 "$HOLDFAST" run -n -x pages -- true
    run -0 "$HOLDFAST" run -n -s pages -- true
}

@test "the embedded store says which kind it has not" {
    run -78 "$HOLDFAST" run --simple job -- touch ran
    contains "$output" "locks.db has no simple lock"
    run -78 "$HOLDFAST" hold --simple job </dev/null
    [ ! -e ran ]
}

@test "options that contradict each other are refused by a sentence" {
    run -64 "$HOLDFAST" run -s -x job -- touch ran
    contains "$output" "--shared and --exclusive exclude each other"
    run -64 "$HOLDFAST" run --fair -s job -- touch ran
    contains "$output" "--shared and --fair exclude each other"
    run -64 "$HOLDFAST" run --simple --fair job -- touch ran
    contains "$output" "--fair and --simple exclude each other"
    run -64 "$HOLDFAST" run -x --limit 2 job -- touch ran
    contains "$output" "--exclusive and --limit exclude each other"
    run -64 "$HOLDFAST" hold --permits 2 --fair job </dev/null
    contains "$output" "--fair and --permits exclude each other"
    run -64 "$HOLDFAST" run --writers-first job -- touch ran
    contains "$output" "--writers-first goes with --shared or --exclusive"
    run -64 "$HOLDFAST" run --permits 3 --limit 2 job -- touch ran
    contains "$output" "--permits 3 is more than --limit 2"
    run -64 "$HOLDFAST" run --permits 0 job -- touch ran
    contains "$output" "is not a whole number from 1"
    run -64 "$HOLDFAST" run --limit x job -- touch ran
    run -64 "$HOLDFAST" wait -s --permits 2 job
    [ ! -e ran ]
}
