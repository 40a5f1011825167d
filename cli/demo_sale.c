/* SPDX-License-Identifier: MIT
 *
 * demo_sale.c - the flash sale: eight processes, fifty tries each, a hundred
 * items.  The stock is a number in a file, the orders a file with a byte for
 * each. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"
#include "moment.h"

enum { BUYERS = 8, TRIES = 50, STOCK = 100, WAIT_MS = 20000 };

static const char c_lines[] = "hf_lock_acquire(lock, 20000, &err);\n"
                              "stock = read_stock();\n"
                              "if (stock > 0) {\n"
                              "    create_order();\n"
                              "    write_stock(stock - 1);\n"
                              "}\n"
                              "hf_lock_release(lock, &err);\n";

static const char shell_lines[] =
    "read -r n < stock; [ $n -gt 0 ] && printf o >> orders && "
    "printf %08d $((n-1)) > stock";

typedef struct sale {
    const demo *demo;
    bool locked;
    long pause_ns; /* between reading and writing, to make the race wider */
    int start[2];  /* a pipe; the buyers start when it ends               */
    char stock[300], orders[300];
} sale;

typedef struct result {
    int sold, left;
    int64_t ms;
} result;

/* ---- the shop ---------------------------------------------------------- */

static int read_stock(const sale *s) {
    char text[16] = "";
    int fd = open(s->stock, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 ? (int)strtol(text, NULL, 10) : 0;
}

/* Always eight digits, so that nobody ever reads half a number. */
static void write_stock(const sale *s, int stock) {
    char text[16];
    int n = snprintf(text, sizeof(text), "%08d", stock);
    int fd = open(s->stock, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)n) != n)
        _exit(1);
    close(fd);
}

static void create_order(const sale *s) {
    int fd = open(s->orders, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "o", 1) != 1)
        _exit(1);
    close(fd);
}

static int count_orders(const sale *s) {
    struct stat st;
    return stat(s->orders, &st) == 0 ? (int)st.st_size : 0;
}

/* An order takes a while; other buyers come meanwhile. */
static void buy(const sale *s) {
    struct timespec pause = {0, s->pause_ns};
    int stock = read_stock(s);
    if (stock <= 0)
        return;
    create_order(s);
    if (s->pause_ns > 0)
        nanosleep(&pause, NULL);
    else
        sched_yield();
    write_stock(s, stock - 1);
}

/* ---- the buyers -------------------------------------------------------- */

static void await_start(const sale *s) {
    char byte;
    close(s->start[1]);
    while (read(s->start[0], &byte, 1) > 0)
        ;
}

static int buy_freely(void *arg) {
    const sale *s = arg;
    await_start(s);
    for (int i = 0; i < TRIES; i++)
        buy(s);
    return 0;
}

static int buy_locked(void *arg) {
    const sale *s = arg;
    hf_client *client;
    hf_lock *lock = demo_lock(s->demo, "stock", 0, &client);
    hf_error err = {0};
    int failed = 0;
    await_start(s);
    for (int i = 0; i < TRIES && !failed; i++) {
        failed = hf_lock_acquire(lock, WAIT_MS, &err) != HF_OK;
        if (failed)
            break;
        buy(s);
        failed = hf_lock_release(lock, &err) != HF_OK;
    }
    if (failed)
        demo_say(RED, "  a buyer failed: %s", err.text);
    hf_lock_free(lock);
    hf_close(client);
    return failed;
}

static bool hold_sale(sale *s, result *r) {
    pid_t buyers[BUYERS];
    bool ok = true;
    unlink(s->orders);
    write_stock(s, STOCK);
    if (pipe2(s->start, O_CLOEXEC) != 0)
        return false;
    for (int i = 0; i < BUYERS; i++)
        buyers[i] = demo_fork(s->locked ? buy_locked : buy_freely, s);
    close(s->start[0]);
    close(s->start[1]);
    r->ms = moment_now();
    for (int i = 0; i < BUYERS; i++)
        ok = demo_wait(buyers[i]) == 0 && ok;
    r->ms = moment_now() - r->ms;
    r->sold = count_orders(s);
    r->left = read_stock(s);
    return ok;
}

static void tell(const result *r, bool good) {
    int over = r->sold > STOCK ? r->sold - STOCK : 0;
    demo_say(good ? GREEN : RED,
             "  sold %d of %d, %d left on the shelf: oversold %d  (%lld ms)\n",
             r->sold, STOCK, r->left, over, (long long)r->ms);
}

/* ---- the three acts ---------------------------------------------------- */

/* On a machine that runs the buyers one after the other nothing would go
 * wrong; a wider gap then makes them meet. */
static bool without_lock(sale *s) {
    result r;
    s->locked = false;
    demo_say(PLAIN, "Without a lock, %d processes, %d tries each:", BUYERS,
             TRIES);
    if (!hold_sale(s, &r))
        return false;
    if (r.sold <= STOCK) {
        s->pause_ns = 1000000;
        if (!hold_sale(s, &r))
            return false;
    }
    s->pause_ns = 0;
    tell(&r, false);
    return r.sold > STOCK;
}

static bool with_lock(sale *s) {
    result r = {0};
    bool ok;
    s->locked = true;
    demo_say(PLAIN, "The same with a lock around it:");
    demo_code(c_lines);
    ok = hold_sale(s, &r);
    ok = ok && r.sold == STOCK && r.left == 0;
    tell(&r, ok);
    return ok;
}

static int buy_in_shell(void *arg) {
    const sale *s = arg;
    if (chdir(s->demo->folder) != 0)
        return 1;
    execl("/proc/self/exe", "holdfast", "run", "--store", s->demo->store,
          "stock", "--", "sh", "-c", shell_lines, (char *)NULL);
    return 127;
}

/* Two buyers, one item: one of them finds the shelf empty and exits with 1. */
static bool from_shell(sale *s) {
    pid_t buyers[2];
    int first, second;
    bool ok;
    unlink(s->orders);
    write_stock(s, 1);
    demo_say(PLAIN, "And from a shell, two buyers and one item left:");
    printf("%s    holdfast run --store %s stock -- sh -c '%s'%s\n\n",
           text_paint(stdout, DIM), s->demo->store, shell_lines,
           text_paint(stdout, PLAIN));
    for (int i = 0; i < 2; i++)
        buyers[i] = demo_fork(buy_in_shell, s);
    first = demo_wait(buyers[0]);
    second = demo_wait(buyers[1]);
    ok = count_orders(s) == 1 && first + second == 1 && first * second == 0;
    demo_say(ok ? GREEN : RED, "  orders: %d; one exits with 0, one with 1\n",
             count_orders(s));
    return ok;
}

int demo_flash_sale(const demo *d) {
    sale s = {.demo = d};
    bool ok;
    demo_path(d, "stock", s.stock, sizeof(s.stock));
    demo_path(d, "orders", s.orders, sizeof(s.orders));
    demo_title("The flash sale");
    ok = without_lock(&s);
    ok = with_lock(&s) && ok;
    ok = from_shell(&s) && ok;
    demo_say(DIM, "Were the stock a row in one SQL database, UPDATE ... SET "
                  "stock = stock - 1\nWHERE stock > 0 would be better than "
                  "any lock.  A file or an outside service\nhas no such "
                  "statement.");
    return ok ? 0 : 1;
}
