# SPDX-License-Identifier: MIT
#
# Exit statuses: a script can tell "busy", "the store is down" and "my job
# failed" apart.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

@test "the status of the command is passed on" {
    run -0 "$HOLDFAST" run job -- true
    run -1 "$HOLDFAST" run job -- false
    run -42 "$HOLDFAST" run job -- sh -c 'exit 42'
}

@test "a command that died by signal n gives 128+n" {
    run -143 "$HOLDFAST" run job -- sh -c 'kill -TERM $$'
    run -137 "$HOLDFAST" run job -- sh -c 'kill -KILL $$'
}

@test "a held lock gives 75 at once with -n" {
    holder job
    run -75 "$HOLDFAST" run -n job -- touch ran
    contains "$output" "'job' is held by"
    contains "$output" "holdfast show 'job'"
    [ ! -e ran ]
}

@test "a held lock gives 75 after the time allowed with -w" {
    holder job
    run -75 "$HOLDFAST" run -w 100ms job -- touch ran
    contains "$output" "not obtained in"
    [ ! -e ran ]
    run -75 "$HOLDFAST" run -w 0 job -- touch ran
}

@test "-E changes the status of a held lock and of nothing else" {
    holder job
    run -3 "$HOLDFAST" run -n -E 3 job -- true
    run -5 "$HOLDFAST" run -E 3 other -- sh -c 'exit 5'
}

@test "--skip exits with 0 in silence when the lock is held" {
    holder job
    run -0 "$HOLDFAST" run --skip job -- touch ran
    [ -z "$output" ]
    [ ! -e ran ]
    run -0 "$HOLDFAST" run --skip other -- touch ran
    [ -e ran ]
}

@test "a command that is not found gives 127, one that cannot run 126" {
    run -127 "$HOLDFAST" run job -- no-such-command-here
    contains "$output" "no-such-command-here"
    touch plain
    run -126 "$HOLDFAST" run job -- ./plain
    run -126 "$HOLDFAST" run job -- "$DIR"
    is_free job
}

@test "a store that cannot be reached gives 69" {
    run -69 "$HOLDFAST" run --store "redis://127.0.0.1:1" job -- touch ran
    contains "$output" "127.0.0.1:1"
    [ ! -e ran ]
}

@test "a store that refuses the password gives 77" {
    redis_start --requirepass right
    printf 'redis://:m1staken@127.0.0.1:%s\n' "$REDIS_PORT" >uri
    run -77 "$HOLDFAST" run --store-file uri job -- touch ran
    lacks "$output" m1staken
    [ ! -e ran ]
    printf 'redis://:right@127.0.0.1:%s\n' "$REDIS_PORT" >uri
    run -0 "$HOLDFAST" run --store-file uri job -- true
    redis_stop
}

@test "a store's address that cannot be used gives 78" {
    run -78 "$HOLDFAST" run --store "nonsense://host" job -- true
    run -78 "$HOLDFAST" run --store "redis://a,b" job -- true
    run -78 "$HOLDFAST" run --store "sqlite:$DIR/x.db?bogus=1" job -- true
    run -78 "$HOLDFAST" run --store-file missing job -- true
}

@test "bad usage gives 64" {
    run -64 "$HOLDFAST"
    run -64 "$HOLDFAST" run
    run -64 "$HOLDFAST" run job
    run -64 "$HOLDFAST" run --no-such-option job -- true
    run -64 "$HOLDFAST" run -F job -- true
    contains "$output" "renewed"
    run -64 "$HOLDFAST" run -c 'true' job extra
    run -64 "$HOLDFAST" run --json-status 77 job -- true
}

@test "a name that is empty, too long or binary gives 64" {
    run -64 "$HOLDFAST" run "" -- true
    run -0 "$HOLDFAST" run "$(printf '%0255d' 0)" -- true
    run -64 "$HOLDFAST" run "$(printf '%0256d' 0)" -- true
    run -64 "$HOLDFAST" run $'a\nb' -- true
    run -64 "$HOLDFAST" run $'a\033[31mb' -- true
    lacks "$output" $'\033'
}

@test "--json-status tells the true outcome" {
    "$HOLDFAST" run --json-status 5 job -- sh -c 'exit 75' 5>status ||
        [ $? -eq 75 ]
    line=$(cat status)
    [ "$(field "$line" outcome)" = exited ]
    [ "$(field "$line" command_exit)" = 75 ]
    [ "$(field "$line" lock)" = job ]
    [ "$(field "$line" token)" -gt 0 ]

    "$HOLDFAST" run --json-status 5 job -- sh -c 'kill -9 $$' 5>status ||
        [ $? -eq 137 ]
    line=$(cat status)
    [ "$(field "$line" outcome)" = killed ]
    [ "$(field "$line" command_signal)" = KILL ]

    holder job
    "$HOLDFAST" run -n --json-status 5 job -- true 5>status || [ $? -eq 75 ]
    line=$(cat status)
    [ "$(field "$line" outcome)" = busy ]
    [ "$(field "$line" command_exit)" = null ]
    [ "$(field "$line" held)" = null ]
}

@test "the descriptor of --json-status is not handed to the command" {
    run -0 "$HOLDFAST" run --json-status 5 job -- \
        sh -c '[ ! -e /proc/self/fd/5 ]' 5>status
}
