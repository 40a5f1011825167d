# SPDX-License-Identifier: MIT
#
# etcd.bash - an etcd of one's own for a test of the command.
# shellcheck shell=bash

# etcd_start OPTION...: on a free port of 127.0.0.1, which is in ETCD_PORT.
# Ports below the range from which the kernel takes them by itself; nobody
# speaks to the other one, of a member that is alone.
etcd_start() {
    local try peer
    for try in 1 2 3 4 5 6 7 8; do
        ETCD_PORT=$((12000 + (RANDOM + try) % 20000))
        peer=http://127.0.0.1:$((ETCD_PORT + 1))
        etcd --name alone --data-dir "$DIR/etcd" \
            --listen-client-urls "http://127.0.0.1:$ETCD_PORT" \
            --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" \
            --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
            --initial-cluster "alone=$peer" --heartbeat-interval 10 \
            --election-timeout 100 --unsafe-no-fsync --logger zap \
            --log-level error "$@" >"$DIR/etcd.log" 2>&1 3>&- &
        ETCD_PID=$!
        STARTED+=("$ETCD_PID")
        export ETCDCTL_API=3 ETCDCTL_ENDPOINTS=127.0.0.1:$ETCD_PORT
        await etcd_decided
        if kill -0 "$ETCD_PID" 2>/dev/null; then
            return 0
        fi
        rm -rf "$DIR/etcd"
    done
    cat "$DIR/etcd.log" >&2
    return 1
}

# It serves, or it has ended because the port was taken.
etcd_decided() {
    etcdctl --dial-timeout 1s --command-timeout 1s endpoint health ||
        ! kill -0 "$ETCD_PID" 2>/dev/null
}
