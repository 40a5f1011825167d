/* SPDX-License-Identifier: MIT
 *
 * tied.c - the session: made, asked by one at a time, watched. */
#include "tied.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "statements.h"

enum {
    BELIEVED_MS = 15000,
    BESIDE_S = 2, /* the server waits that much longer than the lease */
};

/* ---- who may use the session ------------------------------------------- */

int hf__tied_enter(hf_tied *s, hf_time by, hf_error *err) {
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

void hf__tied_leave(hf_tied *s) {
    pthread_mutex_lock(&s->mu);
    s->busy = false;
    pthread_cond_signal(&s->freed);
    pthread_mutex_unlock(&s->mu);
}

void hf__tied_ring(const hf_tied *s) {
    uint64_t one = 1;

    if (write(s->bell, &one, sizeof one) < 0)
        return; /* it is ringing already */
}

/* ---- holds ------------------------------------------------------------- */

int64_t hf__tied_key(const hf_tied *s, const char *name) {
    uint64_t h = 14695981039346656037u;
    const char *schema = s->db->schema != NULL ? s->db->schema : "";
    const char *parts[] = {"holdfast:", schema, name};

    for (int i = 0; i < 3; i++)
        for (const char *p = parts[i]; *p; p++)
            h = (h ^ (unsigned char)*p) * 1099511628211u;
    return (int64_t)h;
}

hf_tied_hold **hf__tied_find(hf_tied *s, int64_t key) {
    hf_tied_hold **at = &s->holds;

    while (*at != NULL && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

/* NULL: this owner holds nothing of the name. */
hf_tied_hold **hf__tied_find_own(hf_tied *s, const hf_claim *c) {
    hf_tied_hold **at = hf__tied_find(s, hf__tied_key(s, c->name));

    return *at != NULL && (*at)->owner == c->owner &&
                   strcmp((*at)->name, c->name) == 0 ?
               at :
               NULL;
}

void hf__tied_drop(hf_tied_hold **at) {
    hf_tied_hold *gone = *at;

    *at = gone->next;
    hf__free(gone);
}

void hf__tied_lease(hf_tied_hold *h, hf_claim *c) {
    h->lease_ms = c->lease_ms;
    h->until = hf__after_ms(c->lease_ms);
    c->session_ms = BELIEVED_MS;
}

/* The session is over, and with it all that it holds. */
void hf__tied_lose(hf_tied *s) {
    bool held = s->holds != NULL;

    if (s->session != NULL)
        s->db->ops->give_back(s->session, true);
    s->session = NULL;
    while (s->holds != NULL)
        hf__tied_drop(&s->holds);
    if (held)
        s->base.host->shaken(s->base.host->core, HF_LOCK, NULL);
    hf__tied_ring(s);
}

/* ---- asking ------------------------------------------------------------ */

const hf_blank *hf__tied_fill_in(const hf_tied *s, hf_tied_fields *f,
                                 const hf_claim *c, int64_t id) {
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
             (long long)(all ? 0 : hf__tied_key(s, c->name)));
    snprintf(f->owner, sizeof f->owner, "%lld", (long long)c->owner);
    snprintf(f->lease, sizeof f->lease, "%lld", c->lease_ms * 1000LL);
    snprintf(f->idle, sizeof f->idle, "%d", s->idle_s);
    snprintf(f->id, sizeof f->id, "%lld", (long long)id);
    memcpy(f->blanks, blanks, sizeof blanks);
    return f->blanks;
}

const hf_claim hf__tied_nobody = {.name = ""};

/* A session, or whichever is free if it is NULL. */
int hf__tied_ask(hf_tied *s, hf_session *session, const char *text,
                 const hf_claim *c, int64_t id, hf_answers *a, size_t *last,
                 hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    hf_tied_fields f;
    int rc;

    *last = hf__form_add(&form, text, hf__tied_fill_in(s, &f, c, id));
    rc = session != NULL ? hf__form_ask(&form, s->db, session, a, by, err) :
                           hf__form_ask_any(&form, s->db, a, by, err);
    hf__form_clear(&form);
    return rc;
}

static int make_tables(hf_tied *s, hf_time by, hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = hf__tied_ask(s, NULL, s->db->ops->texts[HF_SQL_layout_1],
                          &hf__tied_nobody, 0, &a, &last, by, err);

    hf__answers_clear(&a);
    if (rc == HF_DB_NO_TABLES)
        rc = hf__fail(err, HF_ESTORE, "holdfast's tables could not be made");
    return rc;
}

/* Statements about tables, which must be there. */
int hf__tied_ask_form(hf_tied *s, const hf_form *form, hf_answers *a,
                      hf_time by, hf_error *err) {
    int rc = hf__form_ask_any(form, s->db, a, by, err);

    if (rc != HF_DB_NO_TABLES)
        return rc;
    hf__answers_clear(a);
    rc = make_tables(s, by, err);
    if (rc == HF_OK)
        rc = hf__form_ask_any(form, s->db, a, by, err);
    return rc == HF_DB_NO_TABLES ?
               hf__fail(err, HF_ESTORE, "holdfast's tables come and go") :
               rc;
}

int hf__tied_ask_tables(hf_tied *s, const char *text, const hf_claim *c,
                        hf_answers *a, size_t *last, hf_time by,
                        hf_error *err) {
    hf_form form = {.text = NULL};
    hf_tied_fields f;
    int rc;

    *last = hf__form_add(&form, text, hf__tied_fill_in(s, &f, c, 0));
    rc = hf__tied_ask_form(s, &form, a, by, err);
    hf__form_clear(&form);
    return rc;
}

/* Can nothing more be said to it? */
static bool is_over(int rc) {
    return rc == HF_EDOUBT || rc == HF_EDOWN || rc == HF_EREAD_ONLY ||
           rc == HF_ESTARTING || rc == HF_DB_AGAIN;
}

/* What only the session that holds the locks can do.  One that does not answer
 * in time is given up: the next answer would be that to this question. */
int hf__tied_ask_session(hf_tied *s, hf_tied_sql what, const hf_claim *c,
                         hf_answers *a, size_t *last, hf_time by,
                         hf_error *err) {
    int rc =
        hf__tied_ask(s, s->session, s->texts[what], c, 0, a, last, by, err);

    if (rc == HF_OK || !is_over(rc))
        return rc;
    hf__tied_lose(s);
    if (rc == HF_DB_AGAIN)
        return hf__fail(err, HF_EDOWN, "the database ended the session");
    return rc;
}

/* ---- the session ------------------------------------------------------- */

int hf__tied_pooled(const hf_tied *s, hf_error *err) {
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
    int rc = hf__tied_ask(s, session, s->texts[what], &hf__tied_nobody, 0, &a,
                          &last, by, err);

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
        rc = hf__tied_pooled(s, err);
    s->straight = rc == HF_OK;
    return rc;
}

/* How long it may be silent: as long as the longest lease, and a little. */
static int silence(const hf_tied *s, hf_claim *const *claims, size_t n) {
    int ms = 1;

    for (const hf_tied_hold *h = s->holds; h != NULL; h = h->next)
        ms = h->lease_ms > ms ? h->lease_ms : ms;
    for (size_t i = 0; i < n; i++)
        ms = claims[i]->lease_ms > ms ? claims[i]->lease_ms : ms;
    return (ms - 1) / 1000 + 1 + BESIDE_S;
}

/* It answers, and so holds what it holds; and knows how long to wait for us. */
int hf__tied_check(hf_tied *s, hf_claim *const *claims, size_t n, hf_time by,
                   hf_error *err) {
    int idle_s = silence(s, claims, n);
    hf_tied_sql what = idle_s != s->idle_s ? HF_TIED_settle : HF_TIED_id;
    hf_answers a = {.n = 0};
    size_t last;
    int rc;

    if (s->session == NULL)
        return HF_OK;
    s->idle_s = idle_s;
    rc = hf__tied_ask_session(s, what, &hf__tied_nobody, &a, &last, by, err);
    if (rc == HF_OK && hf__cell_number(&a, last, 0, 0) != s->id)
        hf__tied_lose(s); /* somebody lent us another one */
    hf__answers_clear(&a);
    return s->session == NULL ? HF_OK : rc;
}

/* For a claim; NULL: to see whether there can be one. */
int hf__tied_need(hf_tied *s, hf_claim *c, hf_time by, hf_error *err) {
    hf_session *session;
    int64_t id = 0;
    int rc, idle_s = silence(s, &c, c != NULL);

    if (s->session != NULL && idle_s > s->idle_s) {
        rc = hf__tied_check(s, &c, c != NULL, by, err);
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
    hf__tied_ring(s);
    return HF_OK;
}

int hf__tied_put_back(hf_tied *s, hf_tied_sql what, const hf_claim *c,
                      hf_time by, hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = hf__tied_ask_session(s, what, c, &a, &last, by, err);

    if (rc == HF_OK && hf__cell_number(&a, last, 0, 0) != 1)
        rc = hf__fail_plain(err, HF_ELOST);
    hf__answers_clear(&a);
    return rc;
}

/* ---- the watcher ------------------------------------------------------- */

/* Gives back what nobody renewed. */
static void end_leases(hf_tied *s) {
    hf_time now = hf__now();

    for (hf_tied_hold **at = &s->holds; s->session != NULL && *at != NULL;) {
        char name[HF_NAME_MAX + 1];
        const hf_claim c = {.name = name};
        hf_error unheard;

        if ((*at)->until > now) {
            at = &(*at)->next;
            continue;
        }
        snprintf(name, sizeof name, "%s", (*at)->name);
        hf__tied_drop(at);
        hf__tied_put_back(s, HF_TIED_free, &c,
                          hf__after_ms(s->base.host->timeout_ms), &unheard);
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
    for (const hf_tied_hold *h = s->holds; h != NULL; h = h->next)
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
void *hf__tied_watch(void *arg) {
    hf_tied *s = arg;
    struct pollfd fds[2];
    hf_error unheard;
    uint64_t rung;

    while (!is_stopping(s)) {
        hf_time until;

        if (hf__tied_enter(s, HF_NEVER, &unheard) != HF_OK)
            continue;
        if (has_ended(s))
            hf__tied_lose(s);
        end_leases(s);
        until = look_at(s, fds);
        hf__tied_leave(s);
        hf__world->poll(fds, 2, until);
        if (fds[0].revents != 0 && read(s->bell, &rung, sizeof rung) < 0)
            continue;
    }
    return NULL;
}
