/* SPDX-License-Identifier: MIT
 *
 * kazoo.h - the real kazoo beside our client, on the same ZooKeeper.
 *
 * The test speaks to it in the lines of kazoo/peer.py.  $HF_KAZOO is the folder
 * that kazoo/build.sh made and $HF_KAZOO_LIB the library in it: lib28, which is
 * Debian's, or lib211. */
#ifndef HF_TEST_KAZOO_H
#define HF_TEST_KAZOO_H

#include "stranger.h"

extern stranger the_kazoo;

/* Starts it at an address of ours; the test is skipped where the library is
 * missing. */
void kazoo_start(const char *uri, int session_ms);

/* Before 2.9 a reader waits for writers who came later, and so for ever. */
bool kazoo_can_read(void);

#define kazoo_kill()            stranger_kill(&the_kazoo)
#define kazoo_ask(...)          stranger_ask(&the_kazoo, __VA_ARGS__)
#define kazoo_begins(k, ...)    stranger_begins(&the_kazoo, k, __VA_ARGS__)
#define kazoo_waits(k, ...)     stranger_waits(&the_kazoo, k, __VA_ARGS__)
#define kazoo_answer(k, ms)     stranger_answer(&the_kazoo, k, ms)
#define kazoo_answers(k, said)  stranger_answers(&the_kazoo, k, said)
#define kazoo_answered(k)       stranger_answered(&the_kazoo, k)
#define kazoo_says(wanted, ...) stranger_says(&the_kazoo, wanted, __VA_ARGS__)
#define kazoo_thread_says(wanted, k, ...)                                      \
    stranger_thread_says(&the_kazoo, wanted, k, __VA_ARGS__)

#endif
