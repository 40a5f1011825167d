/* SPDX-License-Identifier: MIT
 *
 * epoll.h - a holdfast client in a loop around epoll_wait.
 *
 *     hf_epoll locks;
 *     hf_epoll_attach(&locks, epfd, client);
 *     while ((n = epoll_wait(epfd, due, 16, -1)) >= 0 || errno == EINTR)
 *         for (int i = 0; i < n; i++)
 *             if (due[i].data.ptr == &locks)
 *                 hf_epoll_ready(&locks);
 *             else
 *                 …
 *
 * What was begun by hf_…_async is told in hf_epoll_ready.  A callback may do
 * anything: to close the client, in a callback or elsewhere, detach it, then
 * call hf_close.  Several clients may share a set.
 *
 * One thread runs the set, and attaches and detaches.  Leave the events as they
 * are: with EPOLLET what a callback adds would not be told. */
#ifndef HOLDFAST_ADAPTERS_EPOLL_H
#define HOLDFAST_ADAPTERS_EPOLL_H

#include "../../holdfast.h"

#include <sys/epoll.h>

typedef struct hf_epoll {
    hf_client *client; /* NULL: detached */
    int epfd;
} hf_epoll;

/* Watches the client in `epfd`, with `a` as the event's data.ptr.  HF_OK, or
 * an HF_E…, and then it is not attached. */
static inline int hf_epoll_attach(hf_epoll *a, int epfd, hf_client *client) {
    struct epoll_event in;
    int fd = hf_fd(client);
    a->client = NULL;
    a->epfd = epfd;
    in.events = EPOLLIN;
    in.data.ptr = a;
    if (fd < 0)
        return fd;
    if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &in) != 0)
        return HF_ESYSTEM;
    a->client = client;
    return HF_OK;
}

/* Before hf_close.  An event of this client that epoll_wait has already
 * returned may still be handed to hf_epoll_ready, as long as `a` lives: it does
 * nothing then.  So does detaching twice. */
static inline void hf_epoll_detach(hf_epoll *a) {
    struct epoll_event unused; /* kernels before 2.6.9 want one */
    int fd = a->client != NULL ? hf_fd(a->client) : -1;
    a->client = NULL;
    /* Negative in a forked child, too: its set is the parent's, which would
     * hear nothing any more. */
    if (fd >= 0)
        epoll_ctl(a->epfd, EPOLL_CTL_DEL, fd, &unused);
}

/* Tells what is due.  `a` may be gone when this returns. */
static inline void hf_epoll_ready(hf_epoll *a) {
    if (a->client != NULL)
        hf_process(a->client);
}

#endif
