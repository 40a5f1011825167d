/* SPDX-License-Identifier: MIT
 *
 * redis_cluster_contract_test.c - three masters, borrowed for every test.
 *
 * A sanitizer sees the ways that only a cluster has with a part of the list;
 * the rest it has seen on one server. */
#include "contract.h"

#include "support/cluster.h"

#include <stdio.h>

static void fresh(char *uri, size_t size) {
    snprintf(uri, size, "%s", hf_test_borrow(&hf_test_cluster_sort)->uri);
}

static void discard(void) {
    hf_test_give_back();
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SENTENCES(X)                                                           \
    X(renewal_answers_for_every_claim)                                         \
    X(sixteen_clients_lose_no_increment)                                       \
    X(a_thousand_grants_have_a_thousand_growing_tokens)                        \
    X(a_posted_release_lets_the_next_one_in)                                   \
    X(thirty_two_threads_on_five_names_all_get_through)                        \
    X(a_release_wakes_the_waiter_without_polling)                              \
    X(a_waiter_enters_when_a_fixed_lease_ends)                                 \
    X(a_cancelled_wait_ends_at_once_and_leaves_nothing)                        \
    X(a_storm_of_signals_disturbs_nothing)                                     \
    X(the_watchdog_keeps_a_lock_through_three_leases)                          \
    X(a_forced_release_is_told_once_in_every_way)                              \
    X(readers_hold_together_and_a_writer_alone)                                \
    X(a_crowd_of_readers_and_writers_keeps_to_the_rule)                        \
    X(fifty_readers_are_kept_alive_and_leave_cleanly)                          \
    X(waiters_of_several_clients_enter_in_the_order_they_came)                 \
    X(hundreds_of_threads_get_through_a_fair_lock_in_order)                    \
    X(waiters_are_woken_by_permits_without_polling)                            \
    X(three_permits_let_three_in_and_lose_no_wake_up)                          \
    X(a_waiter_enters_when_a_permits_lease_ends)                               \
    X(five_who_wait_for_a_latch_all_go)                                        \
    X(two_processes_take_turns_in_a_fair_line)
#else
#define SENTENCES(X)                                                           \
    HF_CONTRACT_TESTS(X)                                                       \
    HF_CONTRACT_TESTS_ACROSS(X)                                                \
    HF_CONTRACT_TESTS_OF_OTHERS(X)                                             \
    HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(X)
#endif

HF_CONTRACT("redis+cluster", fresh, discard, SENTENCES(HF_CONTRACT_ENTRY))
