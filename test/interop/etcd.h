/* SPDX-License-Identifier: MIT
 *
 * etcd.h - etcd's own Go client beside ours, on the same etcd: the packages
 * concurrency and recipe.
 *
 * The test speaks to it in the lines of etcd/main.go.  $HF_ETCD is the folder
 * that etcd/build.sh made. */
#ifndef HF_TEST_INTEROP_ETCD_H
#define HF_TEST_INTEROP_ETCD_H

#include "stranger.h"

extern stranger the_go;

/* Begin and end of a test: HF_TEST_IN(with_go, a_sentence, end_go). */
void with_go(void **state);
void with_go_briefly(void **state);
int end_go(void **state);
#define WITH_LONG(name)  HF_TEST_IN(with_go, name, end_go)
#define WITH_SHORT(name) HF_TEST_IN(with_go_briefly, name, end_go)

#define go_kill()            stranger_kill(&the_go)
#define go_ask(...)          stranger_ask(&the_go, __VA_ARGS__)
#define go_number(...)       stranger_number(&the_go, __VA_ARGS__)
#define go_says(wanted, ...) stranger_says(&the_go, wanted, __VA_ARGS__)
#define go_begins(k, ...)    stranger_begins(&the_go, k, __VA_ARGS__)
#define go_waits(k, ...)     stranger_waits(&the_go, k, __VA_ARGS__)
#define go_answers(k, said)  stranger_answers(&the_go, k, said)
#define go_answered(k)       stranger_answered(&the_go, k)
#define go_thread_says(wanted, k, ...)                                         \
    stranger_thread_says(&the_go, wanted, k, __VA_ARGS__)

#endif
