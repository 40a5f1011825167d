/* SPDX-License-Identifier: MIT
 *
 * list_bench.c [--names N] [--held H] [ADDRESS…] - what those who look cost a
 * store, and what it costs that clients can be seen at all.
 *
 * N names were locked and released once, whatever that leaves behind, and H of
 * them are held, each by its own handle.  Then all names are listed: when the
 * first place is told, and when the last.  Of Redis also the longest command:
 * for so long nobody else is served.  Noise only adds to that, so it is the
 * least of all listings.  Then a client that does nothing but hold, one that
 * takes a lock and releases it all the time, and one that holds it for a while
 * each time: how often they write their record.
 *
 * Without an address a private redis-server and a file of SQLite are measured. */
#include <ftw.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <holdfast.h>

#include "figures.h"
#include "server.h"

enum {
    REPEATS = 5,
    THREADS = 16,
    HOLDS = 10, /* of the client whose presence is measured */
    SECONDS = 20,
    A_WHILE_MS = 1500,
    SLOW_US = 50 /* commands below this are not looked at */
};

static int names = 100000, held = 1000;
static redisContext *redis; /* the server, if it is one; for its figures */

static void die(const char *what, const char *why) {
    fprintf(stderr, "list_bench: %s: %s\n", what, why);
    exit(1);
}

static void must(int rc, const char *what, const hf_error *err) {
    if (rc != HF_OK)
        die(what, rc == HF_BUSY ? "busy" : err->text);
}

static hf_lock *lock_of(hf_client *client, int i) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock;
    hf_error err;
    char name[32];

    options.flags = HF_OWNER_HANDLE;
    options.lease_ms = 3600000;
    snprintf(name, sizeof name, "lock-%d", i);
    must(hf_lock_new(&lock, client, name, &options, &err), name, &err);
    return lock;
}

/* ---- what there is to list --------------------------------------------- */

static hf_client *preparing;
static atomic_int next_name;

/* One of THREADS: takes names in turn and gives them back. */
static void *use_names(void *arg) {
    hf_error err;
    int i;

    while ((i = atomic_fetch_add(&next_name, 1)) < names) {
        hf_lock *lock = lock_of(preparing, i);

        must(hf_lock_try(lock, &err), "lock", &err);
        must(hf_lock_release(lock, &err), "release", &err);
        hf_lock_free(lock);
    }
    return arg;
}

static void prepare(hf_client *client) {
    pthread_t threads[THREADS];

    preparing = client;
    atomic_store(&next_name, 0);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, use_names, NULL) != 0)
            die("threads", "there are no more");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static hf_lock **hold(hf_client *client) {
    hf_lock **locks = calloc((size_t)held + 1, sizeof(hf_lock *));
    hf_error err;

    if (!locks)
        die("locks", "out of memory");
    for (int i = 0; i < held; i++) {
        /* Spread over all names. */
        locks[i] = lock_of(client, (int)((long)i * names / held));
        must(hf_lock_try(locks[i], &err), "lock", &err);
    }
    return locks;
}

static void let_go(hf_lock **locks) {
    for (int i = 0; i < held; i++)
        hf_lock_free(locks[i]);
    free(locks);
}

/* ---- listing ----------------------------------------------------------- */

typedef struct listing {
    int64_t began, first;
    int n;
} listing;

static void on_place(void *arg, const hf_place *place) {
    listing *l = arg;

    if (l->n == 0)
        l->first = now_ns();
    l->n += place->holds;
}

/* What the server says of its slowest commands; the longest, in µs. */
static long longest_command(void) {
    redisReply *all = redisCommand(redis, "SLOWLOG GET 100000");
    long most = 0;

    if (!all || all->type != REDIS_REPLY_ARRAY)
        die("SLOWLOG", "not answered");
    for (size_t i = 0; i < all->elements; i++)
        if (all->element[i]->elements > 2 &&
            all->element[i]->element[2]->integer > most)
            most = (long)all->element[i]->element[2]->integer;
    freeReplyObject(all);
    return most;
}

/* Below which so many of its scripts lie (`p50=`, `p99=`), in µs; 0: this server
 * does not say. */
static double scripts_take(const char *percentile) {
    redisReply *info = redisCommand(redis, "INFO latencystats");
    const char *at =
        info && info->str ?
            strstr(info->str, "latency_percentiles_usec_evalsha:") :
            NULL;
    double us = 0;

    if (at && (at = strstr(at, percentile)))
        us = strtod(at + strlen(percentile), NULL);
    if (info)
        freeReplyObject(info);
    return us;
}

static void tell_server(const char *command) {
    redisReply *reply = redisCommand(redis, command);

    if (!reply || reply->type == REDIS_REPLY_ERROR)
        die(command, reply ? reply->str : "not answered");
    freeReplyObject(reply);
}

static void begin_slowlog(void) {
    char command[64];

    snprintf(command, sizeof command, "CONFIG SET slowlog-log-slower-than %d",
             SLOW_US);
    tell_server(command);
    tell_server("CONFIG SET slowlog-max-len 100000");
    tell_server("SLOWLOG RESET");
}

static void list(hf_client *client) {
    double first[REPEATS], whole[REPEATS];
    long longest = 0;
    hf_error err;

    if (redis)
        tell_server("CONFIG RESETSTAT");
    for (int i = 0; i < REPEATS; i++) {
        listing l = {0};

        if (redis)
            begin_slowlog();
        l.began = now_ns();
        must(hf_list(client, NULL, on_place, &l, &err), "list", &err);
        whole[i] = (double)(now_ns() - l.began) / 1e6;
        first[i] = (double)(l.first - l.began) / 1e6;
        if (l.n != held)
            die("list", "it did not tell of all that is held");
        if (redis && (i == 0 || longest_command() < longest))
            longest = longest_command();
    }
    printf("  %-44s %9.1f ms\n", "the first place is told after",
           median(first, REPEATS));
    printf("  %-44s %9.1f ms\n", "all are told after", median(whole, REPEATS));
    if (redis)
        printf("  %-44s %9.2f ms, half of them %.2f, 99 of 100 %.2f\n",
               "longest command of the server", (double)longest / 1e3,
               scripts_take("p50=") / 1e3, scripts_take("p99=") / 1e3);
}

/* ---- presence ---------------------------------------------------------- */

static long long number_in(const char *section, const char *key) {
    redisReply *info = redisCommand(redis, "INFO %s", section);
    const char *at = info && info->str ? strstr(info->str, key) : NULL;
    long long n = at ? strtoll(at + strlen(key), NULL, 10) : 0;

    if (info)
        freeReplyObject(info);
    return n;
}

/* The locks of this benchmark write no sorted sets, records do. */
static long long records_written(void) {
    return number_in("commandstats", "cmdstat_zadd:calls=");
}

static long long bytes_in(void) {
    return number_in("stats", "total_net_input_bytes:");
}

/* What the client does beside holding HOLDS locks: takes another again and
 * again, for so long each time; negative: nothing. */
static const struct {
    const char *what;
    int hold_ms;
} habits[] = {
    {"a client that holds 10 locks", -1},
    {"and takes one more all the time", 0},
    {"and holds that for 1.5 s each time", A_WHILE_MS},
};

static void pause_ms(int ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

/* How often it took it. */
static long live(hf_lock *extra, int hold_ms) {
    int64_t until = now_ns() + SECONDS * INT64_C(1000000000);
    long pairs = 0;
    hf_error err;

    if (hold_ms < 0)
        pause_ms(SECONDS * 1000);
    for (; hold_ms >= 0 && now_ns() < until; pairs++) {
        must(hf_lock_try(extra, &err), "lock", &err);
        pause_ms(hold_ms);
        must(hf_lock_release(extra, &err), "release", &err);
        pause_ms(hold_ms);
    }
    return pairs;
}

static void watch_presence(hf_client *client, const char *what, int hold_ms) {
    hf_lock *extra = lock_of(client, names + HOLDS);
    long long writes = records_written(), bytes = bytes_in();
    long pairs = live(extra, hold_ms);

    writes = records_written() - writes;
    bytes = bytes_in() - bytes;
    printf("  %-44s %9.2f records a second", what, (double)writes / SECONDS);
    if (hold_ms == 0)
        printf(" beside %.0f locks\n", (double)pairs / SECONDS);
    else
        printf(", in all %.0f bytes\n", (double)bytes / SECONDS);
    fflush(stdout);
    hf_lock_free(extra);
}

static void presence(const char *address) {
    hf_lock *locks[HOLDS];
    hf_client *client;
    hf_error err;

    must(hf_open(&client, address, NULL, &err), address, &err);
    for (int i = 0; i < HOLDS; i++) {
        locks[i] = lock_of(client, names + i);
        must(hf_lock_try(locks[i], &err), "lock", &err);
    }
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        watch_presence(client, habits[i].what, habits[i].hold_ms);
    for (int i = 0; i < HOLDS; i++)
        hf_lock_free(locks[i]);
    hf_close(client);
}

/* ---- stores ------------------------------------------------------------ */

static void measure(const char *address) {
    hf_options patient = HF_OPTIONS_INIT;
    hf_client *client;
    hf_lock **locks;
    hf_error err;

    patient.timeout_ms = 60000;
    must(hf_open(&client, address, &patient, &err), address, &err);
    printf("%s: %d names, of which %d are held (medians of %d)\n",
           hf_store(client), names, held, REPEATS);
    fflush(stdout);
    prepare(client);
    locks = hold(client);
    list(client);
    let_go(locks);
    hf_close(client);
    if (redis)
        presence(address);
    fflush(stdout);
}

static void measure_redis(int port, const char *address) {
    redis = redisConnect("127.0.0.1", port);
    if (!redis || redis->err)
        die(address, "cannot be reached");
    measure(address);
    redisFree(redis);
    redis = NULL;
}

static int drop(const char *path, const struct stat *st, int type,
                struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void measure_own(void) {
    char dir[] = "/tmp/holdfast-bench-XXXXXX", address[64];
    const bench_server *server;

    if (!strstr(hf_stores(), "redis") ||
        system("command -v redis-server >/dev/null") != 0) {
        printf("redis: not measured, because redis-server or the redis store "
               "is missing\n");
    } else {
        server = server_start();
        snprintf(address, sizeof address, "redis://127.0.0.1:%d", server->port);
        measure_redis(server->port, address);
        server_stop(server);
    }
    if (!mkdtemp(dir))
        die(dir, "cannot be made");
    snprintf(address, sizeof address, "sqlite:%s/h.db", dir);
    measure(address);
    nftw(dir, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static int number_of(const char *text) {
    char *end;
    long n = text ? strtol(text, &end, 10) : -1;

    if (n < 0 || n > 100000000 || *end)
        die("usage",
            "list_bench [--names N] [--held H] [ADDRESS…]: a number is missing");
    return (int)n;
}

int main(int argc, char **argv) {
    int i = 1, port;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i += 2)
        if (strcmp(argv[i], "--names") == 0)
            names = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--held") == 0)
            held = number_of(argv[i + 1]);
        else
            die(argv[i], "is not known; there are --names N and --held H");
    if (i == argc)
        measure_own();
    for (; i < argc; i++)
        if (sscanf(argv[i], "redis://127.0.0.1:%d", &port) == 1)
            measure_redis(port, argv[i]);
        else
            measure(argv[i]);
    return 0;
}
