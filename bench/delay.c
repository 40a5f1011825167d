/* SPDX-License-Identifier: MIT
 *
 * delay.c - a longer way to a server.
 *
 * One loop: what is read is stamped with the time at which it may go on, and
 * goes on then.  Nothing waits for anything but its own time, so a pipelined
 * client is not slowed down more than a patient one. */
#include "delay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ENDS_MAX = 2048, PIECE = 65536 };

typedef struct piece {
    struct piece *next;
    int64_t due;
    size_t len, at;
    char bytes[];
} piece;

/* One end of a forwarded connection; `queue` is what it still has to get. */
typedef struct end {
    int fd, other;
    piece *queue, **last;
} end;

typedef struct delay {
    int listeners[DELAY_SERVERS], ports[DELAY_SERVERS];
    int n_servers;
    int64_t ns;
    end ends[ENDS_MAX];
    int n;
} delay;

static int64_t now_ns(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static struct sockaddr_in local(int port) {
    struct sockaddr_in sin = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port)};

    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sin;
}

static void add_end(delay *d, int fd, int other) {
    end *e = &d->ends[d->n++];
    int one = 1;

    *e = (end){.fd = fd, .other = other};
    e->last = &e->queue;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void accept_one(delay *d, int server) {
    struct sockaddr_in sin = local(d->ports[server]);
    int in = accept(d->listeners[server], NULL, NULL);
    int out = socket(AF_INET, SOCK_STREAM, 0);

    if (in < 0 || out < 0 || d->n + 2 > ENDS_MAX ||
        connect(out, (struct sockaddr *)&sin, sizeof sin) < 0) {
        close(in);
        close(out);
        return;
    }
    add_end(d, in, d->n + 1);
    add_end(d, out, d->n - 1);
}

static void hang_up(delay *d, end *e) {
    close(e->fd);
    close(d->ends[e->other].fd);
    e->fd = d->ends[e->other].fd = -1;
}

static void take_in(delay *d, end *e) {
    end *to = &d->ends[e->other];
    piece *p = malloc(sizeof *p + PIECE);
    ssize_t n = p ? recv(e->fd, p->bytes, PIECE, 0) : 0;

    if (n <= 0) {
        free(p);
        if (n == 0 || errno != EAGAIN)
            hang_up(d, e);
        return;
    }
    *p = (piece){.due = now_ns() + d->ns, .len = (size_t)n};
    *to->last = p;
    to->last = &p->next;
}

/* Sends what is due; the moment when more will be. */
static int64_t give_out(end *e) {
    piece *p;

    while (e->fd >= 0 && (p = e->queue) && p->due <= now_ns()) {
        ssize_t n = send(e->fd, p->bytes + p->at, p->len - p->at, MSG_NOSIGNAL);

        if (n > 0)
            p->at += (size_t)n;
        if (p->at < p->len)
            return now_ns() + 100000;
        e->queue = p->next;
        if (!e->queue)
            e->last = &e->queue;
        free(p);
    }
    return e->queue ? e->queue->due : INT64_MAX;
}

static void forward(delay *d) {
    struct pollfd fds[ENDS_MAX + DELAY_SERVERS];
    int64_t next = INT64_MAX, left;
    struct timespec ts;
    int n;

    for (int i = 0; i < d->n; i++) {
        int64_t due = give_out(&d->ends[i]);

        next = due < next ? due : next;
        fds[i] = (struct pollfd){.fd = d->ends[i].fd, .events = POLLIN};
    }
    n = d->n;
    for (int i = 0; i < d->n_servers; i++)
        fds[n + i] = (struct pollfd){.fd = d->listeners[i], .events = POLLIN};
    left = next == INT64_MAX ? 1000000000 : next - now_ns();
    left = left < 0 ? 0 : left;
    ts = (struct timespec){left / 1000000000, left % 1000000000};
    if (ppoll(fds, (nfds_t)(n + d->n_servers), &ts, NULL) <= 0)
        return;
    for (int i = 0; i < n; i++)
        if (fds[i].revents && d->ends[i].fd >= 0)
            take_in(d, &d->ends[i]);
    for (int i = 0; i < d->n_servers; i++)
        if (fds[n + i].revents)
            accept_one(d, i);
}

/* A listener on a free port from *port on, which is set to it; or -1. */
static int listen_on(int *port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sin = local(*port);

    while (bind(fd, (struct sockaddr *)&sin, sizeof sin) < 0) {
        if (++*port > 32000) {
            close(fd);
            return -1;
        }
        sin = local(*port);
    }
    listen(fd, 1024);
    return fd;
}

int delay_start_all(const int *server_ports, int n, int us, int *ports) {
    static delay d;
    pid_t parent = getpid();
    int port = 21000 + parent % 9000;

    d = (delay){.n_servers = n, .ns = us * (int64_t)1000};
    for (int i = 0; i < n; i++, port++) {
        d.ports[i] = server_ports[i];
        d.listeners[i] = listen_on(&port);
        if (d.listeners[i] < 0)
            return -1;
        ports[i] = port;
    }
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_TIMERSLACK, 1);
        while (getppid() == parent)
            forward(&d);
        _exit(0);
    }
    for (int i = 0; i < n; i++)
        close(d.listeners[i]);
    return 0;
}

int delay_start(int server_port, int us) {
    int port;

    return delay_start_all(&server_port, 1, us, &port) < 0 ? -1 : port;
}
