/* SPDX-License-Identifier: MIT
 *
 * memory.c - the contract as a program: a store in this process's memory.
 *
 * Kept as plain as can be, because it is the oracle: random scripts must give
 * the same answers here and on every other store.  memory:NAME is shared by
 * all clients of the process that open the same NAME, and lives as long as one
 * of them.  Everything is under one mutex. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../claim.h"
#include "../err.h"
#include "../world.h"

typedef struct memory memory;

/* A claim in a line. */
typedef struct place {
    struct place *next;
    memory *client; /* NULL: the grant outlives its client */
    uint64_t owner;
    hf_entry entry;
    uint64_t token;
    hf_time until, since;
} place;

/* A name and the claims on it, oldest first. */
typedef struct line {
    struct line *next;
    hf_kind kind;
    uint64_t token; /* of the last grant */
    place *first;
    char name[HF_NAME_MAX + 1];
} line;

/* Somebody wants to hear of a line. */
typedef struct watcher {
    struct watcher *next;
    memory *client;
    hf_kind kind;
    char name[HF_NAME_MAX + 1];
} watcher;

typedef struct store {
    struct store *next;
    int refs;
    line *lines;
    watcher *watchers;
    char name[64];
} store;

extern const hf_backend_ops hf__memory_ops;

struct memory {
    hf_backend base;
    store *store;
    char where[80];
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static store *stores; /* mu, and so is all they lead to */

/* ---- lines (mu) -------------------------------------------------------- */

static line *find_line(store *s, hf_kind kind, const char *name) {
    line *l = s->lines;

    while (l && (l->kind != kind || strcmp(l->name, name) != 0))
        l = l->next;
    return l;
}

static line *get_line(store *s, hf_kind kind, const char *name) {
    line *l = find_line(s, kind, name);

    if (l)
        return l;
    l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->kind = kind;
    snprintf(l->name, sizeof l->name, "%s", name);
    l->next = s->lines;
    s->lines = l;
    return l;
}

static place **find_place(line *l, const memory *m, uint64_t owner) {
    place **link = &l->first;

    while (*link && ((*link)->client != m || (*link)->owner != owner))
        link = &(*link)->next;
    return link;
}

static void remove_place(place **link) {
    place *gone = *link;

    *link = gone->next;
    free(gone);
}

/* Grants whose lease is over are no longer in the line. */
static void expire(line *l) {
    hf_time now = hf__now();

    for (place **link = &l->first; *link;)
        if ((*link)->entry.holds && (*link)->until <= now)
            remove_place(link);
        else
            link = &(*link)->next;
}

static place *append(line *l, memory *m, const hf_claim *c) {
    place *p = calloc(1, sizeof *p), **link = &l->first;

    if (!p)
        return NULL;
    p->client = m;
    p->owner = c->owner;
    p->since = hf__now();
    p->entry = (hf_entry){.mode = c->mode, .permits = c->permits, .fifo = true};
    while (*link)
        link = &(*link)->next;
    *link = p;
    return p;
}

/* The rule of admission over the line, which is copied for it; where there is
 * no memory for that, nobody gets in. */
static bool admitted(const line *l, const place *mine, int limit) {
    int n = 0, me = 0;
    hf_entry *entries;
    bool yes;

    for (const place *p = l->first; p; p = p->next)
        n++;
    entries = calloc((size_t)n, sizeof *entries);
    if (!entries)
        return false;
    n = 0;
    for (const place *p = l->first; p; p = p->next) {
        if (p == mine)
            me = n;
        entries[n++] = p->entry;
    }
    yes = hf__admit(entries, n, me, limit, 0).admitted;
    free(entries);
    return yes;
}

static hf_time first_end(const line *l) {
    hf_time at = hf__now() + HF_SECOND;

    for (const place *p = l->first; p; p = p->next)
        if (p->entry.holds)
            at = hf__sooner(at, p->until);
    return at;
}

static void tell(store *s, hf_kind kind, const char *name) {
    for (watcher *w = s->watchers; w; w = w->next)
        if (w->kind == kind && strcmp(w->name, name) == 0)
            w->client->base.host->woken(w->client->base.host->core, kind, name);
}

/* ---- the verbs --------------------------------------------------------- */

static store *get_store(const char *name) {
    store *s = stores;

    while (s && strcmp(s->name, name) != 0)
        s = s->next;
    if (!s && (s = calloc(1, sizeof *s))) {
        snprintf(s->name, sizeof s->name, "%s", name);
        s->next = stores;
        stores = s;
    }
    if (s)
        s->refs++;
    return s;
}

static void free_store(store *s) {
    store **link = &stores;

    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    for (line *l = s->lines, *next; l; l = next) {
        next = l->next;
        while (l->first)
            remove_place(&l->first);
        free(l);
    }
    free(s);
}

static int memory_open(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                       hf_time by, hf_error *err) {
    memory *m = calloc(1, sizeof *m);
    const char *name = uri->path ? uri->path : "";

    (void)by;
    if (!m)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_lock(&mu);
    m->store = get_store(name);
    pthread_mutex_unlock(&mu);
    if (!m->store) {
        free(m);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    m->base.host = host;
    m->base.ops = &hf__memory_ops;
    snprintf(m->where, sizeof m->where, "memory:%s", m->store->name);
    *ret = &m->base;
    return HF_OK;
}

static void memory_close(hf_backend *be, bool forked) {
    memory *m = (memory *)be;

    if (forked)
        return;
    pthread_mutex_lock(&mu);
    if (--m->store->refs == 0)
        free_store(m->store);
    pthread_mutex_unlock(&mu);
    free(m);
}

static unsigned memory_can(const hf_backend *be, hf_kind kind) {
    (void)be;
    return kind == HF_LOCK ? HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE : 0;
}

static const char *memory_where(const hf_backend *be) {
    return ((const memory *)be)->where;
}

/* Above every earlier token, and above those of a store of the same name that
 * was here before. */
static uint64_t next_token(line *l) {
    uint64_t floor = (uint64_t)hf__world->wall_us();

    l->token = l->token + 1 > floor ? l->token + 1 : floor;
    return l->token;
}

static int ask(memory *m, hf_claim *c, bool waits) {
    line *l = get_line(m->store, c->kind, c->name);
    place **link, *mine;

    if (!l)
        return HF_ENO_MEMORY;
    expire(l);
    link = find_place(l, m, c->owner);
    mine = *link ? *link : append(l, m, c);
    if (!mine)
        return HF_ENO_MEMORY;
    if (!admitted(l, mine, c->limit)) {
        c->ask_again = first_end(l);
        c->place = waits;
        if (!waits)
            remove_place(find_place(l, m, c->owner));
        return HF_BUSY;
    }
    if (!mine->entry.holds) {
        mine->entry.holds = true;
        mine->since = hf__now();
        mine->token = next_token(l);
    }
    mine->until = hf__now() + c->lease_ms * HF_MS;
    c->token = mine->token;
    return HF_OK;
}

static int memory_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                          hf_error *err) {
    int rc;

    (void)by;
    pthread_mutex_lock(&mu);
    rc = ask((memory *)be, c, waits);
    pthread_mutex_unlock(&mu);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

static int watch_on(memory *m, const hf_claim *c) {
    watcher *w = calloc(1, sizeof *w);

    if (!w)
        return HF_ENO_MEMORY;
    w->client = m;
    w->kind = c->kind;
    snprintf(w->name, sizeof w->name, "%s", c->name);
    w->next = m->store->watchers;
    m->store->watchers = w;
    return HF_OK;
}

static void watch_off(memory *m, const hf_claim *c) {
    watcher **link = &m->store->watchers, *gone;

    while (*link && ((*link)->client != m || (*link)->kind != c->kind ||
                     strcmp((*link)->name, c->name) != 0))
        link = &(*link)->next;
    gone = *link;
    if (gone) {
        *link = gone->next;
        free(gone);
    }
}

static int memory_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                        hf_error *err) {
    memory *m = (memory *)be;
    int rc = HF_OK;

    (void)by;
    pthread_mutex_lock(&mu);
    if (on)
        rc = watch_on(m, c);
    else
        watch_off(m, c);
    pthread_mutex_unlock(&mu);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

static place **held_place(memory *m, const hf_claim *c) {
    line *l = get_line(m->store, c->kind, c->name);
    place **link;

    if (!l)
        return NULL;
    expire(l);
    link = find_place(l, m, c->owner);
    return *link ? link : NULL;
}

static int memory_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                        hf_time by, hf_error *err) {
    (void)by;
    (void)err;
    pthread_mutex_lock(&mu);
    for (size_t i = 0; i < n; i++) {
        place **p = held_place((memory *)be, claims[i]);
        bool holds = p && (*p)->entry.holds;

        if (holds)
            (*p)->until = hf__now() + claims[i]->lease_ms * HF_MS;
        claims[i]->result = holds ? HF_OK : HF_ELOST;
    }
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

static int let_go(memory *m, const hf_claim *c, hf_how how) {
    place **p = held_place(m, c);

    if (!p)
        return HF_ELOST;
    if (how == HF_RELEASE_AFTER) {
        (*p)->client = NULL;
        (*p)->until = hf__now() + c->lease_ms * HF_MS;
    } else {
        remove_place(p);
    }
    return HF_OK;
}

static void owner_text(const place *p, char *buf, size_t size) {
    if (p->client)
        snprintf(buf, size, "%s:%llu", p->client->base.host->identity.client,
                 (unsigned long long)p->owner);
    else
        snprintf(buf, size, "released");
}

static int force(memory *m, const hf_claim *c, const char *whose) {
    line *l = get_line(m->store, c->kind, c->name);
    int rc = HF_EFREE;
    char owner[64];

    if (!l)
        return HF_ENO_MEMORY;
    expire(l);
    for (place **link = &l->first; *link;) {
        owner_text(*link, owner, sizeof owner);
        if ((*link)->entry.holds && (!whose || strcmp(whose, owner) == 0)) {
            remove_place(link);
            rc = HF_OK;
        } else {
            link = &(*link)->next;
        }
    }
    if (rc == HF_OK)
        next_token(l);
    return rc;
}

static int memory_release(hf_backend *be, hf_claim *c, hf_how how,
                          const char *whose, hf_time by, hf_error *err) {
    memory *m = (memory *)be;
    int rc;

    (void)by;
    pthread_mutex_lock(&mu);
    if (how == HF_RELEASE_FORCED)
        rc = force(m, c, whose);
    else
        rc = let_go(m, c, how);
    if (rc == HF_OK)
        tell(m->store, c->kind, c->name);
    pthread_mutex_unlock(&mu);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

static int memory_announce(hf_backend *be, int lease_ms, hf_time by,
                           hf_error *err) {
    (void)be;
    (void)lease_ms;
    (void)by;
    (void)err;
    return HF_OK; /* every client's record is at hand */
}

static void show(const line *l, const place *p, hf_place_fn *fn, void *arg) {
    static const hf_identity nobody;
    const hf_identity *who =
        p->client ? &p->client->base.host->identity : &nobody;
    hf_time now = hf__now();
    char owner[64];
    hf_place shown = {.name = l->name,
                      .kind = "lock",
                      .owner = owner,
                      .holds = p->entry.holds,
                      .token = p->token,
                      .lease_ms = -1,
                      .since_ms = (now - p->since) / HF_MS,
                      .host = who->host,
                      .program = who->program,
                      .user = who->user,
                      .why = who->why,
                      .pid = who->pid};

    owner_text(p, owner, sizeof owner);
    if (p->entry.holds)
        shown.lease_ms = (p->until - now) / HF_MS;
    fn(arg, &shown);
}

/* `fn` runs under the store's mutex: it must not come back to the store. */
static int memory_list(hf_backend *be, const char *name, hf_place_fn *fn,
                       void *arg, hf_time by, hf_error *err) {
    memory *m = (memory *)be;

    (void)by;
    (void)err;
    pthread_mutex_lock(&mu);
    for (line *l = m->store->lines; l; l = l->next) {
        if (name && strcmp(l->name, name) != 0)
            continue;
        expire(l);
        for (int holds = 1; holds >= 0; holds--)
            for (const place *p = l->first; p; p = p->next)
                if (p->entry.holds == holds)
                    show(l, p, fn, arg);
    }
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

static int memory_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                          hf_error *err) {
    (void)be;
    (void)by;
    (void)err;
    fn(arg, HF_WARN, "reach",
       "this process only: nothing outside sees these locks");
    fn(arg, HF_GOOD, "order", "first come, first served");
    return HF_OK;
}

static const char *const schemes[] = {"memory", NULL};
static const char *const params[] = {NULL};

const hf_backend_ops hf__memory_ops = {
    .schemes = schemes,
    .params = params,
    .open = memory_open,
    .close = memory_close,
    .can = memory_can,
    .where = memory_where,
    .attempt = memory_attempt,
    .watch = memory_watch,
    .renew = memory_renew,
    .release = memory_release,
    .announce = memory_announce,
    .list = memory_list,
    .examine = memory_examine,
};
