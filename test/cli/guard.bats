# SPDX-License-Identifier: MIT
#
# A file that refuses older tokens than it has seen.
# shellcheck disable=SC2016,SC2154

load helper

# inside TOKEN [COMMAND...]: a command in the background that is inside the
# guard of `file` and says so in the file `in`.
inside() {
    local token=$1
    shift
    rm -f in
    start "$HOLDFAST" guard "$@" file --token "$token" -- \
        sh -c 'echo $$ >in; exec tail -f /dev/null'
    await test -s in
}

@test "an older token is refused and runs nothing, an equal one passes" {
    run -0 "$HOLDFAST" guard file --token 7 -- sh -c 'echo seven >file'
    run -76 "$HOLDFAST" guard file --token 6 -- sh -c 'echo six >file'
    contains "$output" "token 6 is older than 7"
    [ "$(cat file)" = seven ]
    run -0 "$HOLDFAST" guard file --token 7 -- sh -c 'echo again >>file'
    [ "$(wc -l <file)" -eq 2 ]
    run -0 "$HOLDFAST" guard file --token 8
    run -76 "$HOLDFAST" guard file --token 7 -- true
}

@test "the token comes from the run around it, and the command finds it" {
    run -0 "$HOLDFAST" run job -- sh -c \
        '"$0" guard file -- sh -c "echo \$HOLDFAST_TOKEN \$0" "$HOLDFAST_TOKEN"' \
        "$HOLDFAST"
    [ "${output% *}" = "${output#* }" ]
    [ "$(cat .file.hf-token)" = "${output% *}" ]
    HOLDFAST_TOKEN=1 run -76 "$HOLDFAST" guard file -- true
    HOLDFAST_TOKEN=1 run -0 "$HOLDFAST" guard file \
        --token 9223372036854775807 -- sh -c 'echo $HOLDFAST_TOKEN'
    [ "$output" = 9223372036854775807 ]
}

@test "the exit status is the command's, 126 and 127 as of the shell" {
    run -3 "$HOLDFAST" guard file --token 1 -- sh -c 'exit 3'
    run -143 "$HOLDFAST" guard file --token 1 -- sh -c 'kill -TERM $$'
    run -127 "$HOLDFAST" guard file --token 1 -- ./nothing
    : >data
    run -126 "$HOLDFAST" guard file --token 1 -- ./data
}

@test "what makes no sense is refused with 64" {
    unset HOLDFAST_TOKEN
    run -64 "$HOLDFAST" guard file -- true
    contains "$output" "HOLDFAST_TOKEN"
    run -64 "$HOLDFAST" guard --token 5
    for token in 0 -1 x 1x 9223372036854775808 ''; do
        run -64 "$HOLDFAST" guard file --token "$token" -- true
    done
    run -64 "$HOLDFAST" guard --stdout file --token 5
    run -64 "$HOLDFAST" guard --print oracle
    run -64 "$HOLDFAST" guard --print redis file
}

@test "a newer one stops the older one and waits until it is gone" {
    inside 1
    old=$PID command=$(cat in)
    run -0 "$HOLDFAST" guard file --token 2 -- sh -c \
        'kill -0 "$0" 2>/dev/null && echo beside; true' "$command"
    [ "$output" = "" ]
    ended "$old"
    [ "$status" -eq 76 ]
    says "a newer holder has come"
}

@test "an older one that does not obey is killed" {
    start "$HOLDFAST" guard -k 100ms file --token 1 -- sh -c '
        trap "" TERM; echo $$ >in; while :; do sleep 0.1; done'
    await test -s in
    old=$PID
    run -0 "$HOLDFAST" guard file --token 2 -- true
    is_dead "$(cat in)"
    ended "$old"
    [ "$status" -eq 76 ]
}

@test "an older one that is stopped, with its command, blocks nobody" {
    inside 1 -k 100ms
    old=$PID
    kill -STOP "$old" "$(cat in)"
    run -0 "$HOLDFAST" guard file --token 2 -- true
    is_dead "$(cat in)"
    kill -CONT "$old"
    ended "$old"
    [ "$status" -eq 76 ]
}

@test "a wrapper that is killed takes its command along" {
    inside 1
    kill -KILL "$PID"
    run -0 "$HOLDFAST" guard file --token 2 -- true
    is_dead "$(cat in)"
}

@test "without its guard the command is not left alone" {
    inside 1
    kill -KILL "$(pgrep -P "$PID" -x holdfast-guard)"
    ended "$PID"
    [ "$status" -eq 70 ]
    is_dead "$(cat in)"
}

@test "commands of one holder are inside together, also one in the other" {
    inside 5
    run -0 "$HOLDFAST" guard file --token 5 -- \
        "$HOLDFAST" guard file -- echo both
    [ "$output" = both ]
}

@test "the signals that a wrapper gets go to its command" {
    inside 1
    kill -TERM "$PID"
    ended "$PID"
    [ "$status" -eq 143 ]
    run -0 "$HOLDFAST" guard -w 0 file --token 1
}

@test "--stdout replaces the file by what a command that succeeds prints" {
    echo old >file
    chmod 640 file
    run -4 "$HOLDFAST" guard --stdout file --token 1 -- sh -c 'echo half; exit 4'
    [ "$(cat file)" = old ]
    run -0 "$HOLDFAST" guard --stdout file --token 1 -- echo new
    [ "$output" = "" ]
    [ "$(cat file)" = new ]
    [ "$(stat -c %a file)" = 640 ]
    ln -s file link
    run -0 "$HOLDFAST" guard --stdout link --token 2 -- echo linked
    [ -L link ]
    [ "$(cat file)" = linked ]
    run -76 "$HOLDFAST" guard --stdout file --token 1 -- touch ran
    [ ! -e ran ]
    [ -z "$(find . -name '*.hf-draft-*')" ]
}

@test "with --stdout a newer one waits for nobody, and the older one is refused" {
    start "$HOLDFAST" guard --stdout file --token 1 -- sh -c '
        echo one; echo $$ >in; until [ -e go ]; do sleep 0.02; done'
    await test -s in
    old=$PID
    run -0 "$HOLDFAST" guard --stdout -w 0 file --token 2 -- echo two
    : >go
    ended "$old"
    [ "$status" -eq 76 ]
    [ "$(cat file)" = two ]
}

@test "a draft waits for older ones that are inside" {
    inside 1 -k 100ms
    run -0 "$HOLDFAST" guard --stdout file --token 2 -- echo two
    is_dead "$(cat in)"
    [ "$(cat file)" = two ]
}

@test "many writers at random leave the newest token's text" {
    for token in 5 1 9 3 12 7 2 11 4 10 6 8; do
        start "$HOLDFAST" guard file --token "$token" -- sh -c '
            echo "$HOLDFAST_TOKEN" >file; echo "$HOLDFAST_TOKEN" >>log'
    done
    for pid in "${STARTED[@]}"; do
        ended "$pid"
        [ "$status" -eq 0 ] || [ "$status" -eq 76 ]
    done
    [ "$(cat file)" = 12 ]
    sort -nc log
}

@test "a stale writer is refused: the pause" {
    start "$HOLDFAST" run --lease 300ms -k 100ms --on-lost ignore job -- sh -c '
        echo in >in; until [ -e go ]; do sleep 0.02; done
        exec "$0" guard file -- sh -c "echo first >file"' "$HOLDFAST"
    await test -s in
    old=$PID
    kill -STOP "$old"
    run -0 "$HOLDFAST" run -w 20s job -- "$HOLDFAST" guard file -- \
        sh -c 'echo second >file'
    : >go
    kill -CONT "$old"
    ended "$old"
    [ "$status" -eq 76 ]
    [ "$(cat file)" = second ]
}

@test "a file where we may not write is 77" {
    [ "$(id -u)" -ne 0 ] || skip "root may write everywhere"
    mkdir closed
    chmod 500 closed
    run -77 "$HOLDFAST" guard closed/file --token 1 -- true
}

@test "--print shows the texts that are installed" {
    for system in postgresql.sql mariadb.sql sqlite.sql redis.lua; do
        "$HOLDFAST" guard --print "${system%.*}" |
            diff "$BATS_TEST_DIRNAME/../../guard/$system" -
    done
    "$HOLDFAST" guard --sql sqlite | grep -q 'CREATE TRIGGER'
}
