/* SPDX-License-Identifier: MIT
 *
 * latch.c - opens when its count has come down to zero. */
#include <string.h>

#include "acquire.h"
#include "alloc.h"
#include "err.h"
#include "uncancelled.h"

int hf_latch_new(hf_latch **ret, hf_client *client, const char *name,
                 hf_error *err) {
    hf_latch *latch;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!ret || !client)
        return hf__fail(err, HF_EUSAGE, "hf_latch_new: %s is NULL",
                        ret ? "client" : "ret");
    *ret = NULL;
    if ((rc = hf__check_process(client, err)))
        return rc;
    if (!(hf_can(client, HF_LATCH) & HF_CAN_HOLD))
        return hf__fail(err, HF_ECANNOT, "the store %s has no latch",
                        hf_store(client));
    latch = hf__calloc(1, sizeof *latch);
    if (!latch)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    latch->client = client;
    rc = hf__attach(&latch->spot, client, HF_LATCH, name, err);
    if (rc < 0) {
        hf__free(latch);
        return rc;
    }
    *ret = latch;
    return HF_OK;
}

void hf_latch_free(hf_latch *latch) {
    HF_UNCANCELLED;

    if (!latch)
        return;
    if (hf__check_process(latch->client, NULL) == HF_OK) {
        if (hf__tickets_drop(latch->client->loop, &latch->tickets)) {
            hf_latch_cancel(latch);
            hf__tickets_await(latch->client->loop, &latch->tickets);
        }
        hf__spot_put(&latch->client->spots, latch->spot);
    }
    hf__free(latch);
}

const char *hf_latch_name(const hf_latch *latch) {
    return latch ? latch->spot->name + strlen(latch->client->prefix) : "";
}

static int check(const hf_latch *latch, const char *call, hf_error *err) {
    if (!latch)
        return hf__fail(err, HF_EUSAGE, "%s: the latch is NULL", call);
    return hf__check_process(latch->client, err);
}

static int count(hf_latch *latch, hf_count_op op, int64_t *value,
                 const char *call, hf_error *err) {
    int rc = check(latch, call, err);

    return rc ? rc : hf__count(latch->client, latch->spot, op, value, 0, err);
}

int hf_latch_set(hf_latch *latch, int n, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = n;

    err = err ? err : &(hf_error){0};
    if (n < 0)
        return hf__fail(err, HF_EUSAGE,
                        "hf_latch_set: a count of %d makes no sense", n);
    return count(latch, HF_COUNT_SET, &value, "hf_latch_set", err);
}

int hf_latch_count_down(hf_latch *latch, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 1;

    err = err ? err : &(hf_error){0};
    return count(latch, HF_COUNT_DOWN, &value, "hf_latch_count_down", err);
}

int hf_latch_count(hf_latch *latch, int64_t *ret, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 0;
    int rc;

    err = err ? err : &(hf_error){0};
    rc = count(latch, HF_COUNT_FREE, &value, "hf_latch_count", err);
    if (rc == HF_OK && ret)
        *ret = value;
    return rc;
}

int hf__latch_begin(hf_quest *q, hf_latch *latch, int wait_ms, hf_task *task,
                    hf_error *err) {
    hf_terms terms = hf__terms(wait_ms, latch);
    hf_hold *h = hf__hold_new(latch->spot, HF_LATCH);

    if (!h)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    h->claim.owner = atomic_fetch_add(&latch->client->last_owner, 1) + 1;
    return hf__quest_begin(q, latch->client, h, &terms, task, err);
}

int hf__latch_check(const hf_latch *latch, int wait_ms, const char *call,
                    hf_error *err) {
    int rc = check(latch, call, err);

    return rc ? rc : hf__check_wait(wait_ms, err);
}

int hf_latch_wait(hf_latch *latch, int wait_ms, hf_error *err) {
    HF_UNCANCELLED;
    hf_quest q;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = hf__latch_check(latch, wait_ms, "hf_latch_wait", err)))
        return rc;
    rc = hf__latch_begin(&q, latch, wait_ms, NULL, err);
    return rc == HF_GOES_ON ? hf__quest_finish(&q, err) : rc;
}

void hf_latch_cancel(hf_latch *latch) {
    if (!latch || hf__check_process(latch->client, NULL))
        return;
    pthread_mutex_lock(&latch->spot->mu);
    hf__spot_cancel(latch->spot, latch);
    pthread_mutex_unlock(&latch->spot->mu);
}

int hf_latch_delete(hf_latch *latch, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 0;

    err = err ? err : &(hf_error){0};
    return count(latch, HF_COUNT_DELETE, &value, "hf_latch_delete", err);
}
