/* SPDX-License-Identifier: MIT
 *
 * redisson.h - the real Redisson beside our client, on the same store.
 *
 * A test begins with server, Java and client, and speaks to Java in the lines
 * of redisson/Peer.java.  $HF_REDISSON is the folder that redisson/build.sh
 * made and $HF_REDISSON_LIB the libraries in it, lib3 or lib4; without Java,
 * Maven or a registry that has Redisson the test is skipped. */
#ifndef HF_TEST_REDISSON_H
#define HF_TEST_REDISSON_H

#include "java.h"
#include "support/server.h"

/* fairLockWaitTimeout: what one waiter more adds to the time after which Java
 * takes a fair waiter for dead.  The long one is Redisson's own. */
enum { LONG_FAIR = 300000, SHORT_FAIR = 3000 };

extern hf_test_server *server; /* NULL: the store is more than one */

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

int64_t scripts_run(void);

/* The key or channel that Redisson makes of a prefix and a name. */
const char *prefixed(const char *prefix, const char *name);

#endif
