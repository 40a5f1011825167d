/* SPDX-License-Identifier: MIT
 *
 * ground.h - what all processes of a trial see: its settings, and the things
 * that its locks protect.
 *
 * It lies in a file that everybody maps.  Each name has a *cell*: a resource
 * that refuses older tokens, and beside it one that refuses nothing, by which
 * one sees what a token is good for. */
#ifndef HF_TORTURE_GROUND_H
#define HF_TORTURE_GROUND_H

#include "history.h"

#include <pthread.h>
#include <stdatomic.h>

/* Names by their numbers.  The first few everybody wants; then many that are
 * seldom wanted by two; latches have a new name each time. */
enum {
    NAME_LOCK = 0, /* and what else excludes: three of them   */
    NAME_FAIR = 3, /* two                                     */
    NAME_RW = 5,   /* two                                     */
    NAME_PERMIT = 7,
    NAME_SEMAPHORE = 8,
    NAME_BOTH = 9, /* two, that are wanted together           */
    NAME_MANY = 16,
    MANY = 400,
    CELLS = NAME_MANY + MANY,
    NAME_LATCH = 10000
};

enum { CLIENTS = 512 }; /* workers whose clients are known by name */
enum { PERMITS = 3 };   /* of each semaphore */
enum { LATCH_COUNT = 3 };

typedef struct cell {
    pthread_mutex_t mu; /* robust: whoever has it may be killed */
    uint64_t high;      /* the highest token that was here      */
    uint64_t visitor;   /* who wrote to the other one last      */
} cell;

typedef struct ground {
    /* Written before the first worker starts. */
    char uri[512];
    uint64_t seed;
    int lease_ms, timeout_ms, threads;
    int replicas;   /* as hf_lock_options has it */
    bool forgetful; /* the store may forget what it did: nobody counts there */

    atomic_bool over;         /* come to an end                               */
    atomic_uint latch;        /* the number of the latch to wait for; 0: none */
    atomic_ulong visits;      /* of the resource that refuses nothing         */
    atomic_ulong spoilt;      /* somebody else was there meanwhile            */
    atomic_ulong doubts;      /* permits that nobody knows of any more        */
    atomic_ulong by_code[64]; /* answers of acquire, by their number     */
    char clients[CLIENTS][48]; /* by the number of their worker; two threads
                                  of it may write the same there          */
    cell cells[CELLS];
} ground;

ground *ground_make(const char *path); /* NULL: errno says why */
ground *ground_map(const char *path);
void ground_unmap(ground *g);

/* Writes to the cell of `rec->name` with `rec->token`, and notes the answer in
 * *rec and in the recorder before anybody else can write: the history has the
 * writes in the order in which the cell saw them. */
void ground_write(ground *g, hf_recorder *r, hf_record *rec);

/* The resource without a check.  `me` was here before, or enters now; false:
 * somebody else was here in between. */
bool ground_visit(ground *g, uint32_t name, uint64_t me, bool enters);

/* "hot-3" */
void ground_name(uint32_t name, char *buf, size_t size);

/* ---- chance ------------------------------------------------------------ */

typedef struct chance {
    uint64_t state;
} chance;

chance chance_of(uint64_t seed, uint64_t who);
uint64_t chance_next(chance *c);
int chance_below(chance *c, int n);
int chance_between(chance *c, int least, int most);
bool chance_percent(chance *c, int percent);

#endif
