/* SPDX-License-Identifier: MIT
 *
 * store.h - a store in the simulated world: a server, a network that loses and
 * delays, and the backend that a client of it has.
 *
 * What the server keeps and decides is the memory store, the contract as a
 * program, which is asked by a request when that arrives.  Here is everything
 * that can go wrong around it. */
#ifndef HF_SIM_STORE_H
#define HF_SIM_STORE_H

#include "../../include/holdfast/backend.h"
#include "loop.h"

/* What a sort of store is like. */
typedef enum sim_flavour {
    /* As Redis: leases; only fair locks and those who insist keep a place in
     * line, which lapses unless it is kept up; a message is lost where nobody
     * listens. */
    SIM_LEASE,
    /* As ZooKeeper and etcd: everybody has a place, and all that a client has
     * ends with its session. */
    SIM_SESSION,
    /* As a database: everybody has a place, which lapses. */
    SIM_TABLE
} sim_flavour;

/* What the network does: permille of messages, and times. */
typedef struct sim_network {
    hf_time least, most; /* one way */
    int slow;            /* so many take up to … */
    hf_time slowest;
    int lose_request, lose_reply, lose_notice;
    int repeat; /* requests that arrive twice */
} sim_network;

/* What went wrong, for the report. */
#define SIM_FAULTS(X)                                                          \
    X(LOST_REQUEST, "requests lost")                                           \
    X(LOST_REPLY, "replies lost")                                              \
    X(LOST_NOTICE, "notifications lost")                                       \
    X(REPEATED, "requests repeated")                                           \
    X(SLOW, "messages late")                                                   \
    X(CUT, "connections cut")                                                  \
    X(PARTITION, "clients cut off")                                            \
    X(KILL, "processes killed")                                                \
    X(PAUSE, "processes stopped")                                              \
    X(RESTART, "restarts")                                                     \
    X(FORGOT, "restarts without memory")                                       \
    X(FAILOVER, "failovers that lost writes")                                  \
    X(STEP, "steps of the server's clock")                                     \
    X(EXPIRED, "sessions expired")

typedef enum sim_fault {
#define X(id, text) SIM_##id,
    SIM_FAULTS(X)
#undef X
        SIM_N_FAULTS
} sim_fault;

extern uint64_t sim_faults[SIM_N_FAULTS];

/* A client's tie to the server. */
typedef struct sim_link sim_link;

/* ---- the server -------------------------------------------------------- */

/* PLACED: the server gave the asker of `call` a place in a fair line. */
typedef void sim_placed_fn(uint32_t process, uint32_t call);

/* `copied`: a copy follows it, that could take over. */
void sim_server_begin(sim_flavour flavour, sim_network network, bool copied,
                      sim_placed_fn *placed);
void sim_server_end(void);

/* Its faults.  Restart: away for so long; then it knows all, or what it knew
 * `lost` before it went (a failover to a copy that lags), or nothing. */
enum { SIM_FORGETS = -1 };
void sim_server_restart(hf_time away, hf_time lost);
void sim_server_step(hf_time by); /* its clock */
void sim_server_network(sim_network network);

/* How many claims stand in its lines. */
int64_t sim_server_leftovers(void);

/* Faults of a link. */
void sim_link_cut(sim_link *link);
void sim_link_partition(sim_link *link, hf_time lasts);
void sim_link_kill(sim_link *link);
bool sim_link_is_cut_off(const sim_link *link);

/* ---- the client -------------------------------------------------------- */

/* Opens a client of the server; the calling fiber's process is whose it is. */
int sim_open(hf_client **ret, sim_link **link, const hf_options *options,
             hf_error *err);

extern bool sim_traces;
void sim_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
