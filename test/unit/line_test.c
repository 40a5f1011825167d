/* SPDX-License-Identifier: MIT
 *
 * line_test.c - the verbs of src/backend/line over a port without a server:
 * doubt, sessions that end, blockers that move, and what nobody waits for. */
#include "support/fake_port.h"
#include "support/suite.h"
#include "support/wait.h"
#include "world.h"

#include <stdatomic.h>
#include <string.h>

/* What the core would have heard. */
static struct {
    atomic_int woken, granted, shaken, unreleased;
    _Atomic uint64_t owner, token;
} heard;

static void on_woken(void *core, hf_kind kind, const char *name,
                     uint64_t owner) {
    (void)core, (void)kind, (void)name;
    atomic_store(&heard.owner, owner);
    atomic_fetch_add(&heard.woken, 1);
}

static void on_granted(void *core, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    (void)core, (void)kind, (void)name;
    assert_true(until > hf__now());
    atomic_store(&heard.owner, owner);
    atomic_store(&heard.token, token);
    atomic_fetch_add(&heard.granted, 1);
}

static void on_shaken(void *core, hf_kind kind, const char *name) {
    (void)core, (void)kind, (void)name;
    atomic_fetch_add(&heard.shaken, 1);
}

static void on_unreleased(void *core, const char *name, int code) {
    (void)core, (void)name;
    assert_int_equal(code, HF_EFORBIDDEN);
    atomic_fetch_add(&heard.unreleased, 1);
}

static const hf_host host = {.identity = {.client = "c", .host = "h"},
                             .timeout_ms = 3000,
                             .lease_ms = 30000,
                             .woken = on_woken,
                             .granted = on_granted,
                             .shaken = on_shaken,
                             .unreleased = on_unreleased};

static hf_backend *a, *b; /* two clients */
static hf_error err;

static void begin(void **state) {
    memset(&heard, 0, sizeof heard);
    hf_test_fake_settles(0);
    hf_test_fake_session(5000);
    a = hf_test_fake_open(&host);
    b = hf_test_fake_open(&host);
    hf_test_body(state);
}

static int end(void **state) {
    (void)state;
    if (a)
        a->ops->close(a, false);
    if (b)
        b->ops->close(b, false);
    a = b = NULL;
    return 0;
}

static hf_claim claim(uint64_t owner, hf_kind kind) {
    hf_claim c = {.name = "x",
                  .kind = kind,
                  .mode = kind == HF_READ ? HF_SHARED : HF_EXCLUSIVE,
                  .permits = 1,
                  .owner = owner,
                  .lease_ms = 30000};
    memcpy(c.nonce, &owner, sizeof owner);
    return c;
}

static int ask(hf_backend *be, hf_claim *c, bool waits) {
    return be->ops->attempt(be, c, waits, hf__after_ms(1000), &err);
}

static int let_go(hf_backend *be, hf_claim *c, hf_how how) {
    return be->ops->release(be, c, how, NULL, hf__after_ms(1000), &err);
}

static int renew(hf_backend *be, hf_claim *c) {
    c->result = HF_EDOUBT;
    int rc = be->ops->renew(be, &c, 1, hf__after_ms(1000), &err);
    return rc != HF_OK ? rc : c->result;
}

static void watch(hf_backend *be, hf_claim *c, bool on) {
    assert_int_equal(be->ops->watch(be, c, on, hf__after_ms(1000), &err),
                     HF_OK);
}

/* ---- doubt ------------------------------------------------------------- */

static void who_asks_again_after_doubt_finds_its_entry(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    hf_test_fake_set(a, HF_TEST_ENTER, HF_TEST_UNANSWERED, 1);
    assert_int_equal(ask(a, &c, false), HF_EDOUBT);
    assert_true(c.place != 0);
    assert_int_equal(hf_test_fake_entries("x"), 1);
    assert_int_equal(ask(a, &c, false), HF_OK);
    assert_int_equal(hf_test_fake_entries("x"), 1);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_OK);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
    assert_int_equal(hf_test_fake_entries("x"), 0);
}

static void a_doubtful_entry_is_left_without_its_key(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    hf_test_fake_set(a, HF_TEST_ENTER, HF_TEST_UNANSWERED, 1);
    assert_int_equal(ask(a, &c, true), HF_EDOUBT);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_OK);
    assert_int_equal(hf_test_fake_entries("x"), 0);
}

static void what_never_left_is_no_doubt(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    hf_test_fake_set(a, HF_TEST_ENTER, HF_TEST_DOWN, 1);
    assert_int_equal(ask(a, &c, true), HF_EDOWN);
    assert_true(c.place == 0);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
    assert_int_equal(hf_test_fake_calls(a, HF_TEST_LEAVE), 0);
}

static void an_entry_that_comes_late_is_taken_out(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), other = claim(2, HF_LOCK);
    hf_test_fake_settles(2000);
    hf_test_fake_set(a, HF_TEST_ENTER, HF_TEST_LATE, 1);
    assert_int_equal(ask(a, &c, false), HF_EDOUBT);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
    hf_test_fake_arrive(a);
    assert_int_equal(hf_test_fake_entries("x"), 1);
    hf_test_eventually(hf_test_fake_entries("x") == 0, HF_TEST_LONG);
    assert_int_equal(ask(b, &other, false), HF_OK);
}

static void an_entry_that_comes_after_its_release_is_taken_out(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    hf_test_fake_settles(2000);
    hf_test_fake_set(a, HF_TEST_ENTER, HF_TEST_LATE, 1);
    assert_int_equal(ask(a, &c, false), HF_EDOUBT);
    assert_int_equal(ask(a, &c, false), HF_OK);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_OK);
    hf_test_fake_arrive(a);
    hf_test_eventually(hf_test_fake_entries("x") == 0, HF_TEST_LONG);
}

static void what_was_not_left_is_left_later(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_fake_set(a, HF_TEST_LEAVE, HF_TEST_UNASKED, 3);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_EDOUBT);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
    hf_test_eventually(hf_test_fake_entries("x") == 0, HF_TEST_LONG);
}

static void who_tries_and_is_overtaken_leaves_nothing(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    hf_test_fake_set(a, HF_TEST_ENTER, HF_TEST_OVERTAKEN, 1);
    assert_int_equal(ask(a, &c, false), HF_BUSY);
    assert_true(c.place == 0);
    assert_int_equal(hf_test_fake_entries("x"), 1);
    hf_test_fake_remove("x", 0);
}

/* ---- generations ------------------------------------------------------- */

static void what_was_held_in_an_earlier_session_is_lost(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_fake_expire(a);
    assert_true(atomic_load(&heard.shaken) > 0);
    assert_int_equal(renew(a, &c), HF_ELOST);
    assert_int_equal(hf_test_fake_calls(a, HF_TEST_CHECK), 0);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
    assert_int_equal(hf_test_fake_calls(a, HF_TEST_LEAVE), 0);
}

static void who_waits_through_a_session_stands_again(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    hf_test_fake_expire(a);
    assert_true(atomic_load(&heard.woken) > 0);
    assert_int_equal(hf_test_fake_entries("x"), 1);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_int_equal(hf_test_fake_entries("x"), 2);
    int woken = atomic_load(&heard.woken) + atomic_load(&heard.granted);
    assert_int_equal(let_go(b, &c, HF_RELEASE), HF_OK);
    assert_true(atomic_load(&heard.woken) + atomic_load(&heard.granted) >
                woken);
    assert_int_equal(ask(a, &w, true), HF_OK);
    watch(a, &w, false);
}

static void an_errand_ends_with_its_session(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_fake_set(a, HF_TEST_LEAVE, HF_TEST_DOWN, -1);
    assert_int_equal(let_go(a, &c, HF_RELEASE_POSTED), HF_OK);
    hf_test_eventually(hf_test_fake_calls(a, HF_TEST_LEAVE) > 2, HF_TEST_LONG);
    hf_test_fake_expire(a);
    hf_test_fake_set(a, HF_TEST_LEAVE, HF_TEST_FINE, 0);
    assert_int_equal(ask(a, &c, false), HF_OK); /* the same owner, anew */
    hf_test_throughout(hf_test_fake_entries("x") == 1, 300);
    assert_int_equal(renew(a, &c), HF_OK);
    assert_int_equal(atomic_load(&heard.unreleased), 0);
}

/* ---- leases ------------------------------------------------------------ */

static void a_lease_that_is_over_is_ended_here(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    c.lease_ms = 100;
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_eventually(hf_test_fake_entries("x") == 0, HF_TEST_LONG);
    assert_int_equal(renew(a, &c), HF_ELOST);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
}

static void a_lease_that_is_renewed_lasts(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    c.lease_ms = 400;
    assert_int_equal(ask(a, &c, false), HF_OK);
    assert_int_equal(c.session_ms, 5000);
    hf_test_throughout(renew(a, &c) == HF_OK, 1000);
    assert_int_equal(hf_test_fake_entries("x"), 1);
}

/* The session may have come through what kept us from renewing, and would keep
 * everybody waiting for the rest of the lease. */
static void what_nobody_believes_in_any_more_is_ended_here(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    hf_test_fake_session(300);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_throughout(renew(a, &c) == HF_OK, 500);
    hf_test_eventually(hf_test_fake_entries("x") == 0, HF_TEST_LONG);
    assert_int_equal(renew(a, &c), HF_ELOST);
}

static void a_renewal_without_an_answer_is_in_doubt(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_fake_set(a, HF_TEST_CHECK, HF_TEST_DOWN, 1);
    assert_int_equal(renew(a, &c), HF_EDOWN);
    assert_int_equal(renew(a, &c), HF_OK);
}

/* ---- waiting ----------------------------------------------------------- */

static void the_watch_moves_with_the_blocker(void **state) {
    (void)state;
    hf_claim first = claim(1, HF_LOCK), second = claim(2, HF_LOCK);
    hf_claim w = claim(3, HF_LOCK);
    assert_int_equal(ask(b, &first, false), HF_OK);
    assert_int_equal(ask(b, &second, true), HF_BUSY);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_int_equal(let_go(b, &first, HF_RELEASE), HF_OK);
    assert_int_equal(atomic_load(&heard.woken), 0); /* not its affair */
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_int_equal(let_go(b, &second, HF_RELEASE), HF_OK);
    hf_test_eventually(
        atomic_load(&heard.woken) + atomic_load(&heard.granted) == 1,
        HF_TEST_LONG);
    assert_true(atomic_load(&heard.owner) == 3);
    assert_int_equal(ask(a, &w, true), HF_OK);
    assert_true(w.token > second.token);
    watch(a, &w, false);
}

static void when_the_one_before_leaves_the_next_need_not_ask(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_FAIR), w = claim(2, HF_FAIR);
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    hf_test_eventually(hf_test_fake_watches() == 2, HF_TEST_LONG);
    int looks = hf_test_fake_calls(a, HF_TEST_LOOK);
    hf_test_throughout(atomic_load(&heard.granted) == 0, 50);
    assert_int_equal(let_go(b, &c, HF_RELEASE), HF_OK);
    assert_int_equal(atomic_load(&heard.granted), 1);
    assert_true(atomic_load(&heard.owner) == 2);
    assert_true(atomic_load(&heard.token) > c.token);
    assert_int_equal(hf_test_fake_calls(a, HF_TEST_LOOK), looks);
    w.token = atomic_load(&heard.token);
    assert_int_equal(renew(a, &w), HF_OK);
    assert_int_equal(ask(a, &w, true), HF_OK);
    assert_true(w.token == atomic_load(&heard.token));
    watch(a, &w, false);
    assert_int_equal(let_go(a, &w, HF_RELEASE), HF_OK);
}

/* Also if the waiter never comes for it. */
static void what_was_given_unasked_ends_with_its_lease(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    w.lease_ms = 300;
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    hf_test_eventually(hf_test_fake_watches() == 2, HF_TEST_LONG);
    hf_test_throughout(atomic_load(&heard.granted) == 0, 50);
    assert_int_equal(let_go(b, &c, HF_RELEASE), HF_OK);
    assert_int_equal(atomic_load(&heard.granted), 1);
    hf_test_throughout(hf_test_fake_entries("x") == 1, 250);
    hf_test_eventually(hf_test_fake_entries("x") == 0, HF_TEST_LONG);
    watch(a, &w, false);
    assert_int_equal(let_go(a, &w, HF_RELEASE), HF_ELOST);
}

static void a_change_of_the_blocker_gives_nothing(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    hf_test_eventually(hf_test_fake_watches() == 2, HF_TEST_LONG);
    hf_test_fake_touch("x", 0);
    assert_int_equal(atomic_load(&heard.granted), 0);
    assert_int_equal(atomic_load(&heard.woken), 1);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    watch(a, &w, false);
}

static void who_was_taken_out_of_the_line_begins_at_its_end(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    hf_claim behind = claim(3, HF_LOCK);
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_int_equal(ask(b, &behind, true), HF_BUSY);
    hf_test_eventually(hf_test_fake_watches() == 2, HF_TEST_LONG);
    hf_test_fake_remove("x", 1);
    assert_int_equal(atomic_load(&heard.woken), 1);
    assert_int_equal(let_go(b, &c, HF_RELEASE), HF_OK);
    assert_int_equal(atomic_load(&heard.granted), 0);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_int_equal(ask(b, &behind, true), HF_OK);
    watch(a, &w, false);
}

static void who_holds_is_shaken_when_it_is_taken_out(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_eventually(hf_test_fake_watches() == 1, HF_TEST_LONG);
    hf_test_fake_remove("x", 0);
    assert_int_equal(atomic_load(&heard.shaken), 1);
    assert_int_equal(renew(a, &c), HF_ELOST);
    assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
}

static void a_watch_that_fails_makes_it_ask_soon(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    hf_test_fake_set(a, HF_TEST_WATCH, HF_TEST_DOWN, 1);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_true(w.ask_again < hf__now() + HF_SECOND);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_true(w.ask_again > hf__now() + HF_SECOND);
    watch(a, &w, false);
}

/* Many who wait would fetch a long line many times. */
static void who_listens_does_not_fetch_the_line_as_a_routine(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    assert_int_equal(ask(b, &c, false), HF_OK);
    watch(a, &w, true);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    int looks = hf_test_fake_calls(a, HF_TEST_LOOK);
    assert_int_equal(ask(a, &w, true), HF_BUSY); /* it seems to have a reason */
    assert_int_equal(hf_test_fake_calls(a, HF_TEST_LOOK), ++looks);
    hf_test_throughout(atomic_load(&heard.woken) == 0, 2100);
    assert_int_equal(ask(a, &w, true), HF_BUSY);
    assert_int_equal(hf_test_fake_calls(a, HF_TEST_LOOK), looks);
    hf_test_throughout(atomic_load(&heard.woken) == 0, 2100);
    hf_test_fake_set(a, HF_TEST_CHECK, HF_TEST_DOWN, 1);
    assert_int_equal(ask(a, &w, true), HF_EDOWN); /* but notices that */
    assert_int_equal(let_go(b, &c, HF_RELEASE), HF_OK);
    assert_int_equal(atomic_load(&heard.granted), 1);
    watch(a, &w, false);
}

static void nothing_is_watched_when_nobody_listens(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), w = claim(2, HF_LOCK);
    assert_int_equal(ask(b, &c, false), HF_OK);
    for (int i = 0; i < 3; i++) {
        watch(a, &w, true);
        assert_int_equal(ask(a, &w, true), HF_BUSY);
        watch(a, &w, false);
        assert_int_equal(let_go(a, &w, HF_RELEASE), HF_OK);
    }
    assert_int_equal(let_go(b, &c, HF_RELEASE), HF_OK);
    hf_test_eventually(hf_test_fake_watches() == 0, HF_TEST_LONG);
}

/* ---- readers and writers ----------------------------------------------- */

static void a_reader_beside_its_writing_shares_its_token(void **state) {
    (void)state;
    hf_claim w = claim(1, HF_WRITE), r = claim(2, HF_READ);
    hf_claim other = claim(3, HF_WRITE);
    assert_int_equal(ask(a, &w, false), HF_OK);
    assert_int_equal(ask(b, &other, true), HF_BUSY);
    r.beside = 1;
    assert_int_equal(ask(a, &r, false), HF_OK);
    assert_true(r.token == w.token);
    assert_int_equal(let_go(a, &w, HF_RELEASE), HF_OK);
    assert_int_equal(ask(b, &other, true), HF_BUSY);
    assert_int_equal(renew(a, &r), HF_OK);
    assert_int_equal(let_go(a, &r, HF_RELEASE), HF_OK);
    assert_int_equal(ask(b, &other, true), HF_OK);
}

static void who_lost_its_write_unawares_reads_like_anybody(void **state) {
    (void)state;
    hf_claim w = claim(1, HF_WRITE), r = claim(2, HF_READ);
    hf_claim other = claim(3, HF_WRITE);
    assert_int_equal(ask(a, &w, false), HF_OK);
    assert_int_equal(let_go(b, &other, HF_RELEASE_FORCED), HF_OK);
    assert_int_equal(ask(b, &other, false), HF_OK);
    r.beside = 1;
    assert_int_equal(ask(a, &r, false), HF_BUSY);
    assert_int_equal(atomic_load(&heard.shaken), 1);
    assert_int_equal(let_go(b, &other, HF_RELEASE), HF_OK);
    assert_int_equal(ask(a, &r, false), HF_OK);
    assert_true(r.token > other.token);
    assert_int_equal(renew(a, &w), HF_ELOST);
}

static void nobody_reads_past_a_writer_who_waits(void **state) {
    (void)state;
    hf_claim first = claim(1, HF_READ), w = claim(2, HF_WRITE);
    hf_claim late = claim(3, HF_READ);
    assert_int_equal(ask(a, &first, false), HF_OK);
    assert_int_equal(ask(b, &w, true), HF_BUSY);
    assert_int_equal(ask(a, &late, true), HF_BUSY);
    assert_int_equal(let_go(b, &w, HF_RELEASE), HF_OK);
    assert_int_equal(ask(a, &late, true), HF_OK);
}

/* ---- letting go -------------------------------------------------------- */

static void a_posted_release_does_not_keep_its_client_out(void **state) {
    (void)state;
    for (uint64_t i = 1; i <= 100; i++) {
        hf_claim c = claim(i, HF_LOCK);
        assert_int_equal(ask(a, &c, false), HF_OK);
        assert_int_equal(let_go(a, &c, HF_RELEASE_POSTED), HF_OK);
        assert_int_equal(let_go(a, &c, HF_RELEASE), HF_ELOST);
    }
}

static void a_posted_release_that_is_refused_is_told(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    hf_test_fake_set(a, HF_TEST_LEAVE, HF_TEST_FORBIDDEN, -1);
    assert_int_equal(let_go(a, &c, HF_RELEASE_POSTED), HF_OK);
    hf_test_eventually(atomic_load(&heard.unreleased) == 1, HF_TEST_LONG);
}

static void closing_waits_for_no_errand(void **state) {
    (void)state;
    hf_claim c = claim(1, HF_LOCK), other = claim(2, HF_LOCK);
    assert_int_equal(ask(a, &c, false), HF_OK);
    assert_int_equal(ask(a, &other, true), HF_BUSY);
    hf_test_fake_set(a, HF_TEST_LEAVE, HF_TEST_DOWN, -1);
    assert_int_equal(let_go(a, &c, HF_RELEASE_POSTED), HF_OK);
    int64_t began = hf_test_now_ms();
    a->ops->close(a, false);
    a = NULL;
    assert_in_range(hf_test_now_ms() - began, 0, 1000);
    assert_int_equal(hf_test_fake_entries(NULL), 0);
}

/* ---- numbers ----------------------------------------------------------- */

static int count(hf_claim *c, hf_count_op op, int64_t value, int64_t *ret) {
    *ret = value;
    return a->ops->count(a, c, op, ret, hf__after_ms(1000), &err);
}

static void a_number_counts_once_per_nonce(void **state) {
    (void)state;
    int64_t value;
    hf_claim set = claim(1, HF_SEMAPHORE), give = claim(2, HF_SEMAPHORE);
    hf_claim take = claim(3, HF_SEMAPHORE), look = claim(4, HF_SEMAPHORE);
    set.name = give.name = take.name = look.name = "once";
    set.lease_ms = 0;
    assert_int_equal(count(&set, HF_COUNT_SET, 3, &value), HF_OK);
    assert_int_equal(count(&set, HF_COUNT_SET, 3, &value), HF_OK);
    hf_test_fake_set(a, HF_TEST_WRITE, HF_TEST_UNANSWERED, 1);
    assert_int_equal(count(&give, HF_COUNT_GIVE, 2, &value), HF_EDOUBT);
    assert_int_equal(count(&give, HF_COUNT_GIVE, 2, &value), HF_OK);
    assert_int_equal(value, 5);
    take.permits = 4;
    hf_test_fake_set(a, HF_TEST_WRITE, HF_TEST_UNANSWERED, 1);
    assert_int_equal(ask(a, &take, false), HF_EDOUBT);
    assert_int_equal(ask(a, &take, false), HF_OK);
    assert_int_equal(count(&look, HF_COUNT_FREE, 0, &value), HF_OK);
    assert_int_equal(value, 1);
    assert_int_equal(let_go(a, &take, HF_RELEASE), HF_OK);
    assert_int_equal(let_go(a, &take, HF_RELEASE), HF_ELOST);
    assert_int_equal(count(&look, HF_COUNT_FREE, 0, &value), HF_OK);
    assert_int_equal(value, 5);
}

static void who_is_not_the_first_to_write_reads_again(void **state) {
    (void)state;
    int64_t value;
    hf_claim set = claim(1, HF_LATCH), down = claim(2, HF_LATCH);
    set.name = down.name = "again";
    set.lease_ms = 0;
    assert_int_equal(count(&set, HF_COUNT_SET, 3, &value), HF_OK);
    hf_test_fake_set(a, HF_TEST_WRITE, HF_TEST_OVERTAKEN, 3);
    assert_int_equal(count(&down, HF_COUNT_DOWN, 0, &value), HF_OK);
    assert_int_equal(value, 2);
    hf_test_fake_set(a, HF_TEST_WRITE, HF_TEST_OVERTAKEN, -1);
    down.nonce[15] = 1;
    assert_int_equal(count(&down, HF_COUNT_DOWN, 0, &value), HF_ECROWDED);
}

static void who_waits_for_a_number_is_told_of_its_change(void **state) {
    (void)state;
    int64_t value;
    hf_claim set = claim(1, HF_LATCH), down = claim(2, HF_LATCH);
    hf_claim w = claim(3, HF_LATCH);
    set.name = down.name = w.name = "told";
    set.lease_ms = 0;
    assert_int_equal(count(&set, HF_COUNT_SET, 1, &value), HF_OK);
    watch(b, &w, true);
    assert_int_equal(ask(b, &w, true), HF_BUSY);
    assert_int_equal(count(&down, HF_COUNT_DOWN, 0, &value), HF_OK);
    assert_int_equal(atomic_load(&heard.woken), 1);
    assert_int_equal(ask(b, &w, true), HF_OK);
    watch(b, &w, false);
}

#define TEST(name) HF_TEST_IN(begin, name, end)

static const struct CMUnitTest tests[] = {
    TEST(who_asks_again_after_doubt_finds_its_entry),
    TEST(a_doubtful_entry_is_left_without_its_key),
    TEST(what_never_left_is_no_doubt),
    TEST(an_entry_that_comes_late_is_taken_out),
    TEST(an_entry_that_comes_after_its_release_is_taken_out),
    TEST(what_was_not_left_is_left_later),
    TEST(who_tries_and_is_overtaken_leaves_nothing),
    TEST(what_was_held_in_an_earlier_session_is_lost),
    TEST(who_waits_through_a_session_stands_again),
    TEST(an_errand_ends_with_its_session),
    TEST(a_lease_that_is_over_is_ended_here),
    TEST(a_lease_that_is_renewed_lasts),
    TEST(what_nobody_believes_in_any_more_is_ended_here),
    TEST(a_renewal_without_an_answer_is_in_doubt),
    TEST(the_watch_moves_with_the_blocker),
    TEST(when_the_one_before_leaves_the_next_need_not_ask),
    TEST(what_was_given_unasked_ends_with_its_lease),
    TEST(a_change_of_the_blocker_gives_nothing),
    TEST(who_was_taken_out_of_the_line_begins_at_its_end),
    TEST(who_holds_is_shaken_when_it_is_taken_out),
    TEST(a_watch_that_fails_makes_it_ask_soon),
    TEST(who_listens_does_not_fetch_the_line_as_a_routine),
    TEST(nothing_is_watched_when_nobody_listens),
    TEST(a_reader_beside_its_writing_shares_its_token),
    TEST(who_lost_its_write_unawares_reads_like_anybody),
    TEST(nobody_reads_past_a_writer_who_waits),
    TEST(a_posted_release_does_not_keep_its_client_out),
    TEST(a_posted_release_that_is_refused_is_told),
    TEST(closing_waits_for_no_errand),
    TEST(a_number_counts_once_per_nonce),
    TEST(who_is_not_the_first_to_write_reads_again),
    TEST(who_waits_for_a_number_is_told_of_its_change),
};
HF_SUITE(tests)
