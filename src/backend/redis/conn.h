/* SPDX-License-Identifier: MIT
 *
 * conn.h - one connection to a Redis server: a socket, perhaps TLS, and
 * hiredis as the codec.
 *
 * Nothing here waits except where there is a deadline.  One thread may send
 * while another receives; two may not do the same. */
#ifndef HF_REDIS_CONN_H
#define HF_REDIS_CONN_H

#include <hiredis/hiredis.h>
#include <pthread.h>

#include "address.h"

typedef struct hf_conn {
    const hf_address *address;
    int fd;
    SSL *ssl;               /* NULL: plain */
    pthread_mutex_t ssl_mu; /* an SSL serves one thread at a time */
    redisReader *reader;
    redisReplyObjectFunctions makers; /* of what it reads, with a limit */
    __typeof__(((redisReplyObjectFunctions *)0)->createArray) make_array;
    hf_time heard; /* when bytes last came: the receiver's */
    char why[160]; /* what broke it: the receiver's */
} hf_conn;

/* Connects, shakes hands, logs in and selects the database. */
int hf__conn_open(hf_conn **ret, const hf_address *a, hf_tls *tls, hf_time by,
                  hf_error *err);
void hf__conn_close(hf_conn *conn);

/* Makes whoever waits for bytes see the end. */
void hf__conn_cut(hf_conn *conn);

/* Bytes taken; 0: not now; -1: broken, and the receiver will see why. */
ssize_t hf__conn_send(hf_conn *conn, const char *bytes, size_t size);

/* Takes in what has arrived.  1: something; 0: nothing; -1: broken. */
int hf__conn_fill(hf_conn *conn);

/* The next reply of what was taken in.  1: there it is; 0: not complete;
 * -1: broken. */
int hf__conn_next(hf_conn *conn, redisReply **ret);

/* Waits for the socket.  1: ready; 0: `by` has come. */
int hf__conn_wait(hf_conn *conn, short events, hf_time by);

/* Sends n commands and fills n replies: for greetings and rare errands.  On
 * failure no reply is left.  HF_EDOUBT: no answer. */
int hf__conn_ask(hf_conn *conn, const char *bytes, size_t size,
                 redisReply **replies, size_t n, hf_time by, hf_error *err);

/* ---- commands ---------------------------------------------------------- */

/* Commands one behind the other, ready to be sent. */
typedef struct hf_pipe {
    char *bytes;
    size_t len, cap, n;
    bool failed; /* out of memory */
} hf_pipe;

void hf__pipe_add(hf_pipe *p, int argc, const char *const *argv);
void hf__pipe_free(hf_pipe *p);

/* hf__pipe_add(p, "AUTH", user, password) without counting. */
#define HF_PIPE(p, ...)                                                        \
    hf__pipe_add((p),                                                          \
                 (int)(sizeof((const char *const[]){__VA_ARGS__}) /            \
                       sizeof(const char *)),                                  \
                 (const char *const[]){__VA_ARGS__})

#endif
