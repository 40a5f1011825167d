/* SPDX-License-Identifier: MIT
 *
 * grpc.c - one HTTP/2 connection that carries calls of gRPC.
 *
 * nghttp2 knows frames, streams, header compression and flow control; it is
 * given bytes and gives bytes.  What gRPC adds is little: a message has five
 * bytes before it, a flag for compression and its length, and the trailers say
 * how the call ended. */
#include "grpc.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "../net/tls.h"

enum {
    PREFIX = 5,
    MESSAGE_MAX = 64 << 20, /* more in one message is not for us */
    WINDOW = 8 << 20,       /* what may be under way to us       */
};

struct hf_grpc {
    int fd;
    SSL *ssl; /* NULL: plain */
    nghttp2_session *session;
    hf_call *calls;
    hf_pb out; /* framed, to be sent from out_at on */
    size_t out_at;
    hf_time heard;
    bool going_away; /* the server takes no new calls */
    char authority[300], why[160];
};

/* ---- calls ------------------------------------------------------------- */

static void enlist(hf_grpc *g, hf_call *c) {
    c->next = g->calls;
    c->link = &g->calls;
    if (c->next)
        c->next->link = &c->next;
    g->calls = c;
}

static void delist(hf_call *c) {
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    c->id = 0;
}

static void end(hf_call *c) {
    delist(c);
    c->ended(c);
}

static hf_call *find(hf_grpc *g, int32_t id) {
    hf_call *c = g->calls;

    while (c && c->id != id)
        c = c->next;
    return c;
}

static bool add_message(hf_call *c, const hf_pb *message) {
    uint8_t prefix[PREFIX] = {0, (uint8_t)(message->n >> 24),
                              (uint8_t)(message->n >> 16),
                              (uint8_t)(message->n >> 8), (uint8_t)message->n};

    if (c->out_at == c->out.n)
        c->out_at = c->out.n = 0;
    hf__pb_raw(&c->out, prefix, sizeof prefix);
    hf__pb_raw(&c->out, message->at, message->n);
    return !c->out.failed && !message->failed;
}

/* ---- what comes -------------------------------------------------------- */

static void give_up(hf_grpc *g, hf_call *c, const char *why) {
    c->broken = true;
    snprintf(c->text, sizeof c->text, "%s", why);
    nghttp2_submit_rst_stream(g->session, NGHTTP2_FLAG_NONE, c->id,
                              NGHTTP2_CANCEL);
}

/* The length of the first message in `in`, or -1: not whole yet.  Those that
 * cannot be are given up. */
static int64_t whole(hf_grpc *g, hf_call *c, size_t at) {
    const uint8_t *p = c->in.at + at;
    size_t left = c->in.n - at;
    uint32_t n;

    if (left < PREFIX)
        return -1;
    n = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 |
        p[4];
    if (p[0] != 0 || n > MESSAGE_MAX) {
        give_up(g, c, p[0] ? "compressed answer" : "answer too long");
        return -1;
    }
    return n <= left - PREFIX ? (int64_t)n : -1;
}

static void deliver(hf_grpc *g, hf_call *c) {
    size_t at = 0;
    int64_t n;

    while ((n = whole(g, c, at)) >= 0) {
        if (!c->message)
            return;
        c->message(c, (hf_bytes){c->in.at + at + PREFIX, (size_t)n});
        at += PREFIX + (size_t)n;
    }
    if (at) {
        memmove(c->in.at, c->in.at + at, c->in.n - at);
        c->in.n -= at;
    }
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *data, size_t n, void *arg) {
    hf_call *c = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    if (!c || c->broken)
        return 0;
    hf__pb_raw(&c->in, data, n);
    if (c->in.failed)
        give_up(arg, c, "out of memory");
    else
        deliver(arg, c);
    return 0;
}

static int hex(uint8_t digit) {
    return digit >= '0' && digit <= '9' ? digit - '0' :
           digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 :
           digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 :
                                          -1;
}

/* grpc-message is percent-encoded.  What cannot be printed becomes a space. */
static void take_text(hf_call *c, const uint8_t *value, size_t n) {
    size_t at = 0;

    for (size_t i = 0; i < n && at + 1 < sizeof c->text; i++) {
        uint8_t byte = value[i];

        if (byte == '%' && i + 2 < n && hex(value[i + 1]) >= 0 &&
            hex(value[i + 2]) >= 0) {
            byte = (uint8_t)(hex(value[i + 1]) << 4 | hex(value[i + 2]));
            i += 2;
        }
        c->text[at++] = (char)(byte < ' ' || byte > '~' ? ' ' : byte);
    }
    c->text[at] = '\0';
}

/* A small number, or -1. */
static int small(const uint8_t *value, size_t n) {
    int number = 0;

    if (n == 0 || n > 3)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (value[i] < '0' || value[i] > '9')
            return -1;
        number = 10 * number + value[i] - '0';
    }
    return number;
}

static bool is(const uint8_t *name, size_t n, const char *text) {
    return n == strlen(text) && memcmp(name, text, n) == 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_n, const uint8_t *value,
                     size_t n, uint8_t flags, void *arg) {
    hf_call *c =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)flags, (void)arg;
    if (!c || c->broken)
        return 0;
    if (is(name, name_n, ":status") && small(value, n) != 200)
        c->http = small(value, n);
    else if (is(name, name_n, "grpc-status"))
        c->status = small(value, n);
    else if (is(name, name_n, "grpc-message"))
        take_text(c, value, n);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame,
                    void *arg) {
    hf_grpc *g = arg;

    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        g->going_away = true;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code,
                    void *arg) {
    hf_call *c = nghttp2_session_get_stream_user_data(session, id);

    (void)arg;
    if (!c)
        return 0;
    if (code == NGHTTP2_REFUSED_STREAM && c->status == HF_GRPC_NO_STATUS)
        c->unsent = true;
    end(c);
    return 0;
}

/* A request that nghttp2 finds it may not send; its stream is never opened. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame,
                       int why, void *arg) {
    hf_grpc *g = arg;
    hf_call *c =
        frame->hd.type == NGHTTP2_HEADERS ? find(g, frame->hd.stream_id) : NULL;

    (void)session;
    if (!c)
        return 0;
    g->going_away |= why == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED;
    nghttp2_session_set_stream_user_data(g->session, c->id, NULL);
    end(c); /* still unsent */
    return 0;
}

static int on_sent(nghttp2_session *session, const nghttp2_frame *frame,
                   void *arg) {
    hf_call *c =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)arg;
    if (c && frame->hd.type == NGHTTP2_HEADERS)
        c->unsent = false;
    return 0;
}

/* ---- what goes --------------------------------------------------------- */

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *buf,
                         size_t size, uint32_t *flags,
                         nghttp2_data_source *source, void *arg) {
    hf_call *c = nghttp2_session_get_stream_user_data(session, id);
    size_t n;

    (void)source, (void)arg;
    if (!c)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* dropped */
    n = c->out.n - c->out_at < size ? c->out.n - c->out_at : size;
    if (n == 0 && c->stays_open)
        return NGHTTP2_ERR_DEFERRED;
    memcpy(buf, c->out.at + c->out_at, n);
    c->out_at += n;
    if (c->out_at == c->out.n && !c->stays_open)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

#define TEXT(s) ((uint8_t *)(uintptr_t)(s))
#define NV(name, value)                                                        \
    {                                                                          \
        TEXT(name), TEXT(value), sizeof name - 1, strlen(value),               \
            NGHTTP2_NV_FLAG_NO_COPY_NAME                                       \
    }

bool hf__grpc_start(hf_grpc *g, hf_call *c, const hf_pb *message) {
    const nghttp2_nv headers[] = {
        NV(":method", "POST"),
        NV(":scheme", g->ssl ? "https" : "http"),
        NV(":path", c->path),
        NV(":authority", g->authority),
        NV("te", "trailers"),
        NV("content-type", "application/grpc"),
        NV("user-agent", "holdfast/" HF_VERSION),
        NV("hasleader", "true"), /* or else hear so at once */
        NV("token", c->token ? c->token : ""),
    };
    const nghttp2_data_provider body = {.read_callback = read_body};
    size_t n = sizeof headers / sizeof *headers;

    c->status = HF_GRPC_NO_STATUS;
    c->http = 0;
    c->broken = false;
    c->unsent = true;
    c->text[0] = '\0';
    c->out.n = c->out_at = c->in.n = 0;
    if (g->going_away || !add_message(c, message))
        return false;
    c->id = nghttp2_submit_request(g->session, NULL, headers,
                                   c->token ? n : n - 1, &body, c);
    if (c->id < 0) {
        c->id = 0;
        return false;
    }
    enlist(g, c);
    return true;
}

bool hf__grpc_say(hf_grpc *g, hf_call *c, const hf_pb *message) {
    if (!c->id || !add_message(c, message))
        return false;
    nghttp2_session_resume_data(g->session, c->id);
    return true;
}

void hf__grpc_drop(hf_grpc *g, hf_call *c) {
    if (!c->id)
        return;
    nghttp2_submit_rst_stream(g->session, NGHTTP2_FLAG_NONE, c->id,
                              NGHTTP2_CANCEL);
    nghttp2_session_set_stream_user_data(g->session, c->id, NULL);
    delist(c);
}

bool hf__grpc_answer(const hf_call *c, hf_bytes *ret) {
    if (c->in.n < PREFIX)
        return false;
    *ret = (hf_bytes){c->in.at + PREFIX, c->in.n - PREFIX};
    return true;
}

void hf__grpc_clear(hf_call *c) {
    hf__pb_free(&c->out);
    hf__pb_free(&c->in);
}

/* ---- bytes ------------------------------------------------------------- */

static bool passing(int why) {
    return why == EAGAIN || why == EWOULDBLOCK || why == EINTR;
}

static int broke(hf_grpc *g, const char *why) {
    if (!g->why[0])
        snprintf(g->why, sizeof g->why, "%s", why);
    return -1;
}

static ssize_t send_bytes(hf_grpc *g, const uint8_t *at, size_t n) {
    ssize_t sent;

    if (g->ssl)
        return hf__tls_send(g->ssl, at, n);
    sent = hf__world->send(g->fd, at, n);
    return sent < 0 && passing(errno) ? 0 : sent;
}

/* All frames that are due in one piece, so that they leave in one packet. */
static int gather(hf_grpc *g) {
    const uint8_t *data;
    ssize_t n;

    while ((n = nghttp2_session_mem_send(g->session, &data)) > 0)
        hf__pb_raw(&g->out, data, (size_t)n);
    if (n < 0)
        return broke(g, nghttp2_strerror((int)n));
    return g->out.failed ? broke(g, "out of memory") : 0;
}

int hf__grpc_flush(hf_grpc *g) {
    ssize_t n;

    if (gather(g) < 0)
        return -1;
    while (g->out_at < g->out.n) {
        n = send_bytes(g, g->out.at + g->out_at, g->out.n - g->out_at);
        if (n < 0)
            return broke(g, "the server closed the connection");
        if (n == 0)
            return 0;
        g->out_at += (size_t)n;
    }
    g->out_at = g->out.n = 0;
    return 0;
}

/* Bytes; 0: none; -1: broken. */
static ssize_t receive(hf_grpc *g, uint8_t *buf, size_t size) {
    ssize_t n;

    if (g->ssl)
        return hf__tls_recv(g->ssl, buf, size, g->why, sizeof g->why);
    n = hf__world->recv(g->fd, buf, size);
    if (n > 0 || (n < 0 && passing(errno)))
        return n < 0 ? 0 : n;
    return broke(g,
                 n == 0 ? "the server closed the connection" : strerror(errno));
}

int hf__grpc_fill(hf_grpc *g) {
    uint8_t buf[16384];
    bool some = false;
    ssize_t n, used;

    while ((n = receive(g, buf, sizeof buf)) > 0) {
        some = true;
        used = nghttp2_session_mem_recv(g->session, buf, (size_t)n);
        if (used < 0)
            return broke(g, buf[0] == 0x15 ?
                                "the server wants TLS: write etcds://" :
                                "an answer that is not gRPC");
        if (!g->ssl && (size_t)n < sizeof buf)
            break; /* saves the question that would say so */
    }
    if (some)
        g->heard = hf__now();
    if (n < 0)
        return -1;
    if (some && hf__grpc_flush(g) < 0) /* acknowledgements */
        return -1;
    if (!nghttp2_session_want_read(g->session) &&
        !nghttp2_session_want_write(g->session))
        return broke(g, "the server ended the connection");
    return some;
}

/* ---- life -------------------------------------------------------------- */

static int set_callbacks(nghttp2_session_callbacks **ret) {
    nghttp2_session_callbacks *cb;
    int rc = nghttp2_session_callbacks_new(&cb);

    if (rc != 0)
        return rc;
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, on_not_sent);
    *ret = cb;
    return 0;
}

/* nghttp2 takes the library's memory, too, and has an argument to spare. */
static void *lend(size_t size, void *arg) {
    (void)arg;
    return hf__malloc(size);
}

static void *lend_zeroed(size_t n, size_t size, void *arg) {
    (void)arg;
    return hf__calloc(n, size);
}

static void *lend_more(void *old, size_t size, void *arg) {
    (void)arg;
    return hf__realloc(old, size);
}

static void take_back(void *p, void *arg) {
    (void)arg;
    hf__free(p);
}

static int begin(hf_grpc *g) {
    nghttp2_mem mem = {.malloc = lend,
                       .calloc = lend_zeroed,
                       .realloc = lend_more,
                       .free = take_back};
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW},
    };
    nghttp2_session_callbacks *cb;
    int rc = set_callbacks(&cb);

    if (rc != 0)
        return rc;
    rc = nghttp2_session_client_new3(&g->session, cb, g, NULL, &mem);
    nghttp2_session_callbacks_del(cb);
    if (rc == 0)
        rc = nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, settings,
                                     sizeof settings / sizeof *settings);
    if (rc == 0)
        rc = nghttp2_session_set_local_window_size(
            g->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
    return rc;
}

int hf__grpc_new(hf_grpc **ret, int fd, SSL *ssl, const char *authority,
                 hf_error *err) {
    hf_grpc *g = hf__calloc(1, sizeof *g);
    int rc;

    if (!g)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    snprintf(g->authority, sizeof g->authority, "%s", authority);
    rc = begin(g);
    if (rc != 0) {
        nghttp2_session_del(g->session);
        hf__free(g);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    g->fd = fd;
    g->ssl = ssl;
    g->heard = hf__now();
    *ret = g;
    return HF_OK;
}

/* Without a farewell: who asked something has his answer or never will. */
void hf__grpc_free(hf_grpc *g) {
    if (!g)
        return;
    while (g->calls) {
        nghttp2_session_set_stream_user_data(g->session, g->calls->id, NULL);
        end(g->calls);
    }
    nghttp2_session_del(g->session);
    SSL_free(g->ssl);
    hf__world->close(g->fd);
    hf__pb_free(&g->out);
    hf__free(g);
}

void hf__grpc_abandon(hf_grpc *g) {
    if (g)
        hf__world->close(g->fd);
}

int hf__grpc_fd(const hf_grpc *g) {
    return g->fd;
}

short hf__grpc_events(const hf_grpc *g) {
    return g->out_at < g->out.n ? POLLIN | POLLOUT : POLLIN;
}

bool hf__grpc_usable(const hf_grpc *g) {
    return !g->going_away && !g->why[0] &&
           nghttp2_session_check_request_allowed(g->session);
}

hf_time hf__grpc_heard(const hf_grpc *g) {
    return g->heard;
}

const char *hf__grpc_why(const hf_grpc *g) {
    return g->why;
}

void hf__grpc_ping(hf_grpc *g) {
    nghttp2_submit_ping(g->session, NGHTTP2_FLAG_NONE, NULL);
}
