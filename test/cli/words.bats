# SPDX-License-Identifier: MIT
#
# Words: help, suggestions, durations, settings, secrets.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

commands() {
    "$HOLDFAST" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'
}

@test "every command has --help, help and --version" {
    [ "$(commands | wc -l)" -gt 14 ]
    for name in $(commands); do
        run -0 "$HOLDFAST" "$name" --help
        contains "${lines[0]}" "Usage: holdfast $name"
        help=$output
        run -0 "$HOLDFAST" help "$name"
        [ "$output" = "$help" ]
        run -0 "$HOLDFAST" "$name" --version
        [[ $output == holdfast\ [0-9]* ]]
    done
    run -0 "$HOLDFAST" --help
    run -0 "$HOLDFAST" --version
}

@test "unknown commands and options are refused with the nearest name" {
    run -64 "$HOLDFAST" rnu
    contains "$output" "did you mean 'run'"
    run -64 "$HOLDFAST" help shwo
    contains "$output" "did you mean 'show'"
    run -64 "$HOLDFAST" xyzzyx
    lacks "$output" "did you mean"
    run -64 "$HOLDFAST" run --wiat 5 job -- true
    contains "$output" "did you mean '--wait'"
    run -64 "$HOLDFAST" run -Z job -- true
    contains "$output" "unknown option '-Z'"
    run -64 "$HOLDFAST" run --wait
    contains "$output" "needs a value"
    run -64 "$HOLDFAST" show --json=yes job
    contains "$output" "takes no value"
}

@test "durations are read, and what is none is refused by its text" {
    for text in 1500ms 30s 5m 2h 1d 7 0.25 1.5h .5s 0; do
        run -0 "$HOLDFAST" run -w "$text" job -- true
    done
    for text in -1 -5s 5x '' s 1..5s 1e3 ' 5' 999999d 99999999999999999999 5ss
    do
        run -64 "$HOLDFAST" run -w "$text" job -- touch ran
        contains "$output" "'$text'"
    done
    run -64 "$HOLDFAST" run --lease 0 job -- true
    run -64 "$HOLDFAST" run --lease -1 job -- true
    run -64 "$HOLDFAST" run -E 256 job -- true
    run -64 "$HOLDFAST" run --lost-signal NOSUCH job -- true
    run -64 "$HOLDFAST" run --on-lost nothing job -- true
    [ ! -e ran ]
}

@test "a flag wins over the environment, that over the user's file" {
    mkdir -p config/holdfast
    echo "store = sqlite:$DIR/file.db" >config/holdfast/config
    echo "sqlite:$DIR/named.db" >named
    run -0 "$HOLDFAST" run job -- sh -c 'echo $HOLDFAST_STORE'
    [ "$output" = "sqlite:$DIR/locks.db" ]
    run -0 "$HOLDFAST" run --store "sqlite:$DIR/flag.db" job -- \
        sh -c 'echo $HOLDFAST_STORE'
    [ "$output" = "sqlite:$DIR/flag.db" ]
    run -0 "$HOLDFAST" run --store-file named job -- \
        sh -c 'echo $HOLDFAST_STORE'
    [ "$output" = "sqlite:$DIR/named.db" ]
    unset HOLDFAST_STORE
    run -0 "$HOLDFAST" run job -- sh -c 'echo $HOLDFAST_STORE'
    [ "$output" = "sqlite:$DIR/file.db" ]
}

@test "a wrong line in a file is named, with its number" {
    mkdir -p config/holdfast
    printf '\nleese = 5s\n' >config/holdfast/config
    run -78 "$HOLDFAST" run job -- true
    contains "$output" "config:2"
    contains "$output" "did you mean 'lease'"
    echo 'lease = soon' >config/holdfast/config
    run -78 "$HOLDFAST" run job -- true
    contains "$output" "'soon'"
}

@test "a password on the command line is warned about and vanishes from it" {
    redis_start --requirepass s3cret
    start "$HOLDFAST" run --store "redis://:s3cret@127.0.0.1:$REDIS_PORT" \
        job -- sh -c 'env > env; echo ready > ready; exec tail -f /dev/null'
    await test -s ready
    line=$(tr '\0' ' ' <"/proc/$PID/cmdline")
    lacks "$line" s3cret
    contains "$line" 127.0.0.1
    contains "$(cat err)" "password on the command line"
    lacks "$(cat err out env)" s3cret
    for fd in /proc/[0-9]*/cmdline; do
        lacks "$(tr '\0' ' ' <"$fd" 2>/dev/null)" "run --store redis://:s3cret"
    done
    kill -TERM "$PID"
    redis_stop
}

@test "a nested run finds the password where the outer one did" {
    redis_start --requirepass s3cret
    mkdir -p config/holdfast
    (umask 077 && echo "store = redis://:s3cret@127.0.0.1:$REDIS_PORT" \
        >config/holdfast/config)
    unset HOLDFAST_STORE
    run -0 "$HOLDFAST" run a -- "$HOLDFAST" run b -- sh -c 'echo "$HOLDFAST_HELD"'
    [ "$output" = a:b ]
    lacks "$("$HOLDFAST" doctor; "$HOLDFAST" doctor --json)" s3cret
    rm config/holdfast/config
    run -78 env HOLDFAST_STORE="redis://:***@127.0.0.1:$REDIS_PORT" \
        "$HOLDFAST" run b -- true
    contains "$output" "took its password out"
    redis_stop
}

@test "colours follow --color and NO_COLOR" {
    run -0 "$HOLDFAST" show job
    lacks "$output" $'\033'
    run -0 "$HOLDFAST" show --color always job
    contains "$output" $'\033'
    CLICOLOR_FORCE=1 run -0 "$HOLDFAST" show job
    contains "$output" $'\033'
    NO_COLOR=1 CLICOLOR_FORCE=1 run -0 "$HOLDFAST" show job
    lacks "$output" $'\033'
    run -64 "$HOLDFAST" show --color pink job
}

@test "the demonstrations show what they promise and clean up" {
    mkdir tmp
    export TMPDIR=$DIR/tmp
    run -0 "$HOLDFAST" demo
    contains "$output" "sold 100 of 100, 0 left on the shelf: oversold 0"
    contains "$output" "stale write was refused"
    [ -z "$(ls tmp)" ]
    [ ! -e locks.db ]
    run -0 "$HOLDFAST" demo pause
    lacks "$output" "flash sale"
    run -64 "$HOLDFAST" demo nothing
}
