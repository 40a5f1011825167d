/* SPDX-License-Identifier: MIT
 *
 * voter.h - one of the servers of whom a majority decides.
 *
 * It has a thread that connects the *wires* of all bundles to it, over and over
 * if need be, so that nobody who asks for a lock waits for a server that is
 * away.  With every connection it is asked what it is, because not every
 * server that answers may vote:
 *
 *   - a replica, or one that throws out keys when memory is short, does not;
 *   - one that was restarted may have forgotten a vote it gave.  It does not
 *     vote until all that it can have granted before has ended, unless it
 *     writes down every vote before it answers. */
#ifndef HF_REDLOCK_VOTER_H
#define HF_REDLOCK_VOTER_H

#include "../topology/node.h"
#include "letter.h"

typedef struct hf_voter hf_voter;
typedef struct hf_bundle hf_bundle;

/* A release that a server was not seen to carry out. */
typedef struct hf_debt {
    struct hf_debt *next;
    hf_letter *letter;
} hf_debt;

/* A request that is not answered yet. */
typedef struct hf_asked {
    uint64_t round;  /* whose answer it will be                 */
    hf_time at;      /* when it was sent                        */
    hf_letter *owed; /* a release, which must arrive; else NULL */
} hf_asked;

typedef enum hf_wire_state {
    HF_WIRE_DIALED, /* it broke, or is new, and is being connected */
    HF_WIRE_DOWN,   /* that failed, and is tried again and again   */
    HF_WIRE_UP
} hf_wire_state;

/* The connection of a bundle to a voter. */
typedef struct hf_wire {
    hf_voter *voter;
    hf_bundle *bundle;

    /* Of whoever has the bundle. */
    hf_conn *conn;   /* NULL: none                              */
    hf_asked *asked; /* a ring of `room`, the oldest at `first` */
    unsigned first, n, room;
    char *unsent; /* what the socket did not take               */
    size_t unsent_len;

    /* The voter's mu. */
    struct hf_wire *next; /* of the same voter                             */
    hf_wire_state state;
    hf_conn *fresh; /* to become conn                                */
    hf_debt *debts;
} hf_wire;

/* May it vote? */
typedef enum hf_standing {
    HF_VOTES,
    HF_UNKNOWN, /* it will not say what it is (INFO)                     */
    HF_IS_REPLICA,
    HF_EVICTS, /* its maxmemory-policy throws keys out               */
    HF_FORGETS /* not every write survives: it votes when old enough */
} hf_standing;

/* What it said when it was last connected. */
typedef struct hf_facts {
    char run_id[48], version[32], policy[32];
    bool aof, always; /* an append-only file, written before each answer */
    int64_t limit;    /* maxmemory                                       */
} hf_facts;

/* What a voter needs of the one who has it. */
typedef struct hf_voter_needs {
    const hf_host *host;
    const hf_scripts *scripts;
    bool durable; /* the user says that it forgets nothing                 */

    /* A wire came up (rc HF_OK), or could not be connected.  The voter's
     * thread, no lock held. */
    void (*wired)(void *arg, hf_wire *w, int rc);
    void *arg;

    /* As hf_host.woken and hf_listener_needs.told, with the voter as `arg`. */
    void (*woken)(void *arg, hf_kind kind, const char *name, uint64_t owner);
    void (*told)(void *arg, hf_listener *w, const char *channel, int code);
} hf_voter_needs;

struct hf_voter {
    hf_node *node; /* its address, messages, and rare errands */
    hf_host host;  /* as its listener sees it                 */
    hf_voter_needs needs;
    unsigned k;     /* its number among the voters */
    char name[128]; /* host:port                   */
    atomic_int standing;
    atomic_llong born; /* it has been running since, by our clock         */
    atomic_bool stopping;

    pthread_mutex_t mu; /* for the rest */
    pthread_cond_t cond;
    pthread_t thread;
    bool runs;
    hf_wire *wires;
    hf_time dial_at, backoff;
    hf_error why; /* the last failure to connect; code 0: none       */
    hf_facts facts;
    hf_time seen; /* it answered then, under facts.run_id            */
};

/* Takes the address, also when it fails. */
int hf__voter_new(hf_voter **ret, unsigned k, hf_address *address,
                  const hf_voter_needs *needs, hf_error *err);
int hf__voter_start(hf_voter *v, hf_error *err);
void hf__voter_stop(hf_voter *v); /* its wires are left alone from then on */
void hf__voter_free(hf_voter *v, bool forked);

/* Has a new wire connected. */
void hf__voter_join(hf_voter *v, hf_wire *w);

/* The connection of a wire that has none, if there is one now.  *state says
 * otherwise how it stands. */
hf_conn *hf__voter_collect(hf_wire *w, hf_wire_state *state);

/* A wire broke, whose server was last heard at `heard`: has it connected
 * again. */
void hf__voter_redial(hf_wire *w, hf_time heard);

/* The release is sent as soon as the wire is connected again. */
void hf__voter_owe(hf_wire *w, hf_letter *l);

/* May it vote now, when no lease was longer than that?  And if it is only too
 * young, when may it? */
bool hf__voter_votes(hf_voter *v, int longest_ms);
hf_time hf__voter_votes_from(hf_voter *v, int longest_ms);

#endif
