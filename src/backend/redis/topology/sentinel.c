/* SPDX-License-Identifier: MIT
 *
 * sentinel.c - who the master is, by the word of the sentinels.
 *
 * Every sentinel has a scout, which tells what it heard; what a sentinel said
 * last counts until its scout cannot reach it.  After each word we choose:
 *
 *   - the naming of the highest epoch;
 *   - never one below the epoch that we followed before, unless most of the
 *     sentinels say so.  Fewer may be cut off together with an old master that
 *     does not know yet; most of them say so after they were set up anew.
 *
 * When nobody says anything the last master stays: it may well live.
 *
 * A server that was the master is kept for a while, because somebody may still
 * be connecting to it; its mark `given_up` tells him to stop. */
#include "sentinel.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../log.h"
#include "../../../world.h"
#include "sentinel_scout.h"
#include "sentinel_uri.h"

enum { SENTINELS_MAX = 16, SECONDS_KEPT = 60 };

static const hf_time MOMENT = 250 * HF_MS; /* for the slower ones, at first */

/* A server that was named as the master. */
typedef struct master {
    struct master *next;
    hf_target target;
    atomic_bool given_up;
    hf_time left_at; /* when another took its place */
} master;

typedef struct sentinel {
    hf_scout *scout;
    bool counts;      /* the user named it, or it has answered             */
    int rc;           /* as its scout heard; HF_BUSY: nothing yet          */
    hf_naming naming; /* rc HF_OK                                          */
    hf_error why;     /* else                                              */
} sentinel;

struct hf_sentinels {
    const hf_host *host;
    hf_sentinel_uri uri;
    hf_scout_needs needs;

    pthread_mutex_t mu; /* for the rest */
    pthread_cond_t changed;
    bool stopping;
    sentinel all[SENTINELS_MAX];
    unsigned n, n_given; /* the first ones are those of the address */
    hf_time first_at;    /* the first answer; 0: none yet */

    master *masters, *now;
    int64_t epoch;
    int replicas;     /* the most that were said in this epoch       */
    hf_error trouble; /* why one that was named cannot be the master */

    hf_sentinel_fn *fn;
    void *fn_arg;
};

/* ---- masters ----------------------------------------------------------- */

static void forget(master *m) {
    hf__target_clear(&m->target);
    hf__free(m);
}

/* Nobody connects for that long, and connections were cut when it left. */
static void forget_old_ones(hf_sentinels *s) {
    hf_time kept = SECONDS_KEPT * HF_SECOND + 4 * HF_MS * s->host->timeout_ms;
    master **at = &s->masters, *m;

    while ((m = *at)) {
        if (m == s->now || !m->left_at || hf__now() < m->left_at + kept) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        forget(m);
    }
}

static master *enter(hf_sentinels *s, const hf_naming *n) {
    master *m = hf__calloc(1, sizeof *m);
    hf_address *address = NULL;
    int rc = m ? hf__address_at(&address, s->uri.servers, n->host, n->port,
                                &s->trouble) :
                 hf__fail_plain(&s->trouble, HF_ENO_MEMORY);

    if (rc == HF_OK) {
        address->given_up = &m->given_up;
        rc = hf__target_init(&m->target, address, &s->trouble);
    }
    if (rc != HF_OK) {
        hf__free(m);
        return NULL;
    }
    forget_old_ones(s);
    m->next = s->masters;
    s->masters = m;
    return m;
}

/* ---- the choice (mu) --------------------------------------------------- */

static bool names_present(const hf_sentinels *s, const hf_naming *n) {
    return s->now && s->now->target.address->port == n->port &&
           strcasecmp(s->now->target.address->host, n->host) == 0;
}

/* Of two of the same epoch the one that changes nothing. */
static const hf_naming *best(const hf_sentinels *s) {
    const hf_naming *found = NULL;

    for (unsigned i = 0; i < s->n; i++) {
        const hf_naming *n = &s->all[i].naming;

        if (s->all[i].rc != HF_OK)
            continue;
        if (!found || n->epoch > found->epoch ||
            (n->epoch == found->epoch && names_present(s, n)))
            found = n;
    }
    return found;
}

static bool most_are_below(const hf_sentinels *s) {
    unsigned all = 0, below = 0;

    for (unsigned i = 0; i < s->n; i++) {
        all += s->all[i].counts;
        below += s->all[i].rc == HF_OK && s->all[i].naming.epoch < s->epoch;
    }
    return 2 * below > all;
}

/* Makes it the master, unless it is.  The same place in another epoch is
 * another master: it may have been a replica in between. */
static bool follow(hf_sentinels *s, const hf_naming *n) {
    master *m, *before = s->now;

    if (names_present(s, n) && n->epoch == s->epoch)
        return false;
    m = enter(s, n);
    if (!m)
        return false; /* the next word will do */
    s->now = m;
    s->epoch = n->epoch;
    s->replicas = 0;
    hf__log(s->host, HF_LOG_INFO, "the sentinels name the master",
            {"node", m->target.address->where},
            {"before", before ? before->target.address->where : ""},
            {"epoch", hf__digits(n->epoch).text});
    if (before) {
        before->left_at = hf__now();
        atomic_store(&before->given_up, true);
    }
    return true;
}

static bool choose(hf_sentinels *s) {
    const hf_naming *n = best(s);

    if (!n || (s->now && n->epoch < s->epoch && !most_are_below(s)))
        return false;
    return follow(s, n);
}

static bool count_replicas(hf_sentinels *s, const hf_naming *n) {
    if (n->epoch != s->epoch || n->replicas <= s->replicas)
        return false;
    s->replicas = n->replicas;
    return true;
}

/* ---- what scouts tell -------------------------------------------------- */

/* What has changed with it. */
static void log_sentinel(const hf_sentinels *s, const sentinel *one, int rc,
                         const hf_error *why) {
    const char *node = hf__scout_where(one->scout);

    if (rc == HF_OK && one->rc != HF_OK)
        hf__log_connected(s->host, node);
    else if (rc < 0 && rc != one->rc)
        hf__log(s->host, hf__log_level_of(rc), "a sentinel does not serve us",
                {"node", node}, {"code", hf_error_name(rc)},
                {"why", why->text});
}

static void note(hf_sentinels *s, sentinel *one, int rc,
                 const hf_naming *naming, const hf_error *why) {
    log_sentinel(s, one, rc, why);
    one->rc = rc;
    if (rc == HF_OK)
        one->naming = *naming;
    else
        one->why = *why;
    if (rc != HF_OK && rc != HF_EFREE)
        return;
    one->counts = true;
    if (!s->first_at)
        s->first_at = hf__now();
}

static void heard(void *arg, unsigned id, int rc, const hf_naming *naming,
                  const hf_error *why) {
    hf_sentinels *s = arg;
    hf_sentinel_fn *fn;
    bool moved, more;
    int replicas;

    pthread_mutex_lock(&s->mu);
    note(s, &s->all[id], rc, naming, why);
    moved = choose(s);
    more = rc == HF_OK && count_replicas(s, naming);
    replicas = s->replicas;
    fn = s->fn;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mu);
    if (fn && (moved || more))
        fn(s->fn_arg, moved, replicas);
}

/* mu. */
static bool is_known(const hf_sentinels *s, const char *host, int port) {
    for (unsigned i = 0; i < s->n; i++)
        if (hf__scout_is_at(s->all[i].scout, host, port))
            return true;
    return false;
}

/* In errors it goes by another name than the servers do. */
static int call_it(hf_address *a, hf_error *err) {
    char *where = NULL;

    if (hf__asprintf(&where, "sentinel %s:%d", a->host, a->port) < 0)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf__free(a->where);
    a->where = where;
    return HF_OK;
}

/* mu. */
static int send_scout(hf_sentinels *s, const char *host, int port, bool given,
                      hf_error *err) {
    sentinel *one = &s->all[s->n];
    hf_address *address = NULL;
    int rc = hf__address_at(&address, s->uri.sentinels, host, port, err);

    *one = (sentinel){.counts = given, .rc = HF_BUSY};
    if (rc == HF_OK && (rc = call_it(address, err)) != HF_OK)
        hf__address_free(address);
    if (rc == HF_OK)
        rc = hf__scout_new(&one->scout, address, s->n, &s->needs, err);
    if (rc == HF_OK)
        s->n++;
    return rc;
}

static void met(void *arg, const char *host, int port) {
    hf_sentinels *s = arg;
    hf_error err;

    pthread_mutex_lock(&s->mu);
    if (!s->stopping && s->n < SENTINELS_MAX && !is_known(s, host, port))
        send_scout(s, host, port, false, &err);
    pthread_mutex_unlock(&s->mu);
}

/* ---- opening ----------------------------------------------------------- */

/* mu.  How many of the first ones said so. */
static unsigned count(const hf_sentinels *s, int rc) {
    unsigned n = 0;

    for (unsigned i = 0; i < s->n_given; i++)
        n += s->all[i].rc == rc;
    return n;
}

/* mu.  Has it been waited for long enough, and if not, until when? */
static bool is_enough(const hf_sentinels *s, hf_time by, hf_time *until) {
    *until = s->first_at ? hf__sooner(by, s->first_at + MOMENT) : by;
    return count(s, HF_BUSY) == 0 || hf__now() >= *until;
}

static bool is_telling(int code) {
    return code == HF_EAUTH || code == HF_EFORBIDDEN || code == HF_ETLS ||
           code == HF_EURI;
}

/* mu.  Why there is no master. */
static int explain(const hf_sentinels *s, hf_error *err) {
    const char *why = "no answer in time";

    if (s->trouble.code) {
        *err = s->trouble;
        return err->code;
    }
    if (count(s, HF_EFREE))
        return hf__fail(err, HF_EURI,
                        "no sentinel knows a master named \"%.64s\" (%u of %u "
                        "answered): see \"sentinel monitor\" in their settings",
                        s->uri.name, count(s, HF_EFREE), s->n_given);
    for (unsigned i = s->n_given; i-- > 0;) {
        if (is_telling(s->all[i].rc)) {
            *err = s->all[i].why;
            return err->code;
        }
        if (s->all[i].rc < 0)
            why = s->all[i].why.text;
    }
    return hf__fail(err, HF_EDOWN, "no sentinel can be reached: %s", why);
}

static int await_master(hf_sentinels *s, hf_time by, hf_error *err) {
    hf_time until;
    int rc = HF_OK;

    pthread_mutex_lock(&s->mu);
    while (!is_enough(s, by, &until))
        hf__world->wait(&s->changed, &s->mu, until);
    if (!s->now)
        rc = explain(s, err);
    pthread_mutex_unlock(&s->mu);
    return rc;
}

static int send_scouts(hf_sentinels *s, const hf_uri *uri, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&s->mu);
    for (size_t i = 0; i < uri->n_hosts && rc == HF_OK; i++) {
        const hf_uri_host *at = &uri->hosts[i];
        int port = at->port ? at->port : HF_SENTINEL_PORT;

        if (is_known(s, at->host, port))
            continue;
        if (s->n == SENTINELS_MAX)
            rc =
                hf__fail(err, HF_EURI, "more than %d sentinels", SENTINELS_MAX);
        else
            rc = send_scout(s, at->host, port, true, err);
    }
    s->n_given = s->n;
    pthread_mutex_unlock(&s->mu);
    return rc;
}

int hf__sentinels_new(hf_sentinels **ret, const hf_uri *uri,
                      const hf_host *host, hf_time by, hf_error *err) {
    hf_sentinels *s = hf__calloc(1, sizeof *s);
    int rc;

    if (!s)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->host = host;
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->changed, NULL);
    rc = hf__sentinel_uri_read(&s->uri, uri, err);
    s->needs = (hf_scout_needs){.name = s->uri.name,
                                .timeout_ms = host->timeout_ms,
                                .heard = heard,
                                .met = met,
                                .arg = s};
    if (rc == HF_OK)
        rc = send_scouts(s, uri, err);
    if (rc == HF_OK)
        rc = await_master(s, by, err);
    if (rc == HF_OK)
        *ret = s;
    else
        hf__sentinels_free(s, false);
    return rc;
}

/* ---- what others call -------------------------------------------------- */

const char *hf__sentinels_where(const hf_sentinels *s) {
    return s->uri.where;
}

void hf__sentinels_follow(hf_sentinels *s, hf_sentinel_fn *fn, void *arg) {
    int replicas;

    pthread_mutex_lock(&s->mu);
    s->fn = fn;
    s->fn_arg = arg;
    replicas = s->replicas;
    pthread_mutex_unlock(&s->mu);
    fn(arg, true, replicas);
}

void hf__sentinels_look(hf_sentinels *s) {
    pthread_mutex_lock(&s->mu);
    for (unsigned i = 0; i < s->n; i++)
        hf__scout_hurry(s->all[i].scout);
    pthread_mutex_unlock(&s->mu);
}

int hf__sentinels_find(void *arg, const hf_target **ret, hf_time by,
                       hf_error *err) {
    hf_sentinels *s = arg;

    (void)by, (void)err;
    hf__sentinels_look(s);
    pthread_mutex_lock(&s->mu);
    *ret = &s->now->target;
    pthread_mutex_unlock(&s->mu);
    return HF_OK;
}

static void note_most(int *most, int n) {
    if (n > *most)
        *most = n;
}

/* Of what they disagree on the most. */
void hf__sentinels_count(hf_sentinels *s, hf_referees *ret) {
    pthread_mutex_lock(&s->mu);
    for (unsigned i = 0; i < s->n; i++) {
        const hf_naming *n = &s->all[i].naming;

        if (s->all[i].rc != HF_OK)
            continue;
        ret->reached++;
        note_most(&ret->n, n->sentinels);
        note_most(&ret->quorum, n->quorum);
        note_most(&ret->down_after_ms, n->down_after_ms);
    }
    pthread_mutex_unlock(&s->mu);
}

/* Nobody is added to the list while it stops. */
void hf__sentinels_stop(hf_sentinels *s) {
    pthread_mutex_lock(&s->mu);
    s->stopping = true;
    pthread_mutex_unlock(&s->mu);
    for (unsigned i = 0; i < s->n; i++)
        hf__scout_stop(s->all[i].scout);
}

void hf__sentinels_free(hf_sentinels *s, bool forked) {
    master *m, *next;

    if (!s)
        return;
    if (!forked)
        hf__sentinels_stop(s);
    for (unsigned i = 0; i < s->n; i++)
        hf__scout_free(s->all[i].scout, forked);
    if (forked)
        return; /* threads that are gone may have held its locks */
    for (m = s->masters; m; m = next) {
        next = m->next;
        forget(m);
    }
    hf__sentinel_uri_clear(&s->uri);
    pthread_mutex_destroy(&s->mu);
    pthread_cond_destroy(&s->changed);
    hf__free(s);
}
