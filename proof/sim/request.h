/* SPDX-License-Identifier: MIT
 *
 * request.h - what goes over the simulated network, shared by its two ends. */
#ifndef HF_SIM_REQUEST_H
#define HF_SIM_REQUEST_H

#include "store.h"

typedef enum sim_verb {
    SIM_ATTEMPT,
    SIM_WATCH,
    SIM_UNWATCH,
    SIM_RENEW,
    SIM_RELEASE,
    SIM_COUNT,
    SIM_PING
} sim_verb;

/* A request and its answer.  It lives as long as somebody refers to it: who
 * asks, the messages under way, the log of the server. */
typedef struct sim_request {
    int refs;
    sim_link *link;
    sim_verb verb;
    bool waits;
    hf_how how;
    hf_count_op op;
    int64_t value;
    uint32_t call;    /* of the history */
    uint64_t session; /* SIM_SESSION: in which it was asked */

    struct sim_request *next; /* of those that wait for an answer */
    sim_fiber *asker;         /* NULL: nobody waits */
    bool replying, answered, cut;

    /* The answer. */
    int result;
    bool expired; /* the session had ended */
    int64_t answer;

    size_t n;
    struct sim_asked {
        hf_claim claim; /* as asked; its name is … */
        hf_claim told;  /* as answered */
        char name[40];
    } of[];
} sim_request;

/* Somebody who listens. */
typedef struct sim_ear {
    struct sim_ear *next;
    hf_kind kind;
    uint64_t owner;
    int refs;
    bool known;       /* to the server */
    int64_t sequence; /* at the server: of the request that made it */
    char name[40];
} sim_ear;

/* What a waiter is told. */
typedef struct sim_notice {
    struct sim_notice *next;
    sim_link *link;
    hf_kind kind;
    uint64_t owner, token; /* token: it was granted */
    hf_time until;         /* true time */
    char name[40];
} sim_notice;

enum { SIM_SESSION_MS = 4000 };

struct sim_link {
    size_t number; /* from 0 */
    sim_process *process;
    const hf_host *host; /* the client's */

    /* The client's end. */
    sim_request *waiting;
    sim_request *owed; /* SIM_SESSION: releases that were not confirmed */
    sim_notice *inbox;
    sim_ear *ears;
    sim_fiber *receiver, *pinger;
    bool closing, reconnects, shaken;
    hf_time cut_off_until;
    uint64_t session;
    int64_t sequence;     /* of watches: they must not overtake each other */
    hf_time last_arrival; /* SIM_SESSION */

    /* The server's end. */
    hf_host at_server;
    uint64_t server_session; /* 0: none */
    hf_time session_until;   /* by the server's clock */
    sim_ear *watches;
};

extern struct sim_state {
    sim_flavour flavour;
    sim_network network;
    bool up;
    sim_process process; /* the server's */
    sim_link *links[128];
    size_t n_links;
    bool ended;
} sim_state;

/* ---- network.c --------------------------------------------------------- */

sim_request *sim_request_new(sim_link *link, sim_verb verb,
                             hf_claim *const *claims, size_t n);
void sim_request_put(sim_request *r);

/* On its way to the server, if it gets there. */
void sim_send(sim_request *r);
/* On its way back, likewise. */
void sim_reply(sim_request *r);
void sim_notify(sim_link *link, const sim_notice *what);

/* Of this kind, name and owner in the list. */
sim_ear **sim_ear_find(sim_ear **list, hf_kind kind, const char *name,
                       uint64_t owner);
sim_ear *sim_ear_add(sim_ear **list, hf_kind kind, const char *name,
                     uint64_t owner);

/* ---- server.c ---------------------------------------------------------- */

/* A request has arrived.  Loop. */
void sim_arrive(sim_request *r);
/* A client has come, or its connection is gone. */
void sim_server_meet(sim_link *link);
void sim_server_hang_up(sim_link *link);

#endif
