/* SPDX-License-Identifier: MIT
 *
 * engine.h - requests to one server over a few shared connections.
 *
 * As many links as there are cores, at most four, opened when the others are
 * busy.  A thread keeps to its link, takes an idle one if that is busy, and
 * joins the others on the first when there are many. */
#ifndef HF_REDIS_ENGINE_H
#define HF_REDIS_ENGINE_H

#include "server.h"

typedef struct hf_engine hf_engine;

/* Connects once. */
int hf__engine_new(hf_engine **ret, hf_server *server, hf_time by,
                   hf_error *err);

/* Waits a moment for what was posted; after `forked` only closes. */
void hf__engine_free(hf_engine *e, bool forked);

/* A plain command. */
int hf__engine_ask(hf_engine *e, int argc, const char *const *argv,
                   redisReply **ret, hf_time by, hf_error *err);

/* Runs a script.  OK: *ret is yours, and no error.  HF_EDOUBT: no answer;
 * otherwise err says why it certainly was not done. */
int hf__engine_call(hf_engine *e, const hf_call *call, redisReply **ret,
                    hf_time by, hf_error *err);

/* Posts a release; see hf__poster_release.  Until it is answered, requests for
 * the name take the same way behind it. */
int hf__engine_post(hf_engine *e, const hf_call *call, hf_time until,
                    hf_error *err);

/* Asks for the time, if it is time to. */
void hf__engine_set_clock(hf_engine *e, hf_time by);

#endif
