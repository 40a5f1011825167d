/* SPDX-License-Identifier: MIT
 *
 * examine.c - what these servers can promise, in words.
 *
 * Each server that the address names is asked for itself.  Nothing here differs
 * from one run to the next unless the servers do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "etcd.h"

typedef struct version {
    int major, minor, patch;
} version;

typedef struct survey {
    hf_etcd *etcd;
    hf_fact_fn *fn;
    void *arg;
    size_t named, reached, leaderless;
    version oldest, newest;
    int members, learners; /* 0: unknown */
} survey;

static void tell(const survey *s, hf_verdict_level level, const char *what,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void tell(const survey *s, hf_verdict_level level, const char *what,
                 const char *format, ...) {
    char text[480];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    s->fn(s->arg, level, what, text);
}

/* ---- one server -------------------------------------------------------- */

static void ended(hf_call *c) {
    *(bool *)c->arg = true;
}

/* A question to one server, which nobody else uses. */
static bool ask_one(hf_grpc *g, const char *path, hf_call *c, hf_time by) {
    struct pollfd pfd = {.fd = hf__grpc_fd(g)};
    hf_pb empty = {0};
    bool done = false;

    c->path = path;
    c->ended = ended;
    c->arg = &done;
    if (!hf__grpc_start(g, c, &empty) || hf__grpc_flush(g) < 0)
        return false;
    while (!done && hf__now() < by) {
        pfd.events = hf__grpc_events(g);
        if (hf__world->poll(&pfd, 1, by) > 0 &&
            (hf__grpc_fill(g) < 0 || hf__grpc_flush(g) < 0))
            break;
    }
    hf__grpc_drop(g, c);
    return done && c->status == 0;
}

static int64_t rank(const version *v) {
    return ((int64_t)v->major << 40) + ((int64_t)v->minor << 20) + v->patch;
}

static void note_version(survey *s, hf_bytes text) {
    char copy[32];
    version v;

    snprintf(copy, sizeof copy, "%.*s", (int)text.n, (const char *)text.at);
    if (sscanf(copy, "%d.%d.%d", &v.major, &v.minor, &v.patch) != 3)
        return;
    if (!s->newest.major || rank(&v) > rank(&s->newest))
        s->newest = v;
    if (!s->oldest.major || rank(&v) < rank(&s->oldest))
        s->oldest = v;
}

static void look_at(survey *s, size_t which, hf_time by) {
    hf_call c = {0};
    hf_status status;
    hf_bytes answer;
    hf_grpc *g = NULL;
    hf_error err;
    int rc = hf__endpoint_dial(s->etcd->speaker.at, which, &g, by, &err);

    if (rc == HF_OK && ask_one(g, HF_RPC_STATUS, &c, by) &&
        hf__grpc_answer(&c, &answer) && hf__read_status(answer, &status)) {
        s->reached++;
        s->leaderless += status.leader == 0;
        note_version(s, status.version);
    } else {
        tell(s, HF_WARN, "server",
             "%s cannot be reached: the others must do without it",
             hf__endpoint_where(s->etcd->speaker.at, which));
    }
    hf__grpc_free(g);
    hf__grpc_clear(&c);
}

/* Each in its share of the time. */
static void look_at_all(survey *s, hf_time by) {
    for (size_t i = 0; i < s->named; i++)
        look_at(s, i, hf__now() + (by - hf__now()) / (hf_time)(s->named - i));
}

/* ---- versions ---------------------------------------------------------- */

/* Was it mended in the line of this version, and is this older? */
static bool older(const version *v, int in_4, int in_5, int in_6) {
    int mended = v->minor == 4 ? in_4 :
                 v->minor == 5 ? in_5 :
                 v->minor == 6 ? in_6 :
                                 0;

    return v->major == 3 && (v->minor < 4 || v->patch < mended);
}

static void tell_versions(const survey *s) {
    const version *a = &s->oldest, *b = &s->newest;

    if (!a->major)
        return;
    if (rank(a) == rank(b))
        tell(s, HF_FACT, "server", "etcd %d.%d.%d", a->major, a->minor,
             a->patch);
    else
        tell(s, HF_WARN, "server",
             "etcd %d.%d.%d to %d.%d.%d: bring them to one version", a->major,
             a->minor, a->patch, b->major, b->minor, b->patch);
    if (a->major == 3 && a->minor <= 4)
        tell(s, HF_WARN, "version",
             "etcd 3.4 is mended no more: take 3.5 or later");
    if (older(a, 31, 13, 0))
        tell(s, HF_WARN, "version",
             "this etcd has a known fault: a leader that was replaced without "
             "knowing may end sessions that live, and so take locks away; "
             "holders are told.  Mended in 3.4.31 and 3.5.13");
    if (older(a, 38, 23, 5))
        tell(s, HF_WARN, "version",
             "this etcd has a known fault: it may say that a session lives "
             "which has ended; so we also look at the keys.  Mended in 3.4.38, "
             "3.5.23 and 3.6.5");
}

/* ---- the cluster ------------------------------------------------------- */

static void count_members(survey *s, hf_time by) {
    hf_question q = {.path = HF_RPC_MEMBERS};
    hf_members m;
    hf_error err;

    if (hf__ask(&s->etcd->speaker, &q, 1, by, &err) == HF_OK &&
        hf__read_members(q.answer, &m)) {
        s->members = m.n - m.learners;
        s->learners = m.learners;
    }
    hf__question_clear(&q);
}

static void tell_cluster(const survey *s) {
    int n = s->members;

    if (n == 1)
        tell(s, HF_WARN, "topology",
             "one member: while it is away nothing is granted or renewed, and "
             "what is held ends with its session; have three, or five");
    else if (n == 2)
        tell(s, HF_WARN, "topology",
             "two members: when one is away nothing is granted; have three");
    else if (n)
        tell(s, HF_GOOD, "topology",
             "%d members: %d of them may be away, and no lock is lost by it", n,
             (n - 1) / 2);
    if (s->learners)
        tell(s, HF_FACT, "learners", "%d, who do not vote", s->learners);
    if (s->leaderless)
        tell(s, HF_WARN, "leader", "%zu of the servers asked know none",
             s->leaderless);
    if (n > 1 && s->named == 1)
        tell(s, HF_WARN, "address",
             "names one of %d members: while that one is away we do not find "
             "the others; name them all, with commas",
             n);
}

static void tell_alarms(const survey *s, hf_time by) {
    hf_question q = {.path = HF_RPC_ALARM};
    hf_alarms a = {0};
    hf_error err;

    if (hf__ask(&s->etcd->speaker, &q, 1, by, &err) == HF_OK &&
        hf__read_alarms(q.answer, &a)) {
        if (a.no_space)
            tell(s, HF_WARN, "space",
                 "the database is full, and nothing is granted: compact and "
                 "defragment it, then `etcdctl alarm disarm`");
        if (a.corrupt)
            tell(s, HF_WARN, "data",
                 "the members found that their data differ: trust no lock "
                 "until that is mended");
    }
    hf__question_clear(&q);
}

/* ---- sessions, users, transport ---------------------------------------- */

/* What a lease of that length comes to is known only when there is one. */
static void tell_session(const survey *s, hf_time by) {
    int asked = hf__session_granted_ms(s->etcd->session), granted;
    int64_t lease;
    uint64_t generation;
    hf_error err;

    if (hf__session_need(s->etcd->session, &lease, &generation, by, &err) !=
        HF_OK) {
        tell(s, HF_WARN, "session", "none is granted: %s", err.text);
        return;
    }
    granted = hf__session_granted_ms(s->etcd->session);
    if (granted > asked)
        tell(s, HF_FACT, "session",
             "%d s, which the server made of the %d ms we asked for: it bears "
             "none that is shorter",
             granted / 1000, asked);
    else
        tell(s, HF_FACT, "session",
             "%d s: so long after its death, at most, the locks of a client "
             "are free; a change of leader begins it anew",
             granted / 1000);
}

static void tell_users(const survey *s) {
    const char *user = hf__auth_user(s->etcd->speaker.auth);

    if (hf__auth_is_on(s->etcd->speaker.auth))
        tell(s, HF_GOOD, "users", "we are %s; others need rights for our keys",
             user);
    else if (user)
        tell(s, HF_WARN, "users",
             "the address names %s, but the server asks nobody who he is",
             user);
    else
        tell(s, HF_FACT, "users",
             "none are asked for: whoever reaches the server may free any "
             "lock");
}

static void tell_transport(const survey *s) {
    const hf_tls_rules *r = hf__endpoints_rules(s->etcd->speaker.at);

    if (!r)
        tell(s, HF_FACT, "transport",
             "plain text: fine within a host or a trusted network");
    else if (r->verify == HF_VERIFY_FULL)
        tell(s, HF_GOOD, "transport", "TLS, certificate and name verified");
    else if (r->verify == HF_VERIFY_CA)
        tell(s, HF_WARN, "transport",
             "TLS, but the name in the certificate is not checked; take "
             "tls_verify out of the address");
    else
        tell(s, HF_WARN, "transport",
             "TLS, but the certificate is not checked: anybody can pose as the "
             "server; take tls_verify out of the address");
}

static void tell_promise(const survey *s) {
    tell(s, HF_GOOD, "order", "first come, first served, in all of its locks");
    tell(s, HF_GOOD, "crash",
         "each grant is on disk with a majority before it is one");
    tell(s, HF_GOOD, "token",
         "the revision of the store: it grows with every grant, also across "
         "leaders; not across servers set up anew");
    tell(s, HF_GOOD, "failover",
         "what was granted, a majority has written down: no lock is granted "
         "twice when a member dies or is cut off");
    tell(s, HF_FACT, "guarantee",
         "one holder at a time while no clock runs wild; a lock ends when its "
         "holder's session does; tokens (create revisions) grow with every "
         "grant, so that what checks them refuses a holder that lost its lock");
}

int hf__etcd_examine(hf_port *p, hf_fact_fn *fn, void *arg, hf_time by,
                     hf_error *err) {
    survey s = {.etcd = hf__etcd_of(p), .fn = fn, .arg = arg};

    (void)err;
    s.named = hf__endpoints_count(s.etcd->speaker.at);
    tell(&s, HF_FACT, "prefix", "%s",
         s.etcd->prefix[0] ? s.etcd->prefix : "none: names are keys as such");
    look_at_all(&s, hf__now() + (by - hf__now()) / 2);
    count_members(&s, by);
    tell_versions(&s);
    tell_cluster(&s);
    tell_alarms(&s, by);
    tell_session(&s, by);
    tell_users(&s);
    tell_transport(&s);
    tell_promise(&s);
    return HF_OK;
}
