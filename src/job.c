/* SPDX-License-Identifier: MIT
 *
 * job.c - a scheduled job: one of many hosts runs it, the others skip it.
 *
 * A lock that is only ever tried for, and given back late.  Hosts whose clocks
 * differ come one after the other; who comes when the job is over must find
 * the name taken still, or it would run it again.  So the end of a job is a
 * release for later: at_least_ms after the beginning, by our clock.
 *
 * at_most_ms is a fixed lease.  Nobody renews it, so a host that is killed, or
 * cut off from the store, leaves the name taken for as long as the job might
 * have run: until then it counts as run. */
#include <limits.h>

#include "alloc.h"
#include "client.h"
#include "err.h"
#include "options.h"
#include "uncancelled.h"

struct hf_job {
    hf_lock *lock;
    hf_time ends_at; /* not free for others before */
};

static int check_options(const hf_job_options *o, hf_error *err) {
    if (o->at_least_ms < 0 || o->at_most_ms < 0)
        return hf__fail(err, HF_EUSAGE, "%s is negative",
                        o->at_least_ms < 0 ? "at_least_ms" : "at_most_ms");
    if (o->at_most_ms != 0 && o->at_most_ms < o->at_least_ms)
        return hf__fail(err, HF_EUSAGE,
                        "at_least_ms (%d) is longer than at_most_ms (%d)",
                        o->at_least_ms, o->at_most_ms);
    return HF_OK;
}

/* A watchdog's lease is what a killed host leaves behind, too. */
static hf_lock_options lock_options(const hf_client *client,
                                    const hf_job_options *o) {
    hf_lock_options lock = HF_LOCK_OPTIONS_INIT;

    lock.kind = HF_LOCK;
    lock.flags = HF_OWNER_HANDLE | HF_NO_REENTRY | HF_NO_COHORT;
    lock.lease_ms = o->at_most_ms;
    if (o->at_most_ms == 0 && o->at_least_ms > client->lease_ms)
        lock.watchdog_ms = o->at_least_ms;
    return lock;
}

static int begin(hf_job *job, hf_client *client, const char *name,
                 const hf_job_options *o, hf_error *err) {
    hf_lock_options options = lock_options(client, o);
    int rc = hf_lock_new(&job->lock, client, name, &options, err);

    job->ends_at = hf__after_ms(o->at_least_ms);
    return rc == HF_OK ? hf_lock_try(job->lock, err) : rc;
}

static void discard(hf_job *job) {
    hf_lock_free(job->lock);
    hf__free(job);
}

int hf_job_begin(hf_job **ret, hf_client *client, const char *name,
                 const hf_job_options *options, hf_error *err) {
    HF_UNCANCELLED;
    hf_job_options o;
    hf_job *job;
    int rc;

    if (!ret || !client)
        return hf__fail(err, HF_EUSAGE, "hf_job_begin: %s is NULL",
                        ret ? "client" : "ret");
    *ret = NULL;
    if ((rc = hf__options_copy(&o, sizeof o, options, "hf_job_options", err)) ||
        (rc = check_options(&o, err)))
        return rc;
    job = hf__calloc(1, sizeof *job);
    if (!job)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = begin(job, client, name, &o, err);
    if (rc == HF_OK)
        *ret = job;
    else
        discard(job);
    return rc;
}

hf_lock *hf_job_lock(hf_job *job) {
    return job ? job->lock : NULL;
}

int hf_job_end(hf_job *job, hf_error *err) {
    HF_UNCANCELLED;
    int rc, left;

    if (!job)
        return HF_OK;
    left = hf__ms_until(job->ends_at);
    rc = left > 0 ? hf_lock_release_after(job->lock, left, err) :
                    hf_lock_release(job->lock, err);
    discard(job);
    return rc;
}
