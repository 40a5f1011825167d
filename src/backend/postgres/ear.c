/* SPDX-License-Identifier: MIT
 *
 * ear.c - the connection that listens, and its thread.
 *
 *           attend              LISTEN, and our own echo comes back
 *   resting ──────► connecting ────────────────────────────────────► hearing
 *      ▲                 │ ▲                                            │
 *      │ nobody waits    │ │ after a while                              │ lost
 *      └─────────────────┴─┴── deaf ◄───────────────────────────────────┘
 *
 * A client listens on one channel of its own, so that whoever tells it
 * something disturbs nobody else.  Behind a pooler that lends its connections
 * by the transaction, LISTEN succeeds and nothing is ever heard: so we tell
 * ourselves something, through the pool as everybody would, and only when that
 * arrives is it said that we hear.  Whoever waits meanwhile looks again and
 * again.
 *
 * A link that fell silent is not known to be cut: while somebody waits it is
 * asked for a sign of life every few seconds. */
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
#include "postgres.h"

enum {
    SOON_MS = 100,    /* after a first failure; doubled up to… */
    LATE_MS = 5000,   /* …this                                 */
    DEAF_MS = 60000,  /* behind a pooler that swallows notes   */
    ALIVE_MS = 5000,  /* between two signs of life             */
    REST_MS = 30000,  /* nobody has waited for so long         */
    ANSWER_MS = 8000, /* for anything that is asked            */
    ECHO_MS = 3000,   /* for the echo behind a pooler          */
};

#define ECHO "echo "

struct hf_pg_ear {
    hf_postgres *pg;
    int bell; /* an eventfd: look at what has changed */
    atomic_bool started, stop, hears;
    atomic_size_t waiting;
    atomic_int guests; /* in hf__pg_ear_try */
    _Atomic hf_time idle_since;
    pthread_mutex_t mu;
    pthread_t thread;
    char why[HF_ERROR_TEXT_SIZE]; /* mu */

    /* Of the thread alone. */
    PGconn *conn;
    int host, wait_ms;
    hf_pace pace; /* of entries that it cannot be reached */
    char echo[48];
    bool echoed;
};

/* ---- hearing ----------------------------------------------------------- */

static void say_why(hf_pg_ear *ear, const char *why) {
    pthread_mutex_lock(&ear->mu);
    snprintf(ear->why, sizeof ear->why, "%s", why);
    pthread_mutex_unlock(&ear->mu);
}

/* Is there anybody to listen for? */
static bool is_needed(const hf_pg_ear *ear) {
    return atomic_load(&ear->waiting) > 0 || atomic_load(&ear->guests) > 0;
}

/* Ear thread.  Notes that have arrived. */
static void hear(hf_pg_ear *ear) {
    const hf_database_host *host = ear->pg->host;
    PGnotify *note;

    while ((note = PQnotifies(ear->conn)) != NULL) {
        if (strcmp(note->extra, ear->echo) == 0)
            ear->echoed = true;
        else if (strncmp(note->extra, ECHO, strlen(ECHO)) != 0)
            host->told(host->store, note->extra);
        PQfreemem(note);
    }
}

static void hang_up(hf_pg_ear *ear) {
    bool heard = atomic_exchange(&ear->hears, false);

    if (ear->conn)
        PQfinish(ear->conn);
    ear->conn = NULL;
    if (heard) /* whoever relied on us looks again, and oftener from now on */
        ear->pg->host->missed(ear->pg->host->store);
}

/* Waits for the bell, and for the server if there is one.  False: nothing came
 * by then. */
static bool await(hf_pg_ear *ear, hf_time by) {
    struct pollfd p[2] = {
        {.fd = ear->bell, .events = POLLIN},
        {.fd = ear->conn ? PQsocket(ear->conn) : -1, .events = POLLIN}};
    uint64_t rings;
    int n = hf__world->poll(p, 2, by);

    if (n > 0 && p[0].revents && read(ear->bell, &rings, sizeof rings) < 0)
        return errno == EAGAIN;
    return n != 0;
}

/* ---- beginning --------------------------------------------------------- */

static int ask(hf_pg_ear *ear, const char *script, hf_error *err) {
    hf_answers a = {0};
    int rc =
        hf__pg_link_ask(ear->conn, script, &a, hf__after_ms(ANSWER_MS), err);

    hf__answers_clear(&a);
    return rc;
}

/* As others will tell us. */
static int call_ourselves(hf_pg_ear *ear, hf_error *err) {
    hf_session *s;
    hf_answers a = {0};
    char script[160];
    uint64_t dice;
    int rc = hf__pg_pool_borrow(&s, ear->pg, hf__after_ms(ANSWER_MS), err);

    if (rc != HF_OK)
        return rc;
    hf__world->random(&dice, sizeof dice);
    snprintf(ear->echo, sizeof ear->echo, ECHO "%016llx",
             (unsigned long long)dice);
    snprintf(script, sizeof script, "SELECT pg_notify('%s', '%s')",
             ear->pg->channel, ear->echo);
    rc = hf__pg_pool_ask(s, script, &a, hf__after_ms(ANSWER_MS), err);
    hf__answers_clear(&a);
    hf__pg_pool_give_back(s, rc == HF_EDOUBT);
    return rc;
}

static bool await_echo(hf_pg_ear *ear, int ms) {
    hf_time by = hf__after_ms(ms);

    while (!ear->echoed && !atomic_load(&ear->stop)) {
        if (!PQconsumeInput(ear->conn))
            return false;
        hear(ear);
        if (!ear->echoed && !await(ear, by))
            return false;
    }
    return ear->echoed;
}

/* Between the LISTEN and the echo notes may be missed by nobody: `missed` lets
 * all look again once we hear. */
static int begin(hf_pg_ear *ear, hf_error *err) {
    hf_pg_greeting greeting = {0};
    char script[64];
    int rc = hf__pg_link_open(&ear->conn, ear->pg->listen, &ear->host, "",
                              &greeting, hf__after_ms(ANSWER_MS), err);

    if (rc != HF_OK)
        return rc;
    ear->echoed = false;
    snprintf(script, sizeof script, "LISTEN %s", ear->pg->channel);
    rc = ask(ear, script, err);
    if (rc == HF_OK)
        rc = call_ourselves(ear, err);
    if (rc != HF_OK || await_echo(ear, greeting.pooled ? ECHO_MS : ANSWER_MS))
        return rc;
    if (!greeting.pooled) /* then it is slow, and not deaf */
        return hf__fail(err, HF_EDOWN, "the database did not answer in time");
    ask(ear, "UNLISTEN *", &(hf_error){0});
    return hf__fail(err, HF_ECANNOT,
                    "nothing is heard: a pooler lends its connections by the "
                    "transaction; give hf_listen an address past it");
}

/* ---- the thread -------------------------------------------------------- */

static void sleep_till(hf_pg_ear *ear, hf_time by) {
    while (!atomic_load(&ear->stop) && hf__now() < by && is_needed(ear))
        await(ear, by);
}

/* Ear thread.  Not connected: waits for somebody who waits, and begins. */
static void connect_ear(hf_pg_ear *ear) {
    hf_error err = {0};
    int rc;

    while (!atomic_load(&ear->stop) && !is_needed(ear))
        await(ear, HF_NEVER);
    if (atomic_load(&ear->stop))
        return;
    rc = begin(ear, &err);
    if (rc == HF_OK) {
        ear->wait_ms = SOON_MS;
        say_why(ear, "");
        atomic_store(&ear->hears, true);
        hf__log(ear->pg->host->host, HF_LOG_INFO, "releases are heard of",
                {"node", PQhost(ear->conn)});
        ear->pg->host->missed(ear->pg->host->store);
        return;
    }
    hang_up(ear);
    hf__log_unreached(ear->pg->host->host, &ear->pace, ear->pg->where, &err);
    say_why(ear, err.text);
    if (rc == HF_ECANNOT)
        ear->wait_ms = DEAF_MS;
    sleep_till(ear, hf__now() + hf__jitter(ear->wait_ms * HF_MS));
    ear->wait_ms = ear->wait_ms < LATE_MS / 2 ? 2 * ear->wait_ms : LATE_MS;
}

/* Ear thread.  Connected: until there is something to do. */
static void listen_on(hf_pg_ear *ear) {
    bool stirred = await(ear, hf__after_ms(ALIVE_MS));

    if (atomic_load(&ear->stop))
        return;
    if (!PQconsumeInput(ear->conn)) {
        hf__log_broke(ear->pg->host->host, PQhost(ear->conn),
                      "releases are not heard of any more");
        hang_up(ear);
        return;
    }
    hear(ear);
    if (stirred)
        return;
    if (is_needed(ear)) {
        if (ask(ear, "", &(hf_error){0}) != HF_OK)
            hang_up(ear);
        else
            hear(ear);
    } else if (hf__now() > atomic_load(&ear->idle_since) + REST_MS * HF_MS) {
        hang_up(ear);
    }
}

static void *run(void *arg) {
    hf_pg_ear *ear = arg;

    while (!atomic_load(&ear->stop))
        if (ear->conn)
            listen_on(ear);
        else
            connect_ear(ear);
    return NULL;
}

/* ---- from outside ------------------------------------------------------ */

static void ring(hf_pg_ear *ear) {
    uint64_t one = 1;

    if (write(ear->bell, &one, sizeof one) < 0)
        return; /* it has rung often enough */
}

static void start(hf_pg_ear *ear) {
    pthread_mutex_lock(&ear->mu);
    if (!atomic_load(&ear->started) &&
        hf__world->thread_start(&ear->thread, run, ear) == 0)
        atomic_store(&ear->started, true);
    pthread_mutex_unlock(&ear->mu);
}

void hf__pg_ear_attend(hf_pg_ear *ear, size_t waiting) {
    size_t before;

    if (!ear->pg->listen)
        return;
    if (!waiting)
        atomic_store(&ear->idle_since, hf__now());
    before = atomic_exchange(&ear->waiting, waiting);
    if (!waiting == !before)
        return;
    if (waiting && !atomic_load(&ear->started))
        start(ear);
    ring(ear);
}

bool hf__pg_ear_try(hf_pg_ear *ear, char *why, size_t size, hf_time by) {
    bool told = false;

    if (ear->pg->listen) {
        say_why(ear, "");
        atomic_fetch_add(&ear->guests, 1);
        start(ear);
        ring(ear);
    }
    while (!told && !atomic_load(&ear->hears) && hf__now() < by) {
        hf__world->poll(NULL, 0, hf__now() + 5 * HF_MS);
        pthread_mutex_lock(&ear->mu);
        told = *ear->why != '\0';
        pthread_mutex_unlock(&ear->mu);
    }
    pthread_mutex_lock(&ear->mu);
    snprintf(why, size, "%s", ear->why);
    pthread_mutex_unlock(&ear->mu);
    if (ear->pg->listen)
        atomic_fetch_sub(&ear->guests, 1);
    return atomic_load(&ear->hears);
}

bool hf__pg_ear_hears(const hf_pg_ear *ear) {
    return atomic_load(&ear->hears);
}

int hf__pg_ear_open(hf_pg_ear **ret, hf_postgres *pg, hf_error *err) {
    hf_pg_ear *ear = hf__calloc(1, sizeof *ear);

    if (!ear)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    ear->pg = pg;
    ear->wait_ms = SOON_MS;
    ear->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ear->bell < 0) {
        hf__free(ear);
        return hf__fail(err, HF_ESYSTEM, "no descriptor is left: %s",
                        strerror(errno));
    }
    pthread_mutex_init(&ear->mu, NULL);
    if (!pg->listen)
        snprintf(ear->why, sizeof ear->why, "hf_listen=none");
    *ret = ear;
    return HF_OK;
}

void hf__pg_ear_close(hf_pg_ear *ear, bool forked) {
    if (!ear)
        return;
    if (forked) {
        if (ear->conn)
            hf__pg_link_abandon(ear->conn);
        close(ear->bell);
        return;
    }
    atomic_store(&ear->stop, true);
    ring(ear);
    if (atomic_load(&ear->started))
        hf__world->thread_join(ear->thread);
    if (ear->conn)
        PQfinish(ear->conn);
    close(ear->bell);
    pthread_mutex_destroy(&ear->mu);
    hf__free(ear);
}
