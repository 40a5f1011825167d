/* SPDX-License-Identifier: MIT
 *
 * worker.c - the worker of ours: holdfast as it is shipped, nothing set. */
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

#include <holdfast.h>

enum { PATIENCE_MS = 20000 };

typedef struct member {
    pthread_t thread;
    int number; /* among all processes */
    hf_lock *lock;
    hf_semaphore *semaphore;
    long all, counted;
} member;

/* A row as the worker was told it. */
static struct {
    char kind[16], name[128], file[128];
    int process, threads, section_us, permits, own;
} row;

static member members[WORKER_THREADS];
static hf_client *client;
static volatile turns *shared; /* NULL: several may be in at once */
static pthread_barrier_t gate;
static atomic_bool over;

/* The first thing that went wrong in this row. */
static struct {
    pthread_mutex_t mutex;
    char text[HF_ERROR_TEXT_SIZE];
} trouble = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool fine(int result, const hf_error *err) {
    if (result == HF_OK)
        return true;
    pthread_mutex_lock(&trouble.mutex);
    if (!*trouble.text)
        snprintf(trouble.text, sizeof trouble.text, "%s",
                 result == HF_BUSY ? "busy" : err->text);
    pthread_mutex_unlock(&trouble.mutex);
    return false;
}

/* ---- one thread -------------------------------------------------------- */

static hf_kind kind_of(const char *word) {
    return strcmp(word, "fair") == 0   ? HF_FAIR :
           strcmp(word, "read") == 0   ? HF_READ :
           strcmp(word, "permit") == 0 ? HF_PERMIT :
                                         HF_LOCK;
}

static bool join(member *m) {
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    char name[160];
    hf_error err;

    if (row.own)
        snprintf(name, sizeof name, "%s-%d", row.name, m->number);
    else
        snprintf(name, sizeof name, "%s", row.name);
    if (strcmp(row.kind, "semaphore") == 0)
        return fine(hf_semaphore_new(&m->semaphore, client, name, &err), &err);
    o.kind = kind_of(row.kind);
    return fine(hf_lock_new(&m->lock, client, name, &o, &err), &err);
}

static bool take(member *m) {
    hf_error err;

    return fine(m->lock ?
                    hf_lock_acquire(m->lock, PATIENCE_MS, &err) :
                    hf_semaphore_acquire(m->semaphore, 1, PATIENCE_MS, &err),
                &err);
}

static bool give(member *m) {
    hf_error err;

    return fine(m->lock ? hf_lock_release(m->lock, &err) :
                          hf_semaphore_release(m->semaphore, 1, &err),
                &err);
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
    hf_lock_free(m->lock);
    if (m->semaphore)
        hf_semaphore_free(m->semaphore);
    return NULL;
}

/* ---- all of them ------------------------------------------------------- */

static bool set_permits(void) {
    hf_semaphore *semaphore;
    hf_error err;
    int result;

    if (!row.permits)
        return true;
    if (!fine(hf_semaphore_new(&semaphore, client, row.name, &err), &err))
        return false;
    result = hf_semaphore_set(semaphore, row.permits, 0, &err);
    hf_semaphore_free(semaphore);
    return result == HF_BUSY || fine(result, &err);
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
    if (!set_permits()) {
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
    hf_error err;

    if (hf_open(&client, uri, NULL, &err) == HF_OK)
        printf("OK %s\n", hf_version());
    else
        printf("FAILED %s\n", err.text);
}

int worker_main(void) {
    char line[512];

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
    hf_close(client);
    return 0;
}
