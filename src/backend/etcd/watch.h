/* SPDX-License-Identifier: MIT
 *
 * watch.h - the watches of a client, by number.  Whose lock guards them is
 * streams.c's affair. */
#ifndef HF_ETCD_WATCH_H
#define HF_ETCD_WATCH_H

#include "proto.h"
#include "streams.h"

typedef struct hf_watch {
    struct hf_watch *next;
    uint64_t id; /* also on the wire */
    hf_watch_sort sort;
    hf_key *key, *end; /* end: NULL: the one key */
    int64_t revision;  /* nothing happened until then; 0: not created yet */
    bool asked;        /* on this connection */
    bool awaited;      /* somebody waits for it to be created */
    bool spent;        /* awaited, and it happened already */
    bool retried;      /* once, with another token */
    int code;          /* awaited: why the server refuses it */
    char reason[120];
} hf_watch;

/* What is to be told when no lock is held. */
typedef struct hf_moved {
    struct hf_moved *next;
    uint64_t id;
    bool gone;
} hf_moved;

enum { HF_WATCH_ROWS = 256 };

typedef struct hf_watches {
    hf_watch *rows[HF_WATCH_ROWS];
    size_t n;
    hf_moved *moved, **moved_end;
} hf_watches;

void hf__etcd_watches_init(hf_watches *all);
void hf__etcd_watches_clear(hf_watches *all);

/* NULL: no memory. */
hf_watch *hf__etcd_watches_add(hf_watches *all, uint64_t id, hf_watch_sort sort,
                               const hf_key *key, const hf_key *end);
hf_watch *hf__etcd_watches_find(hf_watches *all, uint64_t id);
void hf__etcd_watches_remove(hf_watches *all, hf_watch *w);

/* All of them, until the function says no. */
void hf__etcd_watches_each(hf_watches *all, bool (*fn)(void *arg, hf_watch *w),
                           void *arg);

/* It happened: the watch is gone, unless somebody still waits for it to be
 * created. */
void hf__etcd_watch_spend(hf_watches *all, hf_watch *w, bool gone);

/* Does the event concern it?  *gone: its key was deleted. */
bool hf__etcd_watch_concerns(const hf_watch *w, hf_watched *message,
                             bool *gone);

/* What it asks of the server. */
void hf__etcd_watch_write(hf_pb *b, const hf_watch *w);

#endif
