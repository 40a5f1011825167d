/* SPDX-License-Identifier: MIT
 *
 * calls.h - questions with one answer, of many threads over one connection.
 *
 * Whoever asks sends for himself, and while he waits he reads for everybody,
 * if nobody else does: so a lone thread pays a bare round trip and no thread of
 * ours is woken in between. */
#ifndef HF_ETCD_CALLS_H
#define HF_ETCD_CALLS_H

#include "endpoints.h"

typedef struct hf_calls hf_calls;

typedef struct hf_question {
    const char *path;
    hf_pb body;
    bool changes; /* the store; otherwise it only looks */

    /* Set by hf__ask: the answer; and whether an earlier sending of the same
     * may have had its effect. */
    hf_bytes answer;
    bool repeated;

    /* Set by hf__calls_ask. */
    bool done;        /* the call ended, by a status or otherwise */
    hf_time asked_at; /* before it was sent */
    hf_call call;
    struct hf_asker *asker;
} hf_question;

void hf__question_clear(hf_question *q);

int hf__calls_new(hf_calls **ret, hf_endpoints *at, const hf_host *host,
                  hf_error *err);
void hf__calls_free(hf_calls *c);
void hf__calls_abandon(hf_calls *c);

/* Asks those of the n questions that are not `done` and waits for the answers
 * until `by`.  Fails when there is no connection; then nothing has left.  *link
 * says which connection it was. */
int hf__calls_ask(hf_calls *c, hf_question *q, size_t n, const char *token,
                  unsigned *link, hf_time by, hf_error *err);

/* That connection is of no use: the next question takes another. */
void hf__calls_leave(hf_calls *c, unsigned link);

/* Answers the server's pings while nobody asks anything. */
void hf__calls_idle(hf_calls *c);

/* Where the connection leads; its length, or "" if there is none. */
size_t hf__calls_where(hf_calls *c, char *buf, size_t size);

#endif
