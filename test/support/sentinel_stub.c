/* SPDX-License-Identifier: MIT
 *
 * sentinel_stub.c - one thread that speaks as much of Sentinel as we ask. */
#include "sentinel_stub.h"

#include "wait.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GUESTS_MAX = 32 };

typedef struct guest {
    int fd;
    redisReader *reader;
    bool listens;
} guest;

struct hf_test_stub {
    pthread_t thread;
    int listener, port;
    int bell[2]; /* wakes the thread */
    pthread_mutex_t mu;
    /* mu, all of it: */
    guest guests[GUESTS_MAX];
    int n, questions;
    bool asleep, quit;
    int master, old_master, replicas, other;
    int64_t epoch;
};

/* ---- answers ----------------------------------------------------------- */

static void say(const guest *g, const char *text) {
    send(g->fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Flat lists of texts. */
static void say_list(const guest *g, const char *const *words, int n) {
    char text[1024];
    int at = snprintf(text, sizeof text, "*%d\r\n", n);
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "$%zu\r\n%s\r\n",
                       strlen(words[i]), words[i]);
    say(g, text);
}

#define SAY_LIST(g, ...)                                                       \
    say_list((g), (const char *const[]){__VA_ARGS__},                          \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void say_master(hf_test_stub *x, const guest *g) {
    char port[16], epoch[32], replicas[16];
    x->questions++;
    if (x->master == 0) {
        say(g, "-ERR No such master with that name\r\n");
        return;
    }
    snprintf(port, sizeof port, "%d",
             x->old_master != 0 ? x->old_master : x->master);
    snprintf(epoch, sizeof epoch, "%lld", (long long)x->epoch);
    snprintf(replicas, sizeof replicas, "%d", x->replicas);
    SAY_LIST(g, "name", "mymaster", "ip", "127.0.0.1", "port", port, "flags",
             "master", "config-epoch", epoch, "num-slaves", replicas);
}

static void say_place(const hf_test_stub *x, const guest *g) {
    char port[16];
    snprintf(port, sizeof port, "%d", x->master);
    if (x->master == 0)
        say(g, "*-1\r\n");
    else
        SAY_LIST(g, "127.0.0.1", port);
}

static void say_others(const hf_test_stub *x, const guest *g) {
    char port[16];
    snprintf(port, sizeof port, "%d", x->other);
    say(g, x->other != 0 ? "*1\r\n" : "*0\r\n");
    if (x->other != 0)
        SAY_LIST(g, "name", "another", "ip", "127.0.0.1", "port", port);
}

static bool is(const redisReply *command, size_t i, const char *word) {
    return i < command->elements && command->element[i]->str != NULL &&
           strcasecmp(command->element[i]->str, word) == 0;
}

static void answer(hf_test_stub *x, guest *g, const redisReply *command) {
    if (is(command, 0, "SUBSCRIBE")) {
        g->listens = true;
        say(g, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
    } else if (is(command, 1, "MASTER")) {
        say_master(x, g);
    } else if (is(command, 1, "GET-MASTER-ADDR-BY-NAME")) {
        say_place(x, g);
    } else if (is(command, 1, "SENTINELS")) {
        say_others(x, g);
    } else {
        say(g, "-ERR unknown command\r\n");
    }
}

/* ---- guests ------------------------------------------------------------ */

static void welcome(hf_test_stub *x) {
    int fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (x->n == GUESTS_MAX) {
        close(fd);
        return;
    }
    x->guests[x->n++] = (guest){.fd = fd, .reader = redisReaderCreate()};
}

static void say_goodbye(hf_test_stub *x, int i) {
    close(x->guests[i].fd);
    redisReaderFree(x->guests[i].reader);
    x->guests[i] = x->guests[--x->n];
}

/* False: it has gone. */
static bool attend(hf_test_stub *x, guest *g) {
    char bytes[4096];
    void *command = NULL;
    ssize_t n = recv(g->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n <= 0 || redisReaderFeed(g->reader, bytes, (size_t)n) != REDIS_OK)
        return false;
    while (redisReaderGetReply(g->reader, &command) == REDIS_OK &&
           command != NULL) {
        answer(x, g, command);
        freeReplyObject(command);
        command = NULL;
    }
    return true;
}

/* ---- the thread -------------------------------------------------------- */

static nfds_t look(const hf_test_stub *x, struct pollfd *fds) {
    nfds_t n = 0;
    fds[n++] = (struct pollfd){.fd = x->bell[0], .events = POLLIN};
    fds[n++] =
        (struct pollfd){.fd = x->asleep ? -1 : x->listener, .events = POLLIN};
    for (int i = 0; i < x->n; i++)
        fds[n++] = (struct pollfd){.fd = x->asleep ? -1 : x->guests[i].fd,
                                   .events = POLLIN};
    return n;
}

static void serve(hf_test_stub *x, const struct pollfd *fds) {
    char rings[64];
    if (fds[0].revents != 0 && read(x->bell[0], rings, sizeof rings) < 0)
        x->quit = true;
    for (int i = x->n - 1; i >= 0; i--)
        if (fds[2 + i].revents != 0 && !attend(x, &x->guests[i]))
            say_goodbye(x, i);
    if (fds[1].revents != 0)
        welcome(x);
}

static void *run(void *arg) {
    struct pollfd fds[2 + GUESTS_MAX];
    hf_test_stub *x = arg;
    pthread_mutex_lock(&x->mu);
    while (!x->quit) {
        nfds_t n = look(x, fds);
        pthread_mutex_unlock(&x->mu);
        poll(fds, n, -1);
        pthread_mutex_lock(&x->mu);
        serve(x, fds);
    }
    while (x->n > 0)
        say_goodbye(x, x->n - 1);
    pthread_mutex_unlock(&x->mu);
    return NULL;
}

/* ---- the handle -------------------------------------------------------- */

static void listen_somewhere(hf_test_stub *x) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    x->port = 12000 + getpid() * 13 % 20000;
    do {
        x->port = x->port < 32000 ? x->port + 1 : 12000;
        a.sin_port = htons((uint16_t)x->port);
        x->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(x->listener, (struct sockaddr *)&a, sizeof a) == 0 &&
            listen(x->listener, 64) == 0)
            return;
        close(x->listener);
    } while (true);
}

hf_test_stub *hf_test_stub_start(void) {
    hf_test_stub *x = calloc(1, sizeof *x);
    assert_non_null(x);
    pthread_mutex_init(&x->mu, NULL);
    listen_somewhere(x);
    assert_int_equal(pipe2(x->bell, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&x->thread, NULL, run, x), 0);
    return x;
}

static void begin(hf_test_stub *x) {
    pthread_mutex_lock(&x->mu);
}

static void commit(hf_test_stub *x) {
    pthread_mutex_unlock(&x->mu);
    if (write(x->bell[1], "", 1) < 0)
        abort();
}

void hf_test_stub_stop(hf_test_stub *x) {
    if (x == NULL)
        return;
    begin(x);
    x->quit = true;
    commit(x);
    pthread_join(x->thread, NULL);
    close(x->listener);
    close(x->bell[0]);
    close(x->bell[1]);
    pthread_mutex_destroy(&x->mu);
    free(x);
}

int hf_test_stub_port(const hf_test_stub *x) {
    return x->port;
}

void hf_test_stub_names(hf_test_stub *x, int port, int64_t epoch,
                        int replicas) {
    begin(x);
    x->master = port;
    x->epoch = epoch;
    x->replicas = replicas;
    commit(x);
}

void hf_test_stub_leads(hf_test_stub *x, int old_port) {
    begin(x);
    x->old_master = old_port;
    commit(x);
}

void hf_test_stub_meets(hf_test_stub *x, int port) {
    begin(x);
    x->other = port;
    commit(x);
}

int hf_test_stub_announces(hf_test_stub *x) {
    char what[96], text[192];
    int n = 0;
    begin(x);
    snprintf(what, sizeof what, "mymaster 127.0.0.1 1 127.0.0.1 %d", x->master);
    snprintf(text, sizeof text,
             "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s\r\n",
             strlen(what), what);
    for (int i = 0; i < x->n; i++)
        if (x->guests[i].listens) {
            say(&x->guests[i], text);
            n++;
        }
    commit(x);
    return n;
}

int hf_test_stub_listeners(hf_test_stub *x) {
    int n = 0;
    begin(x);
    for (int i = 0; i < x->n; i++)
        n += x->guests[i].listens;
    commit(x);
    return n;
}

void hf_test_stub_sleeps(hf_test_stub *x, bool on) {
    begin(x);
    x->asleep = on;
    commit(x);
}

int hf_test_stub_questions(hf_test_stub *x) {
    begin(x);
    int n = x->questions;
    commit(x);
    return n;
}
