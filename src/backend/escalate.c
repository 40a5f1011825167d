/* SPDX-License-Identifier: MIT
 *
 * escalate.c - a store made of two: names live in the first as long as that
 * can be had, and go over to the second, with what is held, when it cannot.
 *
 * Here are the verbs.  Each first sees to it that we may ask at all, which
 * escalate_move.c knows, and then asks the store in which the name lives.  No
 * thread is needed for that: a permission is what the core calls a session,
 * and a core that is told so (session_ms) asks for a renewal in time.
 *
 * The core's claim has a *twin*: one claim in each store, of which mostly one
 * is used. */
#include "escalate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../err.h"
#include "../uri.h"

enum {
    OPEN_AGAIN_MS = 200,
    LOOK_MS = 200, /* the longest sleep of who waits for a gate to be empty */
    CLOSE_MS = 1000,
    LEAVE_MS = 200
};

static hf_escalate *whole_of(hf_backend *be) {
    return (hf_escalate *)be;
}

/* ---- the sides --------------------------------------------------------- */

/* Each of the two is traced: what is asked of both together says little. */
static int open_side(hf_side *side, hf_time by, hf_error *err) {
    const char *trace = getenv("HOLDFAST_TRACE");
    hf_backend *be = NULL;
    int rc = HF_EDOWN;

    if (hf__now() < side->open_at)
        return hf__fail(err, rc, "%s could not be opened", side->shown);
    rc = side->ops->open(&be, side->uri, &side->host, by, err);
    side->open_at = hf__now() + OPEN_AGAIN_MS * HF_MS;
    if (rc == HF_OK && trace && strcmp(trace, "1") == 0 &&
        !(be = hf__trace_wrap(NULL, be)))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        atomic_store(&side->be, be);
    return rc;
}

int hf__side_open(hf_side *side, hf_backend **ret, hf_time by, hf_error *err) {
    int rc = HF_OK;

    *ret = atomic_load(&side->be);
    if (*ret)
        return HF_OK;
    if (pthread_mutex_trylock(&side->mu) != 0)
        return hf__fail(err, HF_EDOWN, "%s is being opened", side->shown);
    if (!atomic_load(&side->be))
        rc = open_side(side, by, err);
    pthread_mutex_unlock(&side->mu);
    *ret = atomic_load(&side->be);
    return rc;
}

static const char *side_where(hf_side *side) {
    hf_backend *be = atomic_load(&side->be);

    return be ? be->ops->where(be) : side->shown;
}

/* What the two stores call.  A name of the second is told as that of the
 * first; names of gates are nobody's. */
static const char *outer_name(const hf_side *side, const char *name, char *buf,
                              size_t size) {
    const hf_side *first = &side->whole->side[HF_SIDE_FIRST];
    size_t n = strlen(side->prefix);

    if (!name || side == first)
        return name;
    snprintf(buf, size, "%s%s", first->prefix,
             strncmp(name, side->prefix, n) == 0 ? name + n : name);
    return buf;
}

static void on_woken(void *core, hf_kind kind, const char *name,
                     uint64_t owner) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->woken(host->core, kind, outer_name(side, name, buf, sizeof buf),
                owner);
}

/* Whether we may take it is not known here: the waiter asks, which is safe. */
static void on_granted(void *core, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    (void)token, (void)until;
    on_woken(core, kind, name, owner);
}

static void on_shaken(void *core, hf_kind kind, const char *name) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->shaken(host->core, kind, outer_name(side, name, buf, sizeof buf));
}

static void on_unreleased(void *core, const char *name, int code) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->unreleased(host->core, outer_name(side, name, buf, sizeof buf), code);
}

static void on_weaker(void *core, const char *name, int code) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->weaker(host->core, outer_name(side, name, buf, sizeof buf), code);
}

static int side_init(hf_side *side, hf_escalate *w, const hf_uri *uri,
                     hf_error *err) {
    const char *prefix;
    size_t size;
    int rc;

    side->whole = w;
    pthread_mutex_init(&side->mu, NULL);
    if ((rc = hf__table_find(&side->ops, uri->scheme, err)) ||
        (rc = hf__uri_check_params(uri, side->ops->params, err)) ||
        (rc = hf_uri_parse(&side->uri, uri->text, err)))
        return rc;
    prefix = hf_uri_get(side->uri, "hf_prefix");
    side->prefix = prefix ? prefix : "";
    size = hf_uri_redact(uri->text, NULL, 0) + 1;
    side->shown = malloc(size);
    if (!side->shown)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf_uri_redact(uri->text, side->shown, size);
    side->host = *w->base.host;
    side->host.woken = on_woken;
    side->host.granted = on_granted;
    side->host.shaken = on_shaken;
    side->host.unreleased = on_unreleased;
    side->host.weaker = on_weaker;
    side->host.core = side;
    return HF_OK;
}

static void side_free(hf_side *side, bool forked) {
    hf_backend *be = atomic_load(&side->be);

    if (be)
        be->ops->close(be, forked);
    if (forked)
        return;
    pthread_mutex_destroy(&side->mu);
    hf_uri_free(side->uri);
    free(side->shown);
}

/* ---- passages ---------------------------------------------------------- */

static size_t bucket_of(const char *name) {
    size_t h = 5381;

    while (*name)
        h = h * 33 + (unsigned char)*name++;
    return h % HF_PASSAGES;
}

static void passage_free(hf_passage *p) {
    pthread_mutex_destroy(&p->mu);
    pthread_cond_destroy(&p->free);
    free(p->gate_name);
    free(p->second);
    free(p->name);
    free(p);
}

static hf_passage *passage_new(const hf_escalate *w, const char *name) {
    const hf_side *first = &w->side[HF_SIDE_FIRST],
                  *second = &w->side[HF_SIDE_SECOND];
    const char *bare = name + strlen(first->prefix);
    hf_passage *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    pthread_mutex_init(&p->mu, NULL);
    pthread_cond_init(&p->free, NULL);
    p->name = strdup(name);
    p->second = malloc(strlen(second->prefix) + strlen(bare) + 1);
    if (!p->name || !p->second) {
        passage_free(p);
        return NULL;
    }
    sprintf(p->second, "%s%s", second->prefix, bare);
    return p;
}

/* Nobody uses it, and its permission is over: what it knows is one question
 * away.  mu of the whole. */
static void sweep(hf_passage **link) {
    while (*link) {
        hf_passage *p = *link;

        if (p->refs == 0 && !p->twins && hf__now() >= p->until) {
            *link = p->next;
            passage_free(p);
        } else {
            link = &p->next;
        }
    }
}

static hf_passage *passage_find(hf_escalate *w, const char *name, bool make) {
    hf_passage **bucket = &w->passages[bucket_of(name)], *p;

    pthread_mutex_lock(&w->mu);
    for (p = *bucket; p && strcmp(p->name, name) != 0; p = p->next)
        ;
    if (!p && make) {
        sweep(bucket);
        p = passage_new(w, name);
        if (p) {
            p->next = *bucket;
            *bucket = p;
        }
    }
    if (p)
        p->refs++;
    pthread_mutex_unlock(&w->mu);
    return p;
}

static void passage_put(hf_escalate *w, hf_passage *p) {
    pthread_mutex_lock(&w->mu);
    p->refs--;
    pthread_mutex_unlock(&w->mu);
}

/* The suffix of a gate must fit behind the name. */
static int passage_of(hf_escalate *w, hf_passage **ret, const char *name,
                      hf_error *err) {
    hf_passage *p = passage_find(w, name, true);

    *ret = p;
    if (!p)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (strlen(p->second) + HF_GATE_TEXT <= HF_NAME_MAX)
        return HF_OK;
    passage_put(w, p);
    return hf__fail(err, HF_ENAME,
                    "a name that may change stores has at most %d bytes",
                    HF_NAME_MAX - HF_GATE_TEXT);
}

/* ---- the turn ---------------------------------------------------------- */

static bool take_turn(hf_passage *p, hf_time by) {
    pthread_mutex_lock(&p->mu);
    while (p->busy && hf__now() < by)
        hf__world->wait(&p->free, &p->mu, by);
    bool mine = !p->busy;
    if (mine)
        p->busy = true;
    pthread_mutex_unlock(&p->mu);
    return mine;
}

/* With nothing locked: a callback may want the turn. */
static void tell(hf_escalate *w, const hf_passage *p, const hf_news *news) {
    void *core = w->base.host->core;

    if (news->moving)
        w->moved(core, p->name, side_where(hf__side_of(w, news->to)), false,
                 news->why);
    if (news->moved)
        w->moved(core, p->name, side_where(hf__side_of(w, news->to)), true,
                 HF_OK);
}

static void end_turn(hf_escalate *w, hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    hf_news news = p->news;
    p->news = (hf_news){0};
    p->busy = false;
    pthread_cond_broadcast(&p->free);
    pthread_mutex_unlock(&p->mu);
    tell(w, p, &news);
}

static int pass(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    int rc;

    if (!take_turn(p, by))
        return hf__fail(err, HF_EDOWN,
                        "%s does not answer: whether '%s' may be used is not "
                        "known",
                        side_where(&w->side[HF_SIDE_SECOND]), p->name);
    rc = hf__advance(w, p, by, err);
    end_turn(w, p);
    return rc;
}

const char *hf__escalate_where(hf_backend *be, const char *name) {
    hf_escalate *w = whole_of(be);
    hf_passage *p = passage_find(w, name, false);
    uint64_t epoch = 0;

    if (p) {
        pthread_mutex_lock(&p->mu);
        epoch = p->phase == HF_ENTERING ? p->epoch - 1 : p->epoch;
        pthread_mutex_unlock(&p->mu);
        passage_put(w, p);
    }
    return side_where(hf__side_of(w, epoch));
}

/* ---- twins (passage mu) ------------------------------------------------ */

static hf_twin *twin_of(const hf_passage *p, uint64_t owner) {
    hf_twin *t = p->twins;

    while (t && t->owner != owner)
        t = t->next;
    return t;
}

/* What could not be given back in its time. */
static void twins_sweep(hf_passage *p) {
    hf_twin **link = &p->twins;

    while (*link) {
        hf_twin *t = *link;

        if (t->ends && hf__now() >= t->ends) {
            *link = t->next;
            free(t);
        } else {
            link = &t->next;
        }
    }
}

static hf_twin *twin_make(hf_passage *p, uint64_t owner) {
    hf_twin *t;

    twins_sweep(p);
    t = twin_of(p, owner);
    if (t || !(t = calloc(1, sizeof *t)))
        return t;
    t->owner = owner;
    t->next = p->twins;
    p->twins = t;
    return t;
}

static void twin_free(hf_passage *p, uint64_t owner) {
    hf_twin **link = &p->twins;

    while (*link && (*link)->owner != owner)
        link = &(*link)->next;
    hf_twin *t = *link;
    if (t) {
        *link = t->next;
        free(t);
    }
}

hf_time hf__twin_until(const hf_passage *p, const hf_twin *t) {
    int side = (int)(p->epoch & 1);
    hf_time until;

    if (!t->held || t->tenure != p->tenure)
        return 0;
    until = hf__sooner(p->until, t->until[t->lives]);
    if (p->phase == HF_ENTERING && t->lives != side)
        until = hf__sooner(until, t->until[side]);
    return until;
}

hf_claim hf__twin_claim(const hf_passage *p, const hf_twin *t, int side,
                        const hf_claim *asked) {
    const hf_claim *like = asked ? asked : &t->c[t->lives];
    hf_claim c = *like;

    c.name = side == HF_SIDE_FIRST ? p->name : p->second;
    c.token = t->c[side].token;
    c.last_token = 0;
    c.session_ms = 0;
    c.place = t->c[side].place;
    if (side == HF_SIDE_SECOND)
        c.replicas = 0;
    if (!asked)
        c.block = 0;
    return c;
}

void hf__twin_stands(hf_twin *t, int side, hf_time asked, const hf_claim *c) {
    int good_ms = c->session_ms && c->session_ms < c->lease_ms ? c->session_ms :
                                                                 c->lease_ms;
    hf_time lease = good_ms * HF_MS;

    t->c[side] = *c;
    t->stands[side] = true;
    t->until[side] = asked + lease - lease / 100 - 2 * HF_MS;
}

void hf__twin_leave(hf_escalate *w, hf_passage *p, uint64_t owner, int side,
                    hf_time by) {
    hf_claim c = {0};
    hf_backend *be;
    hf_error err;
    int rc = HF_EDOWN;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = twin_of(p, owner);
    bool stands = t && t->stands[side];
    if (stands)
        c = t->c[side];
    pthread_mutex_unlock(&p->mu);
    if (!stands)
        return;
    by = hf__sooner(by, hf__now() + LEAVE_MS * HF_MS);
    if (hf__side_open(&w->side[side], &be, by, &err) == HF_OK)
        rc = be->ops->release(be, &c, HF_RELEASE, NULL, by, &err);
    pthread_mutex_lock(&p->mu);
    t = twin_of(p, owner);
    if (t && (rc == HF_OK || rc == HF_ELOST)) {
        t->stands[side] = false;
        t->until[side] = 0;
        t->c[side].token = t->c[side].place = 0;
    }
    pthread_mutex_unlock(&p->mu);
}

/* ---- attempt ----------------------------------------------------------- */

static uint64_t token_of(uint64_t epoch, uint64_t token) {
    return epoch << HF_TOKEN_BITS | token;
}

static bool fits(const hf_claim *c) {
    uint64_t end = UINT64_C(1) << HF_TOKEN_BITS;

    return c->token < end && c->last_token < end;
}

/* For so long from `began`, which the core asked before. */
static int span_ms(hf_time began, hf_time until) {
    hf_time ms = (until - began) / HF_MS;

    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* What the core is told of a hold. */
static int tell_hold(const hf_passage *p, const hf_twin *t, hf_claim *c,
                     hf_time began) {
    hf_time until = hf__twin_until(p, t);

    if (hf__now() >= until || span_ms(began, until) < 1)
        return HF_ELOST;
    c->session_ms = span_ms(began, until);
    return HF_OK;
}

/* A grant counts if we are active in its epoch when the answer is there.
 * HF_ELOST: it does not. */
static int register_hold(hf_passage *p, hf_twin *t, hf_claim *c,
                         const hf_claim *answer, uint64_t epoch, hf_time began,
                         hf_time asked) {
    int side = (int)(epoch & 1);
    bool again =
        t->held && t->c[side].token == answer->token && t->tenure == p->tenure;

    hf__twin_stands(t, side, asked, answer);
    if (p->epoch != epoch || p->phase != HF_ACTIVE)
        return HF_ELOST;
    t->held = true;
    t->lives = side;
    t->tenure = p->tenure;
    if (!again) {
        t->token = token_of(epoch, answer->token);
        t->last_token =
            answer->last_token ? token_of(epoch, answer->last_token) : 0;
    }
    c->token = t->token;
    c->last_token = t->last_token;
    c->rivals = answer->rivals;
    return tell_hold(p, t, c, began);
}

/* One question to the store of the epoch. */
typedef struct question {
    hf_escalate *w;
    hf_passage *p;
    hf_claim *c;
    bool waits;
    hf_time began, by;
} question;

/* The epoch that we are active in, and the claim for its store. */
static int prepare(const question *q, uint64_t *epoch, hf_claim *c,
                   hf_error *err) {
    hf_passage *p = q->p;
    hf_twin *t;

    pthread_mutex_lock(&p->mu);
    *epoch = p->epoch;
    t = twin_make(p, q->c->owner);
    if (t) {
        *c = hf__twin_claim(p, t, (int)(*epoch & 1), q->c);
        t->epoch = *epoch;
        t->stands[*epoch & 1] = true;
        t->c[*epoch & 1] = *c;
    }
    pthread_mutex_unlock(&p->mu);
    if (!t)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    q->c->place = 1; /* so that we hear of its end */
    return HF_OK;
}

/* A place in the other store is of no use any more. */
static void leave_other(const question *q, uint64_t epoch) {
    int other = (int)((epoch + 1) & 1);

    pthread_mutex_lock(&q->p->mu);
    hf_twin *t = twin_of(q->p, q->c->owner);
    bool useless = t && t->stands[other] && !t->held;
    pthread_mutex_unlock(&q->p->mu);
    if (useless)
        hf__twin_leave(q->w, q->p, q->c->owner, other, q->by);
}

/* Who listens to one store must listen to the other when the name has gone
 * there.  true: it does so now, and should look at once. */
static bool listen_there(const question *q, hf_backend *be, uint64_t epoch) {
    int side = (int)(epoch & 1);
    hf_claim c = {0};
    hf_error err;
    bool wanted, done;

    pthread_mutex_lock(&q->p->mu);
    hf_twin *t = twin_of(q->p, q->c->owner);
    wanted = t && t->watching && !t->watched[side];
    if (wanted)
        c = hf__twin_claim(q->p, t, side, q->c);
    pthread_mutex_unlock(&q->p->mu);
    done = wanted && be->ops->watch(be, &c, true, q->by, &err) == HF_OK;
    if (!done)
        return false;
    pthread_mutex_lock(&q->p->mu);
    t = twin_of(q->p, q->c->owner);
    if (t)
        t->watched[side] = true;
    pthread_mutex_unlock(&q->p->mu);
    return true;
}

/* What the answer means here.  HF_ELOST: it came for nothing; ask again. */
static int weigh(const question *q, int rc, uint64_t epoch, hf_time asked,
                 hf_claim *answer, hf_error *err) {
    hf_passage *p = q->p;
    int side = (int)(epoch & 1);

    pthread_mutex_lock(&p->mu);
    hf_twin *t = twin_of(p, q->c->owner);
    if (side == HF_SIDE_FIRST && hf__is_trouble(rc))
        hf__first_fails(p, q->w->after, rc);
    else if (side == HF_SIDE_FIRST && rc >= 0)
        hf__first_answers(p);
    if (!t) {
        rc = hf__fail_plain(err, HF_EDOUBT);
    } else if (rc == HF_OK && !fits(answer)) {
        t->c[side] = *answer;
        rc = hf__fail(err, HF_ESTORE,
                      "the token of '%s' is too large to be put behind an "
                      "epoch",
                      p->name);
    } else if (rc == HF_OK) {
        rc = register_hold(p, t, q->c, answer, epoch, q->began, asked);
    } else {
        t->stands[side] = answer->place || t->held || rc == HF_EDOUBT;
        t->c[side] = *answer; /* what has to leave, should it come to that */
        q->c->ask_again =
            hf__sooner(answer->ask_again, hf__now() + q->w->permission / 3);
    }
    pthread_mutex_unlock(&p->mu);
    return rc;
}

static int ask(const question *q, hf_error *err) {
    hf_claim c;
    hf_backend *be = NULL;
    uint64_t epoch;
    hf_time asked, by;
    int rc = prepare(q, &epoch, &c, err);

    if (rc != HF_OK)
        return rc;
    leave_other(q, epoch);
    /* A later answer would be worth nothing. */
    by = hf__sooner(q->by, hf__now() + q->w->permission);
    rc = hf__side_open(hf__side_of(q->w, epoch), &be, by, err);
    asked = hf__now();
    c.ask_again = HF_NEVER;
    if (rc == HF_OK)
        rc = be->ops->attempt(be, &c, q->waits, by, err);
    rc = weigh(q, rc, epoch, asked, &c, err);
    if (rc == HF_ELOST)
        hf__twin_leave(q->w, q->p, q->c->owner, (int)(epoch & 1), q->by);
    else if (rc == HF_BUSY && listen_there(q, be, epoch))
        q->c->ask_again = hf__now();
    return rc;
}

static int on_the_way(const question *q, hf_error *err) {
    hf_time look = q->w->permission / 8;

    look = hf__sooner(look, LOOK_MS * HF_MS);
    q->c->ask_again = hf__now() + hf__jitter(look);
    q->c->place = 1;
    if (q->waits)
        return HF_BUSY;
    return hf__fail(err, HF_EDOWN,
                    "'%s' is on its way between two stores: ask again in a "
                    "moment",
                    q->p->name);
}

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    hf_escalate *w = whole_of(be);
    question q = {.w = w, .c = c, .waits = waits, .began = hf__now(), .by = by};
    int rc = passage_of(w, &q.p, c->name, err);

    if (rc != HF_OK)
        return rc;
    do {
        rc = pass(w, q.p, by, err);
        if (rc == HF_OK)
            rc = ask(&q, err);
        else if (rc == HF_BUSY)
            rc = on_the_way(&q, err);
    } while (rc == HF_ELOST && hf__now() < by);
    if (rc == HF_ELOST)
        rc = on_the_way(&q, err);
    passage_put(w, q.p);
    return rc;
}

static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    hf_escalate *w = whole_of(be);
    bool was[HF_SIDES] = {false};
    hf_claim inner[HF_SIDES] = {{0}};
    hf_passage *p;
    hf_backend *there;
    int side = 0, rc = passage_of(w, &p, c->name, err);

    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&p->mu);
    hf_twin *t = on ? twin_make(p, c->owner) : twin_of(p, c->owner);
    if (t) {
        side = (int)(p->epoch & 1);
        memcpy(was, t->watched, sizeof was);
        for (int i = 0; i < HF_SIDES; i++)
            inner[i] = hf__twin_claim(p, t, i, c);
        t->watching = t->watched[side] = on;
        if (!on)
            memset(t->watched, 0, sizeof t->watched);
    }
    pthread_mutex_unlock(&p->mu);
    if (!t)
        rc = on ? hf__fail_plain(err, HF_ENO_MEMORY) : HF_OK;
    else if (on && !was[side]) {
        rc = hf__side_open(&w->side[side], &there, by, err);
        if (rc == HF_OK)
            rc = there->ops->watch(there, &inner[side], true, by, err);
        if (rc != HF_OK) {
            pthread_mutex_lock(&p->mu);
            if ((t = twin_of(p, c->owner)))
                t->watching = t->watched[side] = false;
            pthread_mutex_unlock(&p->mu);
        }
    }
    for (int i = 0; i < HF_SIDES && !on; i++)
        if (was[i] && (there = atomic_load(&w->side[i].be)))
            there->ops->watch(there, &inner[i], false, by, err);
    passage_put(w, p);
    return rc;
}

/* ---- renew ------------------------------------------------------------- */

/* All that is asked of one store at once. */
typedef struct batch {
    size_t n;
    hf_claim *claims, **pointers;
    size_t *whose; /* index into the core's claims */
} batch;

typedef struct renewal {
    hf_escalate *w;
    hf_claim *const *claims;
    size_t n;
    hf_time began, by;
    hf_passage **passages; /* of each claim */
    int *passed;           /* what became of the permission */
    batch batch[HF_SIDES];
} renewal;

static bool renewal_init(renewal *r) {
    bool ok;

    r->passages = calloc(r->n, sizeof *r->passages);
    r->passed = calloc(r->n, sizeof *r->passed);
    ok = r->passages && r->passed;
    for (int i = 0; i < HF_SIDES; i++) {
        batch *b = &r->batch[i];

        b->claims = calloc(r->n, sizeof *b->claims);
        b->pointers = calloc(r->n, sizeof *b->pointers);
        b->whose = calloc(r->n, sizeof *b->whose);
        ok = ok && b->claims && b->pointers && b->whose;
    }
    return ok;
}

static void renewal_free(renewal *r) {
    for (size_t i = 0; r->passages && i < r->n; i++)
        if (r->passages[i])
            passage_put(r->w, r->passages[i]);
    for (int i = 0; i < HF_SIDES; i++) {
        free(r->batch[i].claims);
        free(r->batch[i].pointers);
        free(r->batch[i].whose);
    }
    free(r->passages);
    free(r->passed);
}

/* Permissions first; a second store that is silent is waited for once, and
 * leaves half of the time to the first. */
static void keep_permissions(renewal *r, hf_time by) {
    hf_error err;
    int silent = HF_OK;

    for (size_t i = 0; i < r->n; i++) {
        r->passages[i] = passage_find(r->w, r->claims[i]->name, false);
        r->passed[i] = !r->passages[i] ? HF_ELOST :
                       silent          ? silent :
                                         pass(r->w, r->passages[i], by, &err);
        if (hf__is_trouble(r->passed[i]) && hf__now() >= by)
            silent = r->passed[i];
    }
}

/* Is the claim to be renewed in that store?  Passage mu. */
static bool belongs(const hf_passage *p, const hf_twin *t, int side,
                    bool waits) {
    if (waits)
        return t->epoch == p->epoch && side == (int)(p->epoch & 1);
    if (!t->held || hf__now() >= t->until[side])
        return false;
    if (side == t->lives) /* a first store that is given up is not asked */
        return p->phase == HF_ACTIVE || side == HF_SIDE_SECOND ||
               !p->down_since;
    return p->phase != HF_ACTIVE; /* else it is a left-over */
}

static void gather(renewal *r, int side) {
    batch *b = &r->batch[side];

    for (size_t i = 0; i < r->n; i++) {
        const hf_claim *c = r->claims[i];
        hf_passage *p = r->passages[i];

        if (!p)
            continue;
        pthread_mutex_lock(&p->mu);
        hf_twin *t = twin_of(p, c->owner);
        if (t && belongs(p, t, side, c->token == 0)) {
            hf_claim *inner = &b->claims[b->n];

            *inner = hf__twin_claim(p, t, side, c);
            inner->result = HF_EDOUBT;
            if (c->token == 0)
                inner->token = 0;
            b->pointers[b->n] = inner;
            b->whose[b->n++] = i;
        }
        pthread_mutex_unlock(&p->mu);
    }
}

/* What the store said of one.  Passage mu. */
static void take_answer(hf_escalate *w, hf_passage *p, hf_twin *t, int side,
                        hf_time asked, hf_claim *c) {
    bool trouble = hf__is_trouble(c->result);

    if (side == HF_SIDE_FIRST && trouble)
        hf__first_fails(p, w->after, c->result);
    else if (side == HF_SIDE_FIRST)
        hf__first_answers(p);
    if (c->token == 0)
        return;
    if (c->result == HF_OK) {
        hf__twin_stands(t, side, asked, c);
    } else if (!trouble) {
        t->stands[side] = false;
        t->until[side] = 0;
        t->c[side].token = 0;
        if (t->lives == side)
            t->held = false;
    }
}

static void ask_side(renewal *r, int side, hf_time by) {
    batch *b = &r->batch[side];
    hf_time asked = hf__now();
    hf_backend *be;
    hf_error err;
    int rc;

    gather(r, side);
    if (!b->n)
        return;
    rc = hf__side_open(&r->w->side[side], &be, by, &err);
    if (rc == HF_OK)
        rc = be->ops->renew(be, b->pointers, b->n, by, &err);
    for (size_t k = 0; k < b->n; k++) {
        hf_passage *p = r->passages[b->whose[k]];
        hf_claim *c = &b->claims[k];

        if (rc < 0 && (c->result == HF_EDOUBT || c->result == HF_OK))
            c->result = rc;
        pthread_mutex_lock(&p->mu);
        hf_twin *t = twin_of(p, c->owner);
        if (t)
            take_answer(r->w, p, t, side, asked, c);
        pthread_mutex_unlock(&p->mu);
        if (c->token == 0)
            r->claims[b->whose[k]]->result = c->result;
    }
}

/* Is there more to do for it than to wait? */
static bool is_restless(hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    bool restless =
        p->phase != HF_ACTIVE || p->down_since || (p->epoch & 1) != 0;
    pthread_mutex_unlock(&p->mu);
    return restless;
}

/* What the core is told. */
static int conclude(renewal *r, size_t i) {
    hf_claim *c = r->claims[i];
    hf_passage *p = r->passages[i];
    int rc = HF_ELOST;

    if (!p)
        return HF_ELOST;
    pthread_mutex_lock(&p->mu);
    hf_twin *t = twin_of(p, c->owner);
    if (c->token == 0)
        rc = t && t->epoch == p->epoch ? c->result : HF_ELOST;
    else if (t && r->passed[i] < 0 && hf__is_trouble(r->passed[i]) && t->held)
        rc = r->passed[i];
    else if (t)
        rc = tell_hold(p, t, c, r->began);
    pthread_mutex_unlock(&p->mu);
    return rc;
}

static int renew(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err) {
    renewal r = {.w = whole_of(be),
                 .claims = claims,
                 .n = n,
                 .began = hf__now(),
                 .by = by};
    int rc = HF_OK;

    if (!renewal_init(&r)) {
        renewal_free(&r);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    keep_permissions(&r, r.began + (by - r.began) / 2);
    ask_side(&r, HF_SIDE_SECOND, hf__now() + (by - hf__now()) / 2);
    ask_side(&r, HF_SIDE_FIRST, hf__now() + (by - hf__now()) / 2);
    for (size_t i = 0; i < n; i++) {
        hf_error ignored;

        if (r.passages[i] && r.passed[i] >= 0 && is_restless(r.passages[i]))
            pass(r.w, r.passages[i], by, &ignored);
        claims[i]->result = conclude(&r, i);
        if (claims[i]->result != HF_OK && claims[i]->result != HF_ELOST)
            rc = hf__fail_plain(err, claims[i]->result);
    }
    renewal_free(&r);
    return rc;
}

/* ---- release ----------------------------------------------------------- */

/* Whoever holds it, wherever: the store in which the name lives decides. */
static int force(hf_escalate *w, hf_passage *p, const hf_claim *c,
                 const char *whose, hf_time by, hf_error *err) {
    int rc[HF_SIDES], lives;
    hf_error errs[HF_SIDES];

    rc[0] = pass(w, p, by, err);
    if (rc[0] < 0)
        return rc[0];
    pthread_mutex_lock(&p->mu);
    lives = (int)(p->epoch & 1);
    pthread_mutex_unlock(&p->mu);
    for (int i = 0; i < HF_SIDES; i++) {
        int side = i == 0 ? lives : 1 - lives;
        hf_time until =
            i == 0 ? by : hf__sooner(by, hf__now() + LEAVE_MS * HF_MS);
        hf_claim inner = *c;
        hf_backend *be;

        inner.name = side == HF_SIDE_FIRST ? p->name : p->second;
        rc[side] = hf__side_open(&w->side[side], &be, until, &errs[side]);
        if (rc[side] == HF_OK)
            rc[side] = be->ops->release(be, &inner, HF_RELEASE_FORCED, whose,
                                        until, &errs[side]);
    }
    if (rc[lives] == HF_EFREE && rc[1 - lives] == HF_OK)
        return HF_OK;
    *err = errs[lives];
    return rc[lives];
}

/* The place or the lock in one store. */
static int let_go(hf_escalate *w, hf_passage *p, hf_claim *c, int side,
                  hf_how how, hf_time by, hf_error *err) {
    hf_claim inner = {0};
    hf_backend *be;
    int rc;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = twin_of(p, c->owner);
    bool stands = t && t->stands[side];
    if (stands)
        inner = hf__twin_claim(p, t, side, c);
    if (side == HF_SIDE_FIRST && p->down_since) /* the keeper may be asking */
        by = hf__sooner(by, hf__now() + w->permission / 12);
    pthread_mutex_unlock(&p->mu);
    if (!stands)
        return HF_OK;
    rc = hf__side_open(&w->side[side], &be, by, err);
    if (rc == HF_OK)
        rc = be->ops->release(be, &inner, how, NULL, by, err);
    c->rivals = inner.rivals;
    if (rc == HF_OK || rc == HF_ELOST) {
        pthread_mutex_lock(&p->mu);
        if ((t = twin_of(p, c->owner)))
            t->stands[side] = false;
        pthread_mutex_unlock(&p->mu);
    }
    return rc;
}

/* The store whose word is the answer to a release: on the way it is the one
 * where the name will live.  Passage mu. */
static int leaves_from(const hf_passage *p, const hf_twin *t) {
    uint64_t to = p->phase == HF_LEAVING ? p->epoch + 1 : p->epoch;

    if (!t->held)
        return (int)(t->epoch & 1);
    return t->until[to & 1] ? (int)(to & 1) : t->lives;
}

/* The lock that is the hold first; what may stand in the other store is left
 * to its lease if that store cannot be reached now. */
static int leave(hf_escalate *w, hf_passage *p, hf_claim *c, hf_how how,
                 hf_time by, hf_error *err) {
    hf_error ignored;
    int lives, rc;

    pthread_mutex_lock(&p->mu);
    hf_twin *t = twin_of(p, c->owner);
    lives = t ? leaves_from(p, t) : HF_SIDE_FIRST;
    bool down = p->down_since || (p->epoch & 1);
    if (t)
        t->held = false;
    pthread_mutex_unlock(&p->mu);
    if (!t)
        return HF_OK;
    rc = let_go(w, p, c, lives, how, by, err);
    if (lives == HF_SIDE_FIRST || !down)
        let_go(w, p, c, 1 - lives,
               how == HF_RELEASE_AFTER ? HF_RELEASE_POSTED : how,
               hf__sooner(by, hf__now() + LEAVE_MS * HF_MS), &ignored);
    pthread_mutex_lock(&p->mu);
    if (rc == HF_OK || rc == HF_ELOST)
        twin_free(p, c->owner);
    else if ((t = twin_of(p, c->owner)))
        t->ends = hf__now() + 2 * c->lease_ms * HF_MS;
    pthread_mutex_unlock(&p->mu);
    return rc;
}

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    hf_escalate *w = whole_of(be);
    hf_passage *p;
    int rc = passage_of(w, &p, c->name, err);

    if (rc != HF_OK)
        return rc;
    rc = how == HF_RELEASE_FORCED ? force(w, p, c, whose, by, err) :
                                    leave(w, p, c, how, by, err);
    passage_put(w, p);
    return rc;
}

/* ---- the rest ---------------------------------------------------------- */

/* The number of a hold that has moved is not what its new store would say. */
static int count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                 hf_time by, hf_error *err) {
    (void)be, (void)op, (void)value, (void)by;
    return hf__fail(err, HF_ECANNOT,
                    "'%s': a client of two stores has locks, but no numbers "
                    "that could go over with them",
                    c->name);
}

/* Permissions wait meanwhile: a store that is silent must not cost one. */
static int announce(hf_backend *be, int lease_ms, hf_time by, hf_error *err) {
    hf_escalate *w = whole_of(be);
    hf_backend *there;
    int rc = HF_OK;

    for (int i = HF_SIDES; i-- > 0;)
        if ((there = atomic_load(&w->side[i].be)))
            rc = there->ops->announce(
                there, lease_ms, hf__sooner(by, hf__now() + w->permission / 12),
                err);
    return rc;
}

/* Tokens of the store as they are are not those of the name. */
typedef struct listing {
    const hf_side *side;
    uint64_t epoch;
    hf_place_fn *fn;
    void *arg;
} listing;

static void show(void *arg, const hf_place *place) {
    const listing *l = arg;
    hf_place shown = *place;
    char buf[2 * HF_NAME_MAX];

    shown.name = outer_name(l->side, place->name, buf, sizeof buf);
    if (l->epoch)
        shown.token = 0;
    l->fn(l->arg, &shown);
}

static int list_side(hf_escalate *w, listing *l, const char *name, hf_time by,
                     hf_error *err) {
    hf_side *side = hf__side_of(w, l->epoch);
    hf_backend *be;
    int rc = hf__side_open(side, &be, by, err);

    l->side = side;
    return rc < 0 ? rc : be->ops->list(be, name, show, l, by, err);
}

/* A name in the store in which it lives; all names in the first alone, because
 * in the second there are gates and the names of others, too. */
static int list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                hf_time by, hf_error *err) {
    hf_escalate *w = whole_of(be);
    listing l = {.fn = fn, .arg = arg};
    hf_passage *p;
    int rc;

    if (!name)
        return list_side(w, &l, NULL, by, err);
    rc = passage_of(w, &p, name, err);
    if (rc != HF_OK)
        return rc;
    rc = hf__gate_find(w, p, &l.epoch, by, err);
    if (rc == HF_OK)
        rc = list_side(w, &l, l.epoch & 1 ? p->second : name, by, err);
    passage_put(w, p);
    return rc;
}

static int examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    hf_escalate *w = whole_of(be);
    int rc = HF_OK;

    for (int i = 0; i < HF_SIDES && rc == HF_OK; i++) {
        hf_backend *there;

        fn(arg, HF_FACT, i == HF_SIDE_FIRST ? "first store" : "second store",
           side_where(&w->side[i]));
        rc = hf__side_open(&w->side[i], &there, by, err);
        if (rc == HF_OK)
            rc = there->ops->examine(there, fn, arg, by, err);
    }
    return rc;
}

/* What both can; of what has to be carried over, only locks. */
static unsigned can(const hf_backend *be, hf_kind kind) {
    hf_escalate *w = (hf_escalate *)be;
    unsigned both = ~0U;

    if (kind == HF_SIMPLE || kind == HF_PERMIT || kind == HF_SEMAPHORE ||
        kind == HF_LATCH)
        return 0;
    for (int i = 0; i < HF_SIDES; i++) {
        hf_backend *there = atomic_load(&w->side[i].be);

        both &= there ? there->ops->can(there, kind) : ~0U;
    }
    return both;
}

static const char *where(const hf_backend *be) {
    return side_where(&((hf_escalate *)be)->side[HF_SIDE_FIRST]);
}

/* ---- opening and closing ----------------------------------------------- */

static void leave_gates(hf_escalate *w) {
    hf_time by = hf__now() + CLOSE_MS * HF_MS;

    for (size_t i = 0; i < HF_PASSAGES; i++)
        for (hf_passage *p = w->passages[i], *next; p; p = next) {
            next = p->next;
            if (hf__now() < by && hf__now() < p->until)
                hf__gate_leave(w, &p->gate, &p->gate_name, by);
            while (p->twins)
                twin_free(p, p->twins->owner);
            passage_free(p);
        }
}

static void close_both(hf_backend *be, bool forked) {
    hf_escalate *w = whole_of(be);

    if (!forked)
        leave_gates(w);
    for (int i = 0; i < HF_SIDES; i++)
        side_free(&w->side[i], forked);
    if (forked)
        return;
    pthread_mutex_destroy(&w->mu);
    free(w);
}

static const hf_backend_ops ops = {
    .close = close_both,
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
};

static int check(const hf_escalate_options *o, const hf_host *host,
                 hf_error *err) {
    if (o->permission_ms < 0 || o->after_ms < 0 || o->back_ms < HF_FOREVER)
        return hf__fail(err, HF_EUSAGE,
                        "hf_escalate_options: a duration is negative");
    if (o->permission_ms &&
        (o->permission_ms < 50 || o->permission_ms > host->lease_ms))
        return hf__fail(err, HF_EUSAGE,
                        "permission_ms is %d: from 50 ms to the lease (%d ms) "
                        "makes sense",
                        o->permission_ms, host->lease_ms);
    return HF_OK;
}

static void configure(hf_escalate *w, const hf_escalate_options *o) {
    int lease_ms = w->base.host->lease_ms;

    w->permission_ms = o->permission_ms ? o->permission_ms : lease_ms / 6;
    if (w->permission_ms < 50)
        w->permission_ms = 50;
    w->permission = w->permission_ms * HF_MS;
    w->after = o->after_ms ? o->after_ms * HF_MS : w->permission;
    w->back = o->back_ms == HF_FOREVER ? HF_NEVER :
              o->back_ms               ? o->back_ms * HF_MS :
                                         lease_ms * HF_MS;
}

/* Read and write sides for the gates, numbers for the epochs. */
static int check_second(hf_side *side, hf_error *err) {
    hf_backend *be = atomic_load(&side->be);

    if (be->ops->can(be, HF_READ) & be->ops->can(be, HF_WRITE) &
        be->ops->can(be, HF_SEMAPHORE) & HF_CAN_HOLD)
        return HF_OK;
    return hf__fail(err, HF_ECANNOT,
                    "%s cannot be the second store: it has no read-write locks "
                    "or no semaphores",
                    side_where(side));
}

int hf__escalate_open(hf_backend **ret, const hf_uri *first,
                      const hf_uri *second, const hf_host *host,
                      const hf_escalate_options *options, hf_moved_fn *moved,
                      hf_time by, hf_error *err) {
    hf_escalate *w = calloc(1, sizeof *w);
    hf_backend *be;
    int rc;

    if (!w)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    w->base.ops = &ops;
    w->base.host = host;
    w->moved = moved;
    pthread_mutex_init(&w->mu, NULL);
    configure(w, options);
    if ((rc = check(options, host, err)) ||
        (rc = side_init(&w->side[HF_SIDE_FIRST], w, first, err)) ||
        (rc = side_init(&w->side[HF_SIDE_SECOND], w, second, err)) ||
        (rc = hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, err)) ||
        (rc = check_second(&w->side[HF_SIDE_SECOND], err)))
        goto out;
    rc = hf__side_open(&w->side[HF_SIDE_FIRST], &be, by, err);
    if (hf__is_trouble(rc) && rc != HF_EAUTH && rc != HF_EFORBIDDEN &&
        rc != HF_ETLS)
        rc = HF_OK; /* names may live in the second by now */
out:
    if (rc == HF_OK)
        *ret = &w->base;
    else
        close_both(&w->base, false);
    return rc;
}
