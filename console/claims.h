/* SPDX-License-Identifier: MIT
 *
 * claims.h - the locks that clients have taken through us.
 *
 * A claim is known by a secret, which only its client has.  Its lease is the
 * store's, and only the client makes it longer: we never renew for somebody of
 * whom we hear nothing.  A claim of a `hold` lives as long as its connection,
 * and is kept alive meanwhile. */
#ifndef CONSOLE_CLAIMS_H
#define CONSOLE_CLAIMS_H

#include <stdatomic.h>

#include "../include/holdfast.h"
#include "wish.h"

enum { CLAIM_SECRET = 33 }; /* with its NUL */

typedef struct claims claims;

typedef struct claim {
    struct claim *next, **self; /* the claims' lock; self NULL: not in it */
    int refs;                   /* likewise */
    claims *all;
    char secret[CLAIM_SECRET];
    hf_lock *lock;
    hf_kind kind;
    int wait_ms;
    atomic_int ttl_ms;
    bool hold;        /* lives with its connection                       */
    atomic_bool gone; /* its client is, or we are: give up               */
    atomic_bool held; /* it was granted                                  */
    atomic_int state; /* of a hold: an hf_state                          */
    int told;         /* of a hold, by its stream: the state; -1: none   */
    int64_t beat_at;  /* of a hold, by its stream                        */
    struct streams *streams;  /* of a hold: to be woken              */
    _Atomic(int64_t) past_ms; /* lost at that moment; 0: not         */
} claim;

claims *claims_new(hf_client *client, size_t most); /* NULL: no memory   */

/* Releases what is held. */
void claims_free(claims *all);

/* Once in a while: gives up waits that nobody waits for, lets lost locks go,
 * and forgets them a minute later. */
void claims_tend(claims *all);

/* Every wait ends. */
void claims_cancel(claims *all);
size_t claims_count(claims *all);

/* A claim that nobody holds yet; HF_ECROWDED: too many. */
int claim_new(claim **ret, claims *all, const char *name, const wish *w,
              int ttl_ms, bool hold, hf_error *err);

/* By its secret; NULL: none.  Let go of it. */
claim *claim_find(claims *all, const char *name, const char *secret);
void claim_drop(claim *c); /* may ask the store */

/* Nobody finds it any more; false: that was said before. */
bool claim_forget(claim *c);

/* Its client has hung up. */
void claim_gone(claim *c);

#endif
