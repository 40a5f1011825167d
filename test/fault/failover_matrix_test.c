/* SPDX-License-Identifier: MIT
 *
 * failover_matrix_test.c - which policy loses a lock in which failover: counts
 * double grants, and prints the table of docs/guarantees.md.
 *
 *     build/test/failover_matrix_test            all of it, about two minutes
 *     HF_TRIALS=10 build/test/failover_matrix_test
 *
 * A master, two replicas and three sentinels.  The holder A stands beside the
 * first master: it reaches it by its own port, and hears of sentinels only what
 * the test lets it hear.  Everybody else knows that master by a proxy, which
 * cuts it off.  B waits for the lock at whoever the sentinels name.  A double
 * grant is B holding while A still believes that it does; both are watched by
 * the same clock.
 *
 *   lost write   replication stands still without anybody noticing, A is
 *                granted the lock, the master is killed
 *   partition    A holds; then the master and A are cut off from all others
 *   laggard      one replica stands still, A is granted the lock, the master
 *                is killed, and that replica has the better priority
 *
 * All policies go through the same failovers, each with a lock of its own. */
#include "support/sentinel.h"
#include "support/sentinel_stub.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The delay must outlast a lease that was renewed until the old master refused,
 * which takes it up to three seconds: a lag of more than one, seen once a
 * second. */
enum {
    LEASE_MS = 4000,
    RENEW_MS = 300,
    DELAY_MS = 7500,
    WATCH_MS = 15000, /* a trial ends then, */
    ENOUGH_MS = 1500, /* or when two have held for so long */
};

typedef enum scenario { LOST_WRITE, PARTITION, LAGGARD, SCENARIOS } scenario;

static const char *const scenario_names[SCENARIOS] = {"lost write", "partition",
                                                      "laggard"};

typedef struct policy {
    const char *name;
    int replicas;
    bool delay;        /* lock_delay in the address              */
    bool min_replicas; /* min-replicas-to-write 1 on the servers */
} policy;

static const policy policies[] = {
    {"none", 0, false, false},
    {"1", 1, false, false},
    {"majority", HF_MAJORITY, false, false},
    {"all", HF_ALL, false, false},
    {"lock_delay", 0, true, false},
    {"min-replicas", 0, false, true},
    {"lock_delay + min-replicas", 0, true, true},
};

enum { POLICIES = sizeof policies / sizeof policies[0] };

/* What came of a policy in a scenario. */
typedef struct cell {
    int trials, granted, doubles;
    int stale;   /* of the writes of such an A: accepted, tokens checked */
    int overlap; /* ms, the longest     */
    int unended; /* it had not ended then */
} cell;

/* ---- one trial --------------------------------------------------------- */

static hf_test_ensemble *ensemble;
static hf_test_stub *stub;

typedef struct seat {
    const policy *policy;
    cell *cell;
    hf_lock *a, *b;
    hf_test_thread waiter;
    bool a_granted, doubled;
    int64_t since; /* when both held first */
} seat;

static seat seats[POLICIES];
static int n_seats;

static hf_test_server *server(int i) {
    return hf_test_ensemble_server(ensemble, i);
}

static hf_client *client_at(const char *uri, bool delay) {
    char text[256];
    int at =
        snprintf(text, sizeof text, "%s?wait_timeout=300ms&hf_timeout=1s", uri);
    if (delay)
        snprintf(text + at, sizeof text - (size_t)at, "&lock_delay=%dms",
                 DELAY_MS);
    return hf_test_open(text, NULL);
}

static hf_client *client_beside_the_master(bool delay) {
    char uri[128];
    snprintf(uri, sizeof uri, "redis+sentinel://127.0.0.1:%d/mymaster",
             hf_test_stub_port(stub));
    return client_at(uri, delay);
}

/* B asks for no confirmation: nothing shall keep it from being granted the
 * lock but A's own. */
static void take_seats(bool min_replicas, cell cells[POLICIES]) {
    hf_client *a[2], *b[2];
    char name[16];
    for (int delay = 0; delay < 2; delay++) {
        a[delay] = client_beside_the_master(delay);
        b[delay] = client_at(hf_test_ensemble_uri(ensemble), delay);
    }
    n_seats = 0;
    for (int i = 0; i < POLICIES; i++) {
        const policy *p = &policies[i];
        if (p->min_replicas != min_replicas)
            continue;
        snprintf(name, sizeof name, "p%d", i);
        seats[n_seats++] = (seat){
            .policy = p,
            .cell = &cells[i],
            .a = hf_test_lock(
                a[p->delay], name,
                HF_LOCK_WITH(.flags = HF_OWNER_HANDLE, .watchdog_ms = LEASE_MS,
                             .renew_ms = RENEW_MS, .replicas = p->replicas)),
            .b = hf_test_lock(b[p->delay], name,
                              HF_LOCK_WITH(.flags = HF_OWNER_HANDLE))};
    }
}

static void grant_to_a(void) {
    for (int i = 0; i < n_seats; i++) {
        seats[i].a_granted = hf_lock_try(seats[i].a, ERR) == HF_OK;
        seats[i].cell->trials++;
        seats[i].cell->granted += seats[i].a_granted;
    }
}

static void let_b_wait(void) {
    for (int i = 0; i < n_seats; i++)
        hf_test_begin(&seats[i].waiter, seats[i].b, WATCH_MS);
}

static void happen(scenario what) {
    hf_test_proxy *proxy = hf_test_ensemble_proxy(ensemble);
    hf_test_ensemble_sync(ensemble, 0);
    if (what == PARTITION) {
        grant_to_a();
        hf_test_ensemble_sync(ensemble, 0);
        let_b_wait();
        hf_test_proxy_drop(proxy, HF_TO_SERVER, true);
        hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
        return;
    }
    hf_test_proxy_single_out(
        proxy, what == LAGGARD ? hf_test_server_port(server(1)) : HF_REPLICAS);
    hf_test_proxy_drop(proxy, HF_TO_CLIENT, true);
    grant_to_a();
    hf_test_server_kill(server(0));
    let_b_wait();
}

/* ---- watching ---------------------------------------------------------- */

static bool b_holds(seat *s) {
    return atomic_load(&s->waiter.answered) && s->waiter.result == HF_OK &&
           hf_lock_is_held(s->b);
}

/* A resource that refuses a token below one it has seen: B writes, and then A
 * does, who does not know. */
static bool accepts_stale(const seat *s) {
    uint64_t high = hf_lock_token(s->b);
    return hf_lock_token(s->a) >= high;
}

/* Is there anything more to be seen of it? */
static bool watch(seat *s) {
    bool a = hf_lock_is_held(s->a), b = b_holds(s);
    int64_t now = hf_test_now_ms();
    if (a && b && !s->doubled) {
        s->doubled = true;
        s->since = now;
        s->cell->doubles++;
        s->cell->stale += accepts_stale(s);
    }
    if (a && b && now - s->since > s->cell->overlap)
        s->cell->overlap = (int)(now - s->since);
    return b ? a && now - s->since < ENOUGH_MS :
               !atomic_load(&s->waiter.answered);
}

static void watch_all(void) {
    int64_t by = hf_test_now_ms() + WATCH_MS;
    bool more = true;
    while (more && hf_test_now_ms() < by) {
        more = false;
        for (int i = 0; i < n_seats; i++)
            more = watch(&seats[i]) || more;
        hf_test_breathe();
    }
    for (int i = 0; i < n_seats; i++) {
        seats[i].cell->unended +=
            hf_lock_is_held(seats[i].a) && b_holds(&seats[i]);
        hf_test_cancel(&seats[i].waiter);
        hf_test_end(&seats[i].waiter);
    }
}

static void end_trial(void) {
    hf_test_clear();
    hf_test_stub_stop(stub);
    hf_test_ensemble_stop(ensemble);
    stub = NULL;
    ensemble = NULL;
}

static void try_once(scenario what, bool min_replicas, cell cells[POLICIES]) {
    static const char *const min[] = {"--min-replicas-to-write", "1",
                                      "--min-replicas-max-lag", "1", NULL};
    static const char *const first[] = {"--replica-priority", "1", NULL};
    ensemble = hf_test_ensemble_start(&(hf_test_ensemble_options){
        .proxied = true,
        .down_after_ms = 500,
        .args = min_replicas ? min : NULL,
        .first_args = what == LAGGARD ? first : NULL});
    stub = hf_test_stub_start();
    hf_test_stub_names(stub, hf_test_server_port(server(0)), 0, 2);
    take_seats(min_replicas, cells);
    happen(what);
    watch_all();
    end_trial();
}

/* ---- the table --------------------------------------------------------- */

/* Every scenario is a process of its own; each leaves what it found in a file,
 * and makes the table of all that is there. */
static void path_of(char path[200], const char *file) {
    const char *base = getenv("HF_TEST_DIR");
    snprintf(path, 200, "%.150s/failover-matrix%s%s",
             base != NULL ? base : "/tmp", *file != '\0' ? "/" : "", file);
}

static void path_of_cell(char path[200], scenario what, int policy_) {
    char file[32];
    snprintf(file, sizeof file, "%d-%d", (int)what, policy_);
    path_of(path, file);
}

static void keep(scenario what, const cell cells[POLICIES]) {
    char path[200];
    path_of(path, "");
    mkdir(path, 0700);
    for (int i = 0; i < POLICIES; i++) {
        if (cells[i].trials == 0)
            continue;
        path_of_cell(path, what, i);
        FILE *f = fopen(path, "we");
        assert_non_null(f);
        fprintf(f, "%d %d %d %d %d %d\n", cells[i].trials, cells[i].granted,
                cells[i].doubles, cells[i].stale, cells[i].overlap,
                cells[i].unended);
        fclose(f);
    }
}

static bool recall(scenario what, int i, cell *ret) {
    char path[200], line[96] = "";
    int values[6], n = 0;
    path_of_cell(path, what, i);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    if (fgets(line, sizeof line, f) == NULL)
        line[0] = '\0';
    fclose(f);
    for (char *at = line, *end; n < 6; n++, at = end) {
        values[n] = (int)strtol(at, &end, 10);
        if (end == at)
            return false;
    }
    *ret = (cell){values[0], values[1], values[2],
                  values[3], values[4], values[5]};
    return true;
}

/* "2 of 2, > 1.5 s": double grants of trials, and how long both held. */
static void spell(char text[64], const cell *c) {
    int at = snprintf(text, 64, "%d of %d", c->doubles, c->trials);
    if (c->granted == 0)
        snprintf(text + at, 64 - (size_t)at, ", refused");
    else if (c->overlap > 0)
        snprintf(text + at, 64 - (size_t)at, ", %s%.1f s",
                 c->unended ? "> " : "", (double)c->overlap / 1000);
}

static void print_row(FILE *out, int i, bool fenced) {
    fprintf(out, "| %s%s |", policies[i].name, fenced ? ", token checked" : "");
    for (int what = 0; what < SCENARIOS; what++) {
        cell c;
        char text[64] = "-";
        if (recall((scenario)what, i, &c) && fenced)
            snprintf(text, sizeof text, "%d stale writes", c.stale);
        else if (recall((scenario)what, i, &c))
            spell(text, &c);
        fprintf(out, " %s |", text);
    }
    fprintf(out, "\n");
}

static void print_table(FILE *out) {
    fprintf(out, "| policy |");
    for (int what = 0; what < SCENARIOS; what++)
        fprintf(out, " %s |", scenario_names[what]);
    fprintf(out, "\n|---|---|---|---|\n");
    for (int i = 0; i < POLICIES; i++)
        print_row(out, i, false);
    print_row(out, 0, true);
}

static void show_table(void) {
    char path[208], whole[208];
    print_table(stdout);
    fflush(stdout);
    path_of(path, "table.new");
    path_of(whole, "table.md");
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    print_table(f);
    fclose(f);
    assert_int_equal(rename(path, whole), 0);
    print_message("the table so far is in %s\n", whole);
}

/* ---- the tests --------------------------------------------------------- */

static int count_trials(void) {
    const char *text = getenv("HF_TRIALS");
    int n = text != NULL ? atoi(text) : 2;
    return n > 0 ? n : 1;
}

static void run(scenario what, bool min_replicas, cell cells[POLICIES]) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    hf_test_need(false, "a sanitizer would see nothing new here");
#endif
    for (int i = count_trials(); i > 0; i--)
        try_once(what, min_replicas, cells);
    keep(what, cells);
    show_table();
}

enum { NONE, ONE, MAJORITY, ALL, DELAY, MIN, DELAY_MIN };

/* Whatever happens. */
static void assert_safe(const cell cells[POLICIES]) {
    assert_int_equal(cells[ALL].doubles, 0);
    assert_int_equal(cells[DELAY_MIN].doubles, 0);
    for (int i = 0; i < POLICIES; i++)
        assert_int_equal(cells[i].stale, 0);
}

static void a_lost_write_loses_a_lock_that_nobody_confirmed(void **s) {
    (void)s;
    cell cells[POLICIES] = {0};
    run(LOST_WRITE, false, cells);
    assert_safe(cells);
    assert_int_equal(cells[NONE].doubles, cells[NONE].trials);
    assert_int_equal(cells[ONE].granted, 0);
    assert_int_equal(cells[MAJORITY].granted, 0);
    assert_int_equal(cells[ALL].granted, 0);
    assert_int_equal(cells[DELAY].doubles, 0);
}

static void servers_that_want_replicas_lose_it_too_but_for_a_delay(void **s) {
    (void)s;
    cell cells[POLICIES] = {0};
    run(LOST_WRITE, true, cells);
    assert_safe(cells);
    assert_int_equal(cells[MIN].doubles, cells[MIN].trials);
    assert_int_equal(cells[DELAY_MIN].granted, cells[DELAY_MIN].trials);
}

static void a_partition_loses_a_lock_that_nobody_must_confirm(void **s) {
    (void)s;
    cell cells[POLICIES] = {0};
    run(PARTITION, false, cells);
    assert_safe(cells);
    assert_int_equal(cells[NONE].doubles, cells[NONE].trials);
    assert_int_equal(cells[DELAY].doubles, cells[DELAY].trials);
    assert_int_equal(cells[ALL].granted, cells[ALL].trials);
    assert_int_equal(cells[ONE].doubles, 0);
    assert_int_equal(cells[MAJORITY].doubles, 0);
}

static void servers_that_want_replicas_bound_a_partition(void **s) {
    (void)s;
    cell cells[POLICIES] = {0};
    run(PARTITION, true, cells);
    assert_safe(cells);
    assert_int_equal(cells[DELAY_MIN].granted, cells[DELAY_MIN].trials);
}

static void a_laggard_loses_a_lock_that_only_some_confirmed(void **s) {
    (void)s;
    cell cells[POLICIES] = {0};
    run(LAGGARD, false, cells);
    assert_safe(cells);
    assert_int_equal(cells[NONE].doubles, cells[NONE].trials);
    assert_int_equal(cells[ONE].doubles, cells[ONE].trials);
    assert_int_equal(cells[MAJORITY].doubles, cells[MAJORITY].trials);
    assert_int_equal(cells[ALL].granted, 0);
    assert_int_equal(cells[DELAY].doubles, 0);
}

static void with_nothing(void **state) {
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    end_trial();
    return 0;
}

#define TEST(name) HF_TEST_IN(with_nothing, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_lost_write_loses_a_lock_that_nobody_confirmed),
    TEST(servers_that_want_replicas_lose_it_too_but_for_a_delay),
    TEST(a_partition_loses_a_lock_that_nobody_must_confirm),
    TEST(servers_that_want_replicas_bound_a_partition),
    TEST(a_laggard_loses_a_lock_that_only_some_confirmed),
};
HF_SUITE(tests)
