/* SPDX-License-Identifier: MIT
 *
 * engine.h - requests to one server over a few shared connections.
 *
 * As many links as there are cores, at most four, opened when the others are
 * busy.  A thread keeps to its link, takes an idle one if that is busy, and
 * joins the others on the first when there are many.  Requests that wait for
 * replicas have a link of their own: WAIT holds up all that comes behind. */
#ifndef HF_REDIS_ENGINE_H
#define HF_REDIS_ENGINE_H

#include "batch.h"
#include "server.h"

typedef struct hf_engine hf_engine;

/* What becomes of a posted release that its server will not carry out because
 * the name has moved, or (`once`) that cannot be reached: sends it where it
 * belongs.  The poster's thread. */
typedef int hf_stray_fn(void *arg, const hf_call *call, hf_time by,
                        hf_error *err);

typedef struct hf_engine_needs {
    hf_server *server;
    bool once;          /* a server that cannot be reached is told of at once */
    int wait_ms;        /* for replicas                             */
    hf_stray_fn *stray; /* NULL: nothing moves                      */
    void *stray_arg;
} hf_engine_needs;

/* Connects with the first request, or with hf__engine_up. */
int hf__engine_new(hf_engine **ret, const hf_engine_needs *needs,
                   hf_error *err);

/* Waits a moment for what was posted; after `forked` only closes. */
void hf__engine_free(hf_engine *e, bool forked);

/* The first half of that: everything still works. */
void hf__engine_settle(hf_engine *e);

/* Is anything posted that is not answered yet? */
bool hf__engine_has_posts(hf_engine *e);

/* Tries to connect, once. */
int hf__engine_up(hf_engine *e, hf_time by, hf_error *err);

/* Breaks all connections; see hf__link_cut. */
void hf__engine_cut(hf_engine *e);
void hf__engine_leave(hf_engine *e); /* see hf__link_leave */

/* Sends commands that belong together; the replies, errors among them, are
 * yours.  HF_EDOUBT: no answer.  HF_UNSENT: it certainly did not leave, and
 * err says why. */
int hf__engine_send(hf_engine *e, const hf_request *q, redisReply **replies,
                    hf_time by, hf_error *err);

/* A plain command. */
int hf__engine_ask(hf_engine *e, int argc, const char *const *argv,
                   redisReply **ret, hf_time by, hf_error *err);

/* Runs a script; `asking`: with ASKING and the text in front of it, for a name
 * that is on its way to this server. */
int hf__engine_run(hf_engine *e, const hf_call *call, bool asking,
                   redisReply **ret, hf_time by, hf_error *err);

/* Sends n calls of scripts one behind the other, all by their hash, and one
 * WAIT behind them if they want replicas; *confirmed then says of all whether
 * enough did.  Otherwise as hf__engine_send. */
int hf__engine_run_all(hf_engine *e, const char *bytes, size_t len, size_t n,
                       int replicas, bool *confirmed, redisReply **replies,
                       hf_time by, hf_error *err);

/* Posts a release; see hf__poster_release.  Until it is answered, requests for
 * the name take the same way behind it. */
int hf__engine_post(hf_engine *e, const hf_call *call, hf_time until,
                    hf_error *err);

/* Asks for the time, and for the replicas, if it is time to. */
void hf__engine_set_clock(hf_engine *e, hf_time by);

#endif
