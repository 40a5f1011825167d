/* SPDX-License-Identifier: MIT
 *
 * proxy.c - one thread, one lock, two pipes of bytes per link.
 *
 * Bytes read from one side wait in the pipe to the other until their moment
 * has come.  Replies are cut out of the stream one by one and numbered, so
 * that the n-th reply of a link belongs to its n-th command; a link that does
 * not speak RESP, that subscribes or replicates, is forwarded as it comes.
 * ZooKeeper's packets carry their numbers with them. */
#include "proxy.h"

#include "wait.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINKS_MAX = 256, CHUNK = 16384 };

typedef struct chunk {
    struct chunk *next;
    int64_t due; /* ms */
    size_t size;
    char bytes[];
} chunk;

/* One direction of a link. */
typedef struct pipe_ {
    chunk *first, **end;
    bool ended;  /* the source hung up */
    char *frame; /* bytes of a value that is not complete yet */
    size_t size;
    long values; /* complete ones so far */
} pipe_;

typedef struct link_ {
    int fd[2]; /* [way]: where that way leads to */
    pipe_ pipe[2];
    bool opaque; /* no RESP, or replies do not match commands */
    bool mute;   /* nothing reaches the client any more */
    long caught; /* the command whose reply is to be caught; 0: none */
    int replica; /* where the replica listens that replicates by it; 0: none */
} link_;

struct hf_test_proxy {
    pthread_t thread;
    int listener, port, server_port;
    bool zookeeper; /* what is spoken on its links, instead of RESP */
    int bell[2];    /* wakes the thread */
    pthread_mutex_t mu;
    /* mu, all of it: */
    link_ *links[LINKS_MAX];
    int n_links, connections;
    int delay[2];
    bool stall[2], drop[2], refuse, quit;
    int only;   /* the replica for whose link that is */
    bool armed; /* for the next command that fits */
    const char *word, *within;
    const char *forged; /* instead of the reply; NULL: only `bytes` of it */
    int bytes;
    int op, pass; /* of ZooKeeper: what is looked for, and how many go first */
    size_t caught;
};

/* ---- RESP -------------------------------------------------------------- */

static size_t line_size(const char *at, size_t size) {
    const char *end = memchr(at, '\n', size);
    return end != NULL ? (size_t)(end - at) + 1 : 0;
}

/* The size of the value at the beginning, 0 if it is not complete. */
static size_t value_size(const char *at, size_t size) {
    size_t used = line_size(at, size);
    if (used == 0 || memchr("$*%~>", at[0], 5) == NULL)
        return used;
    long n = atol(at + 1);
    if (at[0] == '$') {
        used += n >= 0 ? (size_t)n + 2 : 0;
        return used <= size ? used : 0;
    }
    for (long i = at[0] == '%' ? 2 * n : n; i > 0; i--) {
        size_t more = value_size(at + used, size - used);
        if (more == 0)
            return 0;
        used += more;
    }
    return used;
}

/* The first word of a command; "" if it is none. */
static size_t first_word(const char *at, size_t size, const char **ret) {
    size_t skip = line_size(at, size);
    size_t head = skip != 0 ? line_size(at + skip, size - skip) : 0;
    *ret = at + skip + head;
    return head != 0 && at[skip] == '$' ? (size_t)atol(at + skip + 1) : 0;
}

static bool begins_with(const char *at, size_t size, const char *word) {
    const char *first;
    size_t n = first_word(at, size, &first);
    return n == strlen(word) && strncasecmp(first, word, n) == 0;
}

/* What is heard from then on is no answer: messages, or all that a master
 * writes. */
static bool listens(const char *at, size_t size) {
    const char *first;
    size_t n = first_word(at, size, &first);
    return (n >= 9 && strncasecmp(first + n - 9, "subscribe", 9) == 0) ||
           (n == 5 && strncasecmp(first, "psync", 5) == 0);
}

/* ---- ZooKeeper --------------------------------------------------------- */

static long number_at(const char *at) {
    uint32_t n;
    memcpy(&n, at, sizeof n);
    return (int32_t)ntohl(n);
}

/* A length, and so many bytes.  First come a greeting and its answer; then
 * requests begin with a number and what is to be done, replies with the number
 * of their request. */
static size_t packet_size(const char *at, size_t size) {
    size_t whole = size >= 4 ? 4 + (size_t)number_at(at) : 0;
    return whole <= size ? whole : 0;
}

static bool is_meant_packet(hf_test_proxy *x, const char *at, size_t size) {
    if (size < 12 || (x->op != 0 && number_at(at + 8) != x->op) ||
        (x->within != NULL &&
         memmem(at, size, x->within, strlen(x->within)) == NULL))
        return false;
    return x->pass-- == 0;
}

static void on_request(hf_test_proxy *x, link_ *l, const char *at,
                       size_t size) {
    if (!x->armed || l->pipe[HF_TO_SERVER].values == 1 ||
        !is_meant_packet(x, at, size))
        return;
    l->caught = number_at(at + 4);
    x->armed = false;
}

/* Which of the link's commands a reply belongs to. */
static long number_of(const hf_test_proxy *x, const link_ *l, const char *at,
                      size_t size) {
    long n = l->pipe[HF_TO_CLIENT].values;
    return !x->zookeeper ? n : n == 1 || size < 8 ? 0 : number_at(at + 4);
}

/* ---- bytes on their way ------------------------------------------------ */

static void push(pipe_ *p, const char *bytes, size_t size, int delay) {
    chunk *c = malloc(sizeof *c + size);
    c->next = NULL;
    c->due = hf_test_now_ms() + delay;
    c->size = size;
    memcpy(c->bytes, bytes, size);
    *p->end = c;
    p->end = &c->next;
}

static void pop(pipe_ *p) {
    chunk *c = p->first;
    p->first = c->next;
    if (p->first == NULL)
        p->end = &p->first;
    free(c);
}

/* Is the link one that faults are for? */
static bool is_meant(const hf_test_proxy *x, const link_ *l) {
    return x->only == 0           ? true :
           x->only == HF_REPLICAS ? l->replica != 0 :
                                    l->replica == x->only;
}

static bool stalls(const hf_test_proxy *x, const link_ *l, hf_way way) {
    return x->stall[way] && is_meant(x, l);
}

static bool drops(const hf_test_proxy *x, const link_ *l, hf_way way) {
    return x->drop[way] && is_meant(x, l);
}

/* REPLCONF listening-port 6379 */
static int port_in(const char *at, size_t size) {
    static const char before[] = "listening-port\r\n";
    const char *port = memmem(at, size, before, sizeof before - 1);
    if (port == NULL || !begins_with(at, size, "REPLCONF"))
        return 0;
    port = memchr(port + sizeof before, '\n',
                  size - (size_t)(port + sizeof before - at));
    return port != NULL ? atoi(port + 1) : 0;
}

/* A whole command has passed: is it the one that is looked for? */
static void on_command(hf_test_proxy *x, link_ *l, const char *at,
                       size_t size) {
    if (l->replica == 0)
        l->replica = port_in(at, size);
    if (listens(at, size))
        l->opaque = true;
    if (!x->armed || l->opaque)
        return;
    if (x->word != NULL && !begins_with(at, size, x->word))
        return;
    if (x->within != NULL &&
        memmem(at, size, x->within, strlen(x->within)) == NULL)
        return;
    l->caught = l->pipe[HF_TO_SERVER].values;
    x->armed = false;
}

/* A whole reply is about to be delivered.  Tells how much of it may be: all,
 * unless it is the one to catch; then something happens to the link. */
static size_t on_reply(hf_test_proxy *x, link_ *l, const char *at,
                       size_t size) {
    pipe_ *p = &l->pipe[HF_TO_CLIENT];
    if (l->caught == 0 || number_of(x, l, at, size) != l->caught)
        return size;
    x->caught = size;
    if (x->forged != NULL) {
        push(p, x->forged, strlen(x->forged), x->delay[HF_TO_CLIENT]);
        return 0;
    }
    if (x->bytes == HF_MUTE) {
        l->mute = true;
        return 0;
    }
    p->ended = true;
    return (size_t)x->bytes < size ? (size_t)x->bytes : size;
}

/* Takes the complete values off the front of the frame. */
static void cut_frame(hf_test_proxy *x, link_ *l, hf_way way) {
    size_t (*size_at)(const char *, size_t) =
        x->zookeeper ? packet_size : value_size;
    pipe_ *p = &l->pipe[way];
    size_t at = 0, size;
    while (!l->opaque && !p->ended && !l->mute &&
           (size = size_at(p->frame + at, p->size - at)) != 0) {
        size_t pass = size;
        p->values++;
        if (way == HF_TO_CLIENT)
            pass = on_reply(x, l, p->frame + at, size);
        else if (x->zookeeper)
            on_request(x, l, p->frame + at, size);
        else
            on_command(x, l, p->frame + at, size);
        push(p, p->frame + at, pass, x->delay[way]);
        at += size;
    }
    if (l->opaque && at < p->size) {
        push(p, p->frame + at, p->size - at, x->delay[way]);
        at = p->size;
    }
    p->size -= at;
    memmove(p->frame, p->frame + at, p->size);
}

static void arrived(hf_test_proxy *x, link_ *l, hf_way way, const char *bytes,
                    size_t size) {
    pipe_ *p = &l->pipe[way];
    if (drops(x, l, way) || (way == HF_TO_CLIENT && l->mute))
        return;
    if (way == HF_TO_SERVER && p->values == 0 && p->size == 0 &&
        !x->zookeeper && bytes[0] != '*')
        l->opaque = true;
    /* Who speaks first is no Redis: MariaDB greets. */
    if (way == HF_TO_CLIENT && !x->zookeeper &&
        l->pipe[HF_TO_SERVER].values == 0 && l->pipe[HF_TO_SERVER].size == 0)
        l->opaque = true;
    p->frame = realloc(p->frame, p->size + size);
    memcpy(p->frame + p->size, bytes, size);
    p->size += size;
    cut_frame(x, l, way);
}

static void take_in(hf_test_proxy *x, link_ *l, hf_way way) {
    char bytes[CHUNK];
    ssize_t n = recv(l->fd[1 - way], bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0)
        arrived(x, l, way, bytes, (size_t)n);
    else
        l->pipe[way].ended = true;
}

static void deliver(hf_test_proxy *x, link_ *l, hf_way way) {
    pipe_ *p = &l->pipe[way];
    while (p->first != NULL && !stalls(x, l, way) &&
           p->first->due <= hf_test_now_ms()) {
        if (!drops(x, l, way))
            send(l->fd[way], p->first->bytes, p->first->size, MSG_NOSIGNAL);
        pop(p);
    }
}

/* ---- links ------------------------------------------------------------- */

static int bind_to(int fd, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return bind(fd, (struct sockaddr *)&a, sizeof a);
}

static int dial(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

static void welcome(hf_test_proxy *x) {
    int client = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC), on = 1;
    if (client < 0)
        return;
    x->connections++;
    int server =
        x->refuse || x->n_links == LINKS_MAX ? -1 : dial(x->server_port);
    if (server < 0) {
        close(client);
        return;
    }
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    link_ *l = calloc(1, sizeof *l);
    l->fd[HF_TO_SERVER] = server;
    l->fd[HF_TO_CLIENT] = client;
    for (int way = 0; way < 2; way++)
        l->pipe[way].end = &l->pipe[way].first;
    x->links[x->n_links++] = l;
}

static void hang_up(hf_test_proxy *x, int i) {
    link_ *l = x->links[i];
    for (int way = 0; way < 2; way++) {
        close(l->fd[way]);
        while (l->pipe[way].first != NULL)
            pop(&l->pipe[way]);
        free(l->pipe[way].frame);
    }
    free(l);
    x->links[i] = x->links[--x->n_links];
}

/* A side has hung up and the other may know it: everything was delivered. */
static bool is_over(const hf_test_proxy *x, const link_ *l) {
    for (int way = 0; way < 2; way++) {
        const pipe_ *p = &l->pipe[way];
        if (p->ended && p->first == NULL && !drops(x, l, (hf_way)way) &&
            !stalls(x, l, (hf_way)way) && !(way == HF_TO_CLIENT && l->mute))
            return true;
    }
    return false;
}

/* ---- the thread -------------------------------------------------------- */

static nfds_t look(const hf_test_proxy *x, struct pollfd *fds) {
    nfds_t n = 0;
    fds[n++] = (struct pollfd){.fd = x->bell[0], .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = x->listener, .events = POLLIN};
    for (int i = 0; i < x->n_links; i++)
        for (int way = 0; way < 2; way++) {
            const link_ *l = x->links[i];
            int fd = l->pipe[way].ended ? -1 : l->fd[1 - way];
            fds[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
    return n;
}

/* A millisecond is as exact as delays are; without any there is no hurry. */
static int patience(const hf_test_proxy *x) {
    for (int i = 0; i < x->n_links; i++)
        for (int way = 0; way < 2; way++)
            if (x->links[i]->pipe[way].first != NULL &&
                !stalls(x, x->links[i], (hf_way)way))
                return 1;
    return -1;
}

static void serve(hf_test_proxy *x, const struct pollfd *fds) {
    char rings[64];
    int n = x->n_links;
    if (fds[0].revents != 0 && read(x->bell[0], rings, sizeof rings) < 0)
        x->quit = true;
    for (int i = 0; i < n; i++)
        for (int way = 0; way < 2; way++)
            if (fds[2 + 2 * i + way].revents != 0)
                take_in(x, x->links[i], (hf_way)way);
    for (int i = n - 1; i >= 0; i--) {
        deliver(x, x->links[i], HF_TO_SERVER);
        deliver(x, x->links[i], HF_TO_CLIENT);
        if (is_over(x, x->links[i]))
            hang_up(x, i);
    }
    if (fds[1].revents != 0)
        welcome(x);
}

/* Links come and go on this thread alone, so that what poll saw still fits
 * the table when its answer is used. */
static void *run(void *arg) {
    static _Thread_local struct pollfd fds[2 + 2 * LINKS_MAX];
    hf_test_proxy *x = arg;
    pthread_mutex_lock(&x->mu);
    while (!x->quit) {
        nfds_t n = look(x, fds);
        int wait = patience(x);
        pthread_mutex_unlock(&x->mu);
        poll(fds, n, wait);
        pthread_mutex_lock(&x->mu);
        serve(x, fds);
    }
    while (x->n_links > 0)
        hang_up(x, x->n_links - 1);
    pthread_mutex_unlock(&x->mu);
    return NULL;
}

/* ---- the handle -------------------------------------------------------- */

static void listen_somewhere(hf_test_proxy *x) {
    x->port = 12000 + getpid() * 11 % 20000;
    int on = 1;
    do {
        x->port = x->port < 32000 ? x->port + 1 : 12000;
        x->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(x->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind_to(x->listener, x->port) == 0 && listen(x->listener, 64) == 0)
            return;
        close(x->listener);
    } while (true);
}

static hf_test_proxy *start(int server_port, bool zookeeper) {
    hf_test_proxy *x = calloc(1, sizeof *x);
    assert_non_null(x);
    x->zookeeper = zookeeper;
    pthread_mutex_init(&x->mu, NULL);
    x->server_port = server_port;
    listen_somewhere(x);
    assert_int_equal(pipe2(x->bell, O_CLOEXEC), 0);
    assert_int_equal(pthread_create(&x->thread, NULL, run, x), 0);
    return x;
}

hf_test_proxy *hf_test_proxy_start(int server_port) {
    return start(server_port, false);
}

hf_test_proxy *hf_test_proxy_start_zookeeper(int server_port) {
    return start(server_port, true);
}

static void begin(hf_test_proxy *x) {
    pthread_mutex_lock(&x->mu);
}

static void commit(hf_test_proxy *x) {
    pthread_mutex_unlock(&x->mu);
    if (write(x->bell[1], "", 1) < 0)
        abort();
}

void hf_test_proxy_stop(hf_test_proxy *x) {
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

int hf_test_proxy_port(const hf_test_proxy *x) {
    return x->port;
}

void hf_test_proxy_delay(hf_test_proxy *x, hf_way way, int ms) {
    begin(x);
    x->delay[way] = ms;
    commit(x);
}

void hf_test_proxy_stall(hf_test_proxy *x, hf_way way, bool on) {
    begin(x);
    x->stall[way] = on;
    commit(x);
}

void hf_test_proxy_drop(hf_test_proxy *x, hf_way way, bool on) {
    begin(x);
    x->drop[way] = on;
    commit(x);
}

void hf_test_proxy_single_out(hf_test_proxy *x, int replica) {
    begin(x);
    x->only = replica;
    commit(x);
}

void hf_test_proxy_refuse(hf_test_proxy *x, bool on) {
    begin(x);
    x->refuse = on;
    commit(x);
}

void hf_test_proxy_cut(hf_test_proxy *x) {
    begin(x);
    for (int i = 0; i < x->n_links; i++)
        for (int way = 0; way < 2; way++)
            shutdown(x->links[i]->fd[way], SHUT_RDWR);
    commit(x);
}

static void arm(hf_test_proxy *x, const char *word, const char *within,
                const char *forged, int bytes) {
    begin(x);
    x->armed = true;
    x->word = word;
    x->within = within;
    x->forged = forged;
    x->bytes = bytes;
    x->caught = 0;
    commit(x);
}

void hf_test_proxy_catch(hf_test_proxy *x, const char *word, const char *within,
                         int bytes) {
    arm(x, word, within, NULL, bytes);
}

void hf_test_proxy_forge(hf_test_proxy *x, const char *word, const char *within,
                         const char *text) {
    arm(x, word, within, text, 0);
}

void hf_test_proxy_swallow(hf_test_proxy *x, int op, const char *within,
                           int pass, int bytes) {
    begin(x);
    x->op = op;
    x->pass = pass;
    commit(x);
    arm(x, NULL, within, NULL, bytes);
}

size_t hf_test_proxy_caught(hf_test_proxy *x) {
    begin(x);
    size_t size = x->caught;
    pthread_mutex_unlock(&x->mu);
    return size;
}

int hf_test_proxy_connections(hf_test_proxy *x) {
    begin(x);
    int n = x->connections;
    pthread_mutex_unlock(&x->mu);
    return n;
}
