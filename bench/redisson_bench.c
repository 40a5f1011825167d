/* SPDX-License-Identifier: MIT
 *
 * redisson_bench.c - holdfast side by side with Redisson.
 *
 * Both sides do the same with the same private redis-server, in turn: two
 * processes each, with everything set as it is shipped, whose threads take and
 * give back for a fixed time.  A whole round comes first that is not counted,
 * in which Java compiles what it runs often.  Then the sides take turns in a
 * shuffled order; figures are medians of the rounds, and `times` is the median
 * of the quotients within a round.
 *
 * `commands` is what clients sent, (un)subscriptions included, for each time
 * it was taken.  `fairness` is Jain's index over all threads.  `handed on`
 * leaves out what a thread took again straight after itself.  `longest turn`
 * is how long it stayed in one process while the other wanted it.  The holders
 * of an exclusive lock also count in memory that only the lock guards: if the
 * sum is wrong, the row fails.
 *
 *     redisson_bench [--redisson FOLDER] [--results FILE] [--only ROW]
 *                    [--rounds N] [--cell MS] [--quick]
 *
 * FOLDER is what redisson/build.sh made; without it only our side runs.  FILE
 * gets the figures for picture.awk. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <holdfast.h>

#include "commands.h"
#include "crew.h"
#include "figures.h"
#include "server.h"

enum { OURS, THEIRS, SIDES };
enum { RATE, COMMANDS, FAIRNESS, HANDED, TURN_MS, FIELDS };
enum { ROUNDS_MAX = 9, OUR_WARM_MS = 400 };

/* What is compared, and the goals: how many times as often as Redisson, at
 * most how many commands each, how fair, how long a turn; 0: none. */
typedef struct plan {
    const char *id, *title;
    task task; /* kind, own names, processes, threads, section, permits */
    double times, commands, fairness, turn_ms;
} plan;

/* clang-format off */
static const plan plans[] = {
    {"free-1", "free lock, 1 thread",
     {"lock", true, 1, 1, 0, 0}, 1, 0, 0, 0},
    {"free-64", "free locks, 64 threads on 64 names",
     {"lock", true, 1, 64, 0, 0}, 1, 0, 0, 0},
    {"one-16", "lock, 16 threads of one process",
     {"lock", false, 1, 16, 0, 0}, 20, 0.2, 0, 0},
    {"lock-16", "lock, 16 waiters in 2 processes",
     {"lock", false, 2, 16, 0, 0}, 3, 0.2, 0, 100},
    {"lock-128", "lock, 128 waiters",
     {"lock", false, 2, 128, 0, 0}, 3, 0.2, 0, 100},
    {"lock-16-1ms", "lock, 16 waiters, sections of 1 ms",
     {"lock", false, 2, 16, 1000, 0}, 1, 2.1, 0, 100},
    {"fair-16", "fair lock, 16 waiters in 2 processes",
     {"fair", false, 2, 16, 0, 0}, 3, 2.1, 0.99, 0},
    {"fair-128", "fair lock, 128 waiters",
     {"fair", false, 2, 128, 0, 0}, 3, 2.1, 0.99, 0},
    {"fair-16-1ms", "fair lock, 16 waiters, sections of 1 ms",
     {"fair", false, 2, 16, 1000, 0}, 1, 2.1, 0.99, 0},
    {"fair-128-1ms", "fair lock, 128 waiters, sections of 1 ms",
     {"fair", false, 2, 128, 1000, 0}, 1, 2.1, 0.99, 0},
    {"read-64", "read lock, 64 readers of one name",
     {"read", false, 2, 64, 0, 0}, 1, 0, 0, 0},
    {"semaphore-64", "semaphore, 64 threads, 64 permits",
     {"semaphore", false, 2, 64, 0, 64}, 1, 0, 0, 0},
    {"semaphore-8", "semaphore, 64 threads, 8 permits",
     {"semaphore", false, 2, 64, 0, 8}, 1, 0, 0, 0},
    {"permit-64", "leased permits, 64 threads, 64 permits",
     {"permit", false, 2, 64, 0, 64}, 1, 0, 0, 0},
};
/* clang-format on */
enum { ROWS = sizeof plans / sizeof plans[0] };

typedef struct row {
    const plan *plan;
    mix mix[SIDES];
    double of[SIDES][FIELDS][ROUNDS_MAX], mid[SIDES][FIELDS];
    double ratio[ROUNDS_MAX], mid_ratio;
    char failed[SIDES][512];
} row;

static row rows[ROWS];

static struct {
    const char *redisson, *results, *only;
    int rounds, cell_ms, warm_ms; /* warm_ms: Redisson's, for all rows */
} options = {.rounds = 3, .cell_ms = 1000, .warm_ms = 21000};

static crew crews[SIDES] = {{.name = "holdfast"}, {.name = "Redisson"}};
static int sides = SIDES;
static const bench_server *server;
static char shared_file[96];
static volatile turns *shared;

static void die(const char *what, const char *why) {
    fprintf(stderr, "redisson_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- the two sides ----------------------------------------------------- */

static void remove_shared(void) {
    unlink(shared_file);
}

static void make_shared(void) {
    int fd;

    snprintf(shared_file, sizeof shared_file, "%s/turns", server->dir);
    fd = open(shared_file, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *shared) < 0)
        die(shared_file, "cannot be made");
    atexit(remove_shared);
    shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        die(shared_file, "cannot be mapped");
    close(fd);
}

static bool start_side(int side) {
    char uri[64], class_path[600], log[600];
    char *ours[] = {"/proc/self/exe", "--worker", NULL};
    char *theirs[] = {"java", "-cp", class_path, "Bench", NULL};

    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", server->port);
    snprintf(class_path, sizeof class_path, "%s/classes:%s/lib/*",
             options.redisson, options.redisson);
    snprintf(log, sizeof log, "%s/log",
             side == THEIRS ? options.redisson : "/dev/null");
    return crew_start(&crews[side], side == OURS ? ours : theirs, uri, log);
}

static void end_sides(void) {
    for (int i = 0; i < SIDES; i++)
        crew_end(&crews[i]);
}

static void start_sides(void) {
    atexit(end_sides);
    if (!start_side(OURS))
        die("holdfast", crews[OURS].trouble);
    if (options.redisson && !start_side(THEIRS)) {
        printf("Redisson: not measured, because it does not start: %s\n",
               crews[THEIRS].trouble);
        options.redisson = NULL;
    }
    sides = options.redisson ? SIDES : 1;
}

/* ---- one cell ---------------------------------------------------------- */

static bool passes_on(const row *r) {
    return !r->plan->task.own && (strcmp(r->plan->task.kind, "lock") == 0 ||
                                  strcmp(r->plan->task.kind, "fair") == 0);
}

static bool complain(row *r, int side, const char *why) {
    snprintf(r->failed[side], sizeof r->failed[side], "%s", why);
    return false;
}

/* The row fails for this side; the next one begins with new workers. */
static bool start_anew(row *r, int side) {
    complain(r, side, crews[side].trouble);
    crew_end(&crews[side]);
    if (!start_side(side))
        die(crews[side].name, crews[side].trouble);
    return false;
}

static bool run_cell(row *r, int side, int round, int ms, outcome *o) {
    crew *c = &crews[side];
    char name[64];

    snprintf(name, sizeof name, "%s-%s-%d", c->name, r->plan->id, round);
    if (!crew_begin(c, &r->plan->task, name, shared_file))
        return complain(r, side, c->trouble);
    *shared = (turns){.last = -1, .since_ns = now_ns()};
    commands_reset(server->port);
    return crew_run(c, &r->plan->task, ms, o) || start_anew(r, side);
}

static bool wanted(const row *r) {
    return !options.only ||
           strncmp(r->plan->id, options.only, strlen(options.only)) == 0;
}

static int wanted_rows(void) {
    int n = 0;

    for (int i = 0; i < ROWS; i++)
        n += wanted(&rows[i]);
    return n;
}

static bool warm(row *r, int side) {
    int ms = side == THEIRS ? options.warm_ms / wanted_rows() : OUR_WARM_MS;
    outcome o;
    bool well;

    commands_watch(server->port, &r->mix[side]);
    well =
        run_cell(r, side, 0, ms < options.cell_ms ? ms : options.cell_ms, &o);
    commands_unwatch();
    return well;
}

static void keep(row *r, int side, int round, const outcome *o, long taken) {
    double last = (double)(o->stopped_ns - shared->since_ns) / 1e6;
    double turn = (double)shared->longest_ns / 1e6;

    r->of[side][RATE][round] = (double)taken / o->seconds;
    r->of[side][COMMANDS][round] =
        commands_sent(server->port, &r->mix[side]) / (double)o->all;
    r->of[side][FAIRNESS][round] = jain(o->counts, o->threads);
    r->of[side][HANDED][round] = (double)shared->handed / o->seconds;
    r->of[side][TURN_MS][round] = turn > last ? turn : last;
}

/* Long sections get more time, or every thread has only a few turns. */
static int cell_ms(const row *r) {
    return r->plan->task.section_us ? 2 * options.cell_ms : options.cell_ms;
}

static void measure(row *r, int side, int round) {
    outcome o;
    long taken = 0;

    if (*r->failed[side] || !run_cell(r, side, round + 1, cell_ms(r), &o))
        return;
    for (int i = 0; i < o.threads; i++)
        taken += o.counts[i];
    if (passes_on(r) && shared->sections != taken)
        complain(r, side, "two were in at once");
    else if (taken == 0)
        complain(r, side, "nobody got in");
    else
        keep(r, side, round, &o, taken);
}

/* ---- all of them ------------------------------------------------------- */

static void progress(const char *what, int n) {
    if (isatty(2))
        fprintf(stderr, "\r\033[K%s %d of %d", what, n, options.rounds);
}

static void run_round(int round) {
    for (int i = 0; i < ROWS; i++) {
        int order[SIDES] = {OURS, THEIRS};

        if (!wanted(&rows[i]))
            continue;
        shuffle(order, sides);
        for (int k = 0; k < sides; k++)
            measure(&rows[i], order[k], round);
        rows[i].ratio[round] =
            rows[i].of[OURS][RATE][round] / rows[i].of[THEIRS][RATE][round];
    }
}

static void run_all(void) {
    for (int i = 0; i < ROWS; i++)
        rows[i].plan = &plans[i];
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; wanted(&rows[i]) && k < sides; k++)
            warm(&rows[i], k);
    for (int i = 0; i < options.rounds; i++) {
        progress("round", i + 1);
        run_round(i);
    }
    if (isatty(2))
        fprintf(stderr, "\r\033[K");
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < SIDES; k++)
            for (int f = 0; f < FIELDS; f++)
                rows[i].mid[k][f] = median(rows[i].of[k][f], options.rounds);
        rows[i].mid_ratio = median(rows[i].ratio, options.rounds);
    }
}

/* ---- the tables -------------------------------------------------------- */

static bool measured(const row *r, int side) {
    return side < sides && !*r->failed[side];
}

static bool compared(const row *r) {
    return measured(r, OURS) && measured(r, THEIRS);
}

static void print_number(const row *r, int side, int field, int width,
                         int digits) {
    if (measured(r, side))
        printf("%*.*f", width, digits, r->mid[side][field]);
    else
        printf("%*s", width, "-");
}

static void print_rates(void) {
    printf("%-41s %9s %9s  %6s  %s\n", "times a second it was taken",
           "holdfast", "Redisson", "times", "goal");
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];

        if (!wanted(r))
            continue;
        printf("%-41s ", r->plan->title);
        print_number(r, OURS, RATE, 9, 0);
        printf(" ");
        print_number(r, THEIRS, RATE, 9, 0);
        if (compared(r))
            printf("  %6.2f  >= %-4g %s", r->mid_ratio, r->plan->times,
                   r->mid_ratio >= r->plan->times ? "met" : "MISSED");
        printf("\n");
    }
}

static void print_goal(double goal, bool met) {
    if (goal > 0)
        printf(" %c%-5g", met ? ' ' : '!', goal);
    else
        printf("%7s", "");
}

static void print_manner(const row *r) {
    const double *ours = r->mid[OURS];
    const plan *p = r->plan;

    printf("%-41s ", p->title);
    print_number(r, OURS, COMMANDS, 6, 2);
    print_goal(p->commands, ours[COMMANDS] <= p->commands);
    print_number(r, THEIRS, COMMANDS, 6, 2);
    if (passes_on(r)) {
        print_number(r, OURS, FAIRNESS, 9, 3);
        print_goal(p->fairness, ours[FAIRNESS] >= p->fairness);
        print_number(r, THEIRS, FAIRNESS, 6, 3);
        print_number(r, OURS, HANDED, 9, 0);
        print_number(r, THEIRS, HANDED, 8, 0);
    }
    if (passes_on(r) && p->task.processes > 1) {
        print_number(r, OURS, TURN_MS, 9, 1);
        print_goal(p->turn_ms, ours[TURN_MS] <= p->turn_ms);
        print_number(r, THEIRS, TURN_MS, 6, 1);
    }
    printf("\n");
}

static void print_manners(void) {
    printf("\n%-41s   %-19s   %-19s   %-15s   %s\n", "", "commands each",
           "fairness", "handed on /s", "longest turn, ms");
    printf("%-41s %6s %-6s%6s%9s %-6s%6s%9s%8s%9s %-6s%6s\n",
           "ours, goal (! missed), theirs", "ours", " goal", "theirs", "ours",
           " goal", "theirs", "ours", "theirs", "ours", " goal", "theirs");
    for (int i = 0; i < ROWS; i++)
        if (wanted(&rows[i]))
            print_manner(&rows[i]);
}

static void print_failures(void) {
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < SIDES; k++)
            if (*rows[i].failed[k])
                printf("\nnot measured: %s: %s\n", rows[i].plan->title,
                       rows[i].failed[k]);
}

/* ---- the file ---------------------------------------------------------- */

static void write_side(FILE *f, const row *r, int side) {
    for (int k = 0; k < FIELDS; k++)
        if (measured(r, side))
            fprintf(f, "\t%.6g", r->mid[side][k]);
        else
            fprintf(f, "\t-");
}

/* Lines of words with tabs between them; the head says which. */
static void write_results(const char *redis) {
    FILE *f = fopen(options.results, "w");
    char day[32];
    time_t now = time(NULL);

    if (!f)
        die(options.results, "cannot be written");
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    fprintf(f,
            "# about\tholdfast\tRedisson\tRedis\tcores\tday\n"
            "about\t%s\t%s\t%s\t%ld\t%s\n"
            "# row\tid\ttitle\tgoals: times, commands, fairness, turn_ms\t"
            "times\tours: rate, commands, fairness, handed, turn_ms\t"
            "theirs\n",
            crews[OURS].version, options.redisson ? crews[THEIRS].version : "-",
            redis, sysconf(_SC_NPROCESSORS_ONLN), day);
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];

        if (!wanted(r))
            continue;
        fprintf(f, "row\t%s\t%s\t%g\t%g\t%g\t%g\t%.4g", r->plan->id,
                r->plan->title, r->plan->times, r->plan->commands,
                r->plan->fairness, r->plan->turn_ms,
                compared(r) ? r->mid_ratio : 0);
        write_side(f, r, OURS);
        write_side(f, r, THEIRS);
        fprintf(f, "\n");
    }
    if (fclose(f) != 0)
        die(options.results, "cannot be written");
}

static void read_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--quick") == 0)
            options.rounds = 1, options.cell_ms = 300, options.warm_ms = 4000;
        else if (!next)
            die(argv[i], "is not an option; see the head of the source");
        else if (strcmp(argv[i], "--redisson") == 0)
            options.redisson = argv[++i];
        else if (strcmp(argv[i], "--results") == 0)
            options.results = argv[++i];
        else if (strcmp(argv[i], "--only") == 0)
            options.only = argv[++i];
        else if (strcmp(argv[i], "--rounds") == 0)
            options.rounds = atoi(argv[++i]);
        else if (strcmp(argv[i], "--cell") == 0)
            options.cell_ms = atoi(argv[++i]);
        else
            die(argv[i], "is not an option; see the head of the source");
    }
    if (options.rounds < 1 || options.rounds > ROUNDS_MAX ||
        options.cell_ms < 1)
        die("--rounds, --cell", "are out of range");
}

int main(int argc, char **argv) {
    char redis[16];

    if (argc == 2 && strcmp(argv[1], "--worker") == 0)
        return worker_main();
    read_options(argc, argv);
    srand((unsigned)time(NULL));
    server = server_start();
    make_shared();
    commands_version(server->port, redis);
    start_sides();
    run_all();
    printf("side by side on Redis %s: holdfast %s", redis, crews[OURS].version);
    if (options.redisson)
        printf("; Redisson %s", crews[THEIRS].version);
    printf("\nmedians of %d rounds of %d ms\n\n", options.rounds,
           options.cell_ms);
    print_rates();
    print_manners();
    print_failures();
    if (options.results)
        write_results(redis);
    return 0;
}
