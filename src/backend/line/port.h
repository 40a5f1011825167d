/* SPDX-License-Identifier: MIT
 *
 * port.h - what the stores that keep lines of session-bound entries have in
 * common: ZooKeeper's ephemeral sequential nodes, etcd's leased keys.
 *
 * The verbs of a store (line.c) are written once, over this port.  A port knows
 * keys, sessions and layouts; it knows no claim, no lease, no waiting and no
 * rule of admission.
 *
 * An *entry* is what the store keeps for one claim in a line.  It lives as long
 * as the session it was made in, at most: when that is over, so are its
 * entries, and a new *generation* begins.  A *number* is what a semaphore or a
 * latch counts with; it belongs to nobody and outlives sessions.
 *
 * Every call may come from many threads at once, returns by `by`, and says
 * HF_EDOUBT where a request that left was not answered and may have changed
 * something; HF_EDOWN where it only asked, or never left.  err is never NULL.
 * What a call fills is filled on success only, unless it says otherwise; the
 * caller hands it in cleared and frees what is in it. */
#ifndef HF_LINE_PORT_H
#define HF_LINE_PORT_H

#include "../../../include/holdfast/backend.h"

typedef struct hf_port hf_port;

/* Kinds of lines: HF_LOCK (LOCK, FAIR and SPIN meet in it), HF_WRITE (READ and
 * WRITE), HF_SEMAPHORE (PERMIT, and a number), HF_LATCH (a number alone). */
typedef struct hf_line {
    hf_kind kind;
    const char *name;
} hf_line;

/* ---- entries ----------------------------------------------------------- */

/* What is to stand in a line.  The id makes entering idempotent: asked again
 * with the same id in the same generation, the port finds what it made. */
typedef struct hf_wish {
    hf_line line;
    hf_kind kind;         /* LOCK, READ, WRITE, PERMIT                      */
    unsigned char id[16]; /* random; the GUID of the entry                  */
    bool again;           /* enter: the id was used before, so look for it
                             first; else it is new, which saves the look    */
    int permits;          /* PERMIT; else 1                                 */
    const char *beside;   /* enter READ: the key of the asker's own WRITE,
                             whose order it shares; NULL: it goes to the end.
                             leave: the key of what stands beside it and stays,
                             a READ or a WRITE; NULL: nothing does          */
    const char *note;     /* what the entry says of its owner: one line of
                             printable ASCII, see note.h                    */
} hf_wish;

/* One entry, as a listing shows it. */
typedef struct hf_entered {
    char *key;        /* as the port calls it, for leave, check and watch;
                         where several nodes make up one entry, of them all */
    hf_kind kind;     /* by its tag: LOCK, READ, WRITE, PERMIT              */
    uint64_t order;   /* oldest first; what stands beside another has the
                         same                                               */
    uint64_t token;   /* 0: a listing of this store does not say            */
    int permits;      /* PERMIT; else 1                                     */
    char *note;       /* only if asked for; NULL: foreign, or not asked     */
    int64_t since_ms; /* it is that old; only with notes; -1: unknown       */
} hf_entered;

/* A line at one moment, by order, a WRITE before the READ beside it.  Entries
 * with names that no layout knows are not in it.  Of a semaphore: what is
 * leased.  Where there is none, it is empty. */
typedef struct hf_lineup {
    hf_entered *all; /* grown by hf__lineup_add */
    size_t n;
    uint64_t as_of;         /* the store's own mark of that moment (a
                               revision), for `watch`                       */
    uint64_t last_token;    /* no grant in this line had a higher token so
                               far, and none to come has one as low; 0: the
                               store remembers nothing                      */
    hf_time kept_out_until; /* nobody is admitted before: see `keep_out`;
                               0: no such thing                             */
} hf_lineup;

/* Room for one more, cleared; NULL: no memory. */
hf_entered *hf__lineup_add(hf_lineup *l);
void hf__lineup_sort(hf_lineup *l);  /* by order, WRITE before READ */
void hf__lineup_clear(hf_lineup *l); /* frees what is in it */

/* What entering came to. */
typedef struct hf_arrival {
    hf_lineup line; /* OK: as it was right after, with our entry in it… */
    size_t mine;    /* …which is this one; its token is set             */
    uint64_t generation; /* OK: that it belongs to                           */
    uint64_t as_of;      /* BUSY, PERMIT: for a watch on the number          */
} hf_arrival;

void hf__arrival_clear(hf_arrival *a);

/* ---- numbers ----------------------------------------------------------- */

/* The answers that were given lately stand beside the number, so that a request
 * counts once however often it is sent: written together, or not at all. */
typedef struct hf_answered {
    unsigned char nonce[16];
    int result;
    int64_t value;
} hf_answered;

enum { HF_ANSWERS = 64 };

typedef struct hf_number_state {
    bool is_set;
    int64_t number;
    hf_time gone_at;  /* HF_NEVER: it stays until it is deleted.  When that
                         moment has passed, `read` says that it is not set    */
    uint64_t version; /* for `write`; 0: there is nothing in the store        */
    uint64_t as_of;   /* as hf_lineup has it                                  */
    uint64_t own;     /* the port's, from `read` to `write`                   */
    size_t n_answers; /* oldest first */
    hf_answered answers[HF_ANSWERS];
} hf_number_state;

/* ---- records ----------------------------------------------------------- */

/* What a client, by its number, says of itself.  Lent for the call; no NUL
 * need be behind it. */
typedef void hf_record_text_fn(void *arg, const char *client, const char *text,
                               size_t length);

/* ---- the port ---------------------------------------------------------- */

/* What the port calls; from its own threads, with none of its locks held. */
typedef struct hf_port_host {
    const hf_host *host; /* identity, timeouts */

    /* The entry (or the number) that somebody watches has changed, or is gone
     * for certain; the watch is spent.  May come before `watch` has returned,
     * for nothing, and after `unwatch`.  Does not block. */
    void (*moved)(void *line_store, uint64_t watch, bool gone);

    /* The session is over: what was made before `generation` is gone, or will
     * be before anybody else is let in by it.  All watches are spent. */
    void (*renewed)(void *line_store, uint64_t generation);

    /* The connection came back in the same session.  Watches are kept by the
     * port, but may have missed something. */
    void (*reconnected)(void *line_store);

    void *line_store;
} hf_port_host;

typedef struct hf_port_ops {
    /* An entry whose making was not answered may still appear so long after it
     * was asked for, because requests of this store can overtake each other;
     * 0: whatever was asked for earlier is in the answer to what is asked
     * later. */
    int settles_ms;

    /* `host` lives longer than the port. */
    int (*open)(hf_port **ret, const hf_uri *uri, const hf_port_host *host,
                hf_time by, hf_error *err);

    /* Ends the session, and with it every entry, but for what is kept out.
     * When it has returned, nothing of `host` is called any more.  `forked` as
     * in backend.h. */
    void (*close)(hf_port *p, bool forked);
    const char *(*where)(const hf_port *p);

    /* Why the name cannot be used in this store's keys: HF_ENAME; or HF_OK. */
    int (*check_name)(const hf_port *p, const hf_line *line, hf_error *err);

    /* For how long a grant may be believed in, counted from before a request
     * was sent that was then answered; and which session it is about, never 0.
     * Change with the session. */
    int (*session_ms)(hf_port *p);
    uint64_t (*generation)(hf_port *p);

    /* Until when the session may be believed in by what was answered so far,
     * counted as session_ms is; 0: cannot say.  Asks nobody. */
    hf_time (*good_until)(hf_port *p);

    /* Makes an entry as wished, unless one of that id is there, and lists its
     * line, in one round trip where the store can.  HF_EDOUBT: it may have been
     * made; asking again with the same id finds out.  HF_EFREE: what it should
     * stand beside is gone, and nothing was made.
     *   only_if_free: HF_BUSY, and nothing is left of it, when an entry stands
     * in the line that a claim of this kind must wait for (any; for READ: any
     * WRITE); it is not said of a READ beside a WRITE.  OK does not mean that it is first: somebody
     * may have come in between.
     *   PERMIT: the entry is made only while number - leased >= permits, else
     * HF_BUSY, and nothing is left of it. */
    int (*enter)(hf_port *p, const hf_wish *w, bool only_if_free,
                 hf_arrival *came, hf_time by, hf_error *err);

    /* The line as the store's majority has it now: that an entry of ours is in
     * it is the majority's word that the session lives.  With notes (and all
     * tokens) for those who list it. */
    int (*look)(hf_port *p, const hf_line *line, bool notes, hf_lineup *all,
                hf_time by, hf_error *err);

    /* Takes an entry out, whoever made it; key NULL: whatever there is of our
     * session with the id of the wish.  HF_OK; HF_EFREE: it was not there.  Of the wish `line`, `kind`, `id`, `permits`
     * and `beside` are set. */
    int (*leave)(hf_port *p, const hf_wish *w, const char *key, hf_time by,
                 hf_error *err);

    /* Nobody is let in before ms have passed, also when this process ends
     * meanwhile.  The entry itself stays until it is left; it is changed by
     * this, so that who watches it looks again. */
    int (*keep_out)(hf_port *p, const hf_wish *w, const char *key, int ms,
                    hf_time by, hf_error *err);

    /* Asked of many at once: found[i] is HF_OK, HF_EFREE (gone, or not of our
     * session), or why it is not known.  An OK is the word of the majority
     * that the session lives.  HF_OK: every one is an answer. */
    int (*check)(hf_port *p, const char *const *keys, int *found, size_t n,
                 hf_time by, hf_error *err);

    /* Tells of the first change of the key since `as_of` (0: from now on) by
     * `moved(watch)`; key NULL: of the line's number and of what is leased out
     * of it.  HF_EFREE: it is gone, or has changed, already; no watch is kept
     * then, nor after an error.  `watch` is the caller's number for it, never used
     * twice. */
    int (*watch)(hf_port *p, const hf_line *line, const char *key,
                 uint64_t as_of, uint64_t watch, hf_time by, hf_error *err);

    /* Does not block on the store.  Of a watch that is spent: nothing. */
    void (*unwatch)(hf_port *p, uint64_t watch);

    /* The number as the majority has it, with how many permits are leased out
     * of it (*leased; 0 for a latch). */
    int (*read)(hf_port *p, const hf_line *line, hf_number_state *state,
                int64_t *leased, hf_time by, hf_error *err);

    /* Compare and set by the version that was read; HF_BUSY: somebody was
     * first (also one who took permits), read again.  Not set and with answers:
     * they are kept for a while all the same.  HF_EUSAGE: the number is beyond
     * what the layout can hold. */
    int (*write)(hf_port *p, const hf_line *line, const hf_number_state *state,
                 hf_time by, hf_error *err);

    /* Tells of every line there is, before it returns, as it finds them: `fn`
     * may ask the port something.  `by` as of `records`.  A line may be told
     * of twice. */
    int (*names)(hf_port *p, void (*fn)(void *arg, const hf_line *line),
                 void *arg, hf_time by, hf_error *err);

    /* The same of one name.  NULL: every kind has keys of its own, so that all
     * may be looked at. */
    int (*lines_of)(hf_port *p, const char *name,
                    void (*fn)(void *arg, const hf_line *line), void *arg,
                    hf_time by, hf_error *err);

    /* Keeps what this client says of itself, in place of what it said before,
     * while the session lives.  At most a note and HF_DOING_MAX bytes.  NULL:
     * the port keeps no records. */
    int (*record)(hf_port *p, const char *text, hf_time by, hf_error *err);

    /* Tells of everybody's, in pages; `by` is for the first, and the others
     * have host->timeout_ms each. */
    int (*records)(hf_port *p, hf_record_text_fn *fn, void *arg, hf_time by,
                   hf_error *err);

    int (*examine)(hf_port *p, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err);

    /* As in backend.h; NULL: the store has none to tell of. */
    int (*rights)(hf_port *p, const char *prefix, hf_rule_fn *fn, void *arg,
                  hf_time by, hf_error *err);
} hf_port_ops;

struct hf_port {
    const hf_port_ops *ops;
};

#endif
