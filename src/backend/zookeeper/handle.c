/* SPDX-License-Identifier: MIT
 *
 * handle.c - one ZooKeeper session at a time, and the next when it is over.
 *
 *      make               connected             lost               over
 *   ───────► connecting ───────────► connected ──────► connecting ──────► gone
 *                                        ▲                  │       and made
 *                                        └──────────────────┘       again
 *
 * All of it is done by one thread.  libzookeeper's own threads are begotten by
 * it, so that they block all signals as it does, and slow name servers hold up
 * nobody else.  A handle must not be closed on a thread of its own, nor while
 * somebody calls it: who calls is counted.
 *
 * A session may also go on through another handle: see mind_handshake.
 *
 * That a session is over is known only when a server can be reached again.  It
 * may have been over for long by then: who holds something goes by the clock
 * (hf__zk_session_ms), not by what is known here. */
#include "handle.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"

enum {
    PAUSE_MS = 500, /* before a handle that could not be made is tried again */
    CLOSING_MS =
        8000,      /* libzookeeper takes 4.5 s at most, names may take more */
    LOOK_MS = 100, /* at a handle that is not connected */
    LEAST_STUCK_MS = 1000,
    MOST_STUCK_MS = 2000, /* at first: see stuck_after_ms */
    CLOCK_GOOD_S = 3600   /* see hf__zk_saw_clock */
};

struct hf_zk {
    hf_zk_host host;
    char *hosts, *auth;
    int wished_ms;
    pthread_t thread;

    pthread_mutex_t mu;
    pthread_cond_t changed; /* mu, and so is all below */
    hf_session *session;    /* NULL: being made */
    uint64_t generation, handles;
    int stuck_ms;   /* a handshake takes less; doubled while it does not */
    bool came_back; /* to be told */
    bool closing, ended;
    char trouble[96]; /* why there is no handle; "": there is */
    hf_time good_until;
    int timeout_ms;      /* as last granted */
    int64_t clock_ahead; /* of hf__now(), in ms */
    hf_time clock_seen;  /* 0: never */
};

/* ---- what libzookeeper tells ------------------------------------------- */

/* The library never prints. */
static void log_nothing(const char *message) {
    (void)message;
}

/* A handshake with a server that serves takes a round trip; with one that is
 * slow it may take longer, so that the time is doubled while none succeeds.
 * However long the session, others may wait for what we hold or would hold
 * next: seconds are all that one silent server may cost them. */
static int stuck_after_ms(int timeout_ms) {
    int ms = timeout_ms / 6;

    return ms < LEAST_STUCK_MS ? LEAST_STUCK_MS :
           ms > MOST_STUCK_MS  ? MOST_STUCK_MS :
                                 ms;
}

static void is_connected(hf_session *s, zhandle_t *zh) {
    const clientid_t *id = zoo_client_id(zh);

    s->id = id->client_id;
    s->timeout_ms = zoo_recv_timeout(zh);
    s->zk->timeout_ms = s->timeout_ms;
    s->zk->stuck_ms = stuck_after_ms(s->timeout_ms);
    if (s->known)
        s->zk->came_back = true;
    s->known = s->connected = s->unsealed = true;
}

static void log_move(const hf_session *s, zhandle_t *zh, int state) {
    const hf_host *host = s->zk->host.host;

    if (state == ZOO_CONNECTED_STATE)
        hf__log_connected(host, zoo_get_current_server(zh));
    else if (state == ZOO_AUTH_FAILED_STATE)
        hf__log(host, HF_LOG_ERROR, "the credentials were refused",
                {"code", hf_error_name(HF_EAUTH)});
    else if (s->connected)
        hf__log_broke(host, "", "the server is silent, or gone");
}

/* libzookeeper's thread. */
static void session_moved(zhandle_t *zh, int type, int state, const char *path,
                          void *arg) {
    hf_session *s = arg;

    (void)path;
    if (type != ZOO_SESSION_EVENT)
        return;
    pthread_mutex_lock(&s->zk->mu);
    if (!s->retired && !s->zk->closing) /* then the host may be gone */
        log_move(s, zh, state);
    s->connected = false;
    if (s->retired)
        state = 0;
    else if (state == ZOO_CONNECTED_STATE)
        is_connected(s, zh);
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        s->over = true;
    else if (state == ZOO_AUTH_FAILED_STATE)
        s->over = s->refused = true;
    pthread_cond_broadcast(&s->zk->changed);
    pthread_mutex_unlock(&s->zk->mu);
}

/* libzookeeper's thread.  Every watch also hears of the session, of which
 * everybody is told in another way. */
void hf__zk_watcher(zhandle_t *zh, int type, int state, const char *path,
                    void *watch) {
    const hf_session *s = zoo_get_context(zh);

    (void)state;
    (void)path;
    if (type != ZOO_SESSION_EVENT)
        s->zk->host.fired(s->zk->host.arg, (uint64_t)(uintptr_t)watch,
                          type == ZOO_DELETED_EVENT);
}

/* ---- the thread (mu) --------------------------------------------------- */

static void authenticate(zhandle_t *zh, const char *auth) {
    if (auth)
        zoo_add_auth(zh, "digest", auth, (int)strlen(auth), NULL, NULL);
}

/* Without mu: names are looked up here. */
static zhandle_t *make_handle(hf_zk *zk, hf_session *s, const clientid_t *id) {
    zhandle_t *zh = zookeeper_init2(zk->hosts, session_moved, zk->wished_ms, id,
                                    s, ZOO_NO_LOG_CLIENTENV, log_nothing);

    if (!zh)
        return NULL;
    /* Else every turn of its loop asks the name servers, and seeds the
     * program's random(). */
    zoo_set_servers_resolution_delay(zh, -1);
    authenticate(zh, zk->auth);
    return zh;
}

/* `like`: a handle for the same session as that one's; NULL: for a new one.
 * NULL: it could not be made. */
static hf_session *new_session(hf_zk *zk, const hf_session *like) {
    hf_session *s = hf__calloc(1, sizeof *s);
    clientid_t id;
    bool known = like && like->known;

    if (!s)
        return NULL;
    *s = (hf_session){.zk = zk,
                      .generation = zk->generation,
                      .handle = ++zk->handles,
                      .known = known};
    if (known)
        id = *zoo_client_id(like->zh);
    pthread_mutex_unlock(&zk->mu);
    s->zh = make_handle(zk, s, known ? &id : NULL);
    pthread_mutex_lock(&zk->mu);
    if (s->zh)
        return s;
    hf__free(s);
    return NULL;
}

static void make_session(hf_zk *zk) {
    zk->session = new_session(zk, NULL);
    snprintf(zk->trouble, sizeof zk->trouble, "%s",
             zk->session ? "" : "none of its hosts could be looked up");
    pthread_cond_broadcast(&zk->changed);
    if (!zk->session)
        hf__world->wait(&zk->changed, &zk->mu, hf__after_ms(PAUSE_MS));
}

/* Nobody comes in any more; who is inside leaves without waiting. */
static void close_session(hf_zk *zk, hf_session *s) {
    while (s->inside > 0)
        hf__world->wait(&zk->changed, &zk->mu, HF_NEVER);
    pthread_mutex_unlock(&zk->mu);
    zookeeper_close(s->zh);
    pthread_mutex_lock(&zk->mu);
    hf__free(s);
}

static void end_session(hf_zk *zk) {
    hf_session *s = zk->session;

    zk->session = NULL;
    if (s)
        close_session(zk, s);
}

/* A handle that is closed while it is connected takes the session along.  The
 * other one's connection ends its own, should it have one. */
static void await_silence(hf_zk *zk, const hf_session *s) {
    hf_time by = hf__after_ms(LEAST_STUCK_MS);

    while (zoo_state(s->zh) == ZOO_CONNECTED_STATE && hf__now() < by)
        hf__world->wait(&zk->changed, &zk->mu, hf__after_ms(1));
}

/* The same session through another handle.  Watches hang on the old one. */
static void change_handle(hf_zk *zk) {
    hf_session *old = zk->session, *s;

    old->retired = true;
    zk->stuck_ms *= 2;
    s = new_session(zk, old);
    if (!s) {
        old->retired = false;
        old->stuck_since = 0;
        return;
    }
    zk->session = s;
    await_silence(zk, old);
    close_session(zk, old);
    pthread_mutex_unlock(&zk->mu);
    zk->host.replaced(zk->host.arg, s->handle);
    pthread_mutex_lock(&zk->mu);
}

/* A server that is starting, or asleep, may take a connection and never say a
 * word; libzookeeper waits for two thirds of the session, and what is held
 * would be lost for nothing. */
static void mind_handshake(hf_zk *zk) {
    hf_session *s = zk->session;
    hf_time now = hf__now();

    if (zoo_state(s->zh) != ZOO_ASSOCIATING_STATE)
        s->stuck_since = 0;
    else if (!s->stuck_since)
        s->stuck_since = now;
    if (s->stuck_since && now - s->stuck_since >= zk->stuck_ms * HF_MS)
        change_handle(zk);
    else
        hf__world->wait(&zk->changed, &zk->mu, hf__after_ms(LOOK_MS));
}

/* Told before the next is made, which may take its time. */
static void begin_generation(hf_zk *zk) {
    uint64_t generation = ++zk->generation;
    bool refused = zk->session->refused;

    hf__log(zk->host.host, HF_LOG_WARN, "the session is over",
            {"generation", hf__digits((int64_t)generation - 1).text});
    zk->good_until = 0;
    zk->came_back = false;
    end_session(zk);
    pthread_mutex_unlock(&zk->mu);
    zk->host.renewed(zk->host.arg, generation);
    pthread_mutex_lock(&zk->mu);
    if (refused)
        hf__world->wait(&zk->changed, &zk->mu, hf__after_ms(PAUSE_MS));
}

static void tell_of_return(hf_zk *zk) {
    zk->came_back = false;
    pthread_mutex_unlock(&zk->mu);
    zk->host.reconnected(zk->host.arg);
    pthread_mutex_lock(&zk->mu);
}

static void seal_session(hf_zk *zk) {
    hf_session *s = zk->session;

    s->unsealed = false;
    s->inside++;
    pthread_mutex_unlock(&zk->mu);
    hf__zk_seal(s);
    pthread_mutex_lock(&zk->mu);
    s->inside--;
}

static void *run(void *arg) {
    hf_zk *zk = arg;

    pthread_mutex_lock(&zk->mu);
    while (!zk->closing) {
        if (!zk->session)
            make_session(zk);
        else if (zk->session->over)
            begin_generation(zk);
        else if (zk->session->unsealed)
            seal_session(zk);
        else if (zk->came_back)
            tell_of_return(zk);
        else if (!zk->session->connected)
            mind_handshake(zk);
        else
            hf__world->wait(&zk->changed, &zk->mu, HF_NEVER);
    }
    end_session(zk);
    zk->ended = true;
    pthread_cond_broadcast(&zk->changed);
    pthread_mutex_unlock(&zk->mu);
    return NULL;
}

/* ---- life -------------------------------------------------------------- */

static void free_zk(hf_zk *zk) {
    pthread_mutex_destroy(&zk->mu);
    pthread_cond_destroy(&zk->changed);
    hf__free(zk->hosts);
    if (zk->auth)
        explicit_bzero(zk->auth, strlen(zk->auth));
    hf__free(zk->auth);
    hf__free(zk);
}

static hf_zk *new_zk(const hf_zk_options *options, const hf_zk_host *host) {
    hf_zk *zk = hf__calloc(1, sizeof *zk);

    if (!zk)
        return NULL;
    *zk = (hf_zk){.host = *host,
                  .hosts = hf__strdup(options->hosts),
                  .auth = options->auth ? hf__strdup(options->auth) : NULL,
                  .wished_ms = options->session_ms,
                  .timeout_ms = options->session_ms,
                  .stuck_ms = stuck_after_ms(options->session_ms),
                  .generation = 1};
    pthread_mutex_init(&zk->mu, NULL);
    pthread_cond_init(&zk->changed, NULL);
    if (zk->hosts && (zk->auth || !options->auth))
        return zk;
    free_zk(zk);
    return NULL;
}

int hf__zk_open(hf_zk **ret, const hf_zk_options *options,
                const hf_zk_host *host, hf_time by, hf_error *err) {
    hf_zk *zk = new_zk(options, host);
    hf_session *s;
    int rc;

    if (!zk)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (hf__world->thread_start(&zk->thread, run, zk) != 0) {
        free_zk(zk);
        return hf__fail(err, HF_ESYSTEM, "no thread could be started");
    }
    rc = hf__zk_enter(&s, zk, by, err);
    if (rc != HF_OK) {
        hf__zk_close(zk);
        return rc;
    }
    hf__zk_seal(s); /* the thread does it, too, but perhaps later than now */
    hf__zk_leave(s);
    *ret = zk;
    return HF_OK;
}

/* A thread that is held up by a name server frees nothing and is left to
 * itself: it finds out that it is over. */
void hf__zk_close(hf_zk *zk) {
    hf_time by = hf__after_ms(CLOSING_MS);
    bool ended;

    pthread_mutex_lock(&zk->mu);
    zk->closing = true;
    pthread_cond_broadcast(&zk->changed);
    while (!zk->ended && hf__now() < by)
        hf__world->wait(&zk->changed, &zk->mu, by);
    ended = zk->ended;
    pthread_mutex_unlock(&zk->mu);
    if (!ended) {
        pthread_detach(zk->thread);
        return;
    }
    hf__world->thread_join(zk->thread);
    free_zk(zk);
}

/* ---- the session ------------------------------------------------------- */

/* mu.  The event that tells of a loss comes a little after the answers that
 * tell of it: hence the handle is asked as well.  Whatever it says, an event
 * follows. */
static bool is_ready(const hf_zk *zk) {
    const hf_session *s = zk->session;

    return s && s->connected && !s->over &&
           zoo_state(s->zh) == ZOO_CONNECTED_STATE;
}

static int why_not(const hf_zk *zk, hf_error *err) {
    if (zk->session && zk->session->refused)
        return hf__fail(err, HF_EAUTH, "ZooKeeper refused the credentials");
    if (zk->trouble[0])
        return hf__fail(err, HF_EDOWN, "ZooKeeper cannot be reached: %s",
                        zk->trouble);
    return hf__fail(err, HF_EDOWN,
                    "ZooKeeper cannot be reached: no server of %.150s takes us",
                    zk->hosts);
}

int hf__zk_enter(hf_session **ret, hf_zk *zk, hf_time by, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&zk->mu);
    while (!is_ready(zk) && hf__now() < by &&
           !(zk->session && zk->session->refused))
        hf__world->wait(&zk->changed, &zk->mu, by);
    if (is_ready(zk)) {
        *ret = zk->session;
        (*ret)->inside++;
    } else {
        rc = why_not(zk, err);
    }
    pthread_mutex_unlock(&zk->mu);
    return rc;
}

void hf__zk_leave(hf_session *s) {
    hf_zk *zk = s->zk;

    pthread_mutex_lock(&zk->mu);
    if (--s->inside == 0 && s != zk->session)
        pthread_cond_broadcast(&zk->changed);
    pthread_mutex_unlock(&zk->mu);
}

void hf__zk_answered(hf_zk *zk, uint64_t generation, hf_time sent) {
    hf_time good;

    pthread_mutex_lock(&zk->mu);
    good = sent + HF_MS * 3 * (zk->timeout_ms / 4);
    if (generation == zk->generation && good > zk->good_until)
        zk->good_until = good;
    pthread_mutex_unlock(&zk->mu);
}

uint64_t hf__zk_generation(hf_zk *zk) {
    uint64_t generation;

    pthread_mutex_lock(&zk->mu);
    generation = zk->generation;
    pthread_mutex_unlock(&zk->mu);
    return generation;
}

int hf__zk_timeout_ms(hf_zk *zk) {
    int ms;

    pthread_mutex_lock(&zk->mu);
    ms = zk->timeout_ms;
    pthread_mutex_unlock(&zk->mu);
    return ms;
}

int hf__zk_session_ms(hf_zk *zk) {
    return hf__zk_timeout_ms(zk) / 4 * 3;
}

hf_time hf__zk_good_until(hf_zk *zk) {
    hf_time good;

    pthread_mutex_lock(&zk->mu);
    good = zk->good_until;
    pthread_mutex_unlock(&zk->mu);
    return good;
}

void hf__zk_server(hf_zk *zk, char *buf, size_t size) {
    pthread_mutex_lock(&zk->mu);
    snprintf(buf, size, "%s",
             is_ready(zk) ? zoo_get_current_server(zk->session->zh) : "");
    pthread_mutex_unlock(&zk->mu);
}

/* ---- the servers' clock ------------------------------------------------ */

void hf__zk_saw_clock(hf_zk *zk, int64_t ms) {
    hf_time now = hf__now();

    pthread_mutex_lock(&zk->mu);
    zk->clock_ahead = ms - now / HF_MS;
    zk->clock_seen = now;
    pthread_mutex_unlock(&zk->mu);
}

bool hf__zk_clock(hf_zk *zk, int64_t *ms) {
    hf_time now = hf__now();
    bool seen;

    pthread_mutex_lock(&zk->mu);
    seen = zk->clock_seen && now - zk->clock_seen < CLOCK_GOOD_S * HF_SECOND;
    *ms = zk->clock_ahead + now / HF_MS;
    pthread_mutex_unlock(&zk->mu);
    return seen;
}
