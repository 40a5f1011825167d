/* SPDX-License-Identifier: MIT
 *
 * rivals.c - holdfast side by side with others on one store. */
#include "rivals.h"

#include "figures.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { OURS, BARE = RIVALS_MAX, COLUMNS, ROUNDS_MAX = 9 };

/* The section is long enough for the other to be waiting when it ends. */
enum { PAIRS = 400, SECTION_US = 5000 };

typedef struct plan {
    const char *id, *title;
    task task; /* kind, own names, processes, threads, section, permits */
    bool time; /* the time to the next, not the rate */
} plan;

static const plan plans[] = {
    {"free", "free lock, 1 thread", {"lock", true, 1, 1, 0, 0}, false},
    {"free-16", "free locks, 16 threads", {"lock", true, 1, 16, 0, 0}, false},
    {"lock-16", "lock, 16 waiters", {"lock", false, 2, 16, 0, 0}, false},
    {"hand-off",
     "hand-off, \302\265s",
     {"lock", false, 2, 2, SECTION_US, 0},
     true},
};
enum { ROWS = sizeof plans / sizeof plans[0] };

typedef struct cell {
    double of[ROUNDS_MAX]; /* 0: not measured */
    double ratio[ROUNDS_MAX];
    double mid, mid_ratio;
    char failed[512];
} cell;

static cell cells[ROWS][COLUMNS];

static struct {
    const char *results;
    int rounds, cell_ms, warm_ms;
} options = {.rounds = 3, .cell_ms = 1500, .warm_ms = 2500};

static char shared_file[128];
static volatile turns *shared;
static contest *match; /* our copy: sides are ended at exit */

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- the sides --------------------------------------------------------- */

static void make_shared(const char *dir) {
    int fd;

    snprintf(shared_file, sizeof shared_file, "%s/turns", dir);
    fd = open(shared_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *shared) < 0)
        die(shared_file, "cannot be made");
    shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        die(shared_file, "cannot be mapped");
    close(fd);
}

static void end_sides(void) {
    for (int i = 0; i < match->n; i++)
        crew_end(&match->rivals[i].crew);
}

static void start_side(rival *r) {
    if (!r->argv[0])
        return;
    r->crew.name = r->name;
    if (crew_start(&r->crew, (char *const *)r->argv, match->uri,
                   r->log ? r->log : "/dev/null"))
        return;
    crew_end(&r->crew);
    r->argv[0] = NULL;
    r->why = r->crew.trouble;
}

static bool is_there(int side) {
    return match->rivals[side].argv[0] != NULL;
}

/* Is it there, and can it do what the row asks for? */
static bool takes_part(int row, int side) {
    return is_there(side) &&
           (plans[row].task.own || !match->rivals[side].waits_not);
}

static hf_client *client;
static hf_lock *lock; /* of ours, beside the bare calls */
static const char *bare_version;

static void end_bare(void) {
    hf_lock_free(lock);
    hf_close(client);
}

static void start_bare(void) {
    hf_error err;

    if (hf_open(&client, match->uri, NULL, &err) != HF_OK ||
        hf_lock_new(&lock, client, "ours", NULL, &err) != HF_OK)
        die(match->uri, err.text);
    atexit(end_bare);
    bare_version = match->bare->open(match->uri);
    if (!bare_version || !match->bare->begin("bare"))
        die(match->bare->name, "does not work");
}

/* ---- one cell ---------------------------------------------------------- */

static double median_wait(void) {
    double us[TURNS_WAITS];
    int n = shared->waits < TURNS_WAITS ? (int)shared->waits : TURNS_WAITS;

    for (int i = 0; i < n; i++)
        us[i] = (double)shared->wait_ns[i] / 1e3;
    return median(us, n);
}

static bool complain(cell *c, const char *why) {
    snprintf(c->failed, sizeof c->failed, "%s", why);
    return false;
}

static bool run_cell(int row, int side, int round, int ms, outcome *o) {
    const plan *p = &plans[row];
    rival *r = &match->rivals[side];
    cell *c = &cells[row][side];
    char name[64];

    snprintf(name, sizeof name, "bench-%d-%s-%d", side, p->id, round);
    if (!crew_begin(&r->crew, &p->task, name, shared_file))
        return complain(c, r->crew.trouble);
    memset((void *)shared, 0, sizeof *shared);
    shared->last = -1;
    if (crew_run(&r->crew, &p->task, ms, o))
        return true;
    complain(c, r->crew.trouble);
    crew_end(&r->crew);
    start_side(r);
    return false;
}

static void measure(int row, int side, int round) {
    const plan *p = &plans[row];
    cell *c = &cells[row][side];
    long taken = 0;
    outcome o;

    if (!takes_part(row, side) || *c->failed ||
        !run_cell(row, side, round + 1, options.cell_ms, &o))
        return;
    for (int i = 0; i < o.threads; i++)
        taken += o.counts[i];
    if (!p->task.own && shared->sections != taken)
        complain(c, "two were in at once");
    else if (taken == 0 || (p->time && shared->waits == 0))
        complain(c, "nobody got in");
    else
        c->of[round] = p->time ? median_wait() : (double)taken / o.seconds;
}

/* ---- all of them ------------------------------------------------------- */

/* Ours by theirs. */
static void set_ratios(int row, int round) {
    for (int k = 1; k < match->n; k++) {
        cell *c = &cells[row][k];

        if (c->of[round] > 0)
            c->ratio[round] = cells[row][OURS].of[round] / c->of[round];
    }
}

/* The free lock of one thread, and the hand-off in round trips. */
static void measure_bare(int round) {
    bare_figures f;

    if (!bare_compare(match->bare, lock, PAIRS, SECTION_US, &f))
        die(match->bare->name, "does not work");
    for (int i = 0; i < ROWS; i++) {
        cell *c = &cells[i][BARE];

        if (i == 0) {
            c->of[round] = 1e6 / f.theirs;
            c->ratio[round] = f.theirs / f.ours;
        } else if (plans[i].time) {
            c->of[round] = f.trip;
            c->ratio[round] = cells[i][OURS].of[round] / f.trip;
        }
    }
}

static void run_round(int round) {
    for (int i = 0; i < ROWS; i++) {
        int order[RIVALS_MAX];

        for (int k = 0; k < match->n; k++)
            order[k] = k;
        shuffle(order, match->n);
        for (int k = 0; k < match->n; k++)
            measure(i, order[k], round);
        set_ratios(i, round);
    }
    measure_bare(round);
}

static void warm(void) {
    bare_figures f;
    outcome o;

    bare_compare(match->bare, lock, PAIRS, SECTION_US, &f);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < match->n; k++)
            if (takes_part(i, k))
                run_cell(i, k, 0, i == 0 ? options.warm_ms : options.cell_ms,
                         &o);
}

static void run_all(void) {
    warm();
    for (int i = 0; i < options.rounds; i++)
        run_round(i);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            cell *c = &cells[i][k];

            c->mid = median(c->of, options.rounds);
            c->mid_ratio = median(c->ratio, options.rounds);
        }
}

/* ---- the table --------------------------------------------------------- */

static bool measured(int row, int side) {
    return (side == BARE || is_there(side)) && !*cells[row][side].failed &&
           cells[row][side].mid > 0;
}

static bool compared(int row, int side) {
    return side != OURS && measured(row, OURS) && measured(row, side);
}

static bool met(int row, int side) {
    double ratio = cells[row][side].mid_ratio;

    if (side != BARE && match->rivals[side].less)
        return true;
    if (plans[row].time)
        return ratio <= (side == BARE ? RIVALS_TRIPS : 1);
    return ratio >= (side == BARE ? RIVALS_OF_BARE : 1);
}

static void print_cell(int row, int side) {
    if (measured(row, side))
        printf("%9.0f", cells[row][side].mid);
    else
        printf("%9s", "-");
    if (side == OURS)
        return;
    if (compared(row, side))
        printf(" %c%5.2f", met(row, side) ? ' ' : '!',
               cells[row][side].mid_ratio);
    else
        printf("%7s", "");
}

static void print_table(void) {
    printf("%-24s", "taken a second");
    printf("%9s %15s", match->rivals[OURS].name, match->bare->name);
    for (int k = 1; k < match->n; k++)
        printf(" %15s", match->rivals[k].name);
    printf("\n");
    for (int i = 0; i < ROWS; i++) {
        /* µ is two bytes and one column. */
        printf("%-*s", plans[i].time ? 25 : 24, plans[i].title);
        print_cell(i, OURS);
        print_cell(i, BARE);
        for (int k = 1; k < match->n; k++)
            print_cell(i, k);
        printf("\n");
    }
    printf("behind each figure: ours by it; ! goal missed: %.2f of the bare "
           "rate, %.1f of\na round trip (in the last line, in the column of "
           "the bare calls), ahead of others\n",
           RIVALS_OF_BARE, RIVALS_TRIPS);
}

static void print_head(void) {
    printf("side by side on %s %s, medians of %d rounds of %d ms\n",
           match->store, match->version, options.rounds, options.cell_ms);
    printf("  %s %s\n", match->bare->name, bare_version);
    for (int k = 0; k < match->n; k++) {
        const rival *r = &match->rivals[k];

        if (is_there(k))
            printf("  %s %s\n", r->name, r->crew.version);
        else
            printf("  %s: not measured, because %s\n", r->name, r->why);
    }
    printf("\n");
}

static void print_failures(void) {
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < match->n; k++)
            if (*cells[i][k].failed)
                printf("not measured: %s of %s: %s\n", plans[i].title,
                       match->rivals[k].name, cells[i][k].failed);
}

/* ---- the file ---------------------------------------------------------- */

static void write_cell(FILE *f, int row, int side) {
    const cell *c = &cells[row][side];

    if (compared(row, side))
        fprintf(f, "\t%.6g\t%.4g\t%d", c->mid, c->mid_ratio, met(row, side));
    else
        fprintf(f, "\t-\t-\t1");
}

/* Lines of words with tabs between them; the head says which. */
static void write_results(void) {
    FILE *f = fopen(options.results, "w");
    char day[32];
    time_t now = time(NULL);

    if (!f)
        die(options.results, "cannot be written");
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    fprintf(f, "# about\tstore\tversion\tcores\tday\nabout\t%s\t%s\t%ld\t%s\n",
            match->store, match->version, sysconf(_SC_NPROCESSORS_ONLN), day);
    fprintf(f, "# side\tname\tversion, - if it was not there\n");
    fprintf(f, "side\t%s\t%s\nside\t%s\t%s\n", match->rivals[OURS].name,
            match->rivals[OURS].crew.version, match->bare->name, bare_version);
    for (int k = 1; k < match->n; k++)
        fprintf(f, "side\t%s\t%s\n", match->rivals[k].name,
                is_there(k) ? match->rivals[k].crew.version : "-");
    fprintf(f, "# row\tid\ttitle\ttimes (1) or rates (0)\tours\tthen for each "
               "side: figure, ours by it, is the goal met\n");
    for (int i = 0; i < ROWS; i++) {
        fprintf(f, "row\t%s\t%s\t%d\t%.6g", plans[i].id, plans[i].title,
                plans[i].time, cells[i][OURS].mid);
        write_cell(f, i, BARE);
        for (int k = 1; k < match->n; k++)
            write_cell(f, i, k);
        fprintf(f, "\n");
    }
    if (fclose(f) != 0)
        die(options.results, "cannot be written");
}

/* ---- the whole --------------------------------------------------------- */

void rivals_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--quick") == 0)
            options.rounds = 1, options.cell_ms = 400, options.warm_ms = 800;
        else if (next && strcmp(argv[i], "--results") == 0)
            options.results = next;
        else if (next && strcmp(argv[i], "--rounds") == 0)
            options.rounds = atoi(next);
        else if (next && strcmp(argv[i], "--cell") == 0)
            options.cell_ms = atoi(next);
    }
    if (options.rounds < 1 || options.rounds > ROUNDS_MAX ||
        options.cell_ms < 1)
        die("--rounds, --cell", "are out of range");
}

const char *rivals_option(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc - 1; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return NULL;
}

const char *rivals_why(const char *folder) {
    char path[600], line[300] = "";
    FILE *f;

    if (!folder)
        return "nobody built it";
    snprintf(path, sizeof path, "%s/why", folder);
    f = fopen(path, "r");
    if (!f)
        return NULL;
    if (!fgets(line, sizeof line, f))
        line[0] = '\0';
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}

void rivals_run(const contest *c) {
    static contest own;

    own = *c;
    match = &own;
    srand((unsigned)time(NULL));
    make_shared(c->dir);
    atexit(end_sides);
    for (int k = 0; k < own.n; k++)
        start_side(&own.rivals[k]);
    if (!is_there(OURS))
        die("holdfast", own.rivals[OURS].why);
    start_bare();
    run_all();
    print_head();
    print_table();
    print_failures();
    if (options.results)
        write_results();
}
