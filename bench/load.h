/* SPDX-License-Identifier: MIT
 *
 * load.h - threads of this process that take free locks and give them back, as
 * fast as they can, each under names of its own. */
#ifndef HF_BENCH_LOAD_H
#define HF_BENCH_LOAD_H

#include <holdfast.h>

enum { LOAD_THREADS = 512, LOAD_NAMES = 64 };

typedef struct load {
    hf_client *const *clients; /* the threads take turns at choosing one */
    int n_clients;
    const hf_lock_options *options; /* of the locks; NULL */
    const char *word;               /* what their names begin with */
    int threads, names;             /* of each thread, taken in turn */
} load;

/* Returns when every lock has been taken once and the threads are off. */
void load_begin(const load *l);

/* Returns when they have all come to rest: how often a lock was taken and
 * given back since.  Negative: something failed, and err says what. */
long load_stop(hf_error *err);

/* Frees everything. */
void load_end(void);

#endif
