/* SPDX-License-Identifier: MIT
 *
 * watch.c - the watches of a client, by number. */
#include "watch.h"

#include <string.h>

#include "../../alloc.h"

void hf__etcd_watches_init(hf_watches *all) {
    *all = (hf_watches){0};
    all->moved_end = &all->moved;
}

static void free_watch(hf_watch *w) {
    hf__free(w->key);
    hf__free(w->end);
    hf__free(w);
}

void hf__etcd_watches_clear(hf_watches *all) {
    for (size_t i = 0; i < HF_WATCH_ROWS; i++)
        while (all->rows[i])
            hf__etcd_watches_remove(all, all->rows[i]);
    while (all->moved) {
        hf_moved *m = all->moved;

        all->moved = m->next;
        hf__free(m);
    }
    all->moved_end = &all->moved;
}

static hf_watch **row(hf_watches *all, uint64_t id) {
    return &all->rows[id % HF_WATCH_ROWS];
}

hf_watch *hf__etcd_watches_add(hf_watches *all, uint64_t id, hf_watch_sort sort,
                               const hf_key *key, const hf_key *end) {
    hf_watch *w = hf__calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->key = hf__etcd_key_copy(key);
    w->end = end ? hf__etcd_key_copy(end) : NULL;
    if (!w->key || (end && !w->end)) {
        free_watch(w);
        return NULL;
    }
    w->id = id;
    w->sort = sort;
    w->next = *row(all, id);
    *row(all, id) = w;
    all->n++;
    return w;
}

hf_watch *hf__etcd_watches_find(hf_watches *all, uint64_t id) {
    hf_watch *w = *row(all, id);

    while (w && w->id != id)
        w = w->next;
    return w;
}

void hf__etcd_watches_remove(hf_watches *all, hf_watch *w) {
    hf_watch **link = row(all, w->id);

    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    all->n--;
    free_watch(w);
}

void hf__etcd_watches_each(hf_watches *all, bool (*fn)(void *arg, hf_watch *w),
                           void *arg) {
    for (size_t i = 0; i < HF_WATCH_ROWS; i++)
        for (hf_watch *w = all->rows[i], *next; w; w = next) {
            next = w->next;
            if (!fn(arg, w))
                return;
        }
}

/* Where memory is short nobody is told; who waits looks again by itself. */
void hf__etcd_watch_spend(hf_watches *all, hf_watch *w, bool gone) {
    hf_moved *m;

    if (w->awaited) {
        w->spent = true;
        return;
    }
    m = hf__calloc(1, sizeof *m);
    if (m) {
        m->id = w->id;
        m->gone = gone;
        *all->moved_end = m;
        all->moved_end = &m->next;
    }
    hf__etcd_watches_remove(all, w);
}

/* In the range of a semaphore lie keys of other things, too. */
static bool of_semaphore(const hf_watch *w, hf_bytes key) {
    size_t base = w->key->n - strlen("count");
    hf_bytes more = {key.at + base, key.n - base};

    if (key.n <= base || memcmp(key.at, w->key->at, base) != 0)
        return false;
    return hf__bytes_equal(more, hf__bytes("count")) ||
           (more.n > 7 && memcmp(more.at, "permit/", 7) == 0);
}

bool hf__etcd_watch_concerns(const hf_watch *w, hf_watched *message,
                             bool *gone) {
    bool deleted, yes = false;
    hf_kv kv;

    *gone = false;
    while (hf__next_event(message, &deleted, &kv)) {
        if (w->sort == HF_WATCH_SEMAPHORE ? of_semaphore(w, kv.key) :
                                            deleted || w->sort != HF_WATCH_KEY)
            yes = true;
        *gone |= deleted && w->sort == HF_WATCH_KEY;
    }
    return yes;
}

void hf__etcd_watch_write(hf_pb *b, const hf_watch *w) {
    hf_bytes none = {0};

    hf__write_watch(b, (int64_t)w->id, hf__etcd_key_bytes(w->key),
                    w->end ? hf__etcd_key_bytes(w->end) : none, w->revision);
}
