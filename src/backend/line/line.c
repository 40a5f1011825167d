/* SPDX-License-Identifier: MIT
 *
 * line.c - the verbs of a store that keeps lines of session-bound entries.
 *
 * A claim makes an entry at the end of its line and holds when the rule of
 * admission, over the line as the store's majority has it, lets it; until then
 * it keeps its place and listens for the entry that stands in its way.  Who
 * only tries leaves nothing behind.
 *
 * The store knows sessions, not leases: a lease that ends earlier is ended by
 * us (worker.c), and a grant is believed in for as long as the session is good. */
#include "line.h"

#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../uri.h"
#include "note.h"
#include "store.h"

/* What the kinds are here. */
static const unsigned abilities[HF_KINDS] = {
    [HF_LOCK] = HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE,
    [HF_FAIR] = HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE,
    [HF_SPIN] = HF_CAN_HOLD,
    [HF_READ] = HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE,
    [HF_WRITE] = HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE,
    [HF_PERMIT] = HF_CAN_HOLD | HF_CAN_WAKE,
    [HF_SEMAPHORE] = HF_CAN_HOLD | HF_CAN_WAKE,
    [HF_LATCH] = HF_CAN_HOLD | HF_CAN_WAKE,
};

/* ---- life -------------------------------------------------------------- */

/* The port may call us until it is closed. */
static void destroy(hf_line_store *s) {
    pthread_mutex_lock(&s->mu);
    for (size_t i = 0; i < HF_LINE_BUCKETS; i++) {
        while (s->places[i]) {
            hf_line_place *p = s->places[i];

            hf__place_unlink(s, p);
            hf__place_free(s, p);
        }
        while (s->ears[i])
            hf__ear_free(s, s->ears[i]);
    }
    pthread_mutex_unlock(&s->mu);
    s->port->ops->close(s->port, false);
    pthread_mutex_destroy(&s->mu);
    pthread_cond_destroy(&s->changed);
    pthread_cond_destroy(&s->work);
    hf__free(s);
}

/* Is the session shorter than what locks are leased for? */
static int read_session(hf_line_store *s, const hf_uri *uri, hf_error *err) {
    int ms = s->base.host->lease_ms;
    int rc = uri ? hf__uri_ms(uri, "session", &ms, err) : HF_OK;

    s->notices = ms < s->base.host->lease_ms;
    return rc;
}

int hf__lines_open(hf_backend **ret, const hf_backend_ops *ops,
                   const hf_port_ops *port, const hf_uri *uri,
                   const hf_host *host, hf_time by, hf_error *err) {
    hf_line_store *s = hf__calloc(1, sizeof *s);
    int rc;

    if (!s)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->base = (hf_backend){.ops = ops, .host = host};
    s->port_host = (hf_port_host){.host = host,
                                  .moved = hf__line_moved,
                                  .renewed = hf__line_renewed,
                                  .reconnected = hf__line_reconnected,
                                  .line_store = s};
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->changed, NULL);
    pthread_cond_init(&s->work, NULL);
    s->sleeps_until = HF_NEVER;
    s->errands_end = &s->errands;
    rc = read_session(s, uri, err);
    if (rc == HF_OK)
        rc = port->open(&s->port, uri, &s->port_host, by, err);
    if (rc != HF_OK) {
        hf__free(s);
        return rc;
    }
    *ret = &s->base;
    return HF_OK;
}

/* What was not given back goes with the session. */
void hf__lines_close(hf_backend *be, bool forked) {
    hf_line_store *s = hf__line_store(be);

    if (forked) { /* threads that are gone may have held our mutex */
        s->port->ops->close(s->port, true);
        return;
    }
    hf__worker_stop(s);
    destroy(s);
}

/* The end of a process is noticed with its session. */
unsigned hf__lines_can(const hf_backend *be, hf_kind kind) {
    unsigned bits = (unsigned)kind < HF_KINDS ? abilities[kind] : 0;

    if (bits && kind != HF_SEMAPHORE && kind != HF_LATCH &&
        ((const hf_line_store *)be)->notices)
        bits |= HF_CAN_NOTICE;
    return bits;
}

const char *hf__lines_where(const hf_backend *be) {
    const hf_port *port = ((const hf_line_store *)be)->port;

    return port->ops->where(port);
}

/* ---- records ----------------------------------------------------------- */

/* A note, and on the lines behind it what the client does.  Entries say whose
 * they are: a client that has nothing else to say needs no record. */
int hf__lines_announce(hf_backend *be, const char *doing, int lease_ms,
                       hf_time by, hf_error *err) {
    hf_port *port = hf__line_store(be)->port;
    char note[HF_NOTE_SIZE], *text;
    size_t n, m = strlen(doing);
    int rc;

    if (m == 0 || !port->ops->record)
        return HF_OK;
    hf__note_present(note, lease_ms, &be->host->identity);
    n = strlen(note);
    text = hf__malloc(n + m + 2);
    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    memcpy(text, note, n);
    text[n] = '\n';
    memcpy(text + n + 1, doing, m + 1);
    rc = port->ops->record(port, text, by, err);
    hf__free(text);
    return rc;
}

typedef struct telling {
    hf_record_fn *fn;
    void *arg;
    bool no_memory;
} telling;

/* What is no note with something behind it is not by us. */
static void tell(void *arg, const char *client, const char *text,
                 size_t length) {
    telling *t = arg;
    hf_note note;
    char *copy, *doing;

    if (strlen(client) + 1 != sizeof note.who.client || length == 0 ||
        memchr(text, '\0', length))
        return;
    copy = hf__strndup(text, length);
    t->no_memory |= !copy;
    doing = copy ? strchr(copy, '\n') : NULL;
    if (doing) {
        *doing++ = '\0';
        if (hf__note_read(&note, copy)) {
            memcpy(note.who.client, client, sizeof note.who.client);
            t->fn(t->arg, &note.who, doing);
        }
    }
    hf__free(copy);
}

int hf__lines_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                      hf_error *err) {
    hf_port *port = hf__line_store(be)->port;
    telling t = {.fn = fn, .arg = arg};
    int rc;

    if (!port->ops->records)
        return hf__fail_plain(err, HF_ECANNOT);
    rc = port->ops->records(port, tell, &t, by, err);
    return rc == HF_OK && t.no_memory ? hf__fail_plain(err, HF_ENO_MEMORY) : rc;
}

/* ---- the store itself -------------------------------------------------- */

int hf__lines_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err) {
    hf_port *port = hf__line_store(be)->port;

    return port->ops->examine(port, fn, arg, by, err);
}

int hf__lines_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    hf_port *port = hf__line_store(be)->port;

    if (!port->ops->rights)
        return hf__fail_plain(err, HF_ECANNOT);
    return port->ops->rights(port, prefix, fn, arg, by, err);
}

static int check_name(hf_line_store *s, const hf_claim *c, hf_error *err) {
    hf_line line = hf__line_of(c->kind, c->name);

    return s->port->ops->check_name(s->port, &line, err);
}

/* ---- attempt ----------------------------------------------------------- */

int hf__lines_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                      hf_error *err) {
    hf_line_store *s = hf__line_store(be);
    int rc = check_name(s, c, err);

    if (rc != HF_OK)
        return rc;
    if (c->kind == HF_SEMAPHORE)
        return hf__count_take(s, c, by, err);
    if (c->kind == HF_LATCH)
        return hf__count_zero(s, c, by, err);
    return hf__line_stand(s, c, waits, by, err);
}

/* ---- watch ------------------------------------------------------------- */

/* An ear for the claim.  The attempt that comes next turns it to whatever is in
 * the way then. */
int hf__lines_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                    hf_error *err) {
    hf_line_store *s = hf__line_store(be);
    hf_line_ear *ear;
    int rc = HF_OK;

    (void)by;
    pthread_mutex_lock(&s->mu);
    ear = hf__ear_find(s, c);
    if (on && !ear && !hf__ear_add(s, c))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else if (!on && ear)
        hf__ear_free(s, ear);
    pthread_mutex_unlock(&s->mu);
    return rc;
}

/* ---- release ----------------------------------------------------------- */

static int lost(const hf_claim *c, hf_error *err) {
    return hf__fail(err, HF_ELOST, "\"%.128s\" was no longer held", c->name);
}

/* The entry stays until then, and something that outlives us says so. */
static int release_after(hf_line_store *s, hf_line_place *p, int ms, hf_time by,
                         hf_error *err) {
    hf_wish w = hf__place_wish(p);
    char note[HF_NOTE_SIZE];
    int rc;

    hf__note_released(note, ms, &s->base.host->identity);
    w.note = note;
    pthread_mutex_unlock(&s->mu);
    rc = s->port->ops->keep_out(s->port, &w, p->key, ms, by, err);
    pthread_mutex_lock(&s->mu);
    hf__errand_add(s, p, hf__after_ms(ms));
    return rc == HF_EFREE ? hf__fail_plain(err, HF_ELOST) : rc;
}

/* Mutex held on entry, not on exit. */
static int let_go(hf_line_store *s, hf_line_place *p, hf_claim *c, hf_how how,
                  hf_time by, hf_error *err) {
    bool late = p->holds && p->lease_until <= hf__now();
    int rc;

    if (how != HF_RELEASE && p->key && hf__line_lives(s, p)) {
        hf__place_unlink(s, p);
        p->posted = how == HF_RELEASE_POSTED;
        if (p->posted)
            hf__errand_add(s, p, 0);
        rc = p->posted ? HF_OK : release_after(s, p, c->lease_ms, by, err);
        pthread_mutex_unlock(&s->mu);
        return rc;
    }
    rc = hf__place_leave(s, p, by, err);
    if (rc == HF_EFREE || (rc == HF_OK && late))
        return lost(c, err);
    return rc;
}

static int release(hf_line_store *s, hf_claim *c, hf_how how, hf_time by,
                   hf_error *err) {
    hf_line_place *p;
    bool late;

    pthread_mutex_lock(&s->mu);
    p = hf__place_wait(s, c, by, &late);
    if (p)
        return let_go(s, p, c, how, by, err);
    pthread_mutex_unlock(&s->mu);
    return late ? hf__fail(err, HF_EDOUBT, "another question is under way") :
                  lost(c, err);
}

int hf__lines_release(hf_backend *be, hf_claim *c, hf_how how,
                      const char *whose, hf_time by, hf_error *err) {
    hf_line_store *s = hf__line_store(be);
    int rc = check_name(s, c, err);

    if (rc != HF_OK)
        return rc;
    if (how == HF_RELEASE_FORCED)
        return hf__line_force(s, c, whose, by, err);
    if (c->kind == HF_LATCH)
        return HF_OK; /* nothing is held */
    if (c->kind == HF_SEMAPHORE)
        return hf__count_undo(s, c, by, err);
    return release(s, c, how, by, err);
}
