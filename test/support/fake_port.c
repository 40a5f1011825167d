/* SPDX-License-Identifier: MIT
 *
 * fake_port.c - a port without a server. */
#include "fake_port.h"

#include "err.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 64, WATCHES = 256, NUMBERS = 4 };

typedef struct fake {
    hf_port base;
    const hf_port_host *host;
    uint64_t generation;
    struct {
        hf_test_fate fate;
        int times, calls;
    } calls[HF_TEST_CALLS];
    bool on_its_way; /* an entry that was asked for and is not there yet */
    hf_wish late;
    char late_name[32];
} fake;

typedef struct entry {
    fake *of; /* NULL: there is none */
    uint64_t generation;
    hf_kind line, kind;
    char name[32], key[64], note[1300];
    unsigned char id[16];
    uint64_t order;
    int permits;
} entry;

typedef struct watch {
    fake *of; /* NULL: there is none */
    uint64_t number;
    char key[64]; /* "": the number of the name */
    char name[32];
} watch;

/* One that is told when nothing is locked any more. */
typedef struct told {
    fake *of;
    uint64_t number;
    bool gone;
} told;

typedef struct sum {
    char name[32];
    hf_number_state state;
} sum;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static entry entries[MANY];
static watch watches[WATCHES];
static sum numbers[NUMBERS];
static uint64_t clock_; /* orders, versions and moments */
static atomic_int session_ms = 5000;

static fake *fake_of(hf_port *p) {
    return (fake *)p;
}

/* ---- lines (mu) -------------------------------------------------------- */

static bool stands(const entry *e, const hf_line *line) {
    return e->of && e->line == line->kind && strcmp(e->name, line->name) == 0;
}

static entry *by_id(const fake *f, const unsigned char *id) {
    for (int i = 0; i < MANY; i++)
        if (entries[i].of == f && entries[i].generation == f->generation &&
            memcmp(entries[i].id, id, 16) == 0)
            return &entries[i];
    return NULL;
}

static entry *by_key(const char *key) {
    for (int i = 0; i < MANY; i++)
        if (entries[i].of && strcmp(entries[i].key, key) == 0)
            return &entries[i];
    return NULL;
}

static entry *make(fake *f, const hf_wish *w) {
    entry *e = entries;

    while (e->of)
        e++;
    *e = (entry){.of = f,
                 .generation = f->generation,
                 .line = w->line.kind,
                 .kind = w->kind,
                 .order = ++clock_,
                 .permits = w->permits};
    snprintf(e->name, sizeof e->name, "%s", w->line.name);
    snprintf(e->key, sizeof e->key, "%s/%llu", w->line.name,
             (unsigned long long)e->order);
    snprintf(e->note, sizeof e->note, "%s", w->note ? w->note : "");
    memcpy(e->id, w->id, sizeof e->id);
    if (w->beside)
        e->order = by_key(w->beside)->order;
    return e;
}

static void show(hf_lineup *all, const hf_line *line, bool notes) {
    for (int i = 0; i < MANY; i++)
        if (stands(&entries[i], line)) {
            hf_entered *e = hf__lineup_add(all);

            e->key = strdup(entries[i].key);
            e->kind = entries[i].kind;
            e->order = e->token = entries[i].order;
            e->permits = entries[i].permits;
            e->note = notes ? strdup(entries[i].note) : NULL;
        }
    hf__lineup_sort(all);
    all->as_of = all->last_token = clock_;
}

/* Who watches the key, or the number of the name, is to be told. */
static int hear(told *t, int n, const char *key, const char *name, bool gone) {
    for (int i = 0; i < WATCHES; i++)
        if (watches[i].of && strcmp(watches[i].key, key) == 0 &&
            (*key || strcmp(watches[i].name, name) == 0)) {
            t[n++] = (told){watches[i].of, watches[i].number, gone};
            watches[i].of = NULL;
        }
    return n;
}

static int take_out(told *t, int n, entry *e) {
    n = hear(t, n, e->key, "", true);
    if (e->line == HF_SEMAPHORE)
        n = hear(t, n, "", e->name, false);
    e->of = NULL;
    return n;
}

static void tell(const told *t, int n) {
    for (int i = 0; i < n; i++)
        t[i].of->host->moved(t[i].of->host->line_store, t[i].number, t[i].gone);
}

/* ---- trouble ----------------------------------------------------------- */

static hf_test_fate fate_of(fake *f, hf_test_call call) {
    hf_test_fate fate = HF_TEST_FINE;

    pthread_mutex_lock(&mu);
    f->calls[call].calls++;
    if (f->calls[call].times != 0)
        fate = f->calls[call].fate;
    if (f->calls[call].times > 0)
        f->calls[call].times--;
    pthread_mutex_unlock(&mu);
    return fate;
}

/* Ends it before anything is done: the code, or HF_OK. */
static int prevented(hf_test_fate fate, hf_error *err) {
    return fate == HF_TEST_UNASKED   ? hf__fail_plain(err, HF_EDOUBT) :
           fate == HF_TEST_DOWN      ? hf__fail_plain(err, HF_EDOWN) :
           fate == HF_TEST_FORBIDDEN ? hf__fail_plain(err, HF_EFORBIDDEN) :
                                       HF_OK;
}

static int answered(hf_test_fate fate, int rc, hf_error *err) {
    return fate == HF_TEST_UNANSWERED ? hf__fail_plain(err, HF_EDOUBT) :
           rc < 0                     ? hf__fail_plain(err, rc) :
                                        rc;
}

/* ---- the port ---------------------------------------------------------- */

static void fake_close(hf_port *p, bool forked) {
    (void)forked;
    pthread_mutex_lock(&mu);
    for (int i = 0; i < MANY; i++)
        if (entries[i].of == fake_of(p))
            entries[i].of = NULL;
    for (int i = 0; i < WATCHES; i++)
        if (watches[i].of == fake_of(p))
            watches[i].of = NULL;
    pthread_mutex_unlock(&mu);
    free(p);
}

static const char *fake_where(const hf_port *p) {
    (void)p;
    return "fake:";
}

static int fake_check_name(const hf_port *p, const hf_line *line,
                           hf_error *err) {
    (void)p;
    return *line->name ? HF_OK : hf__fail_plain(err, HF_ENAME);
}

static int fake_session_ms(hf_port *p) {
    (void)p;
    return atomic_load(&session_ms);
}

static uint64_t fake_generation(hf_port *p) {
    pthread_mutex_lock(&mu);
    uint64_t generation = fake_of(p)->generation;
    pthread_mutex_unlock(&mu);
    return generation;
}

static hf_time fake_good_until(hf_port *p) {
    return hf__after_ms(fake_session_ms(p));
}

/* Must the wish wait for what is there? */
static bool is_free(const hf_wish *w) {
    for (int i = 0; i < MANY; i++)
        if (stands(&entries[i], &w->line) &&
            (w->kind != HF_READ || entries[i].kind != HF_READ) &&
            !(w->beside && strcmp(w->beside, entries[i].key) == 0))
            return false;
    return true;
}

static int enter_now(fake *f, const hf_wish *w, bool only_if_free,
                     hf_arrival *came) {
    entry *e = by_id(f, w->id);

    came->as_of = clock_;
    if (w->beside && !by_key(w->beside))
        return HF_EFREE;
    if (!e && only_if_free && !is_free(w))
        return HF_BUSY;
    e = e ? e : make(f, w);
    show(&came->line, &w->line, false);
    while (strcmp(came->line.all[came->mine].key, e->key) != 0)
        came->mine++;
    came->generation = f->generation;
    return HF_OK;
}

static int fake_enter(hf_port *p, const hf_wish *w, bool only_if_free,
                      hf_arrival *came, hf_time by, hf_error *err) {
    static fake stranger;
    fake *f = fake_of(p);
    hf_test_fate fate = fate_of(f, HF_TEST_ENTER);
    int rc = prevented(fate, err);

    (void)by;
    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&mu);
    if (fate == HF_TEST_LATE) {
        f->on_its_way = true;
        f->late = *w;
        snprintf(f->late_name, sizeof f->late_name, "%s", w->line.name);
        f->late.line.name = f->late_name;
        f->late.note = f->late.beside = NULL;
        fate = HF_TEST_UNANSWERED;
    } else {
        if (fate == HF_TEST_OVERTAKEN && is_free(w)) {
            make(&stranger, w)->id[0] ^= 1;
            only_if_free = false;
        }
        rc = enter_now(f, w, only_if_free, came);
    }
    pthread_mutex_unlock(&mu);
    rc = answered(fate, rc, err);
    if (rc < 0)
        hf__arrival_clear(came);
    return rc;
}

static int fake_look(hf_port *p, const hf_line *line, bool notes,
                     hf_lineup *all, hf_time by, hf_error *err) {
    int rc = prevented(fate_of(fake_of(p), HF_TEST_LOOK), err);

    (void)by;
    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&mu);
    show(all, line, notes);
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

static int fake_leave(hf_port *p, const hf_wish *w, const char *key, hf_time by,
                      hf_error *err) {
    fake *f = fake_of(p);
    hf_test_fate fate = fate_of(f, HF_TEST_LEAVE);
    told t[WATCHES];
    entry *e;
    int n = 0, rc = prevented(fate, err);

    (void)by;
    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&mu);
    e = key ? by_key(key) : by_id(f, w->id);
    if (e)
        n = take_out(t, 0, e);
    pthread_mutex_unlock(&mu);
    tell(t, n);
    return answered(fate, e ? HF_OK : HF_EFREE, err);
}

static int fake_keep_out(hf_port *p, const hf_wish *w, const char *key, int ms,
                         hf_time by, hf_error *err) {
    (void)p, (void)w, (void)key, (void)ms, (void)by, (void)err;
    return HF_OK;
}

static int fake_check(hf_port *p, const char *const *keys, int *found, size_t n,
                      hf_time by, hf_error *err) {
    int rc = prevented(fate_of(fake_of(p), HF_TEST_CHECK), err);

    (void)by;
    pthread_mutex_lock(&mu);
    for (size_t i = 0; rc == HF_OK && i < n; i++) {
        const entry *e = by_key(keys[i]);

        found[i] = e && e->of == fake_of(p) ? HF_OK : HF_EFREE;
    }
    pthread_mutex_unlock(&mu);
    return rc;
}

static const hf_number_state *state_of(const char *name) {
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(numbers[i].name, name) == 0)
            return &numbers[i].state;
    return NULL;
}

static bool has_changed(const hf_line *line, const char *key, uint64_t as_of) {
    const hf_number_state *state = state_of(line->name);

    return key ? !by_key(key) : as_of && state && state->version > as_of;
}

static int fake_watch(hf_port *p, const hf_line *line, const char *key,
                      uint64_t as_of, uint64_t number, hf_time by,
                      hf_error *err) {
    fake *f = fake_of(p);
    int rc = prevented(fate_of(f, HF_TEST_WATCH), err);
    watch *w = watches;

    (void)by;
    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&mu);
    if (has_changed(line, key, as_of)) {
        rc = HF_EFREE;
    } else {
        while (w->of)
            w++;
        *w = (watch){.of = f, .number = number};
        snprintf(w->key, sizeof w->key, "%s", key ? key : "");
        snprintf(w->name, sizeof w->name, "%s", line->name);
    }
    pthread_mutex_unlock(&mu);
    return rc;
}

static void fake_unwatch(hf_port *p, uint64_t number) {
    pthread_mutex_lock(&mu);
    for (int i = 0; i < WATCHES; i++)
        if (watches[i].of == fake_of(p) && watches[i].number == number)
            watches[i].of = NULL;
    pthread_mutex_unlock(&mu);
}

static int fake_read(hf_port *p, const hf_line *line, hf_number_state *state,
                     int64_t *leased, hf_time by, hf_error *err) {
    const hf_number_state *known;

    (void)p, (void)by, (void)err;
    pthread_mutex_lock(&mu);
    known = state_of(line->name);
    if (known)
        *state = *known;
    state->as_of = clock_;
    *leased = 0;
    for (int i = 0; i < MANY; i++)
        if (stands(&entries[i], line))
            *leased += entries[i].permits;
    pthread_mutex_unlock(&mu);
    return HF_OK;
}

static int fake_write(hf_port *p, const hf_line *line,
                      const hf_number_state *state, hf_time by, hf_error *err) {
    hf_test_fate fate = fate_of(fake_of(p), HF_TEST_WRITE);
    int n = 0, rc = prevented(fate, err);
    const hf_number_state *known;
    told t[WATCHES];
    sum *at = numbers;

    (void)by;
    if (rc != HF_OK)
        return rc;
    pthread_mutex_lock(&mu);
    known = state_of(line->name);
    while (known ? &at->state != known : at->name[0] != '\0')
        at++;
    if (fate == HF_TEST_OVERTAKEN)
        at->state.version = ++clock_;
    if (at->state.version != state->version) {
        rc = HF_BUSY;
    } else {
        snprintf(at->name, sizeof at->name, "%s", line->name);
        at->state = *state;
        at->state.version = ++clock_;
        n = hear(t, 0, "", line->name, false);
    }
    pthread_mutex_unlock(&mu);
    tell(t, n);
    return answered(fate, rc, err);
}

static int fake_names(hf_port *p, void (*fn)(void *arg, const hf_line *line),
                      void *arg, hf_time by, hf_error *err) {
    (void)p, (void)fn, (void)arg, (void)by, (void)err;
    return HF_OK;
}

static int fake_examine(hf_port *p, hf_fact_fn *fn, void *arg, hf_time by,
                        hf_error *err) {
    (void)p, (void)fn, (void)arg, (void)by, (void)err;
    return HF_OK;
}

static int fake_open(hf_port **ret, const hf_uri *uri, const hf_port_host *host,
                     hf_time by, hf_error *err);

static hf_port_ops fake_ops = {.open = fake_open,
                               .close = fake_close,
                               .where = fake_where,
                               .check_name = fake_check_name,
                               .session_ms = fake_session_ms,
                               .generation = fake_generation,
                               .good_until = fake_good_until,
                               .enter = fake_enter,
                               .look = fake_look,
                               .leave = fake_leave,
                               .keep_out = fake_keep_out,
                               .check = fake_check,
                               .watch = fake_watch,
                               .unwatch = fake_unwatch,
                               .read = fake_read,
                               .write = fake_write,
                               .names = fake_names,
                               .examine = fake_examine};

static fake *last_opened;

static int fake_open(hf_port **ret, const hf_uri *uri, const hf_port_host *host,
                     hf_time by, hf_error *err) {
    fake *f = calloc(1, sizeof *f);

    (void)uri, (void)by, (void)err;
    *f = (fake){.base = {&fake_ops}, .host = host, .generation = 1};
    *ret = &f->base;
    last_opened = f;
    return HF_OK;
}

static const char *const schemes[] = {NULL};
HF_LINE_STORE(hf_test_fake_ops, fake_ops, schemes, schemes)

/* ---- for the tests ----------------------------------------------------- */

static struct {
    hf_backend *be;
    fake *port;
} opened[16];
static int n_opened;

hf_backend *hf_test_fake_open(const hf_host *host) {
    hf_backend *be = NULL;
    hf_error err;

    if (open_line(&be, NULL, host, HF_NEVER, &err) != HF_OK)
        return NULL;
    opened[n_opened % 16].be = be;
    opened[n_opened++ % 16].port = last_opened;
    return be;
}

static fake *port_of(const hf_backend *be) {
    int i = n_opened - 1; /* an address may be used again */

    while (opened[i % 16].be != be)
        i--;
    return opened[i % 16].port;
}

void hf_test_fake_set(hf_backend *be, hf_test_call call, hf_test_fate fate,
                      int times) {
    pthread_mutex_lock(&mu);
    port_of(be)->calls[call].fate = fate;
    port_of(be)->calls[call].times = times;
    pthread_mutex_unlock(&mu);
}

int hf_test_fake_calls(hf_backend *be, hf_test_call call) {
    pthread_mutex_lock(&mu);
    int calls = port_of(be)->calls[call].calls;
    pthread_mutex_unlock(&mu);
    return calls;
}

void hf_test_fake_arrive(hf_backend *be) {
    fake *f = port_of(be);

    pthread_mutex_lock(&mu);
    if (f->on_its_way && !by_id(f, f->late.id))
        make(f, &f->late);
    f->on_its_way = false;
    pthread_mutex_unlock(&mu);
}

void hf_test_fake_expire(hf_backend *be) {
    fake *f = port_of(be);
    told t[WATCHES];
    int n = 0;

    pthread_mutex_lock(&mu);
    f->generation++;
    for (int i = 0; i < WATCHES; i++)
        if (watches[i].of == f)
            watches[i].of = NULL;
    for (int i = 0; i < MANY; i++)
        if (entries[i].of == f)
            n = take_out(t, n, &entries[i]);
    pthread_mutex_unlock(&mu);
    f->host->renewed(f->host->line_store, f->generation);
    tell(t, n);
}

/* The i-th entry of the line of a lock. */
static entry *entry_at(const char *name, int i) {
    hf_line line = {.kind = HF_LOCK, .name = name};
    hf_lineup all = {0};
    entry *e;

    show(&all, &line, false);
    e = by_key(all.all[i].key);
    hf__lineup_clear(&all);
    return e;
}

void hf_test_fake_remove(const char *name, int i) {
    told t[WATCHES];

    pthread_mutex_lock(&mu);
    int n = take_out(t, 0, entry_at(name, i));
    pthread_mutex_unlock(&mu);
    tell(t, n);
}

void hf_test_fake_touch(const char *name, int i) {
    told t[WATCHES];

    pthread_mutex_lock(&mu);
    int n = hear(t, 0, entry_at(name, i)->key, "", false);
    pthread_mutex_unlock(&mu);
    tell(t, n);
}

int hf_test_fake_entries(const char *name) {
    int n = 0;

    pthread_mutex_lock(&mu);
    for (int i = 0; i < MANY; i++)
        n += entries[i].of && (!name || strcmp(entries[i].name, name) == 0);
    pthread_mutex_unlock(&mu);
    return n;
}

int hf_test_fake_watches(void) {
    int n = 0;

    pthread_mutex_lock(&mu);
    for (int i = 0; i < WATCHES; i++)
        n += watches[i].of != NULL;
    pthread_mutex_unlock(&mu);
    return n;
}

void hf_test_fake_session(int ms) {
    atomic_store(&session_ms, ms);
}

void hf_test_fake_settles(int ms) {
    fake_ops.settles_ms = ms;
}
