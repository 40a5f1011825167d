/* SPDX-License-Identifier: MIT
 *
 * etcd.c - the port to etcd. */
#include "etcd.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../uri.h"
#include "../../world.h"

enum { SESSION_MIN_MS = 1000, FAREWELL_MS = 1000 };

/* An entry that was asked for and not answered may appear for as long as a
 * server keeps a request, which is 7 s, or as it was itself held up. */
enum { SETTLES_MS = 10000 };

/* ---- open -------------------------------------------------------------- */

/* The path, and a slash behind it. */
static int set_prefix(hf_etcd *e, const char *path, hf_error *err) {
    size_t n = path ? strlen(path) : 0;

    if (n > HF_PREFIX_MAX)
        return hf__fail(err, HF_EURI,
                        "the prefix in the store's address is longer than %d "
                        "bytes",
                        HF_PREFIX_MAX);
    if (n)
        snprintf(e->prefix, sizeof e->prefix, "%s%s", path,
                 path[n - 1] == '/' ? "" : "/");
    return HF_OK;
}

static int set_where(hf_etcd *e, const hf_uri *uri, hf_error *err) {
    const char *user = hf__auth_user(e->speaker.auth);
    size_t skip = uri->tls ? strlen("etcds://") : strlen("etcd://");
    FILE *f = hf__memstream(&e->where);

    if (!f)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    fprintf(f, "etcd%s://%s%s", uri->tls ? "s" : "", user ? user : "",
            user ? "@" : "");
    for (size_t i = 0; i < hf__endpoints_count(e->speaker.at); i++)
        fprintf(f, "%s%s", i ? "," : "",
                hf__endpoint_where(e->speaker.at, i) + skip);
    if (uri->path && *uri->path)
        fprintf(f, "/%s", uri->path);
    return fclose(f) == 0 ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

/* Asks for nothing in particular: the address is good, and so are the
 * credentials, although they need not open this very key. */
static int greet(hf_etcd *e, hf_time by, hf_error *err) {
    hf_question q = {.path = HF_RPC_RANGE};
    hf_key key;
    int rc;

    hf__etcd_key_make(&key, e->prefix, "holdfast", "");
    hf__write_range(&q.body, &(hf_range){.key = hf__etcd_key_bytes(&key),
                                         .count_only = true});
    rc = hf__ask(&e->speaker, &q, 1, by, err);
    hf__question_clear(&q);
    return rc == HF_EFORBIDDEN ? HF_OK : rc;
}

static int set_up(hf_etcd *e, const hf_uri *uri, const hf_port_host *host,
                  hf_time by, hf_error *err) {
    int session_ms = host->host->lease_ms;
    int rc = hf__uri_ms(uri, "session", &session_ms, err);

    if (rc == HF_OK && session_ms < SESSION_MIN_MS)
        rc = hf__fail(err, HF_EURI, "session: at least 1s");
    if (rc == HF_OK)
        rc = set_prefix(e, uri->path, err);
    if (rc == HF_OK)
        rc = hf__auth_new(&e->speaker.auth, uri, err);
    if (rc == HF_OK)
        rc = hf__endpoints_new(&e->speaker.at, uri, host->host, err);
    if (rc == HF_OK)
        rc = hf__calls_new(&e->speaker.calls, e->speaker.at, host->host, err);
    if (rc == HF_OK)
        rc = set_where(e, uri, err);
    if (rc == HF_OK)
        rc = greet(e, by, err);
    if (rc == HF_OK)
        rc = hf__streams_new(&e->streams, &e->speaker, host, err);
    if (rc == HF_OK)
        rc = hf__session_new(&e->session, &e->speaker, session_ms,
                             hf__streams_ring, e->streams, err);
    if (rc == HF_OK)
        rc = hf__streams_start(e->streams, e->session, err);
    return rc;
}

static void free_all(hf_etcd *e) {
    hf__streams_free(e->streams);
    hf__session_free(e->session);
    hf__calls_free(e->speaker.calls);
    hf__endpoints_free(e->speaker.at);
    hf__auth_free(e->speaker.auth);
    hf__free(e->where);
    hf__free(e);
}

static int open_port(hf_port **ret, const hf_uri *uri, const hf_port_host *host,
                     hf_time by, hf_error *err) {
    hf_etcd *e = hf__calloc(1, sizeof *e);
    int rc;

    if (!e)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    e->base.ops = &hf__etcd_port;
    e->host = host->host;
    rc = set_up(e, uri, host, by, err);
    if (rc == HF_OK)
        *ret = &e->base;
    else
        free_all(e);
    return rc;
}

/* ---- close ------------------------------------------------------------- */

/* The entries go with the lease; where nobody hears us they go later. */
static void revoke(hf_etcd *e) {
    hf_question q = {.path = HF_RPC_REVOKE, .changes = true};
    int64_t lease = hf__session_end(e->session);
    int ms =
        e->host->timeout_ms < FAREWELL_MS ? e->host->timeout_ms : FAREWELL_MS;
    hf_error err;

    if (!lease)
        return;
    hf__write_lease(&q.body, lease);
    hf__ask(&e->speaker, &q, 1, hf__after_ms(ms), &err);
    hf__question_clear(&q);
}

static void close_port(hf_port *p, bool forked) {
    hf_etcd *e = hf__etcd_of(p);

    if (forked) {
        hf__calls_abandon(e->speaker.calls);
        hf__streams_abandon(e->streams);
        return;
    }
    hf__streams_stop(e->streams);
    revoke(e);
    hf__endpoints_stop(e->speaker.at);
    free_all(e);
}

/* ---- small verbs ------------------------------------------------------- */

static const char *where(const hf_port *p) {
    return ((const hf_etcd *)p)->where;
}

static int check_name(const hf_port *p, const hf_line *line, hf_error *err) {
    (void)p;
    return hf__etcd_key_check(line, err);
}

static int session_ms(hf_port *p) {
    return hf__session_left_ms(hf__etcd_of(p)->session);
}

static uint64_t generation(hf_port *p) {
    return hf__session_generation(hf__etcd_of(p)->session);
}

static hf_time good_until(hf_port *p) {
    return hf__session_good_until(hf__etcd_of(p)->session);
}

static void unwatch(hf_port *p, uint64_t watch) {
    hf__streams_unwatch(hf__etcd_of(p)->streams, watch);
}

const hf_port_ops hf__etcd_port = {
    .settles_ms = SETTLES_MS,
    .open = open_port,
    .close = close_port,
    .where = where,
    .check_name = check_name,
    .session_ms = session_ms,
    .generation = generation,
    .good_until = good_until,
    .enter = hf__etcd_enter,
    .look = hf__etcd_look,
    .leave = hf__etcd_leave,
    .keep_out = hf__etcd_keep_out,
    .check = hf__etcd_check,
    .watch = hf__etcd_watch,
    .unwatch = unwatch,
    .read = hf__etcd_read,
    .write = hf__etcd_write,
    .record = hf__etcd_record,
    .records = hf__etcd_records,
    .names = hf__etcd_names,
    .examine = hf__etcd_examine,
    .rights = hf__etcd_rights,
};
