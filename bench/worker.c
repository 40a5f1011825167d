/* SPDX-License-Identifier: MIT
 *
 * worker.c - rows of a worker in C, whoever takes and gives back. */
#include "worker.h"

#include "figures.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct member {
    pthread_t thread;
    int number; /* among all processes */
    void *joined;
    long all, counted;
} member;

/* A row as the worker was told it. */
static struct {
    char kind[16], name[128], file[128];
    int process, threads, section_us, permits, own;
} row;

static member members[WORKER_THREADS];
static const worker_side *side;
static volatile turns *shared; /* NULL: several may be in at once */
static pthread_barrier_t gate;
static atomic_bool over;

/* The first thing that went wrong in this row. */
static struct {
    pthread_mutex_t mutex;
    char text[WORKER_WHY];
} trouble = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool fine(bool well, const char *why) {
    if (well)
        return true;
    pthread_mutex_lock(&trouble.mutex);
    if (!*trouble.text)
        snprintf(trouble.text, sizeof trouble.text, "%s", why);
    pthread_mutex_unlock(&trouble.mutex);
    return false;
}

/* ---- one thread -------------------------------------------------------- */

static bool join(member *m) {
    char name[160], why[WORKER_WHY];

    if (row.own)
        snprintf(name, sizeof name, "%s-%d", row.name, m->number);
    else
        snprintf(name, sizeof name, "%s", row.name);
    m->joined = side->join(row.kind, name, why);
    return fine(m->joined, why);
}

static bool take(member *m) {
    char why[WORKER_WHY];

    return fine(side->take(m->joined, why), why);
}

static bool give(member *m) {
    char why[WORKER_WHY];

    return fine(side->give(m->joined, why), why);
}

void turns_wait(volatile turns *t, int64_t ns) {
    t->wait_ns[t->waits++ % TURNS_WAITS] = ns;
}

void turns_note(volatile turns *t, int number, int threads) {
    int64_t last = t->last, now = now_ns(), stayed = now - t->since_ns;

    t->sections++;
    t->last = number;
    if (last < 0 || last == number)
        return;
    t->handed++;
    if (t->freed_ns)
        turns_wait(t, now - t->freed_ns);
    if (last / threads == number / threads)
        return;
    t->crossed++;
    if (t->since_ns && stayed > t->longest_ns)
        t->longest_ns = stayed;
    t->since_ns = now;
}

/* What comes after the stop only lets those go who still wait. */
static bool pair(member *m) {
    struct timespec section = {0, row.section_us * 1000L};

    if (!take(m))
        return false;
    m->all++;
    if (!atomic_load_explicit(&over, memory_order_relaxed)) {
        m->counted++;
        if (shared)
            turns_note(shared, m->number, row.threads);
        if (row.section_us)
            nanosleep(&section, NULL);
    }
    if (shared)
        shared->freed_ns = now_ns();
    return give(m);
}

static void *work(void *arg) {
    member *m = arg;
    bool well = join(m) && take(m) && give(m);

    pthread_barrier_wait(&gate);
    pthread_barrier_wait(&gate);
    while (well && !atomic_load_explicit(&over, memory_order_relaxed))
        well = pair(m);
    if (m->joined)
        side->leave(m->joined);
    return NULL;
}

/* ---- all of them ------------------------------------------------------- */

static bool prepare(void) {
    char why[WORKER_WHY];

    return !side->prepare ||
           fine(side->prepare(row.kind, row.name, row.permits, why), why);
}

static void map_turns(void) {
    int fd = open(row.file, O_RDWR);
    void *at = fd < 0 ? MAP_FAILED :
                        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                             MAP_SHARED, fd, 0);

    shared = at == MAP_FAILED ? NULL : at;
    if (fd >= 0)
        close(fd);
}

static void forget_turns(void) {
    if (shared)
        munmap((void *)shared, sizeof *shared);
    shared = NULL;
}

static void end_row(void) {
    atomic_store(&over, true);
    for (int i = 0; i < row.threads; i++)
        pthread_join(members[i].thread, NULL);
    pthread_barrier_destroy(&gate);
    forget_turns();
}

static void begin_row(const char *words) {
    if (sscanf(words, "%15s %d %d %d %d %d %127s %127s", row.kind, &row.process,
               &row.threads, &row.section_us, &row.permits, &row.own, row.name,
               row.file) != 8 ||
        row.threads > WORKER_THREADS) {
        printf("FAILED what is: %s\n", words);
        return;
    }
    *trouble.text = '\0';
    if (!prepare()) {
        printf("FAILED %s\n", trouble.text);
        return;
    }
    if (!row.own && (!strcmp(row.kind, "lock") || !strcmp(row.kind, "fair")))
        map_turns();
    atomic_store(&over, false);
    pthread_barrier_init(&gate, NULL, (unsigned)row.threads + 1);
    for (int i = 0; i < row.threads; i++) {
        members[i] = (member){.number = row.process * row.threads + i};
        if (pthread_create(&members[i].thread, NULL, work, &members[i]))
            abort();
    }
    pthread_barrier_wait(&gate);
    if (!*trouble.text) {
        printf("READY\n");
        return;
    }
    printf("FAILED %s\n", trouble.text);
    atomic_store(&over, true);
    pthread_barrier_wait(&gate);
    end_row();
}

static void stop_row(void) {
    long all = 0;

    end_row();
    if (*trouble.text) {
        printf("FAILED %s\n", trouble.text);
        return;
    }
    for (int i = 0; i < row.threads; i++)
        all += members[i].all;
    printf("DONE %ld", all);
    for (int i = 0; i < row.threads; i++)
        printf(" %ld", members[i].counted);
    printf("\n");
}

static void open_store(const char *uri) {
    char why[WORKER_WHY];
    const char *version = side->open(uri, why);

    if (version)
        printf("OK %s\n", version);
    else
        printf("FAILED %s\n", why);
}

int worker_run(const worker_side *whose) {
    char line[512];

    side = whose;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "open ", 5) == 0)
            open_store(line + 5);
        else if (strncmp(line, "row ", 4) == 0)
            begin_row(line + 4);
        else if (strcmp(line, "go") == 0)
            pthread_barrier_wait(&gate);
        else if (strcmp(line, "stop") == 0)
            stop_row();
        fflush(stdout);
    }
    if (side->close)
        side->close();
    return 0;
}
