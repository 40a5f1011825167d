/* SPDX-License-Identifier: MIT
 *
 * sentinel.c - three servers, three sentinels, and the waiting for them.
 *
 * A sentinel looks at the world every few seconds; ours are told to do so many
 * times a second, so that they are ready in half a second and fail over in two.
 * What they know of a replica is good for three info-periods, and for five
 * ping-periods when the master is down, when it is refreshed once a second: so
 * these are not shorter.  One that was kept from
 * running for two seconds would do nothing for half a minute; ours put up with
 * more. */
#include "sentinel.h"

#include "dir.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEVER_MS = 60000, ARGS_MAX = 40 };

struct hf_test_ensemble {
    hf_test_ensemble_options options;
    hf_test_server *servers[HF_TEST_SERVERS];
    hf_test_server *sentinels[HF_TEST_SENTINELS];
    hf_test_proxy *proxy;
    int ports[HF_TEST_SERVERS]; /* by which the servers know each other */
    bool by_hand;               /* a failover was asked for             */
    char uri[192];
    /* Of those above, who may be started again. */
    const char *args[HF_TEST_SERVERS][ARGS_MAX];
    char port[8], config[HF_TEST_SENTINELS][160];
};

static void append(const char **args, const char *const *more) {
    int n = 0;
    while (args[n] != NULL)
        n++;
    for (; more != NULL && *more != NULL; more++) {
        assert_true(n < ARGS_MAX - 1);
        args[n++] = *more;
    }
}

#define APPEND(args, ...) append(args, (const char *const[]){__VA_ARGS__, NULL})

/* ---- the servers ------------------------------------------------------- */

static void start_server(hf_test_ensemble *e, int i) {
    const hf_test_ensemble_options *o = &e->options;
    const char **args = e->args[i];

    APPEND(args, "--repl-diskless-sync-delay", "0",
           "--repl-ping-replica-period", "1");
    if (o->password != NULL)
        APPEND(args, "--masterauth", o->password);
    if (o->tls)
        APPEND(args, "--tls-replication", "yes");
    snprintf(e->port, sizeof e->port, "%d", e->ports[0]);
    if (i > 0)
        APPEND(args, "--replicaof", "127.0.0.1", e->port);
    append(args, o->args);
    if (i == 1)
        append(args, o->first_args);
    e->servers[i] = hf_test_server_start(
        &(hf_test_server_options){.password = o->password,
                                  .tls_cert = o->tls ? o->tls_cert : NULL,
                                  .args = args});
    e->ports[i] = o->tls ? hf_test_server_tls_port(e->servers[i]) :
                           hf_test_server_port(e->servers[i]);
}

static void start_servers(hf_test_ensemble *e) {
    start_server(e, 0);
    if (e->options.proxied) {
        e->proxy = hf_test_proxy_start(e->ports[0]);
        e->ports[0] = hf_test_proxy_port(e->proxy);
    }
    for (int i = 1; i < HF_TEST_SERVERS; i++)
        start_server(e, i);
}

static bool has_mark(hf_test_ensemble *e, int i, const char *mark) {
    return strcmp(hf_test_server_ask(e->servers[i], "GET in-step"), mark) == 0;
}

static int online(hf_test_server *master) {
    const char *at = hf_test_server_ask(master, "INFO replication");
    int n = 0;
    for (; (at = strstr(at, "state=online")) != NULL; at++)
        n++;
    return n;
}

/* A mark made before they were online may have come with the first copy, and
 * tells nothing of what comes after it. */
void hf_test_ensemble_sync(hf_test_ensemble *e, int i) {
    char mark[32];
    hf_test_eventually(online(e->servers[i]) == HF_TEST_SERVERS - 1,
                       HF_TEST_LONG);
    snprintf(mark, sizeof mark, "%lld", (long long)hf_test_now_ms());
    hf_test_eventually(
        strcmp(hf_test_server_ask(e->servers[i], "SET in-step %s", mark),
               "OK") == 0,
        HF_TEST_LONG);
    for (int j = 0; j < HF_TEST_SERVERS; j++)
        if (j != i)
            hf_test_eventually(has_mark(e, j, mark), HF_TEST_LONG);
    hf_test_server_ask(e->servers[i], "DEL in-step");
}

/* ---- the sentinels ----------------------------------------------------- */

/* Each writes to its own file. */
static const char *write_config(hf_test_ensemble *e, int i) {
    const hf_test_ensemble_options *o = &e->options;
    hf_test_fresh_path(e->config[i], sizeof e->config[i], "sentinel.conf");
    FILE *f = fopen(e->config[i], "we");
    assert_non_null(f);
    fprintf(f,
            "sentinel monitor mymaster 127.0.0.1 %d 2\n"
            "sentinel down-after-milliseconds mymaster %d\n"
            "sentinel failover-timeout mymaster 3000\n"
            "sentinel parallel-syncs mymaster 2\n",
            e->ports[0], o->down_after_ms != 0 ? o->down_after_ms : NEVER_MS);
    if (o->password != NULL)
        fprintf(f, "sentinel auth-pass mymaster %s\n", o->password);
    if (o->sentinel_password != NULL)
        fprintf(f, "sentinel sentinel-pass %s\n", o->sentinel_password);
    if (o->tls)
        fprintf(f, "tls-replication yes\n");
    fclose(f);
    return e->config[i];
}

static void start_sentinels(hf_test_ensemble *e) {
    const hf_test_ensemble_options *o = &e->options;
    static const char *const args[] = {"--sentinel", NULL};
    for (int i = 0; i < HF_TEST_SENTINELS; i++) {
        e->sentinels[i] = hf_test_server_start(
            &(hf_test_server_options){.password = o->sentinel_password,
                                      .tls_cert = o->tls_cert,
                                      .config = write_config(e, i),
                                      .args = args});
        hf_test_server_ask(e->sentinels[i],
                           "SENTINEL DEBUG info-period 400 ask-period 100 "
                           "publish-period 200 ping-period 300 "
                           "tilt-trigger 15000 tilt-period 1000");
    }
}

static void write_uri(hf_test_ensemble *e) {
    int at = snprintf(e->uri, sizeof e->uri, "redis%s+sentinel://",
                      e->options.tls ? "s" : "");
    for (int i = 0; i < HF_TEST_SENTINELS; i++) {
        const hf_test_server *s = e->sentinels[i];
        at +=
            snprintf(e->uri + at, sizeof e->uri - (size_t)at, "%s127.0.0.1:%d",
                     i > 0 ? "," : "",
                     e->options.tls_cert != NULL ? hf_test_server_tls_port(s) :
                                                   hf_test_server_port(s));
    }
    snprintf(e->uri + at, sizeof e->uri - (size_t)at, "/mymaster");
}

static long field(hf_test_server *sentinel, const char *name) {
    char line[64];
    snprintf(line, sizeof line, "\n%s\n", name);
    const char *text = hf_test_server_ask(sentinel, "SENTINEL MASTER mymaster");
    const char *at = strstr(text, line);
    return at != NULL ? strtol(at + strlen(line), NULL, 10) : -1;
}

static bool knows_all(hf_test_server *sentinel) {
    return field(sentinel, "num-slaves") == HF_TEST_SERVERS - 1 &&
           field(sentinel, "num-other-sentinels") == HF_TEST_SENTINELS - 1;
}

/* ---- life -------------------------------------------------------------- */

/* Starts everything, and waits for nothing. */
static hf_test_ensemble *launch(const hf_test_ensemble_options *options) {
    hf_test_ensemble *e = calloc(1, sizeof *e);
    assert_non_null(e);
    if (options != NULL)
        e->options = *options;
    start_servers(e);
    if (!e->options.unwatched) {
        start_sentinels(e);
        write_uri(e);
    }
    return e;
}

/* Who has not heard of a failover within four of these periods makes the server
 * that was promoted a replica again: on a busy machine that must take longer
 * than the news. */
static void speak_less(hf_test_server *sentinel) {
    hf_test_server_ask(sentinel, "SENTINEL DEBUG publish-period 500");
}

static void settle(hf_test_ensemble *e) {
    hf_test_ensemble_sync(e, 0);
    for (int i = 0; i < HF_TEST_SENTINELS && !e->options.unwatched; i++)
        hf_test_eventually(knows_all(e->sentinels[i]), HF_TEST_LONG);
    for (int i = 0; i < HF_TEST_SENTINELS && !e->options.unwatched; i++)
        speak_less(e->sentinels[i]);
}

hf_test_ensemble *
hf_test_ensemble_start(const hf_test_ensemble_options *options) {
    hf_test_ensemble *e = launch(options);
    settle(e);
    return e;
}

void hf_test_ensemble_stop(hf_test_ensemble *e) {
    if (e == NULL)
        return;
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        hf_test_server_stop(e->sentinels[i]);
    for (int i = 0; i < HF_TEST_SERVERS; i++)
        hf_test_server_stop(e->servers[i]);
    hf_test_proxy_stop(e->proxy);
    free(e);
}

const char *hf_test_ensemble_uri(const hf_test_ensemble *e) {
    return e->uri;
}

hf_test_server *hf_test_ensemble_server(hf_test_ensemble *e, int i) {
    return e->servers[i];
}

hf_test_server *hf_test_ensemble_sentinel(hf_test_ensemble *e, int i) {
    return e->sentinels[i];
}

hf_test_proxy *hf_test_ensemble_proxy(hf_test_ensemble *e) {
    return e->proxy;
}

/* ---- failing over ------------------------------------------------------ */

static int named_by(hf_test_ensemble *e, int sentinel) {
    const char *text = hf_test_server_ask(
        e->sentinels[sentinel], "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    const char *port = strchr(text, '\n');
    for (int i = 0; port != NULL && i < HF_TEST_SERVERS; i++)
        if (strtol(port, NULL, 10) == e->ports[i])
            return i;
    return -1;
}

int hf_test_ensemble_master(hf_test_ensemble *e) {
    int master = named_by(e, 0);
    for (int i = 1; i < HF_TEST_SENTINELS; i++)
        if (named_by(e, i) != master)
            return -1;
    return master;
}

static bool is_master(hf_test_server *server) {
    return strncmp(hf_test_server_ask(server, "ROLE"), "master", 6) == 0;
}

/* One that was asked for is refused while they get to know the replicas, and
 * given up when they lose sight of them; so it is asked for again. */
static void ask_again(hf_test_ensemble *e, int i) {
    if (e->by_hand && named_by(e, 0) == i)
        hf_test_server_ask(e->sentinels[0], "SENTINEL FAILOVER mymaster");
}

static bool is_replaced(hf_test_ensemble *e, int i, int *now) {
    *now = hf_test_ensemble_master(e);
    if (*now == i)
        ask_again(e, i);
    return *now >= 0 && *now != i && is_master(e->servers[*now]);
}

int hf_test_ensemble_await_failover(hf_test_ensemble *e, int i) {
    int now = -1;
    hf_test_eventually(is_replaced(e, i, &now), HF_TEST_LONG);
    e->by_hand = false;
    return now;
}

void hf_test_ensemble_fail_over(hf_test_ensemble *e) {
    e->by_hand = true;
    hf_test_server_ask(e->sentinels[0], "SENTINEL FAILOVER mymaster");
}

/* ---- to be lent -------------------------------------------------------- */

static void *start_set(hf_test_set *ret) {
    hf_test_ensemble *e = launch(NULL);
    snprintf(ret->uri, sizeof ret->uri, "%s", e->uri);
    ret->ports[0] = e->ports[0];
    ret->n_ports = 1;
    return e;
}

/* Who borrows it wants no failover, however busy the machine is. */
static void await_set(void *servers) {
    hf_test_ensemble *e = servers;
    settle(e);
    for (int i = 0; i < HF_TEST_SENTINELS; i++)
        hf_test_server_ask(e->sentinels[i],
                           "SENTINEL SET mymaster down-after-milliseconds "
                           "15000");
}

static void stop_set(void *servers) {
    hf_test_ensemble_stop(servers);
}

static bool empty_set(const hf_test_set *set) {
    return hf_test_flush(set, set->n_ports);
}

const hf_test_sort hf_test_sentinel_sort = {
    .name = "sentinel",
    .missing = hf_test_redis_missing,
    .start = start_set,
    .await = await_set,
    .stop = stop_set,
    .empty = empty_set,
};
