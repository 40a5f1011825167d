/* SPDX-License-Identifier: MIT
 *
 * differential_test.c - the same random script on memory and on another store
 * must give the same answers.
 *
 * Every client has two handles for each of a few names, so that they get in
 * each other's way; what a script may do with them is its family.  Time is
 * left out: leases are longer than a script.  Tokens are not compared, since
 * each store starts where it likes, but they must grow with every grant of a
 * name.
 *
 * HF_TEST_SEED=n begins with another script; a failure prints its seed. */
#include "support/dir.h"
#include "support/mariadb.h"
#include "support/postgres.h"
#include "support/quorum.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCRIPTS = 300,
    FEWER = 60, /* for stores that agree among servers first */
    STEPS = 60,
    CLIENTS = 3,
    HANDLES = 2, /* per client and name */
    NAMES = 2,
    OWNERS = CLIENTS * HANDLES * NAMES,
    MOST = 4, /* permits, or counts of a latch, at a time */
};

typedef enum op {
    TRY,
    RELEASE,
    EXTEND,
    FORCE,
    REMAKE,
    SET,
    TAKE,
    GIVE,
    GIVE_IF_SET,
    ADD,
    LESS,
    RESIZE,
    DRAIN,
    DELETE,
    LATCH_SET,
    LATCH_DOWN,
    LATCH_TRY,
    LATCH_DELETE,
    OPS
} op;

static const char *const op_names[OPS] = {
    "try",         "release",      "extend",    "force",
    "remake",      "set",          "take",      "give",
    "give if set", "add",          "less",      "resize",
    "drain",       "delete",       "set latch", "count latch down",
    "try latch",   "delete latch",
};

typedef struct step {
    op op;
    int owner, n;
} step;

/* What is played: the kinds of the two handles, and what is thrown how often.
 * Half of the steps take, so that there is something to argue about. */
typedef struct family {
    hf_kind kinds[HANDLES];
    unsigned flags;
    int sides;
    op die[24];
} family;

#define LOCK_DIE                                                               \
    11, {                                                                      \
        TRY, TRY, TRY, TRY, TRY, RELEASE, RELEASE, RELEASE, EXTEND, FORCE,     \
            REMAKE                                                             \
    }

static const family lock = {{HF_LOCK, HF_LOCK}, HF_OWNER_HANDLE, LOCK_DIE};
static const family fair = {{HF_FAIR, HF_FAIR}, HF_OWNER_HANDLE, LOCK_DIE};
static const family spin = {{HF_SPIN, HF_SPIN}, HF_OWNER_HANDLE, LOCK_DIE};
static const family mixed = {{HF_LOCK, HF_FAIR}, HF_OWNER_HANDLE, LOCK_DIE};
/* The thread owns, so that a client is a writer who may read. */
static const family read_write = {{HF_READ, HF_WRITE}, 0, LOCK_DIE};
static const family semaphore = {
    {HF_PERMIT, HF_PERMIT}, 0, 20, {TRY,     TRY,     TRY,         TRY,
                                    RELEASE, RELEASE, RELEASE,     EXTEND,
                                    FORCE,   REMAKE,  SET,         TAKE,
                                    TAKE,    GIVE,    GIVE_IF_SET, ADD,
                                    LESS,    RESIZE,  DRAIN,       DELETE}};
static const family latch = {{HF_LOCK, HF_LOCK},
                             0,
                             8,
                             {LATCH_SET, LATCH_SET, LATCH_DOWN, LATCH_DOWN,
                              LATCH_DOWN, LATCH_TRY, LATCH_TRY, LATCH_DELETE}};

/* What an observer sees after a step. */
typedef struct answer {
    int result, holds;
    bool held;
    int64_t value, free, leased;
} answer;

/* One store while a script runs on it. */
typedef struct actor {
    const char *store;
    const family *family;
    uint64_t seed;
    hf_client *clients[CLIENTS];
    hf_lock *locks[OWNERS];
    hf_semaphore *semaphores[OWNERS];
    hf_latch *latches[OWNERS];
    bool shares_token;      /* a READ beside its own WRITE has the WRITE's */
    uint64_t tokens[NAMES]; /* of the last grant */
} actor;

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void write_script(const family *f, step script[STEPS], uint64_t seed) {
    for (int i = 0; i < 3; i++)
        next_random(&seed);
    for (int i = 0; i < STEPS; i++) {
        script[i].op = f->die[next_random(&seed) % (uint64_t)f->sides];
        script[i].owner = (int)(next_random(&seed) % OWNERS);
        script[i].n = (int)(next_random(&seed) % MOST);
    }
}

/* Left out where servers agree: what takes something away from a holder, who
 * hears of it by itself there, sooner or later; and a latch that is set to zero,
 * which is no latch there. */
static void adapt_script(step script[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        if (script[i].op == FORCE)
            script[i].op = RELEASE;
        if (script[i].op == DELETE)
            script[i].op = DRAIN;
        if (script[i].op == LATCH_SET && script[i].n == 0)
            script[i].n = MOST;
    }
}

/* ---- owners ------------------------------------------------------------ */

static int name_of(int owner) {
    return owner % NAMES;
}

static hf_client *client_of(const actor *a, int owner) {
    return a->clients[owner / NAMES % CLIENTS];
}

static int handle_of(int owner) {
    return owner / NAMES / CLIENTS;
}

static void write_name(const actor *a, int owner, char *name, size_t size) {
    snprintf(name, size, "script %llu name %d", (unsigned long long)a->seed,
             name_of(owner));
}

static void make_lock(actor *a, int owner) {
    const family *f = a->family;
    hf_kind kind = f->kinds[handle_of(owner)];
    hf_lock_options options = {
        .size = sizeof options, .kind = kind, .flags = f->flags};
    char name[64];
    if (kind == HF_PERMIT)
        options.permits = 1 + owner % 3;
    write_name(a, owner, name, sizeof name);
    hf_expect(HF_OK, hf_lock_new(&a->locks[owner], client_of(a, owner), name,
                                 &options, ERR));
}

static void make_owner(actor *a, int owner) {
    char name[64];
    make_lock(a, owner);
    write_name(a, owner, name, sizeof name);
    if (a->family == &semaphore)
        hf_expect(HF_OK, hf_semaphore_new(&a->semaphores[owner],
                                          client_of(a, owner), name, ERR));
    if (a->family == &latch)
        hf_expect(HF_OK, hf_latch_new(&a->latches[owner], client_of(a, owner),
                                      name, ERR));
}

static void free_owner(actor *a, int owner) {
    hf_lock_free(a->locks[owner]);
    if (a->semaphores[owner] != NULL)
        hf_semaphore_delete(a->semaphores[owner], NULL);
    if (a->latches[owner] != NULL)
        hf_latch_delete(a->latches[owner], NULL);
    hf_semaphore_free(a->semaphores[owner]);
    hf_latch_free(a->latches[owner]);
    a->semaphores[owner] = NULL;
    a->latches[owner] = NULL;
}

/* ---- steps ------------------------------------------------------------- */

static int perform_on_latch(hf_latch *l, const step *s) {
    switch (s->op) {
    case LATCH_SET:
        return hf_latch_set(l, s->n, ERR);
    case LATCH_DOWN:
        return hf_latch_count_down(l, ERR);
    case LATCH_TRY:
        return hf_latch_wait(l, 0, ERR);
    default:
        return hf_latch_delete(l, ERR);
    }
}

static int perform_on_semaphore(hf_semaphore *sem, const step *s,
                                int64_t *value) {
    switch (s->op) {
    case SET:
        return hf_semaphore_set(sem, s->n, 0, ERR);
    case TAKE:
        return hf_semaphore_acquire(sem, s->n, 0, ERR);
    case GIVE:
        return hf_semaphore_release(sem, s->n, ERR);
    case GIVE_IF_SET:
        return hf_semaphore_release_if_set(sem, s->n, ERR);
    case ADD:
        return hf_semaphore_add(sem, s->n, ERR);
    case LESS:
        return hf_semaphore_add(sem, -s->n, ERR);
    case RESIZE:
        return hf_semaphore_resize(sem, s->n, ERR);
    case DRAIN:
        return hf_semaphore_drain(sem, value, ERR);
    default:
        return hf_semaphore_delete(sem, ERR);
    }
}

static int perform(actor *a, const step *s, int64_t *value) {
    hf_lock *l = a->locks[s->owner];
    switch (s->op) {
    case TRY:
        return hf_lock_try(l, ERR);
    case RELEASE:
        return hf_lock_release(l, ERR);
    case EXTEND:
        return hf_lock_extend(l, 60000, ERR);
    case FORCE:
        return hf_lock_force_release(l, NULL, ERR);
    case REMAKE:
        hf_lock_free(l);
        make_lock(a, s->owner);
        return HF_OK;
    default:
        return s->op < LATCH_SET ?
                   perform_on_semaphore(a->semaphores[s->owner], s, value) :
                   perform_on_latch(a->latches[s->owner], s);
    }
}

static void check_token(actor *a, int i, const step *s) {
    uint64_t token = hf_lock_token(a->locks[s->owner]);
    uint64_t *last = &a->tokens[name_of(s->owner)];
    bool reads = a->family->kinds[handle_of(s->owner)] == HF_READ;
    if (token < *last + (a->shares_token && reads ? 0 : 1))
        fail_msg("HF_TEST_SEED=%llu step %d: %s gave token %llu after %llu",
                 (unsigned long long)a->seed, i, a->store,
                 (unsigned long long)token, (unsigned long long)*last);
    *last = token;
}

/* Seen through another client than the one that acted. */
static void look_around(actor *a, const step *s, answer *seen) {
    int other = (s->owner + NAMES) % OWNERS;
    if (a->semaphores[other] != NULL)
        hf_expect(HF_OK, hf_semaphore_count(a->semaphores[other], &seen->free,
                                            &seen->leased, ERR));
    if (a->latches[other] != NULL)
        hf_expect(HF_OK, hf_latch_count(a->latches[other], &seen->free, ERR));
}

static void play(actor *a, uint64_t seed, const step script[STEPS],
                 answer answers[STEPS]) {
    a->seed = seed;
    memset(a->tokens, 0, sizeof a->tokens);
    memset(answers, 0, STEPS * sizeof answers[0]);
    for (int i = 0; i < OWNERS; i++)
        make_owner(a, i);
    for (int i = 0; i < STEPS; i++) {
        int before = hf_lock_holds(a->locks[script[i].owner]);
        answers[i].result = perform(a, &script[i], &answers[i].value);
        answers[i].holds = hf_lock_holds(a->locks[script[i].owner]);
        answers[i].held = hf_lock_is_held(a->locks[script[i].owner]);
        look_around(a, &script[i], &answers[i]);
        if (before == 0 && answers[i].holds == 1)
            check_token(a, i, &script[i]);
    }
    for (int i = 0; i < OWNERS; i++)
        free_owner(a, i);
}

/* ---- the comparison ---------------------------------------------------- */

static bool same(const answer *a, const answer *b) {
    return a->result == b->result && a->holds == b->holds &&
           a->held == b->held && a->value == b->value && a->free == b->free &&
           a->leased == b->leased;
}

static void print_answer(const char *store, const answer *a) {
    print_message("; %s %s, %d holds, %lld, %lld free, %lld leased", store,
                  hf_error_name(a->result), a->holds, (long long)a->value,
                  (long long)a->free, (long long)a->leased);
}

static void compare(const step script[STEPS], const answer wanted[STEPS],
                    const actor *other, const answer got[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        if (same(&wanted[i], &got[i]))
            continue;
        for (int j = 0; j <= i; j++) {
            print_message("%2d %s %d by %d", j, op_names[script[j].op],
                          script[j].n, script[j].owner);
            print_answer("memory", &wanted[j]);
            print_answer(other->store, &got[j]);
            print_message("\n");
        }
        fail_msg("HF_TEST_SEED=%llu differs at step %d",
                 (unsigned long long)other->seed, i);
    }
}

static void open_all(actor *a, const family *f, const char *store,
                     const char *uri) {
    a->store = store;
    a->family = f;
    for (int i = 0; i < CLIENTS; i++)
        a->clients[i] = hf_test_open(uri, NULL);
}

static void answers_to_scripts(int n, const family *f, const char *store,
                               const char *uri, bool agrees) {
    static actor memory, other;
    step script[STEPS];
    answer wanted[STEPS], got[STEPS];
    const char *given = getenv("HF_TEST_SEED");
    uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
    open_all(&memory, f, "memory", "memory:oracle");
    open_all(&other, f, store, uri);
    other.shares_token = agrees;
    for (uint64_t seed = first; seed < first + (uint64_t)n; seed++) {
        write_script(f, script, seed);
        if (agrees)
            adapt_script(script);
        play(&memory, seed, script, wanted);
        play(&other, seed, script, got);
        compare(script, wanted, &other, got);
    }
    assert_int_equal(hf_test_holders(other.clients[0], NULL), 0);
    hf_test_clear();
}

static void answers_as_memory_does(const family *f, const char *store,
                                   const char *uri) {
    answers_to_scripts(SCRIPTS, f, store, uri, false);
}

static void sqlite_answers_as_memory_does(const family *f) {
    char path[160], uri[192];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, sizeof uri, "sqlite:%s.db", path);
    answers_as_memory_does(f, "sqlite", uri);
}

static void redis_answers_as_memory_does(const family *f) {
    hf_test_server *server = hf_test_server_start(NULL);
    answers_as_memory_does(f, "redis", hf_test_server_uri(server));
    hf_test_server_stop(server);
}

static void quorum_answers_as_memory_does(const hf_test_sort *sort,
                                          const family *f) {
    char uri[256];
    hf_test_quorum_borrow(sort, uri, sizeof uri);
    answers_to_scripts(FEWER, f, sort->name, uri, true);
    hf_test_give_back();
}

/* These two keep the order of everything and give no tokens in blocks: what is
 * compared here does not show it. */
static void zookeeper_answers_as_memory_does(const family *f) {
    quorum_answers_as_memory_does(&hf_test_zookeeper_sort, f);
}

static void etcd_answers_as_memory_does(const family *f) {
    quorum_answers_as_memory_does(&hf_test_etcd_sort, f);
}

/* Each script is hundreds of transactions. */
static void postgres_answers_as_memory_does(const family *f) {
    char uri[256];
    hf_test_postgres_borrow_patiently(uri, sizeof uri);
    answers_to_scripts(FEWER / 3, f, "postgresql", uri, false);
    hf_test_give_back();
}

static void mariadb_answers_as_memory_does(const family *f) {
    char uri[256];
    hf_test_mariadb_borrow_patiently(uri, sizeof uri);
    answers_to_scripts(FEWER / 2, f, "mariadb", uri, false);
    hf_test_give_back();
}

/* The same of each family, for each of the stores. */
#define FAMILIES(X)                                                            \
    X(locks, lock)                                                             \
    X(fair_locks, fair)                                                        \
    X(spin_locks, spin)                                                        \
    X(mixed_locks, mixed)                                                      \
    X(readers_and_writers, read_write)                                         \
    X(semaphores, semaphore)                                                   \
    X(latches, latch)

#define TELL(store, what, family)                                              \
    static void store##_answers_about_##what##_as_memory_does(void **state) {  \
        (void)state;                                                           \
        store##_answers_as_memory_does(&family);                               \
    }
#define TELL_SQLITE(what, family)    TELL(sqlite, what, family)
#define TELL_REDIS(what, family)     TELL(redis, what, family)
#define TELL_ZOOKEEPER(what, family) TELL(zookeeper, what, family)
#define TELL_ETCD(what, family)      TELL(etcd, what, family)
#define TELL_POSTGRES(what, family)  TELL(postgres, what, family)
#define TELL_MARIADB(what, family)   TELL(mariadb, what, family)
FAMILIES(TELL_SQLITE)
FAMILIES(TELL_REDIS)
FAMILIES(TELL_ZOOKEEPER)
FAMILIES(TELL_ETCD)
FAMILIES(TELL_POSTGRES)
FAMILIES(TELL_MARIADB)

#define SQLITE(what, family)                                                   \
    cmocka_unit_test(sqlite_answers_about_##what##_as_memory_does),
#define REDIS(what, family)                                                    \
    cmocka_unit_test(redis_answers_about_##what##_as_memory_does),
#define ZOOKEEPER(what, family)                                                \
    cmocka_unit_test(zookeeper_answers_about_##what##_as_memory_does),
#define ETCD(what, family)                                                     \
    cmocka_unit_test(etcd_answers_about_##what##_as_memory_does),
#define POSTGRES(what, family)                                                 \
    cmocka_unit_test(postgres_answers_about_##what##_as_memory_does),
#define MARIADB(what, family)                                                  \
    cmocka_unit_test(mariadb_answers_about_##what##_as_memory_does),

static const struct CMUnitTest tests[] = {
    FAMILIES(SQLITE) FAMILIES(REDIS) FAMILIES(ZOOKEEPER) FAMILIES(ETCD)
        FAMILIES(POSTGRES) FAMILIES(MARIADB)};
HF_SUITE(tests)
