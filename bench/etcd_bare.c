/* SPDX-License-Identifier: MIT
 *
 * etcd_bare.c - the bare calls of a lock on etcd.
 *
 * Taking is one transaction: if there is no such key, put it, and get the
 * oldest under the name.  Giving back is one deletion.  Messages of a fixed
 * shape are written by hand; of an answer only its end is looked at. */
#include "etcd_bare.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TTL_S = 3600, GRPC_HEAD = 5 }; /* nobody keeps the lease alive */

/* ---- messages ---------------------------------------------------------- */

typedef struct message {
    uint8_t bytes[512];
    size_t n;
} message;

static void add_number(message *m, uint64_t number) {
    do {
        m->bytes[m->n++] = (uint8_t)((number & 127) | (number > 127) << 7);
        number >>= 7;
    } while (number > 0);
}

static void add_varint(message *m, unsigned field, uint64_t number) {
    add_number(m, field << 3);
    add_number(m, number);
}

static void add_bytes(message *m, unsigned field, const void *bytes, size_t n) {
    add_number(m, field << 3 | 2);
    add_number(m, n);
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static void add_text(message *m, unsigned field, const char *text) {
    add_bytes(m, field, text, strlen(text));
}

static void add_message(message *m, unsigned field, const message *inner) {
    add_bytes(m, field, inner->bytes, inner->n);
}

/* ---- calls ------------------------------------------------------------- */

static struct {
    int fd;
    nghttp2_session *session;
    char host[32];
    const message *asked;
    size_t sent;
    bool ended, well;
    message said;
} line;

static ssize_t on_send(nghttp2_session *session, const uint8_t *bytes, size_t n,
                       int flags, void *arg) {
    ssize_t sent = write(line.fd, bytes, n);

    (void)session, (void)flags, (void)arg;
    return sent < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : sent;
}

static ssize_t on_read(nghttp2_session *session, int32_t stream, uint8_t *buf,
                       size_t size, uint32_t *flags, nghttp2_data_source *from,
                       void *arg) {
    size_t n = line.asked->n - line.sent;

    (void)session, (void)stream, (void)from, (void)arg;
    if (n > size)
        n = size;
    memcpy(buf, line.asked->bytes + line.sent, n);
    line.sent += n;
    if (line.sent == line.asked->n)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
                   const uint8_t *bytes, size_t n, void *arg) {
    (void)session, (void)flags, (void)stream, (void)arg;
    if (n > sizeof line.said.bytes - line.said.n)
        n = sizeof line.said.bytes - line.said.n;
    memcpy(line.said.bytes + line.said.n, bytes, n);
    line.said.n += n;
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t n, const uint8_t *value,
                     size_t size, uint8_t flags, void *arg) {
    (void)session, (void)frame, (void)flags, (void)arg;
    if (n == 11 && memcmp(name, "grpc-status", n) == 0)
        line.well = size == 1 && *value == '0';
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code,
                    void *arg) {
    (void)session, (void)stream, (void)code, (void)arg;
    line.ended = true;
    return 0;
}

#define HEADER(key, text)                                                      \
    { (uint8_t *)(key), (uint8_t *)(text), strlen(key), strlen(text), 0 }

/* What was asked, with the head that gRPC wants, and until it is answered. */
static bool call(const char *path, const message *inner) {
    const nghttp2_nv headers[] = {HEADER(":method", "POST"),
                                  HEADER(":scheme", "http"),
                                  HEADER(":path", path),
                                  HEADER(":authority", line.host),
                                  HEADER("content-type", "application/grpc"),
                                  HEADER("te", "trailers")};
    nghttp2_data_provider data = {.read_callback = on_read};
    message framed = {.n = GRPC_HEAD};
    uint8_t buf[4096];

    framed.bytes[3] = (uint8_t)(inner->n >> 8);
    framed.bytes[4] = (uint8_t)inner->n;
    memcpy(framed.bytes + GRPC_HEAD, inner->bytes, inner->n);
    framed.n += inner->n;
    line.asked = &framed;
    line.sent = line.said.n = 0;
    line.ended = line.well = false;
    nghttp2_submit_request(line.session, NULL, headers,
                           sizeof headers / sizeof headers[0], &data, NULL);
    while (!line.ended && nghttp2_session_send(line.session) == 0) {
        ssize_t got = read(line.fd, buf, sizeof buf);

        if (got <= 0 ||
            nghttp2_session_mem_recv(line.session, buf, (size_t)got) < 0)
            return false;
    }
    return line.well;
}

static bool dial(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    nghttp2_session_callbacks *on;
    int yes = 1;

    line.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(line.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (connect(line.fd, (struct sockaddr *)&at, sizeof at) != 0)
        return false;
    snprintf(line.host, sizeof line.host, "127.0.0.1:%d", port);
    nghttp2_session_callbacks_new(&on);
    nghttp2_session_callbacks_set_send_callback(on, on_send);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(on, on_data);
    nghttp2_session_callbacks_set_on_header_callback(on, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(on, on_close);
    nghttp2_session_client_new(&line.session, on, NULL);
    nghttp2_session_callbacks_del(on);
    return nghttp2_submit_settings(line.session, NGHTTP2_FLAG_NONE, NULL, 0) ==
           0;
}

/* ---- the lock ---------------------------------------------------------- */

static uint64_t lease;
static char prefix[160], past[160], key[200];

/* The number in a field of the answer; fields before it are skipped. */
static uint64_t number_of(const message *m, unsigned wanted) {
    size_t at = GRPC_HEAD;

    while (at < m->n) {
        uint64_t tag = 0, value = 0;

        for (int shift = 0; at < m->n; shift += 7) {
            tag |= (uint64_t)(m->bytes[at] & 127) << shift;
            if (!(m->bytes[at++] & 128))
                break;
        }
        for (int shift = 0; at < m->n; shift += 7) {
            value |= (uint64_t)(m->bytes[at] & 127) << shift;
            if (!(m->bytes[at++] & 128))
                break;
        }
        if (tag == wanted << 3)
            return value;
        if ((tag & 7) == 2)
            at += value;
    }
    return 0;
}

static const char *etcd_open(const char *uri) {
    message grant = {.n = 0};

    if (!dial(atoi(strrchr(uri, ':') + 1)))
        return NULL;
    add_varint(&grant, 1, TTL_S);
    if (!call("/etcdserverpb.Lease/LeaseGrant", &grant))
        return NULL;
    lease = number_of(&line.said, 2);
    return lease ? NGHTTP2_VERSION : NULL;
}

static bool etcd_begin(const char *name) {
    snprintf(prefix, sizeof prefix, "%s/", name);
    snprintf(past, sizeof past, "%s0", name); /* '0' follows '/' */
    snprintf(key, sizeof key, "%s%llx.1", prefix, (unsigned long long)lease);
    return true;
}

static bool etcd_take(void) {
    message compare = {.n = 0}, put = {.n = 0}, range = {.n = 0};
    message one = {.n = 0}, two = {.n = 0}, txn = {.n = 0};

    add_varint(&compare, 2, 1); /* target: the revision that made it */
    add_text(&compare, 3, key);
    add_varint(&compare, 5, 0);
    add_text(&put, 1, key);
    add_varint(&put, 3, lease);
    add_text(&range, 1, prefix);
    add_text(&range, 2, past);
    add_varint(&range, 3, 1); /* one */
    add_varint(&range, 5, 1); /* ascending */
    add_varint(&range, 6, 2); /* by the revision that made it */
    add_message(&one, 2, &put);
    add_message(&two, 1, &range);
    add_message(&txn, 1, &compare);
    add_message(&txn, 2, &one);
    add_message(&txn, 2, &two);
    return call("/etcdserverpb.KV/Txn", &txn) && number_of(&line.said, 2) == 1;
}

static bool etcd_give(void) {
    message delete = {.n = 0};

    add_text(&delete, 1, key);
    return call("/etcdserverpb.KV/DeleteRange", &delete) &&
           number_of(&line.said, 2) == 1;
}

const bare etcd_calls = {"bare gRPC", etcd_open, etcd_begin,
                         etcd_take,   etcd_give, false};
