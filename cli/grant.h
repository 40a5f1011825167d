/* SPDX-License-Identifier: MIT
 *
 * grant.h - asking for a lock, for permits or for the opening of a latch while
 * listening to signals, and what one has afterwards. */
#ifndef CLI_GRANT_H
#define CLI_GRANT_H

#include <pthread.h>
#include <stdatomic.h>

#include "../include/holdfast.h"
#include "json.h"
#include "settings.h"
#include "signals.h"

enum { GRANT_MOST = 1 + OPTION_LIST_MOST }; /* locks in one grant */

typedef struct grant_wish {
    const settings *settings;
    const char *name;
    const option_list *also; /* more names, all or none; NULL: none */
    const char *why;         /* NULL: the settings' */
    const char *program;     /* NULL: this one */
    hf_kind kind;
    unsigned flags; /* HF_WRITERS_FIRST */
    int permits;    /* PERMIT, SEMAPHORE */
    int limit;      /* their number, if nobody has set it; 0: leave it */
    int wait_ms;
    int lease_ms;
    int at_most_ms; /* 0: no limit */
    int replicas;   /* that must confirm it; HF_MAJORITY, HF_ALL */
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
    hf_lock *members[GRANT_MOST]; /* the locks of the names; if there is but
                                     one, it is `lock`                     */
    int result;         /* HF_OK: held                                     */
    int signal;         /* ended the wait; 0: none                         */
    const char *nested; /* BUSY because a command we are part of holds it  */
    hf_error err;  /* result < 0                                           */
    int64_t asked; /* when we began                                        */
    int64_t since; /* when it was granted                                  */
    int news;      /* readable when grant_news_next has something          */
    const grant_wish *wish;
    int news_in;
    pthread_t asker;
    atomic_int stage;
} grant;

/* The names wished for, from the first, which has the say where one has to. */
static inline int wish_names(const grant_wish *w) {
    return 1 + (w->also ? w->also->n : 0);
}

static inline const char *wish_name(const grant_wish *w, int i) {
    return i == 0 ? w->name : w->also->items[i - 1];
}

/* Opens the store and waits; nothing is left in the store unless the result is
 * HF_OK, and a signal that came before it makes it HF_ECANCELLED.  g->client
 * stays open (it may be NULL) for questions about who holds. */
int grant_ask(grant *g, const grant_wish *wish, const signals *s);

/* Says why it was not granted; the exit status, `conflict` if it was busy. */
int grant_refused(const grant *g, int conflict);

/* What it is called: the name, or all of them.  Lent. */
const char *grant_name(const grant *g);

/* The tokens of all names, in their order; how many there are. */
int grant_tokens(const grant *g, uint64_t tokens[static GRANT_MOST]);

/* "locks": the names with their tokens. */
void grant_put_locks(const grant *g, const uint64_t *tokens, json *j);

/* The name that is held no longer; if all are, the first. */
const char *grant_lost_name(const grant *g);

/* What happened to the hold; false: nothing more. */
bool grant_news_next(grant *g, grant_news *news);

/* Gives it back, others getting in only after keep_ms. */
int grant_release(grant *g, int keep_ms);

/* Frees everything; releases what is still held. */
void grant_close(grant *g);

#endif
