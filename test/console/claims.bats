# SPDX-License-Identifier: MIT
#
# Locks that programs take over HTTP: for a time, or as long as they listen.

load helper

@test "a lock is taken, renewed and released, with a fence that grows" {
    serve
    acquire a '{"ttl":"1h"}'
    is 200 name a ttl 3600.0
    first=$(field "$output" fence) token=$(field "$output" token)
    [[ $(field "$output" expires) =~ ^20..-..-..T..:..:.. ]]
    is_held a
    acquire a
    is 409 code BUSY
    ask /api/v1/locks/a/renew -X POST -d "{\"token\":\"$token\",\"ttl\":7200}"
    is 200 token "$token" fence "$first" ttl 7200.0
    ask "/api/v1/locks/a?token=$token" -X DELETE
    is 204
    is_free a
    acquire a '{"ttl":"1h"}'
    is 200
    [ "$(field "$output" fence)" -gt "$first" ]
}

@test "a token is good for its own lock, and once" {
    serve
    acquire a
    token=$(field "$output" token)
    acquire b
    for wrong in 'b?token='"$token" 'a?token=00000000000000000000000000000000' \
        'a?token=x'; do
        ask "/api/v1/locks/$wrong" -X DELETE
        is 403 code NOT_OWNER
    done
    ask /api/v1/locks/a -X DELETE
    is 400 code USAGE
    ask "/api/v1/locks/a?token=$token" -X DELETE
    is 204
    ask "/api/v1/locks/a?token=$token" -X DELETE
    is 403 code NOT_OWNER
}

@test "without a renewal its time ends, and the client hears that it is lost" {
    serve
    acquire a '{"ttl":1}'
    is 200
    token=$(field "$output" token)
    await is_free a
    ask /api/v1/locks/a/renew -X POST -d "{\"token\":\"$token\"}"
    is 410 code LOST
    await misses a
    acquire a '{"ttl":"1h"}'
    is 200
    ask "/api/v1/locks/a?token=$token" -X DELETE
    is 410 code LOST
    is_held a
}

@test "a wait ends by a grant, or by its time" {
    serve
    acquire a '{"ttl":"1h"}'
    token=$(field "$output" token)
    acquire a '{"wait":"200ms"}'
    is 409 code TIMEOUT
    curl -sS -H 'X-Holdfast: 1' -d '{"wait":60,"ttl":"1h"}' \
        "$URL/api/v1/locks/a/acquire" >"$DIR/second" &
    STARTED+=($!)
    second=$!
    await has_waiter a
    ask /healthz # others are served meanwhile
    is 200
    ask "/api/v1/locks/a?token=$token" -X DELETE
    is 204
    ended "$second"
    [ "$status" = 0 ]
    [ "$(field "$(<"$DIR/second")" name)" = a ]
    is_held a
}

@test "kinds: readers together, a writer alone, permits by number" {
    serve
    acquire r '{"mode":"read","ttl":60}'
    is 200
    acquire r '{"mode":"read","ttl":60}'
    is 200
    acquire r '{"mode":"write","ttl":60}'
    is 409 code BUSY
    "$HOLDFAST" sem set s 3
    acquire s '{"mode":"permit","permits":2,"ttl":60}'
    is 200
    acquire s '{"mode":"permit","permits":2,"ttl":60}'
    is 409
    acquire s '{"mode":"permit","ttl":60}'
    is 200
}

@test "who hangs up while waiting waits no more" {
    serve
    holder a
    curl -sS --max-time 60 -H 'X-Holdfast: 1' -d '{"wait":60}' \
        "$URL/api/v1/locks/a/acquire" &
    client=$!
    STARTED+=("$client")
    await has_waiter a
    kill -KILL "$client"
    ended "$client"
    nobody_waits() {
        "$HOLDFAST" show --json a | grep -q '"waiters":\[\]'
    }
    await nobody_waits
}

@test "hold keeps it as long as the connection lives" {
    serve
    curl -sSN -H 'X-Holdfast: 1' -d '{"ttl":3}' "$URL/api/v1/locks/h/hold" \
        >"$DIR/stream" &
    client=$!
    STARTED+=("$client")
    await grep -q '"event":"held"' "$DIR/stream"
    is_held h
    fence=$(field "$(head -n 1 "$DIR/stream")" fence)
    # Longer than its lease: it is kept alive, and says so.
    lines() {
        [ "$(wc -l <"$DIR/stream")" -ge 4 ]
    }
    await lines
    is_held h
    [ "$(field "$(tail -n 1 "$DIR/stream")" fence)" = "$fence" ]
    acquire h
    is 409
    kill -KILL "$client"
    ended "$client"
    await is_free h
}

@test "hold waits for its turn, and says when there is none" {
    serve
    holder a
    other=$PID
    ask /api/v1/locks/a/hold -X POST -d '{}'
    is 409 code BUSY
    ask /api/v1/locks/a/hold -X POST -d '{"wait":"100ms"}'
    is 409 code TIMEOUT
    curl -sSN -H 'X-Holdfast: 1' -d '{"wait":60}' "$URL/api/v1/locks/a/hold" \
        >"$DIR/stream" &
    STARTED+=($!)
    await has_waiter a
    kill -TERM "$other"
    await grep -q '"event":"held"' "$DIR/stream"
}

@test "loss is told on the stream of a hold, and ends it" {
    serve
    curl -sSN -H 'X-Holdfast: 1' -d '{"ttl":3}' "$URL/api/v1/locks/h/hold" \
        >"$DIR/stream" &
    client=$!
    STARTED+=("$client")
    await grep -q '"event":"held"' "$DIR/stream"
    "$HOLDFAST" steal --yes h
    ended "$client"
    [ "$status" = 0 ]
    [ "$(field "$(tail -n 1 "$DIR/stream")" event)" = lost ]
}

@test "TERM ends it, releases what clients hold, and answers who waits" {
    serve
    holder other
    acquire a '{"ttl":"1h"}'
    is 200
    curl -sSN -H 'X-Holdfast: 1' -d '{"ttl":60}' "$URL/api/v1/locks/h/hold" \
        >"$DIR/stream" &
    STARTED+=($!)
    await grep -q '"event":"held"' "$DIR/stream"
    curl -sS -H 'X-Holdfast: 1' -d '{"wait":600}' \
        "$URL/api/v1/locks/other/acquire" >"$DIR/waits" &
    waits=$!
    STARTED+=("$waits")
    await has_waiter other
    curl -sSN "$URL/api/v1/events" >/dev/null &
    STARTED+=($!)
    stop
    is_free a
    is_free h
    ended "$waits"
    [ "$(field "$(<"$DIR/waits")" code)" = CANCELLED ]
}

@test "more waits than there are threads are told to come again" {
    serve
    holder a
    python3 - "$URL" <<'PY'
import socket, sys, urllib.request, urllib.error, time
host, port = sys.argv[1][len("http://"):].split(":")
body = b'{"wait":600}'
head = (b"POST /api/v1/locks/a/acquire HTTP/1.1\r\nHost: localhost\r\n"
        b"X-Holdfast: 1\r\nContent-Length: %d\r\n\r\n" % len(body))
def one():
    s = socket.create_connection((host, int(port)))
    s.sendall(head + body)
    return s
waits = [one() for _ in range(64)]
def refused():
    s = one()
    s.settimeout(0.3)
    try:
        answer = s.recv(4096)
    except socket.timeout:
        waits.append(s)   # somebody before it has not come yet
        return False
    assert b" 503 " in answer.split(b"\r\n")[0] + b" ", answer
    assert b"Retry-After: 1" in answer and b'"CROWDED"' in answer, answer
    return True
by = time.time() + 20
while not refused():
    assert time.time() < by, "never refused"
# The crew of short tasks still works.
request = urllib.request.Request(sys.argv[1] + "/api/v1/locks/b/acquire",
                                 b"", {"X-Holdfast": "1"})
assert urllib.request.urlopen(request).status == 200
for s in waits:
    s.close()
# And places come free again.
while True:
    s = one()
    s.settimeout(0.3)
    try:
        s.recv(4096)
    except socket.timeout:
        break
    assert time.time() < by + 20, "no place came free"
PY
}
