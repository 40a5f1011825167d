/* SPDX-License-Identifier: MIT
 *
 * tally.c - counting for monitoring, and under which label.
 *
 * Nothing here makes an acquire wait: numbers are added to without a lock. */
#include "tally.h"

#include <string.h>

#include "alloc.h"
#include "client.h"
#include "err.h"

#define OTHER "other"

/* Exponential, by about the root of ten, in figures that one likes to read:
 * from what a store on this host takes to what a nightly job holds. */
const hf_time hf__bounds[HF_BOUNDS] = {
    30000,           100000,          300000,          HF_MS,
    3 * HF_MS,       10 * HF_MS,      30 * HF_MS,      100 * HF_MS,
    300 * HF_MS,     HF_SECOND,       3 * HF_SECOND,   10 * HF_SECOND,
    30 * HF_SECOND,  100 * HF_SECOND, 300 * HF_SECOND, 1000 * HF_SECOND,
    3000 * HF_SECOND};

/* ---- counting ---------------------------------------------------------- */

static void add(atomic_ullong *counter, uint64_t n) {
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void observe(hf_histogram *h, hf_time took) {
    int i = 0;

    took = took > 0 ? took : 0;
    while (i < HF_BOUNDS && took > hf__bounds[i])
        i++;
    add(&h->buckets[i], 1);
    add(&h->sum_ns, (uint64_t)took);
}

static hf_outcome outcome_of(int rc) {
    return rc == HF_OK         ? HF_OUTCOME_OK :
           rc == HF_BUSY       ? HF_OUTCOME_BUSY :
           rc == HF_ETIMEOUT   ? HF_OUTCOME_TIMEOUT :
           rc == HF_ECANCELLED ? HF_OUTCOME_CANCELLED :
           rc == HF_EDEADLOCK  ? HF_OUTCOME_DEADLOCK :
                                 HF_OUTCOME_ERROR;
}

/* A wait that ends in vain has lasted, too: whoever looks at how long waits
 * are must not see only those that went well. */
void hf__tally_acquired(struct hf_tally *t, hf_kind kind, bool waits, int rc,
                        hf_time waited) {
    hf_tally_mode *m = &t->modes[hf__mode(kind)];

    if (rc == HF_OK) {
        observe(&m->granted, waited);
        if (!hf__leased(kind))
            add(&m->unleased, 1);
        return;
    }
    add(&m->outcomes[outcome_of(rc)], 1);
    if (waits)
        observe(&m->given_up, waited);
}

void hf__tally_held(struct hf_tally *t, hf_mode mode, hf_time held) {
    observe(&t->modes[mode].held, held);
}

void hf__tally_lost(struct hf_tally *t, hf_loss how) {
    add(&t->lost[how], 1);
}

static void note_slack(struct hf_tally *t, hf_time now, hf_time slack) {
    hf_time minute = hf__minute_of(now);

    if (minute != t->slack_minute) {
        t->slack_before = t->slack;
        t->slack = HF_NEVER;
        t->slack_minute = minute;
    }
    t->slack = hf__sooner(t->slack, slack);
}

void hf__tally_renewed(struct hf_tally *t, int result, hf_time now,
                       hf_time slack) {
    add(&t->renewals[result == HF_OK    ? HF_RENEWAL_OK :
                     result == HF_ELOST ? HF_RENEWAL_LOST :
                                          HF_RENEWAL_ERROR],
        1);
    if (slack != HF_NEVER)
        note_slack(t, now, slack);
}

/* Not: that it said no, or does not know what we thought it knew.  What it is
 * of no use with for the moment is as good as gone. */
static bool is_down(int rc) {
    switch (rc) {
    case HF_EDOUBT:
    case HF_EDOWN:
    case HF_ESTARTING:
    case HF_EREAD_ONLY:
    case HF_EFULL:
    case HF_ECROWDED:
    case HF_EAUTH:
    case HF_ETLS:
        return true;
    default:
        return false;
    }
}

void hf__tally_heard(hf_tallies *t, int rc) {
    bool down = is_down(rc);

    if (atomic_load_explicit(&t->down, memory_order_relaxed) != down)
        atomic_store_explicit(&t->down, down, memory_order_relaxed);
}

hf_time hf__tally_asked(hf_tallies *t, hf_rtt verb, hf_time asked, int rc) {
    hf_time now = hf__now();

    observe(&t->rtt[verb], now - asked);
    hf__tally_heard(t, rc);
    return now;
}

/* ---- labels ------------------------------------------------------------ */

/* FNV-1a. */
static uint32_t hash_of(const char *text) {
    uint32_t h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* Only * means more than itself.  After a mismatch the last * takes one byte
 * more, and we go on from there. */
static bool matches(const char *pattern, const char *text) {
    const char *star = NULL, *from = NULL;

    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static void begin(struct hf_tally *t, const char *label) {
    t->label = label;
    t->hash = hash_of(label);
    t->slack = t->slack_before = HF_NEVER;
}

/* One more, under that label; NULL: no memory. */
static struct hf_tally *append(hf_tallies *t, const char *label, size_t len) {
    size_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    struct hf_tally *made = hf__calloc(1, sizeof *made + len + 1);

    if (!made)
        return NULL;
    begin(made, memcpy(made + 1, label, len));
    t->tallies[n] = made;
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
    return made;
}

static bool is_for(const hf_tallies *t, const struct hf_tally *tally,
                   const char *name, uint32_t hash) {
    return t->fixed ? matches(tally->label, name) :
                      tally->hash == hash && strcmp(tally->label, name) == 0;
}

static struct hf_tally *find(hf_tallies *t, const char *name, uint32_t hash) {
    size_t n = atomic_load_explicit(&t->n, memory_order_acquire);

    for (size_t i = 0; i < n; i++)
        if (is_for(t, t->tallies[i], name, hash))
            return t->tallies[i];
    return t->fixed || n == HF_STATS_MAX || strcmp(name, OTHER) == 0 ?
               &t->other :
               NULL;
}

struct hf_tally *hf__tally_of(hf_tallies *t, const char *name) {
    uint32_t hash = hash_of(name);
    struct hf_tally *found = find(t, name, hash);

    if (found)
        return found;
    pthread_mutex_lock(&t->mu);
    found = find(t, name, hash); /* somebody else may have been first */
    if (!found)
        found = append(t, name, strlen(name));
    pthread_mutex_unlock(&t->mu);
    return found ? found : &t->other;
}

static int add_pattern(hf_tallies *t, const char *pattern, size_t len,
                       hf_error *err) {
    while (len && *pattern == ' ')
        pattern++, len--;
    while (len && pattern[len - 1] == ' ')
        len--;
    if (len == 0)
        return hf__fail(err, HF_EUSAGE,
                        "hf_options.stats_names: pattern %zu is empty",
                        atomic_load(&t->n) + 1);
    if (atomic_load(&t->n) == HF_STATS_MAX)
        return hf__fail(err, HF_EUSAGE,
                        "hf_options.stats_names has more than %d patterns",
                        HF_STATS_MAX);
    return append(t, pattern, len) ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

int hf__tallies_init(hf_tallies *t, const char *names, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_init(&t->mu, NULL);
    begin(&t->other, OTHER);
    if (!names || !*names)
        return HF_OK;
    t->fixed = true;
    if (hf__odd_byte(names))
        return hf__fail(err, HF_EUSAGE,
                        "byte %zu of hf_options.stats_names is a control "
                        "character or not UTF-8",
                        hf__odd_byte(names));
    for (size_t len; rc == HF_OK; names += len + 1) {
        len = strcspn(names, ",");
        rc = add_pattern(t, names, len, err);
        if (!names[len])
            break;
    }
    return rc;
}

void hf__tallies_free(hf_tallies *t) {
    for (size_t i = 0; i < atomic_load(&t->n); i++)
        hf__free(t->tallies[i]);
    pthread_mutex_destroy(&t->mu);
}
