/* SPDX-License-Identifier: MIT
 *
 * event.c - a box office with five clerks in one thread, in libevent's loop.
 *
 *     cc event.c $(pkg-config --cflags --libs holdfast libevent_core) -o event
 *     ./event [STORE]
 *
 * A clerk waits for the lock, looks how many tickets are left, and some
 * turns of the loop later, when it was paid, writes down one less.  So two of
 * them at a time would sell a ticket twice.  All wait at once, and the loop runs on: its
 * timer says how late it was at worst.  The last one who goes home closes the
 * client, inside of its callback.
 *
 * Run it several times at once: clerks of all processes take turns. */
#include <holdfast.h>
#include <holdfast/adapters/event.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CLERKS = 5, TICKETS = 20, TICK_MS = 1, PAYING = 5 /* ticks */ };

typedef struct clerk {
    int number, seen, sold, paid; /* seen: tickets left; paid: at that tick */
    hf_lock *lock;
} clerk;

static hf_client *client;
static hf_libevent locks;
static struct event *timer;
static clerk clerks[CLERKS];
static clerk *inside; /* who holds the lock */
static int left = TICKETS, at_work = CLERKS;
static int ticks, worst_ms;

static void must(int rc, const hf_error *err) {
    if (rc == HF_OK)
        return;
    fprintf(stderr, "%s\n", err != NULL ? err->text : hf_strerror(rc));
    exit(1);
}

/* ---- a clerk ----------------------------------------------------------- */

static void begin(clerk *c);

static void released(void *arg, int rc, const hf_error *err) {
    clerk *c = arg;
    must(rc, err);
    if (c->seen > 0) {
        begin(c);
        return;
    }
    hf_lock_free(c->lock); /* sold out: it goes home */
    if (--at_work == 0) {
        hf_libevent_detach(&locks);
        hf_close(client);
        event_del(timer);
    }
}

static void release(clerk *c) {
    hf_error err;
    inside = NULL;
    must(hf_lock_release_async(c->lock, released, c, &err), &err);
}

static void granted(void *arg, int rc, const hf_error *err) {
    clerk *c = arg;
    must(rc, err);
    inside = c;
    c->seen = left;
    c->paid = ticks + PAYING;
    if (c->seen == 0)
        release(c);
}

static void begin(clerk *c) {
    hf_error err;
    must(hf_lock_acquire_async(c->lock, HF_FOREVER, granted, c, &err), &err);
}

static void sell(clerk *c) {
    left = c->seen - 1;
    c->sold++;
    printf("clerk %d sells ticket %2d, token %llu\n", c->number, TICKETS - left,
           (unsigned long long)hf_lock_token(c->lock));
    release(c);
}

/* ---- the loop ---------------------------------------------------------- */

static void note_tick(int64_t now_ms) {
    static int64_t last_ms;
    int late_ms = last_ms != 0 ? (int)(now_ms - last_ms) - TICK_MS : 0;
    if (late_ms > worst_ms)
        worst_ms = late_ms;
    last_ms = now_ms;
    ticks++;
}

static void tick(evutil_socket_t fd, short what, void *unused) {
    struct timespec now;
    (void)fd, (void)what, (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &now);
    note_tick((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    if (inside != NULL && ticks >= inside->paid)
        sell(inside);
}

static void open_office(const char *store) {
    hf_lock_options owned = HF_LOCK_OPTIONS_INIT;
    hf_error err;
    owned.flags = HF_OWNER_HANDLE; /* all clerks are one thread */
    must(hf_open(&client, store, NULL, &err), &err);
    for (int i = 0; i < CLERKS; i++) {
        clerks[i].number = i + 1;
        must(hf_lock_new(&clerks[i].lock, client, "tickets", &owned, &err),
             &err);
        begin(&clerks[i]);
    }
}

int main(int argc, char **argv) {
    struct event_base *base = event_base_new();
    struct timeval each = {0, TICK_MS * 1000};
    open_office(argc > 1 ? argv[1] : NULL);
    must(hf_libevent_attach(&locks, base, client), NULL);
    timer = event_new(base, -1, EV_PERSIST, tick, NULL);
    event_add(timer, &each);
    event_base_dispatch(base); /* until nothing is watched any more */
    event_free(timer);
    event_base_free(base);

    int sold = 0;
    for (int i = 0; i < CLERKS; i++)
        sold += clerks[i].sold;
    printf("%d of %d tickets sold by %d clerks in one thread\n", sold, TICKETS,
           CLERKS);
    printf("the timer ticked %d times meanwhile, at most %d ms late\n", ticks,
           worst_ms);
    return sold != TICKETS;
}
