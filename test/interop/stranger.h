/* SPDX-License-Identifier: MIT
 *
 * stranger.h - somebody else's client beside ours, on the same store.
 *
 * A stranger is a process with another library in another language.  It is told
 * what to do line by line, as redisson/Peer.java says at length: a line for its
 * main thread, or "thread K LINE" for one of its other threads, each an owner
 * of its own, whose answers begin with "#K ".
 *
 * Leases are a minute long but where they are what a test is about, so that
 * whoever enters was woken, or the test runs out of its time. */
#ifndef HF_TEST_STRANGER_H
#define HF_TEST_STRANGER_H

#include "support/guarded.h"
#include "support/peer.h"
#include "support/stage.h"
#include "support/suite.h"

enum {
    LONG_LEASE = 60000,
    SHORT_LEASE = 3000,
    A_MOMENT = 300, /* but time enough for an answer of the server */
    SOON = 5000,    /* no lease of a minute has ended by then */
};

enum { STRANGER_THREADS = 10, STRANGER_LINES = 4 };

typedef struct stranger {
    const char *name; /* for messages */
    hf_test_peer *peer;
    /* What it has answered and nobody has asked for yet; 0 is its main
     * thread. */
    struct answers {
        char lines[STRANGER_LINES][1024];
        int n;
    } answers[STRANGER_THREADS];
} stranger;

/* Starts it and lets it open what it is told to. */
void stranger_start(stranger *s, char *const argv[], const char *told);
void stranger_kill(stranger *s); /* -9; nothing if it is not there */

/* Why its build.sh could not make LIB in FOLDER, which it left in FOLDER/why or
 * FOLDER/LIB.why.  Lent until the next call. */
const char *stranger_why_not(const char *folder, const char *lib);

/* ---- its main thread ------------------------------------------------------ */

const char *stranger_ask(stranger *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int64_t stranger_number(stranger *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#define stranger_says(s, wanted, ...)                                          \
    assert_string_equal(stranger_ask((s), __VA_ARGS__), (wanted))

/* ---- its threads: each k from 1 to 9 is an owner of its own ---------------- */

/* Sends the line and does not wait for the answer. */
void stranger_begins(stranger *s, int k, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, and returns when it sleeps where only the other can wake it. */
void stranger_waits(stranger *s, int k, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the thread answers; the test fails if it does not within `ms`. */
const char *stranger_answer(stranger *s, int k, int ms);
#define stranger_answers(s, k, wanted)                                         \
    assert_string_equal(stranger_answer((s), (k), HF_TEST_LONG), (wanted))

/* Has it?  The answer stays to be asked for. */
bool stranger_answered(stranger *s, int k);

/* Both together, for what does not wait. */
#define stranger_thread_says(s, wanted, k, ...)                                \
    do {                                                                       \
        stranger_begins((s), (k), __VA_ARGS__);                                \
        assert_string_equal(stranger_answer((s), (k), HF_TEST_LONG),           \
                            (wanted));                                         \
    } while (0)

/* ---- our side ------------------------------------------------------------- */

extern hf_client *client;

/* What each side makes of a name goes into keys and channels. */
extern const char *const names[];
extern const int n_names;

/* Opens `client`, and is where c_peer and c_other go. */
void c_meet(const char *uri, int lease_ms);

/* Another client of ours: its waiters stand in the store's line, and not behind
 * those of `client` in ours. */
hf_client *c_other(void);

/* Another process of ours, with leases of that length. */
hf_test_peer *c_peer(int lease_ms);
#define c_says(peer, wanted, ...)                                              \
    assert_string_equal(hf_test_peer_ask((peer), __VA_ARGS__), (wanted))

/* A lock of that kind and name. */
hf_lock *c_lock(hf_kind kind, const char *name);

/* What the thread was told to count together with us is counted.  That may take
 * long, but it may not come to a stand. */
void stranger_has_counted(stranger *s, int k, hf_test_guarded *g);

/* Some threads of ours and two of the stranger's count what only the lock
 * guards, which it calls `noun`; nothing may be lost. */
void both_add_up(stranger *s, hf_kind kind, const char *noun, const char *name);

#endif
