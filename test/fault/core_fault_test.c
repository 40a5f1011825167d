/* SPDX-License-Identifier: MIT
 *
 * core_fault_test.c - what becomes of a caller when verbs are lost, doubled,
 * delayed or denied.
 *
 * The store itself (memory) is sound and is watched through a second, direct
 * client: whatever the troubled client is told must agree with it. */
#include "backend/fault.h"
#include "client.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static char uri[64];
static hf_backend *trouble; /* between the client of `troubled` and the store */
static hf_client *direct;

static int setup(void **state) {
    static int n;
    (void)state;
    snprintf(uri, sizeof uri, "memory:fault-%d", n++);
    direct = hf_test_open(uri, NULL);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    return 0;
}

static hf_client *troubled(const hf_options *options) {
    hf_client *client;
    hf_expect(HF_OK, hf__open_wrapped(&client, uri, options, hf__fault_wrap,
                                      &trouble, ERR));
    return hf_test_adopt(client);
}

static void heal(void) {
    for (int verb = 0; verb < HF_VERBS; verb++)
        hf__fault_set(trouble, (hf_verb)verb, HF_TROUBLE_NONE, 0);
}

/* Nobody else could say so: the name is free for another client, at once or
 * within a time far below the lease of 30 s. */
static void becomes_free(const char *name) {
    hf_lock *lock = hf_test_lock(direct, name, NULL);
    hf_expect(HF_OK, hf_lock_acquire(lock, 10000, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_free(lock);
}

static void is_taken(const char *name) {
    hf_lock *lock = hf_test_lock(direct, name, NULL);
    hf_expect(HF_BUSY, hf_lock_try(lock, ERR));
    hf_test_free(lock);
}

/* ---- asking ------------------------------------------------------------ */

static void a_lost_answer_is_cured_by_asking_again(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 3);
    hf_expect(HF_OK, hf_lock_acquire(a, 10000, ERR));
    assert_int_equal(hf_lock_holds(a), 1);
    assert_int_equal(hf_test_holders(direct, "x"), 1);
    is_taken("x");
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(hf_test_holders(direct, "x"), 0);
}

/* A peer counted a request that was sent twice as two holds, and one release
 * then freed nothing. */
static void a_doubled_attempt_is_held_once(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_TWICE, -1);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(hf_lock_holds(a), 1);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(hf_test_holders(direct, "x"), 0);
}

static void a_try_without_an_answer_says_doubt_and_is_given_back(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 1);
    hf_expect(HF_EDOUBT, hf_lock_try(a, ERR));
    assert_int_equal(hf_error_class(ERR->code), HF_CLASS_DOUBT);
    assert_non_null(strstr(ERR->text, "'x'"));
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_ENOT_OWNER, hf_lock_release(a, ERR));
    becomes_free("x");
}

/* A caller that timed out may still be granted the lock later: Jepsen's client
 * of etcd blocked everybody that way. */
static void a_grant_that_was_never_heard_of_is_given_back(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, -1);
    hf_expect(HF_EDOUBT, hf_lock_acquire(a, 150, ERR));
    assert_false(hf_lock_is_held(a));
    becomes_free("x");
}

static void requests_that_never_arrive_are_borne_for_a_while(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, 4);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, 1);
    hf_expect(HF_EDOWN, hf_lock_try(a, ERR)); /* a try does not wait */
}

static void a_wait_for_ever_ends_when_patience_does(void **state) {
    (void)state;
    hf_lock *a =
        hf_test_lock(troubled(HF_CLIENT_WITH(.patience_ms = 300)), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, -1);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_EDOWN, hf_lock_acquire(a, HF_FOREVER, ERR));
    assert_in_range(hf_test_now_ms() - began, 300, 10000);
    heal();
    hf_expect(HF_OK, hf_lock_acquire(a, 1000, ERR));
}

static void a_wait_on_a_silent_store_ends_on_time(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_SILENT, -1);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_EDOUBT, hf_lock_acquire(a, 300, ERR));
    assert_in_range(hf_test_now_ms() - began, 290, 2000);
    becomes_free("x");
}

static void a_wait_on_a_silent_store_can_be_cancelled(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a =
        hf_test_lock(troubled(HF_CLIENT_WITH(.timeout_ms = 200)), "x", NULL);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_SILENT, -1);
    hf_test_begin(&waiter, a, HF_FOREVER);
    assert_int_not_equal(hf_test_cancel(&waiter), HF_OK);
    assert_in_range(waiter.took_ms, 0, 5000);
    hf_expect(HF_OK, hf_test_end(&waiter));
    becomes_free("x");
}

static void a_lost_message_costs_a_moment_only(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(direct, "x", NULL);
    hf_lock *b = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_WATCH, HF_TROUBLE_MUTE, -1);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, 10000);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void who_cannot_listen_polls(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(direct, "x", NULL);
    hf_lock *b = hf_test_lock(troubled(NULL), "x", NULL);
    hf__fault_set(trouble, HF_VERB_WATCH, HF_TROUBLE_UNSENT, -1);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(waiter.took_ms, 0, 10000);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- keeping ----------------------------------------------------------- */

#define KEPT_ALIVE HF_LOCK_WITH(.watchdog_ms = 1200, .renew_ms = 100)

static void a_silent_store_loses_the_lock_at_our_own_deadline(void **state) {
    (void)state;
    hf_test_ear e = {0};
    hf_lock *a = hf_test_lock(troubled(NULL), "x", KEPT_ALIVE);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_SILENT, -1);
    hf_test_eventually(atomic_load(&e.doubt) == 1, HF_TEST_LONG);
    assert_true(hf_lock_is_held(a)); /* in doubt is still ours */
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_int_equal(atomic_load(&e.lost), 1);
}

static void one_failed_renewal_is_no_loss(void **state) {
    (void)state;
    hf_test_ear e = {0};
    hf_lock *a = hf_test_lock(troubled(NULL), "x", KEPT_ALIVE);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_UNSENT, 2);
    hf_test_eventually(atomic_load(&e.held) == 1, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.doubt), 1);
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_UNANSWERED, 2);
    hf_test_eventually(atomic_load(&e.held) == 2, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.lost), 0);
    assert_true(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

/* Redisson#2515, #3194, #3712: the renewal of a name, or of all names, died of
 * one failure. */
static void renewal_goes_on_after_a_loss(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    hf_lock *a = hf_test_lock(client, "x", KEPT_ALIVE);
    hf_lock *b = hf_test_lock(client, "y", KEPT_ALIVE);
    hf_lock *operator_ = hf_test_lock(direct, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_force_release(operator_, NULL, ERR));
    hf_test_eventually(!hf_lock_is_held(a), HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_throughout(hf_lock_is_held(a) && hf_lock_is_held(b), 2 * 1200);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

/* Locks come and go while the keeper walks over them.  Redisson#6483: what
 * renews all locks died of one that was gone. */
static void the_keeper_bears_locks_that_vanish_under_its_hands(void **state) {
    (void)state;
    enum { N = 40, ROUNDS = 300 };
    hf_lock *locks[N];
    hf_client *client = troubled(NULL);
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        locks[i] = hf_test_lock(
            client, name, HF_LOCK_WITH(.watchdog_ms = 2500, .renew_ms = 2));
        hf_expect(HF_OK, hf_lock_try(locks[i], ERR));
    }
    for (int i = 0; i < ROUNDS; i++) {
        hf_lock *lock = locks[i * 7 % (N / 2)];
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        hf_test_breathe();
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
    }
    int renewals = hf__fault_calls(trouble, HF_VERB_RENEW);
    hf_test_eventually(hf__fault_calls(trouble, HF_VERB_RENEW) > renewals + 3,
                       HF_TEST_LONG);
    for (int i = 0; i < N; i++)
        hf_expect(HF_OK, hf_lock_release(locks[i], ERR));
    assert_int_equal(hf_test_holders(direct, NULL), 0);
}

/* Ten of them take their whole time each, and meanwhile a lease of two seconds is
 * to be kept. */
static void stuck_releases_do_not_keep_renewals_waiting(void **state) {
    (void)state;
    hf_client *client = troubled(HF_CLIENT_WITH(.timeout_ms = 50));
    hf_lock *kept = hf_test_lock(
        client, "kept", HF_LOCK_WITH(.watchdog_ms = 2000, .renew_ms = 200));
    hf_expect(HF_OK, hf_lock_try(kept, ERR));
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_SILENT, -1);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        hf_lock *x = hf_test_lock(client, name, NULL);
        hf_expect(HF_OK, hf_lock_try(x, ERR));
        hf_expect(HF_EDOUBT, hf_lock_release(x, ERR));
    }
    hf_test_throughout(hf_lock_is_held(kept), 4000);
    heal();
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        becomes_free(name);
    }
}

/* ---- a session that is shorter than the lease -------------------------- */

static void a_grant_is_believed_in_no_longer_than_its_session(void **state) {
    (void)state;
    for (int fixed = 0; fixed <= 1; fixed++) {
        hf_lock *lock =
            hf_test_lock(troubled(NULL), fixed ? "fixed" : "kept",
                         HF_LOCK_WITH(.lease_ms = fixed ? 60000 : 0));
        hf__fault_tie(trouble, 300);
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        assert_in_range(hf_lock_remaining_ms(lock), 1, 300);
        hf_test_throughout(hf_lock_is_held(lock), 900); /* asked about */
        hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_SILENT, -1);
        hf_test_eventually(hf_test_is_told(lock), 5000);
        assert_false(hf_lock_is_held(lock));
    }
}

static void asking_about_a_session_leaves_a_fixed_lease_alone(void **state) {
    (void)state;
    hf_lock *a =
        hf_test_lock(troubled(NULL), "x", HF_LOCK_WITH(.lease_ms = 700));
    hf_lock *b = hf_test_lock(direct, "x", NULL);
    hf__fault_tie(trouble, 150);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 650, 2500);
    assert_true(hf__fault_calls(trouble, HF_VERB_RENEW) >= 2);
    assert_false(hf_lock_is_held(a));
}

/* Its own turn to be renewed would come after ten seconds. */
static void who_is_shaken_finds_out_at_once(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    hf_lock *lost = hf_test_lock(client, "lost", NULL);
    hf_lock *fixed =
        hf_test_lock(client, "fixed", HF_LOCK_WITH(.lease_ms = 60000));
    hf_lock *kept = hf_test_lock(client, "kept", NULL);
    const hf_host *host = trouble->host;
    hf_expect(HF_OK, hf_lock_try(lost, ERR));
    hf_expect(HF_OK, hf_lock_try(fixed, ERR));
    hf_expect(HF_OK, hf_lock_try(kept, ERR));
    hf_expect(HF_OK, hf_lock_force_release(hf_test_lock(direct, "lost", NULL),
                                           NULL, ERR));
    hf_expect(HF_OK, hf_lock_force_release(hf_test_lock(direct, "fixed", NULL),
                                           NULL, ERR));
    host->shaken(host->core, HF_LOCK, "lost");
    hf_test_eventually(hf_test_is_told(lost), 5000);
    assert_true(hf_lock_is_held(fixed)); /* as far as it knows */
    host->shaken(host->core, HF_LOCK, NULL);
    hf_test_eventually(hf_test_is_told(fixed), 5000);
    assert_true(hf_lock_is_held(kept));
}

/* Redisson#7272: the start of a renewal could overtake its cancellation, and
 * the lock was renewed for ever after its release. */
static void no_renewal_outlives_its_lock(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x",
                              HF_LOCK_WITH(.watchdog_ms = 300, .renew_ms = 1));
    for (int i = 0; i < 2000; i++) {
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    hf_test_breathe(); /* one that was under way may end */
    int calls = hf__fault_calls(trouble, HF_VERB_RENEW);
    hf_test_throughout(hf__fault_calls(trouble, HF_VERB_RENEW) <= calls + 1,
                       100);
}

/* ---- letting go -------------------------------------------------------- */

static void a_release_that_failed_is_tried_until_it_is_done(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_UNSENT, 3);
    hf_expect(HF_EDOWN, hf_lock_release(a, ERR));
    assert_false(hf_lock_is_held(a));
    becomes_free("x");
}

static void a_release_without_an_answer_says_doubt(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_UNANSWERED, 1);
    hf_expect(HF_EDOUBT, hf_lock_release(a, ERR));
    assert_false(hf_lock_is_held(a));
    becomes_free("x");
    hf_expect(HF_OK, hf_lock_acquire(a, 10000, ERR));
    assert_true(hf_lock_is_held(a));
}

/* The second one must not touch who came after us. */
static void a_doubled_release_frees_only_our_own(void **state) {
    (void)state;
    hf_test_thread next;
    hf_lock *a = hf_test_lock(troubled(NULL), "x", NULL);
    hf_lock *b = hf_test_lock(direct, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&next, b, HF_FOREVER);
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_TWICE, -1);
    hf_lock_release(a, ERR);
    hf_expect(HF_OK, hf_test_answer(&next));
    is_taken("x");
    hf_expect(HF_OK, hf_test_end(&next));
}

static void write_down(void *arg, const hf_event *event) {
    if (event->kind == HF_EVENT_UNRELEASED)
        atomic_fetch_add((atomic_int *)arg, 1);
}

static void a_failed_release_is_an_event(void **state) {
    (void)state;
    atomic_int unreleased = 0;
    hf_client *client = troubled(
        HF_CLIENT_WITH(.on_event = write_down, .event_arg = &unreleased));
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_UNSENT, 1);
    hf_expect(HF_EDOWN, hf_lock_release(a, ERR));
    hf_test_eventually(atomic_load(&unreleased) == 1, HF_TEST_LONG);
    hf_test_free(a);
    hf_test_close(client);
}

/* TigerBeetle: what had no answer was repeated for ever. */
static void closing_ends_although_the_store_is_silent(void **state) {
    (void)state;
    hf_client *client = troubled(HF_CLIENT_WITH(.timeout_ms = 200));
    hf_lock *a = hf_test_lock(client, "x", HF_LOCK_WITH(.watchdog_ms = 600));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_SILENT, -1);
    hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_SILENT, -1);
    int64_t began = hf_test_now_ms();
    hf_test_free(a);
    hf_test_close(client);
    assert_in_range(hf_test_now_ms() - began, 0, 5000);
    becomes_free("x"); /* its lease ended it */
}

/* ---- the other kinds --------------------------------------------------- */

static const hf_kind others[] = {HF_FAIR, HF_SPIN, HF_READ, HF_WRITE,
                                 HF_PERMIT};

enum { OTHERS = sizeof others / sizeof others[0] };

static const hf_lock_options plain = HF_LOCK_OPTIONS_INIT;

/* A lock of the kind in the troubled client, and one in the direct client
 * that it keeps out. */
typedef struct rivals {
    hf_lock *troubled, *direct;
} rivals;

static rivals rivals_of(hf_client *client, hf_kind kind,
                        const hf_lock_options *options) {
    hf_lock_options mine = *options, theirs = HF_LOCK_OPTIONS_INIT;
    char name[16];
    rivals r;
    snprintf(name, sizeof name, "kind %d", (int)kind);
    hf_test_kind = kind;
    mine.kind = HF_LOCK; /* that is: hf_test_kind */
    r.troubled = hf_test_lock(client, name, &mine);
    hf_test_kind = HF_LOCK;
    theirs.kind = kind == HF_READ ? HF_WRITE : kind;
    r.direct = hf_test_lock(direct, name, &theirs);
    return r;
}

static void is_kept_out(const rivals *r) {
    hf_expect(HF_BUSY, hf_lock_try(r->direct, ERR));
}

static void gets_in(const rivals *r) {
    hf_expect(HF_OK, hf_lock_acquire(r->direct, 10000, ERR));
    hf_expect(HF_OK, hf_lock_release(r->direct, ERR));
}

static void every_kind_is_held_once_whatever_is_lost_or_doubled(void **state) {
    (void)state;
    static const hf_trouble troubles[] = {HF_TROUBLE_UNANSWERED,
                                          HF_TROUBLE_TWICE};
    hf_client *client = troubled(NULL);
    for (int i = 0; i < 2 * OTHERS; i++) {
        rivals r = rivals_of(client, others[i / 2], &plain);
        hf__fault_set(trouble, HF_VERB_ATTEMPT, troubles[i % 2], 2);
        hf_expect(HF_OK, hf_lock_acquire(r.troubled, 10000, ERR));
        heal();
        assert_int_equal(hf_lock_holds(r.troubled), 1);
        assert_int_equal(hf_test_holders(direct, hf_lock_name(r.troubled)), 1);
        is_kept_out(&r);
        hf_expect(HF_OK, hf_lock_release(r.troubled, ERR));
        gets_in(&r);
    }
}

static void
a_grant_of_any_kind_that_was_not_heard_of_is_given_back(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    for (int i = 0; i < OTHERS; i++) {
        rivals r = rivals_of(client, others[i], &plain);
        hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 1);
        hf_expect(HF_EDOUBT, hf_lock_try(r.troubled, ERR));
        assert_false(hf_lock_is_held(r.troubled));
        gets_in(&r);
        hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, -1);
        hf_expect(HF_EDOUBT, hf_lock_acquire(r.troubled, 150, ERR));
        heal();
        gets_in(&r);
        assert_int_equal(hf_test_waiters(direct, NULL), 0);
    }
}

static void a_release_of_any_kind_is_tried_until_it_is_done(void **state) {
    (void)state;
    static const hf_trouble troubles[] = {
        HF_TROUBLE_UNSENT, HF_TROUBLE_UNANSWERED, HF_TROUBLE_TWICE};
    hf_client *client = troubled(NULL);
    for (int i = 0; i < 3 * OTHERS; i++) {
        rivals r = rivals_of(client, others[i / 3], &plain);
        hf_expect(HF_OK, hf_lock_acquire(r.troubled, 10000, ERR));
        hf__fault_set(trouble, HF_VERB_RELEASE, troubles[i % 3], 2);
        hf_lock_release(r.troubled, ERR);
        assert_false(hf_lock_is_held(r.troubled));
        gets_in(&r);
        heal();
    }
}

static void a_message_of_any_kind_may_be_lost(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    hf__fault_set(trouble, HF_VERB_WATCH, HF_TROUBLE_MUTE, -1);
    for (int i = 0; i < OTHERS; i++) {
        hf_test_thread waiter;
        rivals r = rivals_of(client, others[i], &plain);
        hf_expect(HF_OK, hf_lock_acquire(r.direct, 10000, ERR));
        hf_test_begin(&waiter, r.troubled, HF_FOREVER);
        hf_expect(HF_OK, hf_lock_release(r.direct, ERR));
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_in_range(hf_test_now_ms() - began, 0, 10000);
        hf_expect(HF_OK, hf_test_end(&waiter));
    }
}

static void renewals_of_any_kind_may_fail_for_a_while(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    rivals all[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        all[i] = rivals_of(client, others[i],
                           HF_LOCK_WITH(.watchdog_ms = 1200, .renew_ms = 100));
        hf_expect(HF_OK, hf_lock_try(all[i].troubled, ERR));
    }
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_UNSENT, 3);
    int64_t by = hf_test_now_ms() + 2500;
    while (hf_test_now_ms() < by) {
        for (int i = 0; i < OTHERS; i++) {
            assert_true(hf_lock_is_held(all[i].troubled));
            is_kept_out(&all[i]);
        }
        hf_test_breathe();
    }
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_SILENT, -1);
    for (int i = 0; i < OTHERS; i++) {
        hf_test_eventually(!hf_lock_is_held(all[i].troubled), HF_TEST_LONG);
        gets_in(&all[i]);
        hf_expect(HF_ELOST, hf_lock_release(all[i].troubled, ERR));
    }
}

/* ---- the fair line ----------------------------------------------------- */

#define FAIR HF_LOCK_WITH(.kind = HF_FAIR)

/* The claim of the only one who waits through the client, as the store knows
 * it; to be moved behind the back of the core. */
static hf_claim claim_of_the_waiter(const hf_client *client) {
    return (hf_claim){.name = "x",
                      .kind = HF_FAIR,
                      .mode = HF_EXCLUSIVE,
                      .owner = atomic_load(&client->last_owner),
                      .lease_ms = 1000};
}

static void a_fair_waiter_whose_place_vanished_takes_another(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = troubled(NULL);
    hf_lock *a = hf_test_lock(direct, "x", FAIR);
    hf_lock *b = hf_test_lock(client, "x", FAIR);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(hf_test_waiters(direct, "x") == 1, HF_TEST_LONG);
    hf_claim c = claim_of_the_waiter(client);
    int rc = client->be->ops->release(client->be, &c, HF_RELEASE, NULL,
                                      hf__after_ms(1000), ERR);
    hf_expect(HF_OK, rc);
    assert_int_equal(hf_test_waiters(direct, "x"), 0);
    hf_test_eventually(hf_test_waiters(direct, "x") == 1, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_int_equal(hf_test_waiters(direct, "x"), 0);
}

static void the_place_of_a_fair_waiter_is_kept(void **state) {
    (void)state;
    hf_test_thread waiters[3];
    hf_client *client = troubled(NULL);
    hf_lock *a = hf_test_lock(direct, "x", FAIR);
    hf_lock *b = hf_test_lock(client, "x", FAIR);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 3; i++)
        hf_test_begin(&waiters[i], b, HF_FOREVER);
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_UNANSWERED, 1);
    int before = hf__fault_calls(trouble, HF_VERB_RENEW);
    hf_test_eventually(hf__fault_calls(trouble, HF_VERB_RENEW) >= before + 2,
                       HF_TEST_LONG);
    assert_int_equal(hf_test_waiters(direct, "x"), 3);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
}

/* A fair number is used again once its release was confirmed.  Should a
 * failover lose that release, the store takes the next of that number for its
 * holder; a token that was used would let the former one write, too. */
static void a_release_that_the_store_lost_brings_no_token_back(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    hf_lock *lock = hf_test_lock(client, "x", FAIR);
    for (int waits = 0; waits < 2; waits++) {
        hf_expect(HF_OK, hf_lock_try(lock, ERR));
        uint64_t before = hf_lock_token(lock);
        hf__fault_set(trouble, HF_VERB_RELEASE, HF_TROUBLE_FORGOTTEN, 1);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        hf_expect(HF_OK, hf_lock_acquire(lock, waits ? 10000 : 0, ERR));
        assert_true(hf_lock_token(lock) > before);
        hf_expect(HF_OK, hf_lock_release(lock, ERR));
        becomes_free("x");
    }
}

/* A store that lost a grant has its holder waiting still; what it releases
 * for later is then a place in the line, which must not stay. */
static void a_release_for_later_of_one_who_waits_leaves_no_place(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    hf_lock *a = hf_test_lock(direct, "x", FAIR);
    hf_claim c = claim_of_the_waiter(client);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int rc =
        client->be->ops->attempt(client->be, &c, true, hf__after_ms(1000), ERR);
    hf_expect(HF_BUSY, rc);
    rc = client->be->ops->release(client->be, &c, HF_RELEASE_AFTER, NULL,
                                  hf__after_ms(1000), ERR);
    hf_expect(HF_OK, rc);
    assert_int_equal(hf_test_waiters(direct, "x"), 0);
}

/* Granted unasked, and the message was lost: the store then takes the name
 * back, or the waiter finds that it has it. */
static void
a_grant_that_came_unheard_is_found_or_asked_for_again(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = troubled(NULL);
    hf_lock *a = hf_test_lock(direct, "x", FAIR);
    hf_lock *b = hf_test_lock(client, "x", FAIR);
    hf__fault_set(trouble, HF_VERB_WATCH, HF_TROUBLE_MUTE, -1);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(hf_test_waiters(direct, "x") == 1, HF_TEST_LONG);
    hf_claim c = claim_of_the_waiter(client);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    int rc =
        client->be->ops->attempt(client->be, &c, true, hf__after_ms(1000), ERR);
    hf_expect(HF_OK, rc);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token >= c.token);
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_expect(HF_OK, hf_lock_acquire(a, 10000, ERR));
}

static void a_grant_that_came_unasked_is_kept_alive(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(direct, "x", FAIR);
    hf_lock *b = hf_test_lock(troubled(NULL), "x", FAIR);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(hf_test_waiters(direct, "x") == 1, HF_TEST_LONG);
    int asked = hf__fault_calls(trouble, HF_VERB_ATTEMPT);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf__fault_calls(trouble, HF_VERB_ATTEMPT) - asked, 0, 1);
    hf_test_throughout(hf_lock_try(a, ERR) == HF_BUSY, 2500);
    hf_expect(HF_OK, hf_test_end(&waiter)); /* it was still its own */
}

static void
a_grant_that_came_unasked_and_is_not_confirmed_is_lost(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_test_ear e = {0};
    hf_lock *a = hf_test_lock(direct, "x", FAIR);
    hf_lock *b = hf_test_lock(troubled(NULL), "x", FAIR);
    hf_lock_on_state(b, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(hf_test_waiters(direct, "x") == 1, HF_TEST_LONG);
    hf__fault_set(trouble, HF_VERB_RENEW, HF_TROUBLE_SILENT, -1);
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNSENT, -1);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_lock_acquire(a, 5000, ERR)); /* long before 30 s */
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_test_end(&waiter));
    assert_true(hf_lock_is_held(a));
}

/* ---- numbers ----------------------------------------------------------- */

static int64_t available(hf_semaphore *sem) {
    int64_t n = INT64_MIN;
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    return n;
}

static void
a_count_that_does_not_arrive_is_sent_again_for_a_while(void **state) {
    (void)state;
    hf_semaphore *seen = hf_test_semaphore(direct, "x");
    hf_semaphore *a =
        hf_test_semaphore(troubled(HF_CLIENT_WITH(.timeout_ms = 400)), "x");
    hf_expect(HF_OK, hf_semaphore_set(seen, 5, 0, ERR));
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNSENT, 3);
    hf_expect(HF_OK, hf_semaphore_release(a, 1, ERR));
    assert_int_equal(available(seen), 6);
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNSENT, -1);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_EDOWN, hf_semaphore_release(a, 1, ERR));
    assert_in_range(hf_test_now_ms() - began, 0, 5000);
    assert_int_equal(available(seen), 6);
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_UNANSWERED, -1);
    hf_expect(HF_EDOUBT, hf_semaphore_release(a, 1, ERR));
    assert_int_equal(available(seen), 7); /* once, if at all */
    hf__fault_set(trouble, HF_VERB_COUNT, HF_TROUBLE_SILENT, -1);
    began = hf_test_now_ms();
    hf_expect(HF_EDOUBT, hf_semaphore_release(a, 1, ERR));
    assert_in_range(hf_test_now_ms() - began, 300, 5000);
    assert_int_equal(available(seen), 7);
    heal();
    hf_expect(HF_OK, hf_semaphore_release(a, 1, ERR));
    assert_int_equal(available(seen), 8);
}

static void waits_for_numbers_on_a_silent_store_end_on_time(void **state) {
    (void)state;
    hf_client *client = troubled(HF_CLIENT_WITH(.timeout_ms = 200));
    hf_semaphore *sem = hf_test_semaphore(client, "x");
    hf_latch *latch = hf_test_latch(client, "x");
    hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_SILENT, -1);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_EDOUBT, hf_semaphore_acquire(sem, 1, 300, ERR));
    assert_true(hf_latch_wait(latch, 300, ERR) < 0); /* it takes nothing */
    assert_in_range(hf_test_now_ms() - began, 580, 5000);
}

static void waits_for_numbers_bear_a_store_in_trouble(void **state) {
    (void)state;
    hf_test_task taker, waiter;
    hf_client *client = troubled(NULL);
    hf_semaphore *sem = hf_test_semaphore(direct, "x");
    hf_latch *latch = hf_test_latch(direct, "y");
    hf_expect(HF_OK, hf_latch_set(latch, 1, ERR));
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 4);
    hf_test_take(&taker, hf_test_semaphore(client, "x"), 2, HF_FOREVER);
    hf_test_await(&waiter, hf_test_latch(client, "y"), HF_FOREVER);
    hf_expect(HF_OK, hf_semaphore_set(sem, 3, 0, ERR));
    hf_expect(HF_OK, hf_latch_count_down(latch, ERR));
    hf_expect(HF_OK, hf_test_result(&taker));
    hf_expect(HF_OK, hf_test_result(&waiter));
    assert_int_equal(available(sem), 1);
}

/* What was taken unheard is given back although the client goes. */
static void closing_gives_back_what_was_taken_unheard(void **state) {
    (void)state;
    hf_client *client = troubled(NULL);
    hf_semaphore *seen = hf_test_semaphore(direct, "x"), *sem;
    hf_expect(HF_OK, hf_semaphore_set(seen, 3, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_new(&sem, client, "x", ERR));
    hf__fault_set(trouble, HF_VERB_ATTEMPT, HF_TROUBLE_UNANSWERED, 1);
    hf_expect(HF_EDOUBT, hf_semaphore_acquire(sem, 2, 0, ERR));
    hf_semaphore_free(sem);
    hf_test_close(client);
    assert_int_equal(available(seen), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_lost_answer_is_cured_by_asking_again),
    TEST(a_doubled_attempt_is_held_once),
    TEST(a_try_without_an_answer_says_doubt_and_is_given_back),
    TEST(a_grant_that_was_never_heard_of_is_given_back),
    TEST(requests_that_never_arrive_are_borne_for_a_while),
    TEST(a_wait_for_ever_ends_when_patience_does),
    TEST(a_wait_on_a_silent_store_ends_on_time),
    TEST(a_wait_on_a_silent_store_can_be_cancelled),
    TEST(a_lost_message_costs_a_moment_only),
    TEST(who_cannot_listen_polls),
    TEST(a_silent_store_loses_the_lock_at_our_own_deadline),
    TEST(one_failed_renewal_is_no_loss),
    TEST(renewal_goes_on_after_a_loss),
    TEST(the_keeper_bears_locks_that_vanish_under_its_hands),
    TEST(no_renewal_outlives_its_lock),
    TEST(stuck_releases_do_not_keep_renewals_waiting),
    TEST(a_grant_is_believed_in_no_longer_than_its_session),
    TEST(asking_about_a_session_leaves_a_fixed_lease_alone),
    TEST(who_is_shaken_finds_out_at_once),
    TEST(a_release_that_failed_is_tried_until_it_is_done),
    TEST(a_release_without_an_answer_says_doubt),
    TEST(a_doubled_release_frees_only_our_own),
    TEST(a_failed_release_is_an_event),
    TEST(closing_ends_although_the_store_is_silent),
    TEST(every_kind_is_held_once_whatever_is_lost_or_doubled),
    TEST(a_grant_of_any_kind_that_was_not_heard_of_is_given_back),
    TEST(a_release_of_any_kind_is_tried_until_it_is_done),
    TEST(a_message_of_any_kind_may_be_lost),
    TEST(renewals_of_any_kind_may_fail_for_a_while),
    TEST(a_fair_waiter_whose_place_vanished_takes_another),
    TEST(the_place_of_a_fair_waiter_is_kept),
    TEST(a_release_that_the_store_lost_brings_no_token_back),
    TEST(a_release_for_later_of_one_who_waits_leaves_no_place),
    TEST(a_grant_that_came_unheard_is_found_or_asked_for_again),
    TEST(a_grant_that_came_unasked_is_kept_alive),
    TEST(a_grant_that_came_unasked_and_is_not_confirmed_is_lost),
    TEST(a_count_that_does_not_arrive_is_sent_again_for_a_while),
    TEST(waits_for_numbers_on_a_silent_store_end_on_time),
    TEST(waits_for_numbers_bear_a_store_in_trouble),
    TEST(closing_gives_back_what_was_taken_unheard),
};
HF_SUITE(tests)
