/* SPDX-License-Identifier: MIT
 *
 * server.c - one Redis server as its client knows it. */
#include "server.h"

#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "reply.h"

/* ---- life -------------------------------------------------------------- */

int hf__target_init(hf_target *t, hf_address *address, hf_error *err) {
    int rc = HF_OK;

    *t = (hf_target){.address = address};
    if (address->tls)
        rc = hf__address_tls(&t->tls, address, err);
    if (rc != HF_OK)
        hf__target_clear(t);
    return rc;
}

void hf__target_clear(hf_target *t) {
    hf__tls_free(t->tls);
    hf__address_free(t->address);
    *t = (hf_target){0};
}

int hf__server_init(hf_server *s, hf_address *address,
                    const hf_scripts *scripts, const hf_host *host,
                    hf_error *err) {
    int rc;

    memset(s, 0, sizeof *s);
    s->host = host;
    s->scripts = scripts;
    hf__server_clock_init(&s->clock);
    if (!address)
        return HF_OK;
    rc = hf__target_init(&s->target, address, err);
    if (rc == HF_OK)
        s->where = address->where;
    else
        hf__server_clear(s);
    return rc;
}

void hf__server_clear(hf_server *s) {
    hf__target_clear(&s->target);
    pthread_mutex_destroy(&s->clock.mu);
}

/* ---- replicas ---------------------------------------------------------- */

void hf__server_saw_replicas(hf_server *s, int n) {
    int most = atomic_load(&s->replicas);

    while (n > most && !atomic_compare_exchange_weak(&s->replicas, &most, n))
        ;
}

static bool is_master(const redisReply *reply) {
    return hf__reply_has(reply, 1, 0) && reply->element[0]->str &&
           strcmp(reply->element[0]->str, "master") == 0;
}

void hf__server_saw_role(hf_server *s, const redisReply *reply) {
    if (is_master(reply) && hf__reply_has(reply, 3, 0))
        hf__server_saw_replicas(s, (int)reply->element[2]->elements);
}

/* Those that are away count: a master that lost them may be about to lose its
 * role as well.  Where none was ever seen, one must come: whoever asks for a
 * confirmation does not get a lock that nobody confirmed. */
int hf__server_quorum(const hf_server *s, int policy) {
    int known = s->replicas_set ? s->replicas_set : atomic_load(&s->replicas);

    if (known == 0)
        known = 1;
    return policy == HF_ALL      ? known :
           policy == HF_MAJORITY ? (known + 1) / 2 :
                                   policy;
}

/* ---- connecting -------------------------------------------------------- */

/* A server that is not the master, or not any more, is never spoken to where
 * the master can change.  One that will not say is believed. */
static int check_role(hf_server *s, const hf_conn *conn,
                      const redisReply *reply, hf_error *err) {
    hf__server_saw_role(s, reply);
    if (!s->find || is_master(reply) || !hf__reply_has(reply, 1, 0) ||
        !reply->element[0]->str)
        return HF_OK;
    return hf__fail(err, HF_EREAD_ONLY, "%s is not the master (it says: %.32s)",
                    conn->address->where, reply->element[0]->str);
}

static int ask_role(hf_server *s, hf_conn *conn, hf_time by, hf_error *err) {
    redisReply *reply;
    hf_pipe p = {0};
    int rc;

    HF_PIPE(&p, "ROLE");
    rc = p.failed ? hf__fail_plain(err, HF_ENO_MEMORY) :
                    hf__conn_ask(conn, p.bytes, p.len, &reply, 1, by, err);
    hf__pipe_free(&p);
    if (rc != HF_OK)
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    rc = check_role(s, conn, reply, err);
    freeReplyObject(reply);
    return rc;
}

int hf__server_target(hf_server *s, const hf_target **ret, hf_time by,
                      hf_error *err) {
    *ret = &s->target;
    return s->find ? s->find(s->find_arg, ret, by, err) : HF_OK;
}

int hf__server_dial(hf_server *s, hf_conn **ret, hf_time by, hf_error *err) {
    const hf_target *target;
    int rc = hf__server_target(s, &target, by, err);

    if (rc == HF_OK)
        rc = hf__conn_open(ret, target->address, target->tls, by, err);
    if (rc == HF_OK && s->find)
        rc = ask_role(s, *ret, by, err);
    if (rc != HF_OK && *ret) {
        hf__conn_close(*ret);
        *ret = NULL;
    }
    if (rc == HF_OK)
        hf__log_connected(s->host, target->address->where);
    else
        hf__log_unreached(s->host, &s->pace, target->address->where, err);
    return rc;
}

/* A user who may not load scripts may still run them, as text. */
static int check_loaded(const hf_server *s, redisReply **replies, size_t n,
                        hf_error *err) {
    for (size_t i = 0; i < n; i++)
        if (replies[i]->type == REDIS_REPLY_ERROR &&
            hf__reply_code(replies[i]) != HF_EFORBIDDEN)
            return hf__reply_fail(err, replies[i], s->where, NULL);
    return HF_OK;
}

static void free_replies(redisReply **replies, size_t n) {
    for (size_t i = 0; i < n; i++)
        freeReplyObject(replies[i]);
}

/* Sends what is in the pipe, which it frees.  "Doubt" about a greeting is a
 * connection that did not come about. */
static int send_greeting(hf_conn *conn, hf_pipe *p, redisReply **replies,
                         hf_time by, hf_error *err) {
    int rc = p->failed ?
                 hf__fail_plain(err, HF_ENO_MEMORY) :
                 hf__conn_ask(conn, p->bytes, p->len, replies, p->n, by, err);

    hf__pipe_free(p);
    return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
}

static int load(hf_server *s, hf_conn *conn, const char *const *texts, size_t n,
                hf_time by, hf_error *err) {
    redisReply *replies[HF_N_SCRIPTS];
    hf_pipe p = {0};
    int rc;

    for (size_t i = 0; i < n; i++)
        HF_PIPE(&p, "SCRIPT", "LOAD", texts[i]);
    rc = send_greeting(conn, &p, replies, by, err);
    if (rc != HF_OK)
        return rc;
    rc = check_loaded(s, replies, n, err);
    free_replies(replies, n);
    return rc;
}

/* The mark says that all are there, and is set when they are: a server that has
 * just read its data may refuse the first of them and take the rest. */
static int load_scripts(hf_server *s, hf_conn *conn, hf_time by,
                        hf_error *err) {
    const char *texts[HF_N_SCRIPTS], *mark = s->scripts->mark;
    int rc;

    for (int i = 0; i < HF_N_SCRIPTS; i++)
        texts[i] = s->scripts->text[i];
    rc = load(s, conn, texts, HF_N_SCRIPTS, by, err);
    return rc == HF_OK ? load(s, conn, &mark, 1, by, err) : rc;
}

/* Most often the scripts are known already. */
static int get_acquainted(hf_server *s, hf_conn *conn, bool *known, hf_time by,
                          hf_error *err) {
    enum { TIME, ROLE, MARK, N };
    redisReply *replies[N];
    hf_time asked = hf__now();
    hf_pipe p = {0};
    int rc;

    HF_PIPE(&p, "TIME");
    HF_PIPE(&p, "ROLE");
    HF_PIPE(&p, "EVALSHA", s->scripts->mark_hash, "0");
    rc = send_greeting(conn, &p, replies, by, err);
    if (rc != HF_OK)
        return rc;
    hf__server_clock_sample(&s->clock, replies[TIME], asked, conn->heard);
    rc = check_role(s, conn, replies[ROLE], err);
    *known = replies[MARK]->type != REDIS_REPLY_ERROR;
    free_replies(replies, N);
    return rc;
}

int hf__server_greet(hf_server *s, hf_conn **ret, hf_time by, hf_error *err) {
    hf_conn *conn = NULL;
    bool known = false;
    int rc = hf__server_dial(s, &conn, by, err);

    if (rc != HF_OK)
        return rc;
    rc = get_acquainted(s, conn, &known, by, err);
    if (rc == HF_OK && !known)
        rc = load_scripts(s, conn, by, err);
    if (rc == HF_OK)
        *ret = conn;
    else
        hf__conn_close(conn);
    return rc;
}
