/* SPDX-License-Identifier: MIT
 *
 * bench.c - `holdfast bench`: what a lock costs on this store, from this host.
 *
 * Three figures: a bare request to the store, which nothing can be faster
 * than; acquire and release of a lock that nobody else wants; and the time
 * from the call that releases it in one process until another, which waits,
 * has it.  The other process is forked before anything is opened, and does
 * one turn for each byte it is sent. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "options.h"
#include "samples.h"
#include "settings.h"
#include "status.h"

enum { LEASE_MS = 10000, TURN_MS = 60000, SETTLE_MS = 20, HAND_OVERS = 200 };

typedef struct bench_options {
    settings settings;
    bool json, yes;
    int for_ms;
} bench_options;

#define AT(field) offsetof(bench_options, field)
static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, AT(json), "print an object of JSON"},
    {'y', "yes", NULL, OPTION_FLAG, AT(yes), "do not ask"},
    {0, "for", "DURATION", OPTION_DURATION, AT(for_ms), "how long, about (5s)"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static volatile sig_atomic_t interrupted;

static void interrupt(int sig) {
    interrupted = sig;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_lock(hf_client **client, hf_lock **lock, const settings *s,
                     const char *name, hf_error *err) {
    hf_options wanted = HF_OPTIONS_INIT;
    wanted.lease_ms = LEASE_MS;
    wanted.why = "holdfast bench";
    int r = settings_open(client, s, wanted, err);
    return r == HF_OK ? hf_lock_new(lock, *client, name, NULL, err) : r;
}

static void close_lock(hf_client *client, hf_lock *lock) {
    hf_lock_free(lock);
    hf_close(client);
}

/* ---- the other process ------------------------------------------------- */

typedef struct turn {
    int64_t at_ns; /* when it had the lock */
    hf_error err;
} turn;

typedef struct other {
    pid_t pid;
    int to, from; /* bytes that ask for a turn; what came of it */
} other;

static bool write_all(int fd, const void *data, size_t size) {
    return write(fd, data, size) == (ssize_t)size;
}

static bool read_all(int fd, void *data, size_t size) {
    for (size_t n = 0; n < size;) {
        ssize_t got = read(fd, (char *)data + n, size - n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        n += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static void take_turn(hf_lock *lock, turn *t) {
    if (hf_lock_acquire(lock, TURN_MS, &t->err) != HF_OK)
        return;
    t->at_ns = now_ns();
    hf_lock_release(lock, &t->err);
}

/* Says 'w' before it begins to wait. */
static void serve(const settings *s, const char *name, int in, int out) {
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    turn opened = {0};
    char byte;
    if (open_lock(&client, &lock, s, name, &opened.err) == HF_OK)
        opened.err.code = HF_OK;
    write_all(out, &opened, sizeof(opened));
    while (opened.err.code == HF_OK && read_all(in, &byte, 1)) {
        turn t = {0};
        if (!write_all(out, "w", 1))
            break;
        take_turn(lock, &t);
        if (!write_all(out, &t, sizeof(t)))
            break;
    }
    close_lock(client, lock);
}

/* Whoever is interrupted at the terminal is the first process; it ends this
 * one by closing the pipe. */
static bool start_other(other *o, const settings *s, const char *name) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0)
        return false;
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]);
        close(to[1]);
        return false;
    }
    o->pid = fork();
    if (o->pid == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        close(to[1]);
        close(from[0]);
        serve(s, name, to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    o->to = to[1];
    o->from = from[0];
    return o->pid > 0;
}

static void end_other(other *o) {
    close(o->to);
    close(o->from);
    if (o->pid > 0)
        waitpid(o->pid, NULL, 0);
}

/* ---- measuring --------------------------------------------------------- */

typedef struct bench {
    hf_client *client;
    hf_lock *lock;
    const char *name;
    other other;
    samples bare, pair, hand_over;
    int64_t pairs_ns; /* all of them together */
} bench;

static void ignore(void *arg, const hf_place *p) {
    (void)arg;
    (void)p;
}

/* The least that can be asked of every store: what there is of a name that
 * nobody uses. */
static int ask_bare(bench *b, hf_semaphore *sem, hf_error *err) {
    int64_t n;
    return sem ? hf_semaphore_count(sem, &n, NULL, err) :
                 hf_list(b->client, b->name, ignore, NULL, err);
}

static int measure_bare(bench *b, int ms, hf_error *err) {
    char name[96];
    hf_semaphore *sem = NULL;
    int64_t end;
    int r = HF_OK;
    snprintf(name, sizeof(name), "%s-bare", b->name);
    if (hf_can(b->client, HF_SEMAPHORE) & HF_CAN_HOLD)
        r = hf_semaphore_new(&sem, b->client, name, err);
    end = now_ns() + (int64_t)ms * 1000000;
    for (int64_t at; r == HF_OK && !interrupted && (at = now_ns()) < end;) {
        r = ask_bare(b, sem, err);
        samples_add(&b->bare, now_ns() - at);
    }
    hf_semaphore_free(sem);
    return r;
}

static int one_pair(hf_lock *lock, hf_error *err) {
    int r = hf_lock_acquire(lock, TURN_MS, err);
    return r == HF_OK ? hf_lock_release(lock, err) : r;
}

static int measure_pairs(bench *b, int ms, hf_error *err) {
    int64_t begin = now_ns(), end = begin + (int64_t)ms * 1000000;
    int r = HF_OK;
    for (int64_t at; r == HF_OK && !interrupted && (at = now_ns()) < end;) {
        r = one_pair(b->lock, err);
        samples_add(&b->pair, now_ns() - at);
    }
    b->pairs_ns = now_ns() - begin;
    return r;
}

/* It has said that it begins to wait; until it does, a moment. */
static void let_it_wait(void) {
    struct timespec t = {.tv_nsec = SETTLE_MS * 1000000L};
    nanosleep(&t, NULL);
}

static int hand_over(bench *b, hf_error *err) {
    turn t = {0};
    int64_t at;
    char byte;
    int r = hf_lock_acquire(b->lock, TURN_MS, err);
    if (r != HF_OK)
        return r;
    if (!write_all(b->other.to, "g", 1) || !read_all(b->other.from, &byte, 1))
        return hf_lock_release(b->lock, err);
    let_it_wait();
    at = now_ns();
    r = hf_lock_release(b->lock, err);
    if (!read_all(b->other.from, &t, sizeof(t)))
        return r;
    if (r == HF_OK && t.err.code < 0) {
        *err = t.err;
        return err->code;
    }
    if (t.at_ns > at) /* else the store did not keep it out: memory: */
        samples_add(&b->hand_over, t.at_ns - at);
    return r;
}

static int measure_hand_overs(bench *b, int ms, hf_error *err) {
    int64_t end = now_ns() + (int64_t)ms * 1000000;
    int r = HF_OK;
    for (int i = 0;
         r == HF_OK && !interrupted && i < HAND_OVERS && now_ns() < end; i++)
        r = hand_over(b, err);
    return r;
}

/* One pair first: tables are made and scripts loaded once. */
static int measure(bench *b, int ms, hf_error *err) {
    turn opened = {0};
    int r = one_pair(b->lock, err);
    if (r == HF_OK && read_all(b->other.from, &opened, sizeof(opened)) &&
        opened.err.code < 0) {
        *err = opened.err;
        r = err->code;
    }
    if (r == HF_OK)
        r = measure_bare(b, ms / 5, err);
    if (r == HF_OK)
        r = measure_pairs(b, ms * 2 / 5, err);
    if (r == HF_OK)
        r = measure_hand_overs(b, ms * 2 / 5, err);
    samples_sort(&b->bare);
    samples_sort(&b->pair);
    samples_sort(&b->hand_over);
    return r;
}

/* ---- telling ----------------------------------------------------------- */

static double per_second(const bench *b) {
    return b->pairs_ns > 0 ? (double)b->pair.n * 1e9 / (double)b->pairs_ns : 0;
}

/* How many bare requests it is worth; 0: unknown. */
static double ratio(const samples *s, const samples *bare) {
    int64_t unit = samples_us(bare, 50);
    return unit > 0 ? (double)samples_us(s, 50) / (double)unit : 0;
}

static void put_time(int64_t us) {
    if (us < 1000)
        printf("%8" PRId64 " us", us);
    else
        printf("%8.2f ms", (double)us / 1000);
}

static void put_row(const char *what, const samples *s, const samples *bare) {
    printf("%-20s", what);
    put_time(samples_us(s, 50));
    put_time(samples_us(s, 99));
    printf("  %8zu", s->n);
    if (bare && ratio(s, bare) > 0)
        printf("  %6.1f", ratio(s, bare));
    putchar('\n');
}

static void tell(const bench *b) {
    printf("%-20s%11s%11s  %8s  %6s\n", "", "p50", "p99", "times", "x bare");
    put_row("bare request", &b->bare, NULL);
    put_row("acquire + release", &b->pair, &b->bare);
    put_row("hand-over", &b->hand_over, &b->bare);
    printf("\n%.0f times a second acquired and released, by one process\n",
           per_second(b));
}

static void json_row(json *j, const char *key, const samples *s) {
    json_open(j, key, '{');
    json_number(j, "times", (int64_t)s->n);
    json_micros(j, "p50", samples_us(s, 50));
    json_micros(j, "p99", samples_us(s, 99));
    json_close(j, '}');
}

static void json_tell(const bench *b) {
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "store", hf_store(b->client));
    json_row(&j, "bare", &b->bare);
    json_row(&j, "acquire_release", &b->pair);
    json_row(&j, "hand_over", &b->hand_over);
    json_number(&j, "per_second", (int64_t)per_second(b));
    json_close(&j, '}');
    putchar('\n');
}

/* ---- may we ------------------------------------------------------------ */

static bool is_embedded(const char *store) {
    return strncmp(store, "sqlite:", 7) == 0;
}

static int consent(const bench_options *o, const char *store,
                   const char *name) {
    char answer[16] = "";
    complain("takes and releases '%s' as often as it can, for %d s, in %s",
             name, (o->for_ms + 999) / 1000, store);
    if (o->yes || is_embedded(store))
        return 0;
    if (!isatty(STDIN_FILENO)) {
        complain("others who use that store will notice: give --yes");
        return EXIT_USAGE;
    }
    fputs("Others who use that store will notice.  Go on?  [y/N] ", stderr);
    fflush(stderr);
    if (fgets(answer, sizeof(answer), stdin) &&
        (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    complain("nothing was done");
    return EXIT_NOTHING;
}

/* ---- all of it --------------------------------------------------------- */

static int run_measured(const bench_options *o, bench *b) {
    hf_error err = {0};
    int r = open_lock(&b->client, &b->lock, &o->settings, b->name, &err);
    if (r == HF_OK)
        r = measure(b, o->for_ms, &err);
    if (r < 0)
        return status_fail(&err);
    if (interrupted)
        return EXIT_SIGNAL + interrupted;
    if (o->json)
        json_tell(b);
    else
        tell(b);
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}

static int run_bench_with(const bench_options *o, const char *name) {
    struct sigaction action = {.sa_handler = interrupt};
    bench b = {.name = name};
    int status;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (!start_other(&b.other, &o->settings, name)) {
        complain("cannot start a second process: %s", strerror(errno));
        return EXIT_SOFTWARE;
    }
    status = run_measured(o, &b);
    end_other(&b.other);
    close_lock(b.client, b.lock);
    samples_free(&b.bare);
    samples_free(&b.pair);
    samples_free(&b.hand_over);
    return status;
}

static int run_bench(const command *cmd, int argc, char **argv) {
    static bench_options o = {.for_ms = 5000};
    char name[64];
    hf_client *client = NULL;
    int status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no arguments");
    if (o.for_ms < 100)
        options_refuse(cmd, "--for: at least 100ms");
    snprintf(name, sizeof(name), "holdfast-bench-%ld", (long)getpid());
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = consent(&o, hf_store(client), name);
    hf_close(client); /* before we fork */
    return status != 0 ? status : run_bench_with(&o, name);
}

const command bench_command = {
    .name = "bench",
    .operands = "",
    .summary = "Measure what a lock costs on this store.",
    .about =
        "A bare request, acquire and release without a rival, and the time\n"
        "from a release to the grant of a process that waits.  It uses one\n"
        "name of its own, which it gives back, and as much of the store as\n"
        "one client can: unless that is the embedded one it asks before, and\n"
        "without a terminal it wants --yes.",
    .options = rows,
    .store = true,
    .run = run_bench,
};
