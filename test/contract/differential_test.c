/* SPDX-License-Identifier: MIT
 *
 * differential_test.c - the same random script on memory and on another store
 * must give the same answers.
 *
 * Owners are handles that own, a few in each of several clients, on few names,
 * so that they get in each other's way.  Time is left out: leases are longer
 * than a script.  Tokens are not compared, since each store starts where it
 * likes, but they must grow with every grant of a name.
 *
 * HF_TEST_SEED=n begins with another script; a failure prints its seed. */
#include "support/dir.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCRIPTS = 300,
    STEPS = 60,
    CLIENTS = 3,
    HANDLES = 2, /* per client and name */
    NAMES = 2,
    OWNERS = CLIENTS * HANDLES * NAMES,
};

typedef enum op { TRY, ACQUIRE, RELEASE, EXTEND, FORCE, REMAKE, OPS } op;

static const char *const op_names[OPS] = {"try",    "acquire", "release",
                                          "extend", "force",   "remake"};

typedef struct step {
    op op;
    int owner;
} step;

/* What an observer sees after a step. */
typedef struct answer {
    int result, holds;
    bool held;
} answer;

/* One store while a script runs on it. */
typedef struct actor {
    const char *store;
    hf_client *clients[CLIENTS];
    hf_lock *locks[OWNERS];
    uint64_t tokens[NAMES]; /* of the last grant */
} actor;

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

/* Half of the steps take, so that something is held to argue about. */
static void write_script(step script[STEPS], uint64_t seed) {
    static const op die[] = {TRY,     TRY,     ACQUIRE, ACQUIRE, TRY,   RELEASE,
                             RELEASE, RELEASE, EXTEND,  FORCE,   REMAKE};
    for (int i = 0; i < 3; i++)
        next_random(&seed);
    for (int i = 0; i < STEPS; i++) {
        script[i].op = die[next_random(&seed) % (sizeof die / sizeof die[0])];
        script[i].owner = (int)(next_random(&seed) % OWNERS);
    }
}

static int name_of(int owner) {
    return owner % NAMES;
}

static void make_lock(actor *a, uint64_t seed, int owner) {
    char name[64];
    snprintf(name, sizeof name, "script %llu name %d", (unsigned long long)seed,
             name_of(owner));
    hf_expect(HF_OK,
              hf_lock_new(&a->locks[owner], a->clients[owner / NAMES % CLIENTS],
                          name, HF_LOCK_WITH(.flags = HF_OWNER_HANDLE), ERR));
}

static int perform(actor *a, uint64_t seed, const step *s) {
    hf_lock *lock = a->locks[s->owner];
    switch (s->op) {
    case TRY:
        return hf_lock_try(lock, ERR);
    case ACQUIRE:
        return hf_lock_acquire(lock, 0, ERR);
    case RELEASE:
        return hf_lock_release(lock, ERR);
    case EXTEND:
        return hf_lock_extend(lock, 60000, ERR);
    case FORCE:
        return hf_lock_force_release(lock, NULL, ERR);
    default:
        hf_lock_free(lock);
        make_lock(a, seed, s->owner);
        return HF_OK;
    }
}

static void check_token(actor *a, uint64_t seed, int i, const step *s) {
    uint64_t token = hf_lock_token(a->locks[s->owner]);
    uint64_t *last = &a->tokens[name_of(s->owner)];
    if (token <= *last)
        fail_msg("HF_TEST_SEED=%llu step %d: %s gave token %llu after %llu",
                 (unsigned long long)seed, i, a->store,
                 (unsigned long long)token, (unsigned long long)*last);
    *last = token;
}

static void play(actor *a, uint64_t seed, const step script[STEPS],
                 answer answers[STEPS]) {
    memset(a->tokens, 0, sizeof a->tokens);
    for (int i = 0; i < OWNERS; i++)
        make_lock(a, seed, i);
    for (int i = 0; i < STEPS; i++) {
        hf_lock *lock = a->locks[script[i].owner];
        int before = hf_lock_holds(lock);
        int result = perform(a, seed, &script[i]);
        lock = a->locks[script[i].owner];
        answers[i] =
            (answer){result, hf_lock_holds(lock), hf_lock_is_held(lock)};
        if (before == 0 && answers[i].holds == 1)
            check_token(a, seed, i, &script[i]);
    }
    for (int i = 0; i < OWNERS; i++)
        hf_lock_free(a->locks[i]);
}

static bool same(const answer *a, const answer *b) {
    return a->result == b->result && a->holds == b->holds && a->held == b->held;
}

static void compare(uint64_t seed, const step script[STEPS],
                    const answer wanted[STEPS], const actor *other,
                    const answer got[STEPS]) {
    for (int i = 0; i < STEPS; i++) {
        if (same(&wanted[i], &got[i]))
            continue;
        for (int j = 0; j <= i; j++)
            print_message("%2d %s by %d: %s, %d holds; %s %s, %d holds\n", j,
                          op_names[script[j].op], script[j].owner,
                          hf_error_name(wanted[j].result), wanted[j].holds,
                          other->store, hf_error_name(got[j].result),
                          got[j].holds);
        fail_msg("HF_TEST_SEED=%llu differs at step %d",
                 (unsigned long long)seed, i);
    }
}

static void open_all(actor *a, const char *store, const char *uri) {
    a->store = store;
    for (int i = 0; i < CLIENTS; i++)
        a->clients[i] = hf_test_open(uri, NULL);
}

static void answers_as_memory_does(const char *store, const char *uri) {
    static actor memory, other;
    step script[STEPS];
    answer wanted[STEPS], got[STEPS];
    const char *given = getenv("HF_TEST_SEED");
    uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
    open_all(&memory, "memory", "memory:oracle");
    open_all(&other, store, uri);
    for (uint64_t seed = first; seed < first + SCRIPTS; seed++) {
        write_script(script, seed);
        play(&memory, seed, script, wanted);
        play(&other, seed, script, got);
        compare(seed, script, wanted, &other, got);
    }
    assert_int_equal(hf_test_holders(other.clients[0], NULL), 0);
    hf_test_clear();
}

static void sqlite_answers_as_memory_does(void **state) {
    (void)state;
    char path[160], uri[192];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, sizeof uri, "sqlite:%s.db", path);
    answers_as_memory_does("sqlite", uri);
}

static void redis_answers_as_memory_does(void **state) {
    (void)state;
    hf_test_server *server = hf_test_server_start(NULL);
    answers_as_memory_does("redis", hf_test_server_uri(server));
    hf_test_server_stop(server);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sqlite_answers_as_memory_does),
    cmocka_unit_test(redis_answers_as_memory_does),
};
HF_SUITE(tests)
