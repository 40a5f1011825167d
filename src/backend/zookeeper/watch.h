/* SPDX-License-Identifier: MIT
 *
 * watch.h - who is to hear of which node.
 *
 * libzookeeper is given the number of a watch and nothing else: what comes
 * late finds nothing under its number, and no memory that is gone. */
#ifndef HF_ZOOKEEPER_WATCH_H
#define HF_ZOOKEEPER_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct hf_watched;

typedef struct hf_watches {
    pthread_mutex_t mu;
    struct hf_watched *buckets[256]; /* mu */
} hf_watches;

void hf__zk_watches_init(hf_watches *w);
void hf__zk_watches_clear(hf_watches *w); /* all are spent */
void hf__zk_watches_destroy(hf_watches *w);

#endif
