/* SPDX-License-Identifier: MIT
 *
 * uv_test.c - the adapter for libuv. */
#include "loop.h"

#include "holdfast/adapters/uv.h"

#include <assert.h>
#include <stdlib.h>

static uv_loop_t loop;
static uv_timer_t timer;
static hf_uv *all[HF_LOOP_CLIENTS];

/* The first loop opens a pipe for the signals of all, which stays; before
 * descriptors are counted. */
static __attribute__((constructor)) void open_the_pipe(void) {
    assert(uv_loop_init(&loop) == 0 && uv_loop_close(&loop) == 0);
}

static void tick(uv_timer_t *unused) {
    (void)unused;
    hf_loop_tick();
}

void hf_loop_open(void) {
    assert(uv_loop_init(&loop) == 0 && uv_timer_init(&loop, &timer) == 0);
    assert(uv_timer_start(&timer, tick, 1, 1) == 0);
}

void hf_loop_run(void) {
    uv_run(&loop, UV_RUN_DEFAULT);
}

void hf_loop_stop(void) {
    uv_stop(&loop);
}

int hf_loop_attach(int i, hf_client *client) {
    all[i] = malloc(sizeof *all[i]);
    assert(all[i] != NULL);
    return hf_uv_attach(all[i], &loop, client);
}

static void gone(hf_uv *a) {
    free(a);
}

static void never(hf_uv *a) {
    (void)a;
    assert(!"told twice");
}

void hf_loop_detach(int i) {
    bool was = all[i]->client != NULL;
    hf_uv_detach(all[i], gone);
    hf_uv_detach(all[i], never);
    if (!was)
        free(all[i]);
    all[i] = NULL;
}

void hf_loop_close(void) {
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert(uv_loop_close(&loop) == 0);
}

void hf_loop_fork(void) {
    assert(uv_loop_fork(&loop) == 0);
}

HF_LOOP_SUITE()
