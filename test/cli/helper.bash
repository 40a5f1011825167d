# SPDX-License-Identifier: MIT
#
# helper.bash - what the tests of the command share: a store for each test,
# commands in the background, and waiting for what shall happen.
# shellcheck shell=bash disable=SC2034

bats_require_minimum_version 1.5.0

HOLDFAST=${HOLDFAST:-holdfast}
SUPPORT=$BATS_TEST_DIRNAME/../support
DEADLINE=20 # seconds; only what hangs ever takes so long
PAUSE=0.02  # between two looks

setup() {
    DIR=
    command -v "$HOLDFAST" >/dev/null || {
        echo "HOLDFAST=$HOLDFAST is no command" >&2
        return 1
    }
    DIR=$(mktemp -d "${HF_TEST_DIR:-${TMPDIR:-/tmp}}/cli-XXXXXX")
    cd "$DIR" || return
    export HOME=$DIR XDG_CONFIG_HOME=$DIR/config XDG_STATE_HOME=$DIR/state
    export HOLDFAST_STORE=sqlite:$DIR/locks.db
    unset HOLDFAST_ESCALATE_TO HOLDFAST_LEASE HOLDFAST_WHY HOLDFAST_HELD HOLDFAST_HELD_IN
    unset HOLDFAST_CONFIG HOLDFAST_COLOR HOLDFAST_LOG
    unset NOTIFY_SOCKET WATCHDOG_USEC NO_COLOR CLICOLOR_FORCE HOLDFAST_HOST
    STARTED=()
}

teardown() {
    local pid
    [ -n "$DIR" ] || return 0
    for pid in "${STARTED[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    cd /
    rm -rf "$DIR"
}

# start COMMAND...: in the background, its pid in $PID, its output in out and
# err.  env gives back the signals that bash makes background commands ignore.
start() {
    env --default-signal=INT,QUIT,HUP,TERM "$@" >>"$DIR/out" 2>>"$DIR/err" \
        3>&- 4>&- </dev/null &
    PID=$!
    STARTED+=("$PID")
}

# ended PID: its exit status in $status.
ended() {
    status=0
    wait "$1" || status=$?
}

# await CONDITION...: until the command succeeds.
await() {
    local by=$((SECONDS + DEADLINE))
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < by)) || {
            echo "waited ${DEADLINE}s in vain for: $*" >&2
            return 1
        }
        sleep "$PAUSE"
    done
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}

is_running() {
    kill -0 "$1" 2>/dev/null
}

# The process is gone, or dead and not yet buried: pid 1 may be slow.
is_dead() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
    stat=${stat##*) }
    [[ ${stat%% *} == [ZX] ]]
}

is_held() {
    "$HOLDFAST" show --json "$1" | grep -q '"state":"held"'
}

is_free() {
    "$HOLDFAST" show --json "$1" | grep -q '"state":"free"'
}

has_waiter() {
    "$HOLDFAST" show --json "$1" | grep -q '"waiters":\[{'
}

# is_known NAME TEXT: show says it.  The record that says who a client is comes
# a moment after the lock.
is_known() {
    "$HOLDFAST" show "$1" | grep -q "$2"
}

# has_holders NAME N: so many hold it together.
has_holders() {
    "$HOLDFAST" ls -n -o NAME,HOLDERS | grep -Eq "^$1 +$2\$"
}

# has_waiters NAME N: so many stand in its line, as far as the store knows.
has_waiters() {
    "$HOLDFAST" ls -n -o NAME,WAITERS | grep -Eq "^$1 +$2\$"
}

# says TEXT: a command in the background has said so on stderr.
says() {
    grep -q -- "$1" "$DIR/err"
}

# on_redis OPTION...: on a server of its own instead of the embedded store.
# shellcheck disable=SC2120
on_redis() {
    redis_start "$@"
    export HOLDFAST_STORE=redis://127.0.0.1:$REDIS_PORT
}

# on_store: on the one that HF_TEST_STORE names: redis, or the embedded one.
on_store() {
    if [ "${HF_TEST_STORE:-sqlite}" = redis ]; then
        on_redis
    fi
}

# if_simple: --simple, where the store has it.
if_simple() {
    if [ "${HF_TEST_STORE:-sqlite}" = redis ]; then
        echo --simple
    fi
}

# holder NAME: a background command that holds the lock until it is killed.
holder() {
    start "$HOLDFAST" run "$@" -- tail -f /dev/null
    await is_held "${@: -1}"
}

# field JSON PATH: the member of an object, or "null".
field() {
    python3 -c '
import json, sys
value = json.loads(sys.argv[1])
for key in sys.argv[2].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(json.dumps(value) if not isinstance(value, str) else value)' "$1" "$2"
}

contains() {
    [[ $1 == *"$2"* ]] || {
        echo "expected to find: $2"
        echo "in: $1"
        return 1
    }
}

lacks() {
    [[ $1 != *"$2"* ]] || {
        echo "expected not to find: $2"
        echo "in: $1"
        return 1
    }
}
