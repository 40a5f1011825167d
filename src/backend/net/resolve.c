/* SPDX-License-Identifier: MIT
 *
 * resolve.c - host names to addresses, with a deadline.
 *
 * getaddrinfo has none, and a broken resolver can keep it for half a minute.
 * So a name is looked up by a thread of its own, which we stop waiting for
 * when our time is over; whoever leaves last frees the question. */
#include "resolve.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"

typedef struct question {
    pthread_mutex_t mu;
    pthread_cond_t cond;
    int refs;  /* mu */
    bool done; /* mu */
    int rc;
    struct addrinfo *found;
    char port[8], host[];
} question;

static int look_up(const char *host, const char *port, int flags,
                   struct addrinfo **ret) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV | flags};

    *ret = NULL;
    return getaddrinfo(host, port, &hints, ret);
}

static question *ask(const char *host, const char *port) {
    question *q = hf__calloc(1, sizeof *q + strlen(host) + 1);

    if (!q)
        return NULL;
    pthread_mutex_init(&q->mu, NULL);
    pthread_cond_init(&q->cond, NULL);
    q->refs = 2;
    memcpy(q->port, port, sizeof q->port);
    strcpy(q->host, host);
    return q;
}

/* mu held; gives it up. */
static void leave(question *q) {
    bool last = --q->refs == 0;

    pthread_mutex_unlock(&q->mu);
    if (!last)
        return;
    if (q->found)
        freeaddrinfo(q->found);
    pthread_mutex_destroy(&q->mu);
    pthread_cond_destroy(&q->cond);
    hf__free(q);
}

static void *run(void *arg) {
    question *q = arg;
    struct addrinfo *found;
    int rc = look_up(q->host, q->port, AI_ADDRCONFIG, &found);

    pthread_mutex_lock(&q->mu);
    q->rc = rc;
    q->found = found;
    q->done = true;
    pthread_cond_signal(&q->cond);
    leave(q);
    return NULL;
}

/* Waits for the thread; EAI_AGAIN if it is too slow. */
static int answer(question *q, hf_time by, struct addrinfo **ret) {
    int rc = EAI_AGAIN;

    pthread_mutex_lock(&q->mu);
    while (!q->done && hf__now() < by)
        hf__world->wait(&q->cond, &q->mu, by);
    if (q->done) {
        rc = q->rc;
        *ret = q->found;
        q->found = NULL;
    }
    leave(q);
    return rc;
}

static int look_up_by(const char *host, const char *port, hf_time by,
                      struct addrinfo **ret) {
    question *q = ask(host, port);
    pthread_t thread;

    if (!q)
        return EAI_MEMORY;
    if (hf__world->thread_start(&thread, run, q) != 0) {
        run(q); /* late is better than never */
        return answer(q, HF_NEVER, ret);
    }
    pthread_detach(thread);
    return answer(q, by, ret);
}

int hf__resolve(struct addrinfo **ret, const char *host, int port, hf_time by,
                hf_error *err) {
    char service[8];
    int rc;

    snprintf(service, sizeof service, "%d", port);
    rc = look_up(host, service, AI_NUMERICHOST, ret);
    if (rc == EAI_NONAME)
        rc = look_up_by(host, service, by, ret);
    if (rc == 0)
        return HF_OK;
    return hf__fail(err, HF_EDOWN, "cannot find the host %.128s: %s", host,
                    gai_strerror(rc));
}
