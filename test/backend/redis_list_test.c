/* SPDX-License-Identifier: MIT
 *
 * redis_list_test.c - who holds and who waits, read from Redis: every kind by
 * its shape, ours and Redisson's, by name and all at once. */
#include "redis_seat.h"

#include "backend/redis/keys.h"

#define JAVA "99999999-8888-4777-8666-555555555555"

/* ---- what was told ----------------------------------------------------- */

typedef struct told {
    int n;
    hf_place places[64];
    char names[64][64], owners[64][96], kinds[64][16], programs[64][64];
} told;

static void note(void *arg, const hf_place *place) {
    told *t = arg;
    int i = t->n++;

    assert_true(i < 64);
    t->places[i] = *place;
    snprintf(t->names[i], sizeof t->names[i], "%s", place->name);
    snprintf(t->owners[i], sizeof t->owners[i], "%s", place->owner);
    snprintf(t->kinds[i], sizeof t->kinds[i], "%s", place->kind);
    snprintf(t->programs[i], sizeof t->programs[i], "%s", place->program);
    t->places[i].name = t->names[i];
    t->places[i].owner = t->owners[i];
    t->places[i].kind = t->kinds[i];
    t->places[i].program = t->programs[i];
}

static told *list(const char *name) {
    static told t;

    t.n = 0;
    hf_expect(HF_OK, hf__redis_ops.list(be, name, note, &t, soon(), ERR));
    return &t;
}

/* The only place of that kind and owner (NULL: any) under the name. */
static const hf_place *only(const told *t, const char *name, const char *kind,
                            const char *owner) {
    const hf_place *found = NULL;

    for (int i = 0; i < t->n; i++)
        if (strcmp(t->names[i], name) == 0 && strcmp(t->kinds[i], kind) == 0 &&
            (!owner || strcmp(t->owners[i], owner) == 0)) {
            assert_null(found);
            found = &t->places[i];
        }
    if (!found)
        fail_msg("no %s of %s under %s", kind, owner ? owner : "anybody", name);
    return found;
}

static void who_we_are(void) {
    hf_expect(HF_OK, hf__redis_ops.announce(be, "", 30000, soon(), ERR));
}

/* The owner text of a claim. */
static const char *owner_of(const hf_claim *c) {
    static char buf[HF_OWNER_SIZE];

    hf__owner_text(buf, CLIENT, c);
    return buf;
}

/* ---- kind by kind ------------------------------------------------------ */

static void a_lock_is_told_with_its_holder(void **state) {
    (void)state;
    hf_claim c = claim(HF_LOCK, "k", 0);
    who_we_are();
    hf_expect(HF_OK, attempt(&c));
    told *t = list("k");
    assert_int_equal(t->n, 1);
    const hf_place *p = only(t, "k", "lock", owner_of(&c));
    assert_true(p->holds);
    assert_false(p->foreign);
    assert_true(p->token == c.token);
    assert_in_range(p->lease_ms, 1, 30000);
    assert_in_range(p->since_ms, 0, HF_TEST_LONG);
    assert_string_equal(p->program, "a test");
    assert_int_equal(list(NULL)->n, 1);
}

static void a_lock_of_redisson_is_foreign(void **state) {
    (void)state;
    hf_test_server_ask(server, "HSET k " JAVA ":77 2");
    hf_test_server_ask(server, "PEXPIRE k 30000");
    const hf_place *p = only(list("k"), "k", "lock", JAVA ":77");
    assert_true(p->holds);
    assert_true(p->foreign);
    assert_int_equal(p->token, 0);
    assert_int_equal(p->since_ms, -1);
    only(list(NULL), "k", "lock", JAVA ":77");
}

static void a_fair_lock_is_told_with_its_queue_in_order(void **state) {
    (void)state;
    hf_test_server_ask(server, "HSET f " CLIENT ":07 1");
    hf_test_server_ask(server, "PEXPIRE f 30000");
    hf_test_server_ask(server, "RPUSH redisson_lock_queue:{f} " JAVA
                               ":5 " CLIENT ":08 " JAVA ":6");
    who_we_are();
    for (int all = 0; all < 2; all++) {
        told *t = list(all ? NULL : "f");
        assert_int_equal(t->n, 4);
        assert_true(only(t, "f", "fair", CLIENT ":07")->holds);
        assert_string_equal(t->owners[1], JAVA ":5");
        assert_string_equal(t->owners[2], CLIENT ":08");
        assert_string_equal(t->owners[3], JAVA ":6");
        for (int i = 1; i < 4; i++) {
            assert_false(t->places[i].holds);
            assert_int_equal(t->places[i].token, 0);
            assert_int_equal(t->places[i].lease_ms, -1);
        }
        assert_true(t->places[1].foreign);
        assert_false(t->places[2].foreign);
    }
}

static void the_fair_are_told_of_while_nobody_holds(void **state) {
    (void)state;
    hf_test_server_ask(server, "RPUSH redisson_lock_queue:{f} " JAVA ":5");
    hf_test_server_ask(server, "RPUSH redisson_lock_queue:{t}g " JAVA ":6");
    assert_false(only(list("f"), "f", "fair", JAVA ":5")->holds);
    told *t = list(NULL);
    assert_int_equal(t->n, 2);
    only(t, "f", "fair", JAVA ":5");
    only(t, "{t}g", "fair", JAVA ":6");
}

/* By its zero before the number, though nobody waits. */
static void a_fair_lock_of_ours_is_known_by_its_owner(void **state) {
    (void)state;
    hf_test_server_ask(server, "HSET f " CLIENT ":07 1");
    only(list("f"), "f", "fair", CLIENT ":07");
}

static void readers_and_the_writer_are_told_apart(void **state) {
    (void)state;
    hf_test_server_ask(server, "HSET rw mode write " JAVA ":3:write 1 " JAVA
                               ":3 2 " CLIENT ":9 1");
    hf_test_server_ask(server, "PEXPIRE rw 30000");
    hf_test_server_ask(server,
                       "SET {rw}:" JAVA ":3:rwlock_timeout:1 1 PX 5000");
    hf_test_server_ask(server,
                       "SET {rw}:" JAVA ":3:rwlock_timeout:2 1 PX 20000");
    who_we_are();
    told *t = list("rw");
    assert_int_equal(t->n, 2); /* our read lock is over: it has no lease */
    const hf_place *writer = only(t, "rw", "write", JAVA ":3:write");
    const hf_place *reader = only(t, "rw", "read", JAVA ":3");
    assert_in_range(writer->lease_ms, 20001, 30000);
    assert_in_range(reader->lease_ms, 5001, 20000);
    assert_true(reader->holds && writer->holds);
    assert_true(reader->foreign && writer->foreign);
    assert_int_equal(list(NULL)->n, 2);
}

static void writers_who_go_first_are_told_as_waiting(void **state) {
    (void)state;
    hf_test_server_ask(server, "HSET rw mode read " JAVA ":3 1");
    hf_test_server_ask(server,
                       "SET {rw}:" JAVA ":3:rwlock_timeout:1 1 PX 5000");
    hf_test_server_ask(server, "ZADD holdfast_rw_writers:{rw} 1 " JAVA
                               ":4:write 9999999999999 " CLIENT ":5:write");
    who_we_are();
    told *t = list("rw");
    assert_int_equal(t->n, 2);
    only(t, "rw", "read", JAVA ":3");
    const hf_place *p = only(t, "rw", "write", CLIENT ":5:write");
    assert_false(p->holds);
    assert_false(p->foreign);
    assert_string_equal(p->program, "a test");
}

static void our_own_readers_and_writers_are_told(void **state) {
    (void)state;
    hf_claim a = claim(HF_READ, "rw", 0), b = claim(HF_READ, "rw", 0),
             w = claim(HF_WRITE, "w", 0);
    who_we_are();
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, attempt(&b));
    hf_expect(HF_OK, attempt(&w));
    told *t = list(NULL);
    assert_int_equal(t->n, 3);
    assert_in_range(only(t, "rw", "read", owner_of(&a))->lease_ms, 1, 30000);
    assert_true(only(t, "rw", "read", owner_of(&b))->holds);
    assert_true(only(t, "w", "write", owner_of(&w))->token == w.token);
}

static void our_own_fair_ones_are_told(void **state) {
    (void)state;
    hf_claim a = claim(HF_FAIR, "f", 0), b = claim(HF_FAIR, "f", 0);
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, hf__redis_ops.attempt(be, &b, true, soon(), ERR));
    told *t = list("f");
    assert_int_equal(t->n, 2);
    assert_true(only(t, "f", "fair", owner_of(&a))->holds);
    assert_false(only(t, "f", "fair", owner_of(&b))->holds);
    hf_expect(HF_OK, release(&b, HF_RELEASE));
}

static void a_simple_lock_is_told_by_name_only(void **state) {
    (void)state;
    hf_claim c = claim(HF_SIMPLE, "s", 0);
    hf_expect(HF_OK, attempt(&c));
    const hf_place *p = only(list("s"), "s", "simple", owner_of(&c));
    assert_true(p->holds);
    assert_in_range(p->lease_ms, 1, 30000);
    assert_int_equal(list(NULL)->n, 0);
}

/* ---- numbers ----------------------------------------------------------- */

static void a_semaphore_is_told_with_what_is_free(void **state) {
    (void)state;
    must(HF_SEMAPHORE, "s", HF_COUNT_SET, 4);
    told *t = list("s");
    assert_int_equal(t->n, 1);
    const hf_place *p = only(t, "s", "semaphore", "");
    assert_int_equal(p->count, 4);
    assert_false(p->holds);
    assert_false(p->foreign);
    assert_int_equal(p->lease_ms, -1);
    t = list(NULL);
    assert_int_equal(t->n, 1);
    assert_int_equal(only(t, "s", "semaphore", "")->count, 4);
    must(HF_SEMAPHORE, "s", HF_COUNT_DELETE, 0);
    assert_int_equal(list("s")->n, 0);
    assert_int_equal(list(NULL)->n, 0);
    must(HF_SEMAPHORE, "given", HF_COUNT_GIVE, 1);
    must(HF_SEMAPHORE, "sized", HF_COUNT_RESIZE, 1);
    assert_int_equal(list(NULL)->n, 2);
}

static void a_number_of_somebody_else_is_told_by_name_only(void **state) {
    (void)state;
    hf_test_server_ask(server, "SET s -3 PX 20000");
    const hf_place *p = only(list("s"), "s", "semaphore", "");
    assert_int_equal(p->count, -3);
    assert_in_range(p->lease_ms, 1, 20000);
    assert_int_equal(list(NULL)->n, 0);
    hf_expect(HF_BUSY, cannot(HF_SEMAPHORE, "s", HF_COUNT_SET, 1));
    assert_int_equal(list(NULL)->n, 1); /* now we know what it is */
}

static void a_latch_is_told_with_what_is_left(void **state) {
    (void)state;
    must(HF_LATCH, "l", HF_COUNT_SET, 3);
    must(HF_LATCH, "l", HF_COUNT_DOWN, 1);
    assert_int_equal(only(list("l"), "l", "latch", "")->count, 2);
    assert_int_equal(only(list(NULL), "l", "latch", "")->count, 2);
    must(HF_LATCH, "l", HF_COUNT_DOWN, 1);
    must(HF_LATCH, "l", HF_COUNT_DOWN, 1);
    assert_int_equal(list("l")->n, 0);
    assert_int_equal(list(NULL)->n, 0);
    assert_false(exists("holdfast_counter:{l}"));
}

static void a_note_without_its_counter_tells_nothing(void **state) {
    (void)state;
    must(HF_LATCH, "l", HF_COUNT_SET, 1);
    assert_in_range(
        hf_test_server_ask_number(server, "PTTL holdfast_counter:{l}"), 1,
        604800000);
    hf_test_server_ask(server, "DEL l"); /* as Redisson does at zero */
    assert_int_equal(list(NULL)->n, 0);
    assert_int_equal(list("l")->n, 0);
}

static void leased_permits_are_told_by_their_ids(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "{t}s", 2),
             over = claim(HF_PERMIT, "{t}s", 3);
    must(HF_SEMAPHORE, "{t}s", HF_COUNT_SET, 7);
    hf_expect(HF_OK, attempt(&c));
    over.lease_ms = 1;
    hf_expect(HF_OK, attempt(&over));
    for (int all = 0; all < 2; all++) {
        hf_test_eventually(list(all ? NULL : "{t}s")->n == 3, HF_TEST_LONG);
        told *t = list(all ? NULL : "{t}s");
        assert_string_equal(t->kinds[0], "semaphore");
        assert_int_equal(t->places[0].count, 5); /* those that are over, too */
        const hf_place *p = only(t, "{t}s", "permit", owner_of(&c));
        assert_true(p->holds);
        assert_true(p->foreign); /* an id tells of no client */
        assert_int_equal(p->permits, 1);
        assert_in_range(p->lease_ms, 1, 30000);
        assert_string_equal(t->kinds[1], "permit");
        assert_string_equal(t->kinds[2], "permit");
        assert_int_equal(strlen(t->owners[1]), 32);
    }
    assert_value("{t}s", "2"); /* looking changes nothing */
}

static void a_permit_of_redisson_without_an_end_is_told(void **state) {
    (void)state;
    hf_test_server_ask(server, "SET s 0");
    hf_test_server_ask(server,
                       "ZADD {s}:timeout 922337203685477 0123456789abcdef");
    told *t = list(NULL);
    assert_int_equal(t->n, 2);
    const hf_place *p =
        only(t, "s", "permit", "30313233343536373839616263646566");
    assert_int_equal(p->lease_ms, -1);
    only(t, "s", "semaphore", "");
}

static void a_name_in_braces_of_its_own_is_found(void **state) {
    (void)state;
    hf_claim c = claim(HF_PERMIT, "{s}", 1);
    must(HF_SEMAPHORE, "{s}", HF_COUNT_SET, 1);
    hf_expect(HF_OK, attempt(&c));
    told *t = list(NULL);
    assert_int_equal(t->n, 2);
    only(t, "{s}", "permit", owner_of(&c));
}

static void a_latch_of_redisson_is_told_as_one_while_we_wait(void **state) {
    (void)state;
    hf_claim c = claim(HF_LATCH, "l", 0);
    hf_test_server_ask(server, "SET l 3");
    hf_expect(HF_OK, watch(&c, true));
    told *t = list("l");
    assert_int_equal(t->n, 1);
    assert_int_equal(only(t, "l", "latch", "")->count, 3);
    hf_expect(HF_OK, watch(&c, false));
}

/* ---- other people's data ----------------------------------------------- */

static void what_is_not_ours_is_not_listed(void **state) {
    (void)state;
    hf_test_server_ask(server, "SET counter 12");
    hf_test_server_ask(server, "SET text hello");
    hf_test_server_ask(server, "HSET person name joe mode read");
    hf_test_server_ask(server, "ZADD {x}:timeout 9999999999999 member");
    hf_test_server_ask(server, "ZADD y:timeout 9999999999999 0123456789abcdef");
    hf_test_server_ask(server, "SET x 3");
    hf_test_server_ask(server, "RPUSH redisson_lock_queue 1");
    hf_test_server_ask(server, "RPUSH list 1");
    hf_test_server_ask(server, "SADD set 1");
    assert_int_equal(list(NULL)->n, 0);
    assert_int_equal(list("person")->n, 0);
    assert_int_equal(list("list")->n, 0);
    assert_int_equal(list("set")->n, 0);
    assert_int_equal(list("nothing")->n, 0);
}

static void thousands_of_things_are_found_page_by_page(void **state) {
    (void)state;
    enum { N = 700 };
    static char names[N][16];
    int found = 0;
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        hf_test_server_ask(server, "HSET other%d field value", i);
        hf_test_server_ask(server, "SET counter%d %d", i, i);
    }
    for (int i = 0; i < 20; i++) {
        hf_claim k = claim(HF_LOCK, names[i], 0);
        hf_claim p = claim(HF_PERMIT, names[N - 1 - i], 1);
        must(HF_SEMAPHORE, names[N - 1 - i], HF_COUNT_SET, 1);
        hf_expect(HF_OK, attempt(&k));
        hf_expect(HF_OK, attempt(&p));
    }
    told *t = list(NULL);
    for (int i = 0; i < t->n; i++)
        found += t->places[i].holds;
    assert_int_equal(found, 40);
    assert_int_equal(t->n, 60);
}

/* Who may not look at something is told of the rest. */
static void what_is_forbidden_is_passed_over(void **state) {
    (void)state;
    char uri[128];
    hf_test_server_ask(server, "ACL SETUSER joe on >word resetkeys ~mine:* "
                               "~redisson_*:{mine:* ~{mine:* &* +@all");
    hf_test_server_ask(server, "HSET mine:1 " JAVA ":1 1");
    hf_test_server_ask(server, "HSET other " JAVA ":2 1");
    hf_test_server_ask(server, "SET mine:2 1");
    hf_test_server_ask(server,
                       "ZADD {mine:2}:timeout 9999999999999 0123456789abcdef");
    hf_test_server_ask(server,
                       "ZADD {other}:timeout 9999999999999 0123456789abcdef");
    snprintf(uri, sizeof uri, "redis://joe:word@127.0.0.1:%d",
             hf_test_server_port(server));
    sit(uri);
    told *t = list(NULL);
    assert_int_equal(t->n, 3);
    only(t, "mine:1", "lock", JAVA ":1");
    only(t, "mine:2", "semaphore", "");
}

static const struct CMUnitTest tests[] = {
    TEST(a_lock_is_told_with_its_holder),
    TEST(a_lock_of_redisson_is_foreign),
    TEST(a_fair_lock_is_told_with_its_queue_in_order),
    TEST(the_fair_are_told_of_while_nobody_holds),
    TEST(a_fair_lock_of_ours_is_known_by_its_owner),
    TEST(readers_and_the_writer_are_told_apart),
    TEST(writers_who_go_first_are_told_as_waiting),
    TEST(our_own_readers_and_writers_are_told),
    TEST(our_own_fair_ones_are_told),
    TEST(a_simple_lock_is_told_by_name_only),
    TEST(a_semaphore_is_told_with_what_is_free),
    TEST(a_number_of_somebody_else_is_told_by_name_only),
    TEST(leased_permits_are_told_by_their_ids),
    TEST(a_permit_of_redisson_without_an_end_is_told),
    TEST(a_name_in_braces_of_its_own_is_found),
    TEST(a_latch_is_told_with_what_is_left),
    TEST(a_latch_of_redisson_is_told_as_one_while_we_wait),
    TEST(a_note_without_its_counter_tells_nothing),
    TEST(what_is_not_ours_is_not_listed),
    TEST(thousands_of_things_are_found_page_by_page),
    TEST_BARE(what_is_forbidden_is_passed_over),
};
HF_SUITE(tests)
