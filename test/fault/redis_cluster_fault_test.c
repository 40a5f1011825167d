/* SPDX-License-Identifier: MIT
 *
 * redis_cluster_fault_test.c - masters die and come back, roles change, slots
 * move while locks in them are held, waited for and released.
 *
 * A holder keeps its lock or is told that it is gone; whoever waits enters or
 * leaves by its deadline; tokens grow across all of it. */
#include "support/cluster.h"
#include "support/dir.h"
#include "support/guarded.h"
#include "support/stage.h"
#include "support/suite.h"

#include "holdfast/backend.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const hf_backend_ops hf__redis_ops;

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

static hf_test_cluster *cluster;
static char name[64]; /* one that server 0 has at first */

static void begin(const hf_test_cluster_options *options, void **state) {
    cluster = hf_test_cluster_start(options);
    hf_test_cluster_name(cluster, 0, "x", name, sizeof name);
    hf_test_body(state);
}

static void with_replicas(void **state) {
    begin(&(hf_test_cluster_options){.replicas = 1}, state);
}

static void with_masters(void **state) {
    begin(NULL, state);
}

static void where_slots_may_be_missing(void **state) {
    begin(&(hf_test_cluster_options){.partial = true}, state);
}

static int join_crowds(void);

static int teardown(void **state) {
    (void)state;
    join_crowds(); /* of a test that failed in between */
    hf_test_clear();
    hf_test_cluster_stop(cluster);
    cluster = NULL;
    return 0;
}

/* ---- on stage ---------------------------------------------------------- */

static hf_client *client_at(const char *params, const hf_options *options) {
    char uri[1200];
    snprintf(uri, sizeof uri, "%s%s", hf_test_cluster_uri(cluster), params);
    return hf_test_open(uri, options);
}

static hf_client *client_of_its_own(void) {
    return client_at("", HF_CLIENT_WITH(.patience_ms = 60000));
}

/* A lock whose lease outlives a failover, renewed often. */
static hf_lock *lasting_lock(hf_client *client, const char *of) {
    return hf_test_lock(client, of,
                        HF_LOCK_WITH(.watchdog_ms = 12000, .renew_ms = 200));
}

static hf_test_server *server(int i) {
    return hf_test_cluster_server(cluster, i);
}

/* ---- and behind it ----------------------------------------------------- */

static long offset_of(int i) {
    const char *info = hf_test_server_ask(server(i), "INFO replication");
    const char *at = strstr(info, "master_repl_offset:");
    return at != NULL ? atol(at + strlen("master_repl_offset:")) : -1;
}

/* The replica of a master knows what the master knows. */
static void await_step(int master) {
    hf_test_eventually(
        offset_of(master) ==
            offset_of(hf_test_cluster_replica_of(cluster, master)),
        HF_TEST_LONG);
}

static void kill_master(void) {
    await_step(0);
    hf_test_server_kill(server(0));
}

static int64_t ttl_at(int i, const char *key) {
    return hf_test_server_ask_number(server(i), "PTTL %s", key);
}

/* ---- a master dies ----------------------------------------------------- */

static void a_hold_goes_on_at_the_new_master(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_lock *a = lasting_lock(client_of_its_own(), name);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    kill_master();
    int now = hf_test_cluster_await_failover(cluster, name, 0);
    hf_test_server_ask(server(now), "PEXPIRE %s 9000", name);
    hf_test_eventually(ttl_at(now, name) > 10000, HF_TEST_LONG); /* renewed */
    assert_true(hf_lock_is_held(a));
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_lock *b = hf_test_lock(client_of_its_own(), name, NULL);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
}

static void await_waiter_through(const char *params) {
    hf_test_thread waiter;
    hf_options options = *HF_CLIENT_WITH(.patience_ms = 60000);
    hf_lock *a = lasting_lock(client_at(params, &options), name);
    hf_lock *b = hf_test_lock(client_at(params, &options), name, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_begin(&waiter, b, HF_FOREVER);
    kill_master();
    hf_test_cluster_await_failover(cluster, name, 0);
    assert_false(atomic_load(&waiter.answered));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_waiter_enters_after_a_failover(void **s) {
    (void)s;
    await_waiter_through("");
}

static void a_waiter_enters_after_a_failover_without_shards(void **s) {
    (void)s;
    await_waiter_through("?sharded=off");
}

/* The release is asked for while nobody has the slot. */
static void a_release_finds_the_new_master(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = lasting_lock(client_of_its_own(), name);
    hf_lock *b = hf_test_lock(client_of_its_own(), name, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    kill_master();
    int rc = hf_lock_release(a, ERR);
    assert_true(rc == HF_OK || hf_error_class(rc) == HF_CLASS_NOT_DONE ||
                rc == HF_EDOUBT);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.took_ms < 12000); /* and not because the lease ended */
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void a_posted_release_finds_the_new_master(void **s) {
    (void)s;
    hf_test_thread waiter;
    hf_lock *a = hf_test_lock(
        client_of_its_own(), name,
        HF_LOCK_WITH(.watchdog_ms = 12000, .flags = HF_POST_RELEASE));
    hf_lock *b = hf_test_lock(client_of_its_own(), name, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    kill_master();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.took_ms < 12000);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* It is silent, not gone: every question to it costs its time. */
static void a_master_that_froze_is_left_behind(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_test_thread waiter;
    hf_lock *a = lasting_lock(
        client_at("", HF_CLIENT_WITH(.timeout_ms = 600, .patience_ms = 60000)),
        name);
    hf_lock *b = hf_test_lock(
        client_at("", HF_CLIENT_WITH(.timeout_ms = 600, .patience_ms = 60000)),
        name, NULL);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    await_step(0);
    hf_test_server_pause(server(0));
    int now = hf_test_cluster_replica_of(cluster, 0);
    hf_test_eventually(
        strstr(hf_test_server_ask(server(now), "ROLE"), "master") != NULL,
        HF_TEST_LONG);
    hf_test_server_ask(server(now), "PEXPIRE %s 9000", name);
    hf_test_eventually(ttl_at(now, name) > 10000, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_server_resume(server(0));
}

/* From now on nothing that is written at the master reaches its replica. */
static void cut_replication(int master) {
    await_step(master);
    hf_test_server_ask(server(master), "CONFIG SET requirepass secret\r\n"
                                       "CLIENT KILL TYPE replica");
    hf_test_eventually(
        strstr(hf_test_server_ask(
                   server(hf_test_cluster_replica_of(cluster, master)),
                   "INFO replication"),
               "master_link_status:down") != NULL,
        HF_TEST_LONG);
}

/* Its own turn to be renewed would come after five minutes; but whatever the
 * client asks next meets the new master. */
static void a_grant_that_the_failover_lost_is_told_and_outnumbered(void **s) {
    (void)s;
    hf_test_ear e = {0};
    char beside[96];
    snprintf(beside, sizeof beside, "beside%s", name);
    hf_client *client = client_of_its_own();
    hf_lock *a = hf_test_lock(
        client, name, HF_LOCK_WITH(.watchdog_ms = 900000, .renew_ms = 300000));
    hf_lock *b = hf_test_lock(client_of_its_own(), name, NULL);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_BUSY, (hf_lock_try(a, ERR), hf_lock_try(b, ERR)));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    cut_replication(0);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    hf_test_server_kill(server(0));
    hf_test_cluster_await_failover(cluster, name, 0);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_OK, hf_lock_acquire(hf_test_lock(client, beside, NULL),
                                     HF_TEST_LONG, ERR));
    hf_test_eventually(atomic_load(&e.lost) == 1, HF_TEST_LONG);
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(hf_lock_is_held(b));
}

static void readers_writers_and_the_fair_get_through_a_failover(void **s) {
    (void)s;
    static const hf_kind kinds[] = {HF_FAIR, HF_WRITE, HF_SIMPLE};
    enum { N = sizeof kinds / sizeof *kinds };
    hf_client *one = client_of_its_own(), *other = client_of_its_own();
    hf_test_thread waiters[N];
    hf_lock *held[N];
    for (int i = 0; i < N; i++) {
        char of[96];
        snprintf(of, sizeof of, "%d%s", i, name);
        held[i] =
            hf_test_lock(one, of,
                         HF_LOCK_WITH(.kind = kinds[i], .watchdog_ms = 12000,
                                      .renew_ms = 300));
        hf_lock *wanted = hf_test_lock(
            other, of, HF_LOCK_WITH(.kind = kinds[i], .watchdog_ms = 12000));
        hf_expect(HF_OK, hf_lock_try(held[i], ERR));
        hf_test_begin(&waiters[i], wanted, HF_FOREVER);
    }
    kill_master();
    hf_test_cluster_await_failover(cluster, name, 0);
    for (int i = 0; i < N; i++) {
        hf_expect(HF_OK, hf_lock_release(held[i], ERR));
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
}

/* ---- roles change hands ------------------------------------------------ */

static void nobody_notices_when_a_replica_takes_over(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_test_thread waiter;
    hf_lock *a = lasting_lock(client_of_its_own(), name);
    hf_lock *b = hf_test_lock(client_of_its_own(), name, NULL);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    int heir = hf_test_cluster_replica_of(cluster, 0);
    assert_string_equal(hf_test_server_ask(server(heir), "CLUSTER FAILOVER"),
                        "OK");
    hf_test_cluster_await_failover(cluster, name, 0);
    hf_test_server_ask(server(heir), "PEXPIRE %s 9000", name);
    hf_test_eventually(ttl_at(heir, name) > 10000, HF_TEST_LONG);
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- a master is away -------------------------------------------------- */

static void a_wait_ends_on_time_while_the_cluster_is_down(void **s) {
    (void)s;
    char other[64];
    hf_test_cluster_name(cluster, 1, "y", other, sizeof other);
    hf_lock *a = hf_test_lock(client_of_its_own(), other, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_server_kill(server(0));
    hf_test_eventually(strstr(hf_test_server_ask(server(1), "CLUSTER INFO"),
                              "cluster_state:fail") != NULL,
                       HF_TEST_LONG);
    int64_t began = hf_test_now_ms();
    int rc = hf_lock_acquire(a, 700, ERR);
    assert_true(rc == HF_EDOWN || rc == HF_ETIMEOUT);
    assert_true(hf_test_now_ms() - began < 5000);
    hf_test_server_restart(server(0));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

static void a_silent_master_does_not_cost_the_others_their_leases(void **s) {
    (void)s;
    enum { LEASE = 1500 };
    hf_test_ear away = {0}, here = {0};
    char other[64];
    hf_client *client = client_of_its_own();
    hf_test_cluster_name(cluster, 1, "y", other, sizeof other);
    const hf_lock_options *brief =
        HF_LOCK_WITH(.watchdog_ms = LEASE, .renew_ms = 300);
    hf_lock *a = hf_test_lock(client, name, brief);
    hf_lock *b = hf_test_lock(client, other, brief);
    hf_lock_on_state(a, hf_test_hear, &away);
    hf_lock_on_state(b, hf_test_hear, &here);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_test_server_pause(server(0));
    hf_test_throughout(hf_lock_is_held(b), 3 * LEASE);
    assert_int_equal(atomic_load(&away.lost), 1);
    assert_int_equal(atomic_load(&here.lost), 0);
    hf_test_server_resume(server(0));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
}

static void what_is_away_comes_back(void **s) {
    (void)s;
    hf_lock *a = hf_test_lock(client_of_its_own(), name, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_server_kill(server(0));
    assert_true(hf_lock_try(a, ERR) < 0);
    hf_test_server_restart(server(0));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static int64_t commands_of(int i) {
    const char *info = hf_test_server_ask(server(i), "INFO stats");
    const char *at = strstr(info, "total_commands_processed:");
    assert_non_null(at);
    return atoll(at + strlen("total_commands_processed:"));
}

/* Both say that the other one has it. */
static void servers_that_send_us_to_each_other_do_not_keep_us(void **s) {
    (void)s;
    char ids[2][64];
    int slot = hf_test_cluster_slot(cluster, name);
    hf_lock *a = hf_test_lock(client_at("", HF_CLIENT_WITH(.timeout_ms = 1000)),
                              name, NULL);
    for (int i = 0; i < 2; i++)
        snprintf(ids[i], sizeof ids[i], "%s",
                 hf_test_server_ask(server(i), "CLUSTER MYID"));
    for (int i = 0; i < 2; i++)
        hf_test_server_ask(server(i), "CLUSTER SETSLOT %d NODE %s", slot,
                           ids[1 - i]);
    int64_t before = commands_of(0);
    int rc = hf_lock_try(a, ERR);
    assert_true(rc == HF_EDOWN || rc == HF_EDOUBT); /* but not for long */
    if (rc == HF_EDOWN)
        assert_non_null(strstr(hf_test_error.text, "do not agree"));
    assert_true(commands_of(0) - before < 300);
}

/* ---- slots move -------------------------------------------------------- */

static void a_hold_and_a_waiter_move_with_their_slot(void **s) {
    (void)s;
    hf_test_ear e = {0};
    hf_test_thread waiter;
    int slot = hf_test_cluster_slot(cluster, name);
    hf_lock *a = lasting_lock(client_of_its_own(), name);
    hf_lock *b = hf_test_lock(client_of_its_own(), name, NULL);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_cluster_move(cluster, slot, 0, 1);
    hf_test_server_ask(server(1), "PEXPIRE %s 9000", name);
    hf_test_eventually(ttl_at(1, name) > 10000, HF_TEST_LONG);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_int_equal(atomic_load(&e.lost), 0);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* A slot left half moved: the operator went home. */
static void begin_half_a_move(void) {
    hf_test_cluster_begin_move(cluster, hf_test_cluster_slot(cluster, name), 0,
                               1);
}

static void lock_in_a_slot_that_is_half_moved(hf_kind kind) {
    hf_test_thread waiter;
    const hf_lock_options *options = HF_LOCK_WITH(.kind = kind);
    hf_lock *a = hf_test_lock(client_of_its_own(), name, options);
    hf_lock *b = hf_test_lock(client_of_its_own(), name, options);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t before = hf_lock_token(a);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    begin_half_a_move();
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    assert_true(token > before);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
    /* The last token is where the next one will look for it. */
    hf_test_cluster_carry(cluster, hf_test_cluster_slot(cluster, name), 0, 1);
    hf_test_cluster_end_move(cluster, hf_test_cluster_slot(cluster, name), 1);
    assert_int_equal(hf_test_server_ask_number(
                         server(1), "GET redisson_lock_token:%s", name),
                     (int64_t)waiter.token);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_true(hf_lock_token(a) > waiter.token);
}

static void a_lock_works_in_a_slot_that_is_half_moved(void **s) {
    (void)s;
    lock_in_a_slot_that_is_half_moved(HF_LOCK);
}

static void a_simple_lock_works_in_a_slot_that_is_half_moved(void **s) {
    (void)s;
    lock_in_a_slot_that_is_half_moved(HF_SIMPLE);
}

static void a_hold_is_kept_in_a_slot_that_is_half_moved(void **s) {
    (void)s;
    hf_test_ear e = {0};
    char others[5][96];
    hf_client *client = client_of_its_own();
    hf_lock *locks[5];
    for (int i = 0; i < 5; i++) { /* some of them go, the others stay */
        snprintf(others[i], sizeof others[i], "%d%s", i, name);
        locks[i] =
            hf_test_lock(client, others[i],
                         HF_LOCK_WITH(.watchdog_ms = 2000, .renew_ms = 200));
        hf_lock_on_state(locks[i], hf_test_hear, &e);
        hf_expect(HF_OK, hf_lock_try(locks[i], ERR));
    }
    begin_half_a_move();
    for (int i = 0; i < 2; i++)
        hf_test_server_ask(server(0), "MIGRATE 127.0.0.1 %d %s 0 5000",
                           hf_test_server_port(server(1)), others[i]);
    hf_test_throughout(atomic_load(&e.lost) == 0, 3000);
    for (int i = 0; i < 5; i++)
        hf_expect(HF_OK, hf_lock_release(locks[i], ERR));
}

static void who_needs_several_keys_is_told_that_they_are_moving(void **s) {
    (void)s;
    hf_client *client =
        client_at("", HF_CLIENT_WITH(.timeout_ms = 500, .patience_ms = 500));
    hf_lock *a = hf_test_lock(client, name, HF_LOCK_WITH(.kind = HF_FAIR));
    begin_half_a_move();
    hf_expect(HF_ESTARTING, hf_lock_try(a, ERR));
    assert_non_null(strstr(hf_test_error.text, "moving"));
}

/* ---- a lock delay ------------------------------------------------------ */

static void a_lock_delay_begins_when_a_slot_has_moved(void **s) {
    (void)s;
    hf_client *client = client_at("?lock_delay=700ms", NULL);
    hf_lock *a = hf_test_lock(client, name, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_test_cluster_move(cluster, hf_test_cluster_slot(cluster, name), 0, 1);
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}

static void a_lock_delay_begins_with_a_new_master(void **s) {
    (void)s;
    hf_client *client = client_at("?lock_delay=700ms", NULL);
    hf_lock *a = hf_test_lock(client, name, NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    kill_master();
    hf_test_cluster_await_failover(cluster, name, 0);
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
}

/* ---- nobody asks ------------------------------------------------------- */

static atomic_int woken;

static void on_woken(void *core, hf_kind kind, const char *of, uint64_t owner) {
    (void)core, (void)owner;
    if (kind == HF_LOCK && (of == NULL || strcmp(of, name) == 0))
        atomic_fetch_add(&woken, 1);
}

static void on_shaken(void *core, hf_kind kind, const char *of) {
    (void)core, (void)kind, (void)of;
}

/* The store without a core: nothing is under way but what the test asks. */
static hf_backend *open_store(void) {
    static const hf_host host = {
        .identity = {.client = "11111111-2222-4333-8444-555555555555"},
        .timeout_ms = 3000,
        .woken = on_woken,
        .shaken = on_shaken};
    hf_backend *be;
    hf_uri *uri;
    hf_expect(HF_OK, hf_uri_parse(&uri, hf_test_cluster_uri(cluster), ERR));
    int rc =
        hf__redis_ops.open(&be, uri, &host, hf__after_ms(HF_TEST_LONG), ERR);
    hf_uri_free(uri);
    hf_expect(HF_OK, rc);
    return be;
}

static void listen_to_it(hf_backend *be, bool on) {
    hf_claim c = {.name = name, .kind = HF_LOCK, .owner = 1};
    hf_expect(HF_OK,
              be->ops->watch(be, &c, on, hf__after_ms(HF_TEST_LONG), ERR));
}

static bool is_listened_to(int i) {
    return strstr(hf_test_server_ask(server(i), "PUBSUB SHARDCHANNELS"),
                  name) != NULL;
}

static void an_ear_follows_its_slot_though_nobody_asks(void **s) {
    (void)s;
    hf_backend *be = open_store();
    listen_to_it(be, true);
    assert_true(is_listened_to(0));
    hf_test_cluster_move(cluster, hf_test_cluster_slot(cluster, name), 0, 2);
    hf_test_eventually(is_listened_to(2) && atomic_load(&woken) > 0,
                       HF_TEST_LONG);
    listen_to_it(be, false);
    be->ops->close(be, false);
}

static void an_ear_is_sent_on_to_where_its_slot_went(void **s) {
    (void)s;
    hf_backend *be = open_store();
    hf_test_cluster_move(cluster, hf_test_cluster_slot(cluster, name), 0, 2);
    listen_to_it(be, true);
    assert_true(is_listened_to(2));
    listen_to_it(be, false);
    be->ops->close(be, false);
}

static void an_ear_goes_to_the_new_master_though_nobody_asks(void **s) {
    (void)s;
    hf_backend *be = open_store();
    listen_to_it(be, true);
    hf_test_server_kill(server(0));
    int now = hf_test_cluster_await_failover(cluster, name, 0);
    hf_test_eventually(is_listened_to(now) && atomic_load(&woken) > 0,
                       HF_TEST_LONG);
    listen_to_it(be, false);
    be->ops->close(be, false);
}

/* ---- under load -------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 10, CROWDS = 2, MOVES = 8 };

typedef struct crowd {
    pthread_t thread;
    bool runs;
    hf_client *client;
    const hf_lock_options *options;
    hf_test_guarded *g;
    int entered;
} crowd;

static crowd crowds[CROWDS];
static atomic_bool crowds_stop;

static void *contend(void *arg) {
    crowd *c = arg;
    while (!atomic_load(&crowds_stop)) {
        hf_test_contend_with(c->client, name, c->options, c->g, THREADS,
                             ROUNDS);
        c->entered += THREADS * ROUNDS;
    }
    return NULL;
}

/* How often they entered in all. */
static int join_crowds(void) {
    int entered = 0;
    atomic_store(&crowds_stop, true);
    for (int i = 0; i < CROWDS; i++) {
        if (crowds[i].runs)
            pthread_join(crowds[i].thread, NULL);
        crowds[i].runs = false;
        entered += crowds[i].entered;
    }
    return entered;
}

/* The slot goes round and round while two clients want what is in it; after
 * every move somebody must have got through. */
static void move_under_load(const char *params,
                            const hf_lock_options *options) {
    char path[128];
    int slot = hf_test_cluster_slot(cluster, name);
    hf_test_fresh_path(path, sizeof path, "guarded");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    for (int i = 0; i < CROWDS; i++) {
        hf_client *client =
            client_at(params, HF_CLIENT_WITH(.patience_ms = 60000));
        crowds[i] = (crowd){.client = client, .options = options, .g = g};
        assert_int_equal(
            pthread_create(&crowds[i].thread, NULL, contend, &crowds[i]), 0);
        crowds[i].runs = true;
    }
    for (int i = 0; i < MOVES; i++) {
        hf_test_cluster_move(cluster, slot, i % 3, (i + 1) % 3);
        unsigned long long seen = atomic_load(&g->counter);
        hf_test_eventually(atomic_load(&g->counter) > seen + 10, HF_TEST_LONG);
    }
    int entered = join_crowds();
    assert_int_equal(atomic_load(&g->failures), 0);
    assert_int_equal(atomic_load(&g->overlaps), 0);
    assert_int_equal(atomic_load(&g->disorders), 0);
    assert_int_equal(atomic_load(&g->counter), entered);
    hf_test_guarded_unmap(g);
}

static void no_increment_is_lost_while_the_slot_moves(void **s) {
    (void)s;
    move_under_load("", NULL);
}

static void no_increment_is_lost_without_shards(void **s) {
    (void)s;
    move_under_load("?sharded=off", NULL);
}

static void the_fair_lose_no_increment_while_the_slot_moves(void **s) {
    (void)s;
    move_under_load("", HF_LOCK_WITH(.kind = HF_FAIR));
}

static void writers_lose_no_increment_while_the_slot_moves(void **s) {
    (void)s;
    move_under_load("", HF_LOCK_WITH(.kind = HF_WRITE));
}

static void posted_releases_move_with_the_slot(void **s) {
    (void)s;
    move_under_load("", HF_LOCK_WITH(.flags = HF_POST_RELEASE));
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_replicas, a_hold_goes_on_at_the_new_master, teardown),
    HF_TEST_IN(with_replicas, a_waiter_enters_after_a_failover, teardown),
    HF_TEST_IN(with_replicas, a_release_finds_the_new_master, teardown),
    HF_TEST_IN(with_replicas, a_posted_release_finds_the_new_master, teardown),
    HF_TEST_IN(with_replicas, a_master_that_froze_is_left_behind, teardown),
    HF_TEST_IN(with_replicas,
               readers_writers_and_the_fair_get_through_a_failover, teardown),
    HF_TEST_IN(with_replicas, nobody_notices_when_a_replica_takes_over,
               teardown),
    HF_TEST_IN(with_masters, a_wait_ends_on_time_while_the_cluster_is_down,
               teardown),
    HF_TEST_IN(where_slots_may_be_missing,
               a_silent_master_does_not_cost_the_others_their_leases, teardown),
    HF_TEST_IN(with_masters, servers_that_send_us_to_each_other_do_not_keep_us,
               teardown),
    HF_TEST_IN(with_masters, a_hold_and_a_waiter_move_with_their_slot,
               teardown),
    HF_TEST_IN(with_masters, a_lock_works_in_a_slot_that_is_half_moved,
               teardown),
    HF_TEST_IN(with_masters, a_hold_is_kept_in_a_slot_that_is_half_moved,
               teardown),
    HF_TEST_IN(with_masters,
               who_needs_several_keys_is_told_that_they_are_moving, teardown),
    HF_TEST_IN(with_masters, an_ear_follows_its_slot_though_nobody_asks,
               teardown),
    HF_TEST_IN(with_masters, an_ear_is_sent_on_to_where_its_slot_went,
               teardown),
    HF_TEST_IN(with_replicas, an_ear_goes_to_the_new_master_though_nobody_asks,
               teardown),
    HF_TEST_IN(with_masters, no_increment_is_lost_while_the_slot_moves,
               teardown),
    HF_TEST_IN(with_masters, the_fair_lose_no_increment_while_the_slot_moves,
               teardown),
    HF_TEST_IN(with_masters, posted_releases_move_with_the_slot, teardown),
#ifndef SANITIZED /* which would only see the same again */
    HF_TEST_IN(with_replicas, a_waiter_enters_after_a_failover_without_shards,
               teardown),
    HF_TEST_IN(with_replicas,
               a_grant_that_the_failover_lost_is_told_and_outnumbered,
               teardown),
    HF_TEST_IN(where_slots_may_be_missing, what_is_away_comes_back, teardown),
    HF_TEST_IN(with_masters, a_simple_lock_works_in_a_slot_that_is_half_moved,
               teardown),
    HF_TEST_IN(with_masters, a_lock_delay_begins_when_a_slot_has_moved,
               teardown),
    HF_TEST_IN(with_replicas, a_lock_delay_begins_with_a_new_master, teardown),
    HF_TEST_IN(with_masters, no_increment_is_lost_without_shards, teardown),
    HF_TEST_IN(with_masters, writers_lose_no_increment_while_the_slot_moves,
               teardown),
#endif
};
HF_SUITE(tests)
