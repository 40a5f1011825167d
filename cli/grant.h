/* SPDX-License-Identifier: MIT
 *
 * grant.h - asking for a lock, for permits or for the opening of a latch while
 * listening to signals, and what one has afterwards. */
#ifndef CLI_GRANT_H
#define CLI_GRANT_H

#include <pthread.h>
#include <stdatomic.h>

#include "../include/holdfast.h"
#include "settings.h"
#include "signals.h"

typedef struct grant_wish {
    const settings *settings;
    const char *name;
    const char *why;     /* NULL: the settings' */
    const char *program; /* NULL: this one */
    hf_kind kind;
    unsigned flags; /* HF_WRITERS_FIRST */
    int permits;    /* PERMIT, SEMAPHORE */
    int limit;      /* their number, if nobody has set it; 0: leave it */
    int wait_ms;
    int lease_ms;
    int at_most_ms; /* 0: no limit */
} grant_wish;

/* What the library's threads tell the main thread. */
typedef struct grant_news {
    enum { NEWS_ANSWER, NEWS_STATE } kind;
    hf_state state;
    int why;
    int64_t renewed; /* NEWS_STATE: the last good renewal, 0: unknown */
} grant_news;

typedef struct grant {
    hf_client *client;
    hf_lock *lock; /* one of these three, by the kind                      */
    hf_semaphore *sem;
    hf_latch *latch;
    int result;    /* HF_OK: held                                          */
    int signal;    /* ended the wait; 0: none                              */
    bool nested;   /* BUSY because a command we are part of holds it       */
    hf_error err;  /* result < 0                                           */
    int64_t asked; /* when we began                                        */
    int64_t since; /* when it was granted                                  */
    int news;      /* readable when grant_news_next has something          */
    const grant_wish *wish;
    int news_in;
    pthread_t asker;
    atomic_int stage;
} grant;

/* Opens the store and waits; nothing is left in the store unless the result is
 * HF_OK, and a signal that came before it makes it HF_ECANCELLED.  g->client
 * stays open (it may be NULL) for questions about who holds. */
int grant_ask(grant *g, const grant_wish *wish, const signals *s);

/* Says why it was not granted; the exit status, `conflict` if it was busy. */
int grant_refused(const grant *g, int conflict);

/* What happened to the hold; false: nothing more. */
bool grant_news_next(grant *g, grant_news *news);

/* Gives it back, others getting in only after keep_ms. */
int grant_release(grant *g, int keep_ms);

/* Frees everything; releases what is still held. */
void grant_close(grant *g);

#endif
