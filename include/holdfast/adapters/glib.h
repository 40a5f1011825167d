/* SPDX-License-Identifier: MIT
 *
 * glib.h - a holdfast client in a main loop of GLib.
 *
 *     hf_glib locks;
 *     hf_glib_attach(&locks, NULL, client);
 *     g_main_loop_run(loop);
 *
 * What was begun by hf_…_async is told in the main loop.  A callback may do
 * anything: to close the client, in a callback or elsewhere, detach it, then
 * call hf_close.  Several clients may share a context.
 *
 * The thread of the context attaches and detaches.  A main loop that is run
 * inside of a callback, as dialogs do, serves everything but this client:
 * hf_process is not for its own callbacks. */
#ifndef HOLDFAST_ADAPTERS_GLIB_H
#define HOLDFAST_ADAPTERS_GLIB_H

#include "../../holdfast.h"

#include <glib-unix.h>

typedef struct hf_glib {
    hf_client *client;
    GSource *in; /* NULL: detached */
} hf_glib;

static inline gboolean hf_glib_ready(gint fd, GIOCondition what, gpointer a) {
    (void)fd, (void)what;
    hf_process(((hf_glib *)a)->client); /* `a` may be gone afterwards */
    return G_SOURCE_CONTINUE;           /* also where it was detached */
}

/* Watches the client in `context`; NULL is the default one.  HF_OK, or an
 * HF_E…, and then it is not attached. */
static inline int hf_glib_attach(hf_glib *a, GMainContext *context,
                                 hf_client *client) {
    int fd = hf_fd(client);
    a->client = client;
    a->in = NULL;
    if (fd < 0)
        return fd;
    a->in = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(a->in, G_SOURCE_FUNC(hf_glib_ready), a, NULL);
    g_source_attach(a->in, context);
    return HF_OK;
}

/* Before hf_close.  `a` may be freed at once.  Detaching twice does nothing. */
static inline void hf_glib_detach(hf_glib *a) {
    if (a->in == NULL)
        return;
    g_source_destroy(a->in);
    g_source_unref(a->in);
    a->in = NULL;
}

#endif
