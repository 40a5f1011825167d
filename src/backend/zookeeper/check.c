/* SPDX-License-Identifier: MIT
 *
 * check.c - whether entries are still there, and still ours.
 *
 * The sync goes to the leader, who answers only for sessions that live; what
 * follows it in the round is not older.  The owner of a node is compared too:
 * one of our name may be what a session left that is about to be removed. */
#include "../../err.h"
#include "zookeeper.h"

/* The answers from the i-th on are about the nodes of one key. */
static int verdict(const hf_round *r, size_t i, size_t nodes, hf_error *err) {
    for (size_t end = i + nodes; i < end; i++) {
        const hf_answer *a = hf__round_nth(r, i);

        if (a->rc == ZNONODE)
            return HF_EFREE;
        if (a->rc != ZOK)
            return hf__zk_refusal(a->rc, "an entry", err);
        if (a->stat.ephemeralOwner != hf__round_session(r))
            return HF_EFREE;
    }
    return HF_OK;
}

static size_t count_nodes(const char *const *keys, size_t n) {
    size_t nodes = 0;

    for (size_t i = 0; i < n; i++)
        nodes += hf__zk_key_nodes(keys[i]);
    return nodes;
}

static void ask(hf_round *r, const char *const *keys, size_t n) {
    char path[HF_ZNODE_SIZE];

    hf__round_sync(r);
    for (size_t i = 0; i < n; i++)
        for (size_t node = 0; node < hf__zk_key_nodes(keys[i]); node++) {
            hf__zk_key_node(keys[i], node, path);
            hf__round_exists(r, path);
        }
}

static int verify_once(hf_zookeeper *p, const char *const *keys, int *found,
                       uint64_t *tokens, size_t n, uint64_t *generation,
                       hf_time by, hf_error *err) {
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, count_nodes(keys, n) + 1, by, err);
    size_t at = 1;

    if (rc != HF_OK)
        return rc;
    ask(r, keys, n);
    rc = hf__round_end(r, by, err);
    for (size_t i = 0; i < n && rc == HF_OK; i++) {
        size_t nodes = hf__zk_key_nodes(keys[i]);

        found[i] = verdict(r, at, nodes, err);
        if (tokens)
            tokens[i] = (uint64_t)hf__round_nth(r, at)->stat.czxid;
        at += nodes;
    }
    *generation = hf__round_generation(r);
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_verify(hf_zookeeper *p, const char *const *keys, int *found,
                         uint64_t *tokens, size_t n, uint64_t *generation,
                         hf_time by, hf_error *err) {
    int rc;

    do
        rc = verify_once(p, keys, found, tokens, n, generation, by, err);
    while (hf__zookeeper_again(rc, by));
    return hf__zookeeper_only_asked(rc, err);
}

int hf__zookeeper_check(hf_port *port, const char *const *keys, int *found,
                        size_t n, hf_time by, hf_error *err) {
    uint64_t generation;
    int rc = hf__zookeeper_verify((hf_zookeeper *)port, keys, found, NULL, n,
                                  &generation, by, err);

    if (rc != HF_OK) {
        for (size_t i = 0; i < n; i++)
            found[i] = rc;
        return rc;
    }
    for (size_t i = 0; i < n; i++)
        if (found[i] != HF_OK && found[i] != HF_EFREE)
            rc = found[i];
    return rc;
}
