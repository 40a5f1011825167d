/* SPDX-License-Identifier: MIT
 *
 * wake.c - hears that a lock was released, or given to us.
 *
 * Only the listener's thread touches the connection.  Others say what they
 * want in the table of channels and ring.
 *
 *        watch               send_wants             confirmed
 *   ─ ─ ────────► WANTED ───────────────► ASKED ───────────────► HEARD
 *                    ▲                      │ refused               │
 *                    │       watch          ▼                       │
 *                    ├─────────────────── REFUSED                   │
 *                    └──────────── break_up: everything ────────────┘
 *
 * Replies come in the order of the commands, messages between them; so the
 * list of commands under way says what an error is about. */
#include "wake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"
#include "keys.h"
#include "reply.h"

static const hf_time LINGER = 5 * HF_SECOND, PING_EVERY = 3 * HF_SECOND;
static const hf_time SWEEP = HF_SECOND; /* at most so often, for all */
static const hf_time GRANT_LASTS = HF_SECOND, GRANT_MARGIN = 20 * HF_MS;
static const hf_time GRANT_NEEDS = 300 * HF_MS; /* to be renewed in time */
static const hf_time BACKOFF_MIN = 50 * HF_MS, BACKOFF_MAX = HF_SECOND;

typedef enum state { WANTED, ASKED, HEARD, REFUSED } state;

typedef struct channel {
    struct channel *next;        /* in its bucket         */
    struct channel *next_wanted; /* WANTED                */
    state state;
    unsigned watches;
    hf_time leave_at; /* when nobody watches it           */
    int code;         /* REFUSED: why                     */
    char text[];
} channel;

/* A command that is not answered yet. */
typedef struct command {
    struct command *next;
    channel *channel; /* SUBSCRIBE; NULL: anything else   */
    char leaves[];    /* UNSUBSCRIBE: what; "": anything else */
} command;

struct hf_listener {
    hf_listener_needs needs;
    hf_server *server; /* of the needs */
    int bell;          /* eventfd      */

    /* The thread's own. */
    hf_conn *conn; /* NULL: down */
    hf_time ping_at, backoff;
    hf_time asked_at; /* the oldest command under way */
    command *under_way, **under_way_end;
    bool missed; /* broke since all were last told to ask again */

    pthread_mutex_t mu; /* for the rest */
    pthread_cond_t changed;
    pthread_t thread;
    bool runs, stopping, rung;
    bool cut;          /* the connection is of no use any more      */
    hf_error why;      /* the last failure to connect; code 0: none */
    hf_time sweep_at;  /* some channel may be left then             */
    size_t watched;    /* channels that somebody watches            */
    channel *wanted;   /* to be subscribed                          */
    channel **buckets; /* a power of two of them                    */
    size_t n_buckets, n;
};

/* ---- the table of channels --------------------------------------------- */

static unsigned hash(const char *text) {
    unsigned h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

static channel **find(hf_listener *w, const char *text) {
    channel **at = &w->buckets[hash(text) & (w->n_buckets - 1)];

    while (*at && strcmp((*at)->text, text) != 0)
        at = &(*at)->next;
    return at;
}

/* Twice the buckets, if there is memory; it works without, more slowly. */
static void spread(hf_listener *w) {
    size_t n = 2 * w->n_buckets;
    channel **wide = hf__calloc(n, sizeof *wide), *c, *next;

    if (!wide)
        return;
    for (size_t i = 0; i < w->n_buckets; i++)
        for (c = w->buckets[i]; c; c = next) {
            channel **at = &wide[hash(c->text) & (n - 1)];

            next = c->next;
            c->next = *at;
            *at = c;
        }
    hf__free(w->buckets);
    w->buckets = wide;
    w->n_buckets = n;
}

static void want(hf_listener *w, channel *c) {
    c->state = WANTED;
    c->next_wanted = w->wanted;
    w->wanted = c;
}

static channel *enter(hf_listener *w, const char *text) {
    channel **at = find(w, text), *c = *at;

    if (c)
        return c;
    c = hf__calloc(1, sizeof *c + strlen(text) + 1);
    if (!c)
        return NULL;
    strcpy(c->text, text);
    *at = c;
    want(w, c);
    if (++w->n > w->n_buckets)
        spread(w);
    return c;
}

/* Calls fn for every channel; it may free the one it is given. */
static void each(hf_listener *w, void (*fn)(hf_listener *, channel *, void *),
                 void *arg) {
    channel *c, *next;

    for (size_t i = 0; i < w->n_buckets; i++)
        for (c = w->buckets[i]; c; c = next) {
            next = c->next;
            fn(w, c, arg);
        }
}

static void remove_channel(hf_listener *w, channel *c) {
    *find(w, c->text) = c->next;
    w->n--;
    hf__free(c);
}

/* ---- commands ---------------------------------------------------------- */

static bool note_command(hf_listener *w, channel *c, const char *leaves) {
    command *cmd = hf__malloc(sizeof *cmd + strlen(leaves) + 1);

    if (!cmd)
        return false;
    *cmd = (command){.channel = c};
    strcpy(cmd->leaves, leaves);
    if (!w->under_way)
        w->asked_at = hf__now();
    *w->under_way_end = cmd;
    w->under_way_end = &cmd->next;
    return true;
}

static channel *answered(hf_listener *w) {
    command *cmd = w->under_way;
    channel *c;

    if (!cmd)
        return NULL;
    c = cmd->channel;
    w->under_way = cmd->next;
    if (!w->under_way)
        w->under_way_end = &w->under_way;
    hf__free(cmd);
    return c;
}

/* mu.  Asks for what is wanted. */
static void subscribe(hf_listener *w, hf_pipe *p) {
    channel *c;

    while ((c = w->wanted) && note_command(w, c, "")) {
        w->wanted = c->next_wanted;
        HF_PIPE(p, w->needs.sharded ? "SSUBSCRIBE" : "SUBSCRIBE", c->text);
        c->state = ASKED;
    }
}

/* mu.  Leaves a channel that nobody watched for a while. */
static void leave(hf_listener *w, channel *c, void *arg) {
    hf_pipe *p = arg;

    if (c->watches || c->state == WANTED || c->state == ASKED)
        return;
    if (c->leave_at > hf__now()) {
        w->sweep_at = hf__sooner(w->sweep_at, c->leave_at + SWEEP);
    } else if (c->state == REFUSED) {
        remove_channel(w, c);
    } else if (note_command(w, NULL, c->text)) {
        HF_PIPE(p, w->needs.sharded ? "SUNSUBSCRIBE" : "UNSUBSCRIBE", c->text);
        remove_channel(w, c);
    }
}

/* ---- the connection ---------------------------------------------------- */

/* mu. */
static void want_again(hf_listener *w, channel *c, void *arg) {
    (void)arg;
    want(w, c);
}

static void break_up(hf_listener *w) {
    hf__log_broke(w->server->host, w->conn->address->where,
                  w->conn->why[0] ? w->conn->why :
                                    "no answer, or the server has changed");
    hf__conn_close(w->conn);
    pthread_mutex_lock(&w->mu);
    w->conn = NULL;
    w->wanted = NULL;
    each(w, want_again, NULL);
    pthread_mutex_unlock(&w->mu);
    while (w->under_way)
        answered(w);
    w->missed = true;
    if (w->needs.broke)
        w->needs.broke(w->needs.arg, w, HF_EDOWN);
}

static bool send_pipe(hf_listener *w, hf_pipe *p) {
    hf_time by = hf__after_ms(w->server->host->timeout_ms);
    size_t sent = 0;

    while (!p->failed && sent < p->len) {
        ssize_t n = hf__conn_send(w->conn, p->bytes + sent, p->len - sent);

        if (n < 0 || (n == 0 && !hf__conn_wait(w->conn, POLLOUT, by)))
            return false;
        sent += (size_t)n;
    }
    return !p->failed;
}

/* Says everything there is to say.  False: broken. */
static bool send_wants(hf_listener *w) {
    hf_pipe p = {0};
    bool ok;

    pthread_mutex_lock(&w->mu);
    w->rung = false;
    subscribe(w, &p);
    if (w->sweep_at <= hf__now()) {
        w->sweep_at = HF_NEVER;
        each(w, leave, &p);
    }
    pthread_mutex_unlock(&w->mu);
    if (hf__now() >= w->ping_at && note_command(w, NULL, "")) {
        HF_PIPE(&p, "PING");
        w->ping_at = hf__now() + PING_EVERY;
    }
    ok = send_pipe(w, &p);
    hf__pipe_free(&p);
    return ok;
}

/* ---- what is heard ----------------------------------------------------- */

/* After a break: everybody.  The server may have been away, and may have
 * forgotten what it granted. */
static void tell_all(hf_listener *w) {
    const hf_host *host = w->server->host;

    host->shaken(host->core, HF_LOCK, NULL);
    for (hf_kind kind = 0; kind < HF_KINDS; kind++)
        if (hf_line_kind(kind) == kind)
            host->woken(host->core, kind, NULL, 0);
}

/* Is it a grant, `token:server µs`, and is there time enough to use it?  It
 * says until when it holds unless it is renewed. */
static bool is_grant(hf_listener *w, const char *payload, uint64_t *token,
                     hf_time *until) {
    hf_time now = hf__now(), at;
    char *end;
    long long us;

    *token = strtoull(payload, &end, 10);
    if (*token == 0 || *end != ':')
        return false;
    us = strtoll(end + 1, &end, 10);
    at = hf__server_clock_local(&w->server->clock, us);
    *until = hf__sooner(at, now) + GRANT_LASTS - GRANT_MARGIN;
    return at && !*end && *until - now >= GRANT_NEEDS;
}

static void wake(const hf_host *host, const hf_news *news, const char *name) {
    host->woken(host->core, news->kind, name, news->owner);
    if (news->kind == HF_LOCK)
        host->woken(host->core, HF_SIMPLE, name, 0);
}

static void tell(hf_listener *w, const hf_news *news, const char *name,
                 const char *payload) {
    const hf_host *host = w->server->host;
    uint64_t token;
    hf_time until;

    if (news->owner && host->granted && is_grant(w, payload, &token, &until))
        host->granted(host->core, news->kind, name, news->owner, token, until);
    else
        wake(host, news, name);
}

static void message(hf_listener *w, const char *text, const char *payload) {
    hf_news news;

    if (!hf__news_of_channel(&news, text, w->server->host->identity.client))
        return;
    while (news.n > 0)
        tell(w, &news, news.names[--news.n], payload);
}

void hf__listener_tell(const hf_host *host, const char *text) {
    hf_news news;

    if (!hf__news_of_channel(&news, text, host->identity.client))
        return;
    while (news.n > 0)
        wake(host, &news, news.names[--news.n]);
}

/* The server has not what the channel is about, for the moment or for good. */
static bool is_sent_away(const redisReply *reply) {
    return hf__reply_is(reply, "MOVED") || hf__reply_is(reply, "CLUSTERDOWN") ||
           hf__reply_is(reply, "LOADING");
}

/* The answer to the oldest command.  Subscribed unless it is an error. */
static void answer(hf_listener *w, const redisReply *reply) {
    channel *c = answered(w);
    int code = hf__reply_code(reply);

    if (!c)
        return;
    pthread_mutex_lock(&w->mu);
    c->state = code ? REFUSED : HEARD;
    c->code = code;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mu);
    if (w->needs.told)
        w->needs.told(w->needs.arg, w, c->text,
                      is_sent_away(reply) ? HF_STRAYED : code);
}

/* Told without being asked that a channel is heard no longer: its slot has
 * left.  While it is being subscribed, the answer to that will tell. */
static void bid_farewell(hf_listener *w, const char *text) {
    channel *c;
    bool heard;

    pthread_mutex_lock(&w->mu);
    c = *find(w, text);
    heard = c && c->state == HEARD;
    if (heard) {
        c->state = REFUSED;
        c->code = HF_EDOWN;
    }
    pthread_mutex_unlock(&w->mu);
    if (heard && w->needs.told)
        w->needs.told(w->needs.arg, w, text, HF_STRAYED);
}

static bool begins_with(const redisReply *reply, const char *word) {
    return hf__reply_has(reply, 3, 0) && reply->element[0]->str &&
           reply->element[1]->str && strcmp(reply->element[0]->str, word) == 0;
}

static bool is_message(const hf_listener *w, const redisReply *reply) {
    return begins_with(reply, w->needs.sharded ? "smessage" : "message") &&
           reply->element[2]->str;
}

/* And not the answer to our leaving. */
static bool is_farewell(const hf_listener *w, const redisReply *reply) {
    return w->needs.sharded && begins_with(reply, "sunsubscribe") &&
           !(w->under_way &&
             strcmp(w->under_way->leaves, reply->element[1]->str) == 0);
}

static void hear(hf_listener *w, const redisReply *reply) {
    w->backoff = 0;
    if (is_message(w, reply))
        message(w, reply->element[1]->str, reply->element[2]->str);
    else if (is_farewell(w, reply))
        bid_farewell(w, reply->element[1]->str);
    else
        answer(w, reply);
    if (w->missed && !w->under_way) {
        w->missed = false;
        hf__log(w->server->host, HF_LOG_INFO, "releases are heard of again",
                {"node", w->conn->address->where});
        tell_all(w);
    }
}

/* Everything that has come.  False: broken. */
static bool hear_all(hf_listener *w) {
    redisReply *reply;
    int rc;

    do {
        while ((rc = hf__conn_next(w->conn, &reply)) > 0) {
            hear(w, reply);
            freeReplyObject(reply);
        }
        if (rc == 0)
            rc = hf__conn_fill(w->conn);
    } while (rc > 0);
    return rc == 0;
}

/* A command was not answered for too long. */
static hf_time dead_at(const hf_listener *w) {
    hf_time since = w->asked_at;

    if (!w->under_way)
        return HF_NEVER;
    if (w->conn->heard > since)
        since = w->conn->heard;
    return since + w->server->host->timeout_ms * HF_MS;
}

/* ---- the thread -------------------------------------------------------- */

static void doze(hf_listener *w, hf_time by) {
    struct pollfd fds[2] = {{.fd = w->bell, .events = POLLIN}};
    uint64_t rings;

    if (w->conn)
        fds[1] = (struct pollfd){.fd = w->conn->fd, .events = POLLIN};
    hf__world->poll(fds, w->conn ? 2 : 1, by);
    while (read(w->bell, &rings, sizeof rings) < 0 && errno == EINTR)
        ;
}

static bool is_stopping(hf_listener *w) {
    bool stopping;

    pthread_mutex_lock(&w->mu);
    stopping = w->stopping;
    pthread_mutex_unlock(&w->mu);
    return stopping;
}

static hf_time longer(hf_time backoff) {
    backoff *= 2;
    return backoff < BACKOFF_MIN ? BACKOFF_MIN :
           backoff > BACKOFF_MAX ? BACKOFF_MAX :
                                   backoff;
}

/* Has it been cut since we last connected, or began to? */
static bool take_cut(hf_listener *w) {
    bool cut;

    pthread_mutex_lock(&w->mu);
    cut = w->cut;
    w->cut = false;
    pthread_mutex_unlock(&w->mu);
    return cut;
}

/* At once after a connection that worked, else later and later. */
static void connect_again(hf_listener *w) {
    hf_conn *conn = NULL;
    hf_error err = {0};
    int rc;

    if (w->backoff)
        doze(w, hf__now() + hf__jitter(w->backoff));
    w->backoff = longer(w->backoff);
    if (take_cut(w))
        w->backoff = 0;
    rc = hf__server_dial(w->server, &conn,
                         hf__after_ms(w->server->host->timeout_ms), &err);
    pthread_mutex_lock(&w->mu);
    w->conn = conn;
    w->why = err;
    w->why.code = rc;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->mu);
    w->ping_at = hf__now() + PING_EVERY;
    if (rc != HF_OK && w->needs.broke)
        w->needs.broke(w->needs.arg, w, rc);
}

/* Is there anything to connect for?  If not, the next who wants something
 * rings anew. */
static bool is_needed(hf_listener *w) {
    bool needed;

    pthread_mutex_lock(&w->mu);
    needed = w->watched > 0;
    if (!needed)
        w->rung = false;
    pthread_mutex_unlock(&w->mu);
    return needed;
}

/* When there is something to do unless the bell or the server says so. */
static hf_time busy_at(hf_listener *w) {
    hf_time at;

    pthread_mutex_lock(&w->mu);
    at = w->sweep_at;
    pthread_mutex_unlock(&w->mu);
    return hf__sooner(hf__sooner(at, w->ping_at), dead_at(w));
}

/* One round with a connection. */
static void serve(hf_listener *w) {
    if (take_cut(w) || !send_wants(w) || !hear_all(w) ||
        hf__now() > dead_at(w)) {
        break_up(w);
        return;
    }
    doze(w, busy_at(w));
}

/* Listener thread. */
static void *run(void *arg) {
    hf_listener *w = arg;

    while (!is_stopping(w)) {
        if (w->conn)
            serve(w);
        else if (is_needed(w))
            connect_again(w);
        else
            doze(w, HF_NEVER);
    }
    return NULL;
}

/* mu. */
static void ring(hf_listener *w) {
    uint64_t one = 1;

    if (w->rung)
        return;
    w->rung = true;
    while (write(w->bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* ---- what others call -------------------------------------------------- */

/* mu.  With the first who listens; a cluster has many whom nobody listens to. */
static int start(hf_listener *w, hf_error *err) {
    int why;

    if (w->runs)
        return HF_OK;
    if (w->bell < 0)
        w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    why = w->bell < 0 ? errno : hf__world->thread_start(&w->thread, run, w);
    if (why)
        return hf__fail(err, HF_ESYSTEM, "cannot start the listener: %s",
                        strerror(why));
    w->runs = true;
    return HF_OK;
}

/* mu.  Will trying again help? */
static bool hopeless(int code) {
    return code == HF_EAUTH || code == HF_EFORBIDDEN || code == HF_ETLS ||
           code == HF_EURI;
}

/* mu. */
static int await(hf_listener *w, channel *c, hf_time by, hf_error *err) {
    const char *where = w->server->where;

    while (c->state != HEARD && c->state != REFUSED && !hopeless(w->why.code) &&
           hf__now() < by)
        hf__world->wait(&w->changed, &w->mu, by);
    if (c->state == HEARD)
        return HF_OK;
    if (c->state == REFUSED)
        return hf__fail(err, c->code, "%s: may not subscribe to %.100s", where,
                        c->text);
    if (w->why.code) {
        *err = w->why;
        return err->code;
    }
    return hf__fail(err, HF_EDOWN, "%s: no answer to SUBSCRIBE in time", where);
}

/* mu. */
static void drop(hf_listener *w, channel *c) {
    if (--c->watches > 0)
        return;
    w->watched--;
    c->leave_at = hf__now() + LINGER;
    w->sweep_at = hf__sooner(w->sweep_at, c->leave_at + SWEEP);
}

/* mu.  NULL: err says why. */
static channel *join(hf_listener *w, const char *text, hf_error *err) {
    channel *c;

    if (start(w, err) != HF_OK)
        return NULL;
    c = enter(w, text);
    if (!c) {
        hf__fail_plain(err, HF_ENO_MEMORY);
        return NULL;
    }
    if (c->watches++ == 0)
        w->watched++;
    if (c->state == REFUSED)
        want(w, c);
    if (c->state == WANTED)
        ring(w);
    return c;
}

int hf__listener_watch(hf_listener *w, const char *text, hf_time by,
                       hf_error *err) {
    channel *c;
    int rc;

    pthread_mutex_lock(&w->mu);
    c = join(w, text, err);
    rc = c ? await(w, c, by, err) : err->code;
    if (c && rc != HF_OK)
        drop(w, c);
    pthread_mutex_unlock(&w->mu);
    return rc;
}

int hf__listener_adopt(hf_listener *w, const char *text, hf_error *err) {
    channel *c;
    int rc;

    pthread_mutex_lock(&w->mu);
    c = join(w, text, err);
    rc = !c ? err->code : c->state == HEARD ? HF_OK : HF_BUSY;
    pthread_mutex_unlock(&w->mu);
    return rc;
}

bool hf__listener_hears(hf_listener *w, const char *text) {
    bool hears;

    pthread_mutex_lock(&w->mu);
    channel *c = *find(w, text);
    hears = c && c->state == HEARD;
    pthread_mutex_unlock(&w->mu);
    return hears;
}

void hf__listener_unwatch(hf_listener *w, const char *text) {
    channel *c;

    pthread_mutex_lock(&w->mu);
    c = *find(w, text);
    if (c && c->watches)
        drop(w, c);
    pthread_mutex_unlock(&w->mu);
}

int hf__listener_new(hf_listener **ret, const hf_listener_needs *needs,
                     hf_error *err) {
    hf_listener *w = hf__calloc(1, sizeof *w);

    if (!w)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    w->needs = *needs;
    w->server = needs->server;
    w->under_way_end = &w->under_way;
    w->sweep_at = HF_NEVER;
    pthread_mutex_init(&w->mu, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->n_buckets = 64;
    w->buckets = hf__calloc(w->n_buckets, sizeof *w->buckets);
    w->bell = -1;
    if (!w->buckets) {
        hf__listener_free(w, false);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    *ret = w;
    return HF_OK;
}

/* The bell is struck in any case: whoever rang before may have been heard
 * while there was no connection. */
void hf__listener_cut(hf_listener *w) {
    pthread_mutex_lock(&w->mu);
    w->cut = w->runs;
    w->rung = false;
    if (w->runs)
        ring(w);
    pthread_mutex_unlock(&w->mu);
}

static void free_channel(hf_listener *w, channel *c, void *arg) {
    (void)w, (void)arg;
    hf__free(c);
}

static void stop(hf_listener *w) {
    pthread_mutex_lock(&w->mu);
    w->stopping = true;
    if (w->runs)
        ring(w);
    pthread_mutex_unlock(&w->mu);
    if (w->runs)
        hf__world->thread_join(w->thread);
}

void hf__listener_free(hf_listener *w, bool forked) {
    if (!w)
        return;
    if (forked) {
        if (w->conn)
            hf__world->close(w->conn->fd);
        if (w->bell >= 0)
            close(w->bell);
        return;
    }
    stop(w);
    hf__conn_close(w->conn);
    while (w->under_way)
        answered(w);
    if (w->buckets)
        each(w, free_channel, NULL);
    hf__free(w->buckets);
    if (w->bell >= 0)
        close(w->bell);
    pthread_mutex_destroy(&w->mu);
    pthread_cond_destroy(&w->changed);
    hf__free(w);
}
