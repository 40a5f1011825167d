/* SPDX-License-Identifier: MIT
 *
 * redis_acl_test.c - the rights that hf_rights names are enough for everything
 * we do, and none of them is too many.
 *
 * The server itself is the witness: ACL LOG has whatever was refused to a
 * user, also inside a script that did not mind. */
#include "redis_seat.h"

#include "support/cluster.h"
#include "support/sentinel.h"

#include "backend/redis/keys.h"

#include <inttypes.h>

#define JAVA "99999999-2222-4333-8444-555555555555:7"

static char rule[8192]; /* as told, without its first words */
static char about[2048];
static char sentinels_rule[1024];
static hf_test_cluster *cluster;
static hf_test_ensemble *ensemble;

/* ---- rules ------------------------------------------------------------- */

static void on_rule(void *arg, const hf_rule *told) {
    static const char start[] =
        "user holdfast reset on #SHA256_OF_THE_PASSWORD ";
    bool sentinels = strcmp(told->servers, "sentinel") == 0;

    (void)arg;
    assert_int_equal(strncmp(told->text, start, sizeof start - 1), 0);
    assert_null(strchr(told->text, '\n'));
    snprintf(sentinels ? sentinels_rule : rule,
             sentinels ? sizeof sentinels_rule : sizeof rule, "%s",
             told->text + sizeof start - 1);
    if (!sentinels)
        snprintf(about, sizeof about, "%s", told->about);
}

static void ask_rule(const char *uri, const char *prefix) {
    hf_client *client = hf_test_open(uri, NULL);

    rule[0] = sentinels_rule[0] = '\0';
    hf_expect(HF_OK, hf_rights(client, prefix, on_rule, NULL, ERR));
    assert_true(*rule);
    hf_test_close(client);
}

/* joe may do what the rule says. */
static void allow(hf_test_server *s, const char *words) {
    assert_string_equal(
        hf_test_server_ask(s, "ACL SETUSER joe reset on >word %s", words),
        "OK");
    hf_test_server_ask(s, "ACL LOG RESET");
}

/* The i-th word of a rule into `word`, the rest of it into `rest`; false:
 * there is none. */
static bool split(const char *text, int i, char word[256],
                  char rest[sizeof rule]) {
    const char *at = text;
    size_t len;

    while (i-- > 0 && *at)
        at += strcspn(at, " ") + (strchr(at, ' ') != NULL);
    len = strcspn(at, " ");
    snprintf(word, 256, "%.*s", (int)len, at);
    snprintf(rest, sizeof rule, "%.*s%s", (int)(at - text), text, at + len);
    return len > 0;
}

/* The things that were refused, a line each. */
static const char *refused(hf_test_server *s) {
    static char all[4096];
    const char *at = hf_test_server_ask(s, "ACL LOG");
    size_t len = 0;

    all[0] = '\0';
    while ((at = strstr(at, "object\n")) && len < sizeof all - 256) {
        at += strlen("object\n");
        len += (size_t)snprintf(all + len, sizeof all - len, "%.*s\n",
                                (int)strcspn(at, "\n"), at);
    }
    return all;
}

static bool was_refused(hf_test_server *s, const char *what) {
    char line[256];
    const char *all = refused(s), *at;

    snprintf(line, sizeof line, "%s\n", what);
    at = strstr(all, line);
    return at && (at == all || at[-1] == '\n');
}

static bool may(const char *command) {
    char word[64];

    snprintf(word, sizeof word, " +%s ", command);
    return strstr(rule, word) != NULL;
}

/* An address for joe. */
static const char *for_joe(const char *uri) {
    static char joes[512];
    const char *hosts = strstr(uri, "://") + 3;

    snprintf(joes, sizeof joes, "%.*sjoe:word@%s", (int)(hosts - uri), uri,
             hosts);
    return joes;
}

/* The server's address for joe, with something behind it. */
static const char *joes(const char *more) {
    static char uri[256];

    snprintf(uri, sizeof uri, "redis://joe:word@127.0.0.1:%d%s",
             hf_test_server_port(server), more);
    return uri;
}

/* ---- everything we do -------------------------------------------------- */

#define DO(wanted, call)                                                       \
    (strict ? hf_test_expect((wanted), (call), #call, __FILE__, __LINE__) :    \
              (void)(call))

static bool strict;                  /* what is done must succeed          */
static int replicas;                 /* that must confirm                  */
static const char *base = "orders:"; /* what names begin with */

/* A name that lives as long as a step does. */
static const char *name(const char *tail) {
    static char names[16][64];
    static unsigned next;
    char *buf = names[next++ % 16];

    snprintf(buf, sizeof names[0], "%s%s", base, tail);
    return buf;
}

static hf_claim claim_of(hf_kind kind, const char *name, int permits) {
    hf_claim c = claim(kind, name, permits);

    c.replicas = kind == HF_SEMAPHORE || kind == HF_LATCH ? 0 : replicas;
    return c;
}

static int wait_for(hf_claim *c) {
    return hf__redis_ops.attempt(be, c, true, soon(), ERR);
}

static int renewed(hf_claim *c) {
    hf_claim *one = c;
    int rc = hf__redis_ops.renew(be, &one, 1, soon(), ERR);

    return rc == HF_OK ? c->result : rc;
}

static int counted(hf_kind kind, const char *name, hf_count_op op,
                   int64_t value) {
    hf_claim c = claim(kind, name, 0);

    c.lease_ms = 0;
    return count(&c, op, &value);
}

static void nothing(void *arg, const hf_place *place) {
    (void)arg, (void)place;
}

static void nobody(void *arg, const hf_identity *who, const char *doing) {
    (void)arg, (void)who, (void)doing;
}

static int listed(const char *name) {
    return hf__redis_ops.list(be, name, nothing, NULL, soon(), ERR);
}

/* A lock of any kind that excludes. */
static void use_lock(hf_kind kind, const char *called) {
    hf_claim c = claim_of(kind, called, 0), rival = claim_of(kind, called, 0);

    DO(HF_OK, attempt(&c));
    DO(HF_OK, attempt(&c));
    DO(HF_BUSY, wait_for(&rival));
    DO(HF_OK, watch(&rival, true));
    DO(HF_OK, renewed(&c));
    DO(HF_OK, listed(called));
    watch(&rival, false);
    release(&rival, HF_RELEASE);
    DO(HF_OK, release(&c, HF_RELEASE));
    c = claim_of(kind, called, 0);
    DO(HF_OK, attempt(&c));
    DO(HF_OK, release(&c, HF_RELEASE_AFTER));
    DO(HF_OK, force(kind, called, NULL));
    DO(HF_EFREE, force(kind, called, NULL));
}

static void locks(void) {
    use_lock(HF_LOCK, name("lock"));
    use_lock(HF_SPIN, name("spin"));
    use_lock(HF_SIMPLE, name("simple"));
    use_lock(HF_FAIR, name("fair"));
    use_lock(HF_WRITE, name("write"));
    DO(HF_OK, counted(HF_LOCK, name("lock"), HF_COUNT_TOKEN, 0));
    hf_test_server_ask(server, "SCRIPT FLUSH");
    use_lock(HF_LOCK, name("lock"));
}

/* Somebody else's place in a line, the end of which is so many seconds away. */
static void stand_raw(const char *line, const char *owner, int seconds) {
    int64_t now = hf_test_server_ask_number(server, "TIME");
    char queue[HF_KEY_SIZE], ends[HF_KEY_SIZE];

    hf__key_queue(queue, line);
    hf__key_timeouts(ends, line);
    hf_test_server_ask(server, "RPUSH %s %s", queue, owner);
    hf_test_server_ask(server, "ZADD %s %" PRId64 " %s", ends,
                       (now + seconds) * 1000, owner);
}

static void clear_line(const char *line) {
    char queue[HF_KEY_SIZE], ends[HF_KEY_SIZE];

    hf__key_queue(queue, line);
    hf__key_timeouts(ends, line);
    hf_test_server_ask(server, "DEL %s %s", queue, ends);
}

/* The first is gone, the second goes, Java is next. */
static void line_with_java(void) {
    const char *line = name("f");
    hf_claim a = claim_of(HF_FAIR, line, 0);
    hf_claim b = claim_of(HF_FAIR, line, 0);
    hf_claim c = claim_of(HF_FAIR, line, 0);

    DO(HF_OK, attempt(&a));
    stand_raw(line, CLIENT ":0999", -5);
    stand_raw(line, JAVA, 300);
    DO(HF_BUSY, wait_for(&b));
    DO(HF_BUSY, wait_for(&c));
    DO(HF_OK, renewed(&b));
    DO(HF_OK, release(&b, HF_RELEASE));
    DO(HF_OK, release(&a, HF_RELEASE));
    DO(HF_OK, release(&c, HF_RELEASE));
    clear_line(line);
}

/* Whoever leaves takes off what Java added for it. */
static void line_before_java(void) {
    const char *line = name("f");
    hf_claim a = claim_of(HF_FAIR, line, 0);
    char owner[64];

    snprintf(owner, sizeof owner, CLIENT ":0%" PRIu64, a.owner);
    stand_raw(line, owner, 300);
    stand_raw(line, JAVA, 900);
    DO(HF_OK, wait_for(&a));
    DO(HF_OK, release(&a, HF_RELEASE));
    clear_line(line);
}

static void readers_and_writers(void) {
    hf_claim a = claim_of(HF_READ, name("rw"), 0);
    hf_claim b = claim_of(HF_READ, name("rw"), 0);
    hf_claim w = claim_of(HF_WRITE, name("rw"), 0);

    w.writers_first = b.writers_first = true;
    DO(HF_OK, attempt(&a));
    DO(HF_OK, attempt(&a));
    DO(HF_BUSY, wait_for(&w));
    DO(HF_BUSY, attempt(&b));
    DO(HF_OK, watch(&b, true));
    DO(HF_OK, renewed(&a));
    DO(HF_OK, renewed(&w));
    DO(HF_OK, listed(name("rw")));
    watch(&b, false);
    DO(HF_OK, release(&a, HF_RELEASE));
    DO(HF_OK, wait_for(&w));
    DO(HF_OK, force(HF_WRITE, name("rw"), NULL));
    a = claim_of(HF_READ, name("rw"), 0);
    b = claim_of(HF_READ, name("rw"), 0);
    DO(HF_OK, attempt(&a));
    a.lease_ms = 1;
    DO(HF_OK, attempt(&b));
    DO(HF_OK, renewed(&a));
    DO(HF_OK, force(HF_READ, name("rw"), NULL));
}

static void numbers(void) {
    hf_claim take = claim_of(HF_SEMAPHORE, name("s"), 2);

    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_SET, 3));
    DO(HF_OK, watch(&take, true));
    DO(HF_OK, attempt(&take));
    DO(HF_OK, release(&take, HF_RELEASE));
    watch(&take, false);
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_FREE, 0));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_LEASED, 0));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_ADD, -1));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_RESIZE, 5));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_GIVE, 1));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_GIVE_IF_SET, 1));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_DRAIN, 0));
    DO(HF_OK, counted(HF_SEMAPHORE, name("s"), HF_COUNT_DELETE, 0));
    hf_test_server_ask(server, "SET %s 3", name("theirs"));
    DO(HF_OK, listed(name("theirs")));
    hf_test_server_ask(server, "HSET %s a b", name("other"));
    DO(HF_ESTORE, counted(HF_SEMAPHORE, name("other"), HF_COUNT_GIVE, 1));
    hf_test_server_ask(server, "DEL %s %s", name("theirs"), name("other"));
}

static void permits(void) {
    hf_claim a = claim_of(HF_PERMIT, name("p"), 2);
    hf_claim b = claim_of(HF_PERMIT, name("p"), 2);

    DO(HF_OK, counted(HF_SEMAPHORE, name("p"), HF_COUNT_SET, 3));
    DO(HF_OK, attempt(&a));
    DO(HF_BUSY, attempt(&b));
    DO(HF_OK, watch(&b, true));
    DO(HF_OK, renewed(&a));
    DO(HF_OK, listed(name("p")));
    watch(&b, false);
    DO(HF_OK, release(&a, HF_RELEASE));
    DO(HF_OK, attempt(&b));
    DO(HF_OK, force(HF_PERMIT, name("p"), NULL));
    a = claim_of(HF_PERMIT, name("p"), 3);
    b = claim_of(HF_PERMIT, name("p"), 3);
    a.lease_ms = 1;
    DO(HF_OK, attempt(&a));
    hf_test_eventually(attempt(&b) != HF_BUSY, HF_TEST_LONG);
}

static void latches(void) {
    hf_claim c = claim_of(HF_LATCH, name("l"), 0);
    bool apart = cluster && strchr(c.name, '{'); /* from its channel */

    DO(HF_OK, counted(HF_LATCH, name("l"), HF_COUNT_SET, 2));
    DO(HF_BUSY, attempt(&c));
    DO(apart ? HF_ECANNOT : HF_OK, watch(&c, true));
    DO(HF_OK, counted(HF_LATCH, name("l"), HF_COUNT_DOWN, 1));
    DO(HF_OK, counted(HF_LATCH, name("l"), HF_COUNT_FREE, 0));
    DO(HF_OK, counted(HF_LATCH, name("l"), HF_COUNT_DELETE, 0));
    if (!apart)
        watch(&c, false);
}

static void looking(void) {
    hf_claim c = claim_of(HF_LOCK, name("seen"), 0);

    DO(HF_OK, attempt(&c));
    DO(HF_OK, hf__redis_ops.announce(be, "", 30000, soon(), ERR));
    DO(HF_OK, hf__redis_ops.clients(be, nobody, NULL, soon(), ERR));
    DO(HF_OK, listed(name("seen")));
    DO(HF_OK, listed(NULL));
    DO(HF_OK, release(&c, HF_RELEASE));
}

static int facts;

static void on_fact(void *arg, hf_verdict_level level, const char *what,
                    const char *text) {
    (void)arg, (void)level, (void)what, (void)text;
    facts++;
}

static void (*const steps[])(void) = {
    locks,   line_with_java, line_before_java, readers_and_writers,
    numbers, permits,        latches,          looking,
};
enum { N_STEPS = sizeof steps / sizeof steps[0] };

/* With names that have a tag in braces, and with others. */
static const char *const bases[] = {"orders:", "orders:{7}:"};

static void do_everything(void) {
    strict = true;
    for (int i = 0; i < 2 * N_STEPS; i++) {
        base = bases[i / N_STEPS];
        steps[i % N_STEPS]();
    }
}

/* ---- enough ------------------------------------------------------------ */

static void the_rule_is_enough_for_everything(void **state) {
    (void)state;
    ask_rule(hf_test_server_uri(server), "orders:");
    allow(server, rule);
    sit(joes(""));
    do_everything();
    assert_string_equal(refused(server), "");
    hf_expect(HF_OK, hf__redis_ops.examine(be, on_fact, NULL, soon(), ERR));
    assert_true(facts > 10);
}

static void without_a_prefix_it_is_enough_for_every_name(void **state) {
    (void)state;
    static const char *const names[] = {"a", "{a}b", "a{b}c", "x y", "orders:"};
    ask_rule(hf_test_server_uri(server), NULL);
    allow(server, rule);
    sit(joes(""));
    do_everything();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        use_lock(HF_LOCK, names[i]);
        use_lock(HF_FAIR, names[i]);
    }
    assert_string_equal(refused(server), "");
}

/* The address brings a prefix of its own, and signs of patterns mean
 * themselves. */
static void the_address_and_the_caller_both_have_a_prefix(void **state) {
    (void)state;
    char uri[128];
    snprintf(uri, sizeof uri, "%s?hf_prefix=a*", hf_test_server_uri(server));
    ask_rule(uri, "[b]?");
    allow(server, rule);
    hf_lock *lock =
        hf_test_lock(hf_test_open(joes("?hf_prefix=a*"), NULL), "[b]?:c", NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    lock = hf_test_lock(hf_test_open(joes(""), NULL), "aa[b]?:c", NULL);
    hf_expect(HF_EFORBIDDEN, hf_lock_try(lock, ERR));
    lock = hf_test_lock(hf_test_open(joes(""), NULL), "a*b?:c", NULL);
    hf_expect(HF_EFORBIDDEN, hf_lock_try(lock, ERR));
}

static void a_database_a_delay_and_replicas_add_their_rights(void **state) {
    (void)state;
    char uri[128];
    const char *more = "/1?lock_delay=40s&replicas=1";
    hf_test_server *replica = hf_test_server_start(NULL);
    hf_test_server_ask(server, "CONFIG SET repl-diskless-sync-delay 0");
    hf_test_server_ask(replica, "REPLICAOF 127.0.0.1 %d",
                       hf_test_server_port(server));
    hf_test_eventually(
        strstr(hf_test_server_ask(server, "INFO replication"), "state=online"),
        HF_TEST_LONG);
    snprintf(uri, sizeof uri, "%s%s", hf_test_server_uri(server), more);
    ask_rule(uri, "orders:");
    assert_true(may("select") && may("wait"));
    allow(server, rule);
    replicas = 1;
    sit(joes(more));
    strict = true;
    use_lock(HF_LOCK, "orders:1");
    use_lock(HF_WRITE, "orders:2");
    replicas = 0;
    assert_string_equal(refused(server), "");
    rise();
    hf_test_server_stop(replica);
}

/* The user of the rule can ask for it, too, and is told that it guesses. */
static void who_may_not_ask_what_the_server_knows_is_told_so(void **state) {
    (void)state;
    char first[sizeof rule];
    ask_rule(hf_test_server_uri(server), "orders:");
    assert_null(strstr(about, "COMMAND"));
    strcpy(first, rule);
    allow(server, rule);
    ask_rule(joes(""), "orders:");
    assert_string_equal(rule, first);
    assert_non_null(strstr(about, "COMMAND"));
}

/* An unknown command in the file of users stops a server. */
static void what_the_server_does_not_know_is_left_out(void **state) {
    (void)state;
    char uri[128];
    server = hf_test_server_start(&(hf_test_server_options){
        .args = (const char *const[]){"--rename-command", "WAIT", "", NULL}});
    snprintf(uri, sizeof uri, "%s?replicas=1", hf_test_server_uri(server));
    ask_rule(uri, "orders:");
    assert_false(may("wait"));
    assert_true(may("type"));
    allow(server, rule);
}

static void forgetting_the_password_lets_nobody_in(void **state) {
    (void)state;
    ask_rule(hf_test_server_uri(server), "orders:");
    const char *said = hf_test_server_ask(
        server, "ACL SETUSER joe reset on #SHA256_OF_THE_PASSWORD %s", rule);
    assert_non_null(strstr(said, "-ERR"));
}

/* ---- not too many ------------------------------------------------------ */

static int open_quietly(const char *text) {
    hf_uri *uri = NULL;
    int rc = hf_uri_parse(&uri, text, ERR);

    if (rc == HF_OK)
        rc = hf__redis_ops.open(&be, uri, &host, soon(), ERR);
    hf_uri_free(uri);
    return rc;
}

/* Does what we do, until something is refused. */
static void do_until_refused(const char *uri) {
    strict = false;
    if (open_quietly(uri) != HF_OK)
        return;
    for (int i = 0; i < 2 * N_STEPS && !*refused(server); i++) {
        base = bases[i / N_STEPS];
        steps[i % N_STEPS]();
    }
}

/* This is sent when time has passed, or when a slot moves: in other tests. */
static bool is_rare(const char *word) {
    static const char *const rare[] = {"+ping", "+unsubscribe", "+sunsubscribe",
                                       "+asking", "resetchannels"};

    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++)
        if (strcmp(word, rare[i]) == 0)
            return true;
    return false;
}

/* Was it this that was missed?  A key or a channel is not named by its
 * pattern.  doctor asks last. */
static bool was_missed(const char *word) {
    if (be && !*refused(server))
        hf__redis_ops.examine(be, on_fact, NULL, soon(), ERR);
    return *word == '+' ? was_refused(server, word + 1) : *refused(server);
}

static void try_without_each_word(const char *uri) {
    char word[256], rest[sizeof rule];
    int n = 0;

    for (int i = 0; split(rule, i, word, rest); i++) {
        if (is_rare(word))
            continue;
        allow(server, rest);
        do_until_refused(uri);
        if (!was_missed(word))
            fail_msg("without %s only this was refused: %s", word,
                     refused(server));
        rise();
        hf_test_server_ask(server, "FLUSHALL");
        n++;
    }
    assert_true(n > 60);
}

static void without_any_word_of_it_something_is_refused(void **state) {
    (void)state;
    ask_rule(hf_test_server_uri(server), "orders:");
    try_without_each_word(joes(""));
}

static void a_listener_pings_and_leaves_its_channels(void **state) {
    (void)state;
    hf_claim c = claim(HF_LOCK, "orders:1", 0);
    ask_rule(hf_test_server_uri(server), "orders:");
    allow(server, rule);
    sit(joes(""));
    hf_expect(HF_OK, watch(&c, true));
    watch(&c, false);
    hf_test_server_ask(server, "ACL SETUSER joe -ping -unsubscribe");
    hf_test_eventually(was_refused(server, "ping"), HF_TEST_LONG);
    hf_test_eventually(was_refused(server, "unsubscribe"), HF_TEST_LONG);
}

/* ---- and nothing else -------------------------------------------------- */

static void other_names_and_commands_are_refused(void **state) {
    (void)state;
    static const char *const commands[] = {
        "GET pay:1",
        "SET redisson_lock_token:{pay:1} 1",
        "HSET {orders:1} a b",
        "SET holdfast_era 1",
        "SET redisson_lock_token:{pay:1}orders: 1",
        "PUBLISH redisson_lock__channel:{pay:1} 0",
        "PUBLISH orders:1 0",
        "SUBSCRIBE redisson_sc:{pay:1}",
        "PSUBSCRIBE *",
        "EVAL return{redis.call('get',KEYS[1])} 1 pay:1",
        "EVAL return{redis.call('get','pay:1')} 0",
        "EVAL return{redis.call('keys','*')} 0",
        "EVAL return{redis.call('hset','orders:1','a','b','c')} 1 pay:1",
        "KEYS *",
        "FLUSHALL",
        "FLUSHDB",
        "CONFIG GET *",
        "CONFIG SET maxmemory 1",
        "SCRIPT FLUSH",
        "SCRIPT KILL",
        "ACL LIST",
        "CLIENT LIST",
        "CLIENT KILL 127.0.0.1:1",
        "MONITOR",
        "DEBUG SLEEP 0",
        "REPLICAOF NO ONE",
        "SHUTDOWN NOSAVE",
        "RENAME orders:1 orders:2",
        "PUBSUB CHANNELS",
        "COMMAND COUNT",
        "EXPIRE orders:1 10",
        "RANDOMKEY",
    };
    ask_rule(hf_test_server_uri(server), "orders:");
    allow(server, rule);
    redisContext *joe = raw(hf_test_server_port(server));
    freeReplyObject(redisCommand(joe, "AUTH joe word"));
    freeReplyObject(redisCommand(joe, "SET orders:1 1"));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        redisReply *reply = redisCommand(joe, commands[i]);
        assert_non_null(reply);
        if (reply->type != REDIS_REPLY_ERROR ||
            !(strstr(reply->str, "permission") || strstr(reply->str, "can't")))
            fail_msg("%s: was not refused: %s", commands[i],
                     reply->str ? reply->str : "");
        freeReplyObject(reply);
    }
    redisFree(joe);
    assert_value("orders:1", "1");
}

/* ---- in a cluster ------------------------------------------------------ */

static void with_a_cluster(void **state) {
    cluster = hf_test_cluster_start(
        &(hf_test_cluster_options){.masters = 1, .replicas = 1});
    server = hf_test_cluster_server(cluster, 0);
    hf_test_body(state);
}

static int stop_cluster(void **state) {
    (void)state;
    rise();
    hf_test_clear();
    hf_test_cluster_stop(cluster);
    cluster = NULL;
    server = NULL;
    replicas = 0;
    return 0;
}

/* Messages stay in their shard, and replicas confirm. */
static void in_a_cluster_the_rule_is_enough(void **state) {
    (void)state;
    const char *uri = hf_test_cluster_uri(cluster);
    ask_rule(uri, "orders:");
    assert_true(may("spublish") && may("ssubscribe") && !may("subscribe"));
    assert_non_null(strstr(about, "replicas too"));
    allow(server, rule);
    replicas = 1;
    sit(for_joe(uri));
    do_everything();
    assert_string_equal(refused(server), "");
}

static void in_a_cluster_no_word_of_it_is_too_many(void **state) {
    (void)state;
    const char *uri = hf_test_cluster_uri(cluster);
    ask_rule(uri, "orders:");
    replicas = 1;
    try_without_each_word(for_joe(uri));
}

static void with_two_masters(void **state) {
    cluster = hf_test_cluster_start(&(hf_test_cluster_options){.masters = 2});
    server = hf_test_cluster_server(cluster, 0);
    hf_test_body(state);
}

static void while_a_slot_moves_it_is_enough(void **state) {
    (void)state;
    hf_test_server *other = hf_test_cluster_server(cluster, 1);
    char uri[512], moved[64];
    snprintf(uri, sizeof uri, "%s?lock_delay=40s",
             hf_test_cluster_uri(cluster));
    hf_test_cluster_name(cluster, 0, "orders:", moved, sizeof moved);
    ask_rule(uri, "orders:");
    allow(server, rule);
    allow(other, rule);
    sit(for_joe(uri));
    strict = true;
    use_lock(HF_LOCK, moved);
    hf_test_cluster_begin_move(cluster, hf_test_cluster_slot(cluster, moved), 0,
                               1);
    hf_test_cluster_carry(cluster, hf_test_cluster_slot(cluster, moved), 0, 1);
    hf_claim c = claim(HF_LATCH, moved, 0);
    hf_expect(HF_OK, attempt(&c));
    assert_string_equal(refused(server), "");
    assert_string_equal(refused(other), "");
    hf_test_server_ask(other, "ACL SETUSER joe -asking");
    attempt(&c);
    assert_true(was_refused(other, "asking"));
}

/* ---- behind Sentinel --------------------------------------------------- */

static void with_sentinels(void **state) {
    ensemble = hf_test_ensemble_start(NULL);
    server = hf_test_ensemble_server(ensemble, 0);
    hf_test_body(state);
}

static int stop_sentinels(void **state) {
    (void)state;
    rise();
    hf_test_clear();
    hf_test_ensemble_stop(ensemble);
    ensemble = NULL;
    server = NULL;
    replicas = 0;
    return 0;
}

static const char *sentinel_uri(void) {
    static char uri[600];

    snprintf(uri, sizeof uri, "%s?sentinel_user=joe&sentinel_password=word",
             for_joe(hf_test_ensemble_uri(ensemble)));
    return uri;
}

static void allow_at_sentinels(const char *words) {
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        allow(hf_test_ensemble_sentinel(ensemble, i), words);
}

static void behind_sentinel_both_rules_are_enough(void **state) {
    (void)state;
    ask_rule(hf_test_ensemble_uri(ensemble), "orders:");
    assert_true(may("wait"));
    allow(server, rule);
    allow_at_sentinels(sentinels_rule);
    replicas = HF_ALL;
    sit(sentinel_uri());
    do_everything();
    assert_string_equal(refused(server), "");
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        assert_string_equal(refused(hf_test_ensemble_sentinel(ensemble, i)),
                            "");
}

static bool any_sentinel_refused(void) {
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        if (*refused(hf_test_ensemble_sentinel(ensemble, i)))
            return true;
    return false;
}

static void of_the_sentinels_rule_no_word_is_too_many(void **state) {
    (void)state;
    char word[256], rest[sizeof rule];
    int n = 0;
    ask_rule(hf_test_ensemble_uri(ensemble), "orders:");
    allow(server, rule);
    for (int i = 0; split(sentinels_rule, i, word, rest); i++) {
        if (is_rare(word))
            continue;
        allow_at_sentinels(rest);
        open_quietly(sentinel_uri());
        hf_test_eventually(any_sentinel_refused(), HF_TEST_LONG);
        rise();
        n++;
    }
    assert_int_equal(n, 5);
}

/* ---- by a majority ----------------------------------------------------- */

enum { VOTERS = 3 };
static hf_test_server *voters[VOTERS];

static void with_voters(void **state) {
    for (int i = 0; i < VOTERS; i++)
        voters[i] = hf_test_server_start(NULL);
    hf_test_body(state);
}

static int stop_voters(void **state) {
    (void)state;
    hf_test_clear();
    for (int i = 0; i < VOTERS; i++) {
        hf_test_server_stop(voters[i]);
        voters[i] = NULL;
    }
    return 0;
}

static const char *voters_uri(const char *who) {
    static char uri[256];

    snprintf(uri, sizeof uri,
             "redlock://%s127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?durable=1",
             who, hf_test_server_port(voters[0]),
             hf_test_server_port(voters[1]), hf_test_server_port(voters[2]));
    return uri;
}

static void allow_at_voters(const char *words) {
    for (int i = 0; i < VOTERS; i++)
        allow(voters[i], words);
}

static void use_votes(hf_client *client, hf_kind kind) {
    hf_lock *a = hf_test_lock(client, name("v"), HF_LOCK_WITH(.kind = kind));
    hf_lock *b =
        hf_test_lock(client, name("v"),
                     HF_LOCK_WITH(.kind = kind, .flags = HF_OWNER_HANDLE));
    uint64_t token;

    DO(HF_OK, hf_lock_try(a, ERR));
    DO(HF_OK, hf_lock_extend(a, 30000, ERR));
    DO(HF_OK, hf_list(client, name("v"), nothing, NULL, ERR));
    DO(HF_OK, hf_lock_last_token(a, &token, ERR));
    DO(HF_ETIMEOUT, hf_lock_acquire(b, 20, ERR));
    DO(HF_OK, hf_lock_release(a, ERR));
    DO(HF_OK, hf_lock_try(a, ERR));
    DO(HF_OK, hf_lock_release_after(a, 30000, ERR));
    DO(HF_OK, hf_lock_force_release(b, NULL, ERR));
    hf_test_free(a);
    hf_test_free(b);
}

/* Somebody else holds what is waited for, so that it is listened to. */
static void vote(const char *uri) {
    hf_client *client = NULL, *other = NULL;

    if (hf_open(&client, uri, NULL, ERR) != HF_OK ||
        hf_open(&other, uri, NULL, ERR) != HF_OK) {
        hf_close(client);
        assert_false(strict);
        return;
    }
    hf_test_adopt(client);
    hf_test_adopt(other);
    hf_lock *held = hf_test_lock(other, name("held"), NULL);
    hf_lock *wanted = hf_test_lock(client, name("held"), NULL);
    DO(HF_OK, hf_lock_try(held, ERR));
    DO(HF_ETIMEOUT, hf_lock_acquire(wanted, 30, ERR));
    for (int i = 0; i < VOTERS; i++)
        hf_test_server_ask(voters[i], "SCRIPT FLUSH");
    use_votes(client, HF_LOCK);
    use_votes(client, HF_SPIN);
    use_votes(client, HF_SIMPLE);
    DO(HF_OK, hf_list(client, NULL, nothing, NULL, ERR));
    DO(HF_OK, hf_examine(client, on_fact, NULL, ERR));
    hf_test_free(held);
    hf_test_free(wanted);
    hf_test_close(client);
    hf_test_close(other);
}

/* What a server may keep is a setting, and settings are secret. */
static void for_a_majority_the_rule_is_enough(void **state) {
    (void)state;
    ask_rule(voters_uri(""), "orders:");
    assert_false(may("wait") || may("zincrby") || may("rpush"));
    allow_at_voters(rule);
    strict = true;
    vote(voters_uri("joe:word@"));
    for (int i = 0; i < VOTERS; i++)
        assert_string_equal(refused(voters[i]), "config|get\n");
}

static const struct CMUnitTest tests[] = {
    TEST_BARE(the_rule_is_enough_for_everything),
    TEST_BARE(without_a_prefix_it_is_enough_for_every_name),
    TEST_BARE(the_address_and_the_caller_both_have_a_prefix),
    TEST_BARE(a_database_a_delay_and_replicas_add_their_rights),
    TEST_BARE(who_may_not_ask_what_the_server_knows_is_told_so),
    cmocka_unit_test_teardown(what_the_server_does_not_know_is_left_out,
                              teardown),
    TEST_BARE(forgetting_the_password_lets_nobody_in),
    TEST_BARE(without_any_word_of_it_something_is_refused),
    TEST_BARE(a_listener_pings_and_leaves_its_channels),
    TEST_BARE(other_names_and_commands_are_refused),
    HF_TEST_IN(with_a_cluster, in_a_cluster_the_rule_is_enough, stop_cluster),
    HF_TEST_IN(with_a_cluster, in_a_cluster_no_word_of_it_is_too_many,
               stop_cluster),
    HF_TEST_IN(with_two_masters, while_a_slot_moves_it_is_enough, stop_cluster),
    HF_TEST_IN(with_sentinels, behind_sentinel_both_rules_are_enough,
               stop_sentinels),
    HF_TEST_IN(with_sentinels, of_the_sentinels_rule_no_word_is_too_many,
               stop_sentinels),
    HF_TEST_IN(with_voters, for_a_majority_the_rule_is_enough, stop_voters),
};
HF_SUITE(tests)
