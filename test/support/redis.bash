# SPDX-License-Identifier: MIT
#
# redis.bash - a redis-server of one's own for a test of the command.
# shellcheck shell=bash

# redis_start OPTION...: on a free port of 127.0.0.1, which is in REDIS_PORT.
# Ports below the range from which the kernel takes them by itself.
redis_start() {
    local try
    for try in 1 2 3 4 5 6 7 8; do
        REDIS_PORT=$((12000 + (RANDOM + try) % 20000))
        redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' \
            --appendonly no --dir "$DIR" "$@" >"$DIR/redis.log" 2>&1 3>&- &
        REDIS_PID=$!
        STARTED+=("$REDIS_PID")
        await redis_decided
        if kill -0 "$REDIS_PID" 2>/dev/null; then
            return 0
        fi
    done
    cat "$DIR/redis.log" >&2
    return 1
}

# It serves, or it has ended because the port was taken.
redis_decided() {
    grep -q 'Ready to accept' "$DIR/redis.log" ||
        ! kill -0 "$REDIS_PID" 2>/dev/null
}

redis_stop() {
    kill -KILL "$REDIS_PID"
    wait "$REDIS_PID" 2>/dev/null || true
}
