/* SPDX-License-Identifier: MIT
 *
 * round.h - some requests at once, and one wait for all their answers.
 *
 *     const hf_answer *made, *list;
 *
 *     rc = hf__round_begin(&r, zk, 2, by, err);
 *     made = hf__round_create(r, path, note, ZOO_EPHEMERAL_SEQUENTIAL);
 *     list = hf__round_children(r, folder);
 *     rc = hf__round_end(r, by, err);
 *     …
 *     hf__round_free(r);
 *
 * Requests of a session are served in order, so that the list has the node in
 * it, and both cost one round trip.  An answer that comes after the wait was
 * given up finds its memory still there. */
#ifndef HF_ZOOKEEPER_ROUND_H
#define HF_ZOOKEEPER_ROUND_H

#include "handle.h"

typedef struct hf_answer {
    int rc; /* ZOK, ZNONODE, …: as the server says                        */
    char *text;
    size_t length; /* get: the data; create: the path; multi: that of its
                      first create.  There is always a NUL behind it      */
    char **names;  /* children                                            */
    size_t n;
    struct Stat stat; /* multi: of the node that it set                   */
    int failed_op;    /* multi that failed: which one it was              */
} hf_answer;

typedef struct hf_round hf_round;

/* Waits until there is a session.  HF_EDOWN: nothing was sent.  At most n
 * requests. */
int hf__round_begin(hf_round **ret, hf_zk *zk, size_t n, hf_time by,
                    hf_error *err);

uint64_t hf__round_generation(const hf_round *r);
int64_t hf__round_session(const hf_round *r); /* the owner of its nodes */
uint64_t hf__round_handle(const hf_round *r); /* where its watches hang */

/* The answer is there when the round has ended.  `acl` NULL: the world's. */
const hf_answer *hf__round_create(hf_round *r, const char *path,
                                  const char *data, size_t length,
                                  const struct ACL_vector *acl, int mode);
const hf_answer *hf__round_delete(hf_round *r, const char *path);
const hf_answer *hf__round_exists(hf_round *r, const char *path);
const hf_answer *hf__round_get(hf_round *r, const char *path);
const hf_answer *hf__round_children(hf_round *r, const char *path);
const hf_answer *hf__round_multi(hf_round *r, const zoo_op_t *ops, int n);

/* What comes later in the round is not older than this. */
const hf_answer *hf__round_sync(hf_round *r);

/* With a watch, for the first change; the node must be there but for exists. */
const hf_answer *hf__round_watch_data(hf_round *r, const char *path,
                                      uint64_t watch);
const hf_answer *hf__round_watch_children(hf_round *r, const char *path,
                                          uint64_t watch);
const hf_answer *hf__round_watch_exists(hf_round *r, const char *path,
                                        uint64_t watch);

/* HF_OK: every answer is one of the server's.  HF_EDOUBT: some did not come,
 * and none may be looked at.  HF_EDOWN: nothing was sent. */
int hf__round_end(hf_round *r, hf_time by, hf_error *err);

/* The answer to the i-th request, from 0. */
const hf_answer *hf__round_nth(const hf_round *r, size_t i);

/* Also without an end: then nobody waits for the answers. */
void hf__round_free(hf_round *r);

/* The server's no, in words: HF_EFORBIDDEN, HF_ESTORE, … */
int hf__zk_refusal(int rc, const char *path, hf_error *err);

#endif
