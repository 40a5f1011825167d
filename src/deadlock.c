/* SPDX-License-Identifier: MIT
 *
 * deadlock.c - who waits for whom; deadlock.h says what it means. */
#include "deadlock.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

#define NONE SIZE_MAX

enum {
    PASSES = 1000,       /* longer chains are nobody's program */
    STEPS = 1000 * 1000, /* and so is a store that takes more to go through */
    DEPTH = 16           /* clients inside of each other */
};

/* Who waits. */
typedef struct actor {
    hf_told *wait;
    size_t group; /* NONE: nobody is known to hold what it wants */
    bool stuck;
    bool covered;       /* a circle is known that it is in */
    size_t search;      /* the last that came by */
    size_t from;        /* whom it came from, and */
    const hf_told *via; /* what that one wants of this one */
} actor;

/* A hold, and the actor, if that waits. */
typedef struct held {
    hf_told *told;
    size_t actor;
    bool inner; /* that works inside of the hold */
} held;

/* All holds of a name. */
typedef struct group {
    size_t first, n;
    size_t stuck; /* of them */
    bool odd;     /* so it cannot be */
} group;

typedef struct graph {
    actor *actors; /* by client and thread */
    size_t n_actors;
    held *holds; /* by name and family */
    size_t n_holds;
    group *groups;
    size_t n_groups;
    size_t *queue; /* of a search */
    size_t steps;
} graph;

/* ---- order ------------------------------------------------------------- */

/* Kinds of one family keep each other out. */
static hf_kind family(hf_kind kind) {
    return kind == HF_FAIR || kind == HF_SPIN ? HF_LOCK : hf_line_kind(kind);
}

/* Records stand in the order of clients. */
static int by_actor(const hf_told *x, const hf_told *y) {
    if (x->record != y->record)
        return x->record < y->record ? -1 : 1;
    return (x->of.who > y->of.who) - (x->of.who < y->of.who);
}

static int compare_actors(const void *a, const void *b) {
    return by_actor(((const actor *)a)->wait, ((const actor *)b)->wait);
}

static int by_name(const hf_told *x, const hf_told *y) {
    int order = strcmp(x->of.name, y->of.name);

    return order ? order : (int)family(x->of.kind) - (int)family(y->of.kind);
}

static int compare_holds(const void *a, const void *b) {
    const hf_told *x = ((const held *)a)->told, *y = ((const held *)b)->told;
    int order = by_name(x, y);

    return order ? order : by_actor(x, y);
}

/* ---- the graph --------------------------------------------------------- */

/* Does the record also say that it holds, or waits with the same number?  It
 * was granted while the record was written. */
static bool is_certain(const hf_records *records, size_t i) {
    const hf_told *told = &records->claims[i];

    for (int step = -1; step <= 1; step += 2)
        for (size_t j = i + (size_t)step; j < records->n_claims;
             j += (size_t)step) {
            const hf_told *other = &records->claims[j];

            if (other->record != told->record ||
                strcmp(other->of.owner, told->of.owner) != 0)
                break;
            if (strcmp(other->of.name, told->of.name) == 0)
                return false;
        }
    return true;
}

/* A latch has no holder, and a plain semaphore's permits are nobody's. */
static bool waits_for_somebody(const hf_doing *c) {
    return c->does == HF_DOES_WAIT && c->kind != HF_LATCH &&
           c->kind != HF_SEMAPHORE;
}

/* A thread that seems to wait twice was seen while it went from one to the
 * other. */
static void drop_doubtful_actors(graph *g) {
    size_t kept = 0;

    for (size_t i = 0, j; i < g->n_actors; i = j) {
        for (j = i + 1; j < g->n_actors &&
                        compare_actors(&g->actors[i], &g->actors[j]) == 0;)
            j++;
        if (j == i + 1)
            g->actors[kept++] = g->actors[i];
    }
    g->n_actors = kept;
}

static void take_claims(graph *g, hf_records *records) {
    for (size_t i = 0; i < records->n_claims; i++) {
        hf_told *told = &records->claims[i];

        told->stuck = false;
        if (!is_certain(records, i))
            continue;
        if (waits_for_somebody(&told->of))
            g->actors[g->n_actors++] = (actor){.wait = told, .search = NONE};
        else if (told->of.does == HF_DOES_HOLD)
            g->holds[g->n_holds++] = (held){.told = told};
    }
    if (g->n_actors)
        qsort(g->actors, g->n_actors, sizeof *g->actors, compare_actors);
    if (g->n_holds)
        qsort(g->holds, g->n_holds, sizeof *g->holds, compare_holds);
    drop_doubtful_actors(g);
}

static size_t find_actor(const graph *g, hf_told *told) {
    actor key = {.wait = told};
    const actor *a = g->n_actors ? bsearch(&key, g->actors, g->n_actors,
                                           sizeof *g->actors, compare_actors) :
                                   NULL;

    return a ? (size_t)(a - g->actors) : NONE;
}

/* The only one of that client who waits; NONE: nobody does, or several, of
 * whom one may still go on. */
static size_t only_waiter(const graph *g, const hf_record *r) {
    size_t only = NONE;

    for (size_t i = 0; i < g->n_actors; i++)
        if (g->actors[i].wait->record == r) {
            if (only != NONE)
                return NONE;
            only = i;
        }
    return only;
}

/* Who waits inside of what that client holds. */
static size_t find_inner(const graph *g, const hf_records *records,
                         const hf_record *outer, int depth) {
    size_t found = NONE;

    if (!outer->has_inner || depth == DEPTH)
        return NONE;
    for (size_t i = 0; i < records->n && found == NONE; i++) {
        const hf_record *r = &records->all[i];

        if (r->outer == outer)
            found = r->waits ? only_waiter(g, r) :
                               find_inner(g, records, r, depth + 1);
    }
    return found;
}

static void find_holder(graph *g, const hf_records *records, held *h) {
    h->actor = find_actor(g, h->told);
    if (h->actor != NONE)
        return;
    h->actor = find_inner(g, records, h->told->record, 0);
    h->inner = h->actor != NONE;
}

/* One holds alone; a writer may read, too. */
static bool is_odd(const graph *g, const group *of) {
    const held *all = &g->holds[of->first];
    const hf_told *writer = NULL;

    if (family(all->told->of.kind) == HF_SEMAPHORE)
        return false;
    if (family(all->told->of.kind) != HF_WRITE)
        return of->n > 1;
    for (size_t i = 0; i < of->n; i++)
        if (all[i].told->of.kind == HF_WRITE) {
            if (writer)
                return true;
            writer = all[i].told;
        }
    for (size_t i = 0; writer && i < of->n; i++)
        if (by_actor(all[i].told, writer) != 0)
            return true;
    return false;
}

static void form_groups(graph *g, const hf_records *records) {
    for (size_t i = 0; i < g->n_holds; i++) {
        group *of = g->n_groups ? &g->groups[g->n_groups - 1] : NULL;

        find_holder(g, records, &g->holds[i]);
        if (!of || by_name(g->holds[of->first].told, g->holds[i].told) != 0) {
            of = &g->groups[g->n_groups++];
            *of = (group){.first = i};
        }
        of->n++;
    }
    for (size_t i = 0; i < g->n_groups; i++)
        g->groups[i].odd = is_odd(g, &g->groups[i]);
}

static size_t find_group(const graph *g, const hf_told *wait) {
    size_t low = 0, high = g->n_groups;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = by_name(g->holds[g->groups[mid].first].told, wait);

        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NONE;
}

/* ---- who is stuck ------------------------------------------------------ */

/* Does this hold keep the actor out, and its holder is stuck? */
static bool keeps_out(const graph *g, const actor *a, const held *h) {
    hf_kind wants = a->wait->of.kind;

    if (h->actor == NONE || !g->actors[h->actor].stuck)
        return false;
    if (wants == HF_PERMIT)
        return true;
    return (h->inner || &g->actors[h->actor] != a) &&
           (wants != HF_READ || h->told->of.kind == HF_WRITE);
}

static bool is_kept_out(const graph *g, const actor *a) {
    const group *of = a->group == NONE ? NULL : &g->groups[a->group];
    size_t i = 0;

    if (!of || of->odd || !of->stuck)
        return false;
    if (a->wait->of.kind == HF_PERMIT)
        return of->stuck == of->n;
    while (i < of->n && !keeps_out(g, a, &g->holds[of->first + i]))
        i++;
    return i < of->n;
}

static void recount(graph *g) {
    for (size_t i = 0; i < g->n_groups; i++) {
        group *of = &g->groups[i];

        of->stuck = 0;
        for (size_t j = of->first; j < of->first + of->n; j++)
            of->stuck +=
                g->holds[j].actor != NONE && g->actors[g->holds[j].actor].stuck;
    }
}

/* Takes away who can go on, until nobody can. */
static bool settle(graph *g) {
    bool changed = true;

    for (size_t i = 0; i < g->n_actors; i++) {
        g->actors[i].group = find_group(g, g->actors[i].wait);
        g->actors[i].stuck = true;
    }
    for (int pass = 0; changed; pass++) {
        if (pass == PASSES)
            return false;
        changed = false;
        recount(g);
        for (size_t i = 0; i < g->n_actors; i++)
            if (g->actors[i].stuck && !is_kept_out(g, &g->actors[i])) {
                g->actors[i].stuck = false;
                changed = true;
            }
    }
    return true;
}

static void mark(graph *g) {
    for (size_t i = 0; i < g->n_actors; i++)
        g->actors[i].wait->stuck = g->actors[i].stuck;
    for (size_t i = 0; i < g->n_holds; i++)
        g->holds[i].told->stuck =
            g->holds[i].actor != NONE && g->actors[g->holds[i].actor].stuck;
}

/* ---- circles ----------------------------------------------------------- */

/* The shortest way from an actor back to itself; false: there is none.  Each
 * actor on it knows whom the search came from. */
static bool search(graph *g, size_t start) {
    size_t head = 0, tail = 0;

    g->queue[tail++] = start;
    while (head < tail) {
        size_t at = g->queue[head++];
        const actor *a = &g->actors[at];
        const group *of = &g->groups[a->group];

        for (size_t i = of->first; i < of->first + of->n; i++) {
            actor *next;

            if (++g->steps > STEPS)
                return false;
            if (!keeps_out(g, a, &g->holds[i]))
                continue;
            next = &g->actors[g->holds[i].actor];
            if (next->search == start)
                continue;
            next->search = start;
            next->from = at;
            next->via = g->holds[i].told;
            if (next == &g->actors[start])
                return true;
            g->queue[tail++] = g->holds[i].actor;
        }
    }
    return false;
}

/* Backwards, as the search came. */
static bool add_circle(graph *g, hf_circles *ret, size_t start) {
    hf_circle *c = &ret->all[ret->n];
    size_t n = 1;

    for (size_t at = g->actors[start].from; at != start;
         at = g->actors[at].from)
        n++;
    c->links = hf__calloc(n, sizeof *c->links);
    if (!c->links)
        return false;
    c->n = n;
    ret->n++;
    for (size_t i = n, at = start; i-- > 0;) {
        size_t to = (i + 1) % n;

        c->links[to].has = g->actors[at].via;
        at = g->actors[at].from;
        c->links[i].wants = g->actors[at].wait;
        g->actors[at].covered = true;
    }
    return true;
}

static int find_circles(graph *g, hf_circles *ret) {
    for (size_t i = 0; i < g->n_actors && ret->n < HF_CIRCLES_MAX; i++)
        if (g->actors[i].stuck && !g->actors[i].covered && search(g, i) &&
            !add_circle(g, ret, i))
            return HF_ENO_MEMORY;
    return HF_OK;
}

static int work(graph *g, hf_circles *ret, hf_records *records) {
    size_t n = records->n_claims;

    g->actors = hf__calloc(n, sizeof *g->actors);
    g->holds = hf__calloc(n, sizeof *g->holds);
    g->groups = hf__calloc(n, sizeof *g->groups);
    g->queue = hf__calloc(n, sizeof *g->queue);
    ret->all = hf__calloc(HF_CIRCLES_MAX, sizeof *ret->all);
    if (!g->actors || !g->holds || !g->groups || !g->queue || !ret->all)
        return HF_ENO_MEMORY;
    take_claims(g, records);
    form_groups(g, records);
    if (!settle(g))
        return HF_OK;
    mark(g);
    return find_circles(g, ret);
}

int hf__circles_find(hf_circles *ret, hf_records *records) {
    graph g = {0};
    int rc;

    *ret = (hf_circles){0};
    if (records->n_claims == 0)
        return HF_OK;
    rc = work(&g, ret, records);
    if (rc != HF_OK)
        hf__circles_free(ret);
    hf__free(g.actors);
    hf__free(g.holds);
    hf__free(g.groups);
    hf__free(g.queue);
    return rc;
}

void hf__circles_free(hf_circles *circles) {
    for (size_t i = 0; i < circles->n; i++)
        hf__free(circles->all[i].links);
    hf__free(circles->all);
    *circles = (hf_circles){0};
}

/* ---- what is made of them ---------------------------------------------- */

/* Everybody must come to the same answer. */
static bool is_later(const hf_told *x, const hf_told *y) {
    int order = strcmp(x->record->who.client, y->record->who.client);

    if (x->of.since_ms != y->of.since_ms)
        return x->of.since_ms > y->of.since_ms;
    return order ? order > 0 : strcmp(x->of.owner, y->of.owner) > 0;
}

const hf_told *hf__circle_yields(const hf_circle *circle) {
    const hf_told *last = NULL;

    for (size_t i = 0; i < circle->n; i++) {
        const hf_told *wait = circle->links[i].wants;

        if (wait->of.asked && (!last || is_later(wait, last)))
            last = wait;
    }
    return last;
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const char *text) {
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    while (*text++);
    return hash;
}

/* A sum: a circle has no first one. */
uint64_t hf__circle_key(const hf_circle *circle) {
    uint64_t sum = circle->n;

    for (size_t i = 0; i < circle->n; i++) {
        const hf_link *l = &circle->links[i];
        uint64_t hash = UINT64_C(14695981039346656037);

        hash = mix(hash, l->wants->record->who.client);
        hash = mix(hash, l->wants->of.owner);
        hash = mix(hash, l->wants->of.name);
        sum += mix(hash, l->has->of.owner);
    }
    return sum;
}
