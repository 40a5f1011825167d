/* SPDX-License-Identifier: MIT
 *
 * redis_examine_test.c - what a Redis store says of itself, in words: what its
 * servers promise as they are set up, and the next step where that is little. */
#include "redis_seat.h"

#include "support/cluster.h"
#include "support/sentinel.h"

static char told[16384]; /* "2 what: text" on lines */
static hf_test_server *replica;
static hf_test_cluster *cluster;
static hf_test_ensemble *ensemble;

/* ---- looking ----------------------------------------------------------- */

static void hear(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    size_t len = strlen(told);

    (void)arg;
    snprintf(told + len, sizeof told - len, "%d %s: %s\n", (int)level, what,
             text);
}

static int look_at(const char *uri) {
    int rc;

    rise();
    sit(uri);
    told[0] = '\0';
    rc = hf__redis_ops.examine(be, hear, NULL, soon(), ERR);
    return rc;
}

static void look(const char *more) {
    char uri[128];

    snprintf(uri, sizeof uri, "%s%s", hf_test_server_uri(server), more);
    hf_expect(HF_OK, look_at(uri));
}

/* Is there a line of that level and subject with these words in it? */
static bool is_told(hf_verdict_level level, const char *what,
                    const char *words) {
    char start[64];

    snprintf(start, sizeof start, "%d %s: ", (int)level, what);
    for (const char *at = told; *at; at += strcspn(at, "\n") + 1) {
        const char *found = strstr(at, words);

        if (strncmp(at, start, strlen(start)) == 0 && found &&
            found < at + strcspn(at, "\n"))
            return true;
    }
    return false;
}

#define assert_told(level, what, words)                                        \
    do {                                                                       \
        if (!is_told(level, what, words))                                      \
            fail_msg("no line %d %s: … %s in\n%s", (int)(level), what, words,  \
                     told);                                                    \
    } while (0)

static int lines_about(const char *what) {
    char start[64];
    int n = 0;

    snprintf(start, sizeof start, " %s: ", what);
    for (const char *at = told; *at; at += strcspn(at, "\n") + 1)
        n += strncmp(at + 1, start, strlen(start)) == 0;
    return n;
}

/* ---- life -------------------------------------------------------------- */

static void with_one(void **state) {
    host.lease_ms = 30000;
    with_a_bare_server(state);
}

static int end(void **state) {
    rise();
    hf_test_server_stop(replica);
    replica = NULL;
    return teardown(state);
}

static void attach_replica(void) {
    hf_test_server_ask(server, "CONFIG SET repl-diskless-sync-delay 0");
    replica = hf_test_server_start(NULL);
    hf_test_server_ask(replica, "REPLICAOF 127.0.0.1 %d",
                       hf_test_server_port(server));
    hf_test_eventually(
        strstr(hf_test_server_ask(server, "INFO replication"), "state=online"),
        HF_TEST_LONG);
}

/* ---- one server -------------------------------------------------------- */

static void a_server_on_its_own_is_told_as_such(void **state) {
    (void)state;
    look("");
    assert_told(HF_FACT, "topology", "one server");
    assert_told(HF_FACT, "replicas", "none");
    assert_told(HF_FACT, "wait", "WAIT is known");
    assert_told(HF_FACT, "failover", "none: while the server is away");
    assert_told(HF_FACT, "lock delay", "none");
    assert_told(HF_GOOD, "messages", "a release wakes");
    assert_told(HF_FACT, "guarantee", "one holder at a time");
    assert_int_equal(lines_about("takeover"), 0);
}

/* The same servers are told of in the same words. */
static void what_is_told_does_not_change_by_itself(void **state) {
    (void)state;
    char first[sizeof told];
    look("");
    strcpy(first, told);
    look("");
    assert_string_equal(told, first);
}

static void settings_are_judged_and_the_next_step_is_named(void **state) {
    (void)state;
    static const struct {
        const char *set;
        hf_verdict_level level;
        const char *what, *words;
    } cases[] = {
        {"maxmemory-policy noeviction", HF_GOOD, "eviction", "never"},
        {"maxmemory-policy volatile-lru", HF_FACT, "eviction",
         "volatile-lru, but there is no maxmemory"},
        {"maxmemory 100mb", HF_WARN, "eviction",
         "set maxmemory-policy noeviction"},
        {"maxmemory-policy allkeys-random", HF_WARN, "eviction",
         "allkeys-random: when memory is short"},
        {"appendonly no", HF_WARN, "persistence", "set appendonly yes"},
        {"appendonly yes", HF_GOOD, "persistence", "with every write"},
        {"appendfsync everysec", HF_GOOD, "persistence", "last second"},
        {"appendfsync no", HF_WARN, "persistence", "set appendfsync"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(
            hf_test_server_ask(server, "CONFIG SET %s", cases[i].set), "OK");
        look("");
        assert_told(cases[i].level, cases[i].what, cases[i].words);
        assert_int_equal(lines_about(cases[i].what), 1);
    }
}

static void a_replica_is_no_place_for_locks(void **state) {
    (void)state;
    hf_test_server_ask(server, "REPLICAOF 127.0.0.1 1");
    look("");
    assert_told(HF_WARN, "role", "give the address of the master");
}

/* ---- replicas ---------------------------------------------------------- */

static void what_a_failover_can_lose_depends_on_the_cure(void **state) {
    (void)state;
    attach_replica();
    look("");
    assert_told(HF_FACT, "replicas", "1");
    assert_told(HF_GOOD, "wait", "replicas can confirm");
    assert_told(HF_FACT, "failover", "nobody follows");
    assert_told(HF_WARN, "failover", "forgotten and granted again");
    assert_told(HF_WARN, "failover", "min-replicas-to-write");
    assert_told(HF_GOOD, "confirmed by its replica", "outlives every failover");
    look("?lock_delay=40s");
    assert_told(HF_GOOD, "lock delay", "40 s");
    assert_told(HF_WARN, "failover", "one that is cut off with its clients");
    hf_test_server_ask(server, "CONFIG SET min-replicas-to-write 1");
    look("?lock_delay=40s");
    assert_told(HF_GOOD, "failover", "no lock is granted twice");
    look("");
    assert_told(HF_WARN, "failover", "stops granting after 10 s");
    assert_told(HF_WARN, "failover", "set lock_delay");
}

static void a_delay_shorter_than_the_lease_is_not_enough(void **state) {
    (void)state;
    look("?lock_delay=20s");
    assert_told(HF_WARN, "lock delay", "20 s: a new master may grant");
    assert_told(HF_WARN, "lock delay", "set lock_delay to 30 s");
}

static void replicas_that_are_away_are_missed(void **state) {
    (void)state;
    attach_replica();
    look("?replicas=3");
    assert_told(HF_WARN, "replicas", "3, of which 1 is connected");
    assert_told(HF_FACT, "confirmed by a majority", "2 of 3 replicas");
    assert_told(HF_GOOD, "confirmed by all of them", "nor can any while one");
}

static void a_service_without_WAIT_is_found_out(void **state) {
    (void)state;
    server = hf_test_server_start(&(hf_test_server_options){
        .args = (const char *const[]){"--rename-command", "WAIT", "", NULL}});
    look("?replicas=1");
    assert_told(HF_WARN, "wait", "granted without, with an event");
    assert_int_equal(lines_about("confirmed by its replica"), 0);
}

/* ---- a user with few rights -------------------------------------------- */

static void look_as(const char *rights) {
    char uri[128];

    assert_string_equal(
        hf_test_server_ask(server, "ACL SETUSER joe reset on >word %s", rights),
        "OK");
    snprintf(uri, sizeof uri, "redis://joe:word@127.0.0.1:%d",
             hf_test_server_port(server));
    hf_expect(HF_OK, look_at(uri));
}

static void what_may_not_be_asked_is_unknown(void **state) {
    (void)state;
    hf_test_server_ask(server, "CONFIG SET appendonly yes");
    look_as("~* allchannels +@all -config -wait");
    assert_told(HF_GOOD, "persistence", "appendfsync is unknown");
    assert_told(HF_FACT, "wait", "nobody to wait for");
    look_as("~* allchannels +@all -info");
    assert_told(HF_WARN, "server", "allow +info");
    assert_int_equal(lines_about("eviction"), 0);
    assert_told(HF_FACT, "guarantee", "one holder at a time");
}

static void who_hears_nothing_is_told_apart_from_who_hears_some(void **state) {
    (void)state;
    look_as("~* resetchannels &redisson_sc:{orders:* +@all");
    assert_told(HF_GOOD, "messages", "channels our user may hear");
    look_as("~* allchannels +@all -subscribe");
    assert_told(HF_WARN, "messages", "holdfast doctor --acl");
}

/* ---- a cluster --------------------------------------------------------- */

static void with_a_cluster(void **state) {
    host.lease_ms = 30000;
    cluster = hf_test_cluster_start(
        &(hf_test_cluster_options){.masters = 3, .partial = true});
    server = hf_test_cluster_server(cluster, 0);
    hf_test_body(state);
}

static int end_cluster(void **state) {
    (void)state;
    rise();
    hf_test_clear();
    hf_test_cluster_stop(cluster);
    cluster = NULL;
    server = NULL;
    return 0;
}

static void masters_that_are_alike_are_told_once(void **state) {
    (void)state;
    const char *uri = hf_test_cluster_uri(cluster);
    char where[32];
    hf_expect(HF_OK, look_at(uri));
    assert_told(HF_FACT, "topology", "a cluster of 3 masters");
    assert_int_equal(lines_about("server"), 1);
    assert_told(HF_WARN, "replicas", "nobody takes over");
    assert_told(HF_GOOD, "cluster", "every name has a master");
    assert_told(HF_GOOD, "coverage", "the others go on");
    assert_told(HF_GOOD, "takeover", "cluster-node-timeout");
    assert_told(HF_GOOD, "messages", "stay in the shard");
    assert_null(strstr(told, "127.0.0.1"));
    hf_test_server_ask(server, "CONFIG SET cluster-require-full-coverage yes");
    hf_test_server_ask(server, "CONFIG SET cluster-node-timeout 60000");
    hf_expect(HF_OK, look_at(uri));
    snprintf(where, sizeof where, "127.0.0.1:%d: while one",
             hf_test_server_port(server));
    assert_told(HF_WARN, "coverage", where);
    assert_told(HF_WARN, "coverage", "set cluster-require-full-coverage no");
    assert_int_equal(lines_about("coverage"), 2);
    assert_told(HF_WARN, "takeover", "lower cluster-node-timeout");
}

static void a_master_that_is_silent_does_not_hide_the_others(void **state) {
    (void)state;
    char where[32];
    rise();
    sit(hf_test_cluster_uri(cluster));
    hf_test_server_kill(server);
    told[0] = '\0';
    hf_expect(HF_OK, hf__redis_ops.examine(be, hear, NULL, soon(), ERR));
    snprintf(where, sizeof where, "127.0.0.1:%d: no answer",
             hf_test_server_port(server));
    assert_told(HF_WARN, "server", where);
    assert_told(HF_FACT, "guarantee", "one holder at a time");
    hf_test_server_restart(server);
}

/* ---- Sentinel ---------------------------------------------------------- */

static void with_sentinels(void **state) {
    ensemble = hf_test_ensemble_start(NULL);
    server = hf_test_ensemble_server(ensemble, 0);
    hf_test_body(state);
}

static int end_sentinels(void **state) {
    (void)state;
    rise();
    hf_test_clear();
    hf_test_ensemble_stop(ensemble);
    ensemble = NULL;
    server = NULL;
    return 0;
}

static void behind_sentinel_its_settings_are_told(void **state) {
    (void)state;
    const char *uri = hf_test_ensemble_uri(ensemble);
    host.lease_ms = 1000;
    hf_expect(HF_OK, look_at(uri));
    assert_told(HF_FACT, "topology", "followed through Sentinel");
    assert_told(HF_GOOD, "sentinels", "3, of which 2 must agree");
    assert_told(HF_FACT, "replicas", "2");
    assert_told(HF_WARN, "failover", "forgotten and granted again");
    assert_told(HF_WARN, "takeover", "lower down-after-milliseconds");
    assert_told(HF_FACT, "confirmed by a majority", "1 of 2 replicas");
    assert_told(HF_WARN, "persistence", "its replicas with it");
    host.lease_ms = 10 * 3600 * 1000;
    hf_expect(HF_OK, look_at(uri));
    assert_told(HF_GOOD, "takeover", "outlive it");
}

#define TEST_ONE(name)     HF_TEST_IN(with_one, name, end)
#define TEST_CLUSTER(name) HF_TEST_IN(with_a_cluster, name, end_cluster)

static const struct CMUnitTest tests[] = {
    TEST_ONE(a_server_on_its_own_is_told_as_such),
    TEST_ONE(what_is_told_does_not_change_by_itself),
    TEST_ONE(settings_are_judged_and_the_next_step_is_named),
    TEST_ONE(a_replica_is_no_place_for_locks),
    TEST_ONE(what_a_failover_can_lose_depends_on_the_cure),
    TEST_ONE(a_delay_shorter_than_the_lease_is_not_enough),
    TEST_ONE(replicas_that_are_away_are_missed),
    cmocka_unit_test_teardown(a_service_without_WAIT_is_found_out, end),
    TEST_ONE(what_may_not_be_asked_is_unknown),
    TEST_ONE(who_hears_nothing_is_told_apart_from_who_hears_some),
    TEST_CLUSTER(masters_that_are_alike_are_told_once),
    TEST_CLUSTER(a_master_that_is_silent_does_not_hide_the_others),
    HF_TEST_IN(with_sentinels, behind_sentinel_its_settings_are_told,
               end_sentinels),
};
HF_SUITE(tests)
