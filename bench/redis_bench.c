/* SPDX-License-Identifier: MIT
 *
 * redis_bench.c - what locking through Redis costs beside bare hiredis.
 *
 * A pair is taking a free lock and giving it back, every thread with a name of
 * its own.  The measure is one blocking hiredis connection per thread that
 * runs the same two scripts.  Figures are ratios of two cells of the same
 * repetition, which run one after the other in a shuffled order; the median of
 * several repetitions is shown, and how much of the server's time a pair took
 * beside the measure's.  Against a private redis-server, directly and through a
 * way that is 2 ms longer.
 *
 * The last column is the limit: one connection with all the pairs of a row in
 * its pipe, and no thread that waits.  What goes beyond it the server cannot
 * do, whoever asks.
 *
 *     redis_bench [--quick] [--unix] [--only pairs|far|many] [--threads N] */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <holdfast.h>

#include "backend/redis/scripts.h"
#include "delay.h"
#include "figures.h"
#include "server.h"

enum { THREADS_MAX = 512, REPEATS_MAX = 9, MANY = 100000 };

static int repeats = 9, cell_ms = 250, only_threads;
static bool by_socket;
static const bench_server *server;

static void die(const char *what, const char *why) {
    fprintf(stderr, "redis_bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- the contenders ---------------------------------------------------- */

typedef struct worker worker;

typedef struct contender {
    const char *name;
    void (*join)(worker *w);
    void (*pair)(worker *w);
    void (*part)(worker *w);
    hf_client *client; /* of ours */
    unsigned flags;    /* of its locks */
    int port;          /* of hiredis   */
    bool piped;        /* one thread does the work of all */
} contender;

struct worker {
    const contender *by;
    int number, depth;
    pthread_t thread;
    long pairs;
    redisContext *redis;
    hf_lock *lock;
};

static hf_scripts scripts;

static void bare_join(worker *w) {
    w->redis = by_socket && w->by->port == server->port ?
                   redisConnectUnix(server->socket) :
                   redisConnect("127.0.0.1", w->by->port);
    if (!w->redis || w->redis->err)
        die("hiredis", w->redis ? w->redis->errstr : "out of memory");
}

/* Puts one command into the output; `number` is that of the lock. */
static void bare_append(worker *w, int number, bool take) {
    char name[32], token[64], channel[64], owner[64], floor[24];
    const char *attempt[] = {"EVALSHA", scripts.hash[HF_SCRIPT_LOCK_ATTEMPT],
                             "2",       name,
                             token,     "30000",
                             owner,     floor,
                             "1"};
    const char *release[] = {"EVALSHA", scripts.hash[HF_SCRIPT_LOCK_RELEASE],
                             "1",       name,
                             owner,     channel};
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    snprintf(floor, sizeof floor, "%lld",
             ts.tv_sec * 1000000LL + ts.tv_nsec / 1000);
    snprintf(name, sizeof name, "bare-%d", number);
    snprintf(token, sizeof token, "redisson_lock_token:{%s}", name);
    snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}", name);
    snprintf(owner, sizeof owner, "00000000-0000-4000-8000-000000000000:%d%ld",
             number, w->pairs);
    redisAppendCommandArgv(w->redis, take ? 9 : 6, take ? attempt : release,
                           NULL);
}

static void bare_reply(worker *w) {
    redisReply *reply;

    if (redisGetReply(w->redis, (void **)&reply) != REDIS_OK)
        die("hiredis", w->redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        die("hiredis", reply->str);
    freeReplyObject(reply);
}

static void bare_pair(worker *w) {
    bare_append(w, w->number, true);
    bare_reply(w);
    bare_append(w, w->number, false);
    bare_reply(w);
    w->pairs++;
}

static void piped_pair(worker *w) {
    for (int i = 0; i < w->depth; i++) {
        bare_append(w, i, true);
        bare_append(w, i, false);
    }
    for (int i = 0; i < 2 * w->depth; i++)
        bare_reply(w);
    w->pairs += w->depth;
}

static void bare_part(worker *w) {
    redisFree(w->redis);
}

static void our_join(worker *w) {
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    char name[32];
    hf_error err;

    o.flags = w->by->flags;
    snprintf(name, sizeof name, "%s-%d", w->by->name, w->number);
    if (hf_lock_new(&w->lock, w->by->client, name, &o, &err) < 0)
        die("hf_lock_new", err.text);
}

static void our_pair(worker *w) {
    hf_error err;

    if (hf_lock_acquire(w->lock, 10000, &err) != HF_OK ||
        hf_lock_release(w->lock, &err) != HF_OK)
        die("holdfast", err.text);
    w->pairs++;
}

static void our_part(worker *w) {
    hf_lock_free(w->lock);
}

static hf_client *open_client(int port, int spin_us) {
    hf_options o = HF_OPTIONS_INIT;
    hf_client *client;
    hf_error err;
    char uri[160];

    o.spin_us = spin_us;
    if (by_socket && port == server->port)
        snprintf(uri, sizeof uri, "redis+unix://%s", server->socket);
    else
        snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", port);
    if (hf_open(&client, uri, &o, &err) < 0)
        die("hf_open", err.text);
    return client;
}

/* ---- one cell ---------------------------------------------------------- */

static pthread_barrier_t gate;
static atomic_bool over;

static void *work(void *arg) {
    worker *w = arg;

    w->by->join(w);
    w->by->pair(w);
    pthread_barrier_wait(&gate);
    w->pairs = 0;
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        w->by->pair(w);
    pthread_barrier_wait(&gate);
    w->by->part(w);
    return NULL;
}

typedef struct cell {
    double rate; /* pairs per second        */
    double cpu;  /* of the server, per pair */
} cell;

static cell measure(const contender *by, int threads) {
    static worker workers[THREADS_MAX];
    struct timespec pause = {cell_ms / 1000, cell_ms % 1000 * 1000000L};
    int depth = threads;
    double spent;
    int64_t began, took;
    long pairs = 0;

    if (by->piped)
        threads = 1;
    atomic_store(&over, false);
    pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        workers[i] = (worker){.by = by, .number = i, .depth = depth};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            die("pthread_create", "no more threads");
    }
    pthread_barrier_wait(&gate);
    began = now_ns();
    spent = cpu_used(server->pid);
    nanosleep(&pause, NULL);
    atomic_store(&over, true);
    pthread_barrier_wait(&gate);
    took = now_ns() - began;
    spent = cpu_used(server->pid) - spent;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        pairs += workers[i].pairs;
    }
    pthread_barrier_destroy(&gate);
    return (cell){(double)pairs * 1e9 / (double)took,
                  pairs ? spent / (double)pairs : 0};
}

/* ---- a table ----------------------------------------------------------- */

/* A row: the first contender is the measure.  goals: 0 where there is none. */
static void row(const contender *by, int n, int threads, const double *goals) {
    static cell cells[8][REPEATS_MAX];
    double ratio[REPEATS_MAX], cpu[REPEATS_MAX];
    int order[8];

    for (int r = 0; r < repeats; r++) {
        for (int i = 0; i < n; i++)
            order[i] = i;
        shuffle(order, n);
        for (int i = 0; i < n; i++)
            cells[order[i]][r] = measure(&by[order[i]], threads);
    }
    for (int r = 0; r < repeats; r++)
        ratio[r] = cells[0][r].rate;
    printf("%8d %10.0f", threads, median(ratio, repeats));
    for (int i = 1; i < n; i++) {
        double m;

        for (int r = 0; r < repeats; r++) {
            ratio[r] = cells[i][r].rate / cells[0][r].rate;
            cpu[r] =
                cells[0][r].cpu > 0 ? cells[i][r].cpu / cells[0][r].cpu : 0;
        }
        m = median(ratio, repeats);
        printf("  %6.2f", m);
        if (goals[i] > 0)
            printf("%s%.2f", m >= goals[i] ? " >=" : " < ", goals[i]);
        else
            printf("       ");
        printf(" (%4.2f)", median(cpu, repeats));
    }
    printf("\n");
    fflush(stdout);
}

static void head(const char *title, const contender *by, int n) {
    printf("\n%s\n%8s %10s", title, "threads", "pairs/s of");
    for (int i = 1; i < n; i++)
        printf("  %-21s", by[i].name);
    printf("\n%8s %10s", "", by[0].name);
    for (int i = 1; i < n; i++)
        printf("  %-21s", "times goal (cpu)");
    printf("\n");
}

/* ---- the tables -------------------------------------------------------- */

static contender bare(int port) {
    return (contender){.name = "hiredis",
                       .join = bare_join,
                       .pair = bare_pair,
                       .part = bare_part,
                       .port = port};
}

static contender piped(int port) {
    return (contender){.name = "limit",
                       .join = bare_join,
                       .pair = piped_pair,
                       .part = bare_part,
                       .port = port,
                       .piped = true};
}

static contender ours(const char *name, int port, int spin_us, unsigned flags) {
    return (contender){.name = name,
                       .join = our_join,
                       .pair = our_pair,
                       .part = our_part,
                       .client = open_client(port, spin_us),
                       .flags = flags};
}

static void table(const char *title, contender *by, int n,
                  const double goals[][5], const int *threads) {
    head(title, by, n);
    for (int i = 0; threads[i]; i++)
        if (!only_threads || only_threads == threads[i])
            row(by, n, threads[i], goals[i]);
    for (int i = 0; i < n; i++)
        hf_close(by[i].client);
}

static void near_table(void) {
    static const int threads[] = {1, 2, 8, 64, 512, 0};
    static const double goals[][5] = {{0, 0.95, 2.0, 3.5, 0},
                                      {0, 0.90, 0, 0, 0},
                                      {0, 0.85, 0, 0, 0},
                                      {0, 2.0, 0, 3.5, 0},
                                      {0, 3.5, 0, 5.0, 0}};
    contender by[] = {bare(server->port), ours("holdfast", server->port, -1, 0),
                      ours("spinning", server->port, 60, 0),
                      ours("posted", server->port, 60, HF_POST_RELEASE),
                      piped(server->port)};

    table(by_socket ? "A pair of calls, by the server's socket" :
                      "A pair of calls, over the loopback",
          by, 5, goals, threads);
}

static void far_table(void) {
    static const int threads[] = {1, 8, 64, 0};
    static const double goals[][5] = {
        {0, 0.95, 1.9}, {0, 0.95, 1.9}, {0, 0.95, 1.9}};
    int port = delay_start(server->port, 1000);
    contender by[] = {bare(port), ours("holdfast", port, -1, 0),
                      ours("posted", port, -1, HF_POST_RELEASE)};

    table("The same, with a way that is 2 ms longer", by, 3, goals, threads);
}

/* ---- many locks held --------------------------------------------------- */

static long resident_kib(void) {
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmRSS: %ld", &kib);
    if (f)
        fclose(f);
    return kib;
}

static double cpu_seconds(void) {
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void hold_many(void) {
    hf_client *client = open_client(server->port, -1);
    static hf_lock *locks[MANY];
    struct timespec pause = {20, 0};
    long before = resident_kib(), held = 0;
    double cpu;

    for (int i = 0; i < MANY; i++) {
        char name[32];
        hf_error err;

        snprintf(name, sizeof name, "many-%d", i);
        if (hf_lock_new(&locks[i], client, name, NULL, &err) < 0 ||
            hf_lock_try(locks[i], &err) != HF_OK)
            die("many", err.text);
    }
    cpu = cpu_seconds();
    nanosleep(&pause, NULL);
    cpu = cpu_seconds() - cpu;
    for (int i = 0; i < MANY; i++)
        held += hf_lock_is_held(locks[i]);
    printf("\n%d locks held, leases of 30 s, renewed every 10 s\n"
           "  held after 20 s  %ld\n"
           "  of a core        %.2f %% (goal < 2)\n"
           "  resident         %ld MiB, %ld before (goal < 64)\n",
           MANY, held, cpu / 20 * 100, resident_kib() / 1024, before / 1024);
    fflush(stdout);
    _exit(0); /* the server goes with us */
}

/* In a process of its own, so that its figures are its own. */
static void many_table(void) {
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        hold_many();
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv) {
    const char *only = "";
    hf_error err;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            repeats = 3, cell_ms = 200;
        else if (strcmp(argv[i], "--unix") == 0)
            by_socket = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
            only_threads = atoi(argv[++i]);
        else
            die(argv[i], "is not an option; see the head of the source");
    }
    if (hf__scripts_init(&scripts, &(hf_manner){0}, &err) < 0)
        die("scripts", err.text);
    server = server_start();
    hf_close(open_client(server->port, -1)); /* loads the scripts */
    if (!*only || strcmp(only, "many") == 0)
        many_table();
    if (!*only || strcmp(only, "pairs") == 0)
        near_table();
    if (!*only || strcmp(only, "far") == 0)
        far_table();
    return 0;
}
