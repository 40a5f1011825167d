/* SPDX-License-Identifier: MIT
 *
 * flash-sale.c - eight tills, each a process, sell a stock of 200.
 *
 *     cc flash-sale.c $(pkg-config --cflags --libs holdfast) -o flash-sale
 *     ./flash-sale [STORE]
 *
 * To sell is to look at the shelf, charge the card, and write down what is left.
 * Without a lock two tills look, see the same last item, and both sell it.
 * The lock is taken around all three; sell_locked() is what you came for. */
#include "stage.h"

#include <holdfast.h>

enum { TILLS = 8, STOCK = 200, CHARGE_US = 300, WAIT_MS = 20000 };

typedef struct shop {
    const char *store; /* the locks'                                        */
    int shelf;         /* a file: what is left, eight digits                */
    int orders;        /* a file: a letter for each order, the till's       */
    stage_gate gate;   /* all begin together                                */
} shop;

typedef struct till {
    const shop *shop;
    char letter;
} till;

typedef struct result {
    int sold, left, least, most; /* least and most: of one till */
    int64_t ms;
} result;

/* ---- the shop ---------------------------------------------------------- */

static int read_shelf(const shop *s) {
    char text[9] = "";
    stage_need(pread(s->shelf, text, 8, 0) == 8, "shelf");
    return (int)strtol(text, NULL, 10);
}

static void write_shelf(const shop *s, int left) {
    char text[16];
    snprintf(text, sizeof text, "%08d", left);
    stage_need(pwrite(s->shelf, text, 8, 0) == 8, "shelf");
}

/* False: sold out. */
static bool sell_one(const till *t) {
    int left = read_shelf(t->shop);
    if (left <= 0)
        return false;
    stage_sleep_us(CHARGE_US); /* the card; meanwhile others look, too */
    stage_tell(t->shop->orders, &t->letter, 1);
    write_shelf(t->shop, left - 1);
    return true;
}

/* ---- a till ------------------------------------------------------------ */

/* Writes of the slow put items back that others have sold: so at most as many
 * as there ever were. */
static int sell_freely(void *arg) {
    const till *t = arg;
    stage_gate_wait(&t->shop->gate);
    for (int i = 0; i < STOCK && sell_one(t); i++)
        ;
    return 0;
}

static int sell_locked(void *arg) {
    const till *t = arg;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_error err;
    bool more = true;
    int rc = hf_open(&client, t->shop->store, NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_new(&lock, client, "stock", NULL, &err);
    stage_gate_wait(&t->shop->gate);
    while (rc == HF_OK && more) {
        rc = hf_lock_acquire(lock, WAIT_MS, &err);
        if (rc != HF_OK)
            break;
        more = sell_one(t);
        rc = hf_lock_release(lock, &err);
    }
    if (rc != HF_OK)
        fprintf(stderr, "till %c: %s\n", t->letter, err.text);
    hf_lock_free(lock); /* NULL is allowed, here and below */
    hf_close(client);
    return rc == HF_OK ? 0 : 1;
}

/* ---- the sale ---------------------------------------------------------- */

static void count_orders(const shop *s, result *r) {
    char letters[TILLS * STOCK];
    int of[TILLS] = {0};
    r->sold = (int)pread(s->orders, letters, sizeof letters, 0);
    for (int i = 0; i < r->sold; i++)
        of[letters[i] - 'a']++;
    r->least = r->most = of[0];
    for (int i = 1; i < TILLS; i++) {
        r->least = of[i] < r->least ? of[i] : r->least;
        r->most = of[i] > r->most ? of[i] : r->most;
    }
}

/* False: a till failed. */
static bool hold_sale(shop *s, int (*sell)(void *), result *r) {
    till tills[TILLS];
    pid_t pids[TILLS];
    bool ok = true;
    write_shelf(s, STOCK);
    stage_need(ftruncate(s->orders, 0) == 0, "orders");
    stage_gate_make(&s->gate);
    for (int i = 0; i < TILLS; i++) {
        tills[i] = (till){.shop = s, .letter = (char)('a' + i)};
        pids[i] = stage_start(sell, &tills[i]);
    }
    r->ms = stage_now_ms();
    stage_gate_open(&s->gate);
    for (int i = 0; i < TILLS; i++)
        ok = stage_ended_well(pids[i]) && ok;
    r->ms = stage_now_ms() - r->ms;
    r->left = read_shelf(s);
    count_orders(s, r);
    return ok;
}

static void print(const char *how, const result *r) {
    printf("%s: %d tills sold %d of %d, %d left on the shelf: oversold %d\n",
           how, TILLS, r->sold, STOCK, r->left,
           r->sold > STOCK ? r->sold - STOCK : 0);
    printf("    %lld ms, %lld sales a second, %d to %d by each till\n",
           (long long)r->ms, (long long)r->sold * 1000 / (r->ms ? r->ms : 1),
           r->least, r->most);
}

int main(int argc, char **argv) {
    stage here;
    result freely, locked;
    stage_open(&here, argc > 1 ? argv[1] : NULL);
    shop s = {.store = here.store,
              .shelf = stage_file(&here, "shelf", 0),
              .orders = stage_file(&here, "orders", O_APPEND)};
    bool ok = hold_sale(&s, sell_freely, &freely);
    print("without the lock", &freely);
    ok = hold_sale(&s, sell_locked, &locked) && ok;
    print("with the lock", &locked);
    stage_close(&here);
    ok = ok && freely.sold > STOCK && locked.sold == STOCK && locked.left == 0;
    return ok ? 0 : 1;
}
