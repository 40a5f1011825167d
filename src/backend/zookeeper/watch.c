/* SPDX-License-Identifier: MIT
 *
 * watch.c - who is to hear of which node.
 *
 * An entry is watched by reading it: an exists-watch on one that has just gone
 * would wait for a node that never comes.  A number is watched at three
 * places, its own node, which may not exist yet, and the folder of the leases
 * or its coming; the first that moves spends the watch. */
#include "watch.h"

#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "zookeeper.h"

typedef struct hf_watched {
    struct hf_watched *next;
    uint64_t watch;
    bool is_key;
    uint64_t handle; /* that it hangs on */
    char path[];     /* of the entry, or of the node of the number's line */
} hf_watched;

/* ---- the table --------------------------------------------------------- */

void hf__zk_watches_init(hf_watches *w) {
    memset(w->buckets, 0, sizeof w->buckets);
    pthread_mutex_init(&w->mu, NULL);
}

void hf__zk_watches_clear(hf_watches *w) {
    pthread_mutex_lock(&w->mu);
    for (size_t i = 0; i < sizeof w->buckets / sizeof *w->buckets; i++)
        while (w->buckets[i]) {
            hf_watched *gone = w->buckets[i];

            w->buckets[i] = gone->next;
            hf__free(gone);
        }
    pthread_mutex_unlock(&w->mu);
}

void hf__zk_watches_destroy(hf_watches *w) {
    hf__zk_watches_clear(w);
    pthread_mutex_destroy(&w->mu);
}

/* mu */
static hf_watched **bucket(hf_watches *w, uint64_t watch) {
    return &w->buckets[watch % (sizeof w->buckets / sizeof *w->buckets)];
}

static hf_watched *take_out(hf_watches *w, uint64_t watch) {
    hf_watched **link, *found;

    pthread_mutex_lock(&w->mu);
    link = bucket(w, watch);
    while (*link && (*link)->watch != watch)
        link = &(*link)->next;
    found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&w->mu);
    return found;
}

static int put_in(hf_watches *w, uint64_t watch, const char *path, bool is_key,
                  uint64_t handle) {
    hf_watched *new = hf__malloc(sizeof *new + strlen(path) + 1), **link;

    if (!new)
        return HF_ENO_MEMORY;
    new->watch = watch;
    new->is_key = is_key;
    new->handle = handle;
    strcpy(new->path, path);
    pthread_mutex_lock(&w->mu);
    link = bucket(w, watch);
    new->next = *link;
    *link = new;
    pthread_mutex_unlock(&w->mu);
    return HF_OK;
}

/* ---- on ---------------------------------------------------------------- */

static int watch_key(hf_zookeeper *p, const char *key, uint64_t watch,
                     hf_time by, hf_error *err) {
    char path[HF_ZNODE_SIZE];
    const hf_answer *node;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 1, by, err);

    if (rc != HF_OK)
        return rc;
    hf__zk_key_node(key, 0, path);
    rc = put_in(&p->watches, watch, path, true, hf__round_handle(r));
    if (rc != HF_OK) {
        hf__round_free(r);
        return hf__fail_plain(err, rc);
    }
    node = hf__round_watch_data(r, path, watch);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && node->rc == ZNONODE)
        rc = HF_EFREE;
    else if (rc == HF_OK && node->rc != ZOK)
        rc = hf__zk_refusal(node->rc, path, err);
    hf__round_free(r);
    return rc;
}

/* Only the coming of a folder can be watched while there is none. */
static int watch_coming(hf_zookeeper *p, const char *folder, uint64_t watch,
                        hf_time by, hf_error *err) {
    const hf_answer *node;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 1, by, err);

    if (rc != HF_OK)
        return rc;
    node = hf__round_watch_exists(r, folder, watch);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && node->rc == ZOK)
        rc = HF_EFREE; /* it has just come */
    else if (rc == HF_OK && node->rc != ZNONODE)
        rc = hf__zk_refusal(node->rc, folder, err);
    hf__round_free(r);
    return rc;
}

static int watch_number(hf_zookeeper *p, const hf_line *line, uint64_t as_of,
                        uint64_t watch, hf_time by, hf_error *err) {
    char base[HF_ZNODE_SIZE], path[HF_ZNODE_SIZE];
    const hf_answer *count, *leases = NULL;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 2, by, err);

    if (rc != HF_OK)
        return rc;
    hf__zookeeper_base(p, line, base);
    rc = put_in(&p->watches, watch, base, false, hf__round_handle(r));
    if (rc != HF_OK) {
        hf__round_free(r);
        return hf__fail_plain(err, rc);
    }
    hf__zookeeper_join(path, base, hf__zk_count);
    count = hf__round_watch_exists(r, path, watch);
    hf__zookeeper_join(path, base, hf__zk_leases);
    if (line->kind == HF_SEMAPHORE)
        leases = hf__round_watch_children(r, path, watch);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && count->rc != ZOK && count->rc != ZNONODE)
        rc = hf__zk_refusal(count->rc, base, err);
    else if (rc == HF_OK && as_of &&
             as_of != hf__zk_number_as_of(count, leases))
        rc = HF_EFREE;
    else if (rc == HF_OK && leases && leases->rc == ZNONODE)
        rc = watch_coming(p, path, watch, by, err);
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_watch(hf_port *port, const hf_line *line, const char *key,
                        uint64_t as_of, uint64_t watch, hf_time by,
                        hf_error *err) {
    hf_zookeeper *p = (hf_zookeeper *)port;
    int rc = key ? watch_key(p, key, watch, by, err) :
                   watch_number(p, line, as_of, watch, by, err);

    if (rc != HF_OK)
        hf__zookeeper_unwatch(port, watch);
    return hf__zookeeper_only_asked(rc, err);
}

/* ---- off --------------------------------------------------------------- */

/* Only here: the server may still send its message, which then finds nobody.
 * It does not block, since it asks nobody. */
static void remove_one(zhandle_t *zh, const char *path, ZooWatcherType type,
                       uint64_t watch) {
    zoo_remove_watches(zh, path, type, hf__zk_watcher, (void *)(uintptr_t)watch,
                       1);
}

static void remove_all(zhandle_t *zh, const hf_watched *w) {
    char path[HF_ZNODE_SIZE];

    if (w->is_key) {
        remove_one(zh, w->path, ZWATCHTYPE_DATA, w->watch);
        return;
    }
    hf__zookeeper_join(path, w->path, hf__zk_count);
    remove_one(zh, path, ZWATCHTYPE_DATA, w->watch);
    hf__zookeeper_join(path, w->path, hf__zk_leases);
    remove_one(zh, path, ZWATCHTYPE_DATA, w->watch);
    remove_one(zh, path, ZWATCHTYPE_CHILD, w->watch);
}

static void drop(hf_zookeeper *p, hf_watched *w) {
    hf_session *s;
    hf_error err;

    if (hf__zk_enter(&s, p->zk, 0, &err) == HF_OK) {
        if (s->handle == w->handle)
            remove_all(s->zh, w);
        hf__zk_leave(s);
    }
    hf__free(w);
}

void hf__zookeeper_unwatch(hf_port *port, uint64_t watch) {
    hf_zookeeper *p = (hf_zookeeper *)port;
    hf_watched *w = take_out(&p->watches, watch);

    if (w)
        drop(p, w);
}

/* libzookeeper's thread.  One place moved: the others need not be watched any
 * more. */
void hf__zookeeper_fired(void *arg, uint64_t watch, bool gone) {
    hf_zookeeper *p = arg;
    hf_watched *w = take_out(&p->watches, watch);
    bool is_key = w && w->is_key;

    if (!w)
        return;
    if (is_key)
        hf__free(w);
    else
        drop(p, w);
    p->host->moved(p->host->line_store, watch, is_key && gone);
}

/* Those of older handles, taken out; they follow each other by `next`. */
static hf_watched *take_older(hf_watches *all, uint64_t handle) {
    hf_watched *taken = NULL;

    pthread_mutex_lock(&all->mu);
    for (size_t i = 0; i < sizeof all->buckets / sizeof *all->buckets; i++)
        for (hf_watched **link = &all->buckets[i], *w; (w = *link);) {
            if (w->handle >= handle) {
                link = &w->next;
                continue;
            }
            *link = w->next;
            w->next = taken;
            taken = w;
        }
    pthread_mutex_unlock(&all->mu);
    return taken;
}

/* What they would have told is not known: so it is looked at again. */
void hf__zookeeper_replaced(void *arg, uint64_t handle) {
    hf_zookeeper *p = arg;
    hf_watched *w = take_older(&p->watches, handle);

    while (w) {
        hf_watched *next = w->next;

        p->host->moved(p->host->line_store, w->watch, false);
        hf__free(w);
        w = next;
    }
}
