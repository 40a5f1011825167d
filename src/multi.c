/* SPDX-License-Identifier: MIT
 *
 * multi.c - several locks as one: all of them or none.
 *
 * The members are locks as any other, each kept alive by its own keeper.  Here
 * is only the order in which they are taken, and one answer about them all.
 *
 * Who holds one and waits for another may be waited for by whoever holds the
 * other.  So a wait is for a member that stands behind all those in our hands,
 * in an order that everybody has who sorts as we do: no circle can close.
 * Others may sort differently: another language, or the same store under
 * another address.  So such a wait is only for a slice of time.  Then we let
 * everything go and begin anew with the one that was not to be had, waiting
 * for it with empty hands; the members before it are then asked for, but not
 * waited for.
 *
 *         start         wait as long as allowed: nothing is held
 *         before start  ask once; busy: let go, it is the next start
 *         behind start  wait for a slice; over: let go, it is the next start
 *
 * The hold of the whole is a record of ours, a *whole*.  It stands from the
 * moment when all members were seen to be held until its release.  What becomes
 * of it is read off the members' holds whenever one of them has news; so it
 * does not matter in which order news of several clients arrive, and a change
 * is told once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire.h"
#include "alloc.h"
#include "err.h"
#include "identity.h"

enum { SLICE_MS = 1500 }; /* for each member; the number is Redisson's */

/* All members, held by one owner. */
typedef struct hf_whole {
    struct hf_whole *next;
    uint64_t who; /* the thread; 0: the handle owns */
    int count;
    hf_state state, told; /* HF_STATE_LOST stays */
    int why;
} whole;

/* Order of locks: mu, then a keeper's or a spot's. */
struct hf_multi {
    hf_lock *lock;       /* the handle */
    char *name;          /* the members', joined */
    bool handle_owns;    /* all of the members' handles do */
    atomic_uint cancels; /* so many there were */

    pthread_mutex_t mu; /* guards these, and the handle's own state */
    pthread_cond_t quiet;
    whole *wholes;
    bool telling;     /* the handle's callback runs, or is about to … */
    pthread_t teller; /* … in this thread */

    size_t n;
    hf_lock *members[]; /* in order, as they were when it was made */
};

/* ---- making one -------------------------------------------------------- */

static int by_place(const void *one, const void *other) {
    const hf_lock *a = *(hf_lock *const *)one, *b = *(hf_lock *const *)other;
    int stores = strcmp(hf_store(a->client), hf_store(b->client));

    return stores ? stores : strcmp(a->spot->name, b->spot->name);
}

static int check_member(hf_lock *member, hf_error *err) {
    const char *name = hf_lock_name(member);
    int rc;

    if (!member)
        return hf__fail(err, HF_EUSAGE, "hf_multi_new: a member is NULL");
    if ((rc = hf__check_process(member->client, err)))
        return rc;
    if (!member->spot)
        return hf__fail(err, HF_EUSAGE,
                        "'%s' is a multi-lock itself: give its members instead",
                        name);
    if (member->multi)
        return hf__fail(err, HF_EUSAGE,
                        "'%s' belongs to the multi-lock '%s' already: make "
                        "another handle",
                        name, member->multi->name);
    if (hf__lock_has_holds(member))
        return hf__fail(err, HF_EUSAGE,
                        "'%s' is held: release it before it becomes a member",
                        name);
    return HF_OK;
}

/* One name is one lock there, whatever the kinds: see hf_kind. */
static int check_twice(const hf_multi *m, hf_error *err) {
    for (size_t i = 1; i < m->n; i++)
        if (by_place(&m->members[i - 1], &m->members[i]) == 0)
            return hf__fail(err, HF_EUSAGE,
                            "'%s' in %s is to be a member twice: it would wait "
                            "for itself",
                            hf_lock_name(m->members[i]),
                            hf_store(m->members[i]->client));
    return HF_OK;
}

/* "a + b + c"; NULL without memory. */
static char *join_names(const hf_multi *m) {
    size_t size = 1;
    char *name, *end;

    for (size_t i = 0; i < m->n; i++)
        size += strlen(hf_lock_name(m->members[i])) + strlen(" + ");
    name = end = hf__malloc(size);
    for (size_t i = 0; name && i < m->n; i++)
        end +=
            sprintf(end, "%s%s", i ? " + " : "", hf_lock_name(m->members[i]));
    return name;
}

static void discard(hf_multi *m) {
    if (!m)
        return;
    hf__free(m->name);
    hf__free(m);
}

/* The members in order, with a name; nothing of them is touched yet. */
static int assemble(hf_multi **ret, hf_lock *const *members, size_t n,
                    hf_error *err) {
    hf_multi *m = hf__calloc(1, sizeof *m + n * sizeof *members);
    int rc;

    if (!m)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    m->n = n;
    m->handle_owns = true;
    memcpy(m->members, members, n * sizeof *members);
    qsort(m->members, n, sizeof *members, by_place);
    for (size_t i = 0; i < n; i++)
        m->handle_owns = m->handle_owns && members[i]->who;
    rc = check_twice(m, err);
    if (rc == HF_OK && !(m->name = join_names(m)))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        *ret = m;
    else
        discard(m);
    return rc;
}

static void on_member(void *arg, hf_lock *member, hf_state state, int why);

static void adopt(hf_multi *m) {
    pthread_mutex_init(&m->mu, NULL);
    pthread_cond_init(&m->quiet, NULL);
    for (size_t i = 0; i < m->n; i++) {
        hf_lock *member = m->members[i];

        member->multi = m;
        hf__keeper_set_callback(member->client->keeper, member, on_member, m);
    }
}

int hf_multi_new(hf_lock **ret, hf_lock *const *members, size_t n,
                 hf_error *err) {
    hf_multi *m = NULL;
    hf_lock *lock;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!ret || !members || !n)
        return hf__fail(err, HF_EUSAGE, "hf_multi_new: %s",
                        !ret     ? "ret is NULL" :
                        !members ? "members is NULL" :
                                   "there are no members");
    *ret = NULL;
    for (size_t i = 0; i < n; i++)
        if ((rc = check_member(members[i], err)))
            return rc;
    if ((rc = assemble(&m, members, n, err)))
        return rc;
    lock = hf__calloc(1, sizeof *lock);
    if (!lock) {
        discard(m);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    lock->client = m->members[0]->client; /* for hf__check_process */
    lock->lost_fd = -1;
    lock->multi = m;
    m->lock = lock;
    adopt(m);
    *ret = lock;
    return HF_OK;
}

/* What is still held ends, the members are their owner's again. */
static void dismiss(hf_multi *m) {
    for (size_t i = 0; i < m->n; i++)
        hf__keeper_set_callback(m->members[i]->client->keeper, m->members[i],
                                NULL, NULL);
    for (size_t i = m->n; i-- > 0;) {
        hf__lock_end_holds(m->members[i]);
        m->members[i]->multi = NULL;
    }
    pthread_mutex_destroy(&m->mu);
    pthread_cond_destroy(&m->quiet);
}

void hf__multi_free(hf_lock *lock) {
    hf_multi *m = lock->multi;

    if (hf__check_process(lock->client, NULL) == HF_OK)
        dismiss(m);
    for (whole *w = m->wholes, *next; w; w = next) {
        next = w->next;
        hf__free(w);
    }
    discard(m);
}

const char *hf__multi_name(const hf_lock *lock) {
    return lock->multi->name;
}

/* ---- who holds the whole (mu) ------------------------------------------ */

static uint64_t who_asks(const hf_multi *m) {
    return m->handle_owns ? 0 : hf__thread_number();
}

/* The caller's, by the link to it; *link is NULL: it has none. */
static whole **find(hf_multi *m) {
    uint64_t who = who_asks(m);
    whole **link = &m->wholes;

    while (*link && (*link)->who != who)
        link = &(*link)->next;
    return link;
}

/* The first member that the caller does not hold; NULL: it holds all. */
static hf_lock *missing(const hf_multi *m) {
    for (size_t i = 0; i < m->n; i++)
        if (!hf_lock_is_held(m->members[i]))
            return m->members[i];
    return NULL;
}

int hf__multi_holds(hf_lock *lock) {
    hf_multi *m = lock->multi;
    int count = 0;

    if (hf__check_process(lock->client, NULL))
        return 0;
    pthread_mutex_lock(&m->mu);
    whole *w = *find(m);
    if (w && !missing(m))
        count = w->count;
    pthread_mutex_unlock(&m->mu);
    return count;
}

int64_t hf__multi_remaining_ms(hf_lock *lock) {
    const hf_multi *m = lock->multi;
    int64_t least = INT64_MAX, ms;

    if (hf__multi_holds(lock) == 0)
        return 0;
    for (size_t i = 0; i < m->n; i++)
        if ((ms = hf_lock_remaining_ms(m->members[i])) < least)
            least = ms;
    return least;
}

/* ---- errors of members ------------------------------------------------- */

/* A member that is to act by itself. */
static int refuse_alone(const hf_lock *lock, hf_error *err) {
    return hf__fail(err, HF_EUSAGE,
                    "'%s' belongs to the multi-lock '%s': use that one",
                    hf_lock_name(lock), lock->multi->name);
}

static bool is_member(const hf_lock *lock) {
    return lock != lock->multi->lock;
}

/* The text says whose error it is; a store's own does not. */
static void name_member(const hf_lock *member, hf_error *err) {
    char quoted[HF_NAME_MAX + 3];
    hf_error told = *err;

    snprintf(quoted, sizeof quoted, "'%s'", hf_lock_name(member));
    if (!strstr(told.text, quoted))
        hf__fail(err, told.code, "%s: %s", quoted, told.text);
}

/* What a verb came to that went to every member. */
typedef struct tally {
    int failed;
    hf_error worst;                /* code HF_OK: none failed */
    char list[HF_ERROR_TEXT_SIZE]; /* "'a' LOST, 'b' DOUBT" */
} tally;

/* hf_class goes from bad to worse. */
static void count_in(tally *t, const hf_lock *member, int rc, hf_error *err) {
    size_t used = strlen(t->list);

    if (rc == HF_OK)
        return;
    err->code = rc;
    name_member(member, err);
    snprintf(t->list + used, sizeof t->list - used, "%s'%s' %s",
             t->failed++ ? ", " : "", hf_lock_name(member), hf_error_name(rc));
    if (hf_error_class(rc) > hf_error_class(t->worst.code))
        t->worst = *err;
}

static int result_of(const tally *t, hf_error *err) {
    if (t->failed == 1)
        *err = t->worst;
    else if (t->failed > 1)
        hf__fail(err, t->worst.code, "%s: %s", t->list, t->worst.text);
    return t->worst.code;
}

/* ---- acquire ----------------------------------------------------------- */

/* The k-th of a round: the start, then the others in order. */
static size_t nth(const hf_errand *e, size_t k) {
    return k == 0 ? e->start : k <= e->start ? k - 1 : k;
}

static hf_lock *member_at(const hf_errand *e, size_t k) {
    return e->m->members[nth(e, k)];
}

/* The others who want what we hold have waited long enough then, and a lease
 * that nobody renews is not to end meanwhile. */
static hf_time slice_end(const hf_errand *e) {
    hf_time slice = hf__jitter((hf_time)e->m->n * SLICE_MS * HF_MS);

    for (size_t k = 0; k < e->taken; k++) {
        hf_lock *member = member_at(e, k);

        if (member->renew_ms == 0)
            slice = hf__sooner(slice, hf_lock_remaining_ms(member) * HF_MS / 2);
    }
    return hf__now() + slice;
}

/* The next one, as the head of this file has it. */
static int begin_next(hf_errand *e, hf_error *err) {
    hf_lock *member = member_at(e, e->taken);
    hf_terms terms = e->terms;

    terms.via = member;
    if (e->taken > 0 && e->taken <= e->start)
        terms.waits = false;
    else if (e->taken > 0)
        terms.by = hf__sooner(terms.by, slice_end(e));
    if (hf__terms_cancelled(&terms))
        return hf__fail(err, HF_ECANCELLED, "the wait for '%s' was cancelled",
                        e->m->name);
    return hf__lock_begin(&e->quest, member, &terms, e->task, err);
}

static int take_next(hf_errand *e, hf_error *err) {
    int rc = e->asking ? HF_GOES_ON : begin_next(e, err);

    if (rc == HF_GOES_ON)
        rc = hf__quest_step(&e->quest, err);
    e->asking = rc == HF_SLEEPS;
    return rc;
}

static void let_go(const hf_errand *e) {
    hf_error ignored; /* what fails is given back by the keeper */

    for (size_t k = e->taken; k-- > 0;)
        hf__lock_release(member_at(e, k), 0, &ignored);
}

/* All are in our hands; from now on they are told of as one, if none of them
 * was lost while the others were waited for.  Takes the record. */
static int enter(hf_multi *m, whole *fresh, hf_error *err) {
    hf_lock *lost;

    pthread_mutex_lock(&m->mu);
    lost = missing(m);
    whole *mine = *find(m);
    if (!lost && mine) {
        mine->count++;
    } else if (!lost) {
        fresh->next = m->wholes;
        m->wholes = fresh;
        fresh = NULL;
    }
    pthread_mutex_unlock(&m->mu);
    hf__free(fresh);
    return lost ? hf__fail(err, HF_ELOST,
                           "lock '%s' was lost before all members were held",
                           hf_lock_name(lost)) :
                  HF_OK;
}

/* One round: all, or none is left in our hands. */
static int take_all(hf_errand *e, hf_error *err) {
    int rc = HF_OK;

    while (rc == HF_OK && e->taken < e->m->n)
        if ((rc = take_next(e, err)) == HF_OK)
            e->taken++;
    if (rc != HF_OK && rc != HF_SLEEPS)
        let_go(e);
    return rc;
}

/* Whether another round makes sense; then it begins, and with whom.  The first of a
 * round had all the time there was, and nothing of ours stood in its way. */
static bool begins_anew(hf_errand *e, int rc) {
    if (!e->terms.waits || e->taken == 0 || hf__now() >= e->terms.by ||
        (rc != HF_BUSY && rc != HF_ETIMEOUT && !hf__passing(rc)))
        return false;
    e->start = nth(e, e->taken);
    e->taken = 0;
    return true;
}

static int explain(const hf_errand *e, int rc, hf_error *err) {
    const hf_lock *member = member_at(e, e->taken);

    if (rc == HF_BUSY && e->terms.waits)
        return hf__fail(err, HF_ETIMEOUT,
                        "%s '%s' was not free in the time allowed",
                        hf__noun(member->kind), hf_lock_name(member));
    if (rc < 0 && rc != HF_ECANCELLED)
        name_member(member, err);
    return rc;
}

int hf__errand_begin(hf_errand *e, hf_lock *lock, int wait_ms, hf_task *task,
                     hf_error *err) {
    hf_multi *m = lock->multi;
    whole *w;

    if (is_member(lock))
        return refuse_alone(lock, err);
    w = hf__calloc(1, sizeof *w);
    if (!w)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    w->who = who_asks(m);
    w->count = 1;
    *e = (hf_errand){
        .m = m, .terms = hf__terms(wait_ms, lock), .task = task, .whole = w};
    e->terms.cancels = &m->cancels;
    e->terms.seen = atomic_load(&m->cancels);
    return HF_GOES_ON;
}

int hf__errand_step(hf_errand *e, hf_error *err) {
    int rc;

    do
        rc = take_all(e, err);
    while (rc != HF_OK && rc != HF_SLEEPS && begins_anew(e, rc));
    if (rc == HF_SLEEPS)
        return rc;
    if (rc != HF_OK) {
        hf__free(e->whole);
        return explain(e, rc, err);
    }
    rc = enter(e->m, e->whole, err);
    if (rc != HF_OK)
        let_go(e);
    return rc;
}

int hf__multi_acquire(hf_lock *lock, int wait_ms, hf_error *err) {
    hf_errand e;
    int rc = hf__errand_begin(&e, lock, wait_ms, NULL, err);

    if (rc != HF_GOES_ON)
        return rc;
    while ((rc = hf__errand_step(&e, err)) == HF_SLEEPS)
        hf__quest_sleep(&e.quest);
    return rc;
}

bool hf__multi_owned_by_handle(const hf_lock *lock) {
    return lock->multi->handle_owns;
}

/* Counted first: whoever is between two members sees it before it waits
 * again. */
void hf__multi_cancel(hf_lock *lock) {
    hf_multi *m = lock->multi;

    atomic_fetch_add(&m->cancels, 1);
    for (size_t i = 0; i < m->n; i++)
        hf_lock_cancel(m->members[i]);
}

/* ---- release and the rest ---------------------------------------------- */

static int not_owner(const hf_multi *m, hf_error *err) {
    return hf__fail(err, HF_ENOT_OWNER,
                    "multi-lock '%s' is not held by the caller", m->name);
}

/* One hold of the whole less.  false: there was none. */
static bool count_down(hf_multi *m) {
    whole *gone = NULL;

    pthread_mutex_lock(&m->mu);
    whole **link = find(m);
    bool mine = *link != NULL;
    if (mine && --(*link)->count == 0) {
        gone = *link;
        *link = gone->next;
        if (gone->state == HF_STATE_LOST)
            hf__loss_lower(m->lock);
    }
    pthread_mutex_unlock(&m->mu);
    hf__free(gone);
    return mine;
}

int hf__multi_let_go(hf_lock *lock, hf_error *err) {
    if (is_member(lock))
        return refuse_alone(lock, err);
    return count_down(lock->multi) ? HF_GOES_ON : not_owner(lock->multi, err);
}

int hf__multi_end(hf_lock *lock, int after_ms, hf_error *err) {
    hf_multi *m = lock->multi;
    tally t = {0};

    for (size_t i = m->n; i-- > 0;)
        count_in(&t, m->members[i],
                 hf__lock_release(m->members[i], after_ms, err), err);
    return result_of(&t, err);
}

int hf__multi_release(hf_lock *lock, int after_ms, hf_error *err) {
    int rc = hf__multi_let_go(lock, err);

    return rc == HF_GOES_ON ? hf__multi_end(lock, after_ms, err) : rc;
}

int hf__multi_extend(hf_lock *lock, int lease_ms, hf_error *err) {
    hf_multi *m = lock->multi;
    tally t = {0};

    if (is_member(lock))
        return refuse_alone(lock, err);
    pthread_mutex_lock(&m->mu);
    bool mine = *find(m) != NULL;
    pthread_mutex_unlock(&m->mu);
    if (!mine)
        return not_owner(m, err);
    for (size_t i = 0; i < m->n; i++)
        count_in(&t, m->members[i],
                 hf__lock_extend(m->members[i], lease_ms, err), err);
    return result_of(&t, err);
}

int hf__multi_force_release(hf_lock *lock, const char *owner, hf_error *err) {
    hf_multi *m = lock->multi;
    size_t free_ones = 0;
    tally t = {0};

    if (owner)
        return hf__fail(err, HF_EUSAGE,
                        "the multi-lock '%s' has no owner of its own: name the "
                        "owner of a member to that",
                        m->name);
    for (size_t i = 0; i < m->n; i++) {
        int rc = hf_lock_force_release(m->members[i], NULL, err);

        if (rc == HF_EFREE)
            free_ones++;
        else
            count_in(&t, m->members[i], rc, err);
    }
    if (free_ones == m->n)
        return hf__fail(err, HF_EFREE, "nobody holds any of '%s'", m->name);
    return result_of(&t, err);
}

/* ---- loss -------------------------------------------------------------- */

/* hf_state goes from good to bad: the whole is what its worst member is. */
static hf_state state_of(const hf_multi *m, uint64_t who, int *why) {
    hf_state worst = HF_STATE_HELD;

    *why = HF_OK;
    for (size_t i = 0; i < m->n; i++) {
        int because;
        hf_state state = hf__lock_state(m->members[i], who, &because);

        if (state > worst) {
            worst = state;
            *why = because;
        }
    }
    return worst;
}

/* Something has changed: what?  mu. */
static void look(hf_multi *m) {
    for (whole *w = m->wholes; w; w = w->next) {
        if (w->state == HF_STATE_LOST)
            continue;
        w->state = state_of(m, w->who, &w->why);
        if (w->state == HF_STATE_LOST)
            hf__loss_raise(m->lock);
    }
}

static whole *untold(const hf_multi *m) {
    whole *w = m->wholes;

    while (w && w->told == w->state)
        w = w->next;
    return w;
}

/* One thread tells at a time, so that news come in order; what another one
 * sees meanwhile is told by the same.  mu on entry and exit, not between. */
static void tell(hf_multi *m) {
    whole *w;

    if (m->telling)
        return;
    m->telling = true;
    m->teller = pthread_self();
    while ((w = untold(m))) {
        hf_state_fn *fn = m->lock->on_state;
        void *arg = m->lock->state_arg;
        hf_state state = w->told = w->state;
        int why = w->why;

        pthread_mutex_unlock(&m->mu);
        if (fn)
            hf__lock_tell(m->lock, fn, arg, state, why);
        pthread_mutex_lock(&m->mu); /* w may be gone */
    }
    m->telling = false;
    pthread_cond_broadcast(&m->quiet);
}

/* A keeper's thread, with nothing locked. */
static void on_member(void *arg, hf_lock *member, hf_state state, int why) {
    hf_multi *m = arg;

    (void)member, (void)state, (void)why; /* look() asks the members */
    pthread_mutex_lock(&m->mu);
    look(m);
    tell(m);
    pthread_mutex_unlock(&m->mu);
}

/* A member's callback is ours. */
void hf__multi_on_state(hf_lock *lock, hf_state_fn *fn, void *arg) {
    hf_multi *m = lock->multi;

    if (is_member(lock))
        return;
    pthread_mutex_lock(&m->mu);
    lock->on_state = fn;
    lock->state_arg = arg;
    while (m->telling && !pthread_equal(pthread_self(), m->teller))
        hf__world->wait(&m->quiet, &m->mu, HF_NEVER);
    pthread_mutex_unlock(&m->mu);
}

int hf__multi_lost_fd(hf_lock *lock) {
    hf_multi *m = lock->multi;
    int fd;

    pthread_mutex_lock(&m->mu);
    fd = hf__loss_fd(lock);
    pthread_mutex_unlock(&m->mu);
    return fd;
}
