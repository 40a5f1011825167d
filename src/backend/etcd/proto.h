/* SPDX-License-Identifier: MIT
 *
 * proto.h - the messages of etcd that we write and read, with the field numbers
 * of its rpc.proto and kv.proto.
 *
 * Requests are written into an hf_pb.  Answers point into the bytes they were
 * read from and live as long as those.  What etcd may add to a message one day
 * is skipped. */
#ifndef HF_ETCD_PROTO_H
#define HF_ETCD_PROTO_H

#include "wire.h"

typedef struct hf_kv {
    hf_bytes key, value;
    int64_t create, mod, version; /* revisions; the latter counts puts */
    int64_t lease;
} hf_kv;

/* ---- questions --------------------------------------------------------- */

typedef struct hf_range {
    hf_bytes key, end; /* end empty: the one key */
    int64_t limit;
    int64_t revision; /* as it was then; 0: now */
    int64_t newer;    /* only what was put after this revision */
    bool keys_only, count_only;
} hf_range;

typedef struct hf_put {
    hf_bytes key, value;
    int64_t lease;
    bool same_value, same_lease; /* as they are; the key must exist */
} hf_put;

typedef enum hf_target { HF_OF_VERSION, HF_OF_CREATE, HF_OF_MOD } hf_target;
typedef enum hf_relation { HF_EQUAL, HF_GREATER, HF_LESS } hf_relation;

/* With an end: true of every key in the range, and so of none.  An absent key
 * has zeroes. */
typedef struct hf_compare {
    hf_target target;
    hf_relation is;
    int64_t value;
    hf_bytes key, end;
} hf_compare;

/* A transaction is written as all its compares and then what is done if they
 * hold (`then`), and if not. */
void hf__txn_compare(hf_pb *b, const hf_compare *c);
void hf__txn_range(hf_pb *b, bool then, const hf_range *r);
void hf__txn_put(hf_pb *b, bool then, const hf_put *p);
void hf__txn_delete(hf_pb *b, bool then, hf_bytes key);

void hf__write_range(hf_pb *b, const hf_range *r);
void hf__write_grant(hf_pb *b, int64_t lease, int64_t ttl);
void hf__write_lease(hf_pb *b, int64_t lease); /* revoke, keepalive, left */
void hf__write_credentials(hf_pb *b, const char *user, const char *password);

/* From just after `revision`; 0: from now on. */
void hf__write_watch(hf_pb *b, int64_t id, hf_bytes key, hf_bytes end,
                     int64_t revision);
void hf__write_unwatch(hf_pb *b, int64_t id);

/* ---- answers ----------------------------------------------------------- */

/* True, or these bytes are no such message. */

typedef struct hf_ranged {
    int64_t revision; /* the store's, when it answered */
    int64_t count;    /* in the range, whatever the limit */
    bool more;
    hf_bytes rest; /* for hf__next_kv */
} hf_ranged;

bool hf__read_range(hf_bytes in, hf_ranged *ret);
bool hf__next_kv(hf_ranged *r, hf_kv *ret); /* false: that was all */

typedef struct hf_txned {
    int64_t revision;
    bool succeeded;
    hf_bytes rest; /* for hf__next_… */
} hf_txned;

/* The answers to what was done, in that order.  False: the next one is of
 * another sort, or there is none. */
bool hf__read_txn(hf_bytes in, hf_txned *ret);
bool hf__next_range(hf_txned *t, hf_ranged *ret);
bool hf__next_put(hf_txned *t);
bool hf__next_delete(hf_txned *t, int64_t *deleted);

typedef struct hf_leased {
    int64_t lease, ttl; /* of a keepalive: ttl 0: it is over */
} hf_leased;

bool hf__read_lease(hf_bytes in, hf_leased *ret); /* grant, keepalive, left */

typedef struct hf_watched {
    int64_t id, revision;
    int64_t compacted; /* not 0: cancelled, since the past is gone */
    bool created, cancelled;
    hf_bytes reason, rest; /* rest: for hf__next_event */
} hf_watched;

bool hf__read_watch(hf_bytes in, hf_watched *ret);
bool hf__next_event(hf_watched *w, bool *deleted, hf_kv *ret);

bool hf__read_token(hf_bytes in, hf_bytes *token);

typedef struct hf_status {
    hf_bytes version;
    uint64_t member, leader; /* leader 0: it knows none */
    int64_t size;
} hf_status;

bool hf__read_status(hf_bytes in, hf_status *ret);

typedef struct hf_members {
    int n, learners;
} hf_members;

bool hf__read_members(hf_bytes in, hf_members *ret);

typedef struct hf_alarms {
    bool no_space, corrupt;
} hf_alarms;

bool hf__read_alarms(hf_bytes in, hf_alarms *ret);

#endif
