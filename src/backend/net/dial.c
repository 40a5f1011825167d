/* SPDX-License-Identifier: MIT
 *
 * dial.c - a connected socket, by a deadline. */
#include "dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "resolve.h"

static const hf_time LOOK_UP = 50 * HF_MS;

bool hf__net_wait(int fd, short events, hf_time by,
                  const atomic_bool *given_up) {
    struct pollfd pfd = {.fd = fd, .events = events};

    for (;;) {
        hf_time until = given_up ? hf__now() + LOOK_UP : HF_NEVER;

        if (hf__world->poll(&pfd, 1, hf__sooner(by, until)) > 0)
            return true;
        if (hf__now() >= by || (given_up && atomic_load(given_up)))
            return false;
    }
}

/* Waits until the connection stands.  0 or an errno. */
static int settle(int fd, hf_time by, const atomic_bool *given_up) {
    int why = 0;
    socklen_t size = sizeof why;

    if (!hf__net_wait(fd, POLLOUT, by, given_up))
        return hf__now() >= by ? ETIMEDOUT : ECANCELED;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0)
        return errno;
    return why;
}

int hf__net_reach(const struct sockaddr *addr, socklen_t len, hf_time by,
                  const atomic_bool *given_up, int *why) {
    int fd = hf__world->dial(addr, len);

    if (fd < 0) {
        *why = errno;
        return -1;
    }
    *why = settle(fd, by, given_up);
    if (*why) {
        hf__world->close(fd);
        return -1;
    }
    return fd;
}

/* One that is silent leaves time for the others. */
int hf__net_dial(const char *host, int port, const char *where, hf_time by,
                 const atomic_bool *given_up, hf_error *err) {
    struct addrinfo *all, *ai;
    int fd = -1, why = 0, one = 1, left = 0;

    if (hf__resolve(&all, host, port, by, err) < 0)
        return err->code;
    for (ai = all; ai; ai = ai->ai_next)
        left++;
    for (ai = all; ai && fd < 0; ai = ai->ai_next, left--)
        fd = hf__net_reach(ai->ai_addr, ai->ai_addrlen,
                           hf__now() + (by - hf__now()) / left, given_up, &why);
    freeaddrinfo(all);
    if (fd < 0)
        return hf__fail(err, HF_EDOWN, "%s: %s", where, strerror(why));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}
