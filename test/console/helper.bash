# SPDX-License-Identifier: MIT
#
# helper.bash - what the tests of the console share: a server of one's own, and
# questions to it.
# shellcheck shell=bash disable=SC2034,SC2154

load ../cli/helper
load ../support/redis

# serve OPTION...: a server on a port of its own; its address in $URL, its pid
# in $SERVER.
serve() {
    : >"$DIR/err"
    start "$HOLDFAST" serve --listen 127.0.0.1:0 "$@"
    SERVER=$PID
    await says 'serving '
    URL=$(sed -n 's|.* on \(https\{0,1\}://[^ ]*\)/$|\1|p' "$DIR/err" | tail -n 1)
    [ -n "$URL" ]
}

# stop: it ends, and as it should.
stop() {
    kill -TERM "$SERVER"
    ended "$SERVER"
    [ "$status" = 0 ]
}

# ask PATH [CURL OPTION...]: the status in $code, the answer in $output.  The
# header that changes need is sent, unless PLAIN says otherwise.
ask() {
    local path=$1
    shift
    [ -n "${PLAIN-}" ] || set -- -H 'X-Holdfast: 1' "$@"
    code=$(curl -sS --path-as-is --max-time 60 -o "$DIR/answer" -D "$DIR/headers" \
        -w '%{http_code}' "$@" "$URL$path")
    output=$(<"$DIR/answer")
}

# is CODE [PATH VALUE]...: the last answer had this status, and these members.
is() {
    [ "$code" = "$1" ] || {
        echo "expected status $1, got $code: $output"
        return 1
    }
    shift
    while [ $# -gt 0 ]; do
        [ "$(field "$output" "$1")" = "$2" ] || {
            echo "expected $1 to be $2 in: $output"
            return 1
        }
        shift 2
    done
}

acquire() { # NAME [BODY]
    ask "/api/v1/locks/$1/acquire" -X POST -d "${2-}"
}

# sees NAME STATE: the server's picture has it so.
sees() {
    ask "/api/v1/locks/$1"
    [ "$code" = 200 ] && [ "$(field "$output" state)" = "$2" ]
}

# misses NAME: nothing is known of it, or that it is free.
misses() {
    ask "/api/v1/locks/$1"
    [ "$code" = 404 ] || [ "$(field "$output" state)" = free ]
}

# header NAME: of the last answer.
header() {
    sed -n "s/^$1: \(.*\)\r$/\1/Ip" "$DIR/headers"
}
