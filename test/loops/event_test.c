/* SPDX-License-Identifier: MIT
 *
 * event_test.c - the adapter for libevent. */
#include "loop.h"

#include "holdfast/adapters/event.h"

#include <assert.h>
#include <stdlib.h>

static struct event_base *base;
static struct event *timer;
static hf_libevent *all[HF_LOOP_CLIENTS];

static void tick(evutil_socket_t fd, short what, void *unused) {
    (void)fd, (void)what, (void)unused;
    hf_loop_tick();
}

void hf_loop_open(void) {
    struct timeval each_ms = {0, 1000};
    base = event_base_new();
    timer = event_new(base, -1, EV_PERSIST, tick, NULL);
    assert(timer != NULL && event_add(timer, &each_ms) == 0);
}

void hf_loop_run(void) {
    event_base_dispatch(base);
}

void hf_loop_stop(void) {
    event_base_loopbreak(base);
}

int hf_loop_attach(int i, hf_client *client) {
    all[i] = malloc(sizeof *all[i]);
    assert(all[i] != NULL);
    return hf_libevent_attach(all[i], base, client);
}

void hf_loop_detach(int i) {
    hf_libevent_detach(all[i]);
    hf_libevent_detach(all[i]);
    free(all[i]);
    all[i] = NULL;
}

void hf_loop_close(void) {
    event_free(timer);
    event_base_free(base);
}

void hf_loop_fork(void) {
    assert(event_reinit(base) == 0);
}

HF_LOOP_SUITE()
