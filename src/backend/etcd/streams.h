/* SPDX-License-Identifier: MIT
 *
 * streams.h - what goes on without being asked: keepalives and watches.
 *
 * One thread and one connection, apart from that of the questions: a long
 * answer there delays no keepalive here, and events come while nobody asks. */
#ifndef HF_ETCD_STREAMS_H
#define HF_ETCD_STREAMS_H

#include "../line/port.h"
#include "keys.h"
#include "session.h"

typedef struct hf_streams hf_streams;

/* The thread runs from hf__streams_start on. */
int hf__streams_new(hf_streams **ret, hf_speaker *speaker,
                    const hf_port_host *host, hf_error *err);
int hf__streams_start(hf_streams *st, hf_session *session, hf_error *err);

/* When it has returned, nothing of the host is called any more. */
void hf__streams_stop(hf_streams *st);
void hf__streams_free(hf_streams *st);
void hf__streams_abandon(hf_streams *st);

/* There is something to do; from any thread. */
void hf__streams_ring(void *streams);

/* ---- watches ----------------------------------------------------------- */

/* Which change is meant. */
typedef enum hf_watch_sort {
    HF_WATCH_KEY,       /* the key goes                          */
    HF_WATCH_NUMBER,    /* the key is put or goes                */
    HF_WATCH_SEMAPHORE, /* the number, or a permit, in the range */
} hf_watch_sort;

/* Watches from now on, whereof *revision is the moment: every change after it
 * is told of by host->moved(id).  HF_EFREE: it happened at once, and no watch
 * is kept. */
int hf__streams_watch(hf_streams *st, uint64_t id, hf_watch_sort sort,
                      const hf_key *key, const hf_key *end, int64_t *revision,
                      hf_time by, hf_error *err);
void hf__streams_unwatch(hf_streams *st, uint64_t id);

#endif
