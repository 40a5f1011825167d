/* SPDX-License-Identifier: MIT
 *
 * loop_bench.c [ADDRESS…] - what it costs to wait in an event loop and not in a
 * thread.
 *
 * One lock after the other is taken and given back, by calls that wait and by
 * calls that are begun and told of; then WAITERS wait for one name in one
 * thread: what each costs in memory, and how fast the lock goes round.  The two
 * ways take turns, and the median of the ratios counts.
 *
 * Without an address a private redis-server and the memory store are
 * measured. */
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <holdfast.h>

#include "figures.h"
#include "server.h"

enum { ROUNDS = 7, PAIRS = 3000, WAITERS = 10000 };

static void must(int rc, const char *what, const hf_error *err) {
    if (rc == HF_OK)
        return;
    fprintf(stderr, "loop_bench: %s: %s\n", what,
            rc == HF_BUSY ? "busy" : err->text);
    exit(1);
}

static hf_lock *lock_of(hf_client *client) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock;
    hf_error err;

    options.flags = HF_OWNER_HANDLE;
    must(hf_lock_new(&lock, client, "loop", &options, &err), "lock", &err);
    return lock;
}

static void turn(hf_client *client) {
    struct pollfd fd = {.fd = hf_fd(client), .events = POLLIN};

    poll(&fd, 1, -1);
    hf_process(client);
}

/* ---- one after the other ----------------------------------------------- */

static double by_waiting(hf_lock *lock) {
    int64_t began = now_ns();
    hf_error err;

    for (int i = 0; i < PAIRS; i++) {
        must(hf_lock_acquire(lock, HF_FOREVER, &err), "acquire", &err);
        must(hf_lock_release(lock, &err), "release", &err);
    }
    return (double)(now_ns() - began) / PAIRS / 1000;
}

static void done(void *arg, int rc, const hf_error *err) {
    must(rc, "told", err);
    *(bool *)arg = true;
}

static double by_beginning(hf_client *client, hf_lock *lock) {
    int64_t began = now_ns();
    hf_error err;
    bool is;

    for (int i = 0; i < PAIRS; i++) {
        is = false;
        must(hf_lock_acquire_async(lock, HF_FOREVER, done, &is, &err), "begin",
             &err);
        while (!is)
            turn(client);
        is = false;
        must(hf_lock_release_async(lock, done, &is, &err), "begin", &err);
        while (!is)
            turn(client);
    }
    return (double)(now_ns() - began) / PAIRS / 1000;
}

static void compare(hf_client *client, hf_lock *lock) {
    double waits[ROUNDS], begins[ROUNDS], ratios[ROUNDS];

    by_beginning(client, lock); /* its threads are there */
    for (int i = 0; i < ROUNDS; i++) {
        waits[i] = by_waiting(lock);
        begins[i] = by_beginning(client, lock);
        ratios[i] = begins[i] / waits[i];
    }
    printf("  take and give back  waiting %.1f us, begun and told %.1f us: "
           "%.2f times\n",
           median(waits, ROUNDS), median(begins, ROUNDS),
           median(ratios, ROUNDS));
}

/* ---- all at once ------------------------------------------------------- */

typedef struct waiter {
    hf_lock *lock;
    int *passed;
} waiter;

static void pass(void *arg, int rc, const hf_error *err) {
    waiter *w = arg;

    must(rc, "told", err);
    ++*w->passed;
    must(hf_lock_release_async(w->lock, NULL, NULL, NULL), "begin", err);
}

static void crowd(hf_client *client, hf_lock *first) {
    waiter *waiters = calloc(WAITERS, sizeof *waiters);
    size_t before = mallinfo2().uordblks;
    int passed = 0;
    int64_t began;
    hf_error err;

    must(hf_lock_acquire(first, HF_FOREVER, &err), "acquire", &err);
    for (int i = 0; waiters && i < WAITERS; i++) {
        waiters[i] = (waiter){lock_of(client), &passed};
        must(hf_lock_acquire_async(waiters[i].lock, HF_FOREVER, pass,
                                   &waiters[i], &err),
             "begin", &err);
    }
    printf("  %d in one thread  %zu bytes each", WAITERS,
           (mallinfo2().uordblks - before) / WAITERS);
    began = now_ns();
    must(hf_lock_release(first, &err), "release", &err);
    while (passed < WAITERS)
        turn(client);
    printf(", %.1f us a turn\n", (double)(now_ns() - began) / WAITERS / 1000);
    for (int i = 0; waiters && i < WAITERS; i++)
        hf_lock_free(waiters[i].lock);
    free(waiters);
}

static void measure(const char *uri) {
    hf_client *client;
    hf_lock *lock;
    hf_error err;

    must(hf_open(&client, uri, NULL, &err), uri, &err);
    printf("event loop, %s\n", hf_store(client));
    lock = lock_of(client);
    compare(client, lock);
    crowd(client, lock);
    hf_lock_free(lock);
    hf_close(client);
}

int main(int argc, char **argv) {
    const bench_server *server;
    char address[64];

    for (int i = 1; i < argc; i++)
        measure(argv[i]);
    if (argc > 1)
        return 0;
    measure("memory:loop");
    server = server_start();
    snprintf(address, sizeof address, "redis://127.0.0.1:%d", server->port);
    measure(address);
    server_stop(server);
    return 0;
}
