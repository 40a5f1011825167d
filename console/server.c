/* SPDX-License-Identifier: MIT
 *
 * server.c - the HTTP library, and the way of a request through it.
 *
 *   the line          request_new
 *   the headers       begin: gate and route; a refusal is kept
 *   the body          swallow: kept, or dropped if it is refused anyway
 *   its end           the route's handler, which answers or parts
 *   back from a crew  sent
 *   over              completed: what it had is given back
 *
 * One thread does all this, and must not wait for the store: what does is
 * given to a crew, and the connection is suspended meanwhile. */
#include "server.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cli/status.h"
#include "claims.h"
#include "gate.h"
#include "request.h"
#include "route.h"
#include "stream.h"

enum { ANSWERS_MS = 3000 };

struct server {
    console *console;
    struct MHD_Daemon *daemon;
};

/* ---- the headers ------------------------------------------------------- */

static void refuse_size(request *r) {
    request_problem(r, 413, HF_EUSAGE, "the body is longer than %d bytes",
                    (int)BODY_MOST);
}

static unsigned long long announced(const request *r) {
    return strtoull(request_header(r, "Content-Length"), NULL, 10);
}

static void begin(request *r, const char *method) {
    r->begun = true;
    r->method = strcmp(method, "HEAD") == 0 ? "GET" : method;
    if (!gate_address(r) || !route_find(r) || !gate_open(r))
        return;
    if (announced(r) > BODY_MOST)
        refuse_size(r);
    else if (atomic_load(&r->console->stopping))
        request_problem(r, 503, HF_ECANCELLED, "this server is stopping");
}

/* ---- the body ---------------------------------------------------------- */

static bool keep(request *r, const char *data, size_t n) {
    char *body = realloc(r->body, r->n_body + n + 1);
    if (!body)
        return false;
    memcpy(body + r->n_body, data, n);
    r->body = body;
    r->n_body += n;
    body[r->n_body] = '\0';
    return true;
}

/* A refused body is read all the same, so that the client hears why; but not
 * without end. */
static bool swallow(request *r, const char *data, size_t n) {
    r->swallowed += n;
    if (r->done)
        return r->swallowed <= SWALLOW_MOST;
    if (r->swallowed <= BODY_MOST)
        return keep(r, data, n);
    refuse_size(r);
    return true;
}

/* ---- the way ----------------------------------------------------------- */

static void *arrive(void *cls, const char *uri, struct MHD_Connection *c) {
    request *r = request_new(cls, c, uri);
    if (r)
        atomic_fetch_add(&r->console->open, 1);
    return r;
}

static enum MHD_Result answer(request *r) {
    if (!r->done)
        r->route->handle(r);
    return r->parted ? MHD_YES : request_send(r);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection,
                              const char *url, const char *method,
                              const char *version, const char *data, size_t *n,
                              void **req) {
    request *r = *req;
    (void)cls, (void)connection, (void)url, (void)version;
    if (!r)
        return MHD_NO;
    if (!r->begun) {
        begin(r, method);
        return r->done && announced(r) > SWALLOW_MOST ? request_send(r) :
                                                        MHD_YES;
    }
    if (*n > 0) {
        enum MHD_Result kept = swallow(r, data, *n) ? MHD_YES : MHD_NO;
        *n = 0;
        return kept;
    }
    return r->parted ? request_send(r) : answer(r);
}

static void give_back(void *arg) {
    claim *c = arg;
    claim_forget(c);
    claim_drop(c);
}

static void let_go(void *arg) {
    claim_drop(arg);
}

/* A grant whose answer did not reach the client is nobody's. */
static void completed(void *cls, struct MHD_Connection *connection, void **req,
                      enum MHD_RequestTerminationCode how) {
    request *r = *req;
    (void)cls, (void)connection;
    if (!r)
        return;
    *req = NULL;
    atomic_fetch_sub(&r->console->open, 1);
    hangup_remove(r->console->hangup, r->post);
    if (r->stream)
        stream_free(r->stream);
    if (r->claim) {
        bool keep_it = !r->claim->hold && r->claim->held &&
                       how == MHD_REQUEST_TERMINATED_COMPLETED_OK;
        crew_post(r->console->tasks, keep_it ? let_go : give_back, r->claim);
    }
    request_free(r);
}

/* ---- its life ---------------------------------------------------------- */

/* We decode what we need, once. */
static size_t leave_as_it_is(void *cls, struct MHD_Connection *c, char *text) {
    (void)cls, (void)c;
    return strlen(text);
}

/* Clients that speak no HTTP are no news. */
static void hush(void *cls, const char *format, va_list args) {
    (void)cls, (void)format, (void)args;
}

server *server_start(console *c, int fd, const char *cert, const char *key) {
    unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL |
                     MHD_ALLOW_SUSPEND_RESUME | (cert ? MHD_USE_TLS : 0U);
    struct MHD_OptionItem secure[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)cert},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_END, 0, NULL},
    };
    server *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->console = c;
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, handle, c, MHD_OPTION_EXTERNAL_LOGGER, hush, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK, arrive, c,
        MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_as_it_is, NULL,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MOST,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MOST,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_MOST_S,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY,
        cert ? secure : secure + 2, MHD_OPTION_END);
    if (s->daemon)
        return s;
    complain("cannot serve%s",
             cert ? ": are --tls-cert and --tls-key a pair, in PEM?" : "");
    free(s);
    return NULL;
}

/* What was decided is on its way to the clients; one that does not take it is
 * not waited for. */
static void await_answers(const console *c) {
    const struct timespec moment = {.tv_nsec = 2000000};
    for (int i = 0; i < ANSWERS_MS / 2 && atomic_load(&c->open) > 0; i++)
        nanosleep(&moment, NULL);
}

/* The HTTP library must not be stopped while a connection is suspended: so
 * waits end first, then what the crews still do, then the streams.  Then it
 * must be given the time to send the answers. */
void server_stop(server *s) {
    console *c;
    if (!s)
        return;
    c = s->console;
    atomic_store(&c->stopping, true);
    claims_cancel(c->claims);
    crew_end(c->waits);
    crew_end(c->tasks);
    streams_end(c->streams);
    await_answers(c);
    MHD_stop_daemon(s->daemon);
    free(s);
}
