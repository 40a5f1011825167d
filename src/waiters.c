/* SPDX-License-Identifier: MIT
 *
 * waiters.c - spots and their queues. */
#include "waiters.h"

#include <string.h>

#include "alloc.h"
#include "plant.h"
#include "runner.h"

enum { FIRST_BUCKETS = 64 };

/* FNV-1a. */
static uint32_t hash_of(hf_kind kind, const char *name) {
    uint32_t h = 2166136261u ^ (uint32_t)kind;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static hf_spot **bucket_of(hf_spots *spots, uint32_t hash) {
    return &spots->buckets[hash & (spots->n_buckets - 1)];
}

int hf__spots_init(hf_spots *spots) {
    memset(spots, 0, sizeof *spots);
    spots->buckets = hf__calloc(FIRST_BUCKETS, sizeof(hf_spot *));
    if (!spots->buckets)
        return HF_ENO_MEMORY;
    spots->n_buckets = FIRST_BUCKETS;
    pthread_mutex_init(&spots->mu, NULL);
    return HF_OK;
}

static void destroy(hf_spot *spot) {
    pthread_mutex_destroy(&spot->mu);
    hf__free(spot->numbers);
    hf__free(spot);
}

void hf__spots_free(hf_spots *spots) {
    if (!spots->buckets)
        return;
    for (size_t i = 0; i < spots->n_buckets; i++)
        for (hf_spot *spot = spots->buckets[i], *next; spot; spot = next) {
            next = spot->next;
            destroy(spot);
        }
    hf__free(spots->buckets);
    pthread_mutex_destroy(&spots->mu);
}

/* Twice the buckets.  Failing costs only speed. */
static void grow(hf_spots *spots) {
    size_t n = spots->n_buckets * 2;
    hf_spot **old = spots->buckets;
    hf_spot **wide = hf__calloc(n, sizeof(hf_spot *));

    if (!wide)
        return;
    for (size_t i = 0; i < spots->n_buckets; i++)
        for (hf_spot *spot = old[i], *next; spot; spot = next) {
            hf_spot **b = &wide[spot->hash & (n - 1)];
            next = spot->next;
            spot->next = *b;
            *b = spot;
        }
    spots->buckets = wide;
    spots->n_buckets = n;
    hf__free(old);
}

static hf_spot *find(hf_spots *spots, hf_kind kind, const char *name,
                     uint32_t hash) {
    hf_spot *spot = *bucket_of(spots, hash);

    while (spot && (spot->hash != hash || spot->kind != kind ||
                    strcmp(spot->name, name) != 0))
        spot = spot->next;
    return spot;
}

static hf_spot *create(hf_kind kind, const char *name, uint32_t hash) {
    size_t size = strlen(name) + 1;
    hf_spot *spot = hf__calloc(1, sizeof *spot + size);

    if (!spot)
        return NULL;
    spot->kind = kind;
    spot->hash = hash;
    pthread_mutex_init(&spot->mu, NULL);
    memcpy(spot->name, name, size);
    return spot;
}

hf_spot *hf__spot_get(hf_spots *spots, hf_kind kind, const char *name) {
    uint32_t hash = hash_of(kind, name);
    hf_spot *spot;

    pthread_mutex_lock(&spots->mu);
    spot = find(spots, kind, name, hash);
    if (!spot && (spot = create(kind, name, hash))) {
        if (++spots->n > spots->n_buckets)
            grow(spots);
        spot->next = *bucket_of(spots, hash);
        *bucket_of(spots, hash) = spot;
    }
    if (spot)
        atomic_fetch_add(&spot->refs, 1);
    pthread_mutex_unlock(&spots->mu);
    return spot;
}

hf_spot *hf__spot_keep(hf_spot *spot) {
    atomic_fetch_add(&spot->refs, 1);
    return spot;
}

/* One reference less, unless it is the last. */
static bool drop_one(hf_spot *spot) {
    unsigned refs = atomic_load(&spot->refs);

    while (refs > 1)
        if (atomic_compare_exchange_weak(&spot->refs, &refs, refs - 1))
            return true;
    return false;
}

void hf__spot_put(hf_spots *spots, hf_spot *spot) {
    if (drop_one(spot))
        return;
    pthread_mutex_lock(&spots->mu);
    if (atomic_fetch_sub(&spot->refs, 1) > 1) {
        pthread_mutex_unlock(&spots->mu);
        return;
    }
    hf_spot **link = bucket_of(spots, spot->hash);
    while (*link != spot)
        link = &(*link)->next;
    *link = spot->next;
    spots->n--;
    pthread_mutex_unlock(&spots->mu);
    destroy(spot);
}

static void ring(hf_waiter *w) {
    atomic_store(&w->bell, HF_BELL_RUNG);
    if (w->task)
        hf__task_rouse(w->task, false);
    else
        hf__world->unpark(&w->bell, 1);
}

static void wake(hf_waiter *w) {
    w->woken = true;
    w->refused = false;
    ring(w);
}

static void wake_all(hf_spot *spot) {
    for (hf_waiter *w = spot->first; w; w = w->next)
        wake(w);
}

static hf_waiter *waiter_of(hf_spot *spot, uint64_t owner) {
    hf_waiter *w = spot->first;

    while (w && w->owner != owner)
        w = w->next;
    return w;
}

/* Where everybody asks for himself, a message for nobody is for all. */
static void moved(hf_spot *spot, uint64_t owner) {
    hf_waiter *w;

    pthread_mutex_lock(&spot->mu);
    if (owner) {
        w = waiter_of(spot, owner);
        if (w)
            wake(w);
    } else if (spot->kind == HF_FAIR) {
        wake_all(spot);
    } else {
        hf__spot_nudge(spot);
    }
    pthread_mutex_unlock(&spot->mu);
}

void hf__spots_woken(hf_spots *spots, hf_kind kind, const char *name,
                     uint64_t owner) {
    pthread_mutex_lock(&spots->mu);
    if (name) {
        hf_spot *spot = find(spots, kind, name, hash_of(kind, name));
        if (spot)
            moved(spot, owner);
    } else {
        for (size_t i = 0; i < spots->n_buckets; i++)
            for (hf_spot *s = spots->buckets[i]; s; s = s->next)
                moved(s, 0);
    }
    pthread_mutex_unlock(&spots->mu);
}

void hf__spots_granted(hf_spots *spots, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    hf_spot *spot;
    hf_waiter *w = NULL;

    pthread_mutex_lock(&spots->mu);
    spot = find(spots, kind, name, hash_of(kind, name));
    if (spot) {
        pthread_mutex_lock(&spot->mu);
        w = waiter_of(spot, owner);
        if (w && token > w->above) {
            w->granted = true;
            w->token = token;
            w->until = until;
            wake(w);
        }
        pthread_mutex_unlock(&spot->mu);
    }
    pthread_mutex_unlock(&spots->mu);
}

void hf__waiter_join(hf_spot *spot, hf_waiter *w) {
    w->next = NULL;
    w->prev = spot->last;
    if (spot->last)
        spot->last->next = w;
    else
        spot->first = w;
    spot->last = w;
}

static void unlink_waiter(hf_spot *spot, hf_waiter *w) {
    *(w->prev ? &w->prev->next : &spot->first) = w->next;
    *(w->next ? &w->next->prev : &spot->last) = w->prev;
}

hf_bells hf__waiter_give(hf_spot *spot, hf_hold *h) {
    hf_waiter *w = spot->first, *next = w->next;
    hf_bells bells = {&w->bell, next ? &next->bell : NULL};

    unlink_waiter(spot, w);
    if (next)
        atomic_store(&next->bell, HF_BELL_RUNG);
    w->given = h;
    atomic_store(&w->bell, HF_BELL_GIVEN);
    if (w->task)
        hf__task_rouse(w->task, false);
    return bells;
}

/* Whoever they belong to may be gone by now; then this wakes nobody. */
void hf__bells_ring(hf_bells bells) {
    hf__world->unpark(bells.given, 1);
    if (bells.next)
        hf__world->unpark(bells.next, 1);
}

void hf__waiter_leave(hf_spot *spot, hf_waiter *w) {
    bool was_first = spot->first == w;

    unlink_waiter(spot, w);
    if (was_first && !HF_PLANTED(NUDGE))
        hf__spot_nudge(spot);
}

bool hf__waiter_first(const hf_spot *spot, const hf_waiter *w) {
    if (spot->kind == HF_FAIR || w->mode == HF_ZERO || w->inside)
        return true;
    for (const hf_waiter *before = w->prev; before; before = before->prev)
        if (before->refused || before->mode == HF_EXCLUSIVE ||
            w->mode == HF_EXCLUSIVE)
            return false;
    return true;
}

/* Readers go together, and so do those who wait for a latch.  Permits are
 * few: one looks, and the next when it has got some. */
void hf__spot_nudge(hf_spot *spot) {
    hf_waiter *w = spot->first;

    if (!w || spot->kind == HF_FAIR)
        return;
    wake(w);
    if (w->mode != HF_SHARED && w->mode != HF_ZERO)
        return;
    for (hf_mode mode = w->mode; (w = w->next) && w->mode == mode;)
        wake(w);
}

bool hf__number_take(hf_spot *spot, hf_number *ret) {
    if (spot->n_numbers == 0)
        return false;
    *ret = spot->numbers[--spot->n_numbers];
    return true;
}

/* Without memory it is forgotten, and the next one gets a new number. */
void hf__number_put(hf_spot *spot, hf_number number) {
    size_t room = spot->room ? 2 * spot->room : 8;
    hf_number *wide;

    if (spot->n_numbers == spot->room) {
        wide = hf__realloc(spot->numbers, room * sizeof *wide);
        if (!wide)
            return;
        spot->numbers = wide;
        spot->room = room;
    }
    spot->numbers[spot->n_numbers++] = number;
}

static void cancel(hf_waiter *w) {
    w->cancelled = true;
    ring(w);
    if (w->task) /* it has only to leave: before those who ask */
        hf__task_rouse(w->task, true);
}

void hf__spot_cancel(hf_spot *spot, const void *via) {
    for (hf_waiter *w = spot->first; w; w = w->next)
        if (w->via == via)
            cancel(w);
}

void hf__spots_cancel_tasks(hf_spots *spots) {
    pthread_mutex_lock(&spots->mu);
    for (size_t i = 0; i < spots->n_buckets; i++)
        for (hf_spot *spot = spots->buckets[i]; spot; spot = spot->next) {
            pthread_mutex_lock(&spot->mu);
            for (hf_waiter *w = spot->first; w; w = w->next)
                if (w->task)
                    cancel(w);
            pthread_mutex_unlock(&spot->mu);
        }
    pthread_mutex_unlock(&spots->mu);
}
