/* SPDX-License-Identifier: MIT
 *
 * gate.c - epochs and permissions, as the second store keeps them.
 *
 * Everything here may be repeated: a flag is set once however often it is
 * asked for, a permission is leased to an owner who gets the same one again,
 * and the write side of a gate is given back at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "escalate.h"

enum { LEAST_MS = 100, DRAIN_LEASE_MS = 1000 };

/* A question about a gate may take a quarter of a permission, so that several
 * fit into one. */
static hf_time soon(const hf_escalate *w, hf_time by) {
    hf_time longest = w->permission / 4;

    if (longest < LEAST_MS * HF_MS)
        longest = LEAST_MS * HF_MS;
    return hf__sooner(by, hf__now() + longest);
}

char *hf__gate_text(const char *name, const char *what, uint64_t epoch) {
    size_t size = strlen(name) + HF_GATE_TEXT;
    char *text = hf__malloc(size);

    if (text)
        snprintf(text, size, "%s~%s.%" PRIu64, name, what, epoch);
    return text;
}

static char *text_of(const hf_passage *p, const char *what, uint64_t epoch) {
    return hf__gate_text(p->second, what, epoch);
}

static uint64_t new_owner(hf_escalate *w) {
    pthread_mutex_lock(&w->mu);
    uint64_t owner = ++w->last_owner;
    pthread_mutex_unlock(&w->mu);
    return owner;
}

/* ---- flags ------------------------------------------------------------- */

static int flag(hf_escalate *w, const hf_passage *p, const char *what,
                uint64_t epoch, hf_count_op op, int64_t *value, hf_time by,
                hf_error *err) {
    hf_claim c = {.kind = HF_SEMAPHORE, .mode = HF_PERMITS};
    char *text = text_of(p, what, epoch);
    hf_backend *be;
    int rc;

    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    c.name = text;
    hf__world->random(c.nonce, sizeof c.nonce);
    rc = hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, err);
    if (rc == HF_OK)
        rc = be->ops->count(be, &c, op, value, soon(w, by), err);
    hf__free(text);
    return rc;
}

static int is_set(hf_escalate *w, const hf_passage *p, const char *what,
                  uint64_t epoch, hf_time by, hf_error *err) {
    int64_t value = 0;
    int rc = flag(w, p, what, epoch, HF_COUNT_FREE, &value, by, err);

    return rc == HF_EFREE ? 0 : rc < 0 ? rc : value != 0;
}

static int set(hf_escalate *w, const hf_passage *p, const char *what,
               uint64_t epoch, hf_time by, hf_error *err) {
    int64_t one = 1;
    int rc = flag(w, p, what, epoch, HF_COUNT_SET, &one, by, err);

    return rc == HF_BUSY ? HF_OK : rc;
}

int hf__gate_is_closed(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                       hf_time by, hf_error *err) {
    return is_set(w, p, "closed", epoch, by, err);
}

int hf__gate_close(hf_escalate *w, const hf_passage *p, hf_time by,
                   hf_error *err) {
    if (p->epoch >= HF_LAST_EPOCH)
        return hf__fail(err, HF_ESTORE,
                        "'%s' has changed stores %d times: there are no more "
                        "epochs for its tokens",
                        p->name, HF_LAST_EPOCH);
    return set(w, p, "closed", p->epoch, by, err);
}

/* Closed epochs are the first ones, without a gap: whoever closes one was
 * active in it.  So in steps that double, and then by halves. */
int hf__gate_find(hf_escalate *w, const hf_passage *p, uint64_t *ret,
                  hf_time by, hf_error *err) {
    uint64_t low = p->epoch, high = low,
             step = 1; /* all below low are closed */
    int rc;

    while ((rc = hf__gate_is_closed(w, p, high, by, err)) == 1) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    while (rc >= 0 && low < high) { /* high is open */
        uint64_t middle = low + (high - low) / 2;

        rc = hf__gate_is_closed(w, p, middle, by, err);
        if (rc == 1)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return rc < 0 ? rc : HF_OK;
}

/* Seconds of the wall clock, from a year that leaves them small. */
static int64_t date(void) {
    return hf__world->wall_us() / 1000000 - INT64_C(1767225600); /* 2026 */
}

hf_time hf__gate_well_for(hf_escalate *w, const hf_passage *p, hf_time by) {
    int64_t since = date();
    hf_error err;

    if (flag(w, p, "well", p->epoch, HF_COUNT_SET, &since, by, &err) ==
            HF_BUSY &&
        flag(w, p, "well", p->epoch, HF_COUNT_FREE, &since, by, &err) ==
            HF_OK &&
        date() > since && since > 0)
        return (date() - since) * HF_SECOND;
    return 0;
}

void hf__gate_not_well(hf_escalate *w, const hf_passage *p, hf_time by) {
    int64_t value = 0;
    hf_error err;

    flag(w, p, "well", p->epoch, HF_COUNT_DELETE, &value, by, &err);
}

/* ---- permissions ------------------------------------------------------- */

int hf__gate_enter(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                   hf_claim *c, char **text, hf_time by, hf_error *err) {
    hf_backend *be;
    int rc;

    if (!c->owner) {
        *text = text_of(p, "gate", epoch);
        if (!*text)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        *c = (hf_claim){.name = *text,
                        .kind = HF_READ,
                        .mode = HF_SHARED,
                        .owner = new_owner(w),
                        .lease_ms = w->permission_ms};
    }
    rc = hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, err);
    if (rc == HF_OK)
        rc = be->ops->attempt(be, c, false, soon(w, by), err);
    return rc;
}

int hf__gate_renew(hf_escalate *w, hf_claim *c, hf_time by, hf_error *err) {
    hf_claim *batch = c;
    hf_backend *be;
    int rc = hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, err);

    if (rc == HF_OK) {
        c->result = HF_EDOUBT;
        rc = be->ops->renew(be, &batch, 1, soon(w, by), err);
    }
    return rc == HF_OK ? c->result : rc;
}

/* What is not given back ends by itself, and soon. */
void hf__gate_leave(hf_escalate *w, hf_claim *c, char **text, hf_time by) {
    hf_backend *be;
    hf_error err;

    if (c->owner &&
        hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, &err) == HF_OK)
        be->ops->release(be, c, HF_RELEASE, NULL, soon(w, by), &err);
    *c = (hf_claim){0};
    hf__free(*text);
    *text = NULL;
}

/* The write side, for a moment. */
static int drain(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                 hf_time by, hf_error *err) {
    char *text = text_of(p, "gate", epoch);
    hf_claim c = {.name = text,
                  .kind = HF_WRITE,
                  .mode = HF_EXCLUSIVE,
                  .owner = new_owner(w),
                  .lease_ms = DRAIN_LEASE_MS};
    hf_error ignored;
    hf_backend *be;
    int rc;

    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = hf__side_open(&w->side[HF_SIDE_SECOND], &be, by, err);
    if (rc == HF_OK) {
        rc = be->ops->attempt(be, &c, false, soon(w, by), err);
        if (rc == HF_OK || rc == HF_EDOUBT || c.place)
            be->ops->release(be, &c, HF_RELEASE, NULL, soon(w, by), &ignored);
    }
    hf__free(text);
    return rc;
}

int hf__gate_is_empty(hf_escalate *w, const hf_passage *p, uint64_t epoch,
                      hf_time by, hf_error *err) {
    hf_error ignored;
    int rc = is_set(w, p, "empty", epoch, by, err);

    if (rc != 0)
        return rc < 0 ? rc : HF_OK;
    rc = drain(w, p, epoch, by, err);
    if (rc == HF_OK) /* spares others the question */
        set(w, p, "empty", epoch, by, &ignored);
    return rc;
}
