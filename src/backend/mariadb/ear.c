/* SPDX-License-Identifier: MIT
 *
 * ear.c - looks into our mailbox while somebody waits.
 *
 * MariaDB has no way to tell a client something, so `tell` puts a row into
 * hf_note, and a thread of the client it is for looks for such rows, on a
 * connection of its own.  A look is one read by the primary key: it locks and
 * writes nothing.
 *
 * How often?  Nobody learns of its turn later than a small part of the time it
 * has waited already: the pause grows with that time, from 1 ms on.  So a short
 * wait is ended quickly and a long one costs few looks.  Who is far from the
 * front looks more rarely still, so that a long line does not cost the server
 * more than a short one.
 *
 * What was heard is taken out later, many rows at once: to take each out at
 * once would be a write to disk for each. */
#include "mariadb.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../world.h"
#include "mariadb.gen.h"

static const hf_time PAUSE_MIN = HF_MS, PAUSE_MAX = 25 * HF_MS,
                     PAUSE_FAR = 250 * HF_MS, /* whoever is far back */
    ROUND = 3 * HF_SECOND, /* for one look                              */
    REST = 5 * HF_SECOND,  /* so long the connection outlasts its use   */
    TROUBLE = 200 * HF_MS; /* between two tries to connect              */

enum { PART = 16, HEARD = 32, KEY = 24 };

struct hf_maria_ear {
    hf_maria *m;
    char client[33]; /* our id, in hexadecimal */
    pthread_t thread;
    bool started;   /* mu */
    bool stopping;  /* mu */
    size_t waiting; /* mu */
    int ahead;      /* mu */
    hf_time since;  /* mu: when the waiting began, or last moved */
    atomic_bool hears;

    pthread_mutex_t mu;
    pthread_cond_t moved;

    /* Of the thread alone. */
    hf_session *link;
    char heard[HEARD][KEY]; /* ids that were told and are still there */
    int n_heard;
    hf_time heard_at; /* the first of them */
};

/* ---- one look ---------------------------------------------------------- */

static bool is_known(const hf_maria_ear *e, const char *id) {
    for (int i = 0; i < e->n_heard; i++)
        if (strcmp(e->heard[i], id) == 0)
            return true;
    return false;
}

static void take_out(hf_maria_ear *e) {
    char script[HEARD * (KEY + 1) + 256], keys[HEARD * (KEY + 1)];
    char *at = keys;
    hf_answers none;
    hf_error err;

    if (e->n_heard == 0 || !e->link)
        return;
    for (int i = 0; i < e->n_heard; i++)
        at += snprintf(at, KEY + 1, "%s%s", i ? "," : "", e->heard[i]);
    snprintf(script, sizeof script, hf_mariadb_heard, e->client, keys);
    if (hf__maria_ask(e->link, script, &none, hf__now() + ROUND, &err) == HF_OK)
        e->n_heard = 0;
    hf__answers_clear(&none);
}

/* What does not fit is told again by the next look: harmless. */
static bool tell(hf_maria_ear *e, const hf_rows *rows) {
    const hf_database_host *host = e->m->host;
    bool news = false;

    for (size_t i = 0; i < rows->n; i++) {
        const char *id = rows->cells[2 * i], *note = rows->cells[2 * i + 1];

        if (!id || !note || is_known(e, id))
            continue;
        if (e->n_heard == 0)
            e->heard_at = hf__now();
        if (e->n_heard < HEARD)
            snprintf(e->heard[e->n_heard++], KEY, "%s", id);
        host->told(host->store, note);
        news = true;
    }
    return news;
}

/* True: there was something new. */
static bool look(hf_maria_ear *e) {
    char script[256];
    hf_answers a;
    hf_error err;
    bool news = false;
    int rc;

    snprintf(script, sizeof script, hf_mariadb_hear, e->client);
    rc = hf__maria_ask(e->link, script, &a, hf__now() + ROUND, &err);
    if (rc == HF_OK && a.n == 1 && a.all[0].columns == 2)
        news = tell(e, &a.all[0]);
    hf__answers_clear(&a);
    if (e->n_heard == HEARD ||
        (e->n_heard > 0 && rc == HF_OK && hf__now() - e->heard_at > HF_SECOND))
        take_out(e);
    return news;
}

/* ---- the thread -------------------------------------------------------- */

static void hang_up(hf_maria_ear *e) {
    hf_session *s = e->link;

    atomic_store(&e->hears, false);
    pthread_mutex_lock(&e->mu); /* a forked child looks at it */
    e->link = NULL;
    pthread_mutex_unlock(&e->mu);
    hf__maria_hang_up(s, false);
}

/* What came while nobody looked is still there, but for what a crash of the
 * server took away. */
static bool connect_it(hf_maria_ear *e) {
    hf_session *s = NULL;
    hf_error err;

    if (e->link && !e->link->ruined)
        return true;
    if (e->link) {
        hf__log_broke(e->m->host->host, e->m->at.where,
                      "releases are not heard of any more");
        hang_up(e);
    }
    if (hf__maria_connect(&s, &e->m->at, hf__now() + ROUND, &err) != HF_OK) {
        hf__log_unreached(e->m->host->host, &e->m->pace, e->m->at.where, &err);
        return false;
    }
    hf__log(e->m->host->host, HF_LOG_INFO, "releases are heard of",
            {"node", e->m->at.where});
    pthread_mutex_lock(&e->mu);
    e->link = s;
    pthread_mutex_unlock(&e->mu);
    atomic_store(&e->hears, true);
    e->m->host->missed(e->m->host->store);
    return true;
}

/* mu held.  See the head of the file. */
static hf_time pause_of(const hf_maria_ear *e) {
    int behind = e->ahead < 0 ? 1 : e->ahead + 1;
    hf_time most = hf__sooner(PAUSE_MAX * behind, PAUSE_FAR);
    hf_time pause = (hf__now() - e->since) / PART;

    if (pause < PAUSE_MIN * behind)
        pause = PAUSE_MIN * behind;
    return hf__sooner(pause, most);
}

/* mu held.  Nobody waits: sleeps, and lets go of the connection after a
 * while. */
static void rest(hf_maria_ear *e) {
    hf_time until = e->link ? hf__now() + REST : HF_NEVER;

    pthread_mutex_unlock(&e->mu);
    take_out(e);
    pthread_mutex_lock(&e->mu);
    while (!e->stopping && e->waiting == 0)
        if (hf__world->wait(&e->moved, &e->mu, until) != 0 &&
            hf__now() >= until && e->link) {
            pthread_mutex_unlock(&e->mu);
            hang_up(e);
            pthread_mutex_lock(&e->mu);
            until = HF_NEVER;
        }
}

/* mu held. */
static void watch(hf_maria_ear *e) {
    hf_time until;
    bool there, news;

    pthread_mutex_unlock(&e->mu);
    there = connect_it(e);
    news = there && look(e);
    pthread_mutex_lock(&e->mu);
    if (news)
        e->since = hf__now();
    until = hf__now() + (there ? pause_of(e) : hf__jitter(TROUBLE));
    while (!e->stopping && e->waiting > 0 && hf__now() < until)
        hf__world->wait(&e->moved, &e->mu, until);
}

/* Ear thread. */
static void *run(void *arg) {
    hf_maria_ear *e = arg;

    pthread_mutex_lock(&e->mu);
    while (!e->stopping)
        if (e->waiting == 0)
            rest(e);
        else
            watch(e);
    pthread_mutex_unlock(&e->mu);
    take_out(e);
    if (e->link)
        hang_up(e);
    return NULL;
}

/* ---- life -------------------------------------------------------------- */

int hf__maria_ear_new(hf_maria_ear **ret, hf_maria *m, hf_error *err) {
    hf_maria_ear *e = hf__calloc(1, sizeof *e);
    char *at;

    if (!e)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    e->m = m;
    pthread_mutex_init(&e->mu, NULL);
    pthread_cond_init(&e->moved, NULL);
    at = e->client;
    for (const char *id = m->host->host->identity.client; *id; id++)
        if (*id != '-' && at < e->client + sizeof e->client - 1)
            *at++ = *id;
    *ret = e;
    return HF_OK;
}

void hf__maria_ear_free(hf_maria_ear *e, bool forked) {
    bool started;

    if (!e)
        return;
    if (forked) {
        if (e->link)
            hf__maria_hang_up(e->link, true);
        return;
    }
    pthread_mutex_lock(&e->mu);
    e->stopping = true;
    started = e->started;
    pthread_cond_broadcast(&e->moved);
    pthread_mutex_unlock(&e->mu);
    if (started)
        hf__world->thread_join(e->thread);
    pthread_mutex_destroy(&e->mu);
    pthread_cond_destroy(&e->moved);
    hf__free(e);
}

/* The thread is there from the first on who waits. */
void hf__maria_ear_attend(hf_maria_ear *e, size_t waiting, int ahead) {
    pthread_mutex_lock(&e->mu);
    if (waiting > 0 && !e->started)
        e->started = hf__world->thread_start(&e->thread, run, e) == 0;
    if (waiting > e->waiting || ahead < e->ahead)
        e->since = hf__now();
    e->waiting = waiting;
    e->ahead = ahead;
    pthread_cond_signal(&e->moved);
    pthread_mutex_unlock(&e->mu);
}

bool hf__maria_ear_hears(const hf_maria_ear *e) {
    return atomic_load(&e->hears);
}
