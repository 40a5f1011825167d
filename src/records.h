/* SPDX-License-Identifier: MIT
 *
 * records.h - what all clients of a store say of themselves, read and in
 * order. */
#ifndef HF_RECORDS_H
#define HF_RECORDS_H

#include "presence.h"

/* One client's. */
typedef struct hf_record {
    hf_identity who;
    char *doing; /* claims point into it */
    bool hidden; /* it says nothing */
    size_t holds, waits;
    int64_t waits_since_ms; /* its longest wait; wall clock */
    const char *inside;     /* the client that it works for, or NULL; if that
                               has a record, it is */
    const struct hf_record *outer;
    bool has_inner; /* somebody works for it */
} hf_record;

/* One claim that a record tells of. */
typedef struct hf_told {
    const hf_record *record;
    hf_doing of;
    bool seen;  /* the store tells of it, too */
    bool stuck; /* its actor can never go on: see deadlock.h */
} hf_told;

/* By client, each of them once; claims by owner and client. */
typedef struct hf_records {
    hf_record *all;
    size_t n, room;
    hf_told *claims;
    size_t n_claims, claims_room;
    int64_t now_ms; /* the wall clock when they were read */
    bool failed;    /* out of memory */
} hf_records;

/* An hf_record_fn that collects into the hf_records it is given; a client's
 * first record counts.  Then _sort, which says whether there was memory. */
void hf__records_add(void *records, const hf_identity *who, const char *doing);
int hf__records_sort(hf_records *records);
void hf__records_free(hf_records *records);

/* By its number; NULL: not known. */
const hf_record *hf__records_client(const hf_records *records,
                                    const char *client, size_t length);

/* The claim that goes by this owner, as lists tell it, under this name; NULL:
 * none is known. */
hf_told *hf__records_find(const hf_records *records, const char *owner,
                          const char *name);

#endif
