/* SPDX-License-Identifier: MIT
 *
 * scale_bench.c - what a server spends on each lock, waiter and acquisition,
 * and how that is spread over several masters.
 *
 * Processor time of the servers and their memory, not the time of a wall
 * clock: clients and servers share the machine, and how many requests a second
 * pass here says little about another.  Memory is the difference of used_memory
 * over many; packets are what a server read and wrote, which on an idle network
 * is one segment each.
 *
 *     scale_bench [--quick] >FILE
 *
 * FILE gets the figures for scale.awk, lines of words with tabs between them;
 * comments in it say which. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast.h>

#include "commands.h"
#include "crew.h"
#include "figures.h"
#include "fleet.h"
#include "load.h"

enum {
    HELD = 20000,
    WAITERS = 1000,
    CLIENTS = 200,
    TAKERS = 16, /* threads that take them */
    RENEW_MS = 500,
};

static struct {
    int held, cell_ms, idle_ms;
} size = {.held = HELD, .cell_ms = 2000, .idle_ms = 6000};

static fleet single;

static void die(const char *what, const char *why) {
    fprintf(stderr, "scale_bench: %s: %s\n", what, why);
    exit(1);
}

static void pause_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

static hf_client *open_client(const char *uri) {
    hf_client *client;
    hf_error err;

    if (hf_open(&client, uri, NULL, &err) < 0)
        die("hf_open", err.text);
    return client;
}

static hf_lock *new_lock(hf_client *client, const char *name,
                         const hf_lock_options *o) {
    hf_lock *lock;
    hf_error err;

    if (hf_lock_new(&lock, client, name, o, &err) < 0)
        die(name, err.text);
    return lock;
}

/* ---- what a server has spent ------------------------------------------- */

typedef struct spent {
    double seconds; /* of the wall                  */
    double cpu;     /* of the server, s             */
    double reads, writes /* packets, about */;
    double in, out; /* bytes */
} spent;

static spent so_far(const bench_server *s) {
    return (spent){(double)now_ns() / 1e9,
                   cpu_used(s->pid),
                   fleet_info(s, "stats", "total_reads_processed"),
                   fleet_info(s, "stats", "total_writes_processed"),
                   fleet_info(s, "stats", "total_net_input_bytes"),
                   fleet_info(s, "stats", "total_net_output_bytes")};
}

static spent since(const bench_server *s, const spent *then) {
    spent now = so_far(s);

    return (spent){now.seconds - then->seconds, now.cpu - then->cpu,
                   now.reads - then->reads,     now.writes - then->writes,
                   now.in - then->in,           now.out - then->out};
}

static double memory_of(const bench_server *s) {
    return fleet_info(s, "memory", "used_memory");
}

static double idle_cpu; /* of a server that nobody asks, s in a second */

static void measure_idle(void) {
    spent then = so_far(single.masters[0]);

    pause_ms(size.idle_ms / 2);
    then = since(single.masters[0], &then);
    idle_cpu = then.cpu / then.seconds;
    printf("# idle\tus of CPU a second\nidle\t%.4g\n", idle_cpu * 1e6);
}

/* ---- held locks -------------------------------------------------------- */

/* Many hands: `each` for every number below n. */
typedef struct slice {
    pthread_t thread;
    int from, to;
    void (*each)(int i);
} slice;

static void *do_slice(void *arg) {
    slice *s = arg;

    for (int i = s->from; i < s->to; i++)
        s->each(i);
    return NULL;
}

static void for_all(int n, void (*each)(int i)) {
    slice slices[TAKERS];

    for (int k = 0; k < TAKERS; k++) {
        slices[k] = (slice){
            .from = n * k / TAKERS, .to = n * (k + 1) / TAKERS, .each = each};
        if (pthread_create(&slices[k].thread, NULL, do_slice, &slices[k]))
            die("pthread_create", "no more threads");
    }
    for (int k = 0; k < TAKERS; k++)
        pthread_join(slices[k].thread, NULL);
}

static hf_client *client;
static hf_lock *held[HELD];
static hf_lock_options manner;

static void name_of(int i, char name[32]) {
    if (manner.kind == HF_PERMIT)
        snprintf(name, 32, "orders");
    else
        snprintf(name, 32, "order:%07d", i);
}

static void take(int i) {
    char name[32];
    hf_error err;

    name_of(i, name);
    held[i] = new_lock(client, name, &manner);
    if (hf_lock_acquire(held[i], 10000, &err) != HF_OK)
        die(name, err.text);
}

static void let_go(int i) {
    hf_lock_free(held[i]);
}

static void set_permits(int n) {
    hf_semaphore *sem;
    hf_error err;

    if (hf_semaphore_new(&sem, client, "orders", &err) < 0 ||
        hf_semaphore_set(sem, n, 0, &err) < 0)
        die("orders", err.text);
    hf_semaphore_free(sem);
}

static const struct {
    hf_kind kind;
    const char *title;
} kinds[] = {
    {HF_LOCK, "lock"},
    {HF_FAIR, "fair lock"},
    {HF_WRITE, "write lock"},
    {HF_READ, "read lock"},
    {HF_PERMIT, "permit, all of one semaphore"},
    {HF_SIMPLE, "simple lock"},
};

/* The memory of each while it is held, and what stays for ever. */
static void hold(int k) {
    const bench_server *s = single.masters[0];
    double before, during;

    manner = (hf_lock_options){
        .size = sizeof manner, .kind = kinds[k].kind, .flags = HF_OWNER_HANDLE};
    fleet_flush(s);
    client = open_client(single.uri);
    if (manner.kind == HF_PERMIT)
        set_permits(size.held);
    before = memory_of(s);
    for_all(size.held, take);
    during = memory_of(s);
    for_all(size.held, let_go);
    printf("held\t%s\t%.1f\t%.1f\n", kinds[k].title,
           (during - before) / size.held, (memory_of(s) - before) / size.held);
    hf_close(client);
}

static void measure_held(void) {
    printf("# held\tkind\tbytes of each held\tbytes that stay\n");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        hold((int)k);
}

/* Renewed often, so that there is something to measure. */
static void measure_renewal(void) {
    const bench_server *s = single.masters[0];
    double renewals;
    spent then;

    manner = (hf_lock_options){
        .size = sizeof manner, .flags = HF_OWNER_HANDLE, .renew_ms = RENEW_MS};
    fleet_flush(s);
    client = open_client(single.uri);
    for_all(size.held, take);
    pause_ms(2 * RENEW_MS);
    renewals = fleet_calls(s, "pexpire");
    then = so_far(s);
    pause_ms(size.cell_ms);
    then = since(s, &then);
    renewals = fleet_calls(s, "pexpire") - renewals;
    printf("# renewal\tus of CPU\tpackets in\tpackets out\tbytes in\tbytes "
           "out\n");
    printf("renewal\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\n",
           (then.cpu - idle_cpu * then.seconds) * 1e6 / renewals,
           then.reads / renewals, then.writes / renewals, then.in / renewals,
           then.out / renewals);
    for_all(size.held, let_go);
    hf_close(client);
}

/* ---- waiters ----------------------------------------------------------- */

static hf_client *clients[CLIENTS];
static hf_lock *waited_for[WAITERS];
static pthread_t waiters[WAITERS];

static void *wait_for(void *arg) {
    hf_error err;

    hf_lock_acquire(arg, HF_FOREVER, &err);
    return NULL;
}

static void begin_waiting(int n) {
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (int i = 0; i < n; i++)
        if (pthread_create(&waiters[i], &small, wait_for, waited_for[i]))
            die("pthread_create", "no more threads");
    pthread_attr_destroy(&small);
}

/* A call that comes too early ends nothing, so again and again. */
static void end_waiting(int n) {
    for (int i = 0; i < n; i++) {
        struct timespec by;

        do {
            hf_lock_cancel(waited_for[i]);
            clock_gettime(CLOCK_REALTIME, &by);
            by.tv_nsec += 50000000;
            by.tv_sec += by.tv_nsec / 1000000000;
            by.tv_nsec %= 1000000000;
        } while (pthread_timedjoin_np(waiters[i], NULL, &by) != 0);
        hf_lock_free(waited_for[i]);
    }
}

typedef struct waiting {
    const char *title;
    hf_kind kind;
    int n;
    bool own_name, own_client;
} waiting;

static const waiting waitings[] = {
    {"lock, all of one process for one name", HF_LOCK, WAITERS, false, false},
    {"lock, all of one process, each for another name", HF_LOCK, WAITERS, true,
     false},
    {"fair lock, all of one process for one name", HF_FAIR, WAITERS, false,
     false},
    {"lock, each in a process of its own, for one name", HF_LOCK, CLIENTS,
     false, true},
    {"fair lock, each in a process of its own, for one name", HF_FAIR, CLIENTS,
     false, true},
};

static void name_for(const waiting *w, int i, char name[32]) {
    snprintf(name, 32, w->own_name ? "order:%07d" : "order:0000000", i);
}

/* Somebody else holds them all. */
static hf_client *hold_for(const waiting *w, hf_lock **locks, int n) {
    hf_client *holder = open_client(single.uri);
    hf_lock_options o = {.size = sizeof o,
                         .kind = w->kind,
                         .flags = HF_OWNER_HANDLE,
                         .watchdog_ms = 300000};
    char name[32];
    hf_error err;

    for (int i = 0; i < n; i++) {
        name_for(w, i, name);
        locks[i] = new_lock(holder, name, &o);
        if (hf_lock_try(locks[i], &err) != HF_OK)
            die(name, err.text);
    }
    return holder;
}

/* A client that has asked before has the connections that it needs. */
static void open_waiters(const waiting *w) {
    hf_lock_options o = {
        .size = sizeof o, .kind = w->kind, .flags = HF_OWNER_HANDLE};
    char name[32];

    for (int i = 0; i < (w->own_client ? w->n : 1); i++)
        clients[i] = open_client(single.uri);
    for (int i = 0; i < w->n; i++) {
        name_for(w, i, name);
        waited_for[i] = new_lock(clients[w->own_client ? i : 0], name, &o);
    }
}

static void wait_in(const waiting *w) {
    const bench_server *s = single.masters[0];
    static hf_lock *locks[WAITERS];
    int n_held = w->own_name ? w->n : 1;
    hf_client *holder;
    double before, during;
    spent then;

    fleet_flush(s);
    holder = hold_for(w, locks, n_held);
    pause_ms(500); /* for what was there before to be freed */
    before = memory_of(s);
    open_waiters(w);
    begin_waiting(w->n);
    pause_ms(3000); /* they ask, listen and ask again */
    during = memory_of(s);
    then = so_far(s);
    pause_ms(size.idle_ms);
    then = since(s, &then);
    printf("waiter\t%s\t%d\t%.0f\t%.4g\t%.4g\n", w->title, w->n,
           (during - before) / w->n,
           (then.cpu / then.seconds - idle_cpu) * 1e6 / w->n,
           then.reads / then.seconds / w->n);
    end_waiting(w->n);
    for (int i = 0; i < (w->own_client ? w->n : 1); i++)
        hf_close(clients[i]);
    for (int i = 0; i < n_held; i++)
        hf_lock_free(locks[i]);
    hf_close(holder);
}

static void measure_waiters(void) {
    printf("# waiter\ttitle\thow many\tbytes of each\tus of CPU a second of "
           "each\tpackets in a second of each\n");
    for (size_t i = 0; i < sizeof waitings / sizeof *waitings; i++)
        wait_in(&waitings[i]);
}

/* ---- acquisitions ------------------------------------------------------ */

static const struct {
    const char *id, *title;
    task task; /* kind, own names, processes, threads, section, permits */
} acquisitions[] = {
    {"alone", "lock, free, 1 thread", {"lock", true, 1, 1, 0, 0}},
    {"crowd", "lock, free, 64 threads", {"lock", true, 1, 64, 0, 0}},
    {"fair-free", "fair lock, free, 64 threads", {"fair", true, 1, 64, 0, 0}},
    {"read", "read lock, 64 readers of one name", {"read", false, 1, 64, 0, 0}},
    {"semaphore",
     "semaphore, 64 threads, 64 permits",
     {"semaphore", false, 1, 64, 0, 64}},
    {"permit",
     "leased permit, 64 threads, 64 permits",
     {"permit", false, 1, 64, 0, 64}},
    {"handed",
     "lock, handed from one process to the other",
     {"lock", false, 2, 2, 0, 0}},
    {"handed-16",
     "lock, 16 waiters in 2 processes",
     {"lock", false, 2, 16, 0, 0}},
    {"fair-2",
     "fair lock, handed from one process to the other",
     {"fair", false, 2, 2, 0, 0}},
    {"fair-16",
     "fair lock, 16 waiters in 2 processes",
     {"fair", false, 2, 16, 0, 0}},
};

static double cpu_of(const crew *c) {
    double sum = 0;

    for (int i = 0; i < CREW_PROCESSES; i++)
        sum += cpu_used(c->worker[i].pid);
    return sum;
}

static void acquire_in(crew *c, size_t i) {
    const bench_server *s = single.masters[0];
    const task *t = &acquisitions[i].task;
    double ours;
    outcome o;
    spent then;

    if (!crew_begin(c, t, acquisitions[i].id, "-"))
        die(acquisitions[i].title, c->trouble);
    then = so_far(s);
    ours = cpu_of(c);
    if (!crew_run(c, t, size.cell_ms, &o))
        die(acquisitions[i].title, c->trouble);
    then = since(s, &then);
    ours = cpu_of(c) - ours;
    printf("acquisition\t%s\t%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g\t%.6g\n",
           acquisitions[i].id, acquisitions[i].title,
           then.cpu * 1e6 / (double)o.all, ours * 1e6 / (double)o.all,
           then.reads / (double)o.all, then.writes / (double)o.all,
           then.in / (double)o.all, then.out / (double)o.all,
           (double)o.all / then.seconds);
}

static void measure_acquisitions(void) {
    char *worker[] = {"/proc/self/exe", "--worker", NULL}, log[96];
    crew c = {.name = "holdfast"};

    fleet_flush(single.masters[0]);
    snprintf(log, sizeof log, "%s/crew", single.masters[0]->dir);
    if (!crew_start(&c, worker, single.uri, log))
        die("worker", c.trouble);
    printf("# acquisition\tid\ttitle\tus of CPU of the server\tof the "
           "clients\tpackets in\tout\tbytes in\tout\ta second\n");
    for (size_t i = 0; i < sizeof acquisitions / sizeof *acquisitions; i++)
        acquire_in(&c, i);
    crew_end(&c);
}

/* ---- masters ----------------------------------------------------------- */

enum { CROWD = 64, NAMES = 16 };

/* For one pair. */
typedef struct price {
    double masters, replicas, client; /* CPU, us                         */
    double most;                      /* the busiest master's part of it */
    double packets;                   /* in, of all masters              */
} price;

static double cpu_of_all(const bench_server *const *servers, int n) {
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += cpu_used(servers[i]->pid);
    return sum;
}

static double packets_of(const fleet *f) {
    double sum = 0;

    for (int i = 0; i < f->n_masters; i++)
        sum += fleet_info(f->masters[i], "stats", "total_reads_processed");
    return sum;
}

static price so_far_in(const fleet *f) {
    return (price){.masters = cpu_of_all(f->masters, f->n_masters),
                   .replicas = cpu_of_all(f->others, f->n_others),
                   .client = cpu_used(getpid()),
                   .packets = packets_of(f)};
}

/* Every thread takes names of all masters in turn. */
static price spread(const fleet *f, int n_clients) {
    double each[FLEET_MASTERS], most = 0, pairs;
    price then, now;
    hf_error err;

    for (int i = 0; i < n_clients; i++)
        clients[i] = open_client(f->uri);
    load_begin(&(load){clients, n_clients, NULL, "order", CROWD, NAMES});
    for (int i = 0; i < f->n_masters; i++)
        each[i] = cpu_used(f->masters[i]->pid);
    then = so_far_in(f);
    pause_ms(size.cell_ms);
    pairs = (double)load_stop(&err);
    now = so_far_in(f);
    for (int i = 0; i < f->n_masters; i++) {
        each[i] = cpu_used(f->masters[i]->pid) - each[i];
        most = each[i] > most ? each[i] : most;
    }
    load_end();
    for (int i = 0; i < n_clients; i++)
        hf_close(clients[i]);
    if (pairs <= 0)
        die(f->uri, err.text);
    return (price){(now.masters - then.masters) * 1e6 / pairs,
                   (now.replicas - then.replicas) * 1e6 / pairs,
                   (now.client - then.client) * 1e6 / pairs,
                   most / (now.masters - then.masters),
                   (now.packets - then.packets) / pairs};
}

static void print_price(const price *p) {
    printf("\t%.4g\t%.4g\t%.4g\t%.4g\t%.4g", p->masters, p->replicas, p->client,
           p->most, p->packets);
}

static void compare(const fleet *f, const char *title) {
    price together = spread(f, 1), apart = spread(f, CROWD);

    printf("masters\t%s\t%d", title, f->n_masters);
    print_price(&together);
    print_price(&apart);
    printf("\n");
}

static void measure_masters(void) {
    static const char *const titles[] = {
        "cluster of 1 master", "cluster of 2 masters", "cluster of 3 masters"};
    fleet f;

    printf("# masters\ttitle\thow many\tone client of 64 threads: us of CPU of "
           "the masters\tof the replicas\tof the client\tshare of the busiest "
           "master\tpackets in\t64 clients of one thread: the same\n");
    compare(&single, "one server");
    for (int n = 1; n <= FLEET_MASTERS; n++) {
        fleet_cluster(&f, n, false);
        compare(&f, titles[n - 1]);
        fleet_stop(&f);
    }
    fleet_cluster(&f, FLEET_MASTERS, true);
    compare(&f, "cluster of 3 masters with a replica each");
    fleet_stop(&f);
}

static void say_about(void) {
    char redis[16], day[32];
    time_t now = time(NULL);

    commands_version(single.masters[0]->port, redis);
    strftime(day, sizeof day, "%Y-%m-%d", gmtime(&now));
    printf("# about\tholdfast\tRedis\tcores\tday\theld\nabout\t%s\t%s\t%ld\t%s"
           "\t%d\n",
           hf_version(), redis, sysconf(_SC_NPROCESSORS_ONLN), day, size.held);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--worker") == 0)
        return worker_main();
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") != 0)
            die(argv[i], "is not an option; see the head of the source");
        size.held = 4000, size.cell_ms = 500, size.idle_ms = 2000;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    fleet_single(&single);
    say_about();
    measure_idle();
    measure_held();
    measure_renewal();
    measure_waiters();
    measure_acquisitions();
    measure_masters();
    return 0;
}
