/* SPDX-License-Identifier: MIT
 *
 * uv.h - a holdfast client in a loop of libuv.
 *
 *     hf_uv locks;
 *     hf_uv_attach(&locks, loop, client);
 *     uv_run(loop, UV_RUN_DEFAULT);
 *
 * What was begun by hf_…_async is told in uv_run.  A callback may do anything:
 * to close the client, in a callback or elsewhere, detach it, then call
 * hf_close.  Several clients may share a loop.
 *
 * The thread of the loop attaches and detaches.  uv_run goes on as long as a
 * client is attached; uv_unref((uv_handle_t *)&locks.poll) changes that. */
#ifndef HOLDFAST_ADAPTERS_UV_H
#define HOLDFAST_ADAPTERS_UV_H

#include "../../holdfast.h"

#include <uv.h>

typedef struct hf_uv hf_uv;
typedef void hf_uv_gone_fn(hf_uv *a);

struct hf_uv {
    uv_poll_t poll;      /* its data is ours */
    hf_client *client;   /* NULL: detached   */
    hf_uv_gone_fn *gone; /* set by detach    */
    void *data;          /* the caller's     */
};

static inline void hf_uv_ready(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    hf_process(((hf_uv *)poll->data)->client); /* `a` may be gone afterwards */
}

static inline void hf_uv_closed(uv_handle_t *handle) {
    hf_uv *a = (hf_uv *)handle->data;
    if (a->gone != NULL)
        a->gone(a);
}

/* Watches the client in `loop`.  HF_OK, or an HF_E…, and then it is not
 * attached. */
static inline int hf_uv_attach(hf_uv *a, uv_loop_t *loop, hf_client *client) {
    int fd = hf_fd(client);
    a->client = NULL;
    a->gone = NULL;
    if (fd < 0)
        return fd;
    if (uv_poll_init(loop, &a->poll, fd) != 0)
        return HF_ESYSTEM;
    a->poll.data = a;
    a->client = client;
    /* Fails only for a descriptor that another handle has, which init tells. */
    uv_poll_start(&a->poll, UV_READABLE, hf_uv_ready);
    return HF_OK;
}

/* Before hf_close, which may follow at once.  The memory of `a` is the loop's
 * until `gone`, unless NULL, is told in a later turn: so a loop that has stopped
 * must run once more before `a` is freed or uv_loop_close is called.  Detaching
 * twice does nothing, and tells nobody. */
static inline void hf_uv_detach(hf_uv *a, hf_uv_gone_fn *gone) {
    if (a->client == NULL)
        return;
    a->client = NULL;
    a->gone = gone;
    uv_close((uv_handle_t *)&a->poll, hf_uv_closed);
}

#endif
