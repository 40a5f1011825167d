/* SPDX-License-Identifier: MIT
 *
 * grpc.h - one HTTP/2 connection that carries calls of gRPC.
 *
 * Here is no thread, no lock and no waiting: whoever owns the connection
 * flushes and fills it, and lets nobody else in meanwhile.  Calls are told of
 * what happens to them from within those two.
 *
 * A call is a stream: messages go out, messages come in, and a status ends it.
 * For a question with one answer the owner looks only at the end. */
#ifndef HF_ETCD_GRPC_H
#define HF_ETCD_GRPC_H

#include <openssl/ssl.h>

#include "../../../include/holdfast/backend.h"
#include "wire.h"

typedef struct hf_grpc hf_grpc;
typedef struct hf_call hf_call;

enum { HF_GRPC_NO_STATUS = -1 };

struct hf_call {
    /* Asked; lives until the call has ended. */
    const char *path;  /* "/etcdserverpb.KV/Txn"                       */
    const char *token; /* who asks; NULL: nobody                       */
    bool stays_open;   /* more messages will follow the first          */

    /* Told of every message; NULL: they stay in `in`.  And once of the end,
     * unless it was dropped. */
    void (*message)(hf_call *c, hf_bytes message);
    void (*ended)(hf_call *c);
    void *arg;

    /* How it ended. */
    int status;     /* of gRPC; HF_GRPC_NO_STATUS: none came            */
    int http;       /* the status of HTTP, if it was not 200            */
    bool unsent;    /* the server certainly has not acted on it         */
    bool broken;    /* what came was no gRPC, or too long               */
    char text[160]; /* the server's words                               */

    /* The connection's own. */
    hf_call *next, **link;
    int32_t id;
    hf_pb out, in;
    size_t out_at;
};

/* Takes the socket, and the SSL if it is not NULL, on success. */
int hf__grpc_new(hf_grpc **ret, int fd, SSL *ssl, const char *authority,
                 hf_error *err);

/* Ends all calls first. */
void hf__grpc_free(hf_grpc *g);

/* Begins a call with this message.  False: it cannot be begun here, and has
 * not ended either. */
bool hf__grpc_start(hf_grpc *g, hf_call *c, const hf_pb *message);

/* One more message.  False: out of memory. */
bool hf__grpc_say(hf_grpc *g, hf_call *c, const hf_pb *message);

/* Nobody wants to know any more; `ended` is not called. */
void hf__grpc_drop(hf_grpc *g, hf_call *c);

/* The answer to a question: what came in its only message.  False: none. */
bool hf__grpc_answer(const hf_call *c, hf_bytes *ret);
void hf__grpc_clear(hf_call *c); /* frees what a call has gathered */

/* Sends what there is; takes in what has come (1: something; 0: nothing).
 * Negative: broken, see hf__grpc_why. */
int hf__grpc_flush(hf_grpc *g);
int hf__grpc_fill(hf_grpc *g);

int hf__grpc_fd(const hf_grpc *g);
short hf__grpc_events(const hf_grpc *g);  /* to poll for               */
bool hf__grpc_usable(const hf_grpc *g);   /* it takes new calls        */
hf_time hf__grpc_heard(const hf_grpc *g); /* when something came last  */
const char *hf__grpc_why(const hf_grpc *g);

/* Asks whether the server is there; the answer counts as heard.  Not more
 * often than every five seconds, or etcd hangs up. */
void hf__grpc_ping(hf_grpc *g);

/* The only thing to do with it in a forked child. */
void hf__grpc_abandon(hf_grpc *g);

#endif
