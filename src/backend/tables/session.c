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

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../err.h"
#include "../../world.h"
#include "form.h"
#include "statements.h"

enum {
    BELIEVED_MS = 15000,
    BESIDE_S = 2,     /* the server waits that much longer than the lease */
    FIRST_PAUSE = 10, /* ms: who waits asks again, first after this */
    LAST_PAUSE = 320,
    PAUSES = 5,
};

/* What we hold. */
typedef struct hold {
    struct hold *next;
    uint64_t owner, token;
    int64_t key;
    int lease_ms;
    hf_time until;
    char name[];
} hold;

typedef struct hf_tied {
    hf_backend base;
    hf_database_host up;
    hf_database *db;
    hf_texts texts;
    char *where;
    unsigned char client[16];

    pthread_mutex_t mu;
    pthread_cond_t freed;
    bool busy; /* mu: somebody uses what follows, up to the next line */

    hf_session
        *session; /* which holds them; NULL: none yet, or none any more */
    int64_t id;   /* the server's number of it                          */
    int idle_s;   /* after which the server may end it */
    hold *holds;
    bool
        straight; /* no pooler was found between us and the server            */

    int bell;      /* wakes the watcher: look again               */
    bool stopping; /* mu */
    bool watched;
    pthread_t watcher;
} hf_tied;

/* ---- who may use the session ------------------------------------------- */

static int enter(hf_tied *s, hf_time by, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&s->mu);
    while (s->busy && rc == HF_OK)
        if (hf__world->wait(&s->freed, &s->mu, by) != 0 && hf__now() >= by)
            rc = HF_EDOWN;
    if (rc == HF_OK)
        s->busy = true;
    pthread_mutex_unlock(&s->mu);
    return rc == HF_OK ? rc :
                         hf__fail(err, rc,
                                  "the session that holds the locks waits for "
                                  "an answer");
}

static void leave(hf_tied *s) {
    pthread_mutex_lock(&s->mu);
    s->busy = false;
    pthread_cond_signal(&s->freed);
    pthread_mutex_unlock(&s->mu);
}

static void ring(const hf_tied *s) {
    uint64_t one = 1;

    if (write(s->bell, &one, sizeof one) < 0)
        return; /* it is ringing already */
}

/* ---- holds ------------------------------------------------------------- */

static int64_t key_of(const hf_tied *s, const char *name) {
    uint64_t h = 14695981039346656037u;
    const char *schema = s->db->schema != NULL ? s->db->schema : "";
    const char *parts[] = {"holdfast:", schema, name};

    for (int i = 0; i < 3; i++)
        for (const char *p = parts[i]; *p; p++)
            h = (h ^ (unsigned char)*p) * 1099511628211u;
    return (int64_t)h;
}

static hold **find(hf_tied *s, int64_t key) {
    hold **at = &s->holds;

    while (*at != NULL && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

/* NULL: this owner holds nothing of the name. */
static hold **find_own(hf_tied *s, const hf_claim *c) {
    hold **at = find(s, key_of(s, c->name));

    return *at != NULL && (*at)->owner == c->owner &&
                   strcmp((*at)->name, c->name) == 0 ?
               at :
               NULL;
}

static void drop(hold **at) {
    hold *gone = *at;

    *at = gone->next;
    free(gone);
}

static void lease(hold *h, hf_claim *c) {
    h->lease_ms = c->lease_ms;
    h->until = hf__after_ms(c->lease_ms);
    c->session_ms = BELIEVED_MS;
}

/* The session is over, and with it all that it holds. */
static void lose(hf_tied *s) {
    bool held = s->holds != NULL;

    if (s->session != NULL)
        s->db->ops->give_back(s->session, true);
    s->session = NULL;
    while (s->holds != NULL)
        drop(&s->holds);
    if (held)
        s->base.host->shaken(s->base.host->core, HF_LOCK, NULL);
    ring(s);
}

/* ---- asking ------------------------------------------------------------ */

typedef struct fields {
    hf_literal name, client, host, program, login, why;
    char key[24], owner[24], lease[24], idle[16], id[24], pid[24];
    hf_blank blanks[20];
} fields;

static const hf_blank *fill_in(const hf_tied *s, fields *f, const hf_claim *c,
                               int64_t id) {
    const hf_identity *me = &s->base.host->identity;
    bool all = c->name == NULL;
    hf_blank blanks[] = {
        {"s", s->db->schema != NULL ? s->db->schema : ""},
        {"now", s->texts[HF_TIED_now]},
        {"lock", s->texts[HF_TIED_lock]},
        {"name", f->name},
        {"client", f->client},
        {"host", f->host},
        {"program", f->program},
        {"login", f->login},
        {"why", f->why},
        {"pid", f->pid},
        {"key", f->key},
        {"owner", f->owner},
        {"lease", f->lease},
        {"idle", f->idle},
        {"id", f->id},
        {"all", all ? "1" : "0"},
        {NULL, NULL},
    };

    hf__literal(f->name, s->db, all ? "" : c->name);
    hf__literal_of(f->client, s->db, s->client, sizeof s->client);
    hf__literal(f->host, s->db, me->host);
    hf__literal(f->program, s->db, me->program);
    hf__literal(f->login, s->db, me->user);
    hf__literal(f->why, s->db, me->why);
    snprintf(f->pid, sizeof f->pid, "%lld", (long long)me->pid);
    snprintf(f->key, sizeof f->key, "(%lld)",
             (long long)(all ? 0 : key_of(s, c->name)));
    snprintf(f->owner, sizeof f->owner, "%lld", (long long)c->owner);
    snprintf(f->lease, sizeof f->lease, "%lld", c->lease_ms * 1000LL);
    snprintf(f->idle, sizeof f->idle, "%d", s->idle_s);
    snprintf(f->id, sizeof f->id, "%lld", (long long)id);
    memcpy(f->blanks, blanks, sizeof blanks);
    return f->blanks;
}

static const hf_claim nobody = {.name = ""};

/* A session, or whichever is free if it is NULL. */
static int ask_text(hf_tied *s, hf_session *session, const char *text,
                    const hf_claim *c, int64_t id, hf_answers *a, size_t *last,
                    hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    fields f;
    int rc;

    *last = hf__form_add(&form, text, fill_in(s, &f, c, id));
    rc = session != NULL ? hf__form_ask(&form, s->db, session, a, by, err) :
                           hf__form_ask_any(&form, s->db, a, by, err);
    hf__form_clear(&form);
    return rc;
}

static int make_tables(hf_tied *s, hf_time by, hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = ask_text(s, NULL, s->db->ops->texts[HF_SQL_layout_1], &nobody, 0,
                      &a, &last, by, err);

    hf__answers_clear(&a);
    if (rc == HF_DB_NO_TABLES)
        rc = hf__fail(err, HF_ESTORE, "holdfast's tables could not be made");
    return rc;
}

/* A statement about lines, which must be there. */
static int ask_tables(hf_tied *s, const char *text, const hf_claim *c,
                      hf_answers *a, size_t *last, hf_time by, hf_error *err) {
    int rc = ask_text(s, NULL, text, c, 0, a, last, by, err);

    if (rc != HF_DB_NO_TABLES)
        return rc;
    hf__answers_clear(a);
    rc = make_tables(s, by, err);
    if (rc == HF_OK)
        rc = ask_text(s, NULL, text, c, 0, a, last, by, err);
    return rc == HF_DB_NO_TABLES ?
               hf__fail(err, HF_ESTORE, "holdfast's tables come and go") :
               rc;
}

/* Can nothing more be said to it? */
static bool is_over(int rc) {
    return rc == HF_EDOUBT || rc == HF_EDOWN || rc == HF_EREAD_ONLY ||
           rc == HF_ESTARTING || rc == HF_DB_AGAIN;
}

/* What only the session that holds the locks can do.  One that does not answer
 * in time is given up: the next answer would be that to this question. */
static int ask_session(hf_tied *s, hf_tied_sql what, const hf_claim *c,
                       hf_answers *a, size_t *last, hf_time by, hf_error *err) {
    int rc = ask_text(s, s->session, s->texts[what], c, 0, a, last, by, err);

    if (rc == HF_OK || !is_over(rc))
        return rc;
    lose(s);
    if (rc == HF_DB_AGAIN)
        return hf__fail(err, HF_EDOWN, "the database ended the session");
    return rc;
}

/* ---- the session ------------------------------------------------------- */

static int pooled(const hf_tied *s, hf_error *err) {
    return hf__fail(err, HF_ECANNOT,
                    "a pooler stands before %s and lends a session for a "
                    "transaction at a time: a lock cannot belong to one.  Name "
                    "the database itself, or leave out hf_lease=session",
                    s->db->ops->where(s->db));
}

/* Asks for the number of a session. */
static int ask_id(hf_tied *s, hf_session *session, hf_tied_sql what,
                  int64_t *ret, hf_time by, hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc =
        ask_text(s, session, s->texts[what], &nobody, 0, &a, &last, by, err);

    if (rc == HF_OK)
        *ret = hf__cell_number(&a, last, 0, 0);
    hf__answers_clear(&a);
    return rc > 0 ? hf__fail(err, HF_EDOWN, "the database ended the session") :
                    rc;
}

/* Behind a pooler that lends for a transaction, a second connection of ours is
 * given the session that we just used, or we get another next time. */
static int check_straight(hf_tied *s, hf_session *session, int64_t id,
                          hf_time by, hf_error *err) {
    int64_t again = id, other = 0;
    hf_session *beside;
    int rc;

    if (s->straight)
        return HF_OK;
    rc = s->db->ops->borrow(&beside, s->db, by, err);
    if (rc != HF_OK)
        return rc;
    rc = ask_id(s, beside, HF_TIED_pin, &other, by, err);
    if (rc == HF_OK && other != id)
        rc = ask_id(s, session, HF_TIED_id, &again, by, err);
    s->db->ops->give_back(beside, true);
    if (rc == HF_OK && (other == id || again != id))
        rc = pooled(s, err);
    s->straight = rc == HF_OK;
    return rc;
}

/* How long it may be silent: as long as the longest lease, and a little. */
static int silence(const hf_tied *s, hf_claim *const *claims, size_t n) {
    int ms = 1;

    for (const hold *h = s->holds; h != NULL; h = h->next)
        ms = h->lease_ms > ms ? h->lease_ms : ms;
    for (size_t i = 0; i < n; i++)
        ms = claims[i]->lease_ms > ms ? claims[i]->lease_ms : ms;
    return (ms - 1) / 1000 + 1 + BESIDE_S;
}

/* It answers, and so holds what it holds; and knows how long to wait for us. */
static int check_session(hf_tied *s, hf_claim *const *claims, size_t n,
                         hf_time by, hf_error *err) {
    int idle_s = silence(s, claims, n);
    hf_tied_sql what = idle_s != s->idle_s ? HF_TIED_settle : HF_TIED_id;
    hf_answers a = {.n = 0};
    size_t last;
    int rc;

    if (s->session == NULL)
        return HF_OK;
    s->idle_s = idle_s;
    rc = ask_session(s, what, &nobody, &a, &last, by, err);
    if (rc == HF_OK && hf__cell_number(&a, last, 0, 0) != s->id)
        lose(s); /* somebody lent us another one */
    hf__answers_clear(&a);
    return s->session == NULL ? HF_OK : rc;
}

/* For a claim; NULL: to see whether there can be one. */
static int need_session(hf_tied *s, hf_claim *c, hf_time by, hf_error *err) {
    hf_session *session;
    int64_t id = 0;
    int rc, idle_s = silence(s, &c, c != NULL);

    if (s->session != NULL && idle_s > s->idle_s) {
        rc = check_session(s, &c, c != NULL, by, err);
        if (rc != HF_OK)
            return rc;
    }
    if (s->session != NULL)
        return HF_OK;
    s->idle_s = idle_s;
    rc = s->db->ops->borrow(&session, s->db, by, err);
    if (rc != HF_OK)
        return rc;
    rc = ask_id(s, session, HF_TIED_settle, &id, by, err);
    if (rc == HF_OK)
        rc = check_straight(s, session, id, by, err);
    if (rc != HF_OK) {
        s->db->ops->give_back(session, true);
        return rc == HF_EDOUBT ? HF_EDOWN : rc;
    }
    s->session = session;
    s->id = id;
    ring(s);
    return HF_OK;
}

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
    int rc = ask_session(s, HF_TIED_take, c, &a, &last, by, err);
    int64_t id = hf__cell_number(&a, last, 0, 1);
    bool got = rc == HF_OK && hf__cell_number(&a, last, 0, 0) == 1;

    hf__answers_clear(&a);
    if (rc != HF_OK)
        return rc < 0 ? rc : hf__fail_plain(err, HF_ESTORE);
    if (id == s->id)
        return got;
    s->straight = false;
    lose(s);
    return pooled(s, err);
}

static int put_back(hf_tied *s, hf_tied_sql what, const hf_claim *c, hf_time by,
                    hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = ask_session(s, what, c, &a, &last, by, err);

    if (rc == HF_OK && hf__cell_number(&a, last, 0, 0) != 1)
        rc = hf__fail_plain(err, HF_ELOST);
    hf__answers_clear(&a);
    return rc;
}

/* OK, or BUSY: it was released to be kept from everybody for *left us. */
static int draw_token(hf_tied *s, hf_claim *c, int64_t *left, hf_time by,
                      hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = ask_tables(s, s->texts[HF_TIED_token], c, &a, &last, by, err);

    if (rc == HF_OK && hf__cell_number(&a, last, 0, 0) == 1)
        c->token = (uint64_t)hf__cell_number(&a, last, 0, 1);
    else if (rc == HF_OK)
        rc = HF_BUSY;
    *left = hf__cell_number(&a, last, 0, 2);
    hf__answers_clear(&a);
    return rc;
}

static int grant(hf_tied *s, hf_claim *c, bool waits, hold *h, hf_time by,
                 hf_error *err) {
    hf_error unheard;
    int64_t left = 0;
    int rc = draw_token(s, c, &left, by, err);

    if (rc != HF_OK) {
        if (s->session != NULL)
            put_back(s, HF_TIED_free, c, by, &unheard);
        free(h);
        if (rc == HF_EDOUBT)
            rc = err->code = HF_EDOWN; /* a token more does no harm */
        return rc == HF_BUSY ? refuse(c, waits, left) : rc;
    }
    h->token = c->token;
    h->next = s->holds;
    s->holds = h;
    c->place = 0;
    lease(h, c);
    ring(s);
    return HF_OK;
}

static hold *prepare(const hf_tied *s, const hf_claim *c) {
    size_t n = strlen(c->name) + 1;
    hold *h = calloc(1, sizeof *h + n);

    if (h == NULL)
        return NULL;
    h->owner = c->owner;
    h->key = key_of(s, c->name);
    memcpy(h->name, c->name, n);
    return h;
}

/* A session may have its own lock twice, so we look first. */
static int attempt_entered(hf_tied *s, hf_claim *c, bool waits, hf_time by,
                           hf_error *err) {
    int rc = need_session(s, c, by, err);
    hold *h = *find(s, key_of(s, c->name));

    if (rc != HF_OK)
        return rc;
    if (h != NULL && find_own(s, c) == NULL)
        return refuse(c, waits, 0);
    if (h != NULL) {
        c->token = h->token;
        lease(h, c);
        ring(s);
        return HF_OK;
    }
    if ((h = prepare(s, c)) == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = take(s, c, by, err);
    if (rc == 1)
        return grant(s, c, waits, h, by, err);
    free(h);
    return rc < 0 ? rc : refuse(c, waits, 0);
}

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = attempt_entered(s, c, waits, by, err);
    leave(s);
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
    hold **at = find_own(s, c);

    if (at == NULL || (*at)->token != c->token)
        return HF_ELOST;
    lease(*at, c);
    return HF_OK;
}

static int renew(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = enter(s, by, err);
    bool entered = rc == HF_OK;

    if (entered)
        rc = check_session(s, claims, n, by, err);
    for (size_t i = 0; i < n; i++)
        claims[i]->result = rc == HF_OK ? renew_one(s, claims[i]) : rc;
    if (entered) {
        ring(s); /* a lease may end sooner than it did */
        leave(s);
    }
    return rc;
}

/* ---- release ----------------------------------------------------------- */

/* The session that has the lock; 0: none. */
static int ask_holder(hf_tied *s, const hf_claim *c, int64_t *ret, hf_time by,
                      hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc =
        ask_text(s, NULL, s->texts[HF_TIED_holder], c, 0, &a, &last, by, err);

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
    rc = ask_text(s, NULL, s->texts[HF_TIED_end], c, id, &a, &last, by, err);
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

/* Is what is held, or kept, the owner's that is meant? */
static bool is_meant(hf_tied *s, const hf_claim *c, const char *whose,
                     hf_time by);

static int force(hf_tied *s, hf_claim *c, const char *whose, hf_time by,
                 hf_error *err) {
    hf_answers a = {.n = 0};
    hold **own = find(s, key_of(s, c->name));
    bool kept, held = *own != NULL;
    size_t last;
    int rc = ask_tables(s, s->texts[HF_TIED_last], c, &a, &last, by, err);

    kept = rc == HF_OK && hf__cell_number(&a, last, 0, 1) > 0;
    hf__answers_clear(&a);
    if (rc == HF_OK && whose != NULL && !is_meant(s, c, whose, by))
        return hf__fail_plain(err, HF_EFREE);
    if (rc == HF_OK && held) {
        drop(own);
        rc = put_back(s, HF_TIED_free, c, by, err);
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
    rc = ask_tables(s, s->texts[HF_TIED_force], c, &a, &last, by, err);
    hf__answers_clear(&a);
    return rc;
}

/* What never held, or does no more, is out. */
static int let_go(hf_tied *s, hf_claim *c, hf_how how, hf_time by,
                  hf_error *err) {
    hold **at = find_own(s, c);
    bool waited = c->token == 0 && c->place != 0;

    c->place = 0;
    if (at == NULL)
        return waited ? HF_OK : hf__fail_plain(err, HF_ELOST);
    drop(at);
    return put_back(s, how == HF_RELEASE_AFTER ? HF_TIED_keep : HF_TIED_free, c,
                    by, err);
}

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    int rc = enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = how == HF_RELEASE_FORCED ? force(s, c, whose, by, err) :
                                    let_go(s, c, how, by, err);
    leave(s);
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
    rc = ask_tables(s, s->texts[HF_TIED_last], c, &a, &last, by, err);
    if (rc == HF_OK)
        *value = hf__cell_number(&a, last, 0, 0);
    hf__answers_clear(&a);
    return rc == HF_EDOUBT ? HF_EDOWN : rc;
}

/* ---- who holds --------------------------------------------------------- */

static int announce(hf_backend *be, int lease_ms, hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    const hf_claim c = {.name = "", .lease_ms = lease_ms};
    hf_answers a = {.n = 0};
    size_t last;
    int rc = ask_tables(s, s->db->ops->texts[HF_SQL_announce], &c, &a, &last,
                        by, err);

    hf__answers_clear(&a);
    return rc;
}

enum { NAME, CLIENT, OWNER, TOKEN, AGE, KEPT, PID, HOST, PROGRAM, LOGIN, WHY };

/* 8-4-4-4-12, out of 32 digits. */
static void write_owner(char *to, size_t size, const char *client,
                        int64_t owner) {
    char low[33];
    size_t n = 0;

    for (; n < 32 && client[n]; n++)
        low[n] = (char)(client[n] >= 'A' && client[n] <= 'F' ? client[n] + 32 :
                                                               client[n]);
    low[n] = 0;
    snprintf(to, size, "%.8s-%.4s-%.4s-%.4s-%s:%llu", low, n > 8 ? low + 8 : "",
             n > 12 ? low + 12 : "", n > 16 ? low + 16 : "",
             n > 20 ? low + 20 : "", (unsigned long long)owner);
}

static void tell_line(const hf_answers *a, size_t last, size_t row, bool held,
                      hf_place_fn *fn, void *arg) {
    char name[HF_NAME_MAX + 1], owner[64], texts[4][HF_LITERAL_MAX + 1];
    int64_t kept = hf__cell_number(a, last, row, KEPT);

    hf__unhex(name, sizeof name, hf__cell(a, last, row, NAME));
    for (int i = 0; i < 4; i++)
        hf__unhex(texts[i], sizeof texts[i], hf__cell(a, last, row, HOST + i));
    write_owner(owner, sizeof owner, hf__cell(a, last, row, CLIENT),
                hf__cell_number(a, last, row, OWNER));
    fn(arg, &(hf_place){
                .name = name,
                .kind = "lock",
                .owner = owner,
                .holds = true,
                .token = (uint64_t)hf__cell_number(a, last, row, TOKEN),
                .lease_ms = held ? -1 : (kept + 999) / 1000,
                .since_ms = hf__cell_number(a, last, row, AGE) / 1000,
                .host = texts[0],
                .program = texts[1],
                .user = texts[2],
                .why = texts[3],
                .pid = hf__cell_number(a, last, row, PID),
            });
}

/* Lines tell who had the lock last, and the database whether somebody has it:
 * one statement for each line, in one script. */
static int ask_holders(hf_tied *s, const hf_answers *lines, size_t last,
                       hf_answers *ret, hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    size_t n = hf__answered_rows(lines, last);
    int rc;

    for (size_t i = 0; i < n; i++) {
        char name[HF_NAME_MAX + 1];
        const hf_claim c = {.name = name};
        fields f;

        hf__unhex(name, sizeof name, hf__cell(lines, last, i, NAME));
        hf__form_add(&form, s->texts[HF_TIED_holder], fill_in(s, &f, &c, 0));
    }
    rc = n > 0 ? hf__form_ask_any(&form, s->db, ret, by, err) : HF_OK;
    hf__form_clear(&form);
    return rc;
}

static int list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                hf_time by, hf_error *err) {
    hf_tied *s = (hf_tied *)be;
    const hf_claim c = {.name = name};
    hf_answers lines = {.n = 0}, holders = {.n = 0};
    size_t last;
    int rc = ask_text(s, NULL, s->texts[HF_TIED_list], &c, 0, &lines, &last, by,
                      err);

    if (rc == HF_OK)
        rc = ask_holders(s, &lines, last, &holders, by, err);
    for (size_t i = 0; rc == HF_OK && i < hf__answered_rows(&lines, last);
         i++) {
        bool held = hf__answered_rows(&holders, i) > 0;

        if (held || hf__cell_number(&lines, last, i, KEPT) > 0)
            tell_line(&lines, last, i, held, fn, arg);
    }
    hf__answers_clear(&lines);
    hf__answers_clear(&holders);
    return rc == HF_DB_NO_TABLES ? HF_OK : rc == HF_EDOUBT ? HF_EDOWN : rc;
}

typedef struct meant {
    const char *whose;
    bool yes;
} meant;

static void compare(void *arg, const hf_place *place) {
    meant *m = arg;

    m->yes = m->yes || strcmp(place->owner, m->whose) == 0;
}

static bool is_meant(hf_tied *s, const hf_claim *c, const char *whose,
                     hf_time by) {
    meant m = {whose, false};
    hf_error unheard;

    return list(&s->base, c->name, compare, &m, by, &unheard) == HF_OK && m.yes;
}

/* ---- the watcher ------------------------------------------------------- */

/* Gives back what nobody renewed. */
static void end_leases(hf_tied *s) {
    hf_time now = hf__now();

    for (hold **at = &s->holds; s->session != NULL && *at != NULL;) {
        char name[HF_NAME_MAX + 1];
        const hf_claim c = {.name = name};
        hf_error unheard;

        if ((*at)->until > now) {
            at = &(*at)->next;
            continue;
        }
        snprintf(name, sizeof name, "%s", (*at)->name);
        drop(at);
        put_back(s, HF_TIED_free, &c, hf__after_ms(s->base.host->timeout_ms),
                 &unheard);
        at = &s->holds; /* all may be gone */
    }
}

/* What to look at, until when.  With the session entered. */
static hf_time look_at(const hf_tied *s, struct pollfd *fds) {
    hf_time until = HF_NEVER;

    fds[0] = (struct pollfd){.fd = s->bell, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = -1};
    if (s->session != NULL)
        fds[1] = (struct pollfd){.fd = s->db->ops->descriptor(s->session),
                                 .events = POLLRDHUP};
    for (const hold *h = s->holds; h != NULL; h = h->next)
        until = hf__sooner(until, h->until);
    return until;
}

static bool has_ended(hf_tied *s) {
    struct pollfd fds[2];

    look_at(s, fds);
    return s->session != NULL && hf__world->poll(fds + 1, 1, hf__now()) > 0 &&
           fds[1].revents != 0;
}

static bool is_stopping(hf_tied *s) {
    bool stopping;

    pthread_mutex_lock(&s->mu);
    stopping = s->stopping;
    pthread_mutex_unlock(&s->mu);
    return stopping;
}

/* Watcher thread.  The server's end of the connection is all it looks at, so
 * that answers to others do not wake it. */
static void *watch_session(void *arg) {
    hf_tied *s = arg;
    struct pollfd fds[2];
    hf_error unheard;
    uint64_t rung;

    while (!is_stopping(s)) {
        hf_time until;

        if (enter(s, HF_NEVER, &unheard) != HF_OK)
            continue;
        if (has_ended(s))
            lose(s);
        end_leases(s);
        until = look_at(s, fds);
        leave(s);
        hf__world->poll(fds, 2, until);
        if (fds[0].revents != 0 && read(s->bell, &rung, sizeof rung) < 0)
            continue;
    }
    return NULL;
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
    int rc = enter(s, by, err);

    if (rc != HF_OK)
        return rc;
    rc = need_session(s, NULL, by, err);
    leave(s);
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
    ring(s);
    hf__world->thread_join(s->watcher);
}

static void tied_close(hf_backend *be, bool forked) {
    hf_tied *s = (hf_tied *)be;

    if (!forked) {
        stop_watching(s);
        if (s->session != NULL)
            s->db->ops->give_back(s->session, true);
    }
    if (s->db != NULL)
        s->db->ops->close(s->db, forked);
    if (s->bell >= 0)
        close(s->bell);
    if (forked) /* the mutex may be anybody's */
        return;
    while (s->holds != NULL)
        drop(&s->holds);
    pthread_mutex_destroy(&s->mu);
    pthread_cond_destroy(&s->freed);
    free(s->where);
    free(s);
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
        asprintf(&s->where, "%s?hf_lease=session", ops->where(s->db)) < 0) {
        s->where = NULL;
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    }
    if (rc == HF_OK)
        rc = need_session(s, NULL, by, err);
    if (rc == HF_OK)
        rc = count(&s->base, &(hf_claim){.name = ""}, HF_COUNT_TOKEN, &none, by,
                   err); /* and so makes the tables */
    if (rc == HF_OK && (s->bell < 0 || hf__world->thread_start(
                                           &s->watcher, watch_session, s) != 0))
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
    if ((s = calloc(1, sizeof *s)) == NULL)
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
    .announce = announce,
    .list = list,
    .examine = examine,
    .rights = rights,
};
