/* SPDX-License-Identifier: MIT
 *
 * redis_fair_test.c - the fair lock in Redis: its line as Redisson keeps it,
 * grants that come unasked, and waiters who are gone; and what belongs to the
 * plain lock's hash but to no kind alone: blocks of tokens, the spin lock.
 *
 * Nobody listens to everything here: a grant is for whoever hears of it. */
#include "redis_seat.h"

#include "backend/redis/keys.h"

#include <inttypes.h>

#define QUEUE "redisson_lock_queue:{f}"
#define ENDS  "redisson_lock_timeout:{f}"
#define JAVA  "99999999-2222-4333-8444-555555555555:7"

/* ---- what the core would be told --------------------------------------- */

typedef struct gift {
    uint64_t owner, token;
    hf_time until;
} gift;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static gift gifts[512]; /* mu */
static int n_gifts;     /* mu */
static uint64_t called; /* mu: the owner of the last wake-up */
static int n_calls;     /* mu */

static void on_granted(void *core, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    (void)core;
    if (kind != HF_FAIR || strcmp(name, "f") != 0)
        return;
    pthread_mutex_lock(&mu);
    gifts[n_gifts++] = (gift){owner, token, until};
    pthread_mutex_unlock(&mu);
}

static void on_called(void *core, hf_kind kind, const char *name,
                      uint64_t owner) {
    on_woken(core, kind, name, owner);
    if (kind != HF_FAIR || !name || strcmp(name, "f") != 0)
        return;
    pthread_mutex_lock(&mu);
    called = owner;
    n_calls++;
    pthread_mutex_unlock(&mu);
}

static int granted_so_far(void) {
    int n;

    pthread_mutex_lock(&mu);
    n = n_gifts;
    pthread_mutex_unlock(&mu);
    return n;
}

static int calls_so_far(void) {
    int n;

    pthread_mutex_lock(&mu);
    n = n_calls;
    pthread_mutex_unlock(&mu);
    return n;
}

/* Waits for the n-th grant, which must be the claim's. */
static gift must_be_given(int n, const hf_claim *c) {
    gift g;

    hf_test_eventually(granted_so_far() >= n, HF_TEST_LONG);
    pthread_mutex_lock(&mu);
    g = gifts[n - 1];
    pthread_mutex_unlock(&mu);
    assert_int_equal(g.owner, c->owner);
    return g;
}

static void must_be_called(int n, const hf_claim *c) {
    hf_test_eventually(calls_so_far() >= n, HF_TEST_LONG);
    pthread_mutex_lock(&mu);
    assert_int_equal(called, c->owner);
    pthread_mutex_unlock(&mu);
}

static void with_a_line(void **state) {
    host.granted = on_granted;
    host.woken = on_called;
    server = hf_test_server_start(NULL);
    sit(hf_test_server_uri(server));
    hf_test_body(state);
}

#undef TEST
#define TEST(name) HF_TEST_IN(with_a_line, name, teardown)

/* ---- short words ------------------------------------------------------- */

static hf_claim fair(void) {
    return claim(HF_FAIR, "f", 0);
}

static const char *owner_of(const hf_claim *c) {
    static char texts[4][HF_OWNER_SIZE];
    static int next;
    char *text = texts[next++ % 4];

    hf__owner_text(text, CLIENT, c);
    return text;
}

static int ask(hf_claim *c) {
    return hf__redis_ops.attempt(be, c, true, soon(), ERR);
}

/* As the core does before it sleeps. */
static void must_wait(hf_claim *c) {
    hf_expect(HF_BUSY, ask(c));
    hf_expect(HF_OK, watch(c, true));
    hf_expect(HF_BUSY, ask(c));
}

static int64_t server_ms(void) {
    return hf_test_server_ask_number(
        server, "EVAL 'local t = redis.call(\"time\") "
                "return t[1] * 1000 + math.floor(t[2] / 1000)' 0");
}

static int64_t left_of(const char *owner) {
    return hf_test_server_ask_number(server, "ZSCORE " ENDS " %s", owner) -
           server_ms();
}

static void stand_raw(const char *owner, int64_t left) {
    hf_test_server_ask(server, "RPUSH " QUEUE " %s", owner);
    hf_test_server_ask(server, "ZADD " ENDS " %" PRId64 " %s",
                       server_ms() + left, owner);
}

static void set_left(const hf_claim *c, int64_t left) {
    hf_test_server_ask(server, "ZADD " ENDS " %" PRId64 " %s",
                       server_ms() + left, owner_of(c));
}

static const char *first_in_line(void) {
    return hf_test_server_ask(server, "LINDEX " QUEUE " 0");
}

static int64_t length(void) {
    int64_t n = hf_test_server_ask_number(server, "LLEN " QUEUE);

    assert_int_equal(hf_test_server_ask_number(server, "ZCARD " ENDS), n);
    return n;
}

static bool holds(const hf_claim *c) {
    return hf_test_server_ask_number(server, "HEXISTS f %s", owner_of(c)) == 1;
}

static int64_t lease(void) {
    return hf_test_server_ask_number(server, "PTTL f");
}

/* Only the token is left of a lock that nobody wants. */
static void assert_nothing_left(void) {
    assert_string_equal(hf_test_server_ask(server, "KEYS *"),
                        "redisson_lock_token:{f}");
}

/* Subscribes a stranger, as Java would be. */
static void listen_to(const char *channel) {
    ear = raw(hf_test_server_port(server));
    freeReplyObject(redisCommand(ear, "SUBSCRIBE %s", channel));
}

static void assert_ear_hears(const char *payload) {
    redisReply *reply = NULL;

    assert_int_equal(redisGetReply(ear, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->elements, 3);
    assert_string_equal(reply->element[2]->str, payload);
    freeReplyObject(reply);
}

/* ---- the layout -------------------------------------------------------- */

static void a_fair_lock_looks_as_redissons_does(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    char wanted[256];
    hf_expect(HF_OK, ask(&a));
    snprintf(wanted, sizeof wanted, CLIENT ":0%" PRIu64 "\n1", a.owner);
    assert_string_equal(hf_test_server_ask(server, "HGETALL f"), wanted);
    assert_in_range(lease(), 29000, 30000);
    assert_int_equal(hf_test_server_ask_number(server, "DBSIZE"), 2);
    hf_expect(HF_BUSY, ask(&b));
    assert_int_equal(b.place, 1);
    assert_string_equal(hf_test_server_ask(server, "LRANGE " QUEUE " 0 -1"),
                        owner_of(&b));
    assert_string_equal(hf_test_server_ask(server, "ZRANGE " ENDS " 0 -1"),
                        owner_of(&b));
    assert_in_range(left_of(owner_of(&b)), 9000, 10000);
    assert_int_equal(hf_test_server_ask_number(server, "DBSIZE"), 4);
}

static void the_keys_of_the_line_end_by_themselves(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_BUSY, ask(&b));
    assert_in_range(hf_test_server_ask_number(server, "PTTL " QUEUE), 600000,
                    3600000);
    assert_in_range(hf_test_server_ask_number(server, "PTTL " ENDS), 600000,
                    3600000);
    hf_test_server_ask(server, "PEXPIRE " QUEUE " 1000000");
    hf_test_server_ask(server, "PEXPIRE " ENDS " 1000000");
    hf_expect(HF_OK, renew(&b));
    assert_in_range(hf_test_server_ask_number(server, "PTTL " QUEUE), 3500000,
                    3600000);
    assert_in_range(hf_test_server_ask_number(server, "PTTL " ENDS), 3500000,
                    3600000);
}

/* Java puts itself in without touching the end of the keys. */
static void the_keys_are_left_to_java_without_an_end(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    stand_raw(JAVA, 300000);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    assert_string_equal(first_in_line(), JAVA);
    assert_int_equal(hf_test_server_ask_number(server, "PTTL " QUEUE), -1);
    assert_int_equal(hf_test_server_ask_number(server, "PTTL " ENDS), -1);
}

static void nothing_is_left_behind(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    must_wait(&c);
    hf_expect(HF_OK, release(&c, HF_RELEASE)); /* it waited */
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    hf_expect(HF_OK, release(&b, HF_RELEASE));
    assert_nothing_left();
    hf_expect(HF_ELOST, release(&a, HF_RELEASE));
    hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    assert_nothing_left();
}

/* ---- order ------------------------------------------------------------- */

static void a_try_takes_no_place_and_overtakes_nobody(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, attempt(&b));
    assert_int_equal(b.place, 0);
    assert_int_equal(length(), 0);
    must_wait(&c);
    hf_test_server_ask(server, "DEL f");
    hf_expect(HF_BUSY, attempt(&b));
    must_be_given(1, &c);
}

static void who_asks_again_stands_there_once(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    uint64_t token = a.token;
    hf_expect(HF_OK, ask(&a));
    assert_int_equal(a.token, token);
    assert_string_equal(hf_test_server_ask(server, "HVALS f"), "1");
    for (int i = 0; i < 3; i++)
        hf_expect(HF_BUSY, ask(&b));
    assert_int_equal(length(), 1);
}

/* Redis keeps a big zset in another way than a small one. */
static void two_hundred_wait_in_the_order_they_came(void **state) {
    (void)state;
    enum { N = 200 };
    static hf_claim claims[N];
    hf_claim holder = fair();
    hf_expect(HF_OK, ask(&holder));
    for (int i = 0; i < N; i++) {
        claims[i] = fair();
        must_wait(&claims[i]);
    }
    assert_int_equal(length(), N);
    hf_claim *before = &holder;
    for (int i = 0; i < N; i++) {
        int rc = release(before, HF_RELEASE); /* a second may have passed */
        assert_true(rc == HF_OK || rc == HF_ELOST);
        gift g = must_be_given(i + 1, &claims[i]);
        assert_true(g.token > before->token);
        claims[i].token = g.token;
        before = &claims[i];
    }
    release(before, HF_RELEASE);
    assert_nothing_left();
}

static void the_first_asks_sooner_than_the_others(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    a.lease_ms = 400;
    hf_expect(HF_OK, ask(&a));
    hf_time before = hf__now();
    hf_expect(HF_BUSY, ask(&b));
    assert_true(b.ask_again >= before + 50 * HF_MS);
    assert_true(b.ask_again <= hf__now() + 402 * HF_MS);
    hf_expect(HF_BUSY, ask(&c));
    assert_true(c.ask_again >= before + 2 * HF_SECOND);
    assert_true(c.ask_again <= hf__now() + 5 * HF_SECOND);
    hf_test_eventually(!exists("f"), HF_TEST_LONG);
    before = hf__now();
    hf_expect(HF_BUSY, ask(&c)); /* the first is about to ask */
    assert_true(c.ask_again >= before + 50 * HF_MS);
    hf_expect(HF_OK, ask(&b));
}

/* ---- grants that come unasked ------------------------------------------ */

static void a_release_gives_the_lock_to_the_first(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    must_wait(&c);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    gift g = must_be_given(1, &b);
    assert_true(g.token > a.token);
    assert_true(g.until > hf__now());
    assert_true(g.until <= hf__now() + HF_SECOND);
    assert_true(holds(&b));
    assert_in_range(lease(), 1, 1000);
    assert_string_equal(first_in_line(), owner_of(&c));
    b.token = g.token;
    hf_expect(HF_OK, renew(&b));
    assert_in_range(lease(), 29000, 30000);
    assert_int_equal(granted_so_far(), 1);
    assert_int_equal(calls_so_far(), 0);
}

static void a_posted_release_gives_it_as_well(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    hf_expect(HF_OK, release(&a, HF_RELEASE_POSTED));
    must_be_given(1, &b);
}

static void who_asks_before_it_hears_has_the_same_grant(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_expect(HF_OK, ask(&b));
    assert_int_equal(must_be_given(1, &b).token, b.token);
    assert_in_range(lease(), 29000, 30000);
}

static void a_grant_that_is_not_used_lapses(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    must_wait(&c);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    hf_test_eventually(!holds(&b), HF_TEST_LONG);
    assert_true(hf_test_now_ms() - began >= 990);
    assert_int_equal(renew(&c), HF_ELOST); /* it should ask */
    assert_int_equal(length(), 1);         /* and has its place */
    hf_expect(HF_OK, ask(&c));
    hf_expect(HF_OK, release(&c, HF_RELEASE));
    hf_expect(HF_ELOST, release(&b, HF_RELEASE));
    assert_nothing_left();
}

static void who_left_gives_its_grant_to_the_next(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    must_wait(&c);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    hf_expect(HF_OK, release(&b, HF_RELEASE)); /* it gave up meanwhile */
    must_be_given(2, &c);
    assert_true(holds(&c));
}

static void who_leaves_a_free_lock_hands_it_on(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    must_wait(&c);
    hf_test_server_ask(server, "DEL f"); /* its lease ended */
    hf_expect(HF_OK, release(&b, HF_RELEASE));
    must_be_given(1, &c);
}

static void a_grant_of_old_makes_one_ask(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    char ours[HF_KEY_SIZE];
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    hf__key_ear(ours, CLIENT, &b);
    hf_test_server_ask(server, "PUBLISH %s 77:%" PRId64, ours,
                       (server_ms() - 900) * 1000);
    must_be_called(1, &b);
    hf_test_server_ask(server, "PUBLISH %s 77:%" PRId64, ours,
                       (server_ms() + 60000) * 1000);
    gift g = must_be_given(1, &b); /* a clock was set: a second at most */
    assert_true(g.until <= hf__now() + HF_SECOND);
    assert_int_equal(g.token, 77);
}

static void any_other_message_wakes_the_one_it_is_for(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    const char *payloads[] = {"0", "1", "-3", "nonsense", "7:", ":7", "7:x"};
    char ours[HF_KEY_SIZE];
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    must_wait(&c);
    hf__key_ear(ours, CLIENT, &c);
    for (int i = 0; i < 7; i++) {
        hf_test_server_ask(server, "PUBLISH %s %s", ours, payloads[i]);
        must_be_called(i + 1, &c);
    }
    assert_int_equal(granted_so_far(), 0);
}

/* ---- those who are gone ------------------------------------------------ */

static void who_does_not_hear_loses_its_place(void **state) {
    (void)state;
    hf_claim a = fair(), deaf = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_BUSY, ask(&deaf));
    must_wait(&b);
    set_left(&deaf, 8000); /* it spoke two seconds ago */
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    assert_int_equal(length(), 0);
    assert_int_equal(renew(&deaf), HF_ELOST);
}

/* Between joining and listening lies a round trip. */
static void who_just_joined_keeps_its_place(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_BUSY, ask(&b));
    must_wait(&c);
    set_left(&b, 9900);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_false(exists("f"));
    assert_string_equal(first_in_line(), owner_of(&b));
    hf_expect(HF_OK, watch(&b, true));
    hf_expect(HF_OK, ask(&b));
    assert_int_equal(granted_so_far(), 0);
}

static void the_second_finds_a_first_that_died(void **state) {
    (void)state;
    hf_claim a = fair(), deaf = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_BUSY, ask(&deaf));
    must_wait(&b);
    set_left(&deaf, 9900);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_int_equal(renew(&b), HF_ELOST); /* it should look */
    set_left(&deaf, 8000);
    hf_expect(HF_OK, ask(&b));
    assert_int_equal(length(), 0);
}

static void a_place_ends_when_nobody_keeps_it(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    stand_raw("99999999-2222-4333-8444-555555555555:031", -1);
    stand_raw(JAVA, 0);
    must_wait(&b);
    assert_string_equal(first_in_line(), owner_of(&b));
    assert_int_equal(length(), 1);
    set_left(&b, -5);
    hf_expect(HF_BUSY, ask(&c));
    assert_string_equal(first_in_line(), owner_of(&c));
    assert_int_equal(renew(&b), HF_ELOST);
    hf_expect(HF_BUSY, ask(&b)); /* behind the other now */
    assert_string_equal(first_in_line(), owner_of(&c));
    assert_int_equal(length(), 2);
}

static void who_still_asks_is_not_dead(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_BUSY, ask(&b));
    hf_expect(HF_BUSY, ask(&c));
    set_left(&b, -5); /* it was stopped, and goes on */
    hf_expect(HF_BUSY, ask(&b));
    assert_string_equal(first_in_line(), owner_of(&b));
    assert_in_range(left_of(owner_of(&b)), 9000, 10000);
}

static void a_first_without_an_end_is_passed_over(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    hf_test_server_ask(server, "RPUSH " QUEUE " " JAVA);
    must_wait(&b);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    assert_int_equal(length(), 0);
}

static void a_place_is_kept_by_saying_so(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_BUSY, ask(&b));
    hf_expect(HF_BUSY, ask(&c));
    set_left(&b, 500);
    set_left(&c, 500);
    hf_claim *both[] = {&b, &a, &c};
    hf_expect(HF_OK, hf__redis_ops.renew(be, both, 3, soon(), ERR));
    assert_int_equal(b.result, HF_OK);
    assert_int_equal(c.result, HF_OK);
    assert_int_equal(a.result, HF_OK);
    assert_in_range(left_of(owner_of(&b)), 9000, 10000);
    assert_in_range(left_of(owner_of(&c)), 9000, 10000);
    hf_test_server_ask(server, "LREM " QUEUE " 1 %s", owner_of(&b));
    hf_test_server_ask(server, "ZREM " ENDS " %s", owner_of(&b));
    hf_expect(HF_OK, hf__redis_ops.renew(be, both, 3, soon(), ERR));
    assert_int_equal(b.result, HF_ELOST);
    assert_int_equal(c.result, HF_OK);
}

/* ---- together with Java ------------------------------------------------ */

static void javas_first_is_woken_and_not_given(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    stand_raw(JAVA, 300000);
    must_wait(&b);
    listen_to("redisson_lock__channel:{f}:" JAVA);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_ear_hears("0");
    assert_false(exists("f"));
    assert_string_equal(first_in_line(), JAVA);
    hf_expect(HF_BUSY, ask(&b)); /* and reminds it */
    assert_ear_hears("0");
    assert_int_equal(length(), 2);
    assert_int_equal(granted_so_far(), 0);
}

/* What Redisson's script does when its waiter takes the lock. */
static void java_takes_it(int64_t wait) {
    hf_test_server_ask(
        server,
        "EVAL 'redis.call(\"lpop\", KEYS[2]) "
        "redis.call(\"zrem\", KEYS[3], ARGV[1]) "
        "for _, o in ipairs(redis.call(\"zrange\", KEYS[3], 0, -1)) do "
        "redis.call(\"zincrby\", KEYS[3], -tonumber(ARGV[2]), o) end "
        "redis.call(\"hset\", KEYS[1], ARGV[1], 1) "
        "redis.call(\"pexpire\", KEYS[1], 30000)' "
        "3 f " QUEUE " " ENDS " " JAVA " %" PRId64,
        wait);
}

/* And when it joins: behind the last, for as long as it will wait. */
static void java_joins(int64_t wait) {
    const char *last = hf_test_server_ask(server, "LINDEX " QUEUE " -1");
    char owner[HF_OWNER_SIZE];
    int64_t left;

    snprintf(owner, sizeof owner, "%s", last);
    left = length() ? left_of(owner) : lease();
    stand_raw(JAVA, left + wait);
}

static void ours_behind_java_outlives_what_java_takes_off(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    java_joins(300000);
    must_wait(&b);
    must_wait(&c);
    hf_test_server_ask(server, "ZADD " ENDS " %" PRId64 " " JAVA,
                       server_ms() + 20000); /* it waited for minutes */
    set_left(&b, 320000);
    set_left(&c, 320000);
    hf_test_server_ask(server, "DEL f");
    java_takes_it(300000);
    assert_in_range(left_of(owner_of(&b)), 10000, 21000);
    assert_in_range(left_of(owner_of(&c)), 10000, 21000);
    hf_test_server_ask(server, "DEL f");
    hf_expect(HF_OK, ask(&b));
    hf_expect(HF_OK, release(&b, HF_RELEASE));
    must_be_given(1, &c);
}

/* What a leaving one had added to the ends behind it is taken off. */
static void ends_do_not_drift(void **state) {
    (void)state;
    hf_claim holder = fair();
    hf_expect(HF_OK, ask(&holder));
    for (int i = 0; i < 50; i++) {
        hf_claim gives_up = fair(), b = fair();
        java_joins(300000);
        hf_expect(HF_BUSY, ask(&gives_up));
        must_wait(&b);
        hf_test_server_ask(server, "LREM " QUEUE " 0 other:1");
        hf_test_server_ask(server, "ZREM " ENDS " other:1");
        stand_raw("other:1", left_of(owner_of(&b)) + 300000);
        assert_true(left_of("other:1") <= 30000 + 4 * 300000 + 10000);
        hf_expect(HF_OK, release(&gives_up, HF_RELEASE));
        hf_test_server_ask(server, "DEL f");
        java_takes_it(300000);
        hf_test_server_ask(server, "DEL f");
        hf_expect(HF_OK, ask(&b));
        assert_true(left_of("other:1") <= 30000 + 300000 + 10000);
        assert_true(left_of("other:1") >= 290000);
        watch(&b, false);
    }
}

static void a_dead_one_of_java_is_passed_over_when_its_time_is_up(void **s) {
    (void)s;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    stand_raw(JAVA, 300000);
    must_wait(&b);
    hf_test_server_ask(server, "ZADD " ENDS " 1 " JAVA);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    must_be_given(1, &b);
    assert_int_equal(length(), 0);
}

/* ---- other ways out ---------------------------------------------------- */

static void force_hands_it_on_with_a_higher_token(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_EFREE, force(HF_FAIR, "f", NULL));
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    hf_expect(HF_EFREE, force(HF_FAIR, "f", owner_of(&b)));
    assert_true(holds(&a));
    hf_expect(HF_OK, force(HF_FAIR, "f", owner_of(&a)));
    assert_true(must_be_given(1, &b).token > a.token + 1);
    hf_expect(HF_OK, force(HF_FAIR, "f", NULL));
    assert_nothing_left();
}

static void release_after_tells_the_first_to_look(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    a.lease_ms = 200;
    hf_expect(HF_OK, release(&a, HF_RELEASE_AFTER));
    must_be_called(1, &b);
    assert_string_equal(hf_test_server_ask(server, "HKEYS f"), CLIENT ":00");
    hf_expect(HF_BUSY, ask(&b));
    assert_true(b.ask_again <= hf__now() + 210 * HF_MS);
    hf_test_eventually(ask(&b) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_ELOST, release(&a, HF_RELEASE_AFTER));
}

static void a_full_server_still_lets_go(void **state) {
    (void)state;
    hf_claim a = fair(), b = fair(), c = fair();
    hf_expect(HF_OK, ask(&a));
    must_wait(&b);
    hf_test_server_ask(server, "CONFIG SET maxmemory 1");
    hf_expect(HF_EFULL, ask(&c));
    hf_expect(HF_OK, renew(&a));
    hf_expect(HF_OK, renew(&b));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    assert_false(
        holds(&a)); /* given or woken, as the server's version has it */
    hf_test_eventually(granted_so_far() + calls_so_far() == 1, HF_TEST_LONG);
    hf_test_server_ask(server, "CONFIG SET maxmemory 0");
    hf_expect(HF_OK, ask(&b));
    assert_int_equal(length(), 0);
}

static void a_name_of_another_sort_is_told(void **state) {
    (void)state;
    hf_claim a = fair();
    hf_test_server_ask(server, "SET f text");
    hf_expect(HF_ESTORE, ask(&a));
    hf_expect(HF_ELOST, release(&a, HF_RELEASE));
    hf_expect(HF_ELOST, renew(&a));
}

/* ---- the other manners of the same lock -------------------------------- */

static void the_manners_of_a_lock_exclude_each_other(void **state) {
    (void)state;
    hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_SPIN};
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        hf_claim c = claim(kinds[i], "f", 0);
        hf_expect(HF_OK, attempt(&c));
        assert_true(c.token > last);
        last = c.token;
        for (int k = 0; k < 3; k++) {
            hf_claim other = claim(kinds[k], "f", 0);
            hf_expect(HF_BUSY, attempt(&other));
        }
        hf_expect(HF_OK, renew(&c));
        hf_expect(HF_OK, release(&c, HF_RELEASE));
        hf_expect(HF_ELOST, release(&c, HF_RELEASE));
    }
    assert_nothing_left();
}

static void a_fair_release_with_no_line_wakes_who_waits_plainly(void **state) {
    (void)state;
    hf_claim a = fair(), plain = claim(HF_LOCK, "f", 0);
    woken_for = "f";
    hf_expect(HF_OK, ask(&a));
    hf_expect(HF_OK, watch(&plain, true));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_test_eventually(atomic_load(&woken[HF_LOCK]) >= 1, HF_TEST_LONG);
}

static void a_spin_lock_tells_nobody(void **state) {
    (void)state;
    hf_claim a = claim(HF_SPIN, "f", 0), plain = claim(HF_LOCK, "f", 0);
    listen_to("redisson_lock__channel:{f}");
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_BUSY, attempt(&plain));
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_expect(HF_OK, attempt(&a));
    hf_expect(HF_OK, release(&a, HF_RELEASE_POSTED));
    hf_test_eventually(!exists("f"), HF_TEST_LONG);
    hf_test_server_ask(server, "PUBLISH redisson_lock__channel:{f} 5");
    assert_ear_hears("5"); /* and nothing before it */
}

/* ---- blocks of tokens -------------------------------------------------- */

static void a_block_of_tokens_is_given_once(void **state) {
    (void)state;
    hf_claim a = claim(HF_LOCK, "f", 0), again = a;
    hf_claim b = claim(HF_LOCK, "f", 0);
    a.block = again.block = 64;
    hf_expect(HF_OK, attempt(&a));
    assert_int_equal(a.last_token, a.token + 63);
    assert_int_equal(
        hf_test_server_ask_number(server, "GET redisson_lock_token:{f}"),
        a.last_token);
    hf_expect(HF_OK, attempt(&again)); /* the answer was lost, say */
    assert_int_equal(again.token, a.last_token);
    assert_int_equal(again.last_token, 0);
    hf_expect(HF_OK, release(&a, HF_RELEASE));
    hf_expect(HF_OK, attempt(&b));
    assert_true(b.token > a.last_token);
    assert_int_equal(b.last_token, 0);
}

static void a_block_begins_above_what_a_counter_says(void **state) {
    (void)state;
    hf_claim a = claim(HF_LOCK, "f", 0);
    int64_t ahead = (server_ms() + 3600000) * 1000;
    hf_test_server_ask(server, "SET redisson_lock_token:{f} %" PRId64, ahead);
    a.block = 10;
    hf_expect(HF_OK, attempt(&a));
    assert_int_equal(a.token, ahead + 1);
    assert_int_equal(a.last_token, ahead + 10);
    assert_int_equal(
        hf_test_server_ask_number(server, "GET redisson_lock_token:{f}"),
        ahead + 10);
}

static const struct CMUnitTest tests[] = {
    TEST(a_fair_lock_looks_as_redissons_does),
    TEST(the_keys_of_the_line_end_by_themselves),
    TEST(the_keys_are_left_to_java_without_an_end),
    TEST(nothing_is_left_behind),
    TEST(a_try_takes_no_place_and_overtakes_nobody),
    TEST(who_asks_again_stands_there_once),
    TEST(two_hundred_wait_in_the_order_they_came),
    TEST(the_first_asks_sooner_than_the_others),
    TEST(a_release_gives_the_lock_to_the_first),
    TEST(a_posted_release_gives_it_as_well),
    TEST(who_asks_before_it_hears_has_the_same_grant),
    TEST(a_grant_that_is_not_used_lapses),
    TEST(who_left_gives_its_grant_to_the_next),
    TEST(who_leaves_a_free_lock_hands_it_on),
    TEST(a_grant_of_old_makes_one_ask),
    TEST(any_other_message_wakes_the_one_it_is_for),
    TEST(who_does_not_hear_loses_its_place),
    TEST(who_just_joined_keeps_its_place),
    TEST(the_second_finds_a_first_that_died),
    TEST(a_place_ends_when_nobody_keeps_it),
    TEST(who_still_asks_is_not_dead),
    TEST(a_first_without_an_end_is_passed_over),
    TEST(a_place_is_kept_by_saying_so),
    TEST(javas_first_is_woken_and_not_given),
    TEST(ours_behind_java_outlives_what_java_takes_off),
    TEST(ends_do_not_drift),
    TEST(a_dead_one_of_java_is_passed_over_when_its_time_is_up),
    TEST(force_hands_it_on_with_a_higher_token),
    TEST(release_after_tells_the_first_to_look),
    TEST(a_full_server_still_lets_go),
    TEST(a_name_of_another_sort_is_told),
    TEST(the_manners_of_a_lock_exclude_each_other),
    TEST(a_fair_release_with_no_line_wakes_who_waits_plainly),
    TEST(a_spin_lock_tells_nobody),
    TEST(a_block_of_tokens_is_given_once),
    TEST(a_block_begins_above_what_a_counter_says),
};
HF_SUITE(tests)
