# SPDX-License-Identifier: MIT
#
# Looking at the store itself: doctor, and the rights it asks for.
# shellcheck disable=SC2016,SC2154

load helper
load ../support/redis

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

@test "doctor judges by the lease that is in force" {
    on_redis
    store="$HOLDFAST_STORE?lock_delay=40s"
    run "$HOLDFAST" doctor --store "$store"
    contains "$output" "ok lock delay: 40 s"
    HOLDFAST_LEASE=1m run -1 "$HOLDFAST" doctor --store "$store"
    contains "$output" "!! lock delay: 40 s: a new master may grant"
    contains "$output" "set lock_delay to 60 s"
}

@test "on Redis: doctor tells what every kind gives" {
    on_redis
    run -1 "$HOLDFAST" doctor
    contains "$output" "fair lock"
    contains "$output" "first come, first served"
    contains "$output" "topology: one server"
    contains "$output" "ok eviction: noeviction"
    contains "$output" "!! persistence: no append-only file"
    contains "$output" "guarantee: one holder at a time"
    json=$("$HOLDFAST" doctor --json) || true
    for kind in lock simple fair spin read write permit semaphore latch; do
        [ "$(field "$json" "kinds.$kind.hold")" = true ]
    done
    [ "$(field "$json" kinds.fair.order)" = true ]
    [ "$(field "$json" kinds.lock.order)" = false ]
    [ "$(field "$json" kinds.lock.replicate)" = true ]
    [ "$(field "$json" facts.0.what)" = topology ]
    [ "$(field "$json" facts.0.level)" = fact ]
}

# promise JSON KEY: the verdict.
promise() {
    python3 -c '
import json, sys
for p in json.loads(sys.argv[1])["promises"]:
    if p["promise"] == sys.argv[2]:
        print(p["verdict"])' "$1" "$2"
}

@test "doctor judges every promise of the embedded store" {
    run -0 "$HOLDFAST" doctor
    contains "$output" "GOOD one holder, also when the store crashes: "
    contains "$output" "GOOD fencing tokens only grow: grows with every grant"
    json=$("$HOLDFAST" doctor --json)
    for key in crash failover token order wake notice; do
        [ "$(promise "$json" "$key")" = good ]
    done
    [ -n "$(promise "$json" presence)" ]
    [ "$(field "$json" safe)" = true ]
}

@test "doctor: what may let two hold one lock is a warning and exit 1" {
    on_redis
    run -1 "$HOLDFAST" doctor
    contains "$output" "WARN one holder, also when the store crashes: no append-only file"
    contains "$output" "set appendonly yes"
    contains "$output" "GOOD one holder, also when another server takes over: none"
    contains "$output" "WARN a killed holder is noticed before its lease ends: "
    contains "$output" "a shorter lease (--lease) shortens that"
    run -1 --separate-stderr "$HOLDFAST" doctor --json
    [ "$(promise "$output" crash)" = warn ]
    [ "$(promise "$output" token)" = good ]
    [ "$(promise "$output" order)" = good ]
    [ "$(field "$output" safe)" = false ]
    redis_stop
}

@test "doctor: a server that keeps what it granted is safe, though not in all" {
    on_redis --appendonly yes --appendfsync always
    run -0 "$HOLDFAST" doctor
    contains "$output" "GOOD one holder, also when the store crashes: append-only file"
    contains "$output" "WARN a killed holder"
    lacks "$output" "does not say"
    redis_stop
}

# with_rule RULE: a server that knows this user alone, whose password is `word`.
with_rule() {
    local hash
    hash=$(printf word | sha256sum)
    {
        echo "user default off"
        echo "${1/SHA256_OF_THE_PASSWORD/${hash%% *}}"
    } >users.acl
    redis_start --aclfile "$DIR/users.acl"
    export HOLDFAST_STORE=redis://holdfast@127.0.0.1:$REDIS_PORT
    export REDISCLI_AUTH=word
}

@test "doctor --acl: the command works with exactly that user" {
    on_redis
    run -0 --separate-stderr "$HOLDFAST" doctor --acl --prefix orders:
    [ "${#lines[@]}" -eq 1 ]
    contains "$stderr" "begin with 'orders:'"
    contains "$stderr" "SHA-256 of the password"
    redis_stop
    with_rule "$output"
    for kind in "" --fair --simple -s -x "--limit 2"; do
        # shellcheck disable=SC2086
        run -0 "$HOLDFAST" run $kind "orders:run$kind" -- true
    done
    holder orders:held
    start "$HOLDFAST" run orders:held -- true
    run -75 "$HOLDFAST" run -n orders:held -- true
    await is_known orders:held "held by"
    contains "$("$HOLDFAST" ls -n -o NAME)" orders:held
    run -0 "$HOLDFAST" steal --yes orders:held
    ended "$PID"
    [ "$status" -eq 0 ]
    "$HOLDFAST" sem set orders:sem 2
    "$HOLDFAST" sem acquire orders:sem
    [ "$("$HOLDFAST" sem count orders:sem)" = 1 ]
    "$HOLDFAST" latch set orders:gate 1
    "$HOLDFAST" latch count-down orders:gate
    run -0 "$HOLDFAST" latch wait orders:gate
    run -1 "$HOLDFAST" doctor
    contains "$output" "ok messages"
    run -77 "$HOLDFAST" run payments:1 -- true
    run -77 "$HOLDFAST" sem set payments:2 1
}

@test "doctor --acl: without a prefix it says that all keys are open" {
    on_redis
    run -0 --separate-stderr "$HOLDFAST" doctor --acl
    contains "$output" " ~* "
    contains "$stderr" "opens all names, and so all keys"
    json=$("$HOLDFAST" doctor --acl --json --prefix a:)
    [ "$(field "$json" rules.0.servers)" = redis ]
    [[ $(field "$json" rules.0.rule) == "user holdfast reset on #SHA256_OF_"* ]]
    contains "$(field "$json" rules.0.about)" "begin with 'a:'"
}

@test "doctor --acl: what cannot be told is refused" {
    run -78 "$HOLDFAST" doctor --acl
    contains "$output" "cannot do that"
    run -64 "$HOLDFAST" doctor --prefix orders:
    contains "$output" "--acl"
    on_redis
    run -64 "$HOLDFAST" doctor --acl --sentinels
    contains "$output" "no sentinels"
    run -64 "$HOLDFAST" doctor --acl --prefix "a b"
    contains "$output" "blank"
    run -64 "$HOLDFAST" doctor --acl --prefix $'a\nb'
    run -69 "$HOLDFAST" doctor --acl --store redis://127.0.0.1:1
}
