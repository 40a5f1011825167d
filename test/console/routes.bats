# SPDX-License-Identifier: MIT
#
# What is seen through the console: every path, and what it says.

load helper

@test "openapi.json has every route, and no other" {
    serve
    ask /openapi.json
    is 200 openapi 3.0.3
    "$HOLDFAST" serve --routes | sort >"$DIR/table"
    python3 -c '
import json, sys
for path, item in json.load(sys.stdin)["paths"].items():
    for method in item:
        print(method.upper(), path)' <<<"$output" | sort >"$DIR/document"
    diff "$DIR/table" "$DIR/document"
    [ "$(wc -l <"$DIR/table")" -gt 20 ]
}

@test "every route that only looks answers, and HEAD as well" {
    serve
    holder busy
    await sees busy held
    "$HOLDFAST" serve --routes | grep '^GET ' | while read -r _ path; do
        path=${path/\{name\}/busy}
        [ "$path" != /api/v1/events ] || path=$path?after=0
        ask "$path" -H 'Accept: application/json'
        case $path in
        /leader/*) [[ $code == 200 || $code == 503 ]] ;;
        *) is 200 ;;
        esac
        ask "$path" -H 'Accept: application/json' -I
        [[ $code == 200 || $path == /leader/* ]]
        [ "$(header X-Content-Type-Options)" = nosniff ]
        [ "$(header Referrer-Policy)" = no-referrer ]
        [ "$(header Cache-Control)" = no-store ]
        contains "$(header Content-Security-Policy)" "default-src 'none'"
        contains "$(header Content-Security-Policy)" "frame-ancestors 'none'"
    done
}

@test "a lock has the members that ls -J gives it" {
    serve
    holder --why 'a "reason"' orders/7
    await sees orders%2F7 held
    is 200 name orders/7 kind lock holder.why 'a "reason"' waiters '[]'
    theirs=$("$HOLDFAST" ls -J)
    python3 - "$output" "$theirs" <<'PY'
import json, sys
ours, theirs = json.loads(sys.argv[1]), json.loads(sys.argv[2])["locks"][0]
assert set(theirs) <= set(ours), set(theirs) - set(ours)
assert set(theirs["holder"]) <= set(ours["holder"])
for key in ("owner", "token", "pid", "user", "host", "program"):
    assert ours["holder"][key] == theirs["holder"][key], key
PY
}

@test "who waits is listed, and so is what blocks" {
    serve
    holder busy
    start "$HOLDFAST" run --fair busy -- true
    waits() {
        ask /api/v1/locks/busy/waiters
        [ "$code" = 200 ] && [ "$(field "$output" waiters.0.pid)" -gt 0 ]
    }
    await waits
    ask /api/v1/blocking
    is 200 locks.0.name busy circles '[]'
    ask /api/v1/deadlocks
    is 200 circles '[]'
    ask '/api/v1/locks?state=waited'
    is 200 matched 1 waiting 1
}

@test "locks come in pages, by name, and by what is asked" {
    serve
    for name in a/1 a/2 a/3 b/1 b/2; do
        acquire "${name/\//%2F}" '{"ttl":"1h"}'
        is 200
    done
    all() {
        ask /api/v1/locks
        [ "$(field "$output" matched)" = 5 ]
    }
    await all
    ask '/api/v1/locks?limit=2'
    is 200 locks.0.name a/1 locks.1.name a/2 next a/2 matched 5
    ask '/api/v1/locks?limit=2&cursor=a%2F2'
    is 200 locks.0.name a/3 locks.1.name b/1 next b/1
    ask '/api/v1/locks?limit=2&cursor=b%2F1'
    is 200 locks.0.name b/2 next null
    # What went away in between shifts nothing.
    ask '/api/v1/locks?limit=2&cursor=a%2F2%2Fgone'
    is 200 locks.0.name a/3
    ask '/api/v1/locks?prefix=b/&limit=1000'
    is 200 matched 2 locks.0.name b/1
    ask '/api/v1/locks?q=/3'
    is 200 matched 1 locks.0.name a/3
    ask '/api/v1/locks?sort=held&limit=1'
    is 200 locks.0.name a/1 next 1
    ask '/api/v1/locks?host=nowhere'
    is 200 matched 0 next null
    ask '/api/v1/locks?state=free'
    is 200 matched 0
    for wrong in limit=0 limit=1001 limit=x state=odd sort=odd; do
        ask "/api/v1/locks?$wrong"
        is 400 code USAGE
        contains "$output" "${wrong%=*}"
    done
}

@test "names of every kind come through, encoded once" {
    serve
    while read -r encoded plain; do
        acquire "$encoded"
        is 200 name "$plain"
        token=$(field "$output" token)
        await sees "$encoded" held
        is 200 name "$plain"
        ask "/api/v1/locks/$encoded?token=$token" -X DELETE
        is 204
    done <<'NAMES'
a%2Fb%2Fc a/b/c
a:b,c;d a:b,c;d
100%25 100%
%252e%252E %2e%2E
. .
.. ..
%2e%2e ..
a+b a+b
%3Cimg%20src=x%20onerror=alert(1)%3E <img src=x onerror=alert(1)>
gr%C3%BC%C3%9Fe grüße
NAMES
}

@test "paths that are tricks are refused, and serve no file" {
    serve
    for path in /%00 /api/v1/locks/a%00b /api/v1/locks/%zz /api/v1/locks/%4 \
        //api/v1/locks /api/v1/locks/ /api//v1/locks /api/v1/locks/a/; do
        ask "$path"
        is 400 code USAGE
    done
    for path in /../../etc/passwd /%2e%2e/%2e%2e/etc/passwd /nothing \
        /api/v1 /api/v2/locks /console.css/x /console.js%2f /page/index.html \
        /api/v1/locks/a/b/acquire; do
        ask "$path"
        is 404 code USAGE
        lacks "$output" root:
    done
    for name in a%0ab %FF%FE "$(printf 'x%.0s' {1..256})"; do
        acquire "$name"
        is 400 code NAME
    done
    ask "/$(printf 'x%.0s' {1..9000})"
    [[ $code == 400 || $code == 414 ]]
    ask /healthz
    is 200
}

@test "a wrong method is refused, and the right ones named" {
    serve
    ask /api/v1/locks -X POST
    is 405 code USAGE
    [ "$(header Allow)" = GET ]
    ask /api/v1/locks/a -X PUT
    is 405
    [ "$(header Allow)" = "GET, DELETE" ]
    ask /api/v1/locks/a/acquire
    is 405
    ask /healthz -X OPTIONS
    is 405
    lacks "$(<"$DIR/headers")" Access-Control
}

@test "what nobody knows of is a problem with a name" {
    serve
    ask /api/v1/locks/nothing
    is 404 code FREE name nothing status 404
    [ "$(header Content-Type)" = application/problem+json ]
    ask /api/v1/locks/nothing/waiters
    is 404 code FREE
    ask /api/v1/locks/nothing/events
    is 200 events '[]'
}

@test "the page is a table without JavaScript, and strangers' words are text" {
    serve
    acquire '%3Cimg%20src=x%20onerror=alert(1)%3E' '{"ttl":"1h"}'
    is 200
    has_row() {
        ask / && contains "$output" '&lt;img src=x onerror=alert(1)&gt;'
    }
    await has_row
    is 200
    contains "$(header Content-Type)" text/html
    contains "$output" '<th scope="row">'
    contains "$output" '<meter '
    contains "$output" '1 held, 0 waiting'
    contains "$output" 'data-state="held"'
    lacks "$output" '<img src=x'
    lacks "$output" '<!--holdfast:'
}

@test "leader says yes where the leader is, and no everywhere else" {
    export HOLDFAST_HOST=web1
    serve
    ask /leader/boss
    is 503 leader false candidate web1 host null
    holder boss
    await sees boss held
    pid=$(field "$output" holder.pid)
    ask /leader/boss
    is 200 leader true candidate web1 host web1
    ask /leader/boss?candidate=web2
    is 503 leader false host web1
    ask "/leader/boss?candidate=web1:$pid"
    is 200
    ask "/leader/boss?candidate=web1:1"
    is 503
}

@test "the store says what it guarantees, and ready whether it answers" {
    serve
    ask /api/v1/store
    is 200 actions false up true error null store "sqlite:$DIR/locks.db"
    [ "$(field "$output" facts)" != '[]' ]
    ask /readyz
    is 200 status ok
    ask /version
    is 200 version "$("$HOLDFAST" --version | cut -d ' ' -f 2)"
    ask /api/v1/clients
    is 200 stale false
}

@test "a store that goes away is told by ready, and nobody leads" {
    on_redis
    export HOLDFAST_HOST=web1
    serve
    acquire boss '{"ttl":"1h"}'
    is 200
    leads() {
        ask /leader/boss && is 200
    }
    await leads # who the holder is comes a moment after the lock
    kill -STOP "$REDIS_PID"
    is_not_ready() {
        ask /readyz && is 503
    }
    await is_not_ready || { kill -CONT "$REDIS_PID"; false; }
    ask /leader/boss
    is 503 stale true
    ask /healthz
    is 200
    ask /metrics
    contains "$output" 'holdfast_store_seen 0'
    kill -CONT "$REDIS_PID"
    is_ready() {
        ask /readyz && is 200
    }
    await is_ready
}

@test "the numbers are such as Prometheus takes, and labels have an end" {
    command -v promtool >/dev/null || skip "promtool is not installed"
    serve
    acquire 'a%22%5C%0Bb'
    is 400
    acquire 'quote%22back%5Cslash' '{"ttl":"1h"}'
    is 200
    await sees 'quote%22back%5Cslash' held
    ask /metrics
    is 200
    contains "$output" 'holdfast_store_held{lock="quote\"back\\slash"} 1'
    contains "$output" 'holdfast_store_seen 1'
    contains "$output" 'holdfast_lock_acquisitions_total{' # its own client's
    promtool check metrics <"$DIR/answer"
    python3 - "$URL" <<'PY'
import sys, urllib.request
for i in range(205):
    urllib.request.urlopen(urllib.request.Request(
        f"{sys.argv[1]}/api/v1/locks/n{i:03}/acquire", b'{"ttl":"1h"}',
        {"X-Holdfast": "1"}))
PY
    has_other() {
        ask /metrics && contains "$output" 'holdfast_store_held{lock="other"} 6'
    }
    await has_other
    promtool check metrics <"$DIR/answer"
}
