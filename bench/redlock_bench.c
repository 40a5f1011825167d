/* SPDX-License-Identifier: MIT
 *
 * redlock_bench.c - what a majority of five servers costs beside one server.
 *
 * One thread takes a free lock, gives it back, and rests a moment, as most
 * callers do.  `times` is the median over the repetitions of the quotient with
 * the single server in the same repetition; all rows of one run one after the
 * other in a shuffled order.  `round` says how many grants needed one round
 * only, because the servers named the same token; one row proposes none, so
 * that each names another and the highest is written back.
 *
 * The bare rows are the floor: a PING written to the servers, and the first
 * answers read, until one, or three of five, have come.  Where five servers
 * share the processors with each other and the client, that alone takes
 * several times as long as one.
 *
 *     redlock_bench [--quick] */
#include <arpa/inet.h>
#include <holdfast.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "backend/redis/redlock/redlock.h"
#include "client.h"
#include "delay.h"
#include "figures.h"
#include "server.h"

enum { SERVERS = 5, MAJORITY = 3, REPEATS_MAX = 15, PAIRS_MAX = 2000 };

static int repeats = 15, cell_ms = 300;

static void die(const char *what, const char *why) {
    fprintf(stderr, "redlock_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- the rows ---------------------------------------------------------- */

typedef struct row {
    const char *title;
    int servers;
    bool bare, blunt;
    double goal; /* for acquire, beside the first row; 0: none */
    hf_client *client;
    hf_lock *lock;
    int fds[SERVERS];
    double acquire[REPEATS_MAX], late[REPEATS_MAX], release[REPEATS_MAX];
    unsigned long long grants, one_round;
} row;

static void begin_lock(row *r, const int *ports) {
    char uri[256];
    hf_error err;

    if (r->servers > 1)
        snprintf(uri, sizeof uri,
                 "redlock://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,"
                 "127.0.0.1:%d,127.0.0.1:%d?durable=1&node_timeout=1s",
                 ports[0], ports[1], ports[2], ports[3], ports[4]);
    else
        snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", ports[0]);
    if (hf_open(&r->client, uri, NULL, &err) < 0 ||
        hf_lock_new(&r->lock, r->client, r->title, NULL, &err) < 0)
        die(r->title, err.text);
    if (r->servers > 1)
        hf__redlock_be_blunt(r->client->be, r->blunt);
}

static void begin_bare(row *r, const int *ports) {
    int one = 1;

    for (int i = 0; i < r->servers; i++) {
        struct sockaddr_in sin = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)ports[i])};

        sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        r->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(r->fds[i], (struct sockaddr *)&sin, sizeof sin) < 0)
            die(r->title, "cannot connect");
        setsockopt(r->fds[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
}

static void end(row *r) {
    for (int i = 0; r->bare && i < r->servers; i++)
        close(r->fds[i]);
    if (r->bare)
        return;
    if (r->servers > 1) {
        const hf_redlock_counts *c = hf__redlock_counts(r->client->be);

        r->one_round = atomic_load(&c->one_round);
        r->grants = r->one_round + atomic_load(&c->written);
    }
    hf_lock_free(r->lock);
    hf_close(r->client);
}

/* ---- one cell ---------------------------------------------------------- */

static void take_pong(const row *r, int fd) {
    char buf[64];

    if (recv(fd, buf, sizeof buf, 0) <= 0)
        die(r->title, "no answer");
}

/* Until a majority has answered; the time, in ms.  The rest is read then. */
static double ping(const row *r) {
    int wanted = r->servers > 1 ? MAJORITY : 1;
    struct pollfd fds[SERVERS];
    int64_t began = now_ns(), took;

    for (int i = 0; i < r->servers; i++) {
        if (send(r->fds[i], "PING\r\n", 6, MSG_NOSIGNAL) != 6)
            die(r->title, "cannot send");
        fds[i] = (struct pollfd){.fd = r->fds[i], .events = POLLIN};
    }
    while (wanted > 0 && poll(fds, (nfds_t)r->servers, -1) > 0)
        for (int i = 0; i < r->servers; i++)
            if (fds[i].fd >= 0 && fds[i].revents) {
                take_pong(r, fds[i].fd);
                fds[i].fd = -1;
                wanted--;
            }
    took = now_ns() - began;
    for (int i = 0; i < r->servers; i++)
        if (fds[i].fd >= 0)
            take_pong(r, fds[i].fd);
    return (double)took / 1e6;
}

static void pair(const row *r, double *took, double *gave) {
    int64_t began = now_ns(), held;
    hf_error err;

    if (r->bare) {
        *took = *gave = ping(r);
        return;
    }
    if (hf_lock_acquire(r->lock, 10000, &err) != HF_OK)
        die(r->title, err.text);
    held = now_ns();
    if (hf_lock_release(r->lock, &err) != HF_OK)
        die(r->title, err.text);
    *took = (double)(held - began) / 1e6;
    *gave = (double)(now_ns() - held) / 1e6;
}

static void measure(row *r, int i) {
    static double took[PAIRS_MAX], gave[PAIRS_MAX];
    int64_t until = now_ns() + cell_ms * 1000000LL;
    int n = 0;

    for (; n < PAIRS_MAX && (n < 5 || now_ns() < until); n++) {
        pair(r, &took[n], &gave[n]);
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
    r->acquire[i] = median(took, n);
    r->late[i] = took[n * 99 / 100]; /* they are sorted now */
    r->release[i] = median(gave, n);
}

/* ---- a table ----------------------------------------------------------- */

static double quotient(const double *of, const double *by) {
    double q[REPEATS_MAX];

    for (int i = 0; i < repeats; i++)
        q[i] = of[i] / by[i];
    return median(q, repeats);
}

static void print(const row *r, const row *single) {
    double acquire[REPEATS_MAX], late[REPEATS_MAX];
    double times = quotient(r->acquire, single->acquire);

    memcpy(acquire, r->acquire, sizeof acquire);
    memcpy(late, r->late, sizeof late);
    printf("  %-28s %8.3f %8.3f %6.2f", r->title, median(acquire, repeats),
           median(late, repeats), times);
    if (r->goal > 0)
        printf(" %s %.1f", times <= r->goal ? "<=" : "> ", r->goal);
    else
        printf("       ");
    if (!r->bare)
        printf(" %8.2f", quotient(r->release, single->release));
    if (r->grants)
        printf("  %3.0f %%", 100.0 * (double)r->one_round / (double)r->grants);
    printf("\n");
}

/* `goals`: whether the way is long enough for them to make sense. */
static void table(const char *title, const int *ports, bool goals) {
    row rows[] = {
        {.title = "one server", .servers = 1},
        {.title = "majority of 5, one round", .servers = 5, .goal = 1.3},
        {.title = "majority of 5, written back",
         .servers = 5,
         .blunt = true,
         .goal = 2.2},
        {.title = "bare: one", .servers = 1, .bare = true},
        {.title = "bare: 3 of 5", .servers = 5, .bare = true},
    };
    enum { N = sizeof rows / sizeof rows[0] };
    int order[N] = {0, 1, 2, 3, 4};

    for (int i = 0; i < N; i++) {
        if (!goals)
            rows[i].goal = 0;
        if (rows[i].bare)
            begin_bare(&rows[i], ports);
        else
            begin_lock(&rows[i], ports);
    }
    for (int i = 0; i < repeats; i++) {
        shuffle(order, N);
        for (int k = 0; k < N; k++)
            measure(&rows[order[k]], i);
    }
    for (int i = 0; i < N; i++)
        end(&rows[i]);
    printf("\n%s\n  %-28s %8s %8s %12s %8s  %s\n", title, "ms", "acquire",
           "p99", "times goal", "release", "round");
    for (int i = 0; i < N; i++)
        print(&rows[i], &rows[0]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int near[SERVERS], lan[SERVERS], far[SERVERS];

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            repeats = 5, cell_ms = 150;
        else
            die(argv[i], "is not an option; see the head of the source");
    }
    for (int i = 0; i < SERVERS; i++)
        near[i] = server_start()->port;
    if (delay_start_all(near, SERVERS, 250, lan) < 0 ||
        delay_start_all(near, SERVERS, 1000, far) < 0)
        die("delay", "no free ports");
    table("A majority of five servers, over the loopback", near, false);
    table("The same, with ways that are 0.5 ms longer", lan, false);
    table("The same, with ways that are 2 ms longer", far, true);
    return 0;
}
