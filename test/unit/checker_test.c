/* SPDX-License-Identifier: MIT
 *
 * checker_test.c - short histories written by hand: for every invariant some
 * that break it, and beside them what looks alike and is legal. */
#include "checker.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- telling ----------------------------------------------------------- */

#define ACQUIRE HF_DO_ACQUIRE
#define RELEASE HF_DO_RELEASE

typedef struct story {
    hf_history h;
    uint32_t calls;
} story;

/* A call; moments in ms.  What is not said: name 1, the claim of the process's
 * number, one thread, granted or done. */
typedef struct deed {
    uint32_t p;
    hf_verb verb;
    int64_t from, to; /* 0: nobody saw its end                        */
    uint64_t token;
    int64_t until; /* of the grant                                 */
    int64_t by;    /* the caller waits until then                  */
    int64_t lease; /* a fixed one                                  */
    int code;
    hf_kind kind;
    int32_t permits;
    int64_t value;
    uint32_t name, claim, thread;
} deed;

static int64_t ms(int64_t n) {
    return n * 1000000;
}

static void note(story *s, hf_record rec) {
    rec.name = rec.name != 0 ? rec.name : 1;
    rec.claim = rec.claim != 0 ? rec.claim : rec.process;
    assert_int_equal(hf_history_add(&s->h, &rec), HF_OK);
}

static void did(story *s, deed d) {
    hf_record rec = {.at = ms(d.from),
                     .process = d.p,
                     .thread = d.thread,
                     .call = ++s->calls,
                     .saw = HF_SAW_ASK,
                     .verb = (uint8_t)d.verb,
                     .kind = (uint8_t)d.kind,
                     .name = d.name,
                     .claim = d.claim,
                     .permits = d.permits,
                     .until = ms(d.by),
                     .value = d.verb == HF_DO_ACQUIRE ? ms(d.lease) : d.value};
    note(s, rec);
    if (d.to == 0)
        return;
    rec.at = ms(d.to);
    rec.saw = HF_SAW_ANSWER;
    rec.code = d.code;
    rec.token = d.token;
    rec.until = ms(d.until);
    rec.value = d.value;
    note(s, rec);
}

/* Something that is no call. */
static void saw(story *s, int64_t at, hf_saw what, uint32_t p) {
    note(s, (hf_record){.at = ms(at), .process = p, .saw = (uint16_t)what});
}

static void takes(story *s, uint32_t p, int64_t from, int64_t to,
                  uint64_t token, int64_t until) {
    did(s, (deed){p, ACQUIRE, from, to, .token = token, .until = until});
}

static void gives(story *s, uint32_t p, int64_t from, int64_t to, int code) {
    did(s, (deed){p, RELEASE, from, to, .code = code});
}

static void lost(story *s, uint32_t p, int64_t at, uint64_t token) {
    note(s,
         (hf_record){
             .at = ms(at), .process = p, .saw = HF_SAW_LOST, .token = token});
}

static void says_held(story *s, uint32_t p, int64_t at, int64_t remaining) {
    note(s, (hf_record){.at = ms(at),
                        .process = p,
                        .saw = HF_SAW_HELD,
                        .value = ms(remaining)});
}

static void writes(story *s, int64_t at, uint64_t token, int code) {
    note(s, (hf_record){.at = ms(at),
                        .process = 1,
                        .saw = HF_SAW_WRITE,
                        .token = token,
                        .code = code});
}

/* ---- judging ----------------------------------------------------------- */

/* A lease lasts 300 ms, and a second is late. */
static const hf_promise usual = {.idle_ns = 1000000000,
                                 .late_ns = 1000000000,
                                 .haste_ns = 100000000,
                                 .lease_ns = 300000000,
                                 .permits = 2};

/* Exactly these are broken, each so often; HF_INV_N ends them. */
static void judged(story *s, const hf_promise *promise, hf_invariant only,
                   uint64_t times) {
    hf_verdict v;
    assert_int_equal(hf_check(&s->h, promise, &v), HF_OK);
    bool as_expected = only == HF_INV_N || v.of[only].broken == times;
    for (int i = 0; i < HF_INV_N; i++)
        as_expected = as_expected && (i == (int)only || v.of[i].broken == 0);
    if (!as_expected) {
        hf_verdict_print(stderr, &v, promise, &s->h);
        fail_msg("expected %s",
                 only == HF_INV_N ? "nothing" : hf_invariant_name(only));
    }
    assert_int_equal(hf_verdict_bad(&v, promise), only != HF_INV_N);
    hf_history_free(&s->h);
}

static void broken(story *s, hf_invariant only) {
    judged(s, &usual, only, 1);
}

static void fine(story *s) {
    judged(s, &usual, HF_INV_N, 0);
}

/* ---- EXCLUSION --------------------------------------------------------- */

static void two_who_hold_at_once_are_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 400);
    takes(&s, 2, 30, 40, 2, 400); /* the first believed in it */
    gives(&s, 2, 50, 60, HF_OK);
    gives(&s, 1, 70, 80, HF_ELOST);
    broken(&s, HF_INV_EXCLUSION);
}

static void a_release_ends_a_hold_when_it_is_asked_for(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 400);
    gives(&s, 1, 30, 90, HF_OK); /* its answer comes late */
    takes(&s, 2, 25, 35, 2, 400);
    gives(&s, 2, 50, 60, HF_OK);
    fine(&s);
}

static void a_hold_ends_with_its_lease(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    saw(&s, 30, HF_SAW_PAUSED, 1);
    takes(&s, 2, 280, 310, 2, 600);
    gives(&s, 2, 330, 340, HF_OK);
    saw(&s, 500, HF_SAW_RESUMED, 1);
    lost(&s, 1, 501, 1);
    gives(&s, 1, 510, 520, HF_ELOST);
    fine(&s);
}

static void a_lease_that_was_renewed_lasts_longer(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    says_held(&s, 1, 250, 290);
    takes(&s, 2, 280, 310, 2, 600);
    gives(&s, 2, 320, 330, HF_OK);
    gives(&s, 1, 500, 510, HF_ELOST);
    broken(&s, HF_INV_EXCLUSION);
}

static void whoever_was_told_of_loss_holds_no_more(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    lost(&s, 1, 30, 1);
    takes(&s, 2, 25, 35, 2, 300);
    gives(&s, 1, 40, 50, HF_ELOST);
    gives(&s, 2, 60, 70, HF_OK);
    fine(&s);
}

static void whoever_was_killed_holds_no_more(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    saw(&s, 30, HF_SAW_KILLED, 1);
    takes(&s, 2, 25, 35, 2, 300);
    gives(&s, 2, 60, 70, HF_OK);
    fine(&s);
}

static void a_call_without_an_answer_proves_nothing(void **state) {
    (void)state;
    story s = {0};
    did(&s, (deed){1, ACQUIRE, 10, .to = 0});
    saw(&s, 300, HF_SAW_KILLED, 1);
    takes(&s, 2, 20, 30, 1, 300);
    gives(&s, 2, 60, 70, HF_OK);
    fine(&s);
}

static void entering_again_prolongs_a_hold(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    takes(&s, 1, 30, 31, 1, 300);
    gives(&s, 1, 40, 41, HF_OK);
    takes(&s, 2, 45, 50, 2, 300); /* one level is still held */
    gives(&s, 2, 51, 52, HF_OK);
    gives(&s, 1, 60, 61, HF_ELOST);
    broken(&s, HF_INV_EXCLUSION);
}

static void names_have_nothing_to_do_with_each_other(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 7, 300);
    did(&s, (deed){2, ACQUIRE, 10, 30, .token = 7, .until = 300, .name = 2});
    gives(&s, 1, 40, 50, HF_OK);
    did(&s, (deed){2, RELEASE, 60, 70, .name = 2});
    fine(&s);
}

/* ---- TOKENS ------------------------------------------------------------ */

static void a_token_that_repeats_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 5, 300);
    gives(&s, 1, 30, 40, HF_OK);
    takes(&s, 2, 15, 50, 5, 300);
    gives(&s, 2, 60, 70, HF_OK);
    broken(&s, HF_INV_TOKENS);
}

static void a_token_that_goes_back_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 5, 300);
    gives(&s, 1, 30, 40, HF_OK);
    takes(&s, 2, 45, 50, 4, 300);
    gives(&s, 2, 60, 70, HF_OK);
    broken(&s, HF_INV_TOKENS);
}

static void answers_may_come_in_another_order_than_grants(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 200, 5, 210); /* granted at 150, heard of late */
    gives(&s, 1, 220, 230, HF_OK);
    takes(&s, 2, 15, 50, 4, 300);
    gives(&s, 2, 60, 190, HF_OK);
    fine(&s);
}

static void entering_again_keeps_the_token(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 5, 300);
    takes(&s, 1, 30, 31, 6, 300);
    gives(&s, 1, 40, 41, HF_OK);
    gives(&s, 1, 50, 51, HF_OK);
    broken(&s, HF_INV_TOKENS);
}

static void a_reader_may_have_its_writers_token(void **state) {
    (void)state;
    story s = {0};
    did(&s, (deed){1, ACQUIRE, 10, 20, 5, 300, .kind = HF_WRITE, .claim = 1});
    did(&s, (deed){1, ACQUIRE, 30, 40, 5, 300, .kind = HF_READ, .claim = 2});
    did(&s, (deed){1, RELEASE, 50, 60, .kind = HF_WRITE, .claim = 1});
    did(&s, (deed){2, ACQUIRE, 70, 80, 6, 300, .kind = HF_READ});
    did(&s, (deed){2, RELEASE, 81, 82, .kind = HF_READ});
    did(&s, (deed){1, RELEASE, 90, 99, .kind = HF_READ, .claim = 2});
    fine(&s);
}

/* ---- FENCE ------------------------------------------------------------- */

static void an_old_token_that_was_let_in_is_found(void **state) {
    (void)state;
    story s = {0};
    writes(&s, 10, 5, HF_OK);
    writes(&s, 20, 5, HF_OK);
    writes(&s, 30, 6, HF_OK);
    writes(&s, 40, 5, HF_OK);
    broken(&s, HF_INV_FENCE);
}

static void an_old_token_that_was_refused_is_fine(void **state) {
    (void)state;
    story s = {0};
    writes(&s, 10, 6, HF_OK);
    writes(&s, 20, 5, HF_ELOST);
    writes(&s, 30, 6, HF_OK);
    fine(&s);
}

static void a_resource_may_number_its_writes(void **state) {
    (void)state;
    story s = {0};
    hf_record rec = {.process = 1, .saw = HF_SAW_WRITE};
    rec.at = ms(10), rec.token = 6, rec.value = 2;
    note(&s, rec);
    rec.at = ms(20), rec.token = 5, rec.value = 1; /* noted late */
    note(&s, rec);
    fine(&s);
}

/* ---- OWNER ------------------------------------------------------------- */

static void a_release_by_a_stranger_that_succeeds_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 2, 30, 40, HF_OK);
    gives(&s, 1, 50, 60, HF_OK);
    broken(&s, HF_INV_OWNER);
}

static void a_stranger_that_is_refused_is_fine(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 2, 30, 40, HF_ENOT_OWNER);
    gives(&s, 1, 50, 60, HF_OK);
    gives(&s, 1, 70, 80, HF_ENOT_OWNER);
    fine(&s);
}

static void one_release_more_than_acquires_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 40, HF_OK);
    gives(&s, 1, 50, 60, HF_OK);
    broken(&s, HF_INV_OWNER);
}

static void an_owner_that_is_called_a_stranger_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 40, HF_ENOT_OWNER);
    saw(&s, 50, HF_SAW_KILLED, 1);
    broken(&s, HF_INV_OWNER);
}

static void a_stranger_that_frees_lets_two_in(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 2, 30, 40, HF_ENOT_OWNER); /* said so, and did it */
    takes(&s, 3, 50, 60, 2, 300);
    gives(&s, 3, 65, 68, HF_OK);
    gives(&s, 1, 70, 80, HF_ELOST);
    broken(&s, HF_INV_EXCLUSION);
}

/* ---- READERS ----------------------------------------------------------- */

static void a_writer_beside_a_reader_is_found(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        story s = {0};
        hf_kind kinds[] = {first ? HF_READ : HF_WRITE,
                           first ? HF_WRITE : HF_READ};
        for (uint32_t p = 1; p <= 2; p++)
            did(&s, (deed){p, ACQUIRE, 10 * p, 10 * p + 5, p, 300,
                           .kind = kinds[p - 1]});
        did(&s, (deed){1, RELEASE, 50, 60, .code = HF_ELOST, .kind = kinds[0]});
        did(&s, (deed){2, RELEASE, 50, 60, .kind = kinds[1]});
        broken(&s, HF_INV_READERS);
    }
}

static void readers_may_be_many(void **state) {
    (void)state;
    story s = {0};
    for (uint32_t p = 1; p <= 4; p++)
        did(&s, (deed){p, ACQUIRE, 10, 10 + p, p, 300, .kind = HF_READ});
    for (uint32_t p = 1; p <= 4; p++)
        did(&s, (deed){p, RELEASE, 20, 20 + p, .kind = HF_READ});
    did(&s, (deed){5, ACQUIRE, 15, 30, 9, 300, .kind = HF_WRITE});
    did(&s, (deed){5, RELEASE, 40, 50, .kind = HF_WRITE});
    fine(&s);
}

static void a_writer_meets_others_than_its_own_reader(void **state) {
    (void)state;
    story s = {0};
    did(&s, (deed){1, ACQUIRE, 10, 11, 1, 900, .kind = HF_WRITE, .claim = 1});
    did(&s, (deed){1, ACQUIRE, 12, 13, 1, 900, .kind = HF_READ, .claim = 2});
    did(&s, (deed){1, RELEASE, 14, 15, .kind = HF_WRITE, .claim = 1});
    did(&s, (deed){2, ACQUIRE, 16, 17, 2, 300, .kind = HF_READ});
    did(&s, (deed){1, ACQUIRE, 18, 19, 3, 300, .kind = HF_WRITE, .claim = 3});
    did(&s, (deed){2, RELEASE, 30, 31, .kind = HF_READ});
    did(&s, (deed){1, RELEASE, 32, 33, .kind = HF_WRITE, .claim = 3});
    did(&s, (deed){1, RELEASE, 34, 35, .kind = HF_READ, .claim = 2});
    broken(&s, HF_INV_READERS);
}

/* ---- PERMITS ----------------------------------------------------------- */

static void permit(story *s, uint32_t p, int64_t from, int64_t to, int32_t n,
                   int64_t release) {
    did(s,
        (deed){p, ACQUIRE, from, to, p, 900, .kind = HF_PERMIT, .permits = n});
    did(s, (deed){p, RELEASE, release, release + 1, .kind = HF_PERMIT});
}

static void a_permit_too_many_is_found(void **state) {
    (void)state;
    story s = {0};
    permit(&s, 1, 10, 20, 1, 50);
    permit(&s, 2, 10, 21, 1, 51);
    permit(&s, 3, 10, 22, 1, 52);
    broken(&s, HF_INV_PERMITS);
}

static void permits_that_came_back_are_given_again(void **state) {
    (void)state;
    story s = {0};
    permit(&s, 1, 10, 20, 2, 50);
    permit(&s, 2, 10, 51, 1, 70);
    permit(&s, 3, 10, 52, 1, 71);
    fine(&s);
}

static void a_semaphore_may_be_set(void **state) {
    (void)state;
    story s = {0};
    did(&s, (deed){9, HF_DO_SET, 1, 5, .kind = HF_SEMAPHORE, .value = 3});
    permit(&s, 1, 10, 20, 2, 50);
    permit(&s, 2, 10, 21, 1, 51);
    fine(&s);
    s = (story){0};
    did(&s, (deed){9, HF_DO_SET, 1, 5, .kind = HF_SEMAPHORE, .value = 3});
    did(&s, (deed){9, HF_DO_SET, 6, 9, .kind = HF_SEMAPHORE, .value = 1});
    permit(&s, 1, 10, 20, 2, 50);
    broken(&s, HF_INV_PERMITS);
}

static void a_smaller_number_takes_nothing_away(void **state) {
    (void)state;
    story s = {0};
    did(&s, (deed){9, HF_DO_SET, 1, 5, .kind = HF_SEMAPHORE, .value = 3});
    permit(&s, 1, 10, 20, 3, 50);
    did(&s, (deed){9, HF_DO_SET, 30, 35, .kind = HF_SEMAPHORE, .value = 1});
    permit(&s, 2, 40, 60, 1, 70);
    fine(&s);
}

static void permits_of_nobody_are_counted(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        story s = {0};
        for (uint32_t p = 1; p <= 2 + (uint32_t)more; p++)
            did(&s,
                (deed){p, ACQUIRE, 10, 20, .kind = HF_SEMAPHORE, .permits = 1});
        /* By another than who took it, and nobody knows whether it was. */
        did(&s, (deed){7, RELEASE, 30, 40, .code = HF_EDOUBT,
                       .kind = HF_SEMAPHORE, .permits = 1});
        did(&s, (deed){8, ACQUIRE, 35, 50, .kind = HF_SEMAPHORE, .permits = 1});
        judged(&s, &usual, more ? HF_INV_PERMITS : HF_INV_N, 2);
    }
}

/* ---- LATCH ------------------------------------------------------------- */

static void latch(story *s, hf_verb verb, int64_t from, int64_t to, int code) {
    did(s, (deed){1, verb, from, to, .code = code, .kind = HF_LATCH,
                  .value = verb == HF_DO_SET ? 2 : 0});
}

static void a_latch_that_opens_early_is_found(void **state) {
    (void)state;
    story s = {0};
    latch(&s, HF_DO_SET, 1, 2, HF_OK);
    latch(&s, HF_DO_COUNT, 10, 11, HF_OK);
    latch(&s, HF_DO_AWAIT, 5, 20, HF_OK);
    latch(&s, HF_DO_COUNT, 30, 31, HF_OK);
    broken(&s, HF_INV_LATCH);
}

static void a_count_down_may_come_before_its_answer(void **state) {
    (void)state;
    story s = {0};
    latch(&s, HF_DO_SET, 1, 2, HF_OK);
    latch(&s, HF_DO_COUNT, 10, 0, HF_OK); /* died over it */
    latch(&s, HF_DO_COUNT, 15, 40, HF_OK);
    latch(&s, HF_DO_AWAIT, 5, 20, HF_OK);
    fine(&s);
}

static void a_latch_that_was_set_anew_is_closed_again(void **state) {
    (void)state;
    for (int early = 0; early < 2; early++) {
        story s = {0};
        latch(&s, HF_DO_SET, 1, 2, HF_OK);
        latch(&s, HF_DO_COUNT, 3, 4, HF_OK);
        latch(&s, HF_DO_COUNT, 5, 6, HF_OK);
        latch(&s, HF_DO_SET, 10, 11, HF_OK);
        latch(&s, HF_DO_COUNT, 12, 13, HF_OK);
        if (early)
            latch(&s, HF_DO_AWAIT, 14, 15, HF_OK);
        latch(&s, HF_DO_COUNT, 16, 17, HF_OK);
        latch(&s, HF_DO_AWAIT, 18, 19, HF_OK);
        judged(&s, &usual, early ? HF_INV_LATCH : HF_INV_N, 1);
    }
}

static void a_latch_that_stays_shut_is_found(void **state) {
    (void)state;
    story s = {0};
    latch(&s, HF_DO_SET, 1, 2, HF_OK);
    latch(&s, HF_DO_COUNT, 10, 11, HF_OK);
    latch(&s, HF_DO_COUNT, 20, 21, HF_OK);
    latch(&s, HF_DO_AWAIT, 30, 31, HF_BUSY);
    latch(&s, HF_DO_AWAIT, 5, 2000, HF_ETIMEOUT);
    judged(&s, &usual, HF_INV_LATCH, 2);
}

static void a_latch_may_be_closed_until_it_is_open(void **state) {
    (void)state;
    story s = {0};
    latch(&s, HF_DO_SET, 1, 2, HF_OK);
    latch(&s, HF_DO_COUNT, 10, 11, HF_OK);
    latch(&s, HF_DO_COUNT, 20, 31, HF_OK);
    latch(&s, HF_DO_AWAIT, 30, 32, HF_BUSY);
    latch(&s, HF_DO_AWAIT, 30, 900, HF_ETIMEOUT);
    fine(&s);
}

/* ---- FAIRNESS ---------------------------------------------------------- */

static void fair(story *s, uint32_t p, int64_t from, int64_t to,
                 uint64_t token) {
    did(s, (deed){p, ACQUIRE, from, to, token, to + 300, .kind = HF_FAIR});
    did(s, (deed){p, RELEASE, to + 1, to + 2, .kind = HF_FAIR});
}

static void whoever_overtakes_is_found(void **state) {
    (void)state;
    story s = {0};
    fair(&s, 1, 10, 20, 1);
    fair(&s, 2, 15, 400, 3);
    fair(&s, 3, 200, 300, 2);
    broken(&s, HF_INV_FAIRNESS);
}

static void whoever_asked_at_almost_the_same_time_may_be_first(void **state) {
    (void)state;
    story s = {0};
    fair(&s, 1, 10, 20, 1);
    fair(&s, 2, 15, 400, 3);
    fair(&s, 3, 90, 300, 2);
    fine(&s);
}

static void whoever_stood_still_may_be_overtaken(void **state) {
    (void)state;
    story s = {0};
    fair(&s, 1, 10, 20, 1);
    fair(&s, 2, 15, 400, 3);
    fair(&s, 3, 200, 300, 2);
    saw(&s, 100, HF_SAW_PAUSED, 2);
    saw(&s, 350, HF_SAW_RESUMED, 2);
    fine(&s);
}

static void whoever_waits_in_vain_is_not_overtaken_either(void **state) {
    (void)state;
    for (int left = 0; left < 2; left++) {
        story s = {0};
        fair(&s, 1, 10, 20, 1);
        did(&s, (deed){2, ACQUIRE, 15, left ? 250 : 450, .by = left ? 250 : 450,
                       .code = HF_ETIMEOUT, .kind = HF_FAIR});
        fair(&s, 3, 200, 300, 2);
        judged(&s, &usual, left ? HF_INV_N : HF_INV_FAIRNESS, 1);
    }
}

static void where_places_are_known_they_decide(void **state) {
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        story s = {0};
        hf_record place = {.saw = HF_SAW_PLACED, .kind = HF_FAIR};
        fair(&s, 1, 10, 100, wrong ? 2 : 1);
        fair(&s, 2, 11, 200, wrong ? 1 : 2);
        place.at = ms(12), place.process = 1, place.call = 1;
        note(&s, place);
        place.at = ms(13), place.process = 2, place.call = 3;
        note(&s, place);
        judged(&s, &usual, wrong ? HF_INV_FAIRNESS : HF_INV_N, 1);
    }
}

/* ---- TOLD -------------------------------------------------------------- */

static void a_loss_that_is_never_told_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    takes(&s, 2, 350, 400, 2, 700); /* nobody renewed it, nobody said so */
    gives(&s, 2, 450, 460, HF_OK);
    gives(&s, 1, 3000, 3010, HF_ELOST);
    broken(&s, HF_INV_TOLD);
}

static void a_release_that_hides_a_loss_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    takes(&s, 2, 350, 400, 2, 700);
    gives(&s, 2, 450, 460, HF_OK);
    gives(&s, 1, 500, 510, HF_OK);
    broken(&s, HF_INV_TOLD);
}

static void a_loss_that_is_told_twice_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    lost(&s, 1, 290, 1);
    lost(&s, 1, 295, 1);
    gives(&s, 1, 310, 320, HF_ELOST);
    broken(&s, HF_INV_TOLD);
}

static void a_loss_that_is_told_in_time_is_fine(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    lost(&s, 1, 300, 1);
    takes(&s, 2, 350, 400, 2, 700);
    gives(&s, 2, 450, 460, HF_OK);
    gives(&s, 1, 3000, 3010, HF_ELOST); /* it takes its time to let go */
    fine(&s);
}

static void where_nobody_listens_nothing_is_told(void **state) {
    (void)state;
    story s = {0};
    hf_promise deaf = usual;
    deaf.deaf = true;
    takes(&s, 1, 10, 20, 1, 300);
    takes(&s, 2, 350, 400, 2, 700);
    gives(&s, 2, 450, 460, HF_OK);
    gives(&s, 1, 3000, 3010, HF_ELOST);
    judged(&s, &deaf, HF_INV_N, 0);
}

static void whoever_stands_still_is_told_later(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    saw(&s, 100, HF_SAW_PAUSED, 1);
    takes(&s, 2, 350, 400, 2, 700);
    gives(&s, 2, 450, 460, HF_OK);
    saw(&s, 5000, HF_SAW_RESUMED, 1);
    lost(&s, 1, 5001, 1);
    gives(&s, 1, 5010, 5020, HF_ELOST);
    fine(&s);
}

static void a_grant_before_that_was_heard_of_later_is_no_loss(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 500, 1, 300); /* paused until long after its end */
    takes(&s, 2, 350, 400, 2, 900);
    lost(&s, 1, 501, 1);
    gives(&s, 2, 2450, 2460, HF_OK);
    gives(&s, 1, 3000, 3010, HF_ELOST);
    fine(&s);
}

/* ---- HELD -------------------------------------------------------------- */

static void held_after_being_told_of_loss_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    lost(&s, 1, 100, 1);
    says_held(&s, 1, 110, 50);
    gives(&s, 1, 120, 130, HF_ELOST);
    broken(&s, HF_INV_HELD);
}

static void a_loss_told_late_is_not_the_next_holds(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 40, HF_ELOST);
    takes(&s, 1, 50, 60, 2, 300);
    lost(&s, 1, 70, 1);
    says_held(&s, 1, 80, 50);
    gives(&s, 1, 90, 95, HF_OK);
    fine(&s);
}

static void held_after_the_release_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    says_held(&s, 1, 25, 270);
    gives(&s, 1, 30, 40, HF_OK);
    says_held(&s, 1, 50, 50);
    broken(&s, HF_INV_HELD);
}

static void held_after_sleeping_longer_than_a_lease_is_found(void **state) {
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        story s = {0};
        takes(&s, 1, 10, 20, 1, 300);
        saw(&s, 100, HF_SAW_PAUSED, 1);
        saw(&s, longer ? 500 : 390, HF_SAW_RESUMED, 1);
        says_held(&s, 1, 501, 200);
        gives(&s, 1, 510, 520, HF_OK);
        judged(&s, &usual, longer ? HF_INV_HELD : HF_INV_N, 1);
    }
}

static void a_fixed_lease_ends(void **state) {
    (void)state;
    for (int late = 0; late < 2; late++) {
        story s = {0};
        did(&s, (deed){1, ACQUIRE, 10, 20, 1, 105, .lease = 100});
        says_held(&s, 1, late ? 121 : 119, 0);
        lost(&s, 1, 122, 1);
        gives(&s, 1, 130, 140, HF_ELOST);
        judged(&s, &usual, late ? HF_INV_HELD : HF_INV_N, 1);
    }
}

/* ---- HANDOFF ----------------------------------------------------------- */

static void a_waiter_that_sleeps_while_the_name_is_free_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 40, HF_OK);
    takes(&s, 2, 25, 1500, 2, 1800);
    gives(&s, 2, 1510, 1520, HF_OK);
    broken(&s, HF_INV_HANDOFF);
}

static void a_waiter_that_never_wakes_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, .to = 0});
    gives(&s, 1, 30, 40, HF_OK);
    saw(&s, 2000, HF_SAW_BORN, 3);
    broken(&s, HF_INV_HANDOFF);
}

static void whoever_waits_for_a_holder_is_patient(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    takes(&s, 2, 25, 5900, 2, 6100);
    says_held(&s, 1, 4900, 290);
    gives(&s, 1, 4950, 4960, HF_OK);
    gives(&s, 2, 6000, 6010, HF_OK);
    fine(&s);
}

static void a_dead_holder_blocks_for_a_lease(void **state) {
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        story s = {0};
        takes(&s, 1, 10, 20, 1, 300);
        saw(&s, 5000, HF_SAW_KILLED, 1);
        takes(&s, 2, 25, longer ? 6350 : 6250, 2, 9000);
        gives(&s, 2, 6400, 6410, HF_OK);
        judged(&s, &usual, longer ? HF_INV_HANDOFF : HF_INV_N, 1);
    }
}

static void a_release_in_doubt_blocks_for_a_lease(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 100, HF_EDOUBT);
    takes(&s, 2, 25, 1350, 2, 1600);
    gives(&s, 2, 1400, 1410, HF_OK);
    fine(&s);
}

static void a_call_in_doubt_blocks_for_a_lease(void **state) {
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        story s = {0};
        int64_t to = longer ? 1450 : 1350;
        did(&s, (deed){1, ACQUIRE, 10, 100, .code = HF_EDOUBT});
        takes(&s, 2, 25, to, 2, 1600);
        gives(&s, 2, 1500, 1510, HF_OK);
        judged(&s, &usual, longer ? HF_INV_HANDOFF : HF_INV_N, 1);
    }
}

static void a_dead_waiter_blocks_a_fair_line_for_its_place(void **state) {
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        story s = {0};
        int64_t to = longer ? 11200 : 11000;
        fair(&s, 1, 10, 20, 1);
        did(&s, (deed){2, ACQUIRE, 15, .to = 0, .kind = HF_FAIR});
        saw(&s, 100, HF_SAW_KILLED, 2);
        fair(&s, 3, 200, to, 2);
        judged(&s, &usual, longer ? HF_INV_HANDOFF : HF_INV_N, 1);
    }
}

static void a_waiter_that_stands_still_may_have_been_granted_it(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 40, HF_OK);
    did(&s, (deed){2, ACQUIRE, 25, .to = 0});
    saw(&s, 35, HF_SAW_PAUSED, 2);
    takes(&s, 3, 26, 3900, 3, 4200);
    saw(&s, 3000, HF_SAW_RESUMED, 2);
    gives(&s, 3, 3950, 3960, HF_OK);
    saw(&s, 3980, HF_SAW_KILLED, 2);
    fine(&s);
}

static void nobody_wakes_while_the_store_is_away(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    gives(&s, 1, 30, 40, HF_OK);
    takes(&s, 2, 25, 3900, 2, 4200);
    saw(&s, 900, HF_SAW_FAULT, 0);
    saw(&s, 3000, HF_SAW_HEALED, 0);
    gives(&s, 2, 3950, 3960, HF_OK);
    fine(&s);
}

static void a_place_that_a_timeout_left_behind_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, 105, .by = 100, .code = HF_ETIMEOUT});
    takes(&s, 3, 26, 5000, 2, 5300); /* behind 2, who is gone */
    gives(&s, 1, 200, 210, HF_OK);
    gives(&s, 3, 5010, 5020, HF_OK);
    broken(&s, HF_INV_HANDOFF);
}

static void a_reader_that_sleeps_while_all_is_free_is_found(void **state) {
    (void)state;
    story s = {0};
    did(&s, (deed){1, ACQUIRE, 10, 20, 1, 300, .kind = HF_WRITE});
    did(&s, (deed){1, RELEASE, 30, 40, .kind = HF_WRITE});
    did(&s, (deed){2, ACQUIRE, 25, 1500, 2, 1900, .kind = HF_READ});
    did(&s, (deed){2, RELEASE, 1550, 1560, .kind = HF_READ});
    broken(&s, HF_INV_HANDOFF);
}

/* ---- TIMELY ------------------------------------------------------------ */

static void a_wait_that_ends_late_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, 1200, .by = 100, .code = HF_ETIMEOUT});
    says_held(&s, 1, 1200, 100);
    gives(&s, 1, 1210, 1220, HF_OK);
    broken(&s, HF_INV_TIMELY);
}

static void a_wait_that_ends_early_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, 60, .by = 100, .code = HF_ETIMEOUT});
    gives(&s, 1, 110, 120, HF_OK);
    broken(&s, HF_INV_TIMELY);
}

static void a_wait_that_never_ends_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, .by = 100});
    says_held(&s, 1, 1900, 100);
    broken(&s, HF_INV_TIMELY);
}

static void whoever_stood_still_may_be_late(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, 3000, .by = 100, .code = HF_ETIMEOUT});
    saw(&s, 50, HF_SAW_PAUSED, 2);
    saw(&s, 2990, HF_SAW_RESUMED, 2);
    says_held(&s, 1, 3000, 100);
    gives(&s, 1, 3010, 3020, HF_OK);
    fine(&s);
}

/* ---- CERTAIN ----------------------------------------------------------- */

static void a_refusal_where_nobody_is_near_is_found(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, 105, .by = 100, .code = HF_ETIMEOUT});
    gives(&s, 1, 110, 120, HF_OK);
    /* What 2 was refused is kept for it all the same. */
    did(&s, (deed){3, ACQUIRE, 2000, 2010, .by = 2000, .code = HF_BUSY});
    broken(&s, HF_INV_CERTAIN);
}

static void a_refusal_where_somebody_may_be_is_fine(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 300);
    saw(&s, 1900, HF_SAW_KILLED, 1);
    did(&s, (deed){3, ACQUIRE, 2000, 2010, .by = 2000, .code = HF_BUSY});
    /* Two who try at once may refuse each other. */
    did(&s, (deed){4, ACQUIRE, 6000, 6010, .by = 6000, .code = HF_BUSY});
    did(&s, (deed){5, ACQUIRE, 6005, 6015, .by = 6005, .code = HF_BUSY});
    fine(&s);
}

static void a_refusal_while_the_store_is_away_is_fine(void **state) {
    (void)state;
    story s = {0};
    saw(&s, 1900, HF_SAW_FAULT, 0);
    saw(&s, 1950, HF_SAW_HEALED, 0);
    did(&s, (deed){3, ACQUIRE, 2000, 2010, .by = 2000, .code = HF_BUSY});
    fine(&s);
}

/* ---- LEFTOVERS --------------------------------------------------------- */

static void what_is_left_behind_is_found(void **state) {
    (void)state;
    for (int n = 0; n < 2; n++) {
        story s = {0};
        note(&s, (hf_record){.at = ms(10),
                             .saw = HF_SAW_LEFTOVER,
                             .code = HF_LEFT_IN_STORE,
                             .value = n});
        judged(&s, &usual, n > 0 ? HF_INV_LEFTOVERS : HF_INV_N, 1);
    }
}

/* ---- the whole --------------------------------------------------------- */

static void what_is_waived_is_counted_and_forgiven(void **state) {
    (void)state;
    story s = {0};
    hf_promise weak = usual;
    hf_verdict v;
    weak.waived[HF_INV_EXCLUSION] = true;
    takes(&s, 1, 10, 20, 1, 400);
    takes(&s, 2, 30, 40, 2, 400);
    gives(&s, 2, 50, 60, HF_OK);
    gives(&s, 1, 70, 80, HF_ELOST);
    assert_int_equal(hf_check(&s.h, &weak, &v), HF_OK);
    assert_int_equal(v.of[HF_INV_EXCLUSION].broken, 1);
    assert_int_equal(v.of[HF_INV_EXCLUSION].worst, ms(10));
    assert_int_equal(v.of[HF_INV_EXCLUSION].name, 1);
    assert_false(hf_verdict_bad(&v, &weak));
    hf_history_free(&s.h);
}

static void a_hole_in_the_history_proves_nothing(void **state) {
    (void)state;
    story s = {0};
    takes(&s, 1, 10, 20, 1, 400); /* its release did not fit */
    takes(&s, 2, 30, 40, 2, 400);
    gives(&s, 2, 5000, 5010, HF_OK);
    s.h.left_out = 1;
    fine(&s);
}

static void what_happened_is_counted(void **state) {
    (void)state;
    story s = {0};
    hf_verdict v;
    takes(&s, 1, 10, 20, 1, 300);
    did(&s, (deed){2, ACQUIRE, 25, 26, .code = HF_BUSY});
    did(&s, (deed){2, ACQUIRE, 30, 90, .by = 90, .code = HF_ETIMEOUT});
    did(&s, (deed){3, ACQUIRE, 30, 90, .code = HF_EDOUBT});
    did(&s, (deed){4, ACQUIRE, 30, .to = 0});
    saw(&s, 100, HF_SAW_KILLED, 4);
    saw(&s, 100, HF_SAW_PAUSED, 1);
    saw(&s, 110, HF_SAW_RESUMED, 1);
    saw(&s, 110, HF_SAW_FAULT, 0);
    lost(&s, 1, 310, 1);
    assert_int_equal(hf_check(&s.h, &usual, &v), HF_OK);
    assert_int_equal(v.grants, 1);
    assert_int_equal(v.refusals, 1);
    assert_int_equal(v.timeouts, 1);
    assert_int_equal(v.doubts, 2);
    assert_int_equal(v.losses, 1);
    assert_int_equal(v.deaths, 1);
    assert_int_equal(v.pauses, 1);
    assert_int_equal(v.faults, 1);
    assert_int_equal(v.longest_wait, ms(10));
    assert_int_equal(v.span, ms(300));
    hf_history_free(&s.h);
}

static void readers_beside_each_other_are_counted(void **state) {
    (void)state;
    story s = {0};
    hf_verdict v;
    for (uint32_t p = 1; p <= 3; p++) {
        did(&s,
            (deed){p, ACQUIRE, 10 * p, 10 * p + 5, p, 300, .kind = HF_READ});
        did(&s, (deed){p, RELEASE, 10 * p + 7 + p, 50, .kind = HF_READ});
    }
    did(&s, (deed){4, ACQUIRE, 36, 38, 4, 300, .kind = HF_READ});
    did(&s, (deed){4, RELEASE, 60, 61, .kind = HF_READ});
    assert_int_equal(hf_check(&s.h, &usual, &v), HF_OK);
    assert_int_equal(v.together, 1); /* 4 beside 3 */
    hf_history_free(&s.h);
}

static void nothing_at_all_is_fine(void **state) {
    (void)state;
    story s = {0};
    fine(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(two_who_hold_at_once_are_found),
    cmocka_unit_test(a_release_ends_a_hold_when_it_is_asked_for),
    cmocka_unit_test(a_hold_ends_with_its_lease),
    cmocka_unit_test(a_lease_that_was_renewed_lasts_longer),
    cmocka_unit_test(whoever_was_told_of_loss_holds_no_more),
    cmocka_unit_test(whoever_was_killed_holds_no_more),
    cmocka_unit_test(a_call_without_an_answer_proves_nothing),
    cmocka_unit_test(entering_again_prolongs_a_hold),
    cmocka_unit_test(names_have_nothing_to_do_with_each_other),
    cmocka_unit_test(a_token_that_repeats_is_found),
    cmocka_unit_test(a_token_that_goes_back_is_found),
    cmocka_unit_test(answers_may_come_in_another_order_than_grants),
    cmocka_unit_test(entering_again_keeps_the_token),
    cmocka_unit_test(a_reader_may_have_its_writers_token),
    cmocka_unit_test(an_old_token_that_was_let_in_is_found),
    cmocka_unit_test(an_old_token_that_was_refused_is_fine),
    cmocka_unit_test(a_resource_may_number_its_writes),
    cmocka_unit_test(a_release_by_a_stranger_that_succeeds_is_found),
    cmocka_unit_test(a_stranger_that_is_refused_is_fine),
    cmocka_unit_test(one_release_more_than_acquires_is_found),
    cmocka_unit_test(an_owner_that_is_called_a_stranger_is_found),
    cmocka_unit_test(a_stranger_that_frees_lets_two_in),
    cmocka_unit_test(a_writer_beside_a_reader_is_found),
    cmocka_unit_test(readers_may_be_many),
    cmocka_unit_test(a_writer_meets_others_than_its_own_reader),
    cmocka_unit_test(a_permit_too_many_is_found),
    cmocka_unit_test(permits_that_came_back_are_given_again),
    cmocka_unit_test(a_semaphore_may_be_set),
    cmocka_unit_test(a_smaller_number_takes_nothing_away),
    cmocka_unit_test(permits_of_nobody_are_counted),
    cmocka_unit_test(a_latch_that_opens_early_is_found),
    cmocka_unit_test(a_count_down_may_come_before_its_answer),
    cmocka_unit_test(a_latch_that_was_set_anew_is_closed_again),
    cmocka_unit_test(a_latch_that_stays_shut_is_found),
    cmocka_unit_test(a_latch_may_be_closed_until_it_is_open),
    cmocka_unit_test(whoever_overtakes_is_found),
    cmocka_unit_test(whoever_asked_at_almost_the_same_time_may_be_first),
    cmocka_unit_test(whoever_stood_still_may_be_overtaken),
    cmocka_unit_test(whoever_waits_in_vain_is_not_overtaken_either),
    cmocka_unit_test(where_places_are_known_they_decide),
    cmocka_unit_test(a_loss_that_is_never_told_is_found),
    cmocka_unit_test(a_release_that_hides_a_loss_is_found),
    cmocka_unit_test(a_loss_that_is_told_twice_is_found),
    cmocka_unit_test(a_loss_that_is_told_in_time_is_fine),
    cmocka_unit_test(where_nobody_listens_nothing_is_told),
    cmocka_unit_test(whoever_stands_still_is_told_later),
    cmocka_unit_test(a_grant_before_that_was_heard_of_later_is_no_loss),
    cmocka_unit_test(held_after_being_told_of_loss_is_found),
    cmocka_unit_test(a_loss_told_late_is_not_the_next_holds),
    cmocka_unit_test(held_after_the_release_is_found),
    cmocka_unit_test(held_after_sleeping_longer_than_a_lease_is_found),
    cmocka_unit_test(a_fixed_lease_ends),
    cmocka_unit_test(a_waiter_that_sleeps_while_the_name_is_free_is_found),
    cmocka_unit_test(a_waiter_that_never_wakes_is_found),
    cmocka_unit_test(whoever_waits_for_a_holder_is_patient),
    cmocka_unit_test(a_dead_holder_blocks_for_a_lease),
    cmocka_unit_test(a_release_in_doubt_blocks_for_a_lease),
    cmocka_unit_test(a_call_in_doubt_blocks_for_a_lease),
    cmocka_unit_test(a_dead_waiter_blocks_a_fair_line_for_its_place),
    cmocka_unit_test(a_waiter_that_stands_still_may_have_been_granted_it),
    cmocka_unit_test(nobody_wakes_while_the_store_is_away),
    cmocka_unit_test(a_place_that_a_timeout_left_behind_is_found),
    cmocka_unit_test(a_reader_that_sleeps_while_all_is_free_is_found),
    cmocka_unit_test(a_wait_that_ends_late_is_found),
    cmocka_unit_test(a_wait_that_ends_early_is_found),
    cmocka_unit_test(a_wait_that_never_ends_is_found),
    cmocka_unit_test(whoever_stood_still_may_be_late),
    cmocka_unit_test(a_refusal_where_nobody_is_near_is_found),
    cmocka_unit_test(a_refusal_where_somebody_may_be_is_fine),
    cmocka_unit_test(a_refusal_while_the_store_is_away_is_fine),
    cmocka_unit_test(what_is_left_behind_is_found),
    cmocka_unit_test(what_is_waived_is_counted_and_forgiven),
    cmocka_unit_test(a_hole_in_the_history_proves_nothing),
    cmocka_unit_test(what_happened_is_counted),
    cmocka_unit_test(readers_beside_each_other_are_counted),
    cmocka_unit_test(nothing_at_all_is_fine),
};
HF_SUITE(tests)
