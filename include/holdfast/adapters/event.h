/* SPDX-License-Identifier: MIT
 *
 * event.h - a holdfast client in a loop of libevent.
 *
 *     hf_libevent locks;
 *     hf_libevent_attach(&locks, base, client);
 *     event_base_dispatch(base);
 *
 * What was begun by hf_…_async is told in event_base_loop.  A callback may do
 * anything: to close the client, in a callback or elsewhere, detach it, then
 * call hf_close.  Several clients may share a base.
 *
 * The thread of the loop attaches and detaches; the base needs no locks for
 * it.  The loop goes on as long as a client is attached. */
#ifndef HOLDFAST_ADAPTERS_EVENT_H
#define HOLDFAST_ADAPTERS_EVENT_H

#include "../../holdfast.h"

#include <event2/event.h>

typedef struct hf_libevent {
    hf_client *client;
    struct event *in; /* NULL: detached */
} hf_libevent;

static inline void hf_libevent_ready(evutil_socket_t fd, short what, void *a) {
    (void)fd, (void)what;
    hf_process(((hf_libevent *)a)->client); /* `a` may be gone afterwards */
}

/* Watches the client in `base`.  HF_OK, or an HF_E…, and then it is not
 * attached. */
static inline int hf_libevent_attach(hf_libevent *a, struct event_base *base,
                                     hf_client *client) {
    int fd = hf_fd(client);
    a->client = client;
    a->in = NULL;
    if (fd < 0)
        return fd;
    a->in = event_new(base, fd, EV_READ | EV_PERSIST, hf_libevent_ready, a);
    if (a->in == NULL)
        return HF_ENO_MEMORY;
    if (event_add(a->in, NULL) == 0)
        return HF_OK;
    event_free(a->in);
    a->in = NULL;
    return HF_ESYSTEM;
}

/* Before hf_close, and before event_base_free.  `a` may be freed at once.
 * Detaching twice does nothing. */
static inline void hf_libevent_detach(hf_libevent *a) {
    if (a->in != NULL)
        event_free(a->in);
    a->in = NULL;
}

#endif
