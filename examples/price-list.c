/* SPDX-License-Identifier: MIT
 *
 * price-list.c - many read a price list while one writes a new one.
 *
 *     cc price-list.c $(pkg-config --cflags --libs holdfast) -o price-list
 *     ./price-list [STORE]
 *
 * A list takes a while to write, and to read.  Without a lock readers find old
 * prices beside new ones.  With a read-write lock they never do, and still read
 * side by side.  read_one() and write_one() are what you came for.
 *
 * From the shell: holdfast run -s prices -- ./read, and -x for the writer. */
#include "stage.h"

#include <holdfast.h>

enum {
    READERS = 6,
    PRICES = 20,
    LISTS = 10, /* written, one after the other */
    PRICE_US = 50,
    WAIT_MS = 20000
};

typedef struct shop {
    atomic_int prices[PRICES]; /* each is the number of its list */
    atomic_int written;
    atomic_int reads, mixed;
    atomic_int inside, highest; /* readers, at a time */
    pthread_barrier_t all;      /* readers */
} shop;

typedef struct party {
    const char *store;
    shop *shop;
    bool locked;
    stage_gate *gate;
} party;

/* ---- the list ---------------------------------------------------------- */

static void write_list(shop *s) {
    int list = atomic_load(&s->written) + 1;
    for (int i = 0; i < PRICES; i++) {
        atomic_store(&s->prices[i], list);
        stage_sleep_us(PRICE_US);
    }
    atomic_store(&s->written, list);
}

/* From its end, so that who reads while it is written meets the writer. */
static void read_list(shop *s) {
    int last = atomic_load(&s->prices[PRICES - 1]);
    bool mixed = false;
    for (int i = PRICES - 2; i >= 0; i--) {
        stage_sleep_us(PRICE_US);
        mixed = atomic_load(&s->prices[i]) != last || mixed;
    }
    atomic_fetch_add(&s->reads, 1);
    atomic_fetch_add(&s->mixed, mixed);
}

/* ---- who reads, who writes --------------------------------------------- */

/* HF_WRITERS_FIRST on both sides: readers who come while a writer waits stay
 * out, or it might wait for ever. */
static int open_side(const party *p, hf_kind kind, hf_client **client,
                     hf_lock **side, hf_error *err) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    options.kind = kind;
    options.flags = HF_WRITERS_FIRST;
    int rc = hf_open(client, p->store, NULL, err);
    return rc == HF_OK ? hf_lock_new(side, *client, "prices", &options, err) :
                         rc;
}

static int close_side(hf_client *client, hf_lock *side, int rc,
                      const hf_error *err) {
    if (rc != HF_OK)
        fprintf(stderr, "%s\n", err->text);
    hf_lock_free(side);
    hf_close(client);
    return rc == HF_OK ? 0 : 1;
}

static int write_one(const party *p, hf_lock *side, hf_error *err) {
    int rc = p->locked ? hf_lock_acquire(side, WAIT_MS, err) : HF_OK;
    if (rc != HF_OK)
        return rc;
    write_list(p->shop);
    return p->locked ? hf_lock_release(side, err) : HF_OK;
}

/* The first time all readers meet inside, to show that they can. */
static int read_one(const party *p, hf_lock *side, bool meet, hf_error *err) {
    int rc = p->locked ? hf_lock_acquire(side, WAIT_MS, err) : HF_OK;
    if (rc != HF_OK)
        return rc;
    stage_raise(&p->shop->highest, atomic_fetch_add(&p->shop->inside, 1) + 1);
    if (meet)
        pthread_barrier_wait(&p->shop->all);
    read_list(p->shop);
    atomic_fetch_sub(&p->shop->inside, 1);
    return p->locked ? hf_lock_release(side, err) : HF_OK;
}

static int write_all(void *arg) {
    const party *p = arg;
    hf_client *client = NULL;
    hf_lock *side = NULL;
    hf_error err;
    int rc = open_side(p, HF_WRITE, &client, &side, &err);
    stage_gate_wait(p->gate);
    for (int i = 0; i < LISTS && rc == HF_OK; i++)
        rc = write_one(p, side, &err);
    return close_side(client, side, rc, &err);
}

static int read_all(void *arg) {
    const party *p = arg;
    hf_client *client = NULL;
    hf_lock *side = NULL;
    hf_error err;
    int rc = open_side(p, HF_READ, &client, &side, &err);
    if (rc == HF_OK)
        rc = read_one(p, side, true, &err);
    stage_gate_wait(p->gate); /* the writer's, too: it begins behind us */
    while (rc == HF_OK && atomic_load(&p->shop->written) < LISTS)
        rc = read_one(p, side, false, &err);
    return close_side(client, side, rc, &err);
}

/* ---- the show ---------------------------------------------------------- */

static shop *new_shop(void) {
    shop *s = stage_share(sizeof *s);
    stage_barrier(&s->all, READERS);
    return s;
}

static bool play(const char *how, const char *store, shop *s, bool locked) {
    stage_gate gate;
    party p = {.store = store, .shop = s, .locked = locked, .gate = &gate};
    pid_t pids[READERS + 1];
    bool ok = true;
    stage_gate_make(&gate);
    for (int i = 0; i < READERS; i++)
        pids[i] = stage_start(read_all, &p);
    pids[READERS] = stage_start(write_all, &p);
    stage_gate_open(&gate);
    for (int i = 0; i <= READERS; i++)
        ok = stage_ended_well(pids[i]) && ok;
    printf("%s: %d lists read while %d were written, %d of them mixed; at most "
           "%d readers at a time\n",
           how, s->reads, s->written, s->mixed, s->highest);
    return ok && s->written == LISTS;
}

int main(int argc, char **argv) {
    stage here;
    stage_open(&here, argc > 1 ? argv[1] : NULL);
    shop *freely = new_shop(), *locked = new_shop();
    bool ok = play("without the lock", here.store, freely, false);
    ok = play("with the lock", here.store, locked, true) && ok;
    stage_close(&here);
    ok = ok && freely->mixed > 0 && locked->mixed == 0 &&
         locked->highest == READERS;
    return ok ? 0 : 1;
}
