/* SPDX-License-Identifier: MIT
 *
 * curator.h - the real Curator beside our client, on the same ZooKeeper.
 *
 * A test begins with a part of a server, Java and client, and speaks to Java in
 * the lines of curator/Peer.java.  $HF_CURATOR is the folder that
 * curator/build.sh made and $HF_CURATOR_LIB the libraries in it: lib54,
 * Debian's, or lib59. */
#ifndef HF_TEST_CURATOR_H
#define HF_TEST_CURATOR_H

#include "java.h"

/* Begin and end of a test: HF_TEST_IN(with_long_sessions, sentence, end…). */
void with_long_sessions(void **state);
void with_short_sessions(void **state);
int end_curator(void **state);
#define WITH_LONG(name)  HF_TEST_IN(with_long_sessions, name, end_curator)
#define WITH_SHORT(name) HF_TEST_IN(with_short_sessions, name, end_curator)

/* The same at an address of ours, on servers that are there already. */
void meet_curator_at(const char *uri, int session_ms);

/* Since 5.5 a reader beside its own writer has the writer's place; before that
 * it went to the end, and a writer who waited came in between. */
bool java_keeps_its_place(void);

/* The entry at place `i` of the line of a name, as Curator lists it, which
 * calls the lock `noun`; "" where there is none.  Lent until the next call. */
const char *java_node(const char *noun, const char *name, int i);

/* Fails unless `node` is _c_, a GUID, '-', `tag` and ten digits; which number
 * these are. */
int64_t check_node(const char *node, const char *tag);

#endif
