/* SPDX-License-Identifier: MIT
 *
 * list.c - who stands in a line, by the children of its folder. */
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

/* ---- children as a line ------------------------------------------------ */

typedef struct child {
    const char *name;
    hf_tagged tagged;
} child;

static int by_order(const void *a, const void *b) {
    const child *x = a, *y = b;

    if (x->tagged.order != y->tagged.order)
        return x->tagged.order < y->tagged.order ? -1 : 1;
    return (x->tagged.kind == HF_READ) - (y->tagged.kind == HF_READ);
}

/* Several nodes make up an entry if one request made them: their numbers
 * follow each other. */
static size_t nodes_of(const hf_zookeeper *p, const hf_line *line,
                       const child *all, size_t n) {
    size_t most = line->kind == HF_SEMAPHORE                               ? n :
                  line->kind == HF_LOCK && p->layout == HF_BRIDGE && n > 1 ? 2 :
                                                                             1;
    size_t same = 1;

    while (same < most &&
           all[same].tagged.order == all[0].tagged.order + same &&
           hf__layout_same_id(all[0].name, all[same].name))
        same++;
    return same;
}

static int add_entries(const hf_zookeeper *p, const hf_line *line,
                       const char *folder, const child *all, size_t n,
                       hf_lineup *to) {
    size_t nodes;

    for (size_t i = 0; i < n; i += nodes) {
        hf_entered *e = hf__lineup_add(to);
        bool permit = line->kind == HF_SEMAPHORE;

        nodes = nodes_of(p, line, all + i, n - i);
        if (!e)
            return HF_ENO_MEMORY;
        e->kind = all[i].tagged.kind;
        e->order = all[i].tagged.order;
        e->permits = permit ? (int)nodes : 1;
        e->key = hf__zk_key_make(folder, all[i].name,
                                 !permit && nodes > 1 ? HF_PAIR : (int)nodes);
        if (!e->key)
            return HF_ENO_MEMORY;
    }
    return HF_OK;
}

/* A mark that has served its time is taken away by whoever sees it. */
static void remove_mark(hf_zookeeper *p, const char *folder, const char *mark) {
    char path[HF_ZNODE_SIZE];
    hf_error err;
    hf_round *r;

    hf__zookeeper_join(path, folder, mark);
    if (hf__round_begin(&r, p->zk, 1, 0, &err) == HF_OK)
        hf__round_delete(r, path);
    hf__round_free(r);
}

static int heed_marks(hf_zookeeper *p, const char *folder,
                      const hf_answer *list, hf_lineup *to, hf_time by,
                      hf_error *err) {
    int64_t until, ms = 0;
    int rc = HF_OK;

    for (size_t i = 0; i < list->n && rc == HF_OK; i++) {
        if (!hf__layout_parse_until(list->names[i], &until))
            continue;
        rc = hf__zookeeper_clock(p, &ms, by, err);
        if (rc != HF_OK)
            break;
        if (until <= ms)
            remove_mark(p, folder, list->names[i]);
        else if (hf__now() + (until - ms) * HF_MS > to->kept_out_until)
            to->kept_out_until = hf__now() + (until - ms) * HF_MS;
    }
    return rc;
}

int hf__zookeeper_lineup(hf_zookeeper *p, const hf_line *line,
                         const char *folder, const hf_answer *list,
                         hf_lineup *all, hf_time by, hf_error *err) {
    child *children = hf__calloc(list->n + 1, sizeof *children);
    size_t n = 0;
    int rc;

    if (!children)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < list->n; i++) {
        children[n].name = list->names[i];
        if (hf__layout_parse(p->layout, line->kind, list->names[i],
                             &children[n].tagged))
            n++;
    }
    qsort(children, n, sizeof *children, by_order);
    rc = add_entries(p, line, folder, children, n, all);
    hf__free(children);
    all->as_of = all->last_token = (uint64_t)list->stat.pzxid;
    if (rc != HF_OK)
        hf__fail_plain(err, rc);
    else
        rc = heed_marks(p, folder, list, all, by, err);
    if (rc != HF_OK)
        hf__lineup_clear(all);
    return rc;
}

static const char *last_part(const char *key) {
    const char *slash = strrchr(key, '/');

    return slash ? slash + 1 : key;
}

int hf__zookeeper_find(const hf_lineup *all, hf_kind kind,
                       const unsigned char id[16], int from) {
    for (size_t i = (size_t)from; i < all->n; i++)
        if (all->all[i].kind == kind &&
            hf__layout_has_id(last_part(all->all[i].key), id))
            return (int)i;
    return -1;
}

int hf__zookeeper_at(const hf_lineup *all, const char *path) {
    char first[HF_ZNODE_SIZE];

    for (size_t i = 0; i < all->n; i++) {
        hf__zk_key_node(all->all[i].key, 0, first);
        if (strcmp(first, path) == 0)
            return (int)i;
    }
    return -1;
}

/* ---- look -------------------------------------------------------------- */

/* A folder that is not there has nobody in it. */
static int look_once(hf_zookeeper *p, const hf_line *line, hf_lineup *all,
                     hf_time by, hf_error *err) {
    char folder[HF_ZNODE_SIZE];
    const hf_answer *list;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 2, by, err);

    if (rc != HF_OK)
        return rc;
    hf__zookeeper_folder(p, line, folder);
    hf__round_sync(r);
    list = hf__round_children(r, folder);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && list->rc == ZOK)
        rc = hf__zookeeper_lineup(p, line, folder, list, all, by, err);
    else if (rc == HF_OK && list->rc != ZNONODE)
        rc = hf__zk_refusal(list->rc, folder, err);
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_lines(hf_zookeeper *p, const hf_line *line, hf_lineup *all,
                        hf_time by, hf_error *err) {
    int rc;

    do
        rc = look_once(p, line, all, by, err);
    while (hf__zookeeper_again(rc, by));
    return hf__zookeeper_only_asked(rc, err);
}

/* What is not by us tells nothing of its owner that we could read. */
static int take_note(hf_entered *e, const hf_answer *get, int64_t now_ms) {
    e->token = (uint64_t)get->stat.czxid;
    e->since_ms = now_ms > get->stat.ctime ? now_ms - get->stat.ctime : 0;
    if (strncmp(get->text, "holdfast ", 9) != 0)
        return HF_OK;
    e->note = hf__strdup(get->text);
    return e->note ? HF_OK : HF_ENO_MEMORY;
}

/* Who left meanwhile is not shown. */
static int take_notes(hf_lineup *all, const hf_round *r, int64_t now_ms,
                      hf_error *err) {
    size_t kept = 0, n = all->n;
    int rc = HF_OK;

    for (size_t i = 0; i < n; i++) {
        const hf_answer *get = hf__round_nth(r, i);
        hf_entered *e = &all->all[i];

        if (get->rc != ZOK) {
            hf__free(e->key);
            continue;
        }
        if (rc == HF_OK)
            rc = take_note(e, get, now_ms);
        all->all[kept++] = *e;
    }
    all->n = kept;
    return rc == HF_OK ? rc : hf__fail_plain(err, rc);
}

static int read_notes(hf_zookeeper *p, hf_lineup *all, hf_time by,
                      hf_error *err) {
    char path[HF_ZNODE_SIZE];
    int64_t now_ms;
    hf_round *r;
    int rc;

    if (all->n == 0)
        return HF_OK;
    rc = hf__round_begin(&r, p->zk, all->n, by, err);
    if (rc != HF_OK)
        return rc;
    for (size_t i = 0; i < all->n; i++) {
        hf__zk_key_node(all->all[i].key, 0, path);
        hf__round_get(r, path);
    }
    rc = hf__round_end(r, by, err);
    if (!hf__zk_clock(p->zk, &now_ms))
        now_ms = hf__world->wall_us() / 1000;
    if (rc == HF_OK)
        rc = take_notes(all, r, now_ms, err);
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_look(hf_port *port, const hf_line *line, bool notes,
                       hf_lineup *all, hf_time by, hf_error *err) {
    hf_zookeeper *p = (hf_zookeeper *)port;
    int rc = hf__zookeeper_lines(p, line, all, by, err);

    if (rc != HF_OK || !notes)
        return rc;
    do
        rc = read_notes(p, all, by, err);
    while (hf__zookeeper_again(rc, by));
    if (rc != HF_OK)
        hf__lineup_clear(all);
    return hf__zookeeper_only_asked(rc, err);
}
