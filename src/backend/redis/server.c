/* SPDX-License-Identifier: MIT
 *
 * server.c - one Redis server as its client knows it. */
#include "server.h"

#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "reply.h"

int hf__server_init(hf_server *s, const hf_uri *uri, const hf_host *host,
                    hf_error *err) {
    int rc;

    memset(s, 0, sizeof *s);
    s->host = host;
    hf__server_clock_init(&s->clock);
    rc = hf__address_new(&s->address, uri, err);
    if (rc == HF_OK && s->address->tls)
        rc = hf__tls_new(&s->tls, s->address, err);
    if (rc == HF_OK)
        rc = hf__hash_scripts(&s->hashes, err);
    if (rc != HF_OK)
        hf__server_clear(s);
    return rc;
}

void hf__server_clear(hf_server *s) {
    hf__tls_free(s->tls);
    hf__address_free(s->address);
    pthread_mutex_destroy(&s->clock.mu);
}

int hf__server_dial(hf_server *s, hf_conn **ret, hf_time by, hf_error *err) {
    return hf__conn_open(ret, s->address, s->tls, by, err);
}

/* A user who may not load scripts may still run them, as text. */
static int check_loaded(const hf_server *s, redisReply **replies, size_t n,
                        hf_error *err) {
    for (size_t i = 0; i < n; i++)
        if (replies[i]->type == REDIS_REPLY_ERROR &&
            hf__reply_code(replies[i]) != HF_EFORBIDDEN)
            return hf__reply_fail(err, replies[i], s->address->where, NULL);
    return HF_OK;
}

static int load_scripts(hf_server *s, hf_conn *conn, hf_time by,
                        hf_error *err) {
    enum { N = HF_N_SCRIPTS + 1 };
    redisReply *replies[N];
    hf_time asked = hf__now();
    hf_pipe p = {0};
    int rc;

    HF_PIPE(&p, "TIME");
    for (int i = 0; i < HF_N_SCRIPTS; i++)
        HF_PIPE(&p, "SCRIPT", "LOAD", hf__script_text[i]);
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = hf__conn_ask(conn, p.bytes, p.len, replies, N, by, err);
    hf__pipe_free(&p);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    hf__server_clock_sample(&s->clock, replies[0], asked, conn->heard);
    rc = check_loaded(s, replies, N, err);
    for (int i = 0; i < N; i++)
        freeReplyObject(replies[i]);
    return rc;
}

int hf__server_greet(hf_server *s, hf_conn **ret, hf_time by, hf_error *err) {
    hf_conn *conn;
    int rc = hf__server_dial(s, &conn, by, err);

    if (rc != HF_OK)
        return rc;
    rc = load_scripts(s, conn, by, err);
    if (rc == HF_OK)
        *ret = conn;
    else
        hf__conn_close(conn);
    return rc;
}
