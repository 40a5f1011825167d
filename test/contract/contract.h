/* SPDX-License-Identifier: MIT
 *
 * contract.h - what every store must do, as a list of sentences.
 *
 * A store's file says how to get an empty one and takes the list:
 *
 *     static void fresh(char *uri, size_t size) { … }
 *     HF_CONTRACT("memory", fresh, NULL, HF_CONTRACT_TESTS)
 *
 * Each sentence is a function in one of the files beside this one. */
#ifndef HF_TEST_CONTRACT_H
#define HF_TEST_CONTRACT_H

#include "support/stage.h"
#include "support/suite.h"

typedef struct hf_contract {
    const char *store;
    void (*fresh)(char *uri, size_t size); /* the address of an empty store */
    void (*discard)(void);                 /* after the test; NULL: nothing */
} hf_contract;

/* The store under test, and the address the running test was given. */
extern const hf_contract hf_contract_under_test;
extern char hf_contract_uri[256];

/* Around every test. */
void hf_contract_begin(void **state);
int hf_contract_end(void **state);

/* A client of the store under test. */
hf_client *hf_contract_open(const hf_options *options);

/* On every store. */
#define HF_CONTRACT_TESTS(X)                                                   \
    /* verbs.c */                                                              \
    X(who_holds_and_asks_again_gets_the_same_grant)                            \
    X(who_is_refused_learns_when_to_ask_again)                                 \
    X(release_may_be_called_twice_and_for_nothing)                             \
    X(release_is_the_way_out_of_the_line_too)                                  \
    X(where_order_is_kept_nobody_overtakes)                                    \
    X(what_belongs_to_an_earlier_grant_comes_too_late)                         \
    X(renewal_never_brings_back_what_has_ended)                                \
    X(renewal_answers_for_every_claim)                                         \
    /* exclusion.c */                                                          \
    X(a_guarded_counter_loses_no_increment)                                    \
    X(sixteen_clients_lose_no_increment)                                       \
    X(many_who_only_try_are_told_the_truth)                                    \
    X(a_held_lock_answers_busy_to_a_try)                                       \
    X(a_released_lock_can_be_taken_again)                                      \
    X(re_entry_counts_0_1_2_1_0_and_keeps_the_token)                           \
    X(after_one_of_two_releases_others_stay_out)                               \
    X(another_thread_is_another_owner)                                         \
    X(only_the_owner_releases)                                                 \
    X(nobody_releases_what_is_not_held)                                        \
    X(a_handle_that_owns_is_released_by_any_thread)                            \
    X(two_handles_that_own_exclude_each_other_in_one_thread)                   \
    X(a_thousand_grants_have_a_thousand_growing_tokens)                        \
    X(names_of_every_kind_do_not_collide)                                      \
    X(a_posted_release_lets_the_next_one_in)                                   \
    /* waiting.c */                                                            \
    X(a_timed_wait_ends_on_time_and_leaves_nothing)                            \
    X(a_wait_for_ever_ends_with_the_release)                                   \
    X(a_release_wakes_the_waiter_without_polling)                              \
    X(a_waiter_enters_when_a_fixed_lease_ends)                                 \
    X(a_cancelled_wait_ends_at_once_and_leaves_nothing)                        \
    X(cancelling_ends_only_the_waits_that_are_under_way)                       \
    X(a_wait_cancelled_around_its_grant_is_held_or_gone)                       \
    X(two_hundred_waiters_enter_in_the_order_they_came)                        \
    X(when_the_first_waiter_gives_up_the_second_still_enters)                  \
    X(three_waiters_never_enter_together)                                      \
    X(a_storm_of_signals_disturbs_nothing)                                     \
    /* lease.c */                                                              \
    X(a_fixed_lease_ends_without_renewal)                                      \
    X(the_watchdog_keeps_a_lock_through_three_leases)                          \
    X(two_busy_processors_do_not_starve_the_watchdog)                          \
    X(nothing_is_renewed_after_its_release)                                    \
    X(freeing_the_handle_releases_the_lock)                                    \
    X(extend_counts_the_lease_from_now)                                        \
    X(extend_after_the_end_says_lost)                                          \
    X(re_entry_leaves_the_lease_as_it_was)                                     \
    X(release_after_keeps_others_out_for_that_long)                            \
    X(the_longest_hold_allowed_ends_the_hold)                                  \
    X(what_the_holder_may_ask_is_nothing_when_it_does_not_hold)                \
    /* loss.c */                                                               \
    X(a_forced_release_is_told_once_in_every_way)                              \
    X(who_lost_must_release_before_taking_it_again)                            \
    X(a_lost_lock_taken_again_is_kept_alive_again)                             \
    X(who_learns_of_the_loss_by_extending_is_told)                             \
    X(every_hold_of_a_lost_lock_is_counted_down)                               \
    X(force_on_a_free_lock_says_free)                                          \
    X(force_may_be_limited_to_one_owner)                                       \
    X(a_forced_release_lets_a_waiter_in_with_a_higher_token)                   \
    X(events_tell_of_grant_release_and_loss)                                   \
    X(a_callback_that_was_taken_away_is_not_called)                            \
    X(a_callback_may_release_the_lock)                                         \
    /* misuse.c */                                                             \
    X(names_that_cannot_be_used_are_refused_by_name)                           \
    X(negative_durations_are_refused)                                          \
    X(unknown_kinds_flags_and_sizes_are_refused)                               \
    X(null_where_something_must_be_is_refused)                                 \
    X(null_where_nothing_may_be_is_harmless)                                   \
    X(a_forked_child_owns_nothing_and_the_parent_keeps_all)                    \
    X(nothing_is_left_when_a_client_is_closed)                                 \
    X(clients_may_be_opened_and_closed_a_hundred_times)                        \
    X(without_descriptors_it_fails_in_words)                                   \
    X(the_list_says_who_holds_and_why)                                         \
    X(the_list_of_everything_has_every_name)

/* Where another process can open the store. */
#define HF_CONTRACT_TESTS_ACROSS(X)                                            \
    /* across.c */                                                             \
    X(two_processes_of_eight_threads_lose_no_increment)                        \
    X(a_killed_holder_frees_the_lock)                                          \
    X(a_killed_waiter_stands_in_nobodys_way)                                   \
    X(a_stopped_holder_wakes_up_to_find_it_lost)                               \
    X(another_process_is_woken_by_a_release)                                   \
    X(release_after_outlives_the_process)                                      \
    X(a_closed_client_leaves_its_lock_to_others)                               \
    X(a_program_that_is_started_inherits_nothing)                              \
    X(the_list_shows_a_holder_in_another_process)

#define HF_CONTRACT_DECLARE(name) void name(void **state);
HF_CONTRACT_TESTS(HF_CONTRACT_DECLARE)
HF_CONTRACT_TESTS_ACROSS(HF_CONTRACT_DECLARE)

#define HF_CONTRACT_ENTRY(name)                                                \
    HF_TEST_IN(hf_contract_begin, name, hf_contract_end),

#define HF_CONTRACT(store, fresh, discard, ...)                                \
    const hf_contract hf_contract_under_test = {store, fresh, discard};        \
    static const struct CMUnitTest tests[] = {__VA_ARGS__};                    \
    HF_SUITE(tests)

#endif
