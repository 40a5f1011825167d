# SPDX-License-Identifier: MIT
#
# Events as they happen, and many who listen.

load helper

# listen [CURL OPTION...]: a stream of events into $DIR/events.
listen() {
    : >"$DIR/events"
    curl -sSN "$@" "$URL/api/v1/events" >"$DIR/events" &
    LISTENER=$!
    STARTED+=("$LISTENER")
    await grep -q . "$DIR/events"
}

told() { # EVENT NAME
    grep -Eq "^data: .*\"event\":\"$1\",\"name\":\"$2\"" "$DIR/events"
}

last_id() {
    sed -n 's/^id: //p' "$DIR/events" | tail -n 1
}

@test "events come with numbers that grow, and are remembered by lock" {
    serve
    listen
    acquire a '{"ttl":"1h"}'
    token=$(field "$output" token)
    await told granted a
    ask "/api/v1/locks/a?token=$token" -X DELETE
    await told released a
    sed -n 's/^id: //p' "$DIR/events" >"$DIR/ids"
    sort -n -C "$DIR/ids"
    ask /api/v1/locks/a/events
    is 200 events.0.event granted events.1.event released events.0.name a
    ask /api/v1/events -H 'Accept: application/json'
    is 200 events.0.event granted
}

@test "who comes again is told what it missed, once" {
    serve
    listen
    acquire a '{"ttl":"1h"}'
    await told granted a
    kill "$LISTENER"
    id=$(last_id)
    acquire b '{"ttl":"1h"}'
    acquire c '{"ttl":"1h"}'
    listen -H "Last-Event-ID: $id"
    await told granted c
    told granted b
    ! told granted a
    ! grep -q 'event: missed' "$DIR/events"
    kill "$LISTENER"
    ask "/api/v1/events?after=$id" -H 'Accept: application/json'
    is 200 events.0.name b events.1.name c
}

@test "after a restart the numbers go on, and who missed something is told" {
    serve
    listen
    acquire a '{"ttl":"1h"}'
    await told granted a
    id=$(last_id)
    stop
    ended "$LISTENER"
    serve
    listen -H "Last-Event-ID: $id"
    await grep -q '^event: missed' "$DIR/events"
    acquire b '{"ttl":"1h"}'
    await told granted b
    [ "$(last_id)" -gt "$id" ]
}

@test "a number that makes no sense begins with what comes" {
    serve
    acquire a '{"ttl":"1h"}'
    await sees a held
    listen -H 'Last-Event-ID: nonsense'
    acquire b '{"ttl":"1h"}'
    await told granted b
    ! told granted a
}

@test "more streams than allowed are told to come again" {
    serve
    python3 - "$URL" <<'PY'
import socket, sys, time
host, port = sys.argv[1][len("http://"):].split(":")
def one():
    s = socket.create_connection((host, int(port)))
    s.settimeout(20)
    s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return s, s.recv(4096)
streams = [one() for _ in range(64)]
assert all(b" 200 " in answer for _, answer in streams)
s, answer = one()
assert b" 503 " in answer and b"Retry-After: 1" in answer, answer
for s, _ in streams:
    s.close()
by = time.time() + 20
while b" 503 " in one()[1]:
    assert time.time() < by, "no place came free"
PY
}

@test "a thousand slow connections do not keep others out" {
    serve
    python3 - "$URL" <<'PY'
import resource, socket, sys, urllib.request
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
many = min(1000, hard - 100)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
host, port = sys.argv[1][len("http://"):].split(":")
slow = []
for i in range(many):
    s = socket.create_connection((host, int(port)))
    s.sendall([b"GET /api", b"POST /api/v1/locks/a/acquire HTTP/1.1\r\n"
               b"Host: localhost\r\nX-Holdfast: 1\r\nContent-Length: 9\r\n\r\n{"
               ][i % 2])
    slow.append(s)
for path in ("/healthz", "/api/v1/locks", "/"):
    assert urllib.request.urlopen(sys.argv[1] + path, timeout=60).status == 200
print(many, "slow connections")
PY
}

@test "what is no HTTP at all harms nobody" {
    serve
    python3 - "$URL" <<'PY'
import os, random, socket, sys
host, port = sys.argv[1][len("http://"):].split(":")
random.seed(7)
starts = [b"", b"GET ", b"GET / HTTP/1.1\r\n", b"POST /login HTTP/1.1\r\nHost: x\r\n",
          b"GET /%00 HTTP/9.9\r\n\r\n", b"\r\n\r\n", b"GET /a\0b HTTP/1.1\r\nHost: localhost\r\n\r\n",
          b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
          b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n"]
for i in range(200):
    s = socket.create_connection((host, int(port)))
    s.settimeout(0.05)
    s.sendall(random.choice(starts) + random.randbytes(random.randrange(200)))
    try:
        s.recv(1000)
    except OSError:
        pass
    s.close()
PY
    ask /healthz
    is 200
    stop
}
