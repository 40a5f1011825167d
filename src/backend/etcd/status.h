/* SPDX-License-Identifier: MIT
 *
 * status.h - what the end of a call means for whoever asked. */
#ifndef HF_ETCD_STATUS_H
#define HF_ETCD_STATUS_H

#include "grpc.h"

typedef enum hf_cure {
    HF_NO_CURE,   /* this is the answer                              */
    HF_ELSEWHERE, /* another server, or the same one later, may know */
    HF_NEW_TOKEN  /* who we are must be said again                   */
} hf_cure;

typedef struct hf_ruling {
    int code;        /* HF_OK, or what to tell                    */
    bool maybe_done; /* the store may have acted on it all the same */
    hf_cure cure;
} hf_ruling;

/* `done`: the call has ended. */
hf_ruling hf__status_rule(const hf_call *c, bool done);

/* Fills err; `where` is the server. */
int hf__status_fail(const hf_call *c, bool done, const char *where,
                    hf_error *err);

/* The server's words have this in them. */
bool hf__status_says(const hf_call *c, const char *words);

#endif
