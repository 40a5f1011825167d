/* SPDX-License-Identifier: MIT
 *
 * epoll_test.c - the adapter for epoll, in the smallest loop there is. */
#include "loop.h"

#include "holdfast/adapters/epoll.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int set, timer;
static bool stopped;
static hf_epoll *all[HF_LOOP_CLIENTS];

void hf_loop_open(void) {
    struct itimerspec each_ms = {{0, 1000000}, {0, 1000000}};
    struct epoll_event in = {.events = EPOLLIN};
    set = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    assert(set >= 0 && timer >= 0);
    assert(timerfd_settime(timer, 0, &each_ms, NULL) == 0);
    assert(epoll_ctl(set, EPOLL_CTL_ADD, timer, &in) == 0);
}

/* One that has gone since epoll_wait returned is not among them any more. */
static void serve(void *whose) {
    uint64_t times;
    if (whose == NULL && read(timer, &times, sizeof times) > 0)
        hf_loop_tick();
    for (int i = 0; whose != NULL && i < HF_LOOP_CLIENTS; i++)
        if (whose == all[i]) {
            hf_epoll_ready(all[i]);
            return;
        }
}

void hf_loop_run(void) {
    for (stopped = false; !stopped;) {
        struct epoll_event due[4];
        int n = epoll_wait(set, due, 4, -1);
        for (int i = 0; i < n; i++)
            serve(due[i].data.ptr);
    }
}

void hf_loop_stop(void) {
    stopped = true;
}

int hf_loop_attach(int i, hf_client *client) {
    all[i] = malloc(sizeof *all[i]);
    assert(all[i] != NULL);
    return hf_epoll_attach(all[i], set, client);
}

void hf_loop_detach(int i) {
    hf_epoll_detach(all[i]);
    hf_epoll_detach(all[i]);
    hf_epoll_ready(all[i]); /* it is too late */
    free(all[i]);
    all[i] = NULL;
}

void hf_loop_close(void) {
    close(timer);
    close(set);
}

void hf_loop_fork(void) {
}

HF_LOOP_SUITE()
