/* SPDX-License-Identifier: MIT
 *
 * handle.h - one ZooKeeper session at a time, and the next when it is over.
 *
 * libzookeeper keeps a session alive and finds another server when one fails;
 * but a session that the servers have ended stays ended, and its handle is of
 * no use any more.  A thread of ours then makes the next one: a generation. */
#ifndef HF_ZOOKEEPER_HANDLE_H
#define HF_ZOOKEEPER_HANDLE_H

#include "../../../include/holdfast/backend.h"

#ifndef THREADED
#define THREADED /* which of its two libraries zookeeper.h describes */
#endif
#include <zookeeper/zookeeper.h>

typedef struct hf_zk hf_zk;

typedef struct hf_zk_options {
    const char *hosts; /* "h1:2181,h2:2181" */
    const char *auth;  /* "user:password"; NULL: nobody in particular */
    int session_ms;    /* wished; the servers have their limits */
} hf_zk_options;

/* Who hears of it; none of our locks is held. */
typedef struct hf_zk_host {
    const hf_host *host; /* who keeps the log */

    /* On libzookeeper's thread; `gone`: the node was deleted. */
    void (*fired)(void *arg, uint64_t watch, bool gone);
    void (*renewed)(void *arg, uint64_t generation); /* these on ours */
    void (*reconnected)(void *arg);

    /* Watches that were set through handles below this one hear nothing any
     * more; the session goes on. */
    void (*replaced)(void *arg, uint64_t handle);
    void *arg;
} hf_zk_host;

/* Waits for the first session.  What it is given is copied. */
int hf__zk_open(hf_zk **ret, const hf_zk_options *options,
                const hf_zk_host *host, hf_time by, hf_error *err);

/* Ends the session.  Nobody is inside, and nothing is called afterwards. */
void hf__zk_close(hf_zk *zk);

uint64_t hf__zk_generation(hf_zk *zk);

/* As the server granted it; what was wished while there is none. */
int hf__zk_timeout_ms(hf_zk *zk);

/* For how long an answer proves that the session lives, counted from before
 * the question: servers that follow pass on what they hear only every half
 * tick, and a session has two ticks at least. */
int hf__zk_session_ms(hf_zk *zk);
hf_time hf__zk_good_until(hf_zk *zk);

/* "10.0.0.1:2181", or "" while there is none. */
void hf__zk_server(hf_zk *zk, char *buf, size_t size);

/* ---- for round.c ------------------------------------------------------- */

typedef struct hf_session {
    hf_zk *zk;
    zhandle_t *zh;
    uint64_t generation;
    uint64_t handle; /* which one of this client; the session may have several,
                        one after the other */
    int64_t id;      /* the owner of what it makes */
    int timeout_ms;  /* granted */
    int inside;      /* calls of zoo_… under way: it is not closed before */
    bool connected, known, over, refused;
    bool unsealed;       /* its socket may be inherited */
    bool retired;        /* another handle has the session */
    hf_time stuck_since; /* a server took the connection and is silent; 0: no */
} hf_session;

/* A session that is connected, not closed before it is left.  HF_EDOWN: there
 * is none in time. */
int hf__zk_enter(hf_session **ret, hf_zk *zk, hf_time by, hf_error *err);
void hf__zk_leave(hf_session *s);

/* In seal.c: its socket is closed in programs that are started. */
void hf__zk_seal(hf_session *s);

/* A majority answered what was sent then, in that generation. */
void hf__zk_answered(hf_zk *zk, uint64_t generation, hf_time sent);

/* For watches: the context is the watch's number. */
void hf__zk_watcher(zhandle_t *zh, int type, int state, const char *path,
                    void *watch);

/* The servers' clock, in ms since 1970, as last seen in an answer; an hour of
 * age is no harm, a host's clock is about as good.  False: not seen yet. */
void hf__zk_saw_clock(hf_zk *zk, int64_t ms);
bool hf__zk_clock(hf_zk *zk, int64_t *ms);

#endif
