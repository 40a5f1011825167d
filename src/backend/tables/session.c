/* SPDX-License-Identifier: MIT
 *
 * session.c - locks that a session of the database holds: PostgreSQL's advisory
 * locks, GET_LOCK of MariaDB and MySQL.
 *
 * One connection of this client's holds them all.  When the process dies the
 * server sees the connection end, and they are free at once; and when the
 * connection ends for any other reason they are lost, which a thread that looks
 * at nothing else notices and tells.  Never is one made anew in silence.
 *
 * A network that swallows everything ends no connection.  So each side counts:
 * we believe in a hold for its lease, and for BELIEVED_MS at most, after the
 * server last answered; and the server is told to end a session that has been
 * silent for longer than the longest lease of those that it holds.  So a process
 * that is stopped loses them, too.
 *
 * The lock's name is a number, 64 bits of FNV-1a over "holdfast:", the schema
 * of our tables as it is written before them, if there is one, and the name.
 * Two names of one number are one lock: they exclude each other for nothing,
 * and that is all.
 *
 * Tokens are those of the name's line in our tables, where also stands until
 * when a released lock is to be kept from others.
 *
 *        attempt            release, or its lease is over
 *   ──────────────► held ─────────────────────────────────► gone
 *                     │                                       ▲
 *                     └───────────────────────────────────────┘
 *                            the session ended: lost, told
 */
#include "session.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "tied.h"

enum {
    FIRST_PAUSE = 10, /* ms: who waits asks again, first after this */
    LAST_PAUSE = 320,
    PAUSES = 5,
};

/* ---- attempt ----------------------------------------------------------- */

static int refuse(hf_claim *c, bool waits, int64_t left_us) {
    int ms = c->place < PAUSES ? FIRST_PAUSE << c->place : LAST_PAUSE;

    c->ask_again = hf__now() + hf__jitter(ms * HF_MS);
    if (left_us > ms * 1000LL)
        c->ask_again =
            hf__sooner(hf__now() + left_us * 1000, hf__now() + HF_SECOND);
    if (waits)
        c->place++;
    return HF_BUSY;
}

/* 1: the session has the lock; 0: another one has. */
static int take(hf_tied *s, const hf_claim *c, hf_time by, hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = hf__tied_ask_session(s, HF_TIED_take, c, &a, &last, by, err);
    int64_t id = hf__cell_number(&a, last, 0, 1);
    bool got = rc == HF_OK && hf__cell_number(&a, last, 0, 0) == 1;

    hf__answers_clear(&a);
    if (rc != HF_OK)
        return rc < 0 ? rc : hf__fail_plain(err, HF_ESTORE);
    if (id == s->id)
        return got;
    s->straight = false;
    hf__tied_lose(s);
    return hf__tied_pooled(s, err);
}

/* OK, or BUSY: it was released to be kept from everybody for *left us. */
static int draw_token(hf_tied *s, hf_claim *c, int64_t *left, hf_time by,
                      hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc =
        hf__tied_ask_tables(s, s->texts[HF_TIED_token], c, &a, &last, by, err);

    if (rc == HF_OK && hf__cell_number(&a, last, 0, 0) == 1)
        c->token = (uint64_t)hf__cell_number(&a, last, 0, 1);
    else if (rc == HF_OK)
        rc = HF_BUSY;
    *left = hf__cell_number(&a, last, 0, 2);
    hf__answers_clear(&a);
    return rc;
}

static int grant(hf_tied *s, hf_claim *c, bool waits, hf_tied_hold *h,
                 hf_time by, hf_error *err) {
    hf_error unheard;
    int64_t left = 0;
    int rc = draw_token(s, c, &left, by, err);

    if (rc != HF_OK) {
        if (s->session != NULL)
            hf__tied_put_back(s, HF_TIED_free, c, by, &unheard);
        hf__free(h);
        if (rc == HF_EDOUBT)
            rc = err->code = HF_EDOWN; /* a token more does no harm */
        return rc == HF_BUSY ? refuse(c, waits, left) : rc;
    }
    h->token = c->token;
    h->next = s->holds;
    s->holds = h;
    c->place = 0;
    hf__tied_lease(h, c);
    hf__tied_ring(s);
    return HF_OK;
}

static hf_tied_hold *prepare(const hf_tied *s, const hf_claim *c) {
    size_t n = strlen(c->name) + 1;
    hf_tied_hold *h = hf__calloc(1, sizeof *h + n);

    if (h == NULL)
        return NULL;
    h->owner = c->owner;
    h->key = hf__tied_key(s, c->name);
    memcpy(h->name, c->name, n);
    return h;
}

/* A session may have its own lock twice, so we look first. */
static int attempt_entered(hf_tied *s, hf_claim *c, bool waits, hf_time by,
                           hf_error *err) {
    int rc = hf__tied_need(s, c, by, err);
    hf_tied_hold *h = *hf__tied_find(s, hf__tied_key(s, c->name));

    if (rc != HF_OK)
        return rc;
    if (h != NULL && hf__tied_find_own(s, c) == NULL)
        return refuse(c, waits, 0);
    if (h != NULL) {
        c->token = h->token;
        hf__tied_lease(h, c);
        hf__tied_ring(s);
        return HF_OK;
    }
    if ((h = prepare(s, c)) == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = take(s, c, by, err);
    if (rc == 1)
        return grant(s, c, waits, h, by, err);
    hf__free(h);
    return rc < 0 ? rc : refuse(c, waits, 0);
}

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = hf__tied_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = attempt_entered(s, c, waits, by, err);
    hf__tied_leave(s);
    return rc;
}

/* Nobody is told; who waits asks again. */
static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    (void)be, (void)c, (void)on, (void)by, (void)err;
    return HF_OK;
}

/* ---- renew ------------------------------------------------------------- */

static int renew_one(hf_tied *s, hf_claim *c) {
    hf_tied_hold **at = hf__tied_find_own(s, c);

    if (at == NULL || (*at)->token != c->token)
        return HF_ELOST;
    hf__tied_lease(*at, c);
    return HF_OK;
}

static int renew(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = hf__tied_enter(s, by, err);
    bool entered = rc == HF_OK;

    if (entered)
        rc = hf__tied_check(s, claims, n, by, err);
    for (size_t i = 0; i < n; i++)
        claims[i]->result = rc == HF_OK ? renew_one(s, claims[i]) : rc;
    if (entered) {
        hf__tied_ring(s); /* a lease may end sooner than it did */
        hf__tied_leave(s);
    }
    return rc;
}

/* ---- release ----------------------------------------------------------- */

/* The session that has the lock; 0: none. */
static int ask_holder(hf_tied *s, const hf_claim *c, int64_t *ret, hf_time by,
                      hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = hf__tied_ask(s, NULL, s->texts[HF_TIED_holder], c, 0, &a, &last,
                          by, err);

    *ret = rc == HF_OK ? hf__cell_number(&a, last, 0, 0) : 0;
    hf__answers_clear(&a);
    return rc;
}

/* The end of a session takes all of its locks: its client is told, if it is one
 * of ours.  1: it was ended, and is gone; 0: there is none. */
static int end_holder(hf_tied *s, const hf_claim *c, hf_time by,
                      hf_error *err) {
    hf_answers a = {.n = 0};
    int64_t id, still;
    size_t last;
    int rc = ask_holder(s, c, &id, by, err);

    if (rc != HF_OK || id == 0)
        return rc;
    rc =
        hf__tied_ask(s, NULL, s->texts[HF_TIED_end], c, id, &a, &last, by, err);
    hf__answers_clear(&a);
    for (still = id; rc == HF_OK && still == id;) {
        if (hf__now() >= by)
            return hf__fail(err, HF_EDOWN,
                            "the session that has the lock was told to end, "
                            "and has not ended");
        rc = ask_holder(s, c, &still, by, err);
    }
    return rc == HF_OK ? 1 : rc;
}

typedef struct meant {
    const char *whose;
    bool yes;
} meant;

static void compare(void *arg, const hf_place *place) {
    meant *m = arg;

    m->yes = m->yes || strcmp(place->owner, m->whose) == 0;
}

/* Is what is held, or kept, the owner's that is meant? */
static bool is_meant(hf_tied *s, const hf_claim *c, const char *whose,
                     hf_time by) {
    meant m = {whose, false};
    hf_error unheard;

    return hf__tied_list(&s->base, c->name, compare, &m, by, &unheard) ==
               HF_OK &&
           m.yes;
}

static int force(hf_tied *s, hf_claim *c, const char *whose, hf_time by,
                 hf_error *err) {
    hf_answers a = {.n = 0};
    hf_tied_hold **own = hf__tied_find(s, hf__tied_key(s, c->name));
    bool kept, held = *own != NULL;
    size_t last;
    int rc =
        hf__tied_ask_tables(s, s->texts[HF_TIED_last], c, &a, &last, by, err);

    kept = rc == HF_OK && hf__cell_number(&a, last, 0, 1) > 0;
    hf__answers_clear(&a);
    if (rc == HF_OK && whose != NULL && !is_meant(s, c, whose, by))
        return hf__fail_plain(err, HF_EFREE);
    if (rc == HF_OK && held) {
        hf__tied_drop(own);
        rc = hf__tied_put_back(s, HF_TIED_free, c, by, err);
        s->base.host->shaken(s->base.host->core, HF_LOCK, c->name);
    } else if (rc == HF_OK) {
        rc = end_holder(s, c, by, err);
        held = rc == 1;
        rc = rc > 0 ? HF_OK : rc;
    }
    if (rc != HF_OK)
        return rc;
    if (!held && !kept)
        return hf__fail_plain(err, HF_EFREE);
    rc = hf__tied_ask_tables(s, s->texts[HF_TIED_force], c, &a, &last, by, err);
    hf__answers_clear(&a);
    return rc;
}

/* What never held, or does no more, is out. */
static int let_go(hf_tied *s, hf_claim *c, hf_how how, hf_time by,
                  hf_error *err) {
    hf_tied_hold **at = hf__tied_find_own(s, c);
    bool waited = c->token == 0 && c->place != 0;

    c->place = 0;
    if (at == NULL)
        return waited ? HF_OK : hf__fail_plain(err, HF_ELOST);
    hf__tied_drop(at);
    return hf__tied_put_back(
        s, how == HF_RELEASE_AFTER ? HF_TIED_keep : HF_TIED_free, c, by, err);
}

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = hf__tied_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = how == HF_RELEASE_FORCED ? force(s, c, whose, by, err) :
                                    let_go(s, c, how, by, err);
    hf__tied_leave(s);
    return rc;
}

static int count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                 hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    hf_answers a = {.n = 0};
    size_t last;
    int rc;

    if (op != HF_COUNT_TOKEN)
        return hf__fail(err, HF_ECANNOT,
                        "a session holds locks only, and no numbers");
    rc = hf__tied_ask_tables(s, s->texts[HF_TIED_last], c, &a, &last, by, err);
    if (rc == HF_OK)
        *value = hf__cell_number(&a, last, 0, 0);
    hf__answers_clear(&a);
    return rc == HF_EDOUBT ? HF_EDOWN : rc;
}

/* ---- the store itself -------------------------------------------------- */

static unsigned can(const hf_backend *be, hf_kind kind) {
    (void)be;
    return kind == HF_LOCK ? HF_CAN_HOLD | HF_CAN_NOTICE : 0;
}

static const char *where(const hf_backend *be) {
    return ((const hf_tied *)be)->where;
}

static int examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = hf__tied_enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__tied_need(s, NULL, by, err);
    hf__tied_leave(s);
    if (rc != HF_OK)
        return rc;
    fn(arg, HF_GOOD, "death",
       "a killed holder is noticed at once: its locks end with its connection");
    fn(arg, HF_WARN, "connection",
       "whatever ends the connection ends the locks, which is told at once; a "
       "host that vanishes keeps them for their lease");
    fn(arg, HF_WARN, "waiting",
       "who waits asks again, three times a second at the least");
    fn(arg, HF_WARN, "others",
       "clients without hf_lease=session are not kept out");
    fn(arg, HF_GOOD, "token", "grows with every grant, as without sessions");
    return HF_OK;
}

static int rights(hf_backend *be, const char *prefix, hf_rule_fn *fn, void *arg,
                  hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;

    return s->db->ops->rights(s->db, prefix, fn, arg, by, err);
}

/* ---- open and close ---------------------------------------------------- */

static void told(void *store, const char *note) {
    (void)store, (void)note;
}

static void missed(void *store) {
    (void)store;
}

static void stop_watching(hf_tied *s) {
    if (!s->watched)
        return;
    pthread_mutex_lock(&s->mu);
    s->stopping = true;
    pthread_mutex_unlock(&s->mu);
    hf__tied_ring(s);
    hf__world->thread_join(s->watcher);
}

static void tied_close(hf_backend *be, bool forked) {
    hf_tied *s = (hf_tied *)be;

    if (!forked) {
        stop_watching(s);
        if (s->session != NULL)
            s->db->ops->give_back(s->session, true);
        hf__tied_take_leave(s);
    }
    if (s->db != NULL)
        s->db->ops->close(s->db, forked);
    if (s->bell >= 0)
        close(s->bell);
    if (forked) /* the mutex may be anybody's */
        return;
    while (s->holds != NULL)
        hf__tied_drop(&s->holds);
    pthread_mutex_destroy(&s->mu);
    pthread_cond_destroy(&s->freed);
    hf__free(s->where);
    hf__free(s);
}

static void read_client(hf_tied *s) {
    char digits[33];
    size_t n = 0;

    for (const char *p = s->base.host->identity.client; *p && n < 32; p++)
        if (*p != '-')
            digits[n++] = *p;
    digits[n] = 0;
    for (size_t i = 0; i < sizeof s->client; i++) {
        char byte[2];

        hf__unhex(byte, sizeof byte, digits + 2 * i);
        s->client[i] = (unsigned char)byte[0];
    }
}

static const hf_backend_ops verbs;

static int start(hf_tied *s, const hf_database_ops *ops, const hf_uri *uri,
                 hf_time by, hf_error *err) {
    int64_t none;
    int rc = ops->open(&s->db, uri, &s->up, by, err);

    if (rc == HF_OK &&
        hf__asprintf(&s->where, "%s?hf_lease=session", ops->where(s->db)) < 0) {
        s->where = NULL;
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    }
    if (rc == HF_OK)
        rc = hf__tied_need(s, NULL, by, err);
    if (rc == HF_OK)
        rc = count(&s->base, &(hf_claim){.name = ""}, HF_COUNT_TOKEN, &none, by,
                   err); /* and so makes the tables */
    if (rc == HF_OK &&
        (s->bell < 0 ||
         hf__world->thread_start(&s->watcher, hf__tied_watch, s) != 0))
        rc = hf__fail_plain(err, HF_ESYSTEM);
    s->watched = rc == HF_OK;
    return rc;
}

int hf__tied_open(hf_backend **ret, const hf_database_ops *ops,
                  const hf_uri *uri, const hf_host *host, hf_time by,
                  hf_error *err) {
    const char *lease = hf_uri_get(uri, "hf_lease");
    hf_tied *s;
    int rc;

    if (strcmp(lease, "session") != 0)
        return hf__fail(err, HF_EURI,
                        "hf_lease can be 'session', and not '%.40s'", lease);
    if (ops->session == NULL || ops->descriptor == NULL)
        return hf__fail(err, HF_ECANNOT,
                        "this store has no locks that belong to a session");
    if ((s = hf__calloc(1, sizeof *s)) == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->base = (hf_backend){&verbs, host};
    s->up = (hf_database_host){host, told, missed, s};
    s->texts = ops->session;
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->freed, NULL);
    s->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    read_client(s);
    rc = start(s, ops, uri, by, err);
    if (rc == HF_OK)
        *ret = &s->base;
    else
        tied_close(&s->base, false);
    return rc;
}

static const hf_backend_ops verbs = {
    .open = NULL, /* by whose address leads here */
    .close = tied_close,
    .can = can,
    .where = where,
    .attempt = attempt,
    .watch = watch,
    .renew = renew,
    .release = release,
    .count = count,
    .announce = hf__tied_announce,
    .clients = hf__tied_clients,
    .list = hf__tied_list,
    .examine = examine,
    .rights = rights,
};
