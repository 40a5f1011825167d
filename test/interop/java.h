/* SPDX-License-Identifier: MIT
 *
 * java.h - the real Redisson beside our client, on the same store.
 *
 * A test begins with server, Java and client, and speaks to Java in the lines
 * of redisson/Peer.java.  $HF_REDISSON is the folder that redisson/build.sh
 * made and $HF_REDISSON_LIB the libraries in it, lib3 or lib4; without Java,
 * Maven or a registry that has Redisson the test is skipped.
 *
 * Leases are a minute long but where they are what a test is about, so that
 * whoever enters was woken, or the test runs out of its time. */
#ifndef HF_TEST_JAVA_H
#define HF_TEST_JAVA_H

#include "support/peer.h"
#include "support/server.h"
#include "support/stage.h"
#include "support/suite.h"

enum {
    LONG_LEASE = 60000,
    SHORT_LEASE = 1500,
    A_MOMENT = 300, /* but time enough for an answer of the server */
    SOON = 5000,    /* no lease of a minute has ended by then */
    /* fairLockWaitTimeout: what one waiter more adds to the time after which
     * Java takes a fair waiter for dead.  The long one is Redisson's own. */
    LONG_FAIR = 300000,
    SHORT_FAIR = 3000,
};

extern hf_test_server *server; /* NULL: the store is more than one */
extern hf_client *client;

/* What each side makes of a name goes into keys and channels. */
extern const char *const names[];
extern const int n_names;

/* Begin and end of a test: HF_TEST_IN(with_long_leases, a_sentence, end). */
void with_long_leases(void **state);
void with_short_leases(void **state);
int end(void **state);
#define WITH_LONG(name)  HF_TEST_IN(with_long_leases, name, end)
#define WITH_SHORT(name) HF_TEST_IN(with_short_leases, name, end)

/* The same on another store: Java and `client` open it, again if Java is there
 * already.  part() is the end of both. */
void meet_at(const char *uri, int lease_ms);
void part(void);

/* Is it Redisson 4, with what only that has? */
bool java_is_4(void);

/* ---- its main thread ------------------------------------------------------ */

const char *java_ask(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
int64_t java_number(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
#define java_says(wanted, ...)                                                 \
    assert_string_equal(java_ask(__VA_ARGS__), (wanted))

/* ---- its threads: each k from 1 to 9 is an owner of its own ---------------- */

/* Sends the line and does not wait for the answer. */
void java_begins(int k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, and returns when it sleeps: Redisson asks, listens, asks once more,
 * and then sleeps until it is woken. */
void java_waits(int k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What the thread answers; the test fails if it does not within `ms`. */
const char *java_answer(int k, int ms);
#define java_answers(k, wanted)                                                \
    assert_string_equal(java_answer((k), SOON), (wanted))

/* Has it?  The answer stays to be asked for. */
bool java_answered(int k);

/* Both together, for what does not wait. */
#define java_thread_says(wanted, k, ...)                                       \
    do {                                                                       \
        java_begins((k), __VA_ARGS__);                                         \
        assert_string_equal(java_answer((k), HF_TEST_LONG), (wanted));         \
    } while (0)

void java_kill(void); /* -9 */

/* ---- our side ------------------------------------------------------------- */

/* Another process of ours, with leases of that length. */
hf_test_peer *c_peer(int lease_ms);
#define c_says(peer, wanted, ...)                                              \
    assert_string_equal(hf_test_peer_ask((peer), __VA_ARGS__), (wanted))

/* A lock of that kind and name. */
hf_lock *c_lock(hf_kind kind, const char *name);

/* ---- the server ----------------------------------------------------------- */

int64_t scripts_run(void);

/* The key or channel that Redisson makes of a prefix and a name. */
const char *prefixed(const char *prefix, const char *name);

#endif
