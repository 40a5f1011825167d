/* SPDX-License-Identifier: MIT
 *
 * keys.h - what the keys of a line are called.
 *
 *     NAME/LEASE.N                  LOCK: as etcd's own mutex has it, but for N
 *     NAME/write/LEASE.N            WRITE   \  as etcd's recipes have them
 *     NAME/read/LEASE.N             READ    /
 *     NAME/read/LEASE.N/beside      the READ beside the WRITE of that suffix
 *     NAME/permit/LEASE.N.PERMITS   PERMIT
 *     NAME/count  NAME/latch        the number of a semaphore, of a latch
 *     hf-clients/CLIENT             what a client says of itself
 *
 * before which stands the prefix of the address.  LEASE is the lease's id in
 * hex; N tells the entries of one session apart, and is used again.  So what we
 * call an entry is its key and, behind an @, its create revision. */
#ifndef HF_ETCD_KEYS_H
#define HF_ETCD_KEYS_H

#include "../line/port.h"
#include "wire.h"

enum { HF_PREFIX_MAX = 512, HF_KEY_SIZE = 1024 };

#define HF_KEY_CLIENTS "hf-clients" /* no name of a lock */

typedef struct hf_key {
    size_t n;
    char at[HF_KEY_SIZE]; /* with an end, for printing */
} hf_key;

hf_bytes hf__etcd_key_bytes(const hf_key *k);

/* prefix NAME / more */
void hf__etcd_key_make(hf_key *k, const char *prefix, const char *name,
                       const char *more);

/* Of an entry: NAME/…LEASE.N */
void hf__etcd_key_entry(hf_key *k, const char *prefix, const hf_wish *w,
                        int64_t lease, unsigned n);
void hf__etcd_key_number(hf_key *k, const char *prefix, const hf_line *line);

/* Only as long as the key is; NULL: no memory. */
hf_key *hf__etcd_key_copy(const hf_key *k);

/* Behind everything that begins with k. */
void hf__etcd_key_end(hf_key *k, const hf_key *of);

/* Is it `write/U` or `read/U`?  The one of the other, and `read/U/beside` of
 * either. */
bool hf__etcd_key_is_pair(const hf_key *k);
void hf__etcd_key_twin(hf_key *k, const hf_key *of);
void hf__etcd_key_beside(hf_key *k, const hf_key *of);

/* ---- as they are told to others ---------------------------------------- */

char *hf__etcd_key_told(hf_bytes key, int64_t revision); /* NULL: no memory */
bool hf__etcd_key_heard(hf_key *k, int64_t *revision, const char *told);

/* ---- what a key is ----------------------------------------------------- */

typedef enum hf_key_sort {
    HF_KEY_OTHER,
    HF_KEY_LOCK,
    HF_KEY_READ,
    HF_KEY_WRITE,
    HF_KEY_BESIDE,
    HF_KEY_PERMIT,
    HF_KEY_COUNT,
    HF_KEY_LATCH
} hf_key_sort;

typedef struct hf_key_parts {
    hf_key_sort sort;
    size_t name;     /* bytes of the name */
    hf_bytes unique; /* what tells entries apart: LEASE.N, or a peer's */
    int permits;
} hf_key_parts;

/* Of a key behind its prefix. */
void hf__etcd_key_read(hf_key_parts *p, hf_bytes key);

/* Is it an entry of that session?  Its number. */
bool hf__etcd_key_is_ours(const char *prefix, const hf_key *k, int64_t lease,
                          unsigned *n);

/* Why the name cannot be used. */
int hf__etcd_key_check(const hf_line *line, hf_error *err);

#endif
