/* SPDX-License-Identifier: MIT
 *
 * stats.c - tells what was counted.
 *
 * Numbers are read while others add to them, so two that belong together may
 * be one apart.  A counter never falls, and the counts of a histogram always
 * fit together, because its total is their sum. */
#include "client.h"
#include "err.h"

static const char *const mode_names[HF_MODES] = {[HF_EXCLUSIVE] = "exclusive",
                                                 [HF_SHARED] = "shared",
                                                 [HF_PERMITS] = "permits",
                                                 [HF_ZERO] = "zero"};

static const char *const outcome_names[HF_OUTCOMES] = {
    [HF_OUTCOME_OK] = "ok",
    [HF_OUTCOME_BUSY] = "busy",
    [HF_OUTCOME_TIMEOUT] = "timeout",
    [HF_OUTCOME_CANCELLED] = "cancelled",
    [HF_OUTCOME_DEADLOCK] = "deadlock",
    [HF_OUTCOME_ERROR] = "error"};

static const char *const loss_names[HF_LOSSES] = {[HF_LOSS_TAKEN] = "taken",
                                                  [HF_LOSS_EXPIRED] = "expired",
                                                  [HF_LOSS_LIMIT] = "limit",
                                                  [HF_LOSS_STORE] = "store"};

static const char *const renewal_names[HF_RENEWALS] = {
    [HF_RENEWAL_OK] = "ok",
    [HF_RENEWAL_LOST] = "lost",
    [HF_RENEWAL_ERROR] = "error"};

static const char *const verb_names[HF_RTTS] = {[HF_RTT_ATTEMPT] = "attempt",
                                                [HF_RTT_RENEW] = "renew",
                                                [HF_RTT_RELEASE] = "release"};

/* Numbers on their way out: of which client, to whom, of which metric. */
typedef struct telling {
    hf_client *client;
    const char *store;
    hf_sample_fn *fn;
    void *arg;
    double bounds[HF_BOUNDS]; /* in seconds */
    hf_sample sample;
} telling;

typedef struct metric {
    const char *name, *help;
    hf_sample_type type;
    void (*tell)(telling *to);
} metric;

static void tell_labelled(telling *to, const hf_label *labels, size_t n) {
    to->sample.labels = labels;
    to->sample.n_labels = n;
    to->fn(to->arg, &to->sample);
}

/* With the labels store and lock, and one more unless that has no name. */
static void tell_value(telling *to, const struct hf_tally *t, const char *name,
                       const char *value, double number) {
    hf_label labels[] = {
        {"store", to->store}, {"lock", t->label}, {name, value}};

    to->sample.value = number;
    tell_labelled(to, labels, name ? 3 : 2);
}

/* Of two that count as one; the second may be NULL. */
static void tell_histogram(telling *to, const hf_histogram *h,
                           const hf_histogram *more, const hf_label *labels,
                           size_t n) {
    uint64_t counts[HF_BOUNDS + 1], count = 0, sum_ns;

    sum_ns =
        hf__tally_read(&h->sum_ns) + (more ? hf__tally_read(&more->sum_ns) : 0);
    for (int i = 0; i <= HF_BOUNDS; i++) {
        count += hf__tally_read(&h->buckets[i]);
        count += more ? hf__tally_read(&more->buckets[i]) : 0;
        counts[i] = count;
    }
    to->sample.bounds = to->bounds;
    to->sample.counts = counts;
    to->sample.n = HF_BOUNDS;
    to->sample.sum = (double)sum_ns / 1e9;
    to->sample.count = count;
    tell_labelled(to, labels, n);
}

static uint64_t total(const hf_histogram *h) {
    uint64_t count = 0;

    for (int i = 0; i <= HF_BOUNDS; i++)
        count += hf__tally_read(&h->buckets[i]);
    return count;
}

/* The i-th, "other" being the last one; NULL: there are no more. */
static const struct hf_tally *nth(const telling *to, size_t i) {
    const hf_tallies *t = &to->client->tallies;
    size_t n = atomic_load_explicit(&t->n, memory_order_acquire);

    return i < n ? t->tallies[i] : i == n ? &t->other : NULL;
}

static long waiters_of(const hf_tally_mode *m) {
    return atomic_load_explicit(&m->waiters, memory_order_relaxed);
}

/* A name is shown with the modes that it was asked for in. */
static bool was_used(const hf_tally_mode *m) {
    bool used = total(&m->granted) > 0 || waiters_of(m) > 0;

    for (int i = 0; i < HF_OUTCOMES; i++)
        used = used || hf__tally_read(&m->outcomes[i]) > 0;
    return used;
}

static bool any_used(const struct hf_tally *t) {
    bool used = false;

    for (int i = 0; i < HF_MODES; i++)
        used = used || was_used(&t->modes[i]);
    return used;
}

typedef void mode_fn(telling *to, const struct hf_tally *t, hf_mode mode);

static void each_mode(telling *to, mode_fn *fn) {
    const struct hf_tally *t;

    for (size_t i = 0; (t = nth(to, i)); i++)
        for (int mode = 0; mode < HF_MODES; mode++)
            if (was_used(&t->modes[mode]))
                fn(to, t, (hf_mode)mode);
}

static void one_acquisitions(telling *to, const struct hf_tally *t,
                             hf_mode mode) {
    const hf_tally_mode *m = &t->modes[mode];

    for (int i = 0; i < HF_OUTCOMES; i++) {
        hf_label labels[] = {{"store", to->store},
                             {"lock", t->label},
                             {"mode", mode_names[mode]},
                             {"result", outcome_names[i]}};

        to->sample.value =
            (double)(i == HF_OUTCOME_OK ? total(&m->granted) :
                                          hf__tally_read(&m->outcomes[i]));
        tell_labelled(to, labels, 4);
    }
}

static void one_wait(telling *to, const struct hf_tally *t, hf_mode mode) {
    hf_label labels[] = {
        {"store", to->store}, {"lock", t->label}, {"mode", mode_names[mode]}};

    tell_histogram(to, &t->modes[mode].granted, &t->modes[mode].given_up,
                   labels, 3);
}

/* Who holds nothing that could end has no such times. */
static bool is_held_in(const hf_tally_mode *m) {
    return total(&m->granted) > hf__tally_read(&m->unleased);
}

static void one_hold(telling *to, const struct hf_tally *t, hf_mode mode) {
    hf_label labels[] = {
        {"store", to->store}, {"lock", t->label}, {"mode", mode_names[mode]}};

    if (is_held_in(&t->modes[mode]))
        tell_histogram(to, &t->modes[mode].held, NULL, labels, 3);
}

/* What ended first: what is granted meanwhile is then one too many rather than
 * one too few. */
static uint64_t held_now(const hf_tally_mode *m) {
    uint64_t ended = total(&m->held) + hf__tally_read(&m->unleased);
    uint64_t granted = total(&m->granted);

    return granted > ended ? granted - ended : 0;
}

static void one_held(telling *to, const struct hf_tally *t, hf_mode mode) {
    tell_value(to, t, "mode", mode_names[mode],
               (double)held_now(&t->modes[mode]));
}

static void one_waiters(telling *to, const struct hf_tally *t, hf_mode mode) {
    long waiters = waiters_of(&t->modes[mode]);

    tell_value(to, t, "mode", mode_names[mode],
               waiters > 0 ? (double)waiters : 0);
}

static void tell_acquisitions(telling *to) {
    each_mode(to, one_acquisitions);
}

static void tell_wait(telling *to) {
    each_mode(to, one_wait);
}

static void tell_hold(telling *to) {
    each_mode(to, one_hold);
}

static void tell_held(telling *to) {
    each_mode(to, one_held);
}

static void tell_waiters(telling *to) {
    each_mode(to, one_waiters);
}

/* Counters that are zero are told as well: what is not there cannot rise. */
static void tell_lost(telling *to) {
    const struct hf_tally *t;

    for (size_t i = 0; (t = nth(to, i)); i++)
        for (int how = 0; any_used(t) && how < HF_LOSSES; how++)
            tell_value(to, t, "reason", loss_names[how],
                       (double)hf__tally_read(&t->lost[how]));
}

static void tell_renewals(telling *to) {
    const struct hf_tally *t;

    for (size_t i = 0; (t = nth(to, i)); i++)
        for (int how = 0; any_used(t) && how < HF_RENEWALS; how++)
            tell_value(to, t, "result", renewal_names[how],
                       (double)hf__tally_read(&t->renewals[how]));
}

/* What nobody holds any more must not warn for ever. */
static bool has_slack(const struct hf_tally *t) {
    bool fresh = hf__minute_of(hf__now()) - t->slack_minute < 2;

    for (int mode = 0; mode < HF_MODES; mode++)
        fresh = fresh || held_now(&t->modes[mode]) > 0;
    return fresh;
}

static void tell_slack(telling *to) {
    const struct hf_tally *t;

    for (size_t i = 0; (t = nth(to, i)); i++) {
        hf_time slack = hf__sooner(t->slack, t->slack_before);

        if (slack != HF_NEVER && has_slack(t))
            tell_value(to, t, NULL, NULL, (double)slack / 1e9);
    }
}

static void tell_rtt(telling *to) {
    const hf_tallies *t = &to->client->tallies;

    for (int verb = 0; verb < HF_RTTS; verb++) {
        hf_label labels[] = {{"store", to->store}, {"verb", verb_names[verb]}};

        tell_histogram(to, &t->rtt[verb], NULL, labels, 2);
    }
}

static void tell_up(telling *to) {
    hf_label labels[] = {{"store", to->store}};

    to->sample.value =
        !atomic_load_explicit(&to->client->tallies.down, memory_order_relaxed);
    tell_labelled(to, labels, 1);
}

static void tell_build(telling *to) {
    hf_label labels[] = {{"version", HF_VERSION}};

    to->sample.value = 1;
    tell_labelled(to, labels, 1);
}

static const metric metrics[] = {
    {"holdfast_lock_acquisitions_total",
     "Acquires that ended, by how they ended.", HF_COUNTER, tell_acquisitions},
    {"holdfast_lock_wait_seconds",
     "How long an acquire lasted that was granted or waited in vain.",
     HF_HISTOGRAM, tell_wait},
    {"holdfast_lock_hold_seconds", "How long a lock was held.", HF_HISTOGRAM,
     tell_hold},
    {"holdfast_lock_held", "Holds of this process.", HF_GAUGE, tell_held},
    {"holdfast_lock_waiters", "Acquires of this process that wait.", HF_GAUGE,
     tell_waiters},
    {"holdfast_lock_lost_total", "Locks lost while they were held, by why.",
     HF_COUNTER, tell_lost},
    {"holdfast_lease_renewals_total", "Renewals of leases, by what came of it.",
     HF_COUNTER, tell_renewals},
    {"holdfast_lease_slack_seconds",
     "What was left of a lease when its renewal was answered or given up: the "
     "smallest of the last minutes.",
     HF_GAUGE, tell_slack},
    {"holdfast_store_rtt_seconds",
     "How long the store took for a request, or did not answer.", HF_HISTOGRAM,
     tell_rtt},
    {"holdfast_store_up",
     "1: the last request was answered, 0: the store could not be used.",
     HF_GAUGE, tell_up},
    {"holdfast_build_info", "1, with the version of the library.", HF_GAUGE,
     tell_build},
};

static void tell_all(hf_client *client, hf_sample_fn *fn, void *arg) {
    telling to = {
        .client = client, .store = hf_store(client), .fn = fn, .arg = arg};

    for (int i = 0; i < HF_BOUNDS; i++)
        to.bounds[i] = (double)hf__bounds[i] / 1e9;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        to.sample = (hf_sample){.metric = metrics[i].name,
                                .help = metrics[i].help,
                                .type = metrics[i].type};
        metrics[i].tell(&to);
    }
}

int hf_stats(hf_client *client, hf_sample_fn *fn, void *arg, hf_error *err) {
    int rc;

    if (!client || !fn)
        return hf__fail(err, HF_EUSAGE, "hf_stats: %s is NULL",
                        client ? "fn" : "client");
    if ((rc = hf__check_process(client, err)))
        return rc;
    tell_all(client, fn, arg);
    return HF_OK;
}
