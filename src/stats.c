/* SPDX-License-Identifier: MIT
 *
 * stats.c - counting for monitoring, and telling what was counted.
 *
 * Nothing here makes an acquire wait: numbers are added to without a lock, and
 * read while others add to them.  So two numbers that belong together may be
 * one apart when they are read; a counter never falls, and the counts of a
 * histogram always fit together, because its total is their sum. */
#include "stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "err.h"

#define OTHER "other"

/* Exponential, by about the root of ten, in figures that one likes to read:
 * from what a store on this host takes to what a nightly job holds. */
static const double bounds[HF_BOUNDS] = {3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01,
                                         0.03, 0.1,  0.3,  1,    3,    10,
                                         30,   100,  300,  1000, 3000};

static const hf_time bounds_ns[HF_BOUNDS] = {
    30000,           100000,          300000,          HF_MS,
    3 * HF_MS,       10 * HF_MS,      30 * HF_MS,      100 * HF_MS,
    300 * HF_MS,     HF_SECOND,       3 * HF_SECOND,   10 * HF_SECOND,
    30 * HF_SECOND,  100 * HF_SECOND, 300 * HF_SECOND, 1000 * HF_SECOND,
    3000 * HF_SECOND};

/* ---- counting ---------------------------------------------------------- */

static void add(atomic_ullong *counter, uint64_t n) {
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t read_counter(const atomic_ullong *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void observe(hf_histogram *h, hf_time took) {
    int i = 0;

    took = took > 0 ? took : 0;
    while (i < HF_BOUNDS && took > bounds_ns[i])
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

static hf_time minute_of(hf_time at) {
    return at / (60 * HF_SECOND);
}

static void note_slack(struct hf_tally *t, hf_time now, hf_time slack) {
    hf_time minute = minute_of(now);

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
    struct hf_tally *made = calloc(1, sizeof *made + len + 1);

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
        free(t->tallies[i]);
    pthread_mutex_destroy(&t->mu);
}

/* ---- telling ----------------------------------------------------------- */

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
        read_counter(&h->sum_ns) + (more ? read_counter(&more->sum_ns) : 0);
    for (int i = 0; i <= HF_BOUNDS; i++) {
        count += read_counter(&h->buckets[i]);
        count += more ? read_counter(&more->buckets[i]) : 0;
        counts[i] = count;
    }
    to->sample.bounds = bounds;
    to->sample.counts = counts;
    to->sample.n = HF_BOUNDS;
    to->sample.sum = (double)sum_ns / 1e9;
    to->sample.count = count;
    tell_labelled(to, labels, n);
}

static uint64_t total(const hf_histogram *h) {
    uint64_t count = 0;

    for (int i = 0; i <= HF_BOUNDS; i++)
        count += read_counter(&h->buckets[i]);
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
        used = used || read_counter(&m->outcomes[i]) > 0;
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
                                          read_counter(&m->outcomes[i]));
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
    return total(&m->granted) > read_counter(&m->unleased);
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
    uint64_t ended = total(&m->held) + read_counter(&m->unleased);
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
                       (double)read_counter(&t->lost[how]));
}

static void tell_renewals(telling *to) {
    const struct hf_tally *t;

    for (size_t i = 0; (t = nth(to, i)); i++)
        for (int how = 0; any_used(t) && how < HF_RENEWALS; how++)
            tell_value(to, t, "result", renewal_names[how],
                       (double)read_counter(&t->renewals[how]));
}

/* What nobody holds any more must not warn for ever. */
static bool has_slack(const struct hf_tally *t) {
    bool fresh = minute_of(hf__now()) - t->slack_minute < 2;

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

/* ---- text -------------------------------------------------------------- */

/* As snprintf: what does not fit is only counted. */
typedef struct text {
    char *buf;
    size_t size, len;
    const char *metric; /* whose head was written */
} text;

static void put_char(text *t, char c) {
    if (t->len + 1 < t->size)
        t->buf[t->len] = c;
    t->len++;
}

static void put(text *t, const char *s) {
    while (*s)
        put_char(t, *s++);
}

static void put_escaped(text *t, const char *s) {
    for (; *s; s++) {
        if (*s == '\\' || *s == '"' || *s == '\n')
            put_char(t, '\\');
        put_char(t, *s == '\n' ? 'n' : *s);
    }
}

/* Not by printf, whose decimal point is the locale's.  Nanoseconds are the
 * finest that is measured. */
static void put_number(text *t, double number) {
    double size = number < 0 ? -number : number;
    uint64_t whole = (uint64_t)size;
    uint32_t ns = (uint32_t)((size - (double)whole) * 1e9 + 0.5);
    char digits[32];

    if (ns >= 1000000000) {
        whole++;
        ns = 0;
    }
    if (number < 0)
        put_char(t, '-');
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)whole);
    put(t, digits);
    if (!ns)
        return;
    snprintf(digits, sizeof digits, ".%09u", ns);
    for (size_t end = strlen(digits); digits[end - 1] == '0';)
        digits[--end] = '\0';
    put(t, digits);
}

static void put_labels(text *t, const hf_sample *s, const char *le) {
    put_char(t, '{');
    for (size_t i = 0; i < s->n_labels; i++) {
        put(t, i ? "," : "");
        put(t, s->labels[i].name);
        put(t, "=\"");
        put_escaped(t, s->labels[i].value);
        put_char(t, '"');
    }
    if (le) {
        put(t, s->n_labels ? ",le=\"" : "le=\"");
        put(t, le);
        put_char(t, '"');
    }
    put(t, "} ");
}

static void put_line(text *t, const hf_sample *s, const char *suffix,
                     const char *le, double number) {
    put(t, s->metric);
    put(t, suffix);
    put_labels(t, s, le);
    put_number(t, number);
    put_char(t, '\n');
}

static void put_histogram(text *t, const hf_sample *s) {
    char le[32];

    for (size_t i = 0; i < s->n; i++) {
        text number = {.buf = le, .size = sizeof le};

        put_number(&number, s->bounds[i]);
        le[number.len] = '\0';
        put_line(t, s, "_bucket", le, (double)s->counts[i]);
    }
    put_line(t, s, "_bucket", "+Inf", (double)s->count);
    put_line(t, s, "_sum", NULL, s->sum);
    put_line(t, s, "_count", NULL, (double)s->count);
}

static void put_head(text *t, const hf_sample *s) {
    static const char *const types[] = {[HF_COUNTER] = "counter",
                                        [HF_GAUGE] = "gauge",
                                        [HF_HISTOGRAM] = "histogram"};

    put(t, "# HELP ");
    put(t, s->metric);
    put_char(t, ' ');
    put(t, s->help);
    put(t, "\n# TYPE ");
    put(t, s->metric);
    put_char(t, ' ');
    put(t, types[s->type]);
    put_char(t, '\n');
}

static void put_sample(void *arg, const hf_sample *s) {
    text *t = arg;

    if (t->metric != s->metric)
        put_head(t, s);
    t->metric = s->metric;
    if (s->type == HF_HISTOGRAM)
        put_histogram(t, s);
    else
        put_line(t, s, "", NULL, s->value);
}

size_t hf_stats_text(hf_client *client, char *buf, size_t size) {
    text t = {.buf = buf, .size = size};

    if (client && hf__check_process(client, NULL) == HF_OK)
        tell_all(client, put_sample, &t);
    if (size)
        buf[t.len < size ? t.len : size - 1] = '\0';
    return t.len;
}
