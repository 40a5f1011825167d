/* SPDX-License-Identifier: MIT
 *
 * semaphore.c - permits that are nobody's: a number, and waiting until enough
 * of it is there.  Permits with a holder are locks of kind HF_PERMIT. */
#include <string.h>

#include "acquire.h"
#include "alloc.h"
#include "err.h"
#include "uncancelled.h"

/* An attempt in doubt is undone for as long as the store knows it again. */
enum { UNDO_MS = 50 * 1000 };

int hf_semaphore_new(hf_semaphore **ret, hf_client *client, const char *name,
                     hf_error *err) {
    hf_semaphore *sem;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!ret || !client)
        return hf__fail(err, HF_EUSAGE, "hf_semaphore_new: %s is NULL",
                        ret ? "client" : "ret");
    *ret = NULL;
    if ((rc = hf__check_process(client, err)))
        return rc;
    if (!(hf_can(client, HF_SEMAPHORE) & HF_CAN_HOLD))
        return hf__fail(err, HF_ECANNOT, "the store %s has no semaphore",
                        hf_store(client));
    sem = hf__calloc(1, sizeof *sem);
    if (!sem)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    sem->client = client;
    rc = hf__attach(&sem->spot, client, HF_SEMAPHORE, name, err);
    if (rc < 0) {
        hf__free(sem);
        return rc;
    }
    *ret = sem;
    return HF_OK;
}

void hf_semaphore_free(hf_semaphore *sem) {
    HF_UNCANCELLED;

    if (!sem)
        return;
    if (hf__check_process(sem->client, NULL) == HF_OK) {
        if (hf__tickets_drop(sem->client->loop, &sem->tickets)) {
            hf_semaphore_cancel(sem);
            hf__tickets_await(sem->client->loop, &sem->tickets);
        }
        hf__spot_put(&sem->client->spots, sem->spot);
    }
    hf__free(sem);
}

const char *hf_semaphore_name(const hf_semaphore *sem) {
    return sem ? sem->spot->name + strlen(sem->client->prefix) : "";
}

/* ---- taking ------------------------------------------------------------ */

static int check(const hf_semaphore *sem, const char *call, hf_error *err) {
    if (!sem)
        return hf__fail(err, HF_EUSAGE, "%s: the semaphore is NULL", call);
    return hf__check_process(sem->client, err);
}

static int check_permits(int n, const char *call, hf_error *err) {
    if (n < 0)
        return hf__fail(err, HF_EUSAGE, "%s: %d permits make no sense", call,
                        n);
    return HF_OK;
}

int hf__semaphore_begin(hf_quest *q, hf_semaphore *sem, int n, int wait_ms,
                        hf_task *task, hf_error *err) {
    hf_terms terms = hf__terms(wait_ms, sem);
    hf_client *client = sem->client;
    hf_hold *h;

    if (n == 0)
        return HF_OK;
    h = hf__hold_new(sem->spot, HF_SEMAPHORE);
    if (!h)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    h->claim.permits = n;
    h->claim.lease_ms = UNDO_MS;
    h->claim.owner = atomic_fetch_add(&client->last_owner, 1) + 1;
    hf__world->random(h->claim.nonce, sizeof h->claim.nonce);
    return hf__quest_begin(q, client, h, &terms, task, err);
}

int hf__semaphore_check(const hf_semaphore *sem, int n, int wait_ms,
                        const char *call, hf_error *err) {
    int rc;

    if ((rc = check(sem, call, err)) || (rc = check_permits(n, call, err)))
        return rc;
    return hf__check_wait(wait_ms, err);
}

int hf_semaphore_acquire(hf_semaphore *sem, int n, int wait_ms, hf_error *err) {
    HF_UNCANCELLED;
    hf_quest q;
    int rc;

    err = err ? err : &(hf_error){0};
    rc = hf__semaphore_check(sem, n, wait_ms, "hf_semaphore_acquire", err);
    if (rc != HF_OK)
        return rc;
    rc = hf__semaphore_begin(&q, sem, n, wait_ms, NULL, err);
    return rc == HF_GOES_ON ? hf__quest_finish(&q, err) : rc;
}

void hf_semaphore_cancel(hf_semaphore *sem) {
    if (!sem || hf__check_process(sem->client, NULL))
        return;
    pthread_mutex_lock(&sem->spot->mu);
    hf__spot_cancel(sem->spot, sem);
    pthread_mutex_unlock(&sem->spot->mu);
}

/* ---- the number -------------------------------------------------------- */

static int count(hf_semaphore *sem, hf_count_op op, int64_t *value,
                 const char *call, hf_error *err) {
    int rc = check(sem, call, err);

    return rc ? rc : hf__count(sem->client, sem->spot, op, value, 0, err);
}

int hf_semaphore_set(hf_semaphore *sem, int permits, int ttl_ms,
                     hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = permits;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = check(sem, "hf_semaphore_set", err)) ||
        (rc = check_permits(permits, "hf_semaphore_set", err)))
        return rc;
    if (ttl_ms < 0)
        return hf__fail(err, HF_EUSAGE, "hf_semaphore_set: ttl_ms is negative");
    return hf__count(sem->client, sem->spot, HF_COUNT_SET, &value, ttl_ms, err);
}

static int give(hf_semaphore *sem, hf_count_op op, int n, const char *call,
                hf_error *err) {
    int64_t value = n;
    int rc;

    err = err ? err : &(hf_error){0};
    if ((rc = check_permits(n, call, err)))
        return rc;
    return count(sem, op, &value, call, err);
}

int hf_semaphore_release(hf_semaphore *sem, int n, hf_error *err) {
    HF_UNCANCELLED;

    return give(sem, HF_COUNT_GIVE, n, "hf_semaphore_release", err);
}

int hf_semaphore_release_if_set(hf_semaphore *sem, int n, hf_error *err) {
    HF_UNCANCELLED;

    return give(sem, HF_COUNT_GIVE_IF_SET, n, "hf_semaphore_release_if_set",
                err);
}

int hf_semaphore_add(hf_semaphore *sem, int n, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = n;

    err = err ? err : &(hf_error){0};
    return count(sem, HF_COUNT_ADD, &value, "hf_semaphore_add", err);
}

int hf_semaphore_resize(hf_semaphore *sem, int n, hf_error *err) {
    HF_UNCANCELLED;

    return give(sem, HF_COUNT_RESIZE, n, "hf_semaphore_resize", err);
}

int hf_semaphore_drain(hf_semaphore *sem, int64_t *taken, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 0;
    int rc;

    err = err ? err : &(hf_error){0};
    rc = count(sem, HF_COUNT_DRAIN, &value, "hf_semaphore_drain", err);
    if (rc == HF_OK && taken)
        *taken = value;
    return rc;
}

int hf_semaphore_count(hf_semaphore *sem, int64_t *available, int64_t *leased,
                       hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 0;
    int rc = HF_OK;

    err = err ? err : &(hf_error){0};
    if (available || !leased) {
        rc = count(sem, HF_COUNT_FREE, &value, "hf_semaphore_count", err);
        if (rc == HF_OK && available)
            *available = value;
    }
    if (rc == HF_OK && leased) {
        rc = count(sem, HF_COUNT_LEASED, &value, "hf_semaphore_count", err);
        if (rc == HF_OK)
            *leased = value;
    }
    return rc;
}

int hf_semaphore_delete(hf_semaphore *sem, hf_error *err) {
    HF_UNCANCELLED;
    int64_t value = 0;

    err = err ? err : &(hf_error){0};
    return count(sem, HF_COUNT_DELETE, &value, "hf_semaphore_delete", err);
}
