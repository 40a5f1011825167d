# SPDX-License-Identifier: MIT
#
# Configuration files: which of them wins, what may stand in them, and what is
# said of mistakes.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

# write LINE...: the user's file, closed to others.
write() {
    mkdir -p config/holdfast
    (umask 077 && printf '%s\n' "$@" >config/holdfast/config)
}

# won KEY: its value and its source.
won() {
    local json
    json=$("$HOLDFAST" doctor --json "${@:2}") || true
    echo "$(field "$json" "settings.$1.value") from $(field "$json" "settings.$1.source")"
}

@test "a file that was asked for wins over the user's, and loses to the rest" {
    write 'lease = 11s' 'why = user'
    echo 'lease = 12s' >mine.conf
    [ "$(won lease --config mine.conf)" = "12s from mine.conf:1" ]
    [ "$(won why --config mine.conf)" = "user from $DIR/config/holdfast/config:2" ]
    export HOLDFAST_CONFIG=$DIR/mine.conf
    [ "$(won lease)" = "12s from $DIR/mine.conf:1" ]
    echo 'lease = 13s' >other.conf
    [ "$(won lease --config other.conf)" = "13s from other.conf:1" ]
    HOLDFAST_LEASE=14s
    export HOLDFAST_LEASE
    [ "$(won lease)" = "14s from HOLDFAST_LEASE" ]
}

@test "a file in the folder is read only if it is asked for" {
    echo 'lease = 12s' >.holdfast.conf
    [ "$(won lease)" = "30s from built-in" ]
    [ "$(won lease --config .holdfast.conf)" = "12s from .holdfast.conf:1" ]
    run -78 "$HOLDFAST" ls --config nowhere.conf
    contains "$output" "nowhere.conf: No such file"
}

@test "a file that cannot be read is not passed over in silence" {
    unset HOLDFAST_STORE
    mkdir -p config/holdfast/config
    run -78 "$HOLDFAST" ls
    contains "$output" "cannot read the configuration $DIR/config/holdfast/config"
    run -0 "$HOLDFAST" ls --store "sqlite:$DIR/locks.db"
}

@test "parameters in lines of their own go to the store of their file" {
    on_redis
    write "hf_prefix = a:b c&d" "store = $HOLDFAST_STORE"
    server=$HOLDFAST_STORE
    unset HOLDFAST_STORE
    [ "$(won store)" = "$server?hf_prefix=a:b%20c%26d from $DIR/config/holdfast/config:2" ]
    "$HOLDFAST" sem set job 3
    [ "$("$HOLDFAST" sem count a:b\ c\&djob --store "$server")" = 3 ]
    [ "$(won store --store "$server")" = "$server from --store" ]
    redis_stop
}

@test "mistakes are told with file and line, and with what was meant" {
    file=$DIR/config/holdfast/config
    write "store = redis://127.0.0.1:1" "" "tsl_ca = /x"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:3: unknown parameter 'tsl_ca'"
    contains "$output" "did you mean 'tls_ca'?"
    write "store = redis://127.0.0.1:1" "leese = 5s"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:2: unknown key 'leese'; did you mean 'lease'?"
    write "tls_ca = /x"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:1: unknown key 'tls_ca'"
    contains "$output" "'store' must be in this file too"
    write "lease = 5s" "# no" "lease = 6s"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:3: 'lease' stands in line 1 already"
    write "lease"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:1: expected 'key = value'"
    write "store = redis://h?tls_ca=/a" "tls_ca = /b"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:2: the parameter 'tls_ca' stands twice"
    write "hf_timeout = soon" "store = redis://127.0.0.1:1"
    run -78 "$HOLDFAST" ls
    contains "$output" "$file:1: hf_timeout=soon"
}

@test "a password that everybody can read is warned about, once and unseen" {
    write "store = redis://:s3cret@127.0.0.1:1"
    unset HOLDFAST_STORE
    run -69 "$HOLDFAST" ls
    lacks "$output" "every user"
    chmod 644 config/holdfast/config
    run -69 "$HOLDFAST" ls
    contains "$output" "$DIR/config/holdfast/config: every user of this host can read the password"
    lacks "$output" s3cret
    echo "redis://:s3cret@127.0.0.1:1" >address
    run -69 "$HOLDFAST" ls --store-file address
    contains "$output" "address: every user"
    lacks "$output" s3cret
    echo "store = redis://127.0.0.1:1?password_file=/nowhere" >config/holdfast/config
    run "$HOLDFAST" ls
    lacks "$output" "every user"
}

@test "a path to a password is no password" {
    echo word >word
    run "$HOLDFAST" ls --store "redis://127.0.0.1:1?password_file=$DIR/word"
    lacks "$output" "password on the command line"
    contains "$(won store --store "redis://127.0.0.1:1?password_file=$DIR/word")" \
        "password_file=$DIR/word from --store"
}

@test "the example names every setting, and all of it can be switched on" {
    example=$BATS_TEST_DIRNAME/../../docs/holdfast.conf.example
    unset HOLDFAST_STORE
    run -0 "$HOLDFAST" ls --config "$example"
    sed 's/^#\([a-z_-]* =\)/\1/; s/locks.example:6379/127.0.0.1:1/' "$example" >all
    for key in store lease why color log escalate-to; do
        contains "$(won "$key" --config all)" " from all:"
    done
    contains "$(won store --config all)" "hf_timeout=2s"
    [ "$(grep -c '^[a-z]' all)" -eq "$(grep -c '^#[a-z]' "$example")" ]
}

@test "the log goes to stderr, a line for each entry" {
    run -0 --separate-stderr "$HOLDFAST" run job -- echo done
    [ "$output" = done ]
    [ -z "$stderr" ]
    run -0 --separate-stderr "$HOLDFAST" run --log debug job -- echo done
    [ "$output" = done ]
    contains "${stderr_lines[0]}" 'level=info msg="the store is open" store=sqlite:'
    contains "${stderr_lines[1]}" ' verb=attempt name=job '
    # shellcheck disable=SC2154
    for line in "${stderr_lines[@]}"; do
        [[ $line =~ ^time=[0-9T:.-]+Z\ level=(info|debug)\ msg=\"[a-z\ ]+\"\ store= ]]
    done
    HOLDFAST_LOG=warn run -69 "$HOLDFAST" run --store redis://:s3cret@127.0.0.1:1 job -- true
    contains "$output" 'level=warn msg="a server cannot be reached"'
    lacks "$output" level=info
    lacks "$output" s3cret
    run -64 "$HOLDFAST" run --log loud job -- true
    contains "$output" "--log: 'loud' is not none, error, warn, info or debug"
    HOLDFAST_LOG=loud run -78 "$HOLDFAST" ls
    contains "$output" HOLDFAST_LOG
}
