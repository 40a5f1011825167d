/* SPDX-License-Identifier: MIT
 *
 * stats_test.c - the numbers as text, and under which label a name is
 * counted. */
#include "client.h"
#include "support/dir.h"
#include "support/numbers.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int clear(void **state) {
    (void)state;
    hf_test_clear();
    return 0;
}

static hf_client *open_with(const char *names) {
    static int n;
    char uri[64];
    snprintf(uri, sizeof uri, "memory:stats-%d", n++);
    return hf_test_open(uri, HF_CLIENT_WITH(.stats_names = names));
}

/* Takes it and gives it back. */
static void use(hf_client *client, const char *name) {
    hf_lock *lock = hf_test_lock(client, name, NULL);
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    hf_expect(HF_OK, hf_lock_release(lock, ERR));
    hf_test_free(lock);
}

static int used(hf_client *client, const char *label) {
    char labels[300];
    snprintf(labels, sizeof labels, "lock=%s result=ok", label);
    return (int)hf_test_number(client, "lock_acquisitions_total", labels);
}

/* ---- text -------------------------------------------------------------- */

static void expect_line(const char *text, const char *line) {
    char whole[400];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    if (!strstr(text, whole))
        fail_msg("no line '%s' in\n%s", line, text);
}

static void a_name_is_escaped(void **state) {
    (void)state;
    hf_client *client = hf_test_open("memory:escape", NULL);
    use(client, "a\"b\\c{d},e=\"");
    char *text = hf_test_stats_text(client);
    expect_line(text, "holdfast_lock_acquisitions_total{store=\"memory:escape\""
                      ",lock=\"a\\\"b\\\\c{d},e=\\\"\",mode=\"exclusive\","
                      "result=\"ok\"} 1");
    free(text);
}

static void a_client_that_did_nothing_has_a_text(void **state) {
    (void)state;
    hf_client *client = hf_test_open("memory:idle", NULL);
    char *text = hf_test_stats_text(client);
    assert_null(strstr(text, "lock=\""));
    expect_line(text, "holdfast_store_up{store=\"memory:idle\"} 1");
    expect_line(text, "holdfast_build_info{version=\"" HF_VERSION "\"} 1");
    assert_null(strstr(text, "holdfast_lock_held"));
    free(text);
}

/* How often does it stand there? */
static int occurrences(const char *text, const char *part) {
    int n = 0;
    while ((text = strstr(text, part)))
        n++, text++;
    return n;
}

static void every_metric_has_one_head(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    use(client, "a");
    use(client, "b");
    char *text = hf_test_stats_text(client);
    assert_int_equal(occurrences(text, "# HELP holdfast_lock_held "), 1);
    assert_int_equal(occurrences(text, "# TYPE holdfast_lock_held gauge\n"), 1);
    assert_int_equal(occurrences(text, "\nholdfast_lock_held{"), 2);
    assert_int_equal(
        occurrences(text, "# TYPE holdfast_store_rtt_seconds histogram\n"), 1);
    free(text);
}

static void text_is_cut_as_snprintf_does(void **state) {
    (void)state;
    char small[10], *text;
    hf_client *client = open_with(NULL);
    use(client, "a");
    text = hf_test_stats_text(client);
    size_t len = strlen(text);
    assert_int_equal(hf_stats_text(client, NULL, 0), len);
    memset(small, 'x', sizeof small);
    assert_int_equal(hf_stats_text(client, small, sizeof small), len);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, text, sizeof small - 1);
    assert_int_equal(hf_stats_text(client, small, 1), len);
    assert_string_equal(small, "");
    assert_int_equal(hf_stats_text(NULL, small, sizeof small), 0);
    assert_string_equal(small, "");
    free(text);
}

/* ---- histograms -------------------------------------------------------- */

/* Counts waits of these lengths as if they had been. */
static void waited(hf_client *client, const char *label, const hf_time *ns,
                   size_t n) {
    struct hf_tally *t = hf__tally_of(&client->tallies, label);
    for (size_t i = 0; i < n; i++)
        hf__tally_acquired(t, HF_LOCK, true, HF_OK, ns[i]);
}

static void check_histogram(void *arg, const hf_sample *s) {
    int *seen = arg;
    if (s->type != HF_HISTOGRAM)
        return;
    for (size_t i = 0; i < s->n; i++)
        assert_true(s->counts[i] <= s->counts[i + 1]);
    for (size_t i = 1; i < s->n; i++)
        assert_true(s->bounds[i - 1] < s->bounds[i]);
    assert_int_equal(s->counts[s->n], s->count);
    ++*seen;
}

static void buckets_are_cumulative(void **state) {
    (void)state;
    hf_client *client = hf_test_open("memory:buckets", NULL);
    waited(client, "x",
           (hf_time[]){-5, 0, 30000, 30001, HF_MS, 2 * HF_SECOND,
                       90000 * HF_SECOND},
           7);
    int seen = 0;
    hf_expect(HF_OK, hf_stats(client, check_histogram, &seen, ERR));
    assert_true(seen >= 2);
    char *text = hf_test_stats_text(client);
#define X "{store=\"memory:buckets\",lock=\"x\",mode=\"exclusive\""
    static const char *const lines[] = {
        "_bucket" X ",le=\"0.00003\"} 3", "_bucket" X ",le=\"0.0001\"} 4",
        "_bucket" X ",le=\"0.001\"} 5",   "_bucket" X ",le=\"1\"} 5",
        "_bucket" X ",le=\"3\"} 6",       "_bucket" X ",le=\"3000\"} 6",
        "_bucket" X ",le=\"+Inf\"} 7",    "_count" X "} 7",
        "_sum" X "} 90002.001060001",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char line[200];
        snprintf(line, sizeof line, "holdfast_lock_wait_seconds%s", lines[i]);
        expect_line(text, line);
    }
    free(text);
}

static void a_bound_belongs_to_its_bucket(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    static const double bounds[] = {3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01,
                                    0.03, 0.1,  0.3,  1,    3,    10,
                                    30,   100,  300,  1000, 3000};
    for (size_t i = 0; i < HF_BOUNDS; i++) {
        hf_time ns = (hf_time)(bounds[i] * 1e9 + 0.5);
        struct hf_tally *t = hf__tally_of(&client->tallies, "x");
        atomic_ullong *buckets = t->modes[HF_EXCLUSIVE].granted.buckets;
        uint64_t here = buckets[i], next = buckets[i + 1];
        waited(client, "x", (hf_time[]){ns, ns + 1}, 2);
        assert_int_equal(buckets[i], here + 1);
        assert_int_equal(buckets[i + 1], next + 1);
    }
}

/* ---- labels ------------------------------------------------------------ */

static void the_first_names_are_labels_and_the_rest_is_other(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    char name[32];
    for (int i = 0; i < HF_STATS_MAX + 5; i++) {
        snprintf(name, sizeof name, "job-%d", i);
        use(client, name);
        use(client, name);
    }
    assert_int_equal(used(client, "job-0"), 2);
    assert_int_equal(used(client, "job-99"), 2);
    assert_int_equal(used(client, "job-100"), -1);
    assert_int_equal(used(client, "other"), 10);
}

static void a_name_is_counted_under_its_pattern(void **state) {
    (void)state;
    hf_client *client = open_with("order:*:paid,  order:* ,nightly,*x*y");
    use(client, "order:1");
    use(client, "order:1:paid");
    use(client, "order:2:paid");
    use(client, "order:2:paid:x");
    use(client, "nightly");
    use(client, "nightly2");
    use(client, "axxbyxy");
    use(client, "y");
    assert_int_equal(used(client, "order:*:paid"), 2);
    assert_int_equal(used(client, "order:*"), 2);
    assert_int_equal(used(client, "nightly"), 1);
    assert_int_equal(used(client, "*x*y"), 1);
    assert_int_equal(used(client, "other"), 2);
    assert_int_equal(used(client, "order:1"), -1);
}

static void patterns_that_make_no_sense_are_refused(void **state) {
    (void)state;
    char many[HF_STATS_MAX * 2 + 10] = "";
    static const struct {
        const char *names, *word;
    } wrong[] = {{"a,,b", "pattern 2 is empty"},
                 {"a,", "pattern 2 is empty"},
                 {" ", "pattern 1 is empty"},
                 {"a\nb", "byte 2"},
                 {"a,b\xff", "byte 4"}};
    hf_client *client;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hf_expect(HF_EUSAGE,
                  hf_open(&client, "memory:",
                          HF_CLIENT_WITH(.stats_names = wrong[i].names), ERR));
        assert_non_null(strstr(ERR->text, wrong[i].word));
        assert_null(client);
    }
    for (int i = 0; i < HF_STATS_MAX; i++)
        strcat(many, "a,");
    strcat(many, "a");
    hf_expect(HF_EUSAGE, hf_open(&client, "memory:",
                                 HF_CLIENT_WITH(.stats_names = many), ERR));
    assert_non_null(strstr(ERR->text, "more than 100"));
    many[strlen(many) - 2] = '\0';
    open_with(many);
}

static void a_prefix_is_not_shown(void **state) {
    (void)state;
    hf_client *client = hf_test_open("memory:p?hf_prefix=team%3A", NULL);
    use(client, "x");
    assert_int_equal(used(client, "x"), 1);
    client = hf_test_open("memory:p?hf_prefix=team%3A",
                          HF_CLIENT_WITH(.stats_names = "x*"));
    use(client, "x1");
    assert_int_equal(used(client, "x*"), 1);
}

/* A counter must not fall, though nobody uses the name any more. */
static void what_was_counted_outlives_the_handle(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    for (int i = 0; i < 3; i++)
        use(client, "x");
    assert_int_equal(used(client, "x"), 3);
}

/* ---- other things than locks ------------------------------------------- */

static void permits_and_latches_are_not_held(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    hf_semaphore *sem = hf_test_semaphore(client, "s");
    hf_latch *latch = hf_test_latch(client, "l");
    hf_expect(HF_OK, hf_semaphore_set(sem, 2, 0, ERR));
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 1, 0, ERR));
    hf_expect(HF_BUSY, hf_semaphore_acquire(sem, 2, 0, ERR));
    hf_expect(HF_OK, hf_latch_wait(latch, 0, ERR));
    assert_int_equal(used(client, "s"), 1);
    assert_int_equal(used(client, "l"), 1);
    assert_int_equal((int)hf_test_number(client, "lock_acquisitions_total",
                                         "mode=permits result=busy"),
                     1);
    assert_int_equal((int)hf_test_number(client, "lock_held", ""), 0);
    assert_int_equal((int)hf_test_number(client, "lock_hold_seconds", ""), -1);
    assert_int_equal(
        (int)hf_test_number(client, "lock_wait_seconds", "lock=l mode=zero"),
        1);
}

static void readers_and_writers_are_counted_apart(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    hf_lock *r = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_lock *w = hf_test_lock(client, "x", HF_LOCK_WITH(.kind = HF_WRITE));
    hf_expect(HF_OK, hf_lock_try(w, ERR));
    hf_expect(HF_OK, hf_lock_try(r, ERR));
    hf_expect(HF_OK, hf_lock_release(w, ERR));
    assert_int_equal(
        (int)hf_test_number(client, "lock_held", "lock=x mode=shared"), 1);
    assert_int_equal(
        (int)hf_test_number(client, "lock_held", "lock=x mode=exclusive"), 0);
    hf_expect(HF_OK, hf_lock_release(r, ERR));
}

/* Threads that hand it to each other without the store are owners as well. */
static void turns_within_the_process_are_counted(void **state) {
    (void)state;
    enum { THREADS = 4 };
    hf_client *client = open_with(NULL);
    hf_test_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        hf_test_begin(&threads[i], hf_test_lock(client, "x", NULL), HF_FOREVER);
    for (int i = 0; i < THREADS; i++) {
        hf_expect(HF_OK, hf_test_answer(&threads[i]));
        hf_expect(HF_OK, hf_test_end(&threads[i]));
    }
    assert_int_equal(used(client, "x"), THREADS);
    assert_int_equal((int)hf_test_number(client, "lock_hold_seconds", "lock=x"),
                     THREADS);
    assert_int_equal((int)hf_test_number(client, "lock_held", "lock=x"), 0);
    assert_int_equal((int)hf_test_number(client, "lock_waiters", "lock=x"), 0);
}

static void many_threads_count_every_grant(void **state) {
    (void)state;
    enum { THREADS = 8 };
    hf_client *client = open_with(NULL);
    hf_test_thread threads[THREADS];
    char *text;
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i % 3);
        hf_test_begin(&threads[i], hf_test_lock(client, name, NULL),
                      HF_FOREVER);
        text = hf_test_stats_text(client); /* while they go on */
        free(text);
    }
    for (int i = 0; i < THREADS; i++)
        sem_post(&threads[i].let_go);
    for (int i = 0; i < THREADS; i++) {
        hf_expect(HF_OK, hf_test_answer(&threads[i]));
        hf_expect(HF_OK, hf_test_end(&threads[i]));
    }
    assert_int_equal(
        (int)hf_test_number(client, "lock_acquisitions_total", "result=ok"),
        THREADS);
}

/* ---- the store --------------------------------------------------------- */

static void a_store_that_fails_is_down_until_it_answers(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    hf_tallies *t = &client->tallies;
    static const int down[] = {HF_EDOWN,    HF_EDOUBT,     HF_EAUTH,
                               HF_ECROWDED, HF_EREAD_ONLY, HF_ESTARTING};
    static const int up[] = {HF_OK, HF_BUSY, HF_ELOST, HF_EFREE, HF_EMINORITY};
    for (size_t i = 0; i < sizeof down / sizeof down[0]; i++) {
        hf__tally_heard(t, down[i]);
        assert_true(hf_test_number(client, "store_up", "") == 0);
        hf__tally_heard(t, up[i % (sizeof up / sizeof up[0])]);
        assert_true(hf_test_number(client, "store_up", "") == 1);
    }
}

static void slack_is_the_smallest_of_the_last_two_minutes(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    hf_lock *lock = hf_test_lock(client, "x", NULL);
    struct hf_tally *t = hf__tally_of(&client->tallies, "x");
    const hf_time minute = 60 * HF_SECOND;
    hf_expect(HF_OK, hf_lock_try(lock, ERR));
    assert_true(hf_test_number(client, "lease_slack_seconds", "") == -1);
    hf__tally_renewed(t, HF_OK, 7 * minute, 5 * HF_SECOND);
    hf__tally_renewed(t, HF_EDOWN, 7 * minute, 2 * HF_SECOND);
    hf__tally_renewed(t, HF_OK, 7 * minute, HF_NEVER);
    assert_true(hf_test_number(client, "lease_slack_seconds", "lock=x") == 2);
    hf__tally_renewed(t, HF_OK, 8 * minute, 6 * HF_SECOND);
    assert_true(hf_test_number(client, "lease_slack_seconds", "lock=x") == 2);
    hf__tally_renewed(t, HF_OK, 20 * minute, 7 * HF_SECOND);
    assert_true(hf_test_number(client, "lease_slack_seconds", "lock=x") == 6);
    hf_expect(HF_OK, hf_lock_release(lock, ERR)); /* and long ago */
    assert_true(hf_test_number(client, "lease_slack_seconds", "") == -1);
    hf__tally_renewed(t, HF_OK, hf__now(), 3 * HF_SECOND);
    assert_true(hf_test_number(client, "lease_slack_seconds", "") == 3);
}

/* ---- misuse ------------------------------------------------------------ */

static void ignore(void *arg, const hf_sample *s) {
    (void)arg, (void)s;
}

static void null_is_refused(void **state) {
    (void)state;
    hf_client *client = open_with(NULL);
    hf_expect(HF_EUSAGE, hf_stats(NULL, ignore, NULL, ERR));
    hf_expect(HF_EUSAGE, hf_stats(client, NULL, NULL, ERR));
    hf_expect(HF_OK, hf_stats(client, ignore, NULL, NULL));
}

static void a_forked_child_is_refused(void **state) {
    (void)state;
    hf_test_need_fork();
    hf_client *client = open_with(NULL);
    use(client, "x");
    pid_t child = fork();
    if (child == 0)
        _exit(hf_stats(client, ignore, NULL, NULL) == HF_EFORKED &&
                      hf_stats_text(client, NULL, 0) == 0 ?
                  0 :
                  1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- Prometheus reads it ----------------------------------------------- */

static void prometheus_accepts_the_text(void **state) {
    (void)state;
    hf_test_need(hf_test_installed("promtool"), "promtool is not installed");
    char path[160], command[200];
    hf_client *client = open_with(NULL);
    use(client, "a\"b\\c{d},e=\"");
    use(client, "gr\xc3\xbc\xc3\x9f");
    hf_expect(HF_OK, hf_latch_wait(hf_test_latch(client, "l"), 0, ERR));
    hf_expect(HF_OK, hf_lock_try(hf_test_lock(client, "x", NULL), ERR));
    hf__tally_renewed(hf__tally_of(&client->tallies, "x"), HF_OK, 0, -1);
    char *text = hf_test_stats_text(client);
    hf_test_fresh_path(path, sizeof path, "metrics");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "promtool check metrics <'%s'", path);
    assert_int_equal(system(command), 0);
    free(text);
}

#define TEST(name) cmocka_unit_test_teardown(name, clear)

static const struct CMUnitTest tests[] = {
    TEST(a_name_is_escaped),
    TEST(a_client_that_did_nothing_has_a_text),
    TEST(every_metric_has_one_head),
    TEST(text_is_cut_as_snprintf_does),
    TEST(buckets_are_cumulative),
    TEST(a_bound_belongs_to_its_bucket),
    TEST(the_first_names_are_labels_and_the_rest_is_other),
    TEST(a_name_is_counted_under_its_pattern),
    TEST(patterns_that_make_no_sense_are_refused),
    TEST(a_prefix_is_not_shown),
    TEST(what_was_counted_outlives_the_handle),
    TEST(permits_and_latches_are_not_held),
    TEST(readers_and_writers_are_counted_apart),
    TEST(turns_within_the_process_are_counted),
    TEST(many_threads_count_every_grant),
    TEST(a_store_that_fails_is_down_until_it_answers),
    TEST(slack_is_the_smallest_of_the_last_two_minutes),
    TEST(null_is_refused),
    TEST(a_forked_child_is_refused),
    TEST(prometheus_accepts_the_text),
};
HF_SUITE(tests)
