/* SPDX-License-Identifier: MIT
 *
 * look_test.c - what two looks at a store say about the time between, made up
 * by hand: no store, no clock. */
#include <stdio.h>
#include <string.h>

#include "../../view/look.h"
#include "support/suite.h"

/* Two looks a second apart, and what was told of them. */
typedef struct scene {
    look before, after;
    char told[2000];
} scene;

static hf_place claim(const char *name, const char *owner, const char *how) {
    hf_place p = {.name = name,
                  .kind = "lock",
                  .owner = owner,
                  .client = owner,
                  .holds = strcmp(how, "holds") == 0,
                  .lost = strcmp(how, "lost") == 0,
                  .lease_ms = -1,
                  .since_ms = -1};

    if (p.holds)
        p.lease_ms = 30000;
    return p;
}

static void put(look *l, const char *name, const char *owner, const char *how) {
    hf_place p = claim(name, owner, how);

    lines_add(&l->lines, &p);
}

static void put_client(look *l, const char *client) {
    hf_presence p = {.client = client, .waits_ms = -1};

    look_add_client(l, &p);
}

static void finish(scene *s) {
    assert_int_equal(look_finish(&s->before, NULL), HF_OK);
    s->after.then_ms = s->before.then_ms + 1000;
    assert_int_equal(look_finish(&s->after, &s->before), HF_OK);
}

static void write_down(void *arg, view_event_kind kind, const hf_place *p,
                       const char *text) {
    scene *s = arg;
    size_t used = strlen(s->told);

    snprintf(s->told + used, sizeof s->told - used, "%s %s %s%s%s\n",
             view_event_word(kind), p->name, p->owner, *text ? ": " : "", text);
}

static void compare(scene *s) {
    finish(s);
    look_compare(&s->before, &s->after, write_down, s);
}

static void end(scene *s) {
    look_free(&s->before);
    look_free(&s->after);
}

#define assert_told(s, text)                                                   \
    do {                                                                       \
        compare(s);                                                            \
        assert_string_equal((s)->told, text);                                  \
        end(s);                                                                \
    } while (0)

/* ---- lines ------------------------------------------------------------- */

static void claims_come_together_holders_first(void **state) {
    lines l = {0};
    const char *const came[][3] = {
        {"b", "2", "waits"}, {"a", "4", "waits"}, {"b", "3", "lost"},
        {"b", "1", "waits"}, {"b", "5", "holds"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof came / sizeof *came; i++) {
        hf_place p = claim(came[i][0], came[i][1], came[i][2]);
        lines_add(&l, &p);
    }
    assert_int_equal(lines_group(&l), HF_OK);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.all[0].name, "a");
    assert_string_equal(l.all[1].name, "b");
    assert_int_equal(l.all[1].n, 4);
    assert_string_equal(l.all[1].claims[0].owner, "5");
    assert_string_equal(l.all[1].claims[1].owner, "3");
    assert_string_equal(l.all[1].claims[2].owner, "2");
    assert_string_equal(l.all[1].claims[3].owner, "1");
    assert_ptr_equal(l.all[1].holder, l.all[1].claims);
    assert_int_equal(l.all[1].waiters, 2);
    assert_int_equal(l.all[1].state, VIEW_LOST);
    assert_int_equal(l.all[0].state, VIEW_FREE);
    lines_free(&l);
}

static void what_a_store_tells_twice_is_one_claim(void **state) {
    lines l = {0};
    const char *const names[] = {"a", "b", "a"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        hf_place p = claim(names[i], "1", "holds");
        lines_add(&l, &p);
    }
    assert_int_equal(lines_group(&l), HF_OK);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.all[0].n, 1);
    assert_int_equal(l.all[0].holders, 1);
    lines_free(&l);
}

static void a_number_is_no_claim(void **state) {
    hf_place number = {.name = "api", .kind = "semaphore", .count = 2};
    hf_place permit = claim("api", "1", "holds");
    hf_place waits = {.name = "api", .kind = "semaphore", .client = "c"};
    lines l = {0};

    (void)state;
    permit.kind = "permit";
    lines_add(&l, &number);
    lines_add(&l, &permit);
    lines_add(&l, &waits);
    assert_int_equal(lines_group(&l), HF_OK);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.all[0].n, 2);
    assert_true(l.all[0].counts);
    assert_int_equal(l.all[0].count, 2);
    assert_string_equal(l.all[0].kind, "semaphore");
    assert_int_equal(l.all[0].waiters, 1);
    lines_free(&l);
}

static void a_lock_and_a_read_lock_of_one_name_are_two_lines(void **state) {
    hf_place lock = claim("a", "1", "holds"), read = claim("a", "2", "holds");
    lines l = {0};

    (void)state;
    read.kind = "read";
    lines_add(&l, &read);
    assert_false(lines_continues(&l, &lock));
    lines_add(&l, &lock);
    assert_int_equal(lines_group(&l), HF_OK);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.all[0].kind, "lock");
    assert_string_equal(l.all[1].kind, "read");
    lines_free(&l);
}

/* ---- who is in the way -------------------------------------------------- */

static void the_blocker_is_the_holder_or_the_one_before(void **state) {
    static const struct {
        const char *kinds[4]; /* the first holds unless it is "" */
        int blocks[4];        /* whom they wait for; -1: nobody   */
    } cases[] = {
        {{"lock", "lock", "lock"}, {-1, 0, 0}},
        {{"lock", "fair", "fair"}, {-1, 0, 1}},
        {{"write", "read", "read"}, {-1, 0, 0}},
        {{"read", "write", "read"}, {-1, 0, 1}},
        {{"read", "read"}, {-1, -1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char owners[4][2] = {"a", "b", "c", "d"};
        lines l = {0};
        size_t n = 0;
        for (; n < 4 && cases[i].kinds[n]; n++) {
            hf_place p = claim("x", owners[n], n == 0 ? "holds" : "waits");
            p.kind = cases[i].kinds[n];
            lines_add(&l, &p);
        }
        assert_int_equal(lines_group(&l), HF_OK);
        for (size_t k = 0; k < n; k++) {
            const hf_place *found = view_blocker(l.all, k);
            int at = found ? (int)(found - l.claims) : -1;
            assert_int_equal(at, cases[i].blocks[k]);
        }
        lines_free(&l);
    }
}

/* ---- events ------------------------------------------------------------ */

static void nothing_happens_when_nothing_does(void **state) {
    scene s = {0};

    (void)state;
    for (int i = 0; i < 2; i++) {
        look *l = i ? &s.after : &s.before;
        put(l, "a", "1", "holds");
        put(l, "a", "2", "waits");
        put(l, "b", "3", "lost");
    }
    assert_told(&s, "");
}

static void a_lock_goes_from_hand_to_hand(void **state) {
    scene s = {0};

    (void)state;
    put(&s.before, "a", "1", "holds");
    put(&s.before, "a", "2", "waits");
    put(&s.after, "a", "2", "holds");
    put(&s.after, "a", "3", "waits");
    assert_told(&s, "released a 1\ngranted a 2\nwaits a 3\n");
}

static void a_new_token_is_a_new_grant(void **state) {
    scene s = {0};
    hf_place p = claim("a", "1", "holds");

    (void)state;
    p.token = 7;
    lines_add(&s.before.lines, &p);
    p.token = 8;
    lines_add(&s.after.lines, &p);
    assert_told(&s, "released a 1\ngranted a 1\n");
}

static void who_waits_no_more_gave_up(void **state) {
    scene s = {0};

    (void)state;
    put(&s.before, "a", "1", "holds");
    put(&s.before, "a", "2", "waits");
    put(&s.after, "a", "1", "holds");
    assert_told(&s, "gave-up a 2\n");
}

/* A store that keeps no line knows who waits from its record only, and not
 * under the owner that will hold. */
static void who_is_granted_under_another_owner_did_not_give_up(void **state) {
    scene s = {0};
    hf_place p = claim("a", "", "waits");

    (void)state;
    p.client = "c";
    lines_add(&s.before.lines, &p);
    p = claim("a", "c:9", "holds");
    p.client = "c";
    lines_add(&s.after.lines, &p);
    assert_told(&s, "granted a c:9\n");
}

static void whose_client_lives_gave_it_back(void **state) {
    scene s = {0};

    (void)state;
    s.before.then_ms = 5000;
    put(&s.before, "a", "1", "holds");
    s.before.lines.claims[0].lease_ms = 500; /* it ran out, but who knows */
    put_client(&s.before, "1");
    put_client(&s.after, "1");
    assert_told(&s, "released a 1\n");
}

/* Only a lease that was seen to run out has run out: what is shorter than the
 * time between two looks may have been renewed many times. */
static void who_is_gone_when_its_lease_ends_expired(void **state) {
    static const struct {
        int64_t longest, left;
        const char *told;
    } cases[] = {
        {30000, 900, "expired a 1\n"},
        {30000, 20000, "released a 1: its process has ended\n"},
        {800, 500, "released a 1: its process has ended\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s = {0};
        put(&s.before, "a", "1", "holds");
        put_client(&s.before, "1");
        put_client(&s.after, "another");
        s.before.lines.claims[0].lease_ms = cases[i].left;
        finish(&s);
        s.before.longest[0] = cases[i].longest;
        look_compare(&s.before, &s.after, write_down, &s);
        assert_string_equal(s.told, cases[i].told);
        end(&s);
    }
}

static void what_its_client_says_was_lost_is_lost_or_stolen(void **state) {
    static const struct {
        int64_t left;
        const char *told;
    } cases[] = {{900, "lost a 1\n"}, {29000, "stolen a 1\n"}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        scene s = {0};
        put(&s.before, "a", "1", "holds");
        s.before.lines.claims[0].lease_ms = cases[i].left;
        put(&s.after, "a", "1", "lost");
        assert_told(&s, cases[i].told);
    }
}

static void a_lost_lock_that_is_given_up_is_no_event(void **state) {
    scene s = {0};

    (void)state;
    put(&s.before, "a", "1", "lost");
    put(&s.after, "b", "2", "holds");
    assert_told(&s, "granted b 2\n");
}

static void many_of_one_owner_are_told_apart_by_name(void **state) {
    scene s = {0};

    (void)state;
    put(&s.before, "a", "1", "holds");
    put(&s.before, "c", "1", "holds");
    put(&s.after, "b", "1", "holds");
    put(&s.after, "c", "1", "holds");
    assert_told(&s, "released a 1\ngranted b 1\n");
}

static void count_one(void *arg, view_event_kind kind, const hf_place *p,
                      const char *text) {
    (void)p, (void)text;
    ((size_t *)arg)[kind]++;
}

/* Told backwards, so that all of it must be sorted. */
static void a_hundred_thousand_lines_are_compared(void **state) {
    enum { LINES = 100000, WAITERS = 10000 };
    size_t counts[VIEW_EVENT_KINDS] = {0};
    scene s = {0};
    char name[32];

    (void)state;
    for (int i = LINES; i > 0; i--) {
        snprintf(name, sizeof name, "line-%d", i);
        put(&s.before, name, "1", "holds");
        put(&s.after, name, i % 10 ? "1" : "2", "holds");
    }
    for (int i = WAITERS; i > 0; i--) {
        snprintf(name, sizeof name, "%d", i);
        put(i % 2 ? &s.before : &s.after, "crowd", name, "waits");
    }
    finish(&s);
    assert_int_equal(s.after.lines.n, LINES + 1);
    look_compare(&s.before, &s.after, count_one, counts);
    assert_int_equal(counts[VIEW_RELEASED], LINES / 10);
    assert_int_equal(counts[VIEW_GRANTED], LINES / 10);
    assert_int_equal(counts[VIEW_WAITS], WAITERS / 2);
    assert_int_equal(counts[VIEW_GAVE_UP], WAITERS / 2);
    end(&s);
}

/* A record comes a moment after what its client holds. */
static void a_grant_is_told_with_the_name_of_its_record(void **state) {
    scene s = {0};
    look third = {0};
    hf_place p = claim("a", "1", "holds");

    (void)state;
    p.client = "";
    p.foreign = true;
    lines_add(&s.after.lines, &p);
    assert_int_equal(look_finish(&s.before, NULL), HF_OK);
    assert_int_equal(look_finish(&s.after, &s.before), HF_OK);
    look_compare(&s.before, &s.after, write_down, &s);
    assert_string_equal(s.told, "");
    put(&third, "a", "1", "holds");
    assert_int_equal(look_finish(&third, &s.after), HF_OK);
    look_compare(&s.after, &third, write_down, &s);
    assert_string_equal(s.told, "granted a 1\n");
    look_free(&third);
    end(&s);
}

/* It may also end before the lease does. */
static void who_held_is_known_when_its_record_has_ended(void **state) {
    scene s = {0};
    hf_place p = claim("a", "1", "holds");

    (void)state;
    p.host = "web1";
    lines_add(&s.before.lines, &p);
    p.host = p.client = "";
    p.foreign = true;
    lines_add(&s.after.lines, &p);
    compare(&s);
    assert_string_equal(s.told, "");
    assert_string_equal(s.after.lines.claims[0].host, "web1");
    assert_false(s.after.lines.claims[0].foreign);
    end(&s);
}

/* ---- leases ------------------------------------------------------------ */

static void a_lease_that_is_not_renewed_is_late(void **state) {
    scene s = {0};

    (void)state;
    put(&s.before, "a", "1", "holds");
    put(&s.before, "b", "2", "holds");
    put(&s.after, "a", "1", "holds");
    put(&s.after, "b", "2", "holds");
    s.after.lines.claims[0].lease_ms = 9000;
    s.after.lines.claims[1].lease_ms = 21000;
    finish(&s);
    assert_int_equal(s.before.lines.all[0].state, VIEW_HELD);
    assert_int_equal(s.after.lines.all[0].state, VIEW_LATE);
    assert_int_equal(s.after.lines.all[1].state, VIEW_HELD);
    end(&s);
}

/* ---- circles ----------------------------------------------------------- */

static void put_circle(look *l, bool turned) {
    hf_stuck all[] = {{.client = "1",
                       .wants = "b",
                       .kind = "lock",
                       .user = "ann",
                       .host = "h",
                       .pid = 10},
                      {.client = "2",
                       .wants = "a",
                       .kind = "lock",
                       .user = "bob",
                       .host = "h",
                       .pid = 20}};
    hf_stuck other[] = {all[1], all[0]};

    look_add_circle(l, turned ? other : all, 2);
}

static void a_circle_is_told_once_wherever_it_begins(void **state) {
    scene s = {0}, again = {0};

    (void)state;
    put(&s.after, "a", "1", "holds");
    put(&s.before, "a", "1", "holds");
    put_circle(&s.after, true);
    compare(&s);
    assert_string_equal(
        s.told,
        "deadlock b : ann@h (pid 10) wants b, bob@h (pid 20) wants a\n");
    assert_true(s.after.lines.all[0].stuck);
    assert_false(s.before.lines.all[0].stuck);
    end(&s);
    put_circle(&again.before, true);
    put_circle(&again.after, false);
    assert_told(&again, "");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(claims_come_together_holders_first),
    cmocka_unit_test(what_a_store_tells_twice_is_one_claim),
    cmocka_unit_test(a_number_is_no_claim),
    cmocka_unit_test(a_lock_and_a_read_lock_of_one_name_are_two_lines),
    cmocka_unit_test(the_blocker_is_the_holder_or_the_one_before),
    cmocka_unit_test(nothing_happens_when_nothing_does),
    cmocka_unit_test(a_lock_goes_from_hand_to_hand),
    cmocka_unit_test(a_new_token_is_a_new_grant),
    cmocka_unit_test(who_waits_no_more_gave_up),
    cmocka_unit_test(who_is_granted_under_another_owner_did_not_give_up),
    cmocka_unit_test(whose_client_lives_gave_it_back),
    cmocka_unit_test(who_is_gone_when_its_lease_ends_expired),
    cmocka_unit_test(what_its_client_says_was_lost_is_lost_or_stolen),
    cmocka_unit_test(a_lost_lock_that_is_given_up_is_no_event),
    cmocka_unit_test(many_of_one_owner_are_told_apart_by_name),
    cmocka_unit_test(a_hundred_thousand_lines_are_compared),
    cmocka_unit_test(a_grant_is_told_with_the_name_of_its_record),
    cmocka_unit_test(who_held_is_known_when_its_record_has_ended),
    cmocka_unit_test(a_lease_that_is_not_renewed_is_late),
    cmocka_unit_test(a_circle_is_told_once_wherever_it_begins),
};
HF_SUITE(tests)
