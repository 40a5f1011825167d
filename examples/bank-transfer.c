/* SPDX-License-Identifier: MIT
 *
 * bank-transfer.c - whoever moves money needs two accounts at a time.
 *
 *     cc bank-transfer.c $(pkg-config --cflags --libs holdfast) -o bank-transfer
 *     ./bank-transfer [STORE]
 *
 * Two clerks who take one lock after the other, each in the order in which the
 * accounts came to it, may wait for each other for ever.  A multi-lock is one
 * lock made of both: all or none, and always in the same order.  transfer() is
 * what you came for.
 *
 * From the shell: holdfast run savings --also giro -- ./transfer */
#include "stage.h"

#include <holdfast.h>

enum {
    ACCOUNTS = 4,
    EACH = 1000, /* on each, in the beginning */
    CLERKS = 6,
    TRANSFERS = 25, /* of each clerk */
    BOOKING_US = 200,
    WAIT_MS = 20000,
    TOO_LONG_MS = 300 /* for those who would wait for ever */
};

typedef struct bank {
    volatile int money[ACCOUNTS], entries[ACCOUNTS];
    volatile int done[CLERKS]; /* transfers */
    pthread_barrier_t both;    /* two clerks, at the same point */
} bank;

typedef struct clerk {
    const char *store;
    bank *bank;
    int number;
    stage_gate *gate;
    hf_client *client;
    hf_lock *accounts[ACCOUNTS];
} clerk;

/* ---- a clerk ----------------------------------------------------------- */

static int open_accounts(clerk *c, hf_error *err) {
    char name[16];
    int rc = hf_open(&c->client, c->store, NULL, err);
    for (int i = 0; i < ACCOUNTS && rc == HF_OK; i++) {
        snprintf(name, sizeof name, "account:%d", i);
        rc = hf_lock_new(&c->accounts[i], c->client, name, NULL, err);
    }
    return rc;
}

static int leave(clerk *c, int rc, const hf_error *err) {
    if (rc != HF_OK)
        fprintf(stderr, "clerk %d: %s\n", c->number, err->text);
    for (int i = 0; i < ACCOUNTS; i++)
        hf_lock_free(c->accounts[i]);
    hf_close(c->client);
    return rc == HF_OK ? 0 : 1;
}

static void enter(bank *b, int account, int amount) {
    int money = b->money[account], entries = b->entries[account];
    stage_sleep_us(BOOKING_US); /* meanwhile others read the same */
    b->money[account] = money + amount;
    b->entries[account] = entries + 1;
}

static void book(const clerk *c, int from, int to) {
    enter(c->bank, from, -1);
    enter(c->bank, to, 1);
    c->bank->done[c->number]++;
}

static int transfer(clerk *c, int from, int to, hf_error *err) {
    hf_lock *both;
    int rc = hf_multi_new(
        &both, (hf_lock *[]){c->accounts[from], c->accounts[to]}, 2, err);
    if (rc != HF_OK)
        return rc;
    rc = hf_lock_acquire(both, WAIT_MS, err);
    if (rc == HF_OK) {
        book(c, from, to);
        rc = hf_lock_release(both, err);
    }
    hf_lock_free(both); /* the members stay */
    return rc;
}

/* Between any two accounts, in both directions. */
static int work(clerk *c, bool locked) {
    hf_error err;
    unsigned seed = (unsigned)c->number;
    int rc = open_accounts(c, &err);
    stage_gate_wait(c->gate);
    for (int i = 0; i < TRANSFERS && rc == HF_OK; i++) {
        int from = rand_r(&seed) % ACCOUNTS;
        int to = (from + 1 + rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
        if (locked)
            rc = transfer(c, from, to, &err);
        else
            book(c, from, to);
    }
    return leave(c, rc, &err);
}

static int work_freely(void *arg) {
    return work(arg, false);
}

static int work_locked(void *arg) {
    return work(arg, true);
}

/* How not to do it.  Both clerks have their first account when they ask for
 * their second, and keep it until both have given up. */
static int work_one_by_one(void *arg) {
    clerk *c = arg;
    int first = c->number % 2, second = 1 - first;
    hf_error err;
    int rc = open_accounts(c, &err);
    stage_gate_wait(c->gate);
    if (rc == HF_OK)
        rc = hf_lock_acquire(c->accounts[first], WAIT_MS, &err);
    pthread_barrier_wait(&c->bank->both);
    if (rc == HF_OK) {
        rc = hf_lock_acquire(c->accounts[second], TOO_LONG_MS, &err);
        if (rc == HF_OK)
            book(c, first, second);
        else if (rc == HF_ETIMEOUT)
            rc = HF_OK; /* that is what we want to see */
    }
    pthread_barrier_wait(&c->bank->both);
    return leave(c, rc, &err); /* which releases what is held */
}

/* ---- the bank ---------------------------------------------------------- */

static bank *new_bank(void) {
    bank *b = stage_share(sizeof *b);
    stage_barrier(&b->both, 2);
    for (int i = 0; i < ACCOUNTS; i++)
        b->money[i] = EACH;
    return b;
}

/* False: a clerk failed. */
static bool open_hours(const char *store, bank *b, int clerks,
                       int (*fn)(void *)) {
    clerk all[CLERKS];
    pid_t pids[CLERKS];
    stage_gate gate;
    bool ok = true;
    stage_gate_make(&gate);
    for (int i = 0; i < clerks; i++) {
        all[i] = (clerk){.store = store, .bank = b, .number = i, .gate = &gate};
        pids[i] = stage_start(fn, &all[i]);
    }
    stage_gate_open(&gate);
    for (int i = 0; i < clerks; i++)
        ok = stage_ended_well(pids[i]) && ok;
    return ok;
}

static int sum(const volatile int *numbers, int n) {
    int total = 0;
    for (int i = 0; i < n; i++)
        total += numbers[i];
    return total;
}

/* True: nothing of what was done is missing in the books. */
static bool balance(const char *how, const bank *b, int wanted) {
    int done = sum(b->done, CLERKS), money = sum(b->money, ACCOUNTS);
    int entries = sum(b->entries, ACCOUNTS);
    printf("%s: %d of %d transfers, %d of %d entries in the books, %d of %d in "
           "the bank\n",
           how, done, wanted, entries, 2 * done, money, ACCOUNTS * EACH);
    return entries == 2 * done && money == ACCOUNTS * EACH;
}

int main(int argc, char **argv) {
    stage here;
    stage_open(&here, argc > 1 ? argv[1] : NULL);
    bank *freely = new_bank(), *by_one = new_bank(), *locked = new_bank();
    bool ok = open_hours(here.store, freely, CLERKS, work_freely);
    ok = !balance("without locks", freely, CLERKS * TRANSFERS) && ok;
    ok = open_hours(here.store, by_one, 2, work_one_by_one) && ok;
    ok = balance("one lock after the other", by_one, 2) && ok;
    ok = open_hours(here.store, locked, CLERKS, work_locked) && ok;
    ok = balance("with a multi-lock", locked, CLERKS * TRANSFERS) && ok;
    stage_close(&here);
    ok = ok && sum(by_one->done, CLERKS) == 0 &&
         sum(locked->done, CLERKS) == CLERKS * TRANSFERS;
    return ok ? 0 : 1;
}
