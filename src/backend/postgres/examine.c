/* SPDX-License-Identifier: MIT
 *
 * examine.c - what this server can promise, in words. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "postgres.h"

enum { SKEW_MS = 1000, EAR_MS = 4000 };

typedef struct survey {
    hf_postgres *pg;
    hf_fact_fn *fn;
    void *arg;
    char **cells;
} survey;

/* The cells that are asked for, in their order. */
enum {
    VERSION,
    ISOLATION,
    FSYNC,
    COMMIT,
    STANDBYS,
    REPLICAS,
    TIMEOUT,
    CLOCK,
    N_CELLS
};

static const char question[] =
    "SELECT current_setting('server_version'),"
    " current_setting('default_transaction_isolation'),"
    " current_setting('fsync'),"
    " current_setting('synchronous_commit'),"
    " current_setting('synchronous_standby_names'),"
    " (SELECT count(*) FROM pg_catalog.pg_stat_replication),"
    " current_setting('statement_timeout'),"
    " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

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

static const char *cell(const survey *s, int i) {
    return s->cells[i] ? s->cells[i] : "";
}

static bool is(const survey *s, int i, const char *wanted) {
    return strcmp(cell(s, i), wanted) == 0;
}

/* ---- the server -------------------------------------------------------- */

static void server(const survey *s) {
    tell(s, HF_FACT, "server", "PostgreSQL %s, which writes", cell(s, VERSION));
    if (*s->pg->name_of_schema)
        tell(s, HF_FACT, "schema", "%s", s->pg->name_of_schema);
    if (s->pg->greeting.pooled)
        tell(s, HF_FACT, "pooler",
             "one stands before the server; no state of a session is relied "
             "on but for listening");
}

static void isolation(const survey *s) {
    if (is(s, ISOLATION, "read committed"))
        return;
    tell(s, HF_FACT, "isolation",
         "%s by default; every transaction of ours asks for read committed",
         cell(s, ISOLATION));
}

static void durability(const survey *s) {
    if (is(s, FSYNC, "off"))
        tell(s, HF_WARN, "crash of the host",
             "fsync is off: a crash may take back grants that were given, or "
             "the whole database");
    else if (is(s, COMMIT, "off"))
        tell(s, HF_WARN, "crash of the server",
             "synchronous_commit is off: the grants of the last moments may "
             "be forgotten while their holders live; tokens still grow");
    else
        tell(s, HF_GOOD, "crash of the server",
             "grants are on disk before they are told; releases may be taken "
             "back, until their lease ends");
}

static void failover(const survey *s) {
    bool replicated = atoi(cell(s, REPLICAS)) > 0;

    if (*cell(s, STANDBYS) && !is(s, COMMIT, "local") && !is(s, COMMIT, "off"))
        tell(s, HF_GOOD, "failover",
             "synchronous_standby_names is set: a standby has every grant");
    else if (replicated)
        tell(s, HF_WARN, "failover",
             "standbys follow asynchronously: one that takes over may not "
             "know the last grants; set synchronous_standby_names");
    else
        tell(s, HF_FACT, "failover",
             "no standby is seen: one that follows asynchronously may not "
             "know the last grants when it takes over");
}

static void timeouts(const survey *s) {
    if (!is(s, TIMEOUT, "0"))
        tell(s, HF_FACT, "statement_timeout",
             "%s: a request that waits longer for a row is asked again",
             cell(s, TIMEOUT));
}

/* Leases are durations, so that a difference does no harm to them; the next
 * server's clock decides about the next token. */
static void clocks(const survey *s) {
    int64_t apart = hf__world->wall_us() - atoll(cell(s, CLOCK));

    if (apart < 0)
        apart = -apart;
    if (apart > SKEW_MS * INT64_C(1000))
        tell(s, HF_WARN, "clock",
             "the server's differs from ours by %lld s: no lease depends on "
             "it, but tokens stay above earlier ones after a failover only "
             "where the servers' clocks agree",
             (long long)(apart / 1000000));
    else
        tell(s, HF_GOOD, "clock", "the server's agrees with ours");
}

static void wake_up(const survey *s, hf_time by) {
    char why[HF_ERROR_TEXT_SIZE];

    if (hf__pg_ear_try(s->pg->ear, why, sizeof why,
                       hf__sooner(by, hf__after_ms(EAR_MS))))
        tell(s, HF_GOOD, "wake-up", "waiters are told at once (LISTEN)");
    else
        tell(s, HF_WARN, "wake-up",
             "waiters look again and again, up to half a second apart: %s",
             *why ? why : "nothing was heard in time");
}

/* ---- the whole --------------------------------------------------------- */

static int ask(hf_postgres *pg, hf_answers *a, hf_time by, hf_error *err) {
    hf_session *s;
    int rc = hf__pg_pool_borrow(&s, pg, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__pg_pool_ask(s, question, a, by, err);
    hf__pg_pool_give_back(s, rc == HF_EDOUBT);
    if (rc == HF_OK &&
        (a->n != 1 || a->all[0].n != 1 || a->all[0].columns != N_CELLS))
        rc = hf__fail_plain(err, HF_ESTORE);
    return rc;
}

int hf__postgres_examine(hf_database *d, hf_fact_fn *fn, void *arg, hf_time by,
                         hf_error *err) {
    survey s = {.pg = hf__postgres_of(d), .fn = fn, .arg = arg};
    hf_answers a = {0};
    int rc = ask(s.pg, &a, by, err);

    if (rc == HF_EDOUBT)
        rc = err->code = HF_EDOWN;
    if (rc == HF_OK) {
        s.cells = a.all[0].cells;
        server(&s);
        isolation(&s);
        durability(&s);
        failover(&s);
        timeouts(&s);
        clocks(&s);
        wake_up(&s, by);
    }
    hf__answers_clear(&a);
    return rc;
}
