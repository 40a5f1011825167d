/* SPDX-License-Identifier: MIT
 *
 * loop.h - what every adapter must do, as a list of sentences.
 *
 * An adapter's file says how its loop is opened, run and stopped, and takes
 * the list.  The sentences are in loop.c. */
#ifndef HF_TEST_LOOPS_LOOP_H
#define HF_TEST_LOOPS_LOOP_H

#include "support/stage.h"
#include "support/suite.h"

enum { HF_LOOP_CLIENTS = 2 }; /* that may be attached at a time */

/* By the adapter's file; in one thread, which need not be the first.  What must
 * not fail is asserted. */
void hf_loop_open(void);  /* with a timer: hf_loop_tick every millisecond   */
void hf_loop_run(void);   /* until it is stopped                            */
void hf_loop_stop(void);  /* in a callback                                  */
void hf_loop_close(void); /* nothing is attached                            */
void hf_loop_fork(void);  /* in a forked child, before it uses the loop     */
int hf_loop_attach(int i, hf_client *client); /* in memory of its own, so that
                                                 a touch too late is seen   */
void hf_loop_detach(int i); /* twice, and frees that as soon as it may      */

/* By loop.c. */
void hf_loop_tick(void);
void hf_loop_begin(void **state);
int hf_loop_end(void **state);

#define HF_LOOP_TESTS(X)                                                       \
    X(a_grant_and_a_release_are_told_in_the_loop)                              \
    X(a_refused_try_is_told_in_the_loop)                                       \
    X(a_wait_ends_in_time_and_the_loop_ticks_meanwhile)                        \
    X(a_cancelled_wait_is_told_in_the_loop)                                    \
    X(what_needs_no_store_is_told_in_the_loop)                                 \
    X(whatever_work_returns_is_told_in_the_loop)                               \
    X(what_a_callback_begins_is_told_as_well)                                  \
    X(two_clients_in_one_loop_exclude_each_other)                              \
    X(a_hundred_waiters_are_served_and_need_no_threads)                        \
    X(a_callback_may_detach_and_close)                                         \
    X(a_callback_may_close_a_client_that_is_due_as_well)                       \
    X(a_callback_may_put_a_new_client_in_the_place)                            \
    X(what_was_freed_is_not_told)                                              \
    X(loss_is_told_in_the_loop)                                                \
    X(a_loop_may_stop_and_run_again)                                           \
    X(a_detached_client_is_told_when_it_is_attached_again)                     \
    X(no_client_is_not_attached)                                               \
    X(a_loop_may_run_in_another_thread)                                        \
    X(a_child_that_detaches_leaves_the_parent_in_the_loop)

#define HF_LOOP_DECLARE(name) void name(void **state);
HF_LOOP_TESTS(HF_LOOP_DECLARE)

#define HF_LOOP_ENTRY(name) HF_TEST_IN(hf_loop_begin, name, hf_loop_end),

#define HF_LOOP_SUITE(...)                                                     \
    static const struct CMUnitTest tests[] = {HF_LOOP_TESTS(HF_LOOP_ENTRY)     \
                                                  __VA_ARGS__};                \
    HF_SUITE(tests)

#endif
