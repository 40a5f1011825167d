/* SPDX-License-Identifier: MIT
 *
 * tied.h - the one session that holds the locks of a client, and what it holds,
 * as the files of session.h share it.
 *
 * Whoever touches the session or the holds has entered. */
#ifndef HF_TABLES_TIED_H
#define HF_TABLES_TIED_H

#include <pthread.h>
#include <stdatomic.h>

#include "form.h"
#include "session.h"

/* What we hold. */
typedef struct hf_tied_hold {
    struct hf_tied_hold *next;
    uint64_t owner, token;
    int64_t key;
    int lease_ms;
    hf_time until;
    char name[];
} hf_tied_hold;

typedef struct hf_tied {
    hf_backend base;
    hf_database_host up;
    hf_database *db;
    hf_texts texts;
    char *where;
    unsigned char client[16];

    pthread_mutex_t mu;
    pthread_cond_t freed;
    bool busy; /* mu: somebody has entered, and uses what follows */

    hf_session *session; /* that holds them; NULL: none, or none any more */
    int64_t id;          /* the server's number of it                     */
    atomic_int idle_s;   /* after which the server may end it; read by any */
    hf_tied_hold *holds;
    bool straight; /* no pooler was found between us and the server */

    int bell; /* wakes the watcher: look again */
    pthread_t watcher;
    bool watched;
    bool stopping; /* mu */

    atomic_bool plain; /* the tables have no place for what a client does */
    atomic_bool announced;
} hf_tied;

/* HF_EDOWN: whoever is in there waits for an answer, until `by` and longer. */
int hf__tied_enter(hf_tied *s, hf_time by, hf_error *err);
void hf__tied_leave(hf_tied *s);

/* Lets the watcher look again. */
void hf__tied_ring(const hf_tied *s);

/* ---- what is held ------------------------------------------------------ */

int64_t hf__tied_key(const hf_tied *s, const char *name);

/* The hold of that lock; where there is none, *result is NULL. */
hf_tied_hold **hf__tied_find(hf_tied *s, int64_t key);

/* NULL: this owner holds nothing of the name. */
hf_tied_hold **hf__tied_find_own(hf_tied *s, const hf_claim *c);
void hf__tied_drop(hf_tied_hold **at);

/* From now on, as long as the claim says. */
void hf__tied_lease(hf_tied_hold *h, hf_claim *c);

/* The session is over, and with it all that it holds: tells the core. */
void hf__tied_lose(hf_tied *s);

/* ---- asking ------------------------------------------------------------ */

typedef struct hf_tied_fields {
    hf_literal name, client, host, program, login, why;
    char key[24], owner[24], lease[24], idle[16], id[24], pid[24];
    hf_blank blanks[20]; /* with room for some more */
} hf_tied_fields;

extern const hf_claim hf__tied_nobody;

/* The blanks of a statement about a claim; about all names where it has none. */
const hf_blank *hf__tied_fill_in(const hf_tied *s, hf_tied_fields *f,
                                 const hf_claim *c, int64_t id);

/* A session, or whichever is free if it is NULL. */
int hf__tied_ask(hf_tied *s, hf_session *session, const char *text,
                 const hf_claim *c, int64_t id, hf_answers *a, size_t *last,
                 hf_time by, hf_error *err);

/* A statement about lines, whose tables are made if they are missing. */
int hf__tied_ask_tables(hf_tied *s, const char *text, const hf_claim *c,
                        hf_answers *a, size_t *last, hf_time by, hf_error *err);

/* The same of a whole script. */
int hf__tied_ask_form(hf_tied *s, const hf_form *form, hf_answers *a,
                      hf_time by, hf_error *err);

/* What only the session that holds the locks can do. */
int hf__tied_ask_session(hf_tied *s, hf_tied_sql what, const hf_claim *c,
                         hf_answers *a, size_t *last, hf_time by,
                         hf_error *err);

/* Gives the lock back, by `free` or `keep`.  HF_ELOST: it was not there. */
int hf__tied_put_back(hf_tied *s, hf_tied_sql what, const hf_claim *c,
                      hf_time by, hf_error *err);

/* ---- the session ------------------------------------------------------- */

/* It is there, for a claim; NULL: to see whether it can be. */
int hf__tied_need(hf_tied *s, hf_claim *c, hf_time by, hf_error *err);

/* It answers, and so holds what it holds; and knows how long to wait for us. */
int hf__tied_check(hf_tied *s, hf_claim *const *claims, size_t n, hf_time by,
                   hf_error *err);

/* HF_ECANNOT, in words. */
int hf__tied_pooled(const hf_tied *s, hf_error *err);

/* Watcher thread: tells of the session's end, and ends leases. */
void *hf__tied_watch(void *arg);

/* ---- tied_list.c ------------------------------------------------------- */

int hf__tied_announce(hf_backend *be, const char *doing, int lease_ms,
                      hf_time by, hf_error *err);
void hf__tied_take_leave(hf_tied *s); /* of others' lists */
int hf__tied_clients(hf_backend *be, hf_record_fn *fn, void *arg, hf_time by,
                     hf_error *err);
int hf__tied_list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                  hf_time by, hf_error *err);

#endif
