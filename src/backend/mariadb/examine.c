/* SPDX-License-Identifier: MIT
 *
 * examine.c - what this server can promise, in words, and what a user must be
 * allowed there. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "../tables/statements.h"
#include "mariadb.gen.h"
#include "mariadb.h"

enum { SKEW_US = 1000000 };

/* The answers to `variables`, in their order. */
enum { VARIABLES, CLOCK, REPLICAS, N_ANSWERS };

typedef struct survey {
    const hf_maria *m;
    hf_fact_fn *fn;
    void *arg;
    const hf_answers *seen;
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

/* Its value, "" where the server has no such variable. */
static const char *value(const survey *s, const char *name) {
    const hf_rows *all = &s->seen->all[VARIABLES];

    for (size_t i = 0; i < all->n; i++)
        if (all->cells[2 * i] && strcmp(all->cells[2 * i], name) == 0)
            return all->cells[2 * i + 1] ? all->cells[2 * i + 1] : "";
    return "";
}

static bool is(const survey *s, const char *name, const char *wanted) {
    return strcmp(value(s, name), wanted) == 0;
}

static const char *number(const survey *s, int answer) {
    const hf_rows *rows = &s->seen->all[answer];

    return rows->n == 1 && rows->cells[0] ? rows->cells[0] : "0";
}

/* ---- the server -------------------------------------------------------- */

static bool is_mysql(const survey *s) {
    return strstr(value(s, "version"), "MariaDB") == NULL;
}

static void server(const survey *s) {
    tell(s, HF_FACT, "server", "%s %s", is_mysql(s) ? "MySQL" : "MariaDB",
         value(s, "version"));
    if (is_mysql(s))
        tell(s, HF_WARN, "server",
             "holdfast was never run with MySQL, only with MariaDB; a client "
             "that stops in the middle of a request can block a name there "
             "until its connection ends");
    tell(s, HF_WARN, "waking",
         "the server cannot tell a client anything: who waits looks every 1 "
         "to 250 ms, the more rarely the longer it waits");
}

static void durability(const survey *s) {
    if (is(s, "innodb_flush_log_at_trx_commit", "1"))
        tell(s, HF_GOOD, "crash of the server",
             "grants and releases are on disk before they are told");
    else if (is(s, "innodb_flush_log_at_trx_commit", "0"))
        tell(s, HF_WARN, "crash of the server",
             "innodb_flush_log_at_trx_commit is 0: the grants of the last "
             "second may be forgotten while their holders live; tokens still "
             "grow");
    else
        tell(s, HF_WARN, "crash of the host",
             "innodb_flush_log_at_trx_commit is %s: the grants of the last "
             "second may be forgotten while their holders live; tokens still "
             "grow",
             value(s, "innodb_flush_log_at_trx_commit"));
}

static void failover(const survey *s) {
    bool semi = is(s, "rpl_semi_sync_master_enabled", "ON") ||
                is(s, "rpl_semi_sync_source_enabled", "ON");

    if (is(s, "wsrep_on", "ON"))
        tell(s, HF_WARN, "Galera",
             "let all clients name the same node: two nodes grant without "
             "asking each other, and one of the two is told of it only when "
             "it commits");
    else if (semi)
        tell(s, HF_GOOD, "failover",
             "semi-synchronous replication: a replica has every grant, as "
             "long as none is slower than its time-out");
    else if (atoi(number(s, REPLICAS)) > 0)
        tell(s, HF_WARN, "failover",
             "replicas follow asynchronously: one that takes over may not "
             "know the last grants");
    else
        tell(s, HF_FACT, "failover",
             "no replica is seen: one that follows asynchronously may not "
             "know the last grants when it takes over");
}

static void timeouts(const survey *s) {
    double most = atof(value(s, "max_statement_time"));

    if (most > 0)
        tell(s, most < 2 ? HF_WARN : HF_FACT, "max_statement_time",
             "%g s: the server ends a request that waits longer for a row",
             most);
}

/* Leases are durations, so that a difference does no harm to them; the next
 * server's clock decides about the next token. */
static void clocks(const survey *s) {
    int64_t apart = hf__world->wall_us() - atoll(number(s, CLOCK));

    if (apart > SKEW_US || apart < -SKEW_US)
        tell(s, HF_WARN, "clock",
             "the server's differs from ours by %lld s: no lease depends on "
             "it, but tokens stay above earlier ones after a failover only "
             "where the servers' clocks agree",
             (long long)(apart / 1000000));
    else
        tell(s, HF_GOOD, "clock", "the server's agrees with ours");
}

int hf__maria_examine(hf_database *d, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err) {
    hf_maria *m = hf__maria_of(d);
    hf_answers seen = {0};
    survey s = {.m = m, .fn = fn, .arg = arg, .seen = &seen};
    hf_session *session;
    int rc = hf__maria_borrow(&session, m, by, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__maria_ask(session, hf_mariadb_variables, &seen, by, err);
    hf__maria_give_back(session, rc != HF_OK);
    if (rc == HF_OK && seen.n == N_ANSWERS &&
        seen.all[VARIABLES].columns == 2) {
        server(&s);
        durability(&s);
        failover(&s);
        timeouts(&s);
        clocks(&s);
    }
    hf__answers_clear(&seen);
    return rc > 0 ? hf__fail_plain(err, HF_ESTORE) : rc;
}

/* ---- rights ------------------------------------------------------------ */

/* The section with {s} left out; no other parameter stands in it. */
static void write_layout(FILE *f, const char *text) {
    const char *at;

    for (; (at = strstr(text, "{s}")) != NULL; text = at + 3)
        fprintf(f, "%.*s", (int)(at - text), text);
    fprintf(f, "%.*s;", (int)(strlen(text) - 1), text);
}

int hf__maria_rights(hf_database *d, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    const hf_maria *m = hf__maria_of(d);
    const char *database = m->at.database ? m->at.database : "DATABASE";
    char *text = NULL, grants[400];
    FILE *f = hf__memstream(&text);

    (void)by;
    if (!f)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    write_layout(f, hf_mariadb_layout_1);
    if (fclose(f) != 0) {
        hf__free(text);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    fn(arg, &(hf_rule){"mariadb", text,
                       "once, by the owner of the database; not needed where "
                       "the user may create tables itself\n"});
    hf__free(text);
    snprintf(grants, sizeof grants,
             "GRANT SELECT, INSERT, UPDATE, DELETE ON `%.200s`.* TO "
             "'holdfast'@'%%';",
             database);
    fn(arg, &(hf_rule){"mariadb", grants,
                       prefix && *prefix ?
                           "for the user 'holdfast'; a database cannot tell "
                           "names apart: it opens all, not only those that "
                           "begin so\n" :
                           "for the user 'holdfast', created by `CREATE USER "
                           "holdfast IDENTIFIED BY '…'`; opens all names\n"});
    return HF_OK;
}
