/* SPDX-License-Identifier: MIT
 *
 * cluster_nodes.c - the servers of a cluster that we have to do with.
 *
 * Who enters counts itself first and looks for the node then; who takes a node
 * down takes it out of its seat first and looks at the count then.  So either
 * the one sees that nobody is there, or the other that somebody is. */
#include "cluster_nodes.h"

#include <string.h>

#include "../../../err.h"
#include "../../../world.h"

static const hf_time IDLE = 10 * HF_SECOND;  /* then it is taken down      */
static const hf_time ANSWER = 500 * HF_MS;   /* for what is under way      */
static const hf_time LOOK_AGAIN = HF_SECOND; /* while somebody is in there */

/* ---- by number --------------------------------------------------------- */

hf_node *hf__nodes_enter(hf_nodes *ns, unsigned number) {
    hf_seat *s = &ns->seats[number];
    hf_node *node;

    atomic_fetch_add(&s->users, 1);
    node = atomic_load(&s->node);
    if (!node)
        atomic_fetch_sub(&s->users, 1);
    return node;
}

void hf__nodes_enter_again(hf_nodes *ns, hf_node *node) {
    atomic_fetch_add(&ns->seats[node->number].users, 1);
}

void hf__nodes_leave(hf_nodes *ns, const hf_node *node) {
    atomic_fetch_sub(&ns->seats[node->number].users, 1);
}

/* ---- by address -------------------------------------------------------- */

static bool is_at(const hf_node *node, const char *host, int port) {
    const hf_address *a = node->server.target.address;

    return a->port == port && strcmp(a->host, host) == 0;
}

/* mu.  -1: there is none. */
static int find(hf_nodes *ns, const char *host, int port) {
    unsigned n = atomic_load(&ns->n);

    for (unsigned i = 0; i < n; i++) {
        hf_node *node = atomic_load(&ns->seats[i].node);

        if (node && is_at(node, host, port))
            return (int)i;
    }
    return -1;
}

/* mu.  -1: all are taken. */
static int free_seat(hf_nodes *ns) {
    unsigned n = atomic_load(&ns->n);

    for (unsigned i = 0; i < n; i++)
        if (!atomic_load(&ns->seats[i].node) && !ns->seats[i].leaving)
            return (int)i;
    return n < HF_CLUSTER_MAX ? (int)n : -1;
}

/* mu. */
static int sit_down(hf_nodes *ns, const char *host, int port, hf_error *err) {
    int number = free_seat(ns), rc;
    hf_address *address = NULL;
    hf_node *node = NULL;

    if (number < 0)
        return hf__fail(err, HF_ECANNOT, "the cluster has more than %d servers",
                        HF_CLUSTER_MAX);
    rc = hf__address_at(&address, ns->like, host, port, err);
    if (rc == HF_OK)
        rc = hf__node_new(&node, address, ns->needs, err);
    if (rc != HF_OK)
        return rc;
    node->number = (unsigned)number;
    ns->seats[number].had_slots = false;
    atomic_store(&ns->seats[number].slots, 0);
    atomic_store(&ns->seats[number].node, node);
    if ((unsigned)number == atomic_load(&ns->n))
        atomic_store(&ns->n, (unsigned)number + 1);
    return number;
}

int hf__nodes_at(hf_nodes *ns, const char *host, int port, hf_error *err) {
    int number;

    pthread_mutex_lock(&ns->mu);
    number = find(ns, host, port);
    if (number < 0)
        number = sit_down(ns, host, port, err);
    if (number >= 0)
        ns->seats[number].idle_at = hf__now();
    pthread_mutex_unlock(&ns->mu);
    return number;
}

/* ---- taking down ------------------------------------------------------- */

/* mu.  What is to be done about a seat, and when to look at it again. */
typedef struct verdict {
    hf_node *cut;   /* what is under way there is not worth waiting for */
    hf_node *empty; /* to be taken down                                 */
    hf_time again;
} verdict;

/* mu.  Who lost its slots may be dead: what is still asked there after a while
 * is better asked again elsewhere. */
static bool is_given_up(hf_seat *s, hf_time idle) {
    bool given_up = s->had_slots && idle >= ANSWER && atomic_load(&s->users);

    if (given_up)
        s->had_slots = false;
    return given_up;
}

/* mu. */
static verdict look_at(hf_seat *s, hf_time now) {
    hf_node *node = atomic_load(&s->node);
    verdict v = {.again = HF_NEVER};
    hf_time idle = now - s->idle_at;

    if (node && atomic_load(&s->slots)) {
        s->had_slots = true;
        s->idle_at = now;
    } else if (node && idle < IDLE) {
        if (is_given_up(s, idle))
            v.cut = node;
        v.again = s->had_slots ? now + ANSWER : s->idle_at + IDLE;
    } else if (node) {
        if (!atomic_load(&s->users) && !hf__engine_has_posts(node->engine)) {
            s->leaving = node;
            atomic_store(&s->node, NULL);
        }
        v.again = now + LOOK_AGAIN;
    }
    if (s->leaving && !atomic_load(&s->users))
        v.empty = s->leaving;
    else if (s->leaving)
        v.again = now + LOOK_AGAIN;
    return v;
}

/* Only we take nodes down, so that they are there without the lock. */
hf_time hf__nodes_sweep(hf_nodes *ns) {
    hf_time again = HF_NEVER;

    for (unsigned i = 0; i < atomic_load(&ns->n); i++) {
        hf_seat *s = &ns->seats[i];
        verdict v;

        pthread_mutex_lock(&ns->mu);
        v = look_at(s, hf__now());
        pthread_mutex_unlock(&ns->mu);
        again = hf__sooner(again, v.again);
        if (v.cut)
            hf__engine_cut(v.cut->engine);
        if (!v.empty)
            continue;
        hf__node_free(v.empty, false);
        pthread_mutex_lock(&ns->mu);
        s->leaving = NULL;
        pthread_mutex_unlock(&ns->mu);
    }
    return again;
}

/* ---- life -------------------------------------------------------------- */

void hf__nodes_init(hf_nodes *ns, const hf_node_needs *needs) {
    ns->needs = needs;
    pthread_mutex_init(&ns->mu, NULL);
}

/* What was posted to one node may have to go by another: so all of that is
 * brought to an end before the first is taken down. */
void hf__nodes_clear(hf_nodes *ns, bool forked) {
    unsigned n = atomic_load(&ns->n);

    for (unsigned i = 0; !forked && i < n; i++)
        if (atomic_load(&ns->seats[i].node))
            hf__engine_settle(atomic_load(&ns->seats[i].node)->engine);
    for (unsigned i = 0; i < n; i++) {
        hf__node_free(atomic_load(&ns->seats[i].node), forked);
        hf__node_free(ns->seats[i].leaving, forked);
    }
    if (!forked)
        pthread_mutex_destroy(&ns->mu);
}
