/* SPDX-License-Identifier: MIT
 *
 * trial.h - one run of the simulated world: programs that lock, a nemesis, and
 * what became of it. */
#ifndef HF_SIM_TRIAL_H
#define HF_SIM_TRIAL_H

#include "../history.h"
#include "store.h"

/* What goes wrong in a trial.  Times are means, in seconds; 0: never. */
typedef struct sim_profile {
    const char *name, *text;
    sim_network network;
    sim_weather weather;
    int kill, pause, cut, partition, restart, forget, failover, step;
    bool unsafe; /* the store itself breaks its word: only tokens help */
    int idle_ms; /* how long a name may be free while somebody waits */
} sim_profile;

extern const sim_profile sim_profiles[];
extern const size_t sim_n_profiles;

/* ---- program.c --------------------------------------------------------- */

/* A program under test: a client and some threads. */
typedef struct sim_program {
    sim_process process;
    sim_link *link; /* NULL: not open yet */
    hf_client *client;
    struct sim_worker *workers;
    int n_workers, running;
    uint32_t calls, claims;
    hf_time hot_until;
    bool ended;
} sim_program;

/* Begins one; it ends by itself when the trial stops or it is killed. */
void sim_program_begin(sim_program *p, uint32_t number);
void sim_program_kill(sim_program *p);

/* What all programs share. */
typedef struct sim_scene {
    hf_history history;
    bool stops, unsafe;
    int names;       /* of each kind */
    int lease_ms;    /* about */
    uint64_t broken; /* what the programs themselves saw go wrong */
    const char *why;
    uint64_t operations;
    struct sim_barrier {
        uint32_t number;
        int count, begun, ended;
        bool is_set, given_up;
    } barrier;
    uint64_t fence[64]; /* the highest token that each resource has seen */
} sim_scene;

extern sim_scene sim_scene_now;

enum { SIM_PERMITS = 3 };

void sim_record(hf_record r);

/* ---- trial.c ----------------------------------------------------------- */

typedef struct sim_sum {
    uint64_t trials, grants, operations, records, losses, bad;
    hf_time simulated;
    int64_t idle, late; /* the longest, ns */
} sim_sum;

/* Stores with sessions agree before they answer: they do not forget. */
bool sim_is_possible(const sim_profile *profile, sim_flavour flavour);

/* Runs the trial of this seed.  0: as promised; else it has said on stdout
 * what was not. */
int sim_trial(uint64_t seed, const sim_profile *profile, sim_flavour flavour,
              sim_sum *sum);

#endif
