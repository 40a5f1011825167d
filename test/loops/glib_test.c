/* SPDX-License-Identifier: MIT
 *
 * glib_test.c - the adapter for GLib, in a context of its own. */
#include "loop.h"

#include "holdfast/adapters/glib.h"

#include <assert.h>
#include <stdlib.h>

static GMainContext *context;
static GMainLoop *loop;
static GSource *timer;
static hf_glib *all[HF_LOOP_CLIENTS];

static gboolean tick(gpointer unused) {
    (void)unused;
    hf_loop_tick();
    return G_SOURCE_CONTINUE;
}

void hf_loop_open(void) {
    context = g_main_context_new();
    loop = g_main_loop_new(context, FALSE);
    timer = g_timeout_source_new(1);
    g_source_set_callback(timer, tick, NULL, NULL);
    g_source_attach(timer, context);
}

void hf_loop_run(void) {
    g_main_loop_run(loop);
}

void hf_loop_stop(void) {
    g_main_loop_quit(loop);
}

int hf_loop_attach(int i, hf_client *client) {
    all[i] = malloc(sizeof *all[i]);
    assert(all[i] != NULL);
    return hf_glib_attach(all[i], context, client);
}

void hf_loop_detach(int i) {
    hf_glib_detach(all[i]);
    hf_glib_detach(all[i]);
    free(all[i]);
    all[i] = NULL;
}

void hf_loop_close(void) {
    g_source_destroy(timer);
    g_source_unref(timer);
    g_main_loop_unref(loop);
    g_main_context_unref(context);
}

void hf_loop_fork(void) {
}

HF_LOOP_SUITE()
