/* SPDX-License-Identifier: MIT
 *
 * rights.c - the verb that says which rights a user needs here. */
#include "rights.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "info.h"
#include "redis.h"
#include "reply.h"

int hf__ground_check(const char *prefix, hf_error *err) {
    if (!strchr(prefix, ' '))
        return HF_OK;
    return hf__fail(err, HF_ENAME,
                    "'%.64s': a blank cannot stand in the rule of a user",
                    prefix);
}

/* ---- which commands are known ------------------------------------------ */

/* A word that the server does not know stops it from reading its users.  From
 * 7.0 on it knows members of families, `script|load`, by themselves; before,
 * any word may stand behind the bar. */
static bool is_known(const redisReply *family, const redisReply *whole,
                     bool by_themselves) {
    return family->type != REDIS_REPLY_NIL &&
           (!by_themselves || whole->type != REDIS_REPLY_NIL);
}

static void strike_unknown(hf_ground *g, const redisReply *reply) {
    size_t n = (size_t)g->acl.n;
    bool by_themselves = false;

    if (!hf__reply_has(reply, 2 * n, 0))
        return;
    g->asked = true;
    for (size_t i = 0; i < n; i++)
        if (strchr(g->acl.commands[i], '|') &&
            reply->element[n + i]->type != REDIS_REPLY_NIL)
            by_themselves = true;
    for (size_t i = n; i-- > 0;)
        if (!is_known(reply->element[i], reply->element[n + i], by_themselves))
            hf__acl_strike(&g->acl, (int)i);
}

/* COMMAND INFO of all families, then of all commands. */
void hf__ground_ask(hf_ground *g, hf_node *node, hf_time by) {
    const char *argv[2 + 2 * HF_ACL_COMMANDS] = {"COMMAND", "INFO"};
    char families[HF_ACL_COMMANDS][HF_ACL_COMMAND_SIZE];
    int n = g->acl.n;
    redisReply *reply;
    hf_error err;

    for (int i = 0; i < n; i++) {
        const char *name = g->acl.commands[i];

        snprintf(families[i], sizeof families[i], "%.*s",
                 (int)strcspn(name, "|"), name);
        argv[2 + i] = families[i];
        argv[2 + n + i] = name;
    }
    if (hf__node_ask(node, 2 + 2 * n, argv, &reply, by, &err) != HF_OK)
        return;
    strike_unknown(g, reply);
    freeReplyObject(reply);
}

/* ---- what is used ------------------------------------------------------ */

int hf__ground_see(hf_ground *g, hf_node *node, hf_time by, hf_error *err) {
    const hf_target *target;
    hf_info info = {NULL};
    int rc = hf__info_ask(&info, node, by, err), version;

    if (rc != HF_OK && rc != HF_EFORBIDDEN)
        return rc;
    version = rc == HF_OK ? hf__info_version(&info) : 0;
    if (hf__info_number(&info, "connected_slaves") || node->server.replicas_set)
        g->uses |= HF_ACL_REPLICAS;
    hf__info_clear(&info);
    if (version && version < 600)
        return hf__fail(err, HF_ECANNOT,
                        "%s: Redis has users since 6.0; this server is older",
                        node->server.where);
    if (version && version < 602)
        g->uses &= ~(unsigned)HF_ACL_CHANNELS;
    rc = hf__server_target(&node->server, &target, by, err);
    if (rc == HF_OK && target->address->db)
        g->uses |= HF_ACL_DATABASE;
    return rc;
}

static int survey(hf_ground *g, hf_topology *t, hf_time by, hf_error *err) {
    hf_node *node;
    int rc = HF_OK;

    g->uses = HF_ACL_CHANNELS;
    if (t->slotted)
        g->uses |= HF_ACL_CLUSTER;
    if (!t->steady)
        g->uses |= HF_ACL_REPLICAS;
    if (t->needs.sharded)
        g->uses |= HF_ACL_SHARDED;
    if (t->lock_delay)
        g->uses |= HF_ACL_DELAY;
    for (unsigned i = 0; rc == HF_OK && (node = t->ops->master(t, i)); i++) {
        rc = hf__ground_see(g, node, by, err);
        hf__topology_leave(t, node);
    }
    hf__acl_collect(&g->acl, &t->scripts, NULL, g->uses);
    for (unsigned i = 0; rc == HF_OK && (node = t->ops->master(t, i)); i++) {
        hf__ground_ask(g, node, by);
        hf__topology_leave(t, node);
    }
    return rc;
}

/* ---- saying so --------------------------------------------------------- */

/* What to know about it, for people: lines that are said or not. */
static void explain(FILE *f, const hf_ground *g, const char *prefix) {
    const struct {
        bool is_so;
        const char *text;
    } lines[] = {
        {!*prefix,
         "opens all names, and so all keys: a prefix makes it narrower"},
        {true, "scan is for ls, and tells the names of all keys"},
        {g->uses & HF_ACL_DELAY, "info is for doctor and the lock delay"},
        {g->uses & HF_ACL_VOTES,
         "info is for doctor, and says whether a server may vote; config could "
         "say that it writes down every vote: write durable=1 in the address "
         "instead"},
        {!(g->uses & (HF_ACL_DELAY | HF_ACL_VOTES)), "info is for doctor"},
        {!(g->uses & (HF_ACL_REPLICAS | HF_ACL_VOTES)),
         "there are no replicas to wait for: without wait"},
        {!(g->uses & HF_ACL_CHANNELS),
         "Redis before 6.2 has no rights for channels: the user hears all"},
        {!g->asked,
         "our user may not ask which commands the server knows (COMMAND): one "
         "that it does not know stops it"},
    };

    fprintf(f,
            "a line for the ACL file of every server%s; behind the # goes the "
            "SHA-256 of the password, in hex\n",
            g->uses & HF_ACL_REPLICAS ? ", replicas too" : "");
    if (*prefix)
        fprintf(f,
                "opens the names that begin with '%s', the keys and channels "
                "made of them, and who the clients are\n",
                prefix);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].is_so)
            fprintf(f, "%s\n", lines[i].text);
}

int hf__ground_tell(const hf_ground *g, const char *prefix, hf_rule_fn *fn,
                    void *arg, hf_error *err) {
    char *line = hf__acl_line(&g->acl, prefix, g->uses), *about = NULL;
    FILE *f = line ? hf__memstream(&about) : NULL;
    int rc = HF_OK;

    if (f)
        explain(f, g, prefix);
    if (!f || fclose(f) != 0)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        fn(arg, &(hf_rule){"redis", line, about});
    hf__free(about);
    hf__free(line);
    return rc;
}

static void tell_sentinels(hf_topology *t, hf_rule_fn *fn, void *arg) {
    static const hf_rule rule = {
        "sentinel", HF_ACL_SENTINEL,
        "a line for the ACL file of every sentinel; behind the # goes the "
        "SHA-256 of the password, in hex\n"
        "opens nothing but who the master is and when that changes; name the "
        "user by sentinel_user in the address\n"};

    if (!t->steady && !t->slotted)
        fn(arg, &rule);
}

int hf__redis_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_time by, hf_error *err) {
    hf_topology *t = ((hf_redis *)be)->topology;
    hf_ground *g = hf__calloc(1, sizeof *g);
    int rc =
        g ? hf__ground_check(prefix, err) : hf__fail_plain(err, HF_ENO_MEMORY);

    if (rc == HF_OK)
        rc = survey(g, t, by, err);
    if (rc == HF_OK)
        rc = hf__ground_tell(g, prefix, fn, arg, err);
    if (rc == HF_OK)
        tell_sentinels(t, fn, arg);
    hf__free(g);
    return rc;
}
