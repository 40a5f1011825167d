/* SPDX-License-Identifier: MIT
 *
 * hangup.c - who has hung up.
 *
 * A client that closes only its sending side counts as gone, too: over HTTP
 * nobody does that who still wants an answer. */
#include "hangup.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct hangup_post {
    hangup_post *next, **self;
    int fd;
    hangup_fn *gone;
    void *arg;
};

struct hangup {
    pthread_mutex_t mu; /* held while a `gone` runs */
    hangup_post *posts; /* mu */
    int epoll, end;
    pthread_t thread;
};

/* The event was taken before mu was: its post may have been removed. */
static hangup_post *still_there(hangup *l, const void *post) {
    for (hangup_post *p = l->posts; p; p = p->next)
        if (p == post)
            return p;
    return NULL;
}

static void tell(hangup *l, const void *post) {
    hangup_post *p;
    pthread_mutex_lock(&l->mu);
    p = still_there(l, post);
    if (p)
        p->gone(p->arg);
    pthread_mutex_unlock(&l->mu);
}

static void *look(void *arg) {
    hangup *l = arg;
    for (;;) {
        struct epoll_event events[16];
        int n = epoll_wait(l->epoll, events, 16, -1);
        for (int i = 0; i < n; i++) {
            if (!events[i].data.ptr)
                return NULL;
            tell(l, events[i].data.ptr);
        }
    }
}

static int fail(hangup *l, hf_error *err) {
    err->code = HF_ESYSTEM;
    snprintf(err->text, sizeof(err->text), "cannot watch connections: %s",
             strerror(errno));
    if (l && l->epoll >= 0)
        close(l->epoll);
    if (l && l->end >= 0)
        close(l->end);
    free(l);
    return err->code;
}

int hangup_new(hangup **ret, hf_error *err) {
    struct epoll_event end = {.events = EPOLLIN};
    hangup *l = calloc(1, sizeof(*l));
    if (!l)
        return fail(l, err);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->end = eventfd(0, EFD_CLOEXEC);
    if (l->epoll < 0 || l->end < 0 ||
        epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->end, &end) != 0)
        return fail(l, err);
    pthread_mutex_init(&l->mu, NULL);
    errno = pthread_create(&l->thread, NULL, look, l);
    if (errno != 0)
        return fail(l, err);
    *ret = l;
    return HF_OK;
}

void hangup_free(hangup *l) {
    if (!l)
        return;
    if (eventfd_write(l->end, 1) == 0)
        pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->mu);
    close(l->epoll);
    close(l->end);
    free(l);
}

static void link_post(hangup *l, hangup_post *p) {
    p->next = l->posts;
    p->self = &l->posts;
    if (p->next)
        p->next->self = &p->next;
    l->posts = p;
}

static void unlink_post(hangup_post *p) {
    *p->self = p->next;
    if (p->next)
        p->next->self = p->self;
}

hangup_post *hangup_add(hangup *l, int fd, hangup_fn *gone, void *arg) {
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT};
    hangup_post *p = calloc(1, sizeof(*p));
    bool added;
    if (!p)
        return NULL;
    p->fd = fd;
    p->gone = gone;
    p->arg = arg;
    event.data.ptr = p;
    pthread_mutex_lock(&l->mu);
    link_post(l, p);
    added = epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
    if (!added)
        unlink_post(p);
    pthread_mutex_unlock(&l->mu);
    if (!added)
        free(p);
    return added ? p : NULL;
}

void hangup_remove(hangup *l, hangup_post *p) {
    if (!p)
        return;
    pthread_mutex_lock(&l->mu);
    unlink_post(p);
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, p->fd, NULL);
    pthread_mutex_unlock(&l->mu);
    free(p);
}
