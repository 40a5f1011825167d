/* SPDX-License-Identifier: MIT
 *
 * hf-sim - locks in a simulated world, where a seed decides what happens.
 *
 *     hf-sim --seed 7 --hours 2 --profile storm --store session
 *
 * runs the trials of the seeds from 7 on until two hours have been simulated,
 * and ends with the first one in which something was not as promised.  The
 * same seed does the same again, and --trace shows it step by step. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fiber.h"
#include "trial.h"

static const char *const flavours[] = {"lease", "session", "table", NULL};

typedef struct settings {
    uint64_t seed;
    double hours;
    uint64_t trials; /* 0: by hours */
    const char *profile, *store;
    double seconds; /* of real time, at most; 0: as long as it takes */
    bool quiet;
} settings;

static int usage(void) {
    fputs(
        "usage: hf-sim [--seed N] [--hours H | --trials N] [--profile P|all]"
        " [--store F|all]\n              [--seconds S] [--trace]\n\nprofiles:\n",
        stderr);
    for (size_t i = 0; i < sim_n_profiles; i++)
        fprintf(stderr, "  %-10s %s\n", sim_profiles[i].name,
                sim_profiles[i].text);
    fputs("stores: lease, session, table\n", stderr);
    return 2;
}

static bool parse(settings *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *key = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(key, "--trace") == 0) {
            sim_traces = true;
            continue;
        }
        if (!value)
            return false;
        i++;
        if (strcmp(key, "--seed") == 0)
            o->seed = strtoull(value, NULL, 10);
        else if (strcmp(key, "--hours") == 0)
            o->hours = strtod(value, NULL);
        else if (strcmp(key, "--trials") == 0)
            o->trials = strtoull(value, NULL, 10);
        else if (strcmp(key, "--profile") == 0)
            o->profile = value;
        else if (strcmp(key, "--store") == 0)
            o->store = value;
        else if (strcmp(key, "--seconds") == 0)
            o->seconds = strtod(value, NULL);
        else
            return false;
    }
    return true;
}

/* Of processor time: others may use the machine, too. */
static double real_seconds(void) {
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double hours(hf_time ns) {
    return (double)ns / 3.6e12;
}

static bool matches(const char *wanted, const char *name) {
    return strcmp(wanted, "all") == 0 || strcmp(wanted, name) == 0;
}

/* Until there was enough of it; false: something was not as promised. */
static bool run(const settings *o, const sim_profile *profile, int flavour,
                double began) {
    sim_sum sum = {0};
    uint64_t events = sim_events();
    double from = real_seconds(), took;

    for (uint64_t seed = o->seed;; seed++) {
        if (o->trials ? sum.trials >= o->trials :
                        hours(sum.simulated) >= o->hours)
            break;
        if (o->seconds && real_seconds() - began > o->seconds)
            break;
        if (sim_traces)
            printf("seed %llu\n", (unsigned long long)seed);
        if (sim_trial(seed, profile, (sim_flavour)flavour, &sum))
            break;
    }
    took = real_seconds() - from;
    if (!sim_traces)
        printf("%-8s %-9s %7.2f %7llu %9llu %8llu %8llu %7llu %7.2f %7.2f "
               "%9.0f\n",
               flavours[flavour], profile->name, hours(sum.simulated),
               (unsigned long long)sum.trials,
               (unsigned long long)(sim_events() - events),
               (unsigned long long)sum.operations,
               (unsigned long long)sum.grants, (unsigned long long)sum.losses,
               (double)sum.idle / 1e9, (double)sum.late / 1e9,
               took > 0 ? hours(sum.simulated) / took * 60 : 0);
    if (sum.bad)
        printf("again: hf-sim --seed %llu --trials 1 --profile %s --store %s "
               "--trace\n",
               (unsigned long long)(o->seed + sum.trials - 1), profile->name,
               flavours[flavour]);
    fflush(stdout);
    return !sum.bad;
}

static void print_faults(void) {
    static const char *const texts[] = {
#define X(id, text) text,
        SIM_FAULTS(X)
#undef X
    };

    puts("");
    for (int i = 0; i < SIM_N_FAULTS; i++)
        if (sim_faults[i])
            printf("%-28s %llu\n", texts[i], (unsigned long long)sim_faults[i]);
}

int main(int argc, char **argv) {
    settings o = {.seed = 1, .hours = 1, .profile = "all", .store = "all"};
    double began = real_seconds();
    bool good = true, any = false;

    if (!parse(&o, argc, argv))
        return usage();
    hf__world = &sim_world;
    if (!sim_traces)
        printf("%-8s %-9s %7s %7s %9s %8s %8s %7s %7s %7s %9s\n", "store",
               "faults", "hours", "trials", "events", "calls", "grants",
               "losses", "idle s", "late s", "hours/min");
    for (int f = 0; flavours[f] && good; f++)
        for (size_t i = 0; i < sim_n_profiles && good; i++)
            if (matches(o.store, flavours[f]) &&
                matches(o.profile, sim_profiles[i].name) &&
                sim_is_possible(&sim_profiles[i], (sim_flavour)f)) {
                any = true;
                good = run(&o, &sim_profiles[i], f, began);
            }
    if (!any)
        return usage();
    if (!sim_traces)
        print_faults();
    sim_stack_free_all();
    return good ? 0 : 1;
}
