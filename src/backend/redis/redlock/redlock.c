/* SPDX-License-Identifier: MIT
 *
 * redlock.c - locks held by a majority of independent servers: the store as a
 * whole. */
#include "redlock.h"

#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../uri.h"
#include "../keys.h"

enum { NODE_TIMEOUT_MS = 50, VOTERS_MIN = 3 };

/* News of one release, from all servers, come within so long. */
static const hf_time NEWS_LAST = 20 * HF_MS;

/* The longest to wait for subscriptions; without them it is polled. */
static const hf_time EARS_WAIT = HF_SECOND;

static hf_redlock *redlock_of(hf_backend *be) {
    return (hf_redlock *)be;
}

/* ---- kinds ------------------------------------------------------------- */

const hf_layout hf__redlock_layouts[HF_KINDS] = {
    [HF_LOCK] = {HF_CAN_HOLD | HF_CAN_WAKE, HF_SCRIPT_REDLOCK_ATTEMPT,
                 HF_SCRIPT_REDLOCK_CONFIRM, HF_SCRIPT_LOCK_RELEASE,
                 HF_SCRIPT_SPIN_RELEASE, HF_SCRIPT_LOCK_AFTER,
                 HF_SCRIPT_LOCK_FORCE},
    [HF_SPIN] = {HF_CAN_HOLD, HF_SCRIPT_REDLOCK_ATTEMPT,
                 HF_SCRIPT_REDLOCK_CONFIRM, HF_SCRIPT_SPIN_RELEASE,
                 HF_SCRIPT_SPIN_RELEASE, HF_SCRIPT_LOCK_AFTER,
                 HF_SCRIPT_LOCK_FORCE},
    [HF_SIMPLE] = {HF_CAN_HOLD, HF_SCRIPT_REDLOCK_SIMPLE_ATTEMPT,
                   HF_SCRIPT_REDLOCK_SIMPLE_CONFIRM, HF_SCRIPT_SIMPLE_RELEASE,
                   HF_SCRIPT_SIMPLE_RELEASE, HF_SCRIPT_SIMPLE_AFTER,
                   HF_SCRIPT_SIMPLE_FORCE},
};

int hf__redlock_check(hf_redlock *rl, const hf_claim *c, const hf_layout **ret,
                      hf_error *err) {
    *ret = &hf__redlock_layouts[c->kind];
    if (!(*ret)->can)
        return hf__fail(err, HF_ECANNOT,
                        "%s has no such kind: a majority keeps no lines and "
                        "no numbers",
                        rl->where);
    return hf__keys_check(c->name, err);
}

void hf__redlock_note_lease(hf_redlock *rl, int ms) {
    int longest = atomic_load_explicit(&rl->longest_ms, memory_order_relaxed);

    while (ms > longest &&
           !atomic_compare_exchange_weak(&rl->longest_ms, &longest, ms))
        ;
}

int hf__redlock_crowded(hf_redlock *rl, hf_error *err) {
    return hf__fail(err, HF_EDOWN, "%s: all connections were in use until now",
                    rl->where);
}

static unsigned can(const hf_backend *be, hf_kind kind) {
    (void)be;
    return kind < HF_KINDS ? hf__redlock_layouts[kind].can : 0;
}

static const char *where(const hf_backend *be) {
    return ((const hf_redlock *)be)->where;
}

/* ---- waking ------------------------------------------------------------ */

static unsigned hash(const char *text) {
    unsigned h = 2166136261u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* A release is told by every server.  Two of these messages are worth asking
 * for: the first, and the one that makes a majority, should the first have come
 * too early.  Names share their places in the table; that costs a question. */
static bool is_news(hf_redlock *rl, hf_kind kind, const char *name,
                    unsigned voter) {
    unsigned h = hash(name) + (unsigned)kind, i = h % HF_NEWS;
    hf_time now = hf__now();
    bool news = true;

    pthread_mutex_lock(&rl->ears_mu);
    if (rl->news[i].hash != h || rl->news[i].voters & 1u << voter ||
        now - rl->news[i].since > NEWS_LAST) {
        rl->news[i].hash = h;
        rl->news[i].voters = 1u << voter;
        rl->news[i].since = now;
    } else {
        rl->news[i].voters |= 1u << voter;
        news = (unsigned)__builtin_popcount(rl->news[i].voters) == rl->quorum;
    }
    pthread_mutex_unlock(&rl->ears_mu);
    return news;
}

/* A listener's thread. */
static void hear(void *core, hf_kind kind, const char *name, uint64_t owner) {
    hf_voter *v = core;
    hf_redlock *rl = v->needs.arg;
    const hf_host *host = rl->base.host;

    if (!name || is_news(rl, kind, name, v->k))
        host->woken(host->core, kind, name, owner);
}

/* Likewise. */
static void hear_of_ear(void *arg, hf_listener *w, const char *channel,
                        int code) {
    hf_redlock *rl = ((hf_voter *)arg)->needs.arg;

    (void)w, (void)channel;
    pthread_mutex_lock(&rl->ears_mu);
    rl->ears_refused += code != HF_OK;
    pthread_cond_broadcast(&rl->ears_cond);
    pthread_mutex_unlock(&rl->ears_mu);
}

static unsigned ears(hf_redlock *rl, const char *channel) {
    unsigned n = 0;

    for (unsigned k = 0; k < rl->n; k++)
        n += hf__listener_hears(rl->voters[k]->node->listener, channel);
    return n;
}

static void stop_listening(hf_redlock *rl, const char *channel, unsigned n) {
    while (n-- > 0)
        hf__listener_unwatch(rl->voters[n]->node->listener, channel);
}

/* A release that a majority carried out is told by each of them.  So enough of
 * us hear it when those who do not are fewer than a majority. */
static int await_ears(hf_redlock *rl, const char *channel, hf_time by,
                      hf_error *err) {
    unsigned refused, needed = rl->n - rl->quorum + 1, heard;

    by = hf__sooner(by, hf__now() + EARS_WAIT);
    pthread_mutex_lock(&rl->ears_mu);
    refused = rl->ears_refused;
    while ((heard = ears(rl, channel)) < needed && hf__now() < by &&
           rl->ears_refused - refused < rl->quorum)
        hf__world->wait(&rl->ears_cond, &rl->ears_mu, by);
    pthread_mutex_unlock(&rl->ears_mu);
    if (heard >= needed)
        return HF_OK;
    return hf__fail(err, HF_EMINORITY,
                    "%s: %u of %u servers let us listen, %u are needed",
                    rl->where, heard, rl->n, needed);
}

static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    hf_redlock *rl = redlock_of(be);
    char channel[HF_KEY_SIZE];
    unsigned n = 0;
    int rc = hf__keys_check(c->name, err);

    if (rc != HF_OK)
        return rc;
    hf__key_line(channel, c->kind, c->name);
    if (!on) {
        stop_listening(rl, channel, rl->n);
        return HF_OK;
    }
    while (n < rl->n && rc == HF_OK)
        if (hf__listener_adopt(rl->voters[n]->node->listener, channel, err) < 0)
            rc = err->code;
        else
            n++;
    if (rc == HF_OK)
        rc = await_ears(rl, channel, by, err);
    if (rc != HF_OK)
        stop_listening(rl, channel, n);
    return rc;
}

/* ---- life -------------------------------------------------------------- */

/* After a fork only descriptors are closed: threads that are gone may have held
 * any of the locks. */
static void close_backend(hf_backend *be, bool forked) {
    hf_redlock *rl = redlock_of(be);

    if (!forked) {
        hf__redlock_take_leave(rl, hf__after_ms(rl->node_timeout_ms));
        hf__pool_stop(&rl->pool);
    }
    for (unsigned k = 0; k < rl->n && !forked; k++)
        if (rl->voters[k])
            hf__voter_stop(rl->voters[k]);
    hf__pool_clear(&rl->pool, forked);
    for (unsigned k = 0; k < rl->n; k++)
        hf__voter_free(rl->voters[k], forked);
    if (forked)
        return;
    hf__scripts_clear(&rl->scripts);
    pthread_mutex_destroy(&rl->ears_mu);
    pthread_cond_destroy(&rl->ears_cond);
    hf__free(rl->where);
    hf__free(rl);
}

static void on_wired(void *arg, hf_wire *w, int rc) {
    hf__pool_wired(&((hf_redlock *)arg)->pool, w, rc);
}

static bool said_yes(const hf_uri *uri, const char *key) {
    const char *text = hf_uri_get(uri, key);

    return text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0 ||
                    strcmp(text, "yes") == 0);
}

/* Four tolerate as many failures as three, and less than three none at all. */
static int check_number(const hf_uri *uri, hf_error *err) {
    size_t n = uri->n_hosts;

    if (n > HF_VOTERS_MAX)
        return hf__fail(err, HF_EURI,
                        "redlock:// with %zu servers: at most %d make sense", n,
                        HF_VOTERS_MAX);
    if ((n >= VOTERS_MIN && n % 2) || said_yes(uri, "hf_allow_even"))
        return HF_OK;
    return hf__fail(err, HF_EURI,
                    "redlock:// with %zu server%s: %s; write hf_allow_even=1 "
                    "if that is what you want",
                    n, n == 1 ? "" : "s",
                    n < VOTERS_MIN ? "none of them may fail, name 3 or 5" :
                                     "one more or less tolerates as much");
}

static int read_settings(hf_redlock *rl, const hf_uri *uri, hf_error *err) {
    int longest = rl->base.host->lease_ms, rc;

    rl->node_timeout_ms = NODE_TIMEOUT_MS;
    if ((rc = check_number(uri, err)) ||
        (rc = hf__uri_ms(uri, "node_timeout", &rl->node_timeout_ms, err)) ||
        (rc = hf__uri_ms(uri, "max_lease", &longest, err)))
        return rc;
    atomic_init(&rl->longest_ms, longest);
    return HF_OK;
}

/* redlock://h1:p1,h2:p2/0 */
static int write_where(hf_redlock *rl, const hf_address *a, hf_error *err) {
    size_t size = 128;
    char *to;

    for (unsigned k = 0; k < rl->n; k++)
        size += strlen(rl->voters[k]->name) + 1;
    rl->where = to = hf__malloc(size + (a->user ? strlen(a->user) : 0));
    if (!rl->where)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    to = stpcpy(to, a->tls ? "redlocks://" : "redlock://");
    if (a->user)
        to = stpcpy(stpcpy(to, a->user), "@");
    for (unsigned k = 0; k < rl->n; k++)
        to = stpcpy(stpcpy(to, k ? "," : ""), rl->voters[k]->name);
    *to = '/';
    hf__decimal(to + 1, (uint64_t)a->db);
    return HF_OK;
}

static int add_voters(hf_redlock *rl, const hf_uri *uri, hf_error *err) {
    hf_voter_needs needs = {.host = rl->base.host,
                            .scripts = &rl->scripts,
                            .durable = said_yes(uri, "durable"),
                            .wired = on_wired,
                            .arg = rl,
                            .woken = hear,
                            .told = hear_of_ear};
    int rc = HF_OK;

    for (unsigned k = 0; k < uri->n_hosts && rc == HF_OK; k++) {
        hf_address *address = NULL;

        rc = hf__address_new(&address, uri, k, err);
        if (rc == HF_OK)
            rc = hf__voter_new(&rl->voters[k], k, address, &needs, err);
        rl->n += rc == HF_OK;
    }
    return rc;
}

static int start(hf_redlock *rl, hf_time by, hf_error *err) {
    int rc = HF_OK;

    rl->quorum = rl->n / 2 + 1;
    rl->pool.host = rl->base.host;
    rl->pool.scripts = &rl->scripts;
    rl->pool.voters = rl->voters;
    rl->pool.n = rl->n;
    rl->pool.quorum = rl->quorum;
    rl->pool.patience_ms = rl->node_timeout_ms;
    for (unsigned k = 0; k < rl->n && rc == HF_OK; k++)
        rc = hf__voter_start(rl->voters[k], err);
    return rc == HF_OK ? hf__pool_open(&rl->pool, by, err) : rc;
}

static const hf_backend_ops ops;

int hf__redlock_refuse_params(const hf_uri *uri, hf_error *err) {
    static const char *const own[] = {HF_REDLOCK_PARAMS};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (hf_uri_get(uri, own[i]))
            return hf__fail(err, HF_EURI, "%s= is for redlock:// addresses",
                            own[i]);
    return HF_OK;
}

int hf__redlock_open(hf_backend **ret, const hf_uri *uri, const hf_host *host,
                     hf_time by, hf_error *err) {
    hf_redlock *rl = hf__calloc(1, sizeof *rl);
    int rc;

    if (!rl)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rl->base = (hf_backend){.ops = &ops, .host = host};
    pthread_mutex_init(&rl->ears_mu, NULL);
    pthread_cond_init(&rl->ears_cond, NULL);
    hf__pool_init(&rl->pool);
    rc = hf__uri_check_params(uri, ops.params, err);
    if (rc == HF_OK)
        rc = read_settings(rl, uri, err);
    if (rc == HF_OK)
        rc = hf__scripts_init(&rl->scripts, &(hf_manner){0}, err);
    if (rc == HF_OK)
        rc = add_voters(rl, uri, err);
    if (rc == HF_OK)
        rc = write_where(rl, rl->voters[0]->node->server.target.address, err);
    if (rc == HF_OK)
        rc = start(rl, by, err);
    if (rc == HF_OK)
        *ret = &rl->base;
    else
        close_backend(&rl->base, false);
    return rc;
}

/* ---- for tests and benchmarks ------------------------------------------ */

const hf_redlock_counts *hf__redlock_counts(const hf_backend *be) {
    return &((const hf_redlock *)be)->counts;
}

void hf__redlock_be_blunt(hf_backend *be, bool on) {
    atomic_store(&redlock_of(be)->blunt, on);
}

/* ---- the table --------------------------------------------------------- */

static const char *const schemes[] = {"redlock", NULL};

static const char *const params[] = {
    "db",         "password_file",   "tls_ca",          "tls_cert", "tls_key",
    "tls_verify", "tls_server_name", HF_REDLOCK_PARAMS, NULL};

static const hf_backend_ops ops = {
    .schemes = schemes,
    .params = params,
    .open = hf__redlock_open,
    .close = close_backend,
    .can = can,
    .where = where,
    .attempt = hf__redlock_attempt,
    .watch = watch,
    .renew = hf__redlock_renew,
    .release = hf__redlock_release,
    .count = hf__redlock_count,
    .announce = hf__redlock_announce,
    .clients = hf__redlock_clients,
    .list = hf__redlock_list,
    .examine = hf__redlock_examine,
    .rights = hf__redlock_rights,
};
