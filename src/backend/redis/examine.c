/* SPDX-License-Identifier: MIT
 *
 * examine.c - what these servers can promise, in words: each master is asked,
 * and what they have in common is told once.
 *
 * Nothing here differs from one run to the next unless the servers do: no
 * figure is told that only happens to be so. */
#include "examine.h"

#include <stdio.h>
#include <string.h>

#include "../../world.h"
#include "keys.h"
#include "redis.h"
#include "reply.h"

/* ---- the masters ------------------------------------------------------- */

static void topology(hf_survey *s) {
    if (s->topology->slotted)
        hf__find(&s->found, "", HF_FACT, "topology",
                 "a cluster of %u master%s; each has its share of the names",
                 s->masters, s->masters == 1 ? "" : "s");
    else if (s->topology->steady)
        hf__find(&s->found, "", HF_FACT, "topology", "one server");
    else
        hf__find(&s->found, "", HF_FACT, "topology",
                 "one master, found and followed through Sentinel");
}

/* Those that the address does not name were met a moment ago, and are asked
 * just now. */
static void await_sentinels(hf_topology *t, hf_referees *r, hf_time by) {
    by = hf__sooner(by, hf__now() + HF_SECOND / 2);
    do
        t->ops->referees(t, r);
    while (r->n > r->reached && hf__now() < by &&
           hf__world->poll(NULL, 0, hf__now() + 10 * HF_MS) == 0);
}

/* From the word of a sentinel to the first grant of another master it takes a
 * second and a little. */
static void sentinels(hf_survey *s, hf_time by) {
    hf_referees r = {0};

    if (s->topology->ops->referees)
        await_sentinels(s->topology, &r, by);
    if (!r.n)
        return;
    s->detect_ms = r.down_after_ms;
    s->settle_ms = 1200;
    s->by = "down-after-milliseconds";
    if (r.n < 3)
        hf__find(&s->found, "", HF_WARN, "sentinels",
                 "%d: when one is away no master can be replaced; have three, "
                 "on hosts of their own",
                 r.n);
    else if (r.reached < r.n)
        hf__find(&s->found, "", HF_WARN, "sentinels",
                 "%d, of which %d answer us", r.n, r.reached);
    else
        hf__find(&s->found, "", HF_GOOD, "sentinels",
                 "%d, of which %d must agree that the master is gone", r.n,
                 r.quorum);
}

/* "10.0.0.1:6379" of "redis://10.0.0.1:6379/0" */
static void short_name(char *buf, size_t size, const char *where) {
    const char *at = strstr(where, "://");

    at = at ? at + 3 : where;
    if (strchr(at, '@'))
        at = strchr(at, '@') + 1;
    snprintf(buf, size, "%.*s", (int)strcspn(at, "/?"), at);
}

/* Each in its share of the time, so that one that is silent leaves some to the
 * others.  OK if any answers. */
static int look_at_all(hf_survey *s, hf_time by, hf_error *err) {
    hf_topology *t = s->topology;
    hf_node *node;

    for (; (node = t->ops->master(t, s->masters)); s->masters++)
        hf__topology_leave(t, node);
    topology(s);
    sentinels(s, by);
    for (unsigned i = 0; (node = t->ops->master(t, i)); i++) {
        unsigned left = s->masters > i ? s->masters - i : 1;
        char where[112] = "";

        if (s->masters > 1)
            short_name(where, sizeof where, node->server.where);
        hf__survey_master(s, node, where, hf__now() + (by - hf__now()) / left,
                          err);
        hf__topology_leave(t, node);
    }
    return s->reached ? HF_OK : err->code;
}

/* ---- messages ---------------------------------------------------------- */

static redisReply *subscribe(hf_survey *s, hf_time by) {
    hf_topology *t = s->topology;
    char channel[HF_KEY_SIZE];
    redisReply *reply = NULL;
    hf_conn *conn = NULL;
    hf_pipe pipe = {0};
    hf_node *node;
    hf_error err;
    int rc;

    hf__key_channel(channel, "holdfast:probe");
    node = t->ops->locate(t, hf__topology_slot(t, channel));
    HF_PIPE(&pipe, t->needs.sharded ? "SSUBSCRIBE" : "SUBSCRIBE", channel);
    rc = hf__server_dial(&node->server, &conn, by, &err);
    if (rc == HF_OK && !pipe.failed)
        rc = hf__conn_ask(conn, pipe.bytes, pipe.len, &reply, 1, by, &err);
    hf__pipe_free(&pipe);
    hf__conn_close(conn);
    hf__topology_leave(t, node);
    return rc == HF_OK ? reply : NULL;
}

/* Tries it out, on a connection of its own.  A user may have rights for the
 * channels of some names only: that is told by the channel being refused, not
 * the command. */
static void messages(hf_survey *s, hf_time by) {
    redisReply *reply = subscribe(s, by);
    int code = reply ? hf__reply_code(reply) : HF_EDOWN;
    const char *how = s->topology->needs.sharded ?
                          "a release wakes those who wait, by messages that "
                          "stay in the shard" :
                          "a release wakes those who wait";

    if (code == HF_OK)
        hf__find(&s->found, "", HF_GOOD, "messages", "%s", how);
    else if (code == HF_EFORBIDDEN && strstr(reply->str, "channel"))
        hf__find(&s->found, "", HF_GOOD, "messages",
                 "%s, for the names whose channels our user may hear", how);
    else if (code == HF_EFORBIDDEN)
        hf__find(&s->found, "", HF_WARN, "messages",
                 "our user may not subscribe: those who wait look again every "
                 "few seconds; see holdfast doctor --acl");
    else
        hf__find(&s->found, "", HF_WARN, "messages",
                 "could not be tried out; those who wait look again every few "
                 "seconds");
    if (reply)
        freeReplyObject(reply);
}

int hf__redis_examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                      hf_error *err) {
    hf_survey s = {.topology = ((hf_redis *)be)->topology, .knows_wait = true};
    int rc = look_at_all(&s, by, err);

    if (rc == HF_OK) {
        messages(&s, by);
        hf__survey_promise(&s);
        rc = hf__findings_tell(&s.found, fn, arg, err);
    }
    hf__findings_clear(&s.found);
    return rc;
}
