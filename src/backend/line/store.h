/* SPDX-License-Identifier: MIT
 *
 * store.h - what the files of this folder share: the store as one client has
 * it, its places, and who listens.
 *
 * A *place* is a claim of ours that has, or may have, an entry in a line:
 *
 *              enter                admitted
 *   asked ──────────────► waits ───────────────► holds
 *     │ in doubt: asks again │                     │ release, or its lease ends
 *     └──────────────────────┴──────► errand ◄─────┘
 *                                       │ the store has answered, or the
 *                                       ▼ generation is over
 *                                      gone
 *
 * Who is out of the table is out: what the store has not confirmed goes on as
 * an errand, under an id that nobody uses again.  One mutex guards all of it;
 * it is never held while the port is called. */
#ifndef HF_LINE_STORE_H
#define HF_LINE_STORE_H

#include <pthread.h>

#include "../../world.h"
#include "line.h"

typedef struct hf_line_place hf_line_place;
typedef struct hf_line_ear hf_line_ear;

/* A watch in the port, by its number.  One of the two hears it. */
typedef struct hf_line_watch {
    struct hf_line_watch *next; /* in its bucket */
    uint64_t number;            /* 0: none */
    hf_line_ear *ear;
    hf_line_place *place;
} hf_line_watch;

struct hf_line_place {
    struct hf_line_place *next; /* in its bucket, or the next errand */
    hf_kind kind;               /* of the claim */
    uint64_t owner, beside;
    bool read_beside; /* WRITE: its asker has read beside it, perhaps still */
    int permits, lease_ms;
    bool busy;  /* a verb is at it, without the mutex */
    bool holds; /* until lease_until */
    hf_time lease_until;
    uint64_t token;

    /* The entry.  `key` is NULL while there is none that we know of. */
    unsigned char id[16];
    bool asked; /* the id was used */
    char *key;
    uint64_t generation;
    bool doubted;       /* it may be there unheard */
    hf_time settles_at; /* until then what was not answered may appear */

    hf_time
        looked;    /* when it last saw the line, and turned its ear; 0: never */
    hf_time tried; /* when it was last asked for */

    /* To be told when it is gone: after a while, for most are soon done. */
    hf_line_watch own;
    hf_time mind_at;
    bool minded;   /* the port has said that it watches */
    bool only_one; /* stood before it when it last looked, and is listened
                        for: when that goes, the place holds */

    /* As an errand. */
    hf_time due;
    int pause_ms;
    bool posted;
    char name[];
};

/* A claim that wants to be woken. */
struct hf_line_ear {
    struct hf_line_ear *next;
    hf_kind kind;
    uint64_t owner;
    hf_line_watch watch;
    char *key; /* that it watches; NULL: the number */
    char name[];
};

enum { HF_LINE_BUCKETS = 256 };

typedef struct hf_line_store {
    hf_backend base;
    hf_port *port;
    hf_port_host port_host;
    bool notices; /* its session is shorter than a lease */

    pthread_mutex_t mu;
    pthread_cond_t changed; /* a place is not busy, or an errand not there */
    hf_line_place *places[HF_LINE_BUCKETS];
    hf_line_ear *ears[HF_LINE_BUCKETS];
    hf_line_watch *watches[HF_LINE_BUCKETS];
    uint64_t last_watch;
    hf_time interrupted; /* watches may have missed something before */

    /* worker.c */
    hf_line_place *errands, **errands_end; /* oldest first */
    pthread_cond_t work;
    pthread_t worker;
    bool runs, stopping;
    hf_time sleeps_until;
} hf_line_store;

static inline hf_line_store *hf__line_store(hf_backend *be) {
    return (hf_line_store *)be;
}

/* The line that a claim of that kind stands in. */
static inline hf_line hf__line_of(hf_kind kind, const char *name) {
    hf_kind line = hf_line_kind(kind);

    if (line == HF_FAIR || line == HF_SPIN)
        line = HF_LOCK;
    return (hf_line){.kind = line, .name = name};
}

static inline bool hf__line_lives(const hf_line_store *s,
                                  const hf_line_place *p) {
    return p->generation == s->port->ops->generation(s->port);
}

/* For how long the session is good; never 0, which would mean for ever. */
static inline int hf__line_session_ms(const hf_line_store *s) {
    int ms = s->port->ops->session_ms(s->port);

    return ms > 0 ? ms : 1;
}

/* When a grant or renewal that was just answered ends, unless it is renewed:
 * when nobody believes in it any more, because of its lease or of the session.
 * The core counted from before it asked. */
static inline hf_time hf__line_lease(const hf_claim *c) {
    return hf__after_ms(c->lease_ms < c->session_ms ? c->lease_ms :
                                                      c->session_ms);
}

/* ---- place.c: everything with the mutex held --------------------------- */

hf_line_place *hf__place_find(hf_line_store *s, const hf_claim *c);

/* A new one, in the table; NULL: no memory. */
hf_line_place *hf__place_add(hf_line_store *s, const hf_claim *c);
void hf__place_unlink(hf_line_store *s, hf_line_place *p);
void hf__place_free(hf_line_store *s, hf_line_place *p); /* unlinked before */

/* There is no entry any more, or never was: the next one has a new id. */
void hf__place_clear(hf_line_store *s, hf_line_place *p);

/* Sleeps until nobody is busy with it; the place, which may be another one by
 * then; NULL: there is none.  *late: it was still busy at `by`. */
hf_line_place *hf__place_wait(hf_line_store *s, const hf_claim *c, hf_time by,
                              bool *late);

/* The entry that stands beside it and stays.  *ret NULL: there is none; the
 * caller's to free.  HF_ENO_MEMORY. */
int hf__place_beside(hf_line_store *s, const hf_line_place *p, char **ret);

/* The wish by which the port knows the entry. */
hf_wish hf__place_wish(const hf_line_place *p);

hf_line_ear *hf__ear_find(hf_line_store *s, const hf_claim *c);
hf_line_ear *hf__ear_add(hf_line_store *s, const hf_claim *c);
void hf__ear_free(hf_line_store *s, hf_line_ear *ear); /* with its watch */

/* Gives a watch its number and finds it by that. */
uint64_t hf__watch_begin(hf_line_store *s, hf_line_watch *w);
void hf__watch_end(hf_line_store *s, hf_line_watch *w);
void hf__watch_drop(hf_line_store *s, hf_line_watch *w); /* in the port, too */
hf_line_watch *hf__watch_find(hf_line_store *s, uint64_t number);

/* ---- worker.c ---------------------------------------------------------- */

/* The thread is there when it is needed.  HF_ESYSTEM.  Mutex held. */
int hf__worker_start(hf_line_store *s, hf_error *err);
void hf__worker_stop(hf_line_store *s); /* not held */

/* It looks at that moment at the latest.  Mutex held. */
void hf__worker_look_by(hf_line_store *s, hf_time at);

/* The place, which is unlinked, is left then, until it is so.  Mutex held. */
void hf__errand_add(hf_line_store *s, hf_line_place *p, hf_time at);

/* Asks the port to take the entry out, once: HF_OK, HF_EFREE, or an error.
 * *over: nothing is left to do.  Not held. */
int hf__errand_try(hf_line_store *s, hf_line_place *p, bool *over, hf_time by,
                   hf_error *err);

/* Takes the place out of the table and, if it may have an entry, out of the
 * line; what the port does not confirm becomes an errand.  HF_OK; HF_EFREE: it
 * had no entry; or an error.  Mutex held on entry, not on exit. */
int hf__place_leave(hf_line_store *s, hf_line_place *p, hf_time by,
                    hf_error *err);

/* Waits for errands of the line that are under way, a little.  Mutex held. */
void hf__errands_settle(hf_line_store *s, hf_line line, hf_time by);

/* ---- ear.c: what the port tells ---------------------------------------- */

void hf__line_moved(void *line_store, uint64_t watch, bool gone);
void hf__line_renewed(void *line_store, uint64_t generation);
void hf__line_reconnected(void *line_store);

/* Listens for what keeps a claim out: the key, or the number.  HF_OK: it is
 * listened for, or nobody wants to be told; HF_BUSY: it has moved already;
 * HF_EDOWN: the port would not.  Not held. */
int hf__line_listen(hf_line_store *s, const hf_claim *c, const char *key,
                    uint64_t as_of, hf_time by);

/* ---- attempt.c --------------------------------------------------------- */

/* An attempt of a kind that stands in a line. */
int hf__line_stand(hf_line_store *s, hf_claim *c, bool waits, hf_time by,
                   hf_error *err);

/* ---- number.c ---------------------------------------------------------- */

int hf__count_take(hf_line_store *s, hf_claim *c, hf_time by, hf_error *err);
int hf__count_undo(hf_line_store *s, const hf_claim *c, hf_time by,
                   hf_error *err);
int hf__count_zero(hf_line_store *s, hf_claim *c, hf_time by, hf_error *err);

/* The number, with how much of it is leased; what was leased out of one that is
 * gone goes, too. */
int hf__count_read(hf_line_store *s, const hf_line *line,
                   hf_number_state *state, int64_t *leased, hf_time by,
                   hf_error *err);

/* ---- lineup.c ---------------------------------------------------------- */

/* May the entry hold?  *blocker: whose going to watch for; *before: how many
 * stand before it.  No memory: nobody may. */
bool hf__lineup_admits(const hf_lineup *l, size_t me, size_t *blocker,
                       size_t *before);

/* ---- list.c ------------------------------------------------------------ */

int hf__line_force(hf_line_store *s, const hf_claim *c, const char *whose,
                   hf_time by, hf_error *err);
int hf__line_token(hf_line_store *s, const hf_claim *c, int64_t *value,
                   hf_time by, hf_error *err);

/* A question that the store answers with no: when it makes sense again unless
 * somebody tells. */
#define HF_LINE_AGAIN hf__look_again
#define HF_LINE_POLL  (500 * HF_MS) /* nobody will tell */

#endif
