/* SPDX-License-Identifier: MIT
 *
 * fleet.h - private servers that belong together: a master with replicas, its
 * sentinels, a cluster.
 *
 * Each function returns when the whole of it works, and ends the program if it
 * never does. */
#ifndef HF_BENCH_FLEET_H
#define HF_BENCH_FLEET_H

#include "server.h"

#include <stdbool.h>

enum { FLEET_MASTERS = 3 };

typedef struct fleet {
    const bench_server *masters[FLEET_MASTERS];
    const bench_server *others[2 * FLEET_MASTERS]; /* replicas, sentinels */
    int n_masters, n_others;
    char uri[160];
} fleet;

void fleet_single(fleet *f);
void fleet_replicated(fleet *f, int replicas);

/* Three sentinels over a master that has replicas; these stay the other's. */
void fleet_sentinel(fleet *f, const fleet *replicated);

/* `replicas`: one for each master. */
void fleet_cluster(fleet *f, int masters, bool replicas);

void fleet_stop(fleet *f);

/* User and system time that all of its servers have used, in seconds. */
double fleet_cpu(const fleet *f);

/* A number out of INFO: fleet_info(s, "memory", "used_memory").  0 where there
 * is none. */
double fleet_info(const bench_server *s, const char *section, const char *key);

/* How often a command was called, by clients and scripts. */
double fleet_calls(const bench_server *s, const char *command);

void fleet_flush(const bench_server *s); /* forgets all keys */

#endif
