/* SPDX-License-Identifier: MIT
 *
 * job.c - scheduled jobs: one of many runs it, and only once. */
#include "contract.h"

#define JOB_WITH(...)                                                          \
    (&(hf_job_options){.size = sizeof(hf_job_options), __VA_ARGS__})

enum { CROWD = 8 };

/* What a host that is due answers to itself. */
static int begins(hf_job **job, hf_client *client, const hf_job_options *o) {
    return hf_job_begin(job, client, "nightly", o, ERR);
}

void a_job_that_runs_is_skipped_by_others(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_job *a, *b = (hf_job *)&a;
    hf_expect(HF_OK, begins(&a, client, NULL));
    uint64_t token = hf_lock_token(hf_job_lock(a));
    assert_true(hf_lock_is_held(hf_job_lock(a)));
    hf_expect(HF_BUSY, begins(&b, other, NULL));
    assert_null(b);
    hf_expect(HF_BUSY, begins(&b, client, NULL)); /* of this host, too */
    hf_expect(HF_OK, hf_job_end(a, ERR));
    hf_expect(HF_OK, begins(&b, other, NULL));
    assert_true(hf_lock_token(hf_job_lock(b)) > token);
    hf_expect(HF_OK, hf_job_end(b, ERR));
}

void a_job_that_has_just_run_is_skipped(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    const hf_job_options *o = JOB_WITH(.at_least_ms = 800, .at_most_ms = 20000);
    hf_job *a, *b;
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, begins(&a, client, o));
    hf_expect(HF_OK, hf_job_end(a, ERR));
    hf_expect(HF_BUSY, begins(&b, client, o));
    hf_expect(HF_BUSY, begins(&b, other, o));
    hf_test_eventually(begins(&b, other, o) == HF_OK, HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 780, HF_TEST_LONG);
    hf_expect(HF_OK, hf_job_end(b, ERR));
}

void a_job_that_took_its_time_is_free_when_it_ends(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    hf_job *a, *b;
    hf_expect(HF_OK, begins(&a, client, JOB_WITH(.at_least_ms = 300)));
    int64_t began = hf_test_now_ms();
    hf_test_eventually(hf_test_now_ms() - began > 300, HF_TEST_LONG);
    hf_expect(HF_BUSY, begins(&b, other, NULL));
    hf_expect(HF_OK, hf_job_end(a, ERR));
    hf_expect(HF_OK, begins(&b, other, NULL));
    hf_expect(HF_OK, hf_job_end(b, ERR));
}

void a_job_that_takes_too_long_is_lost_and_told(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL), *other = hf_contract_open(NULL);
    const hf_job_options *o = JOB_WITH(.at_least_ms = 100, .at_most_ms = 400);
    hf_job *a, *b;
    hf_expect(HF_OK, begins(&a, client, o));
    assert_in_range(hf_lock_remaining_ms(hf_job_lock(a)), 1, 400);
    hf_test_eventually(hf_test_is_told(hf_job_lock(a)), HF_TEST_LONG);
    assert_false(hf_lock_is_held(hf_job_lock(a)));
    hf_test_eventually(begins(&b, other, NULL) == HF_OK, HF_TEST_LONG);
    hf_expect(HF_ELOST, hf_job_end(a, ERR));
    assert_true(hf_lock_is_held(hf_job_lock(b)));
    hf_expect(HF_OK, hf_job_end(b, ERR));
}

typedef struct host {
    hf_client *client;
    int result;
} host;

/* All of them are due at the same moment; nobody is told of the others. */
static void *be_due(void *arg) {
    host *h = arg;
    hf_job *job;
    hf_error err;
    h->result = hf_job_begin(&job, h->client, "nightly",
                             JOB_WITH(.at_least_ms = 60000), &err);
    if (h->result == HF_OK)
        h->result = hf_job_end(job, &err);
    return NULL;
}

/* Where a majority decides, so many may each have a part of it that nobody has
 * it; then whoever comes next runs the job. */
void of_many_who_are_due_one_runs_the_job(void **state) {
    (void)state;
    pthread_t threads[CROWD];
    host hosts[CROWD];
    hf_job *next;
    int ran = 0;
    for (int i = 0; i < CROWD; i++)
        hosts[i].client = i % 2 ? hosts[i - 1].client : hf_contract_open(NULL);
    for (int i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, be_due, &hosts[i]);
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], NULL);
        ran += hosts[i].result == HF_OK;
        assert_true(hosts[i].result == HF_OK || hosts[i].result == HF_BUSY ||
                    hosts[i].result == HF_EMINORITY);
    }
    assert_in_range(ran, hf_contract_under_test.votes ? 0 : 1, 1);
    hf_test_eventually(begins(&next, hosts[0].client, NULL) ==
                           (ran ? HF_BUSY : HF_OK),
                       HF_TEST_LONG);
    hf_expect(HF_OK, hf_job_end(next, ERR));
}

void a_job_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_job *a;
    hf_expect(HF_EUSAGE, begins(NULL, client, NULL));
    hf_expect(HF_EUSAGE, begins(&a, NULL, NULL));
    hf_expect(HF_EUSAGE, begins(&a, client, JOB_WITH(.at_least_ms = -1)));
    hf_expect(HF_EUSAGE, begins(&a, client, JOB_WITH(.at_most_ms = -1)));
    hf_expect(
        HF_EUSAGE,
        begins(&a, client, JOB_WITH(.at_least_ms = 200, .at_most_ms = 100)));
    hf_expect(HF_ENAME, hf_job_begin(&a, client, "", NULL, ERR));
    hf_expect(HF_OK, hf_job_end(NULL, ERR));
    assert_null(hf_job_lock(NULL));
}
