/* SPDX-License-Identifier: MIT
 *
 * api_hold.c - a lock that is held as long as its connection lives.
 *
 * The answer is one object of JSON on each line: "held" when it is granted,
 * again after it was in doubt, and from time to time; "doubt"; "lost", which
 * is the last.  Whoever hangs up has released it.
 *
 * A client whose host died says nothing, and its connection looks well: so the
 * system must have had an answer to what we wrote within the lease. */
#include "api.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "../cli/moment.h"
#include "lend.h"
#include "stream.h"

static const char *word_of(hf_state state) {
    return state == HF_STATE_HELD  ? "held" :
           state == HF_STATE_DOUBT ? "doubt" :
                                     "lost";
}

static int64_t next_beat(claim *c) {
    int third = c->ttl_ms / 3;
    return moment_now() + (third < BEAT_MS ? third : BEAT_MS);
}

static void write_state(claim *c, hf_state state, FILE *out) {
    json j = {.out = out};
    json_open(&j, NULL, '{');
    json_text(&j, "event", word_of(state));
    lend_write(&j, c);
    json_close(&j, '}');
    fputc('\n', out);
    c->told = (int)state;
    c->beat_at = next_beat(c);
}

static bool fill(void *arg, FILE *out) {
    claim *c = arg;
    hf_state state = (hf_state)atomic_load(&c->state);
    if (state == HF_STATE_HELD && !hf_lock_is_held(c->lock))
        state = HF_STATE_LOST;
    if ((int)state != c->told || moment_now() >= c->beat_at)
        write_state(c, state, out);
    return state != HF_STATE_LOST;
}

static void changed(void *arg, hf_lock *lock, hf_state state, int why) {
    claim *c = arg;
    (void)lock, (void)why;
    atomic_store(&c->state, (int)state);
    streams_wake(c->streams);
}

static void client_gone(void *arg) {
    stream_gone(arg);
}

/* Fails on a Unix socket, where it is not needed. */
static void want_answers(const request *r) {
    unsigned ms = (unsigned)r->claim->ttl_ms;
    setsockopt(request_fd(r), IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

static void take(void *arg) {
    request *r = arg;
    claim *c = r->claim;
    if (lend_take(r)) {
        c->streams = r->console->streams;
        want_answers(r);
        if (stream_begin(r, "application/x-ndjson", fill, c, NULL)) {
            hf_lock_on_state(c->lock, changed, c);
            r->post = hangup_add(r->console->hangup, request_fd(r), client_gone,
                                 r->stream);
        }
    }
    request_back(r);
}

void api_hold(request *r) {
    if (lend_begin(r, true))
        lend_part(r, take);
}
