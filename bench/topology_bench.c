/* SPDX-License-Identifier: MIT
 *
 * topology_bench.c - what replicas, Sentinel and a cluster cost beside one
 * server.
 *
 * A pair is taking a free lock and giving it back, every thread with names of
 * its own.  All servers run from the beginning; the rows take turns in a
 * shuffled order, and a figure is the median of the quotients with the single
 * server within one repetition.  `time` is how long a pair of one thread takes,
 * `rate` how many 64 threads get, `server` what all servers of the row,
 * replicas included, spend on a pair of the 64.
 *
 *     topology_bench [--results FILE] [--quick]
 *
 * FILE gets the figures for topology.awk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast.h>

#include "commands.h"
#include "figures.h"
#include "fleet.h"
#include "load.h"

enum { REPEATS = 7, CROWD = 64, NAMES = 4 };

enum { SINGLE, REPLICATED, SENTINEL, CLUSTER, FLEETS };
static fleet fleets[FLEETS];

static struct {
    const char *results;
    int repeats, cell_ms;
} options = {.repeats = REPEATS, .cell_ms = 120};

/* ---- the rows ---------------------------------------------------------- */

typedef struct cell {
    double rate; /* pairs per second             */
    double cpu;  /* of all servers, s for a pair */
} cell;

typedef struct plan {
    const char *id, *title;
    int fleet;
    const char *query; /* of the address */
    int replicas;      /* of the locks   */
} plan;

static const plan plans[] = {
    {"single", "one server", SINGLE, "", 0},
    {"delay", "one server, lock delay", SINGLE, "?lock_delay=1s", 0},
    {"none", "master with 2 replicas", REPLICATED, "", 0},
    {"one", "… 1 of them confirms", REPLICATED, "", 1},
    {"majority", "… a majority of the copies confirms", REPLICATED, "",
     HF_MAJORITY},
    {"all", "… all confirm", REPLICATED, "", HF_ALL},
    {"sentinel", "the same, found by Sentinel", SENTINEL, "", 0},
    {"cluster", "cluster, 3 masters with a replica each", CLUSTER, "", 0},
    {"cluster-all", "… whose replica confirms", CLUSTER, "", HF_ALL},
};
enum { ROWS = sizeof plans / sizeof plans[0] };

typedef struct row {
    const plan *plan;
    hf_client *client;
    cell one[REPEATS], many[REPEATS];
    char failed[HF_ERROR_TEXT_SIZE];
} row;

static row rows[ROWS];

static void die(const char *what, const char *why) {
    fprintf(stderr, "topology_bench: %s: %s\n", what, why);
    exit(1);
}

static void open_row(row *r) {
    char uri[200];
    hf_error err;

    snprintf(uri, sizeof uri, "%s%s", fleets[r->plan->fleet].uri,
             r->plan->query);
    if (hf_open(&r->client, uri, NULL, &err) < 0)
        snprintf(r->failed, sizeof r->failed, "%s", err.text);
}

/* Sentinels only point at the servers that do the work. */
static double cpu_of(const row *r) {
    return fleet_cpu(
        &fleets[r->plan->fleet == SENTINEL ? REPLICATED : r->plan->fleet]);
}

static cell measure(row *r, int threads) {
    struct timespec pause = {0, options.cell_ms * 1000000L};
    hf_lock_options o = {.size = sizeof o, .replicas = r->plan->replicas};
    double cpu;
    int64_t began;
    long pairs;
    cell c = {0, 0};
    hf_error err;

    load_begin(&(load){&r->client, 1, &o, r->plan->id, threads, NAMES});
    cpu = cpu_of(r);
    began = now_ns();
    nanosleep(&pause, NULL);
    pairs = load_stop(&err);
    if (pairs > 0)
        c = (cell){(double)pairs * 1e9 / (double)(now_ns() - began),
                   (cpu_of(r) - cpu) / (double)pairs};
    load_end();
    if (pairs <= 0)
        snprintf(r->failed, sizeof r->failed, "%s",
                 pairs < 0 ? err.text : "no pair in all that time");
    return c;
}

static void run_all(void) {
    int order[ROWS];

    for (int i = 0; i < ROWS; i++)
        order[i] = i;
    for (int k = 0; k < options.repeats; k++) {
        shuffle(order, ROWS);
        for (int i = 0; i < ROWS; i++) {
            row *r = &rows[order[i]];

            if (!*r->failed)
                r->one[k] = measure(r, 1);
            if (!*r->failed)
                r->many[k] = measure(r, CROWD);
        }
    }
}

/* ---- figures ----------------------------------------------------------- */

typedef struct figures {
    double time, rate, server;          /* beside the single server */
    double one_us, many_rate, many_cpu; /* as such                  */
} figures;

static double middle(const row *r, double (*of)(const row *r, int k)) {
    double values[REPEATS];

    for (int k = 0; k < options.repeats; k++)
        values[k] = of(r, k);
    return median(values, options.repeats);
}

static double time_ratio(const row *r, int k) {
    return rows[0].one[k].rate / r->one[k].rate;
}

static double rate_ratio(const row *r, int k) {
    return r->many[k].rate / rows[0].many[k].rate;
}

static double cpu_ratio(const row *r, int k) {
    return r->many[k].cpu / rows[0].many[k].cpu;
}

static double one_us(const row *r, int k) {
    return 1e6 / r->one[k].rate;
}

static double many_rate(const row *r, int k) {
    return r->many[k].rate;
}

static double many_cpu(const row *r, int k) {
    return r->many[k].cpu * 1e6;
}

static figures figures_of(const row *r) {
    return (figures){middle(r, time_ratio), middle(r, rate_ratio),
                     middle(r, cpu_ratio),  middle(r, one_us),
                     middle(r, many_rate),  middle(r, many_cpu)};
}

static void print_all(void) {
    printf("%-40s %10s %6s  %12s %6s  %10s %6s\n", "Beside one server",
           "1 thread", "time", "64 threads", "rate", "servers", "");
    printf("%-40s %10s %6s  %12s %6s  %10s %6s\n", "", "µs a pair", "times",
           "pairs/s", "times", "µs a pair", "times");
    for (int i = 0; i < ROWS; i++) {
        row *r = &rows[i];
        figures f = figures_of(r);
        int wide =
            (int)strlen(r->plan->title) - (strstr(r->plan->title, "…") ? 2 : 0);

        printf("%s%*s", r->plan->title, 40 - wide, "");
        if (*r->failed)
            printf("not measured: %s\n", r->failed);
        else
            printf(" %9.0f %6.2f  %12.0f %6.2f  %9.1f %6.2f\n", f.one_us,
                   f.time, f.many_rate, f.rate, f.many_cpu, f.server);
    }
}

/* Lines of words with tabs between them; the head says which. */
static void write_results(void) {
    FILE *f = fopen(options.results, "w");
    char redis[16], day[32];
    time_t now = time(NULL);

    if (!f)
        die(options.results, "cannot be written");
    commands_version(fleets[SINGLE].masters[0]->port, redis);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    fprintf(f,
            "# about\tholdfast\tRedis\tcores\tday\n"
            "about\t%s\t%s\t%ld\t%s\n"
            "# row\tid\ttitle\tus of 1 thread\ttimes\trate of 64\ttimes\t"
            "us of all servers\ttimes\n",
            hf_version(), redis, sysconf(_SC_NPROCESSORS_ONLN), day);
    for (int i = 0; i < ROWS; i++) {
        figures x = figures_of(&rows[i]);

        fprintf(f, "row\t%s\t%s", plans[i].id, plans[i].title);
        if (*rows[i].failed)
            fprintf(f, "\t-\t-\t-\t-\t-\t-\n");
        else
            fprintf(f, "\t%.6g\t%.4g\t%.6g\t%.4g\t%.4g\t%.4g\n", x.one_us,
                    x.time, x.many_rate, x.rate, x.many_cpu, x.server);
    }
    if (fclose(f) != 0)
        die(options.results, "cannot be written");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            options.repeats = 3, options.cell_ms = 80;
        else if (strcmp(argv[i], "--results") == 0 && i + 1 < argc)
            options.results = argv[++i];
        else
            die(argv[i], "is not an option; see the head of the source");
    }
    srand((unsigned)time(NULL));
    fleet_single(&fleets[SINGLE]);
    fleet_replicated(&fleets[REPLICATED], 2);
    fleet_sentinel(&fleets[SENTINEL], &fleets[REPLICATED]);
    fleet_cluster(&fleets[CLUSTER], 3, true);
    for (int i = 0; i < ROWS; i++) {
        rows[i].plan = &plans[i];
        open_row(&rows[i]);
    }
    run_all();
    print_all();
    if (options.results)
        write_results();
    for (int i = 0; i < ROWS; i++)
        hf_close(rows[i].client);
    return 0;
}
