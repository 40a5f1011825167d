/* SPDX-License-Identifier: MIT
 *
 * record.c - what clients say of themselves: a node for each, which goes with
 * its session, in a folder beside the names.  The folder is a container, and
 * goes when it has been empty for a while. */
#include <stdio.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

enum { BATCH = 64, TRIES = 8 };

static void folder_of(const hf_zookeeper *p, char buf[HF_ZNODE_SIZE]) {
    hf__zookeeper_join(buf, p->chroot, hf__zk_clients);
}

/* ---- our own ----------------------------------------------------------- */

/* In the session that made it, it is set.  What an earlier one of ours left is
 * replaced in one step, so that nobody misses us meanwhile. */
typedef enum manner { SET, CREATE, REPLACE } manner;

static const hf_answer *ask(hf_zookeeper *p, hf_round *r, manner how,
                            const char *path, const char *text) {
    int length = (int)strlen(text);
    zoo_op_t ops[2];

    switch (how) {
    case SET:
        zoo_set_op_init(&ops[0], path, text, length, -1, NULL);
        return hf__round_multi(r, ops, 1);
    case REPLACE:
        zoo_delete_op_init(&ops[0], path, -1);
        zoo_create_op_init(&ops[1], path, text, length, p->acl, ZOO_EPHEMERAL,
                           NULL, 0);
        return hf__round_multi(r, ops, 2);
    default:
        return hf__round_create(r, path, text, (size_t)length, p->acl,
                                ZOO_EPHEMERAL);
    }
}

/* *said is the server's word. */
static int write_once(hf_zookeeper *p, manner how, const char *path,
                      const char *text, int *said, hf_time by, hf_error *err) {
    const hf_answer *answer;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 1, by, err);

    if (rc != HF_OK)
        return rc;
    answer = ask(p, r, how, path, text);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK) {
        *said = answer->rc;
        if (*said == ZOK)
            atomic_store(&p->recorded, hf__round_generation(r));
    }
    hf__round_free(r);
    return rc;
}

/* HF_OK: another try, in that manner. */
static int heed(hf_zookeeper *p, int said, manner *how, const char *folder,
                hf_time by, hf_error *err) {
    if (said == ZNODEEXISTS) {
        *how = REPLACE;
        return HF_OK;
    }
    if (said != ZNONODE)
        return hf__zk_refusal(said, folder, err);
    if (*how == CREATE)
        return hf__zookeeper_make_folder(p, folder, by, err);
    *how = CREATE;
    return HF_OK;
}

int hf__zookeeper_record(hf_port *port, const char *text, hf_time by,
                         hf_error *err) {
    hf_zookeeper *p = (hf_zookeeper *)port;
    bool known = atomic_load(&p->recorded) == hf__zk_generation(p->zk);
    char folder[HF_ZNODE_SIZE], path[HF_ZNODE_SIZE];
    manner how = known ? SET : CREATE;
    int rc, said = ZOK;

    folder_of(p, folder);
    hf__zookeeper_join(path, folder, p->host->host->identity.client);
    for (int i = 0; i < TRIES; i++) {
        rc = write_once(p, how, path, text, &said, by, err);
        if (rc == HF_OK && said == ZOK)
            return HF_OK;
        if (rc == HF_OK)
            rc = heed(p, said, &how, folder, by, err);
        if (rc != HF_OK && !hf__zookeeper_again(rc, by))
            return rc;
    }
    return hf__fail(err, HF_EDOWN, "%.150s comes and goes", folder);
}

/* ---- all of them ------------------------------------------------------- */

static int ask_children(hf_zookeeper *p, const char *folder, hf_round **r,
                        hf_time by, hf_error *err) {
    int rc = hf__round_begin(r, p->zk, 2, by, err);

    if (rc != HF_OK)
        return rc;
    hf__round_sync(*r);
    hf__round_children(*r, folder);
    rc = hf__round_end(*r, by, err);
    if (rc != HF_OK)
        hf__round_free(*r);
    return rc;
}

static int ask_some(hf_zookeeper *p, const char *folder, char **names, size_t n,
                    hf_round **r, hf_time by, hf_error *err) {
    char path[HF_ZNODE_SIZE];
    int rc = hf__round_begin(r, p->zk, n, by, err);

    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        hf__zookeeper_join(path, folder, names[i]);
        hf__round_get(*r, path);
    }
    rc = hf__round_end(*r, by, err);
    if (rc != HF_OK)
        hf__round_free(*r);
    return rc;
}

/* Who left meanwhile is not told of. */
static int tell_some(hf_zookeeper *p, const char *folder, char **names,
                     size_t n, hf_record_text_fn *fn, void *arg, hf_time by,
                     hf_error *err) {
    hf_round *r;
    int rc;

    do
        rc = ask_some(p, folder, names, n, &r, by, err);
    while (hf__zookeeper_again(rc, by));
    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < n; i++) {
        const hf_answer *get = hf__round_nth(r, i);

        if (get->rc == ZOK)
            fn(arg, names[i], get->text, get->length);
    }
    hf__round_free(r);
    return HF_OK;
}

int hf__zookeeper_records(hf_port *port, hf_record_text_fn *fn, void *arg,
                          hf_time by, hf_error *err) {
    hf_zookeeper *p = (hf_zookeeper *)port;
    char folder[HF_ZNODE_SIZE];
    const hf_answer *list;
    hf_round *r;
    int rc;

    folder_of(p, folder);
    do
        rc = ask_children(p, folder, &r, by, err);
    while (hf__zookeeper_again(rc, by));
    if (rc != HF_OK)
        return hf__zookeeper_only_asked(rc, err);
    list = hf__round_nth(r, 1);
    if (list->rc != ZOK && list->rc != ZNONODE)
        rc = hf__zk_refusal(list->rc, folder, err);
    for (size_t i = 0; rc == HF_OK && list->rc == ZOK && i < list->n;
         i += BATCH) {
        size_t n = list->n - i < BATCH ? list->n - i : BATCH;

        by = hf__after_ms(p->host->host->timeout_ms);
        rc = tell_some(p, folder, list->names + i, n, fn, arg, by, err);
    }
    hf__round_free(r);
    return hf__zookeeper_only_asked(rc, err);
}
