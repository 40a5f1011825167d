/* SPDX-License-Identifier: MIT
 *
 * streams.c - what goes on without being asked: keepalives and watches.
 *
 *              dial                  streams opened, watches asked anew
 *   nothing ─────────► connected ──────────────────────────────────────► up
 *      ▲                   │                                              │
 *      └───────────────────┴──────────────────────────────────────────────┘
 *                 broken, silent, or a stream ended: another server
 *
 * mu guards everything but is not held while the thread sleeps, dials or tells.
 * Who watches writes the request himself; only the thread reads and breaks.
 *
 * A watch begins with the server's next change.  One that was asked to begin at
 * a change that has happened already would be served from a loop that runs
 * every 100 ms; so what happened between the caller's look and now is his to
 * find out, by looking once more. */
#include "streams.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"
#include "status.h"
#include "watch.h"

static const hf_time DIAL = 2 * HF_SECOND, TICK = 5 * HF_SECOND;
static const hf_time SILENT = 10 * HF_SECOND, PONG = 3 * HF_SECOND;
static const hf_time ANSWER_MIN = 500 * HF_MS, ANSWER_MAX = 3 * HF_SECOND;
static const hf_time PAUSE_MIN = 50 * HF_MS, PAUSE_MAX = 2 * HF_SECOND;

struct hf_streams {
    hf_speaker *speaker;
    hf_port_host host;
    hf_session *session;
    int bell;
    pthread_t thread;
    bool runs;

    pthread_mutex_t mu; /* guards all of the rest */
    pthread_cond_t changed;
    bool stopping;

    hf_grpc *g; /* NULL: not connected */
    size_t endpoint;
    unsigned serial; /* of the token it was opened with */
    bool ended;      /* one of its streams did, or it broke */
    bool came_back;  /* to be told */
    bool to_sweep;   /* likewise, for ghosts */
    bool was_up;
    bool token_old;
    hf_time pause, retry_at, pinged;

    hf_call keep;    /* the stream of keepalives */
    int64_t kept;    /* the lease whose answer is awaited; 0: none */
    hf_time sent_at; /* that question */

    hf_call watch; /* the stream of watches */
    hf_watches watches;
};

void hf__streams_ring(void *streams) {
    hf_streams *st = streams;
    const uint64_t one = 1;

    while (write(st->bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

/* ---- what comes (mu) --------------------------------------------------- */

static void stream_ended(hf_call *c) {
    hf_streams *st = c->arg;

    st->ended = true;
}

static void kept_alive(hf_call *c, hf_bytes message) {
    hf_streams *st = c->arg;
    hf_leased answer;

    if (!hf__read_lease(message, &answer) || answer.lease != st->kept)
        return;
    st->kept = 0;
    st->pause = 0;
    hf__session_kept(st->session, answer.lease, st->sent_at, answer.ttl);
}

/* The server refuses the watch, or ends it since the past is compacted.  A
 * token that has become too old looks like a right that we never had. */
static void cancelled(hf_streams *st, hf_watch *w, const hf_watched *m) {
    if (w->spent)
        return; /* as we asked for */
    if (m->compacted || !w->awaited) {
        hf__etcd_watch_spend(&st->watches, w, false);
    } else if (!w->retried && hf__auth_user(st->speaker->auth)) {
        w->retried = st->token_old = st->ended = true;
        return;
    } else {
        w->code = HF_EFORBIDDEN;
        snprintf(w->reason, sizeof w->reason, "%.*s", (int)m->reason.n,
                 (const char *)m->reason.at);
    }
    pthread_cond_broadcast(&st->changed);
}

static void created(hf_streams *st, hf_watch *w, const hf_watched *m) {
    if (!w->revision)
        w->revision = m->revision;
    if (w->awaited)
        pthread_cond_broadcast(&st->changed);
}

static void unask(hf_streams *st, uint64_t id) {
    hf_pb b = {0};

    hf__write_unwatch(&b, (int64_t)id);
    hf__grpc_say(st->g, &st->watch, &b);
    hf__pb_free(&b);
}

static void watch_told(hf_call *c, hf_bytes message) {
    hf_streams *st = c->arg;
    hf_watched m;
    hf_watch *w;
    bool gone;

    if (!hf__read_watch(message, &m))
        return;
    st->pause = 0;
    w = hf__etcd_watches_find(&st->watches, (uint64_t)m.id);
    if (!w || !w->asked)
        return;
    if (m.cancelled || m.compacted) {
        cancelled(st, w, &m);
        return;
    }
    if (m.created)
        created(st, w, &m);
    if (hf__etcd_watch_concerns(w, &m, &gone)) {
        unask(st, w->id);
        if (w->awaited)
            pthread_cond_broadcast(&st->changed);
        hf__etcd_watch_spend(&st->watches, w, gone);
    }
}

/* ---- what goes (mu) ---------------------------------------------------- */

static void start(hf_streams *st, hf_call *c, const char *path,
                  void (*message)(hf_call *, hf_bytes), const hf_pb *first) {
    unsigned serial;
    char *token = hf__auth_token(st->speaker->auth, &serial);

    *c = (hf_call){.path = path,
                   .token = token,
                   .stays_open = true,
                   .message = message,
                   .ended = stream_ended,
                   .arg = st};
    st->serial = serial;
    if (!hf__grpc_start(st->g, c, first))
        st->ended = true;
    c->token = NULL;
    hf__free(token);
}

static void send_keepalive(hf_streams *st, int64_t lease) {
    hf_pb b = {0};

    hf__write_lease(&b, lease);
    st->kept = lease;
    st->sent_at = hf__now();
    if (!st->keep.id)
        start(st, &st->keep, HF_RPC_KEEPALIVE, kept_alive, &b);
    else if (!hf__grpc_say(st->g, &st->keep, &b))
        st->ended = true;
    hf__pb_free(&b);
}

static bool ask_watch(void *arg, hf_watch *w) {
    hf_streams *st = arg;
    hf_pb b = {0};

    if (w->asked)
        return true;
    w->asked = true;
    hf__etcd_watch_write(&b, w);
    if (!st->watch.id)
        start(st, &st->watch, HF_RPC_WATCH, watch_told, &b);
    else if (!hf__grpc_say(st->g, &st->watch, &b))
        st->ended = true;
    hf__pb_free(&b);
    return !st->ended;
}

/* How long an answer may take: less than a third of the session, so that a
 * second server can be asked in time. */
static hf_time patience(hf_streams *st) {
    hf_time third = hf__session_granted_ms(st->session) * HF_MS / 3;

    return third < ANSWER_MIN ? ANSWER_MIN :
           third > ANSWER_MAX ? ANSWER_MAX :
                                third;
}

/* A server that is silent for long is asked whether it is there: a watch may
 * have nothing to tell.  When to look again. */
static hf_time ping(hf_streams *st) {
    hf_time now = hf__now(), heard = hf__grpc_heard(st->g);

    if (!st->watch.id)
        return HF_NEVER;
    if (st->pinged <= heard && now >= heard + SILENT) {
        hf__grpc_ping(st->g);
        st->pinged = now;
    } else if (st->pinged > heard && now >= st->pinged + PONG) {
        st->ended = true;
    }
    return st->pinged > heard ? st->pinged + PONG : heard + SILENT;
}

/* Does what is due.  The moment when something is next. */
static hf_time serve(hf_streams *st) {
    hf_time now = hf__now(), due = hf__session_due(st->session), next_ping;
    int64_t lease = hf__session_lease(st->session);

    if (st->kept != lease)
        st->kept = 0;
    if (st->kept && now >= st->sent_at + patience(st))
        st->ended = true;
    else if (lease && now >= due && st->kept != lease)
        send_keepalive(st, lease);
    hf__etcd_watches_each(&st->watches, ask_watch, st);
    next_ping = ping(st);
    if (!st->ended && hf__grpc_flush(st->g) < 0)
        st->ended = true;
    if (st->kept)
        due = st->sent_at + patience(st);
    return hf__sooner(due, next_ping);
}

/* ---- the connection (mu) ----------------------------------------------- */

static bool unask_it(void *arg, hf_watch *w) {
    (void)arg;
    w->asked = false;
    return true;
}

static void rest(hf_streams *st) {
    st->pause = st->pause ? hf__sooner(2 * st->pause, PAUSE_MAX) : PAUSE_MIN;
    st->retry_at = hf__now() + hf__jitter(st->pause);
}

/* A stream that ended says why; a token that is too old is cured by another. */
static bool wants_token(const hf_call *c) {
    return c->status > 0 && hf__status_rule(c, true).cure == HF_NEW_TOKEN;
}

static void hang_up(hf_streams *st) {
    bool token =
        st->token_old || wants_token(&st->keep) || wants_token(&st->watch);
    hf_grpc *g = st->g;
    unsigned serial = st->serial;
    hf_error err;

    if (!g)
        return;
    hf__log_broke(st->host.host,
                  hf__endpoint_where(st->speaker->at, st->endpoint),
                  "the stream of keepalives and watches ended");
    hf__endpoints_shun(st->speaker->at, st->endpoint);
    st->g = NULL;
    hf__grpc_drop(g, &st->keep);
    hf__grpc_drop(g, &st->watch);
    hf__grpc_clear(&st->keep);
    hf__grpc_clear(&st->watch);
    hf__grpc_free(g);
    st->keep = st->watch = (hf_call){0};
    st->kept = 0;
    st->ended = st->token_old = false;
    st->pinged = 0;
    hf__etcd_watches_each(&st->watches, unask_it, NULL);
    rest(st);
    if (!token)
        return;
    pthread_mutex_unlock(&st->mu);
    hf__auth_renew(st->speaker->auth, st->speaker->calls, serial,
                   hf__now() + DIAL, &err);
    pthread_mutex_lock(&st->mu);
}

static bool is_needed(hf_streams *st) {
    return st->watches.n > 0 || hf__session_lease(st->session) != 0;
}

static void connect_to(hf_streams *st) {
    hf_grpc *g = NULL;
    size_t endpoint = 0;
    hf_error err;
    int rc;

    pthread_mutex_unlock(&st->mu);
    rc = hf__endpoints_dial(st->speaker->at, &g, &endpoint, hf__now() + DIAL,
                            &err);
    pthread_mutex_lock(&st->mu);
    if (rc != HF_OK) {
        rest(st);
        return;
    }
    st->g = g;
    st->endpoint = endpoint;
    st->came_back = st->to_sweep = st->was_up;
    st->was_up = true;
}

/* ---- the thread -------------------------------------------------------- */

static bool spend_it(void *arg, hf_watch *w) {
    hf_streams *st = arg;

    if (w->awaited)
        return true;
    if (w->asked && st->g)
        unask(st, w->id);
    hf__etcd_watches_remove(&st->watches, w);
    return true;
}

/* Without any lock, in the order in which it happened. */
static void tell(hf_streams *st) {
    hf_moved *m = st->watches.moved, *next;
    uint64_t generation = hf__session_news(st->session);
    bool came_back = st->came_back;

    if (!m && !generation && !came_back)
        return;
    st->watches.moved = NULL;
    st->watches.moved_end = &st->watches.moved;
    st->came_back = false;
    if (generation)
        hf__etcd_watches_each(&st->watches, spend_it, st);
    pthread_mutex_unlock(&st->mu);
    for (; m; m = next) {
        next = m->next;
        st->host.moved(st->host.line_store, m->id, m->gone);
        hf__free(m);
    }
    if (generation)
        hf__log(st->host.host, HF_LOG_WARN, "the session is over",
                {"generation", hf__digits((int64_t)generation - 1).text});
    if (came_back)
        hf__log(st->host.host, HF_LOG_INFO, "releases are heard of again",
                {"node", hf__endpoint_where(st->speaker->at, st->endpoint)});
    if (generation)
        st->host.renewed(st->host.line_store, generation);
    if (came_back)
        st->host.reconnected(st->host.line_store);
    pthread_mutex_lock(&st->mu);
}

static void sleep_until(hf_streams *st, hf_time until) {
    struct pollfd fds[2] = {{.fd = st->bell, .events = POLLIN}};
    nfds_t n = 1;
    uint64_t rung;

    if (st->g) {
        fds[1].fd = hf__grpc_fd(st->g);
        fds[1].events = hf__grpc_events(st->g);
        n = 2;
    }
    pthread_mutex_unlock(&st->mu);
    hf__world->poll(fds, n, until);
    if (fds[0].revents && read(st->bell, &rung, sizeof rung) < 0)
        rung = 0;
    pthread_mutex_lock(&st->mu);
    if (n == 2 && fds[1].revents && hf__grpc_fill(st->g) < 0)
        st->ended = true;
}

/* What belongs to the other connection, and is done here because nobody else
 * is there.  When to do it again. */
static hf_time look_after_calls(hf_streams *st) {
    bool swept = st->to_sweep;
    hf_time at;

    st->to_sweep = false;
    pthread_mutex_unlock(&st->mu);
    hf__calls_idle(st->speaker->calls);
    at = hf__session_sweep(st->session, swept);
    pthread_mutex_lock(&st->mu);
    return at;
}

static void *run(void *arg) {
    hf_streams *st = arg;

    pthread_mutex_lock(&st->mu);
    while (!st->stopping) {
        hf_time until = look_after_calls(st);

        tell(st);
        if (st->ended)
            hang_up(st);
        if (!st->g && is_needed(st) && hf__now() >= st->retry_at)
            connect_to(st);
        if (st->g)
            until = hf__sooner(until, serve(st));
        else if (is_needed(st))
            until = hf__sooner(until, st->retry_at);
        until = hf__sooner(until, hf__now() + TICK);
        if (!st->stopping && !st->ended && !st->watches.moved && !st->came_back)
            sleep_until(st, until);
    }
    pthread_mutex_unlock(&st->mu);
    return NULL;
}

/* ---- watches ----------------------------------------------------------- */

/* Sends what there is; what that does not do is the thread's. */
static void push(hf_streams *st) {
    if (st->g && !st->ended && hf__grpc_flush(st->g) < 0)
        st->ended = true;
    if (!st->g || st->ended || hf__grpc_events(st->g) & POLLOUT)
        hf__streams_ring(st);
}

static int settle(hf_streams *st, hf_watch *w, int64_t *revision,
                  hf_error *err) {
    int rc = HF_OK;

    w->awaited = false;
    *revision = w->revision;
    if (w->code)
        rc = hf__fail(err, w->code, "etcd: %s", w->reason);
    else if (w->spent)
        rc = HF_EFREE;
    else if (!w->revision)
        rc = hf__fail(err, HF_EDOWN, "no answer to the request to watch");
    if (rc == HF_EFREE)
        hf__fail_plain(err, rc);
    if (rc != HF_OK) {
        if (w->asked && st->g && !w->code)
            unask(st, w->id);
        hf__etcd_watches_remove(&st->watches, w);
    }
    return rc;
}

int hf__streams_watch(hf_streams *st, uint64_t id, hf_watch_sort sort,
                      const hf_key *key, const hf_key *end, int64_t *revision,
                      hf_time by, hf_error *err) {
    hf_watch *w;
    int rc;

    pthread_mutex_lock(&st->mu);
    w = hf__etcd_watches_add(&st->watches, id, sort, key, end);
    if (!w) {
        pthread_mutex_unlock(&st->mu);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    w->awaited = true;
    if (st->g && !st->ended)
        ask_watch(st, w);
    push(st);
    while (!w->revision && !w->code && !w->spent && hf__now() < by)
        hf__world->wait(&st->changed, &st->mu, by);
    rc = settle(st, w, revision, err);
    pthread_mutex_unlock(&st->mu);
    return rc;
}

void hf__streams_unwatch(hf_streams *st, uint64_t id) {
    hf_watch *w;

    pthread_mutex_lock(&st->mu);
    w = hf__etcd_watches_find(&st->watches, id);
    if (w && !w->awaited) {
        if (w->asked && st->g && !st->ended) {
            unask(st, id);
            push(st);
        }
        hf__etcd_watches_remove(&st->watches, w);
    }
    pthread_mutex_unlock(&st->mu);
}

/* ---- life -------------------------------------------------------------- */

int hf__streams_new(hf_streams **ret, hf_speaker *speaker,
                    const hf_port_host *host, hf_error *err) {
    hf_streams *st = hf__calloc(1, sizeof *st);

    if (!st)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    st->speaker = speaker;
    st->host = *host;
    hf__etcd_watches_init(&st->watches);
    pthread_mutex_init(&st->mu, NULL);
    pthread_cond_init(&st->changed, NULL);
    st->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (st->bell < 0) {
        hf__streams_free(st);
        return hf__fail(err, HF_ESYSTEM, "eventfd: %s", strerror(errno));
    }
    *ret = st;
    return HF_OK;
}

int hf__streams_start(hf_streams *st, hf_session *session, hf_error *err) {
    int why;

    st->session = session;
    why = hf__world->thread_start(&st->thread, run, st);
    st->runs = why == 0;
    if (why)
        return hf__fail(err, HF_ESYSTEM, "cannot start a thread: %s",
                        strerror(why));
    return HF_OK;
}

void hf__streams_stop(hf_streams *st) {
    if (!st || !st->runs)
        return;
    pthread_mutex_lock(&st->mu);
    st->stopping = true;
    pthread_mutex_unlock(&st->mu);
    hf__streams_ring(st);
    hf__world->thread_join(st->thread);
    st->runs = false;
}

void hf__streams_free(hf_streams *st) {
    if (!st)
        return;
    if (st->g) {
        hf__grpc_drop(st->g, &st->keep);
        hf__grpc_drop(st->g, &st->watch);
        hf__grpc_free(st->g);
    }
    hf__grpc_clear(&st->keep);
    hf__grpc_clear(&st->watch);
    hf__etcd_watches_clear(&st->watches);
    if (st->bell >= 0)
        close(st->bell);
    pthread_mutex_destroy(&st->mu);
    pthread_cond_destroy(&st->changed);
    hf__free(st);
}

void hf__streams_abandon(hf_streams *st) {
    hf__grpc_abandon(st->g);
    close(st->bell);
}
