/* SPDX-License-Identifier: MIT
 *
 * attempt.c - asks for a place in a line, and whether it may hold.
 *
 *      no entry yet     enter: made at the end, and the line as it is then
 *      an entry         look: the line, with ours in it
 *         │
 *         ▼
 *      the rule of admission
 *         │ no                                 │ yes
 *         ▼                                    ▼
 *      listen for who is in the way         holds, for its lease and as long as
 *         │ gone meanwhile: look again      the session is good
 *         ▼
 *      busy; who only tried steps out again
 *
 * What was not answered is asked again under the same id, which finds what it
 * made; in a new generation there is nothing to be found, and the place begins
 * anew. */
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "note.h"
#include "store.h"

enum { AGAIN = 2 }; /* beside HF_OK and HF_BUSY: the line moved, look again */

enum {
    MIND_MS = 200,    /* most holds are over by then, and cost no watch */
    ROUTINE_MS = 2000 /* who asks sooner than this has a reason to */
};

#define LOOK_AGAIN (30 * HF_SECOND) /* however well we listen */

/* One attempt under way. */
typedef struct asking {
    hf_line_store *store;
    hf_line_place *place; /* busy, so that it stays */
    hf_claim *claim;
    bool stays; /* in the line, if it is not let in */
    hf_time by;
    hf_error *err;

    /* Busy because of that entry, or (NULL) of the number or of a time. */
    char *blocker;
    uint64_t as_of;
    bool only_one; /* nobody else stands before it */
    hf_time began; /* the last look */
} asking;

/* ---- attempt: the answer ----------------------------------------------- */

/* A reader beside its own writing has the writer's token: its entry is younger
 * than those of others who wait, and stands before them. */
static uint64_t token_of(hf_line_store *s, hf_line_place *p) {
    hf_line_place *w = NULL;

    if (p->beside)
        w = hf__place_find(
            s,
            &(hf_claim){.name = p->name, .kind = HF_WRITE, .owner = p->beside});
    if (!w || !w->token)
        return p->token;
    w->read_beside = true;
    return w->token;
}

static void clear_place(asking *a) {
    pthread_mutex_lock(&a->store->mu);
    hf__place_clear(a->store, a->place);
    pthread_mutex_unlock(&a->store->mu);
}

/* It is in, if what the session is good for was said of the one it is in. */
static int grant(asking *a) {
    hf_line_store *s = a->store;
    hf_line_place *p = a->place;
    hf_claim *c = a->claim;

    c->session_ms = hf__line_session_ms(s);
    if (!hf__line_lives(s, p)) {
        clear_place(a);
        return AGAIN;
    }
    pthread_mutex_lock(&s->mu);
    p->holds = true;
    p->only_one = false;
    p->token = token_of(s, p);
    p->lease_until = hf__line_lease(c);
    if (!p->own.number)
        p->mind_at = hf__after_ms(MIND_MS);
    pthread_mutex_unlock(&s->mu);
    c->token = p->token;
    c->last_token = 0;
    return HF_OK;
}

/* The entry at `me` is ours; whether it may hold. */
static int judge(asking *a, const hf_lineup *line, size_t me) {
    size_t blocker, before;

    if (!hf__line_lives(a->store, a->place)) { /* it went with its session */
        clear_place(a);
        return AGAIN;
    }
    if (a->place->holds)
        return grant(a);
    a->as_of = line->as_of;
    if (hf__lineup_admits(line, me, &blocker, &before)) {
        if (line->kept_out_until <= hf__now())
            return grant(a);
        a->claim->ask_again = line->kept_out_until;
        return HF_BUSY;
    }
    a->claim->ask_again = hf__now() + HF_LINE_AGAIN;
    a->only_one = before == 1 && line->all[me].kind == HF_LOCK &&
                  line->kept_out_until <= hf__now();
    a->blocker = hf__strdup(line->all[blocker].key);
    return a->blocker ? HF_BUSY : hf__fail_plain(a->err, HF_ENO_MEMORY);
}

/* ---- attempt: the question --------------------------------------------- */

/* No answer: it may be there, or come.  The generation may have changed while
 * we asked; to look in a later one for what was made before is harmless. */
static void doubt(asking *a) {
    const hf_port_ops *ops = a->store->port->ops;

    pthread_mutex_lock(&a->store->mu);
    a->place->doubted = true;
    a->place->settles_at = ops->settles_ms ? hf__after_ms(ops->settles_ms) : 0;
    a->place->generation = ops->generation(a->store->port);
    pthread_mutex_unlock(&a->store->mu);
}

/* Busy, and so it is not there, unless it can still come. */
static void refused(asking *a, uint64_t as_of) {
    a->as_of = as_of;
    a->claim->ask_again = hf__now() + HF_LINE_AGAIN;
    pthread_mutex_lock(&a->store->mu);
    a->place->doubted = hf__now() < a->place->settles_at;
    pthread_mutex_unlock(&a->store->mu);
}

/* What the port made is known from now on. */
static int settle(asking *a, hf_arrival *came) {
    hf_line_place *p = a->place;
    hf_entered *mine = &came->line.all[came->mine];

    pthread_mutex_lock(&a->store->mu);
    hf__free(p->key);
    p->key = hf__strdup(mine->key);
    p->token = mine->token;
    p->generation = came->generation;
    p->doubted = !p->key;
    pthread_mutex_unlock(&a->store->mu);
    return p->key ? judge(a, &came->line, came->mine) :
                    hf__fail_plain(a->err, HF_ENO_MEMORY);
}

/* Without us. */
static int lasts_ms(hf_line_store *s, const hf_claim *c) {
    int session_ms = hf__line_session_ms(s);

    return c->lease_ms < session_ms ? c->lease_ms : session_ms;
}

/* The writer's own entry is gone, which it does not know yet: it reads like
 * anybody. */
static int stand_alone(asking *a) {
    const hf_host *host = a->store->base.host;

    pthread_mutex_lock(&a->store->mu);
    a->place->beside = 0;
    pthread_mutex_unlock(&a->store->mu);
    host->shaken(host->core, HF_WRITE, a->claim->name);
    return AGAIN;
}

/* A place without an entry that we know of. */
static int enter(asking *a) {
    hf_line_store *s = a->store;
    hf_line_place *p = a->place;
    hf_wish w = hf__place_wish(p);
    hf_arrival came = {0};
    char note[HF_NOTE_SIZE], *beside;
    int rc;

    pthread_mutex_lock(&s->mu);
    rc = hf__place_beside(s, p, &beside);
    if (!beside)
        p->beside = 0;
    p->asked = true;
    pthread_mutex_unlock(&s->mu);
    if (rc != HF_OK)
        return hf__fail_plain(a->err, rc);
    hf__note_write(note, a->claim, lasts_ms(s, a->claim),
                   &s->base.host->identity);
    w.note = note;
    w.beside = beside;
    rc = s->port->ops->enter(s->port, &w, !a->stays && !beside, &came, a->by,
                             a->err);
    hf__free(beside);
    if (rc == HF_EFREE)
        rc = stand_alone(a);
    else if (rc == HF_EDOUBT)
        doubt(a);
    else if (rc == HF_OK)
        rc = settle(a, &came);
    else if (rc == HF_BUSY)
        refused(a, came.as_of);
    hf__arrival_clear(&came);
    return rc;
}

static bool find_key(const hf_lineup *line, const char *key, size_t *ret) {
    for (size_t i = 0; i < line->n; i++)
        if (strcmp(line->all[i].key, key) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

/* A place that has an entry.  If that is gone although the session lives, an
 * operator took it, and we begin at the end of the line. */
static int look(asking *a) {
    hf_line_store *s = a->store;
    hf_line line = hf__line_of(a->claim->kind, a->claim->name);
    hf_lineup all = {0};
    size_t me;
    int rc = s->port->ops->look(s->port, &line, false, &all, a->by, a->err);

    if (rc != HF_OK)
        return rc;
    if (find_key(&all, a->place->key, &me)) {
        rc = judge(a, &all, me);
    } else {
        clear_place(a);
        rc = AGAIN;
    }
    hf__lineup_clear(&all);
    return rc;
}

/* For who waits to be told: of the blocker's going, and, if that would make it
 * hold, of its own.  AGAIN: it has gone already. */
static int wait_for_news(asking *a) {
    hf_line_store *s = a->store;
    int rc = HF_OK;

    if (a->blocker || a->claim->kind == HF_PERMIT)
        rc = hf__line_listen(s, a->claim, a->blocker, a->as_of, a->by);
    if (rc == HF_BUSY)
        return AGAIN;
    if (rc != HF_OK)
        a->claim->ask_again = hf__now() + HF_LINE_POLL;
    pthread_mutex_lock(&s->mu);
    a->place->only_one = a->only_one && rc == HF_OK;
    a->place->looked = a->blocker && rc == HF_OK ? a->began : 0;
    if (a->place->key && !a->place->own.number)
        a->place->mind_at = a->only_one ? 0 : hf__after_ms(MIND_MS);
    pthread_mutex_unlock(&s->mu);
    return HF_BUSY;
}

/* Does it ask as a matter of routine, while the one in its way is listened for
 * and has not stirred?  A thousand who wait would else fetch a line of a
 * thousand every few seconds. */
static bool is_routine(asking *a) {
    hf_line_store *s = a->store;
    hf_line_place *p = a->place;
    hf_time now = hf__now(), tried = p->tried;
    const hf_line_ear *ear;
    bool yes;

    p->tried = now;
    pthread_mutex_lock(&s->mu);
    ear = hf__ear_find(s, a->claim);
    yes = a->stays && p->key && !p->holds && ear && ear->watch.number &&
          ear->key && p->looked > s->interrupted &&
          now - tried > ROUTINE_MS * HF_MS && now - p->looked < LOOK_AGAIN;
    pthread_mutex_unlock(&s->mu);
    return yes && hf__line_lives(s, p);
}

/* Then only whether we stand there is asked. */
static int check(asking *a) {
    hf_port *port = a->store->port;
    const char *key = a->place->key;
    int found = HF_EDOWN;
    int rc = port->ops->check(port, &key, &found, 1, a->by, a->err);

    if (rc != HF_OK)
        return rc;
    if (found == HF_OK) {
        a->claim->ask_again = hf__now() + HF_LINE_AGAIN;
        return HF_BUSY;
    }
    clear_place(a);
    return AGAIN;
}

static int ask(asking *a) {
    int rc = is_routine(a) ? check(a) : AGAIN;

    if (rc != AGAIN)
        return rc;
    do {
        pthread_mutex_lock(&a->store->mu);
        a->place->only_one = false;
        pthread_mutex_unlock(&a->store->mu);
        a->began = hf__now();
        hf__free(a->blocker);
        a->blocker = NULL;
        a->only_one = false;
        if (a->place->key && !hf__line_lives(a->store, a->place))
            clear_place(a);
        rc = a->place->key ? look(a) : enter(a);
        if (rc == HF_BUSY && a->stays)
            rc = wait_for_news(a);
    } while (rc == AGAIN && hf__now() < a->by);
    hf__free(a->blocker);
    if (rc != AGAIN)
        return rc;
    a->claim->ask_again = hf__now();
    return HF_BUSY;
}

/* ---- attempt ----------------------------------------------------------- */

/* The place of the claim, for us alone; made where there is none. */
static int begin(asking *a) {
    hf_line_store *s = a->store;
    hf_claim *c = a->claim;
    bool late;
    int rc;

    if ((rc = hf__worker_start(s, a->err)))
        return rc;
    a->place = hf__place_wait(s, c, a->by, &late);
    if (late)
        return hf__fail(a->err, HF_EDOUBT, "another question is under way");
    if (a->place && a->place->holds && a->place->lease_until <= hf__now()) {
        hf__place_unlink(s, a->place);
        hf__errand_add(s, a->place, 0);
        a->place = NULL;
    }
    if (!a->place) {
        hf__errands_settle(s, hf__line_of(c->kind, c->name), a->by);
        a->place = hf__place_add(s, c);
    }
    if (!a->place)
        return hf__fail_plain(a->err, HF_ENO_MEMORY);
    a->place->busy = true;
    a->place->lease_ms = c->lease_ms;
    a->place->beside = c->kind == HF_READ ? c->beside : 0;
    return HF_OK;
}

/* What stays: a grant, a place in the line, a doubt.  Who only tried, and was
 * not let in, goes. */
static void end(asking *a, int rc) {
    hf_line_store *s = a->store;
    hf_line_place *p = a->place;
    hf_error err;
    bool may_be_there, stays;

    pthread_mutex_lock(&s->mu);
    p->busy = false;
    pthread_cond_broadcast(&s->changed);
    hf__worker_look_by(s, hf__sooner(p->lease_until, p->mind_at));
    may_be_there = p->key || p->doubted;
    stays = may_be_there && (rc != HF_BUSY || a->stays);
    a->claim->place = stays;
    if (stays)
        pthread_mutex_unlock(&s->mu);
    else
        hf__place_leave(s, p, a->by, &err);
}

int hf__line_stand(hf_line_store *s, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    asking a = {.store = s,
                .claim = c,
                .stays = waits && c->kind != HF_SPIN,
                .by = by,
                .err = err};
    int rc;

    pthread_mutex_lock(&s->mu);
    rc = begin(&a);
    pthread_mutex_unlock(&s->mu);
    if (rc != HF_OK)
        return rc;
    rc = ask(&a);
    end(&a, rc);
    return rc;
}
