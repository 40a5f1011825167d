# SPDX-License-Identifier: MIT
#
# Who is let in, and who is not.

load helper

secret=kk2gd8Qm0f7Yt4Zw1xVb

keys() {
    printf '# who\nann %s\nbob another-token-of-bob\n' "$secret" >"$DIR/tokens"
    chmod 600 "$DIR/tokens"
}

@test "a Host that is not ours is refused, with what to do" {
    serve --host console.example
    for host in evil.example evil.example:80 '' 127.0.0.1.evil.example \
        localhost.evil.example '[::1' 'localhost:x' ; do
        ask /api/v1/locks -H "Host: $host"
        [[ $code == 403 || $code == 400 ]]
    done
    ask /api/v1/locks -H "Host: evil.example"
    is 403 code FORBIDDEN
    contains "$output" --host
    for host in localhost localhost:9 127.0.0.1 '[::1]:80' console.example \
        CONSOLE.example:443; do
        ask /api/v1/locks -H "Host: $host"
        is 200
    done
}

@test "a page of another origin is refused, our own is not" {
    serve
    for origin in http://evil.example null "https://${URL#http://}" \
        "${URL%:*}:1"; do
        ask /api/v1/locks -H "Origin: $origin"
        is 403 code FORBIDDEN
    done
    ask /api/v1/locks -H "Origin: $URL"
    is 200
    lacks "$(<"$DIR/headers")" Access-Control
}

@test "what changes something needs the header that no form can send" {
    serve
    for how in 'POST acquire' 'POST renew' 'POST hold' 'POST steal' 'DELETE '; do
        path=/api/v1/locks/a/${how#* }
        PLAIN=1 ask "${path%/}" -X "${how% *}" -d '{}'
        is 403 code FORBIDDEN
        contains "$output" 'X-Holdfast: 1'
    done
    ask /api/v1/locks/a
    is 404
}

@test "a token is asked for where one is wanted, and only there" {
    keys
    serve --token-file "$DIR/tokens"
    for path in /api/v1/locks /api/v1/events /metrics /api/v1/store /leader/a; do
        ask $path
        is 401 code AUTH
        [ "$(header WWW-Authenticate)" = Bearer ]
        for wrong in x "${secret}x" "${secret%?}" "$(printf 'x%.0s' {1..300})" ''; do
            ask $path -H "Authorization: Bearer $wrong"
            is 401
        done
    done
    ask /api/v1/locks/a/acquire -X POST
    is 401
    for path in /healthz /readyz /version /openapi.json /console.css; do
        ask $path
        is 200
    done
    ask /api/v1/locks -H "Authorization: Bearer $secret"
    is 200
    ask /api/v1/store -H "Authorization: Bearer another-token-of-bob"
    is 200 operator bob
    lacks "$(<"$DIR/err")" "$secret"
}

@test "a browser logs in by a form and has a cookie that scripts cannot read" {
    keys
    HOLDFAST_CONSOLE_TOKEN_FILE=$DIR/tokens serve
    ask /
    is 401
    contains "$output" '<form method="post" action="/login">'
    PLAIN=1 ask /login -X POST -d 'token=wrong'
    is 401
    contains "$output" 'not a token'
    PLAIN=1 ask /login -X POST -H 'Origin: http://evil.example' \
        -d "token=$secret"
    is 403
    PLAIN=1 ask /login -X POST -d "token=$secret"
    is 303
    [ "$(header Location)" = / ]
    cookie=$(header Set-Cookie)
    contains "$cookie" HttpOnly
    contains "$cookie" SameSite=Strict
    lacks "$cookie" "$secret"
    cookie=${cookie%%;*}
    ask / -H "Cookie: a=b; $cookie; c=d"
    is 200
    ask /api/v1/store -H "Cookie: $cookie"
    is 200 operator ann
    # The cookie alone changes nothing.
    PLAIN=1 ask /api/v1/locks/a/acquire -X POST -H "Cookie: $cookie"
    is 403
    ask / -H "Cookie: ${cookie%?}"
    is 401
    PLAIN=1 ask /logout -X POST -H "Cookie: $cookie"
    is 303
    ask / -H "Cookie: $cookie"
    is 401
}

@test "a file of tokens that does not keep them is refused" {
    refused() {
        run -78 "$HOLDFAST" serve --listen 127.0.0.1:0 --token-file "$DIR/tokens"
        contains "$output" "$1"
    }
    refused 'No such file'
    echo "ann $secret" >"$DIR/tokens"
    chmod 644 "$DIR/tokens"
    refused 'chmod'
    chmod 600 "$DIR/tokens"
    echo "ann short" >"$DIR/tokens"
    refused ':1: expected'
    lacks "$output" short
    echo "# nobody" >"$DIR/tokens"
    refused 'no token in it'
}

@test "a public address is refused without token or TLS" {
    for where in 0.0.0.0:0 '[::]:0'; do
        run -78 "$HOLDFAST" serve --listen "$where"
        contains "$output" --token-file
        contains "$output" --tls-cert
    done
    keys
    : >"$DIR/err"
    start "$HOLDFAST" serve --listen 0.0.0.0:0 --token-file "$DIR/tokens"
    await says 'serving '
    says 'consider --tls-cert'
}

@test "an address that makes no sense is refused" {
    for where in nonsense 127.0.0.1 127.0.0.1: :80 127.0.0.1:x ::1:80 unix:; do
        run -64 "$HOLDFAST" serve --listen "$where"
    done
    run -64 "$HOLDFAST" serve --tls-cert "$DIR/cert"
    run -64 "$HOLDFAST" serve operand
    run -64 "$HOLDFAST" serve --lissten x
    contains "$output" --listen
}

@test "HTTPS is served with a certificate" {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout "$DIR/key" -out "$DIR/cert" -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    serve --tls-cert "$DIR/cert" --tls-key "$DIR/key"
    contains "$URL" https://
    ask /healthz --cacert "$DIR/cert"
    is 200
    ask /api/v1/locks --cacert "$DIR/cert" -H "Origin: http://${URL#https://}"
    is 403
    ask /api/v1/locks --cacert "$DIR/cert" -H "Origin: $URL"
    is 200
    stop
    run -78 "$HOLDFAST" serve --listen 127.0.0.1:0 --tls-cert "$DIR/key" \
        --tls-key "$DIR/cert"
    contains "$output" --tls-cert
}

@test "a Unix socket is for its owner, and a stale one is replaced" {
    socket=$DIR/s
    local_serve() {
        : >"$DIR/err"
        start "$HOLDFAST" serve --listen "unix:$socket"
        await says "unix:$socket"
    }
    local_serve
    first=$PID
    [ "$(stat -c %a "$socket")" = 600 ]
    URL=http://any.name
    ask /api/v1/store --unix-socket "$socket"
    is 200 operator "$(id -un)"
    run -69 "$HOLDFAST" serve --listen "unix:$socket"
    contains "$output" 'in use'
    ask /healthz --unix-socket "$socket"
    is 200
    kill -KILL "$first"
    ended "$first"
    [ -S "$socket" ]
    local_serve
    ask /healthz --unix-socket "$socket"
    is 200
    kill -TERM "$PID"
    ended "$PID"
    [ ! -e "$socket" ]
    echo precious >"$socket"
    run -69 "$HOLDFAST" serve --listen "unix:$socket"
    [ "$(<"$socket")" = precious ]
}

@test "a body that is too long is refused, and the next one is not" {
    serve
    head -c 65537 /dev/zero | tr '\0' ' ' >"$DIR/long"
    ask /api/v1/locks/a/acquire -X POST --data-binary "@$DIR/long"
    is 413 code USAGE
    ask /api/v1/locks/a/acquire -X POST -H 'Transfer-Encoding: chunked' \
        --data-binary "@$DIR/long"
    is 413
    head -c 3000000 /dev/zero >"$DIR/longer"
    ask /api/v1/locks/a/acquire -X POST --data-binary "@$DIR/longer"
    is 413
    head -c 65000 "$DIR/long" >"$DIR/fits"
    echo '{"ttl":1}' >>"$DIR/fits"
    ask /api/v1/locks/a/acquire -X POST --data-binary "@$DIR/fits"
    is 200
    ask /healthz -H "X: $(printf 'x%.0s' {1..40000})"
    [[ $code == 431 || $code == 413 || $code == 400 ]]
}

@test "a body that is not what it should be is refused with the place" {
    serve
    while read -r body; do
        acquire a "$body"
        is 400 code USAGE
        [ -n "$(field "$output" detail)" ]
    done <<'BODIES'
{
[]
"text"
{"wait":}
{"wait":-1}
{"wait":"soon"}
{"wait":1e9}
{"wait":true}
{"ttl":0.5}
{"ttl":[]}
{"ttl":1,"ttl":2}
{"mode":"latch"}
{"mode":"odd"}
{"mode":7}
{"permits":0,"mode":"permit"}
{"permits":2}
{"tll":1}
{"mode":"lo\u0000ck"}
BODIES
    acquire a '{"tll":1}'
    contains "$output" tll
    printf '{"a":"\xff"}' >"$DIR/bytes"
    ask /api/v1/locks/a/acquire -X POST --data-binary "@$DIR/bytes"
    is 400
    python3 -c 'print("[" * 60000)' >"$DIR/deep"
    ask /api/v1/locks/a/acquire -X POST --data-binary "@$DIR/deep"
    is 400
}

@test "secrets stand in no list of processes, no answer and no log" {
    on_redis
    keys
    redis-cli -p "$REDIS_PORT" config set requirepass hush-hush >/dev/null
    echo "redis://:hush-hush@127.0.0.1:$REDIS_PORT" >"$DIR/store"
    unset HOLDFAST_STORE
    serve --store-file "$DIR/store" --token-file "$DIR/tokens" --allow-actions
    for path in / /api/v1/locks /api/v1/store /metrics; do
        ask $path -H "Authorization: Bearer $secret"
        is 200
        lacks "$output" hush-hush
        lacks "$output" "$secret"
    done
    cmdline=$(tr '\0' ' ' <"/proc/$SERVER/cmdline")
    contains "$cmdline" serve
    lacks "$cmdline" hush-hush
    lacks "$cmdline" "$secret"
    lacks "$(<"$DIR/err")" hush-hush
    lacks "$(<"$DIR/err")" "$secret"
    stop
    serve --store "redis://:hush-hush@127.0.0.1:$REDIS_PORT"
    lacks "$(tr '\0' ' ' <"/proc/$SERVER/cmdline")" hush-hush
    says 'can be read by every user'
}

@test "without the program serve says what is missing" {
    mkdir "$DIR/bin"
    cp "$(command -v "$HOLDFAST")" "$DIR/bin/holdfast"
    lib=$(dirname "$(realpath "$(command -v "$HOLDFAST")")")/lib
    LD_LIBRARY_PATH=$lib PATH=/usr/bin:/bin run -127 "$DIR/bin/holdfast" serve
    contains "$output" libmicrohttpd-dev
}
