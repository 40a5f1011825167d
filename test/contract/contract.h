/* SPDX-License-Identifier: MIT
 *
 * contract.h - what every store must do, as a list of sentences.
 *
 * A store's file says how to get an empty one and takes the list:
 *
 *     static void fresh(char *uri, size_t size) { … }
 *     HF_CONTRACT("memory", fresh, NULL, HF_CONTRACT_TESTS(HF_CONTRACT_ENTRY))
 *
 * Each sentence is a function in one of the files beside this one.  Those that
 * hold for every lock are said again of the other kinds, under names such as
 * fair.a_held_lock_answers_busy_to_a_try. */
#ifndef HF_TEST_CONTRACT_H
#define HF_TEST_CONTRACT_H

#include "holdfast/backend.h"
#include "support/stage.h"
#include "support/suite.h"

typedef struct hf_contract {
    const char *store;
    void (*fresh)(char *uri, size_t size); /* the address of an empty store */
    void (*discard)(void);                 /* after the test; NULL: nothing */

    /* Where stores may differ; zero is what most do. */
    const char *const *refused; /* names that its keys cannot have, NULL at
                                   the end                                 */
    bool shares_token;    /* a READ beside its own WRITE has the WRITE's     */
    bool moves_token;     /* while nobody holds, the last token may be named
                           higher than it was, if below any to come        */
    bool small_numbers;   /* a semaphore counts no further than INT_MAX      */
    bool polls;           /* nobody is woken: who waits asks often           */
    bool curt;            /* its list knows not everything of a holder       */
    bool bundled;         /* force takes all that the holder's client holds  */
    size_t name_max;      /* bytes in a name; 0: HF_NAME_MAX                 */
    bool few_connections; /* threads wait for one to ask                   */
    bool votes;           /* of several who ask at once, perhaps none gets it */
    int session_ms;       /* whoever is killed is noticed only then, and nobody
                           believes in a hold for longer unless it is renewed;
                           0: leases are all there is                      */
} hf_contract;

/* The store under test, and the address the running test was given. */
extern const hf_contract hf_contract_under_test;
extern char hf_contract_uri[256];

/* Around every test; with locks of another kind than HF_LOCK. */
void hf_contract_begin(void **state);
void hf_contract_begin_fair(void **state);
void hf_contract_begin_spin(void **state);
void hf_contract_begin_write(void **state);
void hf_contract_begin_permit(void **state);
int hf_contract_end(void **state);

/* How long a hold on the store under test may be believed in that has so much
 * of its lease before it. */
int hf_contract_believed(int lease_ms);

/* A client of the store under test. */
hf_client *hf_contract_open(const hf_options *options);

/* One that meets trouble: see backend/fault.h. */
hf_client *hf_contract_open_troubled(hf_backend **trouble);

/* ms: whoever is woken comes sooner.  Who is not looks again after a minute at
 * the earliest, where hf_test_only_woken was said, unless the store told it
 * to. */
#define HF_CONTRACT_SOON 15000

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
    X(a_crowd_of_threads_lets_another_client_in)                               \
    X(thirty_two_threads_on_five_names_all_get_through)                        \
    X(a_lock_without_re_entry_refuses_its_owner)                               \
    X(the_last_token_of_a_name_is_asked_of_the_store)                          \
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
    X(a_cancelled_thread_ends_when_its_call_has)                               \
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
    X(a_shorter_lease_inside_a_longer_one_does_not_end_it)                     \
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
    X(names_whose_braces_are_no_tag_are_refused)                               \
    X(unknown_kinds_flags_and_sizes_are_refused)                               \
    X(options_that_belong_to_another_kind_are_refused)                         \
    X(kinds_that_the_store_lacks_are_refused_in_words)                         \
    X(null_where_something_must_be_is_refused)                                 \
    X(null_where_nothing_may_be_is_harmless)                                   \
    X(a_forked_child_owns_nothing_and_the_parent_keeps_all)                    \
    X(nothing_is_left_when_a_client_is_closed)                                 \
    X(what_a_client_opens_is_closed_on_exec)                                   \
    X(clients_may_be_opened_and_closed_a_hundred_times)                        \
    X(without_descriptors_it_fails_in_words)                                   \
    X(the_list_says_who_holds_and_why)                                         \
    X(the_list_of_everything_has_every_name)                                   \
    /* job.c */                                                                \
    X(a_job_that_runs_is_skipped_by_others)                                    \
    X(a_job_that_has_just_run_is_skipped)                                      \
    X(a_job_that_took_its_time_is_free_when_it_ends)                           \
    X(a_job_that_takes_too_long_is_lost_and_told)                              \
    X(of_many_who_are_due_one_runs_the_job)                                    \
    X(a_job_that_makes_no_sense_is_refused)                                    \
    /* stats.c */                                                              \
    X(grants_and_refusals_are_counted)                                         \
    X(who_waits_is_counted_while_it_does)                                      \
    X(renewals_and_loss_are_counted)                                           \
    X(a_lease_that_ends_by_itself_is_counted_as_such)                          \
    X(events_say_how_long_it_took)                                             \
    /* multi.c */                                                              \
    X(a_multi_lock_holds_all_of_its_members)                                   \
    X(who_cannot_have_all_has_none)                                            \
    X(a_multi_lock_waits_for_the_member_that_is_busy)                          \
    X(a_wait_for_several_has_one_deadline)                                     \
    X(who_waits_for_one_does_not_keep_the_others_for_ever)                     \
    X(overlapping_multi_locks_get_through_and_lose_nothing)                    \
    X(a_member_that_fails_is_named_and_nothing_is_left)                        \
    X(a_member_whose_store_is_away_is_waited_for)                              \
    X(every_member_that_is_not_released_is_told_of)                            \
    X(a_multi_lock_is_lost_as_soon_as_one_member_is)                           \
    X(members_lost_together_are_one_loss)                                      \
    X(one_member_in_doubt_puts_all_in_doubt)                                   \
    X(news_of_a_multi_lock_come_one_at_a_time)                                 \
    X(a_callback_may_release_the_multi_lock)                                   \
    X(a_member_lost_while_another_is_waited_for_ends_it)                       \
    X(a_fixed_lease_outlasts_the_wait_for_the_others)                          \
    X(each_member_is_entered_again_and_counted)                                \
    X(a_multi_lock_belongs_to_its_thread_or_to_its_handle)                     \
    X(a_wait_for_several_can_be_cancelled)                                     \
    X(one_cancel_ends_a_wait_that_is_under_way)                                \
    X(a_wait_is_cancelled_between_two_members)                                 \
    X(extend_and_release_after_are_for_all_members)                            \
    X(force_frees_all_members_that_are_held)                                   \
    X(a_member_does_nothing_by_itself)                                         \
    X(members_that_make_no_sense_are_refused_in_words)                         \
    X(freeing_a_multi_lock_releases_and_returns_its_members)                   \
    X(a_forked_child_does_not_own_several_either)                              \
    /* async.c */                                                              \
    X(what_is_begun_is_told_in_process_and_nowhere_else)                       \
    X(what_is_begun_answers_as_the_waiting_form_does)                          \
    X(a_wait_that_was_begun_ends_with_the_release)                             \
    X(a_wait_that_was_begun_can_be_cancelled)                                  \
    X(who_is_freed_while_it_waits_is_not_told)                                 \
    X(a_grant_that_nobody_heard_of_goes_back)                                  \
    X(a_callback_may_free_the_lock_and_close_the_client)                       \
    X(many_in_one_thread_enter_one_by_one)                                     \
    X(threads_and_a_loop_wait_in_one_line)                                     \
    X(leases_are_set_anew_without_waiting)                                     \
    X(several_locks_are_taken_without_waiting)                                 \
    X(a_job_is_begun_and_ended_without_waiting)                                \
    X(in_a_loop_loss_is_told_there_and_the_lock_may_be_freed)                  \
    X(in_a_loop_a_new_callback_hears_what_nobody_was_told)                     \
    X(what_cannot_be_begun_is_refused_in_words)                                \
    X(anything_may_be_called_on_a_thread_of_the_librarys)                      \
    /* presence.c */                                                           \
    X(who_waits_is_listed_with_its_host_and_pid)                               \
    X(every_thread_that_waits_is_listed_once)                                  \
    X(who_no_longer_waits_is_no_longer_listed)                                 \
    X(what_was_lost_and_not_released_is_listed)                                \
    X(since_when_it_is_held_is_listed)                                         \
    X(clients_tell_how_much_they_hold_and_wait_for)                            \
    X(a_closed_client_is_not_known)                                            \
    X(a_hidden_client_tells_nothing)                                           \
    /* deadlock.c */                                                           \
    X(a_circle_of_waits_is_told_of)                                            \
    X(of_two_who_wait_for_each_other_one_gives_way)                            \
    X(of_two_threads_that_wait_for_each_other_one_gives_way)                   \
    X(of_three_in_a_circle_one_gives_way)                                      \
    X(a_wait_that_can_end_is_left_alone)                                       \
    X(who_waits_for_several_gives_way_as_well)                                 \
    X(a_client_without_a_record_cannot_ask_for_that)

/* Where another process can open the store. */
#define HF_CONTRACT_TESTS_ACROSS(X)                                            \
    /* across.c */                                                             \
    X(two_processes_of_eight_threads_lose_no_increment)                        \
    X(a_killed_holder_frees_the_lock)                                          \
    X(a_killed_waiter_stands_in_nobodys_way)                                   \
    X(a_stopped_holder_wakes_up_to_find_it_lost)                               \
    X(another_process_is_woken_by_a_release)                                   \
    X(who_exits_while_it_holds_ends_cleanly)                                   \
    X(release_after_outlives_the_process)                                      \
    X(a_closed_client_leaves_its_lock_to_others)                               \
    X(a_program_that_is_started_inherits_nothing)                              \
    X(the_list_shows_a_holder_in_another_process)                              \
    /* presence.c */                                                           \
    X(a_waiter_in_another_process_is_listed)                                   \
    X(a_client_that_hung_up_is_not_known)                                      \
    X(a_killed_client_is_not_known_when_its_lease_is_over)                     \
    /* deadlock.c */                                                           \
    X(of_two_processes_that_wait_for_each_other_one_gives_way)

/* Of every exclusive lock: FAIR, SPIN and WRITE. */
#define HF_CONTRACT_TESTS_OF_KIND(X)                                           \
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
    X(many_who_only_try_are_told_the_truth)                                    \
    X(a_held_lock_answers_busy_to_a_try)                                       \
    X(re_entry_counts_0_1_2_1_0_and_keeps_the_token)                           \
    X(another_thread_is_another_owner)                                         \
    X(only_the_owner_releases)                                                 \
    X(two_handles_that_own_exclude_each_other_in_one_thread)                   \
    X(a_thousand_grants_have_a_thousand_growing_tokens)                        \
    X(names_of_every_kind_do_not_collide)                                      \
    X(a_posted_release_lets_the_next_one_in)                                   \
    X(a_lock_without_re_entry_refuses_its_owner)                               \
    /* waiting.c */                                                            \
    X(a_timed_wait_ends_on_time_and_leaves_nothing)                            \
    X(a_wait_for_ever_ends_with_the_release)                                   \
    X(a_release_wakes_the_waiter_without_polling)                              \
    X(a_waiter_enters_when_a_fixed_lease_ends)                                 \
    X(a_cancelled_wait_ends_at_once_and_leaves_nothing)                        \
    X(a_wait_cancelled_around_its_grant_is_held_or_gone)                       \
    X(when_the_first_waiter_gives_up_the_second_still_enters)                  \
    X(three_waiters_never_enter_together)                                      \
    /* lease.c */                                                              \
    X(a_fixed_lease_ends_without_renewal)                                      \
    X(the_watchdog_keeps_a_lock_through_three_leases)                          \
    X(nothing_is_renewed_after_its_release)                                    \
    X(freeing_the_handle_releases_the_lock)                                    \
    X(a_shorter_lease_inside_a_longer_one_does_not_end_it)                     \
    X(extend_counts_the_lease_from_now)                                        \
    X(release_after_keeps_others_out_for_that_long)                            \
    X(the_longest_hold_allowed_ends_the_hold)                                  \
    /* loss.c */                                                               \
    X(a_forced_release_is_told_once_in_every_way)                              \
    X(a_lost_lock_taken_again_is_kept_alive_again)                             \
    X(force_on_a_free_lock_says_free)                                          \
    X(force_may_be_limited_to_one_owner)                                       \
    X(a_forced_release_lets_a_waiter_in_with_a_higher_token)                   \
    /* misuse.c */                                                             \
    X(a_forked_child_owns_nothing_and_the_parent_keeps_all)                    \
    X(nothing_is_left_when_a_client_is_closed)                                 \
    X(the_list_says_who_holds_and_why)

/* Of one permit, which belongs to its handle and is entered once. */
#define HF_CONTRACT_TESTS_OF_PERMIT(X)                                         \
    /* verbs.c */                                                              \
    X(who_holds_and_asks_again_gets_the_same_grant)                            \
    X(who_is_refused_learns_when_to_ask_again)                                 \
    X(release_may_be_called_twice_and_for_nothing)                             \
    X(release_is_the_way_out_of_the_line_too)                                  \
    X(what_belongs_to_an_earlier_grant_comes_too_late)                         \
    X(renewal_never_brings_back_what_has_ended)                                \
    X(renewal_answers_for_every_claim)                                         \
    /* exclusion.c */                                                          \
    X(a_guarded_counter_loses_no_increment)                                    \
    X(a_held_lock_answers_busy_to_a_try)                                       \
    X(a_released_lock_can_be_taken_again)                                      \
    X(two_handles_that_own_exclude_each_other_in_one_thread)                   \
    X(a_thousand_grants_have_a_thousand_growing_tokens)                        \
    X(names_of_every_kind_do_not_collide)                                      \
    X(a_posted_release_lets_the_next_one_in)                                   \
    X(a_lock_without_re_entry_refuses_its_owner)                               \
    /* waiting.c */                                                            \
    X(a_timed_wait_ends_on_time_and_leaves_nothing)                            \
    X(a_wait_for_ever_ends_with_the_release)                                   \
    X(a_release_wakes_the_waiter_without_polling)                              \
    X(a_waiter_enters_when_a_fixed_lease_ends)                                 \
    X(a_cancelled_wait_ends_at_once_and_leaves_nothing)                        \
    X(a_wait_cancelled_around_its_grant_is_held_or_gone)                       \
    X(when_the_first_waiter_gives_up_the_second_still_enters)                  \
    X(three_waiters_never_enter_together)                                      \
    /* lease.c */                                                              \
    X(a_fixed_lease_ends_without_renewal)                                      \
    X(the_watchdog_keeps_a_lock_through_three_leases)                          \
    X(freeing_the_handle_releases_the_lock)                                    \
    X(extend_counts_the_lease_from_now)                                        \
    /* loss.c */                                                               \
    X(a_forced_release_is_told_once_in_every_way)                              \
    X(force_on_a_free_lock_says_free)                                          \
    X(force_may_be_limited_to_one_owner)                                       \
    X(a_forced_release_lets_a_waiter_in_with_a_higher_token)                   \
    /* misuse.c */                                                             \
    X(a_forked_child_owns_nothing_and_the_parent_keeps_all)

/* Of both, where another process can open the store. */
#define HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)                                    \
    /* across.c */                                                             \
    X(two_processes_of_eight_threads_lose_no_increment)                        \
    X(a_killed_holder_frees_the_lock)                                          \
    X(a_killed_waiter_stands_in_nobodys_way)                                   \
    X(a_stopped_holder_wakes_up_to_find_it_lost)                               \
    X(another_process_is_woken_by_a_release)

/* What only some kinds do. */
#define HF_CONTRACT_TESTS_OF_OTHERS(X)                                         \
    /* async.c */                                                              \
    X(permits_are_taken_and_given_without_waiting)                             \
    X(a_latch_is_awaited_without_waiting)                                      \
    /* rw.c */                                                                 \
    X(readers_hold_together_and_a_writer_alone)                                \
    X(a_writer_enters_when_the_last_reader_has_left)                           \
    X(twenty_readers_enter_together_when_the_writer_leaves)                    \
    X(a_writer_may_read_and_others_may_not)                                    \
    X(a_downgrade_lets_readers_in_and_keeps_writers_out)                       \
    X(a_reader_who_wants_to_write_is_told_that_it_cannot)                      \
    X(each_side_is_entered_again_and_counted_for_itself)                       \
    X(releasing_one_side_keeps_the_other)                                      \
    X(a_read_inside_a_write_outlives_the_watchdogs_lease)                      \
    X(a_reader_with_a_short_lease_does_not_shorten_a_longer_one)               \
    X(a_reader_may_shorten_its_own_lease)                                      \
    X(two_readers_enter_when_the_writers_lease_ends)                           \
    X(a_writer_enters_when_the_last_readers_lease_ends)                        \
    X(fifty_readers_are_kept_alive_and_leave_cleanly)                          \
    X(readers_pass_a_waiting_writer)                                           \
    X(where_writers_come_first_readers_stay_behind_them)                       \
    X(a_waiting_writer_that_gives_up_lets_readers_in)                          \
    X(a_writer_reads_although_another_writer_waits)                            \
    X(a_writer_reads_although_its_own_threads_wait)                            \
    X(who_lost_its_write_unawares_reads_like_anybody)                          \
    X(a_crowd_of_readers_and_writers_keeps_to_the_rule)                        \
    X(a_forced_release_of_readers_is_told_to_each)                             \
    X(force_acts_on_the_side_it_is_asked_of)                                   \
    X(the_list_tells_readers_from_writers)                                     \
    X(a_read_write_lock_may_have_a_tag_in_its_name)                            \
    /* fair.c */                                                               \
    X(waiters_of_several_clients_enter_in_the_order_they_came)                 \
    X(hundreds_of_threads_get_through_a_fair_lock_in_order)                    \
    X(who_gives_up_leaves_nothing_in_a_fair_line)                              \
    X(who_gives_up_in_the_middle_does_not_disturb_the_order)                   \
    X(a_try_takes_no_place_and_overtakes_nobody)                               \
    X(waiters_enter_in_order_as_leases_end)                                    \
    X(lock_fair_and_spin_of_one_name_exclude_each_other)                       \
    X(a_spin_lock_keeps_to_its_back_off)                                       \
    /* semaphore.c */                                                          \
    X(a_semaphore_that_nobody_set_has_nothing)                                 \
    X(the_first_to_set_a_semaphore_wins)                                       \
    X(a_semaphore_set_for_a_while_vanishes)                                    \
    X(permits_add_up)                                                          \
    X(to_take_nothing_always_succeeds)                                         \
    X(whoever_likes_gives_permits)                                             \
    X(a_semaphore_that_is_not_set_can_be_left_so)                              \
    X(permits_may_become_less_than_none_and_recover)                           \
    X(draining_takes_what_is_free)                                             \
    X(a_semaphore_is_resized)                                                  \
    X(a_deleted_semaphore_is_gone)                                             \
    X(a_semaphore_bears_the_largest_numbers)                                   \
    X(a_wait_for_permits_ends_on_time)                                         \
    X(a_wait_for_permits_ends_with_their_release)                              \
    X(a_wait_for_many_permits_needs_them_all)                                  \
    X(a_wait_for_permits_can_be_cancelled)                                     \
    X(waiters_are_woken_by_permits_without_polling)                            \
    X(a_semaphore_that_is_set_wakes_who_waits_for_it)                          \
    X(one_permit_excludes_like_a_lock)                                         \
    X(three_permits_let_three_in_and_lose_no_wake_up)                          \
    X(two_who_want_both_permits_get_them_in_turn)                              \
    X(a_lost_answer_counts_once)                                               \
    X(a_take_without_an_answer_is_given_back)                                  \
    X(what_was_undone_before_it_came_takes_nothing)                            \
    X(a_lost_message_does_not_keep_permits_from_a_waiter)                      \
    X(the_list_shows_a_semaphore_and_its_count)                                \
    X(a_semaphore_that_is_null_is_refused)                                     \
    /* permit.c */                                                             \
    X(permits_that_nobody_set_cannot_be_leased)                                \
    X(leased_permits_are_counted_apart)                                        \
    X(many_permits_are_leased_together_or_not_at_all)                          \
    X(leased_permits_and_taken_ones_come_out_of_one_number)                    \
    X(a_leased_permit_is_kept_alive)                                           \
    X(a_fixed_lease_returns_its_permits_once)                                  \
    X(a_waiter_enters_when_a_permits_lease_ends)                               \
    X(a_waiter_for_many_permits_needs_them_all)                                \
    X(a_semaphore_may_become_smaller_than_what_is_leased)                      \
    X(who_leases_from_a_deleted_semaphore_has_lost)                            \
    X(a_semaphore_that_vanishes_takes_its_leases_with_it)                      \
    X(two_who_want_both_permits_lease_them_in_turn)                            \
    X(permits_are_returned_once)                                               \
    X(the_list_shows_who_has_how_many_permits)                                 \
    /* latch.c */                                                              \
    X(a_latch_that_nobody_set_is_open)                                         \
    X(a_latch_is_set_once)                                                     \
    X(a_latch_opens_when_it_has_counted_down)                                  \
    X(counting_an_open_latch_down_is_harmless)                                 \
    X(a_wait_for_a_latch_ends_on_time)                                         \
    X(a_wait_for_a_latch_can_be_cancelled)                                     \
    X(five_who_wait_for_a_latch_all_go)                                        \
    X(a_latch_may_open_while_a_waiter_reads_it)                                \
    X(deleting_a_latch_lets_its_waiters_go)                                    \
    X(a_latch_can_be_set_again_once_it_has_opened)                             \
    X(a_lost_answer_counts_a_latch_down_once)                                  \
    X(a_lost_message_does_not_keep_a_latch_closed)                             \
    X(the_list_shows_a_latch_and_its_count)                                    \
    X(a_latch_that_is_null_is_refused)                                         \
    /* presence.c */                                                           \
    X(who_waits_for_a_number_is_listed)                                        \
    /* deadlock.c */                                                           \
    X(a_circle_may_go_through_readers)                                         \
    X(a_circle_may_go_through_permits)                                         \
    /* misuse.c */                                                             \
    X(a_forked_child_leaves_numbers_alone)                                     \
    /* multi.c */                                                              \
    X(members_may_be_of_different_kinds)                                       \
    X(readers_share_a_multi_lock_and_each_is_told)                             \
    X(a_cancel_just_before_the_wait_is_heard)                                  \
    X(both_sides_of_one_lock_are_no_two_members)

#define HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(X)                                  \
    /* rw.c */                                                                 \
    X(a_killed_reader_does_not_keep_a_writer_out)                              \
    X(a_reader_does_not_keep_a_dead_one_alive)                                 \
    X(readers_in_another_process_are_woken)                                    \
    /* fair.c */                                                               \
    X(a_killed_head_of_a_fair_line_costs_seconds)                              \
    X(a_stopped_head_of_a_fair_line_is_passed_and_comes_back)                  \
    X(two_processes_take_turns_in_a_fair_line)                                 \
    /* semaphore.c */                                                          \
    X(permits_are_given_back_by_another_process)                               \
    X(one_permit_excludes_between_processes)                                   \
    X(taken_permits_outlive_their_process)                                     \
    /* permit.c */                                                             \
    X(leased_permits_return_when_their_process_is_killed)                      \
    /* latch.c */                                                              \
    X(a_latch_is_counted_down_by_another_process)

#define HF_CONTRACT_DECLARE(name) void name(void **state);
HF_CONTRACT_TESTS(HF_CONTRACT_DECLARE)
HF_CONTRACT_TESTS_ACROSS(HF_CONTRACT_DECLARE)
HF_CONTRACT_TESTS_OF_OTHERS(HF_CONTRACT_DECLARE)
HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(HF_CONTRACT_DECLARE)

#define HF_CONTRACT_ENTRY(name)                                                \
    HF_TEST_IN(hf_contract_begin, name, hf_contract_end),

/* The sentence said of another kind. */
#define HF_CONTRACT_ENTRY_OF(kind, name)                                       \
    {#kind "." #name, hf_contract_begin_##kind, NULL, hf_contract_end,         \
     (void *)name},
#define HF_CONTRACT_FAIR(name)   HF_CONTRACT_ENTRY_OF(fair, name)
#define HF_CONTRACT_SPIN(name)   HF_CONTRACT_ENTRY_OF(spin, name)
#define HF_CONTRACT_WRITE(name)  HF_CONTRACT_ENTRY_OF(write, name)
#define HF_CONTRACT_PERMIT(name) HF_CONTRACT_ENTRY_OF(permit, name)

#define HF_CONTRACT(store_, fresh_, discard_, ...)                             \
    const hf_contract hf_contract_under_test = {                               \
        .store = store_, .fresh = fresh_, .discard = discard_};                \
    HF_CONTRACT_SUITE(__VA_ARGS__)

/* For a store whose file says itself what hf_contract_under_test is. */
#define HF_CONTRACT_SUITE(...)                                                 \
    static const struct CMUnitTest tests[] = {__VA_ARGS__};                    \
    HF_SUITE(tests)

#endif
