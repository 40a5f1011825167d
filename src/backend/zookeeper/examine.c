/* SPDX-License-Identifier: MIT
 *
 * examine.c - what these servers can promise, in words. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

enum { WORD_MS = 500 }; /* for a four-letter word: it is only to say more */

typedef struct telling {
    hf_zookeeper *p;
    hf_fact_fn *fn;
    void *arg;
} telling;

static void tell(const telling *t, hf_verdict_level level, const char *what,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static void tell(const telling *t, hf_verdict_level level, const char *what,
                 const char *format, ...) {
    char text[480];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    t->fn(t->arg, level, what, text);
}

/* ---- four-letter words ------------------------------------------------- */

/* "127.0.0.1:2181" or "[::1]:2181" or "::1:2181", as libzookeeper writes it. */
static int dial(const char *server) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    char host[128];
    const char *colon = strrchr(server, ':');
    const char *from = server + (*server == '[');
    size_t n;

    if (!colon)
        return -1;
    n = (size_t)(colon - from);
    if (n > 0 && from[n - 1] == ']')
        n--;
    snprintf(host, sizeof host, "%.*s", (int)n, from);
    v4.sin_port = v6.sin6_port = htons((uint16_t)atoi(colon + 1));
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return hf__world->dial((struct sockaddr *)&v4, sizeof v4);
    if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1)
        return hf__world->dial((struct sockaddr *)&v6, sizeof v6);
    return -1;
}

static bool ready(int fd, short events, hf_time by) {
    struct pollfd pfd = {.fd = fd, .events = events};

    return hf__world->poll(&pfd, 1, by) == 1;
}

/* The server that we talk to, asked by the side entrance.  "": it does not
 * answer there, or the word is not allowed. */
static void ask(hf_zk *zk, const char *word, char *buf, size_t size,
                hf_time by) {
    char server[160];
    size_t n = 0;
    ssize_t got;
    int fd;

    buf[0] = '\0';
    hf__zk_server(zk, server, sizeof server);
    fd = dial(server);
    if (fd < 0)
        return;
    by = hf__sooner(by, hf__after_ms(WORD_MS));
    if (ready(fd, POLLOUT, by) && hf__world->send(fd, word, 4) == 4)
        while (n < size - 1 && ready(fd, POLLIN, by) &&
               (got = hf__world->recv(fd, buf + n, size - 1 - n)) > 0)
            n += (size_t)got;
    buf[n] = '\0';
    hf__world->close(fd);
}

/* What stands behind `label` in its line, up to one of `stops`. */
static bool value(const char *text, const char *label, const char *stops,
                  char *buf, size_t size) {
    const char *at = strstr(text, label);

    if (!at)
        return false;
    at += strlen(label);
    snprintf(buf, size, "%.*s", (int)strcspn(at, stops), at);
    return true;
}

/* ---- the servers ------------------------------------------------------- */

/* The ensemble as its own configuration has it: how many vote; 0: one server
 * for itself; -1: it does not say. */
static int voters(hf_zookeeper *p, hf_time by, hf_error *err) {
    const hf_answer *config;
    int n = -1, rc;
    hf_round *r;

    rc = hf__round_begin(&r, p->zk, 1, by, err);
    if (rc != HF_OK)
        return -1;
    config = hf__round_get(r, ZOO_CONFIG_NODE);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && config->rc == ZOK) {
        n = 0;
        for (const char *at = config->text; (at = strstr(at, ":participant"));
             at++)
            n++;
    }
    hf__round_free(r);
    return n;
}

static void tell_server(const telling *t, const char *srvr) {
    char version[64];

    if (value(srvr, "version: ", "-,\n", version, sizeof version))
        tell(t, HF_FACT, "server", "ZooKeeper %s", version);
    else
        tell(t, HF_FACT, "server",
             "ZooKeeper, of a version that it does not tell: the word srvr is "
             "not in its 4lw.commands.whitelist");
}

static void tell_ensemble(const telling *t, const char *srvr, int n) {
    char mode[32] = "";

    value(srvr, "Mode: ", "\n", mode, sizeof mode);
    if (strcmp(mode, "standalone") == 0 || (!*mode && n == 0))
        tell(t, HF_WARN, "topology",
             "one server: while it is away nothing is granted, and sessions "
             "wait for it; what it has written to its disk it knows again.  "
             "Have three, or five");
    else if (n > 0 && n < 3)
        tell(t, HF_WARN, "topology",
             "an ensemble of %d voting servers: none may fail; have three", n);
    else if (n > 0)
        tell(t, HF_GOOD, "topology",
             "an ensemble of %d voting servers: %d of them may fail", n,
             (n - 1) / 2);
    else
        tell(t, HF_FACT, "topology",
             "an ensemble; of how many servers it does not tell us");
}

/* ---- what it comes to -------------------------------------------------- */

static void tell_session(const telling *t) {
    int ms = hf__zk_timeout_ms(t->p->zk);

    tell(t, HF_FACT, "session",
         "%d ms: when a holder's process dies or is cut off, its locks are "
         "free after that and a tick at most",
         ms);
    if (ms > 60000)
        tell(t, HF_WARN, "session",
             "a dead holder keeps others out for a minute and more: write "
             "?session=10s");
}

static void tell_layout(const telling *t) {
    static const char *const texts[] = {
        [HF_CURATOR] = "curator: locks are shared with Curator (Java); kazoo "
                       "with its defaults does not see them",
        [HF_KAZOO] = "kazoo: locks are shared with kazoo (Python); Curator "
                     "does not see them; permits are Curator's",
        [HF_BRIDGE] = "bridge: locks exclude Curator's and kazoo's, which do "
                      "not exclude each other; all else is Curator's"};

    tell(t, t->p->layout == HF_BRIDGE ? HF_WARN : HF_FACT, "layout", "%s",
         texts[t->p->layout]);
}

static void tell_promise(const telling *t, bool alone) {
    tell(t, HF_GOOD, "grants",
         alone ? "each is on the server's disk before it is one" :
                 "each is with a majority before it is one: none is lost with "
                 "a server, nor given twice");
    tell(t, HF_GOOD, "order", "first come, first served");
    tell(t, HF_GOOD, "token",
         "the number of the transaction (czxid): it grows with every grant, "
         "also across leaders; not across servers set up anew");
    tell(t, HF_GOOD, "messages",
         "a release wakes the one who is next, and nobody else; with permits "
         "all who wait");
}

static void tell_safety(const telling *t) {
    tell(t, HF_WARN, "encryption",
         "none: this library speaks no TLS to ZooKeeper.  Keep it in a network "
         "of its own, or take a tunnel");
    if (t->p->guarded)
        tell(t, HF_GOOD, "access", "what we make is open to our user only");
    else
        tell(t, HF_WARN, "access",
             "what we make is open to everybody who can reach the servers: "
             "write zk://USER:PASSWORD@… to close it");
}

int hf__zookeeper_examine(hf_port *port, hf_fact_fn *fn, void *arg, hf_time by,
                          hf_error *err) {
    telling t = {.p = (hf_zookeeper *)port, .fn = fn, .arg = arg};
    char srvr[2048];
    int n = voters(t.p, by, err);

    if (n < 0 && hf__zookeeper_only_asked(err->code, err) == HF_EDOWN)
        return HF_EDOWN;
    ask(t.p->zk, "srvr", srvr, sizeof srvr, by);
    tell_server(&t, srvr);
    tell_ensemble(&t, srvr, n);
    tell_session(&t);
    tell_layout(&t);
    tell_promise(&t, strstr(srvr, "Mode: standalone") != NULL);
    tell_safety(&t);
    return HF_OK;
}
