/* SPDX-License-Identifier: MIT
 *
 * redis_list_test.c - who holds and who waits, read from Redis: every kind by
 * its shape, ours and Redisson's, by name and all at once; and what clients say
 * of themselves. */
#include "redis_seat.h"

#include "backend/redis/keys.h"

#define JAVA "99999999-8888-4777-8666-555555555555"

/* ---- what was told ----------------------------------------------------- */

typedef struct told {
    int n;
    hf_place places[64];
    char names[64][64], owners[64][96], kinds[64][16], programs[64][64];
    char clients[64][40];
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
    snprintf(t->clients[i], sizeof t->clients[i], "%s", place->client);
    t->places[i].client = t->clients[i];
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
    assert_string_equal(p->client, CLIENT);
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
    assert_string_equal(p->client, "");
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

/* ---- many keys --------------------------------------------------------- */

/* So many of those keys that a released lock leaves behind. */
static void leave_tokens(const char *prefix, int n) {
    hf_test_server_ask(server,
                       "EVAL \"for i = 1, ARGV[1] do redis.call('set', "
                       "'redisson_lock_token:{%s' .. i .. '}', i) end\" 0 %d",
                       prefix, n);
}

/* How often the server was asked for that. */
static long long calls(const char *command) {
    char key[64];
    const char *at;

    snprintf(key, sizeof key, "cmdstat_%s:calls=", command);
    at = strstr(hf_test_server_ask(server, "INFO commandstats"), key);
    return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

typedef struct first {
    int n;
    long long scans; /* when the first place was told */
} first;

static void note_first(void *arg, const hf_place *place) {
    first *f = arg;

    (void)place;
    if (f->n++ == 0)
        f->scans = calls("scan");
}

/* Every page costs the server a moment; all of them together may take long, so
 * what is found is told at once. */
static void many_keys_are_gone_through_in_small_steps(void **state) {
    (void)state;
    enum { TOKENS = 20000, HELD = 300, LEAST_PAGES = TOKENS / 1000 };
    first f = {0};
    leave_tokens("n", TOKENS);
    for (int i = 0; i < HELD; i++)
        hf_test_server_ask(server, "HSET n%d " JAVA ":%d 1", i, i + 1);
    hf_test_server_ask(server, "CONFIG RESETSTAT");
    hf_expect(HF_OK, hf__redis_ops.list(be, NULL, note_first, &f, soon(), ERR));
    assert_int_equal(f.n, HELD);
    assert_int_equal(calls("keys"), 0);
    assert_true(calls("scan") >= LEAST_PAGES);
    assert_true(f.scans < LEAST_PAGES / 2);
    /* No script looks at more than a few of them. */
    assert_true(calls("evalsha") + calls("eval") >= HELD / 50);
}

/* While keys come in great numbers SCAN tells of some again. */
static void add_keys(void *arg, const hf_place *place) {
    told *t = arg;

    if (t->n == 0)
        leave_tokens("more", 30000);
    note(t, place);
}

static void a_name_is_told_once_though_keys_come_by_twice(void **state) {
    (void)state;
    told *t = list(NULL);
    for (int i = 0; i < 60; i++)
        hf_test_server_ask(server, "HSET k%d " JAVA ":%d 1", i, i + 1);
    leave_tokens("k", 2000);
    hf_expect(HF_OK, hf__redis_ops.list(be, NULL, add_keys, t, soon(), ERR));
    assert_int_equal(t->n, 60);
    for (int i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        only(t, name, "lock", NULL);
    }
}

/* What was a hash with a queue is a queue alone by the time those are gone
 * through. */
static void end_hold(void *arg, const hf_place *place) {
    if (place->holds)
        hf_test_server_ask(server, "DEL f");
    note(arg, place);
}

static void a_line_is_told_once_though_it_moves_meanwhile(void **state) {
    (void)state;
    told *t = list(NULL);
    hf_test_server_ask(server, "HSET f " JAVA ":7 1");
    hf_test_server_ask(server, "RPUSH redisson_lock_queue:{f} " JAVA ":8");
    hf_expect(HF_OK, hf__redis_ops.list(be, NULL, end_hold, t, soon(), ERR));
    assert_int_equal(t->n, 2);
    assert_true(only(t, "f", "fair", JAVA ":7")->holds);
    assert_false(only(t, "f", "fair", JAVA ":8")->holds);
}

static void dawdle(void *arg, const hf_place *place) {
    const hf_time *until = arg;

    (void)place;
    while (hf__now() <= *until)
        hf__world->poll(NULL, 0, *until + HF_MS);
}

static void time_is_counted_for_each_request_of_a_listing(void **state) {
    (void)state;
    hf_time by;
    hf_test_server_ask(server, "HSET k " JAVA ":7 1");
    by = hf__after_ms(3000);
    hf_expect(HF_OK, hf__redis_ops.list(be, NULL, dawdle, &by, by, ERR));
    assert_true(hf__now() > by);
}

/* ---- records ----------------------------------------------------------- */

#define OTHER "22222222-3333-4444-8555-666666666666"

typedef struct records {
    int n;
    hf_identity who[8];
    char doing[8][HF_DOING_MAX + 1];
} records;

static void note_record(void *arg, const hf_identity *who, const char *doing) {
    records *r = arg;

    assert_true(r->n < 8);
    r->who[r->n] = *who;
    strcpy(r->doing[r->n++], doing);
}

static void count_record(void *arg, const hf_identity *who, const char *doing) {
    (void)who, (void)doing;
    ++*(int *)arg;
}

static records *clients(void) {
    static records r;

    r.n = 0;
    hf_expect(HF_OK, hf__redis_ops.clients(be, note_record, &r, soon(), ERR));
    return &r;
}

/* The number of the client's record; -1: it has none. */
static int record_of(const records *r, const char *client) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->who[i].client, client) == 0)
            return i;
    return -1;
}

static void say(const char *doing, int lease_ms) {
    hf_expect(HF_OK, hf__redis_ops.announce(be, doing, lease_ms, soon(), ERR));
}

/* Another client of the same server. */
static hf_backend *open_other(hf_host *other) {
    hf_backend *mine = be, *theirs;

    *other = host;
    strcpy(other->identity.client, OTHER);
    strcpy(other->identity.program, "another");
    hf_uri *uri = NULL;
    hf_expect(HF_OK, hf_uri_parse(&uri, hf_test_server_uri(server), ERR));
    hf_expect(HF_OK, hf__redis_ops.open(&theirs, uri, other, soon(), ERR));
    hf_uri_free(uri);
    be = mine;
    return theirs;
}

static void every_client_is_told_with_what_it_does(void **state) {
    (void)state;
    static char longest[HF_DOING_MAX + 1];
    hf_host other;
    hf_backend *theirs = open_other(&other);
    records *r;
    for (int i = 0; i < HF_DOING_MAX; i++)
        longest[i] = (char)(i % 255 + 1);
    assert_int_equal(clients()->n, 0);
    say("holds a\nholds b\n", 30000);
    hf_expect(HF_OK,
              hf__redis_ops.announce(theirs, longest, 30000, soon(), ERR));
    r = clients();
    assert_int_equal(r->n, 2);
    int mine = record_of(r, CLIENT), its = record_of(r, OTHER);
    assert_true(mine >= 0 && its >= 0);
    assert_string_equal(r->who[mine].program, "a test");
    assert_string_equal(r->who[its].program, "another");
    assert_string_equal(r->doing[mine], "holds a\nholds b\n");
    assert_string_equal(r->doing[its], longest);
    say("", 30000);
    r = clients();
    assert_string_equal(r->doing[record_of(r, CLIENT)], "");
    hf__redis_ops.close(theirs, false);
    r = clients();
    assert_int_equal(r->n, 1); /* it took its record along */
    assert_int_equal(record_of(r, CLIENT), 0);
    assert_false(exists("holdfast:client:" OTHER));
    assert_int_equal(
        hf_test_server_ask_number(server, "ZCARD holdfast:client:all"), 1);
}

/* All that is left of one that died is gone with its lease, and struck from the
 * list by the next who comes. */
static void a_record_ends_with_its_lease(void **state) {
    (void)state;
    say("", 1);
    hf_test_eventually(clients()->n == 0, HF_TEST_LONG);
    hf_test_eventually(!exists("holdfast:client:all"), HF_TEST_LONG);
    hf_test_server_ask(server, "ZADD holdfast:client:all 1 " OTHER);
    say("", 30000);
    assert_int_equal(
        hf_test_server_ask_number(server, "ZCARD holdfast:client:all"), 1);
    assert_int_equal(record_of(clients(), CLIENT), 0);
    assert_in_range(
        hf_test_server_ask_number(server, "PTTL holdfast:client:" CLIENT), 1,
        30000);
    assert_in_range(
        hf_test_server_ask_number(server, "PTTL holdfast:client:all"), 1,
        30000);
}

/* One that lives longer keeps the list. */
static void a_short_lease_does_not_end_the_list_of_the_others(void **state) {
    (void)state;
    hf_host other;
    hf_backend *theirs = open_other(&other);
    hf_expect(HF_OK, hf__redis_ops.announce(theirs, "", 30000, soon(), ERR));
    say("", 1);
    hf_test_eventually(clients()->n == 1, HF_TEST_LONG);
    assert_int_equal(record_of(clients(), OTHER), 0);
    hf__redis_ops.close(theirs, false);
}

static void what_was_flushed_is_back_with_the_next_record(void **state) {
    (void)state;
    say("one", 30000);
    hf_test_server_ask(server, "FLUSHALL");
    hf_test_server_ask(server, "SCRIPT FLUSH");
    assert_int_equal(clients()->n, 0);
    say("two", 30000);
    assert_int_equal(clients()->n, 1);
    assert_string_equal(clients()->doing[0], "two");
}

/* A client of before wrote no list, and says nothing of what it does; and what
 * it reads is what it knows. */
static void a_record_of_before_still_says_who_holds(void **state) {
    (void)state;
    hf_test_server_ask(server, "SET holdfast:client:" OTHER
                               " \"pid=7\\nprogram=old\" PX 30000");
    hf_test_server_ask(server, "HSET k " OTHER ":5 1");
    const hf_place *p = only(list("k"), "k", "lock", OTHER ":5");
    assert_false(p->foreign);
    assert_string_equal(p->program, "old");
    say("waits lock k", 30000);
    assert_int_equal(
        strncmp(hf_test_server_ask(server, "GET holdfast:client:" CLIENT),
                "pid=0\nhost=here\nprogram=a test\n", 31),
        0);
}

static void hundreds_of_clients_are_told_page_by_page(void **state) {
    (void)state;
    int n = 0;
    hf_test_server_ask(
        server,
        "EVAL \"for i = 1, 700 do local c = 'c' .. i redis.call('zadd', "
        "'holdfast:client:all', 9e15, c) redis.call('set', "
        "'holdfast:client:' .. c, 'pid=' .. i) end\" 0");
    hf_test_server_ask(server, "CONFIG RESETSTAT");
    hf_expect(HF_OK, hf__redis_ops.clients(be, count_record, &n, soon(), ERR));
    assert_int_equal(n, 700);
    assert_true(calls("zscan") >= 7);
    assert_int_equal(calls("scan") + calls("keys"), 0);
}

/* ---- with a core ------------------------------------------------------- */

typedef struct owned {
    const char *kind;
    int n;
    bool foreign;
    char client[40], host[40];
} owned;

static void note_owned(void *arg, const hf_place *place) {
    owned *o = arg;

    if (strcmp(place->kind, o->kind) != 0 || !place->holds)
        return;
    o->n++;
    o->foreign = place->foreign;
    snprintf(o->client, sizeof o->client, "%s", place->client);
    snprintf(o->host, sizeof o->host, "%s", place->host);
}

/* Is the only holder of the name, of that kind, known? */
static bool is_known(hf_client *client, const char *name, const char *kind) {
    owned o = {.kind = kind};

    hf_expect(HF_OK, hf_list(client, name, note_owned, &o, ERR));
    assert_int_equal(o.n, 1);
    if (o.foreign != !*o.client)
        return false; /* its record came between records and places */
    assert_int_equal(o.foreign, strcmp(o.host, "ours") != 0);
    return !o.foreign;
}

static hf_lock *held(hf_client *client, const char *name, hf_kind kind) {
    hf_lock *lock = hf_test_lock(client, name, HF_LOCK_WITH(.kind = kind));

    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    return lock;
}

/* Also where the owner is a number that tells of nobody. */
static void ours_are_known_and_others_are_foreign(void **state) {
    (void)state;
    static const struct {
        const char *name, *kind;
        hf_kind of;
    } all[] = {{"k", "lock", HF_LOCK},
               {"f", "fair", HF_FAIR},
               {"w", "write", HF_WRITE},
               {"s", "simple", HF_SIMPLE},
               {"p", "permit", HF_PERMIT}};
    hf_client *client = hf_test_open(hf_test_server_uri(server), NULL);
    hf_client *ours = hf_test_open(hf_test_server_uri(server),
                                   HF_CLIENT_WITH(.host = "ours"));
    must(HF_SEMAPHORE, "p", HF_COUNT_SET, 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        held(ours, all[i].name, all[i].of);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hf_test_eventually(is_known(client, all[i].name, all[i].kind),
                           HF_TEST_LONG);
    hf_test_server_ask(server, "HSET java " JAVA ":77 1");
    hf_test_server_ask(server, "SET python 0123456789abcdef PX 30000");
    hf_test_server_ask(server, "SET id 0");
    hf_test_server_ask(server,
                       "ZADD {id}:timeout 9999999999999 0123456789abcdef");
    assert_false(is_known(client, "java", "lock"));
    assert_false(is_known(client, "python", "simple"));
    assert_false(is_known(client, "id", "permit"));
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
    TEST(many_keys_are_gone_through_in_small_steps),
    TEST(a_name_is_told_once_though_keys_come_by_twice),
    TEST(a_line_is_told_once_though_it_moves_meanwhile),
    TEST(time_is_counted_for_each_request_of_a_listing),
    TEST(every_client_is_told_with_what_it_does),
    TEST(a_record_ends_with_its_lease),
    TEST(a_short_lease_does_not_end_the_list_of_the_others),
    TEST(what_was_flushed_is_back_with_the_next_record),
    TEST(a_record_of_before_still_says_who_holds),
    TEST(hundreds_of_clients_are_told_page_by_page),
    TEST(ours_are_known_and_others_are_foreign),
};
HF_SUITE(tests)
