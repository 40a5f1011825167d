/* SPDX-License-Identifier: MIT
 *
 * memory.c - the contract as a program: a store in this process's memory.
 *
 * Kept as plain as can be, because it is the oracle: random scripts must give
 * the same answers here and on every other store.  memory:NAME is shared by
 * all clients of the process that open the same NAME, and lives as long as one
 * of them.  Everything is under one mutex.
 *
 * A line is a name with the claims on it; some lines also have a number:
 *
 *      lock        LOCK FAIR SPIN        places
 *      read/write  READ WRITE            places
 *      semaphore   PERMIT SEMAPHORE      places, and how many permits there
 *                                        are, the leased ones among them
 *      latch       LATCH                 what is left to count down
 *
 * A SEMAPHORE that is granted makes the number less and is gone; a LATCH that
 * is granted just goes.  What changes a number is remembered by its nonce, so
 * that it counts once however often it is asked for. */
#include <stdio.h>
#include <string.h>

#include "../alloc.h"
#include "../claim.h"
#include "../err.h"
#include "../plant.h"
#include "../world.h"

enum { REMEMBERED = 256 }; /* answers of a line: far more than are under way */

/* What a kind is here. */
static const struct manner {
    hf_kind line; /* kinds of one line meet */
    unsigned can;
    bool stands; /* who waits has a place */
    const char *word;
} manners[HF_KINDS] = {
    [HF_LOCK] = {HF_LOCK, HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE, true,
                 "lock"},
    [HF_FAIR] = {HF_LOCK, HF_CAN_HOLD | HF_CAN_ORDER | HF_CAN_WAKE, true,
                 "fair"},
    [HF_SPIN] = {HF_LOCK, HF_CAN_HOLD, false, "lock"},
    [HF_READ] = {HF_WRITE, HF_CAN_HOLD | HF_CAN_WAKE, true, "read"},
    [HF_WRITE] = {HF_WRITE, HF_CAN_HOLD | HF_CAN_WAKE, true, "write"},
    [HF_PERMIT] = {HF_SEMAPHORE, HF_CAN_HOLD | HF_CAN_WAKE, true, "permit"},
    [HF_SEMAPHORE] = {HF_SEMAPHORE, HF_CAN_HOLD | HF_CAN_WAKE, false,
                      "semaphore"},
    [HF_LATCH] = {HF_LATCH, HF_CAN_HOLD | HF_CAN_WAKE, false, "latch"},
};

typedef struct memory memory;

/* A claim in a line. */
typedef struct place {
    struct place *next;
    memory *client; /* NULL: the grant outlives its client */
    hf_claim claim; /* as it was asked, then as it was granted */
    hf_entry entry;
    hf_time until, since;
} place;

/* What somebody was told, to be told again. */
typedef struct answer {
    unsigned char nonce[16];
    int result;
    int64_t value;
} answer;

/* A name and the claims on it, oldest first. */
typedef struct line {
    struct line *next;
    hf_kind kind;
    uint64_t token; /* of the last grant */
    place *first;
    bool is_set; /* it has a number, until gone_at */
    int64_t number;
    hf_time gone_at;
    answer *answers; /* a ring; NULL: none yet */
    size_t n_answers;
    char name[HF_NAME_MAX + 1];
} line;

/* Somebody wants to hear of a line. */
typedef struct watcher {
    struct watcher *next;
    memory *client;
    hf_kind kind;
    uint64_t owner;
    char name[HF_NAME_MAX + 1];
} watcher;

typedef struct store {
    struct store *next;
    memory *clients;
    line *lines;
    watcher *watchers;
    char name[64];
} store;

extern const hf_backend_ops hf__memory_ops;

struct memory {
    hf_backend base;
    store *store;
    memory *next; /* client of the store; mu, and so is */
    char *doing;  /* what its record says; NULL: it has none */
    hf_time doing_until;
    char where[80];
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static store *stores; /* mu, and so is all they lead to */

/* ---- lines (mu) -------------------------------------------------------- */

static line *find_line(store *s, hf_kind kind, const char *name) {
    line *l = s->lines;

    while (l && (l->kind != manners[kind].line || strcmp(l->name, name) != 0))
        l = l->next;
    return l;
}

static place **find_place(line *l, const memory *m, uint64_t owner) {
    place **link = &l->first;

    while (*link && ((*link)->client != m || (*link)->claim.owner != owner))
        link = &(*link)->next;
    return link;
}

static void remove_place(place **link) {
    place *gone = *link;

    *link = gone->next;
    hf__free(gone);
}

static void remove_holders(line *l) {
    for (place **link = &l->first; *link;)
        if ((*link)->entry.holds)
            remove_place(link);
        else
            link = &(*link)->next;
}

/* What was leased out of a number goes with it. */
static void unset(line *l) {
    l->is_set = false;
    l->number = 0;
    remove_holders(l);
}

/* Grants whose lease is over are no longer in the line. */
static void expire(line *l) {
    hf_time now = hf__now();

    for (place **link = &l->first; *link;)
        if ((*link)->entry.holds && (*link)->until <= now)
            remove_place(link);
        else
            link = &(*link)->next;
    if (l->is_set && l->gone_at <= now)
        unset(l);
}

/* The line as it is now, made where there is none; NULL: no memory. */
static line *get_line(store *s, hf_kind kind, const char *name) {
    line *l = find_line(s, kind, name);

    if (l) {
        expire(l);
        return l;
    }
    l = hf__calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->kind = manners[kind].line;
    snprintf(l->name, sizeof l->name, "%s", name);
    l->next = s->lines;
    s->lines = l;
    return l;
}

static bool keeps_to_the_line(const hf_claim *c) {
    switch (c->kind) {
    case HF_LOCK:
    case HF_FAIR:
        return true;
    case HF_READ:
    case HF_WRITE:
        return c->writers_first;
    default:
        return false;
    }
}

static place *append(line *l, memory *m, const hf_claim *c) {
    place *p = hf__calloc(1, sizeof *p), **link = &l->first;

    if (!p)
        return NULL;
    p->client = m;
    p->claim = *c;
    p->claim.name = l->name;
    p->since = hf__now();
    p->entry = (hf_entry){
        .mode = c->mode, .permits = c->permits, .fifo = keeps_to_the_line(c)};
    while (*link)
        link = &(*link)->next;
    *link = p;
    return p;
}

/* The write lock that a reader holds, too. */
static const place *own_write(line *l, const place *reader) {
    uint64_t owner = reader->claim.beside;
    const place *p = owner ? *find_place(l, reader->client, owner) : NULL;

    return p && p->entry.holds ? p : NULL;
}

/* The rule of admission over the line, which is copied for it.  HF_BUSY: not
 * yet; HF_ENO_MEMORY: nobody can tell.  Who goes beside his own write lock does
 * not see it, and need not wait for others: nobody could be first. */
static int admitted(line *l, const place *mine) {
    const place *unseen = own_write(l, mine);
    hf_entry *entries;
    int n = 0, me = 0;
    bool yes;

    for (const place *p = l->first; p; p = p->next)
        n++;
    entries = hf__calloc((size_t)n, sizeof *entries);
    if (!entries)
        return HF_ENO_MEMORY;
    n = 0;
    for (const place *p = l->first; p; p = p->next) {
        if (p == unseen)
            continue;
        if (p == mine)
            me = n;
        entries[n++] = p->entry;
    }
    if (unseen)
        entries[me].fifo = false;
    yes = hf__admit(entries, n, me, l->number, l->number).admitted;
    hf__free(entries);
    return yes ? HF_OK : HF_BUSY;
}

static hf_time first_end(const line *l) {
    hf_time at = hf__now() + HF_SECOND;

    for (const place *p = l->first; p; p = p->next)
        if (p->entry.holds)
            at = hf__sooner(at, p->until);
    return at;
}

/* ---- grants (mu) ------------------------------------------------------- */

/* Above every earlier token, and above those of a store of the same name that
 * was here before; n of them.  The last one. */
static uint64_t next_tokens(line *l, int n) {
    uint64_t floor = HF_PLANTED(TOKEN) ? 0 : (uint64_t)hf__world->wall_us();

    l->token = l->token + 1 > floor ? l->token + 1 : floor;
    l->token += (uint64_t)n - 1;
    return l->token;
}

static void hold(line *l, place *p, int tokens, hf_time until) {
    if (!p->entry.holds) {
        uint64_t last = next_tokens(l, tokens);

        p->entry.holds = true;
        p->since = hf__now();
        p->claim.token = last - (uint64_t)tokens + 1;
        p->claim.last_token = tokens > 1 ? last : 0;
    }
    p->until = until;
}

static bool hears_of(const watcher *w, const line *l) {
    return manners[w->kind].line == l->kind && strcmp(w->name, l->name) == 0;
}

static bool listens(const store *s, const line *l, const place *p) {
    const watcher *w = s->watchers;

    while (w && (w->client != p->client || w->owner != p->claim.owner ||
                 !hears_of(w, l)))
        w = w->next;
    return w != NULL;
}

/* The fair one whose turn it is gets the lock unasked, which saves it the
 * question.  It has a second to renew it, and a little less to believe in it;
 * should it be gone, nobody waits longer than that. */
static void hand_over(store *s, line *l) {
    const hf_host *host;
    place *p = l->first;

    while (p && (p->entry.holds || p->claim.kind != HF_FAIR))
        p = p->next;
    if (!p || !listens(s, l, p) || admitted(l, p) != HF_OK)
        return;
    hold(l, p, 1, hf__now() + HF_SECOND);
    host = p->client->base.host;
    host->granted(host->core, HF_FAIR, l->name, p->claim.owner, p->claim.token,
                  p->until - 20 * HF_MS);
}

/* The fair are not woken, for only one of them is next, and has it now. */
static void tell(store *s, line *l) {
    hand_over(s, l);
    for (const watcher *w = s->watchers; w; w = w->next) {
        const hf_host *host = w->client->base.host;

        if (hears_of(w, l) && w->kind != HF_FAIR)
            host->woken(host->core, hf_line_kind(w->kind), l->name, 0);
    }
}

/* ---- answers, remembered (mu) ------------------------------------------ */

static answer *recall(const line *l, const hf_claim *c) {
    size_t n = l->n_answers < REMEMBERED ? l->n_answers : REMEMBERED;

    for (size_t i = 0; i < n; i++)
        if (memcmp(l->answers[i].nonce, c->nonce, sizeof c->nonce) == 0)
            return &l->answers[i];
    return NULL;
}

/* Room for one, in place of the oldest; NULL: no memory. */
static answer *remember(line *l, const hf_claim *c) {
    answer *a;

    if (!l->answers)
        l->answers = hf__calloc(REMEMBERED, sizeof *l->answers);
    if (!l->answers)
        return NULL;
    a = &l->answers[l->n_answers++ % REMEMBERED];
    *a = (answer){.result = HF_BUSY};
    memcpy(a->nonce, c->nonce, sizeof a->nonce);
    return a;
}

/* ---- open and close ---------------------------------------------------- */

static store *get_store(const char *name) {
    store *s = stores;

    while (s && strcmp(s->name, name) != 0)
        s = s->next;
    if (!s && (s = hf__calloc(1, sizeof *s))) {
        snprintf(s->name, sizeof s->name, "%s", name);
        s->next = stores;
        stores = s;
    }
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
        hf__free(l->answers);
        hf__free(l);
    }
    hf__free(s);
}

/* What a client could not give back stays until its lease ends. */
static void orphan(memory *m) {
    for (line *l = m->store->lines; l; l = l->next)
        for (place **link = &l->first; *link;)
            if ((*link)->client != m) {
                link = &(*link)->next;
            } else if ((*link)->entry.holds) {
                (*link)->client = NULL;
                link = &(*link)->next;
            } else {
                remove_place(link);
            }
}

static int memory_open(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                       hf_time by, hf_error *err) {
    memory *m = hf__calloc(1, sizeof *m);
    const char *name = uri->path ? uri->path : "";

    (void)by;
    if (!m)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_lock(&mu);
    m->store = get_store(name);
    if (m->store) {
        m->next = m->store->clients;
        m->store->clients = m;
    }
    m->base.host = host;
    pthread_mutex_unlock(&mu);
    if (!m->store) {
        hf__free(m);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    m->base.ops = &hf__memory_ops;
    snprintf(m->where, sizeof m->where, "memory:%s", m->store->name);
    *ret = &m->base;
    return HF_OK;
}

static void memory_close(hf_backend *be, bool forked) {
    memory *m = (memory *)be, **link;

    if (forked)
        return;
    pthread_mutex_lock(&mu);
    orphan(m);
    for (link = &m->store->clients; *link != m;)
        link = &(*link)->next;
    *link = m->next;
    if (!m->store->clients)
        free_store(m->store);
    pthread_mutex_unlock(&mu);
    hf__free(m->doing);
    hf__free(m);
}

static unsigned memory_can(const hf_backend *be, hf_kind kind) {
    (void)be;
    return (unsigned)kind < HF_KINDS ? manners[kind].can : 0;
}

static const char *memory_where(const hf_backend *be) {
    return ((const memory *)be)->where;
}

/* ---- attempt ----------------------------------------------------------- */

static int take_permits(line *l, const hf_claim *c) {
    answer *a = remember(l, c);

    if (!a)
        return HF_ENO_MEMORY;
    a->result = HF_OK;
    l->number -= c->permits;
    return HF_OK;
}

static int grant(line *l, place *mine, hf_claim *c) {
    hold(l, mine, c->block > 1 ? c->block : 1, hf__now() + c->lease_ms * HF_MS);
    c->token = mine->claim.token;
    c->last_token = mine->claim.last_token;
    return HF_OK;
}

/* Takes a place, unless it has one, and leaves it again if it is neither
 * granted nor wants to wait in it. */
static int ask_in_line(memory *m, line *l, hf_claim *c, bool waits) {
    place **link = find_place(l, m, c->owner), *mine;
    int rc;

    mine = *link ? *link : append(l, m, c);
    if (!mine)
        return HF_ENO_MEMORY;
    c->place = waits && manners[c->kind].stands;
    rc = admitted(l, mine);
    if (rc != HF_OK)
        c->ask_again = first_end(l);
    else if (c->kind == HF_SEMAPHORE)
        rc = take_permits(l, c);
    else if (c->kind != HF_LATCH)
        return grant(l, mine, c);
    if (!c->place)
        remove_place(find_place(l, m, c->owner));
    return rc;
}

static int ask(memory *m, hf_claim *c, bool waits) {
    line *l = get_line(m->store, c->kind, c->name);
    const answer *before;

    if (!l)
        return HF_ENO_MEMORY;
    before = c->kind == HF_SEMAPHORE ? recall(l, c) : NULL;
    if (!before)
        return ask_in_line(m, l, c, waits);
    c->ask_again = first_end(l);
    return before->result;
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

/* ---- watch ------------------------------------------------------------- */

static int watch_on(memory *m, const hf_claim *c) {
    watcher *w = hf__calloc(1, sizeof *w);

    if (!w)
        return HF_ENO_MEMORY;
    w->client = m;
    w->kind = c->kind;
    w->owner = c->kind == HF_FAIR ? c->owner : 0;
    snprintf(w->name, sizeof w->name, "%s", c->name);
    w->next = m->store->watchers;
    m->store->watchers = w;
    return HF_OK;
}

static void watch_off(memory *m, const hf_claim *c) {
    uint64_t owner = c->kind == HF_FAIR ? c->owner : 0;
    watcher **link = &m->store->watchers, *gone;

    while (*link &&
           ((*link)->client != m || (*link)->kind != c->kind ||
            (*link)->owner != owner || strcmp((*link)->name, c->name) != 0))
        link = &(*link)->next;
    gone = *link;
    if (gone) {
        *link = gone->next;
        hf__free(gone);
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

/* ---- renew ------------------------------------------------------------- */

static int renew_one(memory *m, const hf_claim *c) {
    line *l = get_line(m->store, c->kind, c->name);
    place *p = l ? *find_place(l, m, c->owner) : NULL;

    if (!p || (c->token && !p->entry.holds))
        return HF_ELOST;
    if (c->token)
        p->until = hf__now() + c->lease_ms * HF_MS;
    return HF_OK;
}

static int memory_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                        hf_time by, hf_error *err) {
    (void)by;
    (void)err;
    pthread_mutex_lock(&mu);
    for (size_t i = 0; i < n; i++)
        claims[i]->result = renew_one((memory *)be, claims[i]);
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

/* ---- release ----------------------------------------------------------- */

/* The permits come back, once; should the attempt arrive only now, it gets
 * nothing. */
static int give_back_permits(line *l, const hf_claim *c) {
    answer *a = recall(l, c);
    bool granted = a && a->result == HF_OK;

    if (!a && !(a = remember(l, c)))
        return HF_ENO_MEMORY;
    a->result = HF_BUSY;
    if (granted && l->is_set)
        l->number += c->permits;
    return granted ? HF_OK : HF_ELOST;
}

static int let_go(memory *m, line *l, const hf_claim *c, hf_how how) {
    place **p = find_place(l, m, c->owner);

    if (c->kind == HF_SEMAPHORE)
        return give_back_permits(l, c);
    if (HF_PLANTED(OWNER) && !*p)
        p = &l->first;
    if (!*p)
        return HF_ELOST;
    if (how == HF_RELEASE_AFTER && (*p)->entry.holds) {
        (*p)->client = NULL;
        (*p)->until = hf__now() + c->lease_ms * HF_MS;
    } else {
        remove_place(p);
    }
    return HF_OK;
}

static void owner_text(const place *p, char *buf, size_t size) {
    if (p->client)
        hf__owner_of(&p->claim, p->client->base.host->identity.client, buf,
                     size);
    else
        snprintf(buf, size, "released");
}

/* Readers and the writer are thrown out apart. */
static bool is_meant(const place *p, const hf_claim *c, const char *whose) {
    char owner[64];

    owner_text(p, owner, sizeof owner);
    return p->entry.holds && p->entry.mode == c->mode &&
           (!whose || strcmp(whose, owner) == 0);
}

static int force(line *l, const hf_claim *c, const char *whose) {
    int rc = HF_EFREE;

    for (place **link = &l->first; *link;) {
        if (is_meant(*link, c, whose)) {
            remove_place(link);
            rc = HF_OK;
        } else {
            link = &(*link)->next;
        }
    }
    if (rc == HF_OK)
        next_tokens(l, 1);
    return rc;
}

static int memory_release(hf_backend *be, hf_claim *c, hf_how how,
                          const char *whose, hf_time by, hf_error *err) {
    memory *m = (memory *)be;
    int rc = HF_ENO_MEMORY;
    line *l;

    (void)by;
    pthread_mutex_lock(&mu);
    l = get_line(m->store, c->kind, c->name);
    if (l)
        rc = how == HF_RELEASE_FORCED ? force(l, c, whose) :
                                        let_go(m, l, c, how);
    if (rc == HF_OK)
        tell(m->store, l);
    pthread_mutex_unlock(&mu);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

/* ---- count ------------------------------------------------------------- */

static int64_t leased(const line *l) {
    int64_t n = 0;

    for (const place *p = l->first; p; p = p->next)
        n += p->entry.holds ? p->entry.permits : 0;
    return n;
}

static void set(line *l, int64_t number) {
    if (!l->is_set)
        l->gone_at = HF_NEVER;
    l->is_set = true;
    l->number = number;
}

static int set_first(line *l, const hf_claim *c, int64_t number) {
    if (l->is_set)
        return HF_BUSY;
    set(l, number);
    if (c->lease_ms)
        l->gone_at = hf__now() + c->lease_ms * HF_MS;
    return HF_OK;
}

static int forget(line *l) {
    if (!l->is_set)
        return HF_EFREE;
    unset(l);
    return HF_OK;
}

static int64_t drain(line *l) {
    int64_t taken = l->number - leased(l);

    if (taken < 0)
        return 0;
    l->number -= taken;
    return taken;
}

static void count_down(line *l) {
    if (l->is_set && --l->number <= HF_PLANTED(LATCH))
        unset(l);
}

static int change(line *l, const hf_claim *c, hf_count_op op, int64_t *value) {
    switch (op) {
    case HF_COUNT_SET:
        return set_first(l, c, *value);
    case HF_COUNT_RESIZE:
        set(l, *value);
        return HF_OK;
    case HF_COUNT_ADD:
    case HF_COUNT_GIVE:
        set(l, l->number + *value);
        return HF_OK;
    case HF_COUNT_GIVE_IF_SET:
        l->number += l->is_set ? *value : 0;
        return l->is_set ? HF_OK : HF_EFREE;
    case HF_COUNT_DRAIN:
        *value = drain(l);
        return HF_OK;
    case HF_COUNT_DOWN:
        count_down(l);
        return HF_OK;
    default:
        return forget(l);
    }
}

/* Once per nonce. */
static int change_once(store *s, line *l, const hf_claim *c, hf_count_op op,
                       int64_t *value) {
    answer *a = HF_PLANTED(TWICE) ? NULL : recall(l, c);

    if (!a) {
        a = remember(l, c);
        if (!a)
            return HF_ENO_MEMORY;
        a->result = change(l, c, op, value);
        a->value = op == HF_COUNT_DRAIN ? *value : l->number - leased(l);
        if (a->result == HF_OK)
            tell(s, l);
    }
    *value = a->value;
    return a->result;
}

static int memory_count(hf_backend *be, hf_claim *c, hf_count_op op,
                        int64_t *value, hf_time by, hf_error *err) {
    memory *m = (memory *)be;
    int rc = HF_OK;
    line *l;

    (void)by;
    pthread_mutex_lock(&mu);
    l = get_line(m->store, c->kind, c->name);
    if (!l)
        rc = HF_ENO_MEMORY;
    else if (op == HF_COUNT_FREE)
        *value = l->number - leased(l);
    else if (op == HF_COUNT_LEASED)
        *value = leased(l);
    else if (op == HF_COUNT_TOKEN)
        *value = (int64_t)l->token;
    else
        rc = change_once(m->store, l, c, op, value);
    pthread_mutex_unlock(&mu);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

/* ---- who is there ------------------------------------------------------ */

static int memory_announce(hf_backend *be, const char *doing, int lease_ms,
                           hf_time by, hf_error *err) {
    memory *m = (memory *)be;
    char *text = hf__strdup(doing);

    (void)by;
    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_lock(&mu);
    hf__free(m->doing);
    m->doing = text;
    m->doing_until = hf__now() + lease_ms * HF_MS;
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

/* As of the list: `fn` runs under the store's mutex. */
static int memory_clients(hf_backend *be, hf_record_fn *fn, void *arg,
                          hf_time by, hf_error *err) {
    hf_time now = hf__now();

    (void)by;
    (void)err;
    pthread_mutex_lock(&mu);
    for (const memory *m = ((memory *)be)->store->clients; m; m = m->next)
        if (m->doing && now < m->doing_until)
            fn(arg, &m->base.host->identity, m->doing);
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

static void show(const line *l, const place *p, hf_place_fn *fn, void *arg) {
    static const hf_identity nobody;
    const hf_identity *who =
        p->client ? &p->client->base.host->identity : &nobody;
    hf_time now = hf__now();
    char owner[64];
    hf_place shown = {.name = l->name,
                      .kind = manners[p->claim.kind].word,
                      .owner = owner,
                      .holds = p->entry.holds,
                      .token = p->claim.token,
                      .lease_ms = -1,
                      .since_ms = (now - p->since) / HF_MS,
                      .host = who->host,
                      .program = who->program,
                      .user = who->user,
                      .why = who->why,
                      .pid = who->pid,
                      .permits =
                          p->claim.kind == HF_PERMIT ? p->claim.permits : 0};

    owner_text(p, owner, sizeof owner);
    if (p->entry.holds)
        shown.lease_ms = (p->until - now) / HF_MS;
    fn(arg, &shown);
}

static void show_number(const line *l, hf_place_fn *fn, void *arg) {
    hf_place shown = {.name = l->name,
                      .kind = manners[l->kind].word,
                      .owner = "",
                      .lease_ms = -1,
                      .since_ms = -1,
                      .host = "",
                      .program = "",
                      .user = "",
                      .why = "",
                      .count = l->number - leased(l)};

    if (l->gone_at != HF_NEVER)
        shown.lease_ms = (l->gone_at - hf__now()) / HF_MS;
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
        if (l->is_set)
            show_number(l, fn, arg);
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
    .count = memory_count,
    .announce = memory_announce,
    .clients = memory_clients,
    .list = memory_list,
    .examine = memory_examine,
};
