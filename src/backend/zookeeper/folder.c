/* SPDX-License-Identifier: MIT
 *
 * folder.c - the nodes that entries stand in: their paths, and how they are
 * made; and what time it is there. */
#include <stdio.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

void hf__zookeeper_join(char buf[HF_ZNODE_SIZE], const char *folder,
                        const char *child) {
    size_t n = strlen(folder), m = strlen(child);

    if (n + 1 + m >= HF_ZNODE_SIZE)
        n = m = 0; /* nothing of ours is that long */
    memmove(buf, folder, n);
    buf[n] = '/';
    memmove(buf + n + 1, child, m);
    buf[n + 1 + m] = '\0';
}

void hf__zookeeper_base(const hf_zookeeper *p, const hf_line *line,
                        char buf[HF_ZNODE_SIZE]) {
    hf__zookeeper_join(buf, p->chroot, line->name);
}

void hf__zookeeper_folder(const hf_zookeeper *p, const hf_line *line,
                          char buf[HF_ZNODE_SIZE]) {
    hf__zookeeper_base(p, line, buf);
    if (line->kind == HF_SEMAPHORE)
        hf__zookeeper_join(buf, buf, hf__zk_leases);
}

bool hf__zookeeper_again(int rc, hf_time by) {
    return rc == HF_EDOUBT && hf__now() < by;
}

int hf__zookeeper_only_asked(int rc, hf_error *err) {
    if (rc == HF_EDOUBT)
        err->code = rc = HF_EDOWN;
    return rc;
}

int hf__zookeeper_certainty(int rc, bool unsure, hf_error *err) {
    if (rc < 0 && unsure)
        err->code = rc = HF_EDOUBT;
    return unsure ? rc : hf__zookeeper_only_asked(rc, err);
}

/* ---- making it --------------------------------------------------------- */

/* Some may see a node and not be allowed to make it: only the last one's
 * answer counts, unless it is that the one above is missing. */
static int how_it_went(const hf_round *r, size_t n, const char *folder,
                       hf_error *err) {
    int rc = hf__round_nth(r, n - 1)->rc;

    for (size_t i = 0; i < n && rc == ZNONODE; i++)
        if (hf__round_nth(r, i)->rc != ZOK &&
            hf__round_nth(r, i)->rc != ZNODEEXISTS)
            rc = hf__round_nth(r, i)->rc;
    if (rc == ZOK || rc == ZNODEEXISTS)
        return HF_OK;
    /* The server removed it again between our requests. */
    if (rc == ZNONODE)
        return hf__fail(err, HF_EDOUBT, "%.150s comes and goes", folder);
    return hf__zk_refusal(rc, folder, err);
}

static size_t depth(const char *path) {
    size_t n = 0;

    for (; *path; path++)
        n += *path == '/';
    return n;
}

static int make_all(hf_zookeeper *p, const char *folder, hf_time by,
                    hf_error *err) {
    int mode = atomic_load(&p->no_containers) ? ZOO_PERSISTENT : ZOO_CONTAINER;
    size_t n = depth(folder);
    char path[HF_ZNODE_SIZE];
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, n, by, err);

    if (rc != HF_OK)
        return rc;
    for (const char *at = folder; at;) {
        at = strchr(at + 1, '/');
        snprintf(path, sizeof path, "%.*s",
                 at ? (int)(at - folder) : (int)strlen(folder), folder);
        hf__round_create(r, path, "", 0, p->acl, mode);
    }
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && hf__round_nth(r, n - 1)->rc == ZUNIMPLEMENTED) {
        atomic_store(&p->no_containers, true);
        rc = hf__fail(err, HF_EDOUBT, "this server knows no containers");
    } else if (rc == HF_OK) {
        rc = how_it_went(r, n, folder, err);
    }
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_make_folder(hf_zookeeper *p, const char *folder, hf_time by,
                              hf_error *err) {
    int rc;

    do
        rc = make_all(p, folder, by, err);
    while (hf__zookeeper_again(rc, by));
    return hf__zookeeper_only_asked(rc, err);
}

/* ---- the servers' clock ------------------------------------------------ */

/* Only what is written tells the time: a node that is gone at once. */
static int ask_clock(hf_zookeeper *p, const char *path, hf_time by,
                     hf_error *err) {
    const hf_answer *made;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 2, by, err);

    if (rc != HF_OK)
        return rc;
    made = hf__round_create(r, path, "", 0, p->acl, ZOO_EPHEMERAL);
    hf__round_delete(r, path);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && made->rc == ZNONODE)
        rc = HF_BUSY;
    else if (rc == HF_OK && made->rc != ZOK && made->rc != ZNODEEXISTS)
        rc = hf__zk_refusal(made->rc, path, err);
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_clock(hf_zookeeper *p, int64_t *ms, hf_time by,
                        hf_error *err) {
    char path[HF_ZNODE_SIZE];
    int rc = HF_OK;

    hf__zookeeper_join(path, p->chroot, "hf-clock-");
    strcat(path, p->host->host->identity.client);
    while (!hf__zk_clock(p->zk, ms)) {
        rc = ask_clock(p, path, by, err);
        if (rc == HF_BUSY)
            rc = hf__zookeeper_make_folder(p, p->chroot, by, err);
        if (rc != HF_OK && !hf__zookeeper_again(rc, by))
            return hf__zookeeper_only_asked(rc, err);
    }
    return HF_OK;
}
