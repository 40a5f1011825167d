/* SPDX-License-Identifier: MIT
 *
 * demo_evolution.c - the designs of a lock on Redis as the field went through
 * them, each run for real until it breaks, and the next one that cures that.
 *
 * A, B and C are clients; what they send goes through redis-cli.  Nothing here
 * hopes for a race: whoever dies, is slow or is cut off is made so. */
#include "demo_evolution.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "moment.h"
#include "status.h"

#define LEASE "300"   /* ms, of one who will be too slow                   */
#define LONG  "30000" /* of one who is in time                             */

enum { ASKS = 8, ASK_PAUSE_MS = 100, LOOK_MS = 10, WAIT_MS = 10000, RACES = 5 };

/* Deletes the lock if its value is still ours, in one step. */
static const char compare_and_delete[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('del', KEYS[1]) end return 0";

/* ---- speaking ---------------------------------------------------------- */

void evolution_design(int number, const char *title, const char *commands) {
    printf("\n%s%d  %s%s\n%s   %s%s\n", text_paint(stdout, BOLD), number, title,
           text_paint(stdout, PLAIN), text_paint(stdout, DIM), commands,
           text_paint(stdout, PLAIN));
    fflush(stdout);
}

static void tell(bool came_true, text_colour colour, const char *word,
                 const char *format, va_list args) {
    char text[320], *more;
    vsnprintf(text, sizeof(text), format, args);
    if ((more = strchr(text, '\n')) != NULL)
        *more++ = '\0';
    if (came_true)
        demo_say(colour, "   %-6s  %s", word, text);
    else
        demo_say(YELLOW, "   not shown: %s", text);
    if (more)
        demo_say(came_true ? colour : YELLOW, "           %s", more);
}

bool evolution_holds(bool came_true, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(came_true, GREEN, "holds", format, args);
    va_end(args);
    return came_true;
}

bool evolution_breaks(bool came_true, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(came_true, RED, "breaks", format, args);
    va_end(args);
    return came_true;
}

/* ---- what clients do --------------------------------------------------- */

static bool take(const demo_server *s, const char *value, const char *lease) {
    reply r;
    demo_server_ask(s, r, "SET", "lock", value, "NX", "PX", lease, NULL);
    return strcmp(r, "OK") == 0;
}

/* Waits for its turn; false: it never came. */
static bool take_later(const demo_server *s, const char *value) {
    int64_t by = moment_now() + WAIT_MS;
    while (!take(s, value, LONG)) {
        if (moment_now() > by)
            return false;
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

static bool give_back(const demo_server *s, const char *value) {
    reply r;
    demo_server_ask(s, r, "EVAL", compare_and_delete, "1", "lock", value, NULL);
    return strcmp(r, "1") == 0;
}

static bool clear(const demo_server *s) {
    reply r;
    demo_server_ask(s, r, "DEL", "lock", NULL);
    return strcmp(r, "1") == 0;
}

static bool lock_is(const demo_server *s, const char *value) {
    reply r;
    demo_server_ask(s, r, "GET", "lock", NULL);
    return strcmp(r, value) == 0;
}

/* ---- 1: two commands ---------------------------------------------------- */

static int set_and_die(void *arg) {
    reply r;
    demo_server_ask(arg, r, "SETNX", "lock", "locked", NULL);
    if (strcmp(r, "1") == 0)
        raise(SIGKILL);
    return 1;
}

static int take_and_die(void *arg) {
    if (take(arg, "locked", LEASE))
        raise(SIGKILL);
    return 1;
}

/* A process of its own, so that it really dies. */
static bool dies(int (*fn)(void *), demo_server *s) {
    pid_t pid = demo_fork(fn, s);
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

static bool two_commands(evolution *e) {
    int64_t began = moment_now();
    int in_vain = 0;
    reply r, ttl;
    bool died;
    evolution_design(1, "Two commands", "SETNX lock locked; EXPIRE lock 10");
    died = dies(set_and_die, &e->one);
    for (int i = 0; i < ASKS; i++) {
        demo_server_ask(&e->one, r, "SETNX", "lock", "locked", NULL);
        in_vain += strcmp(r, "0") == 0;
        poll(NULL, 0, ASK_PAUSE_MS);
    }
    demo_server_ask(&e->one, ttl, "TTL", "lock", NULL);
    return evolution_breaks(died && in_vain == ASKS && strcmp(ttl, "-1") == 0,
                            "A died between the two: TTL %s, locked for ever.\n"
                            "B asked %d times within %lld ms, in vain",
                            ttl, in_vain, (long long)(moment_now() - began));
}

/* ---- 2: one command, any value ------------------------------------------ */

static bool one_command(evolution *e) {
    const demo_server *s = &e->one;
    int64_t began;
    bool cured, broken;
    evolution_design(2, "One command, the same value for all",
                     "SET lock locked NX PX " LEASE "; DEL lock");
    clear(s);
    cured = dies(take_and_die, &e->one);
    began = moment_now();
    cured = cured && take_later(s, "locked");
    cured = evolution_holds(
        cured,
        "A died with the lock; it ended by itself, and B got it (%lld ms)",
        (long long)(moment_now() - began));
    clear(s);
    broken = take(s, "locked", LEASE) && take_later(s, "locked") && clear(s) &&
             take(s, "locked", LONG);
    return evolution_breaks(broken, "A was slow: B had the lock by then, A's "
                                    "DEL removed it,\n"
                                    "and C got in beside B") &&
           cured;
}

/* ---- 3: the time as the value ------------------------------------------- */

typedef char stamp[24];

static void stamp_now(stamp t) {
    snprintf(t, sizeof(stamp), "%lld", (long long)time(NULL));
}

/* When the second is another one. */
static void stamp_next(stamp t) {
    int64_t by = moment_now() + WAIT_MS;
    stamp old;
    stamp_now(old);
    do {
        poll(NULL, 0, LOOK_MS);
        stamp_now(t);
    } while (strcmp(t, old) == 0 && moment_now() < by);
}

/* A's lock ends, and B gets the next one within the same second. */
static bool in_one_second(const demo_server *s, stamp a) {
    stamp b;
    for (int i = 0; i < RACES; i++) {
        clear(s);
        stamp_next(a);
        if (!take(s, a, LEASE))
            return false;
        for (int64_t by = moment_now() + WAIT_MS; moment_now() < by;) {
            stamp_now(b);
            if (take(s, b, LONG))
                break;
            poll(NULL, 0, LOOK_MS);
        }
        if (strcmp(a, b) == 0)
            return lock_is(s, b);
    }
    return false;
}

static bool time_stamp(evolution *e) {
    const demo_server *s = &e->one;
    stamp a, b;
    bool cured, broken;
    evolution_design(3, "The time as the value",
                     "SET lock <seconds> NX PX " LEASE
                     "; EVAL if GET = <seconds> then DEL");
    clear(s);
    stamp_now(a);
    cured = take(s, a, LEASE);
    stamp_next(b);
    cured = cured && take_later(s, b) && !give_back(s, a) && lock_is(s, b);
    cured = evolution_holds(cured, "A was slow: it found B's stamp instead of "
                                   "its own, and left it");
    broken = in_one_second(s, a) && give_back(s, a) && take(s, "C", LONG);
    return evolution_breaks(broken,
                            "A and B both locked at %s: A deleted B's "
                            "lock,\n"
                            "and C got in beside B",
                            a) &&
           cured;
}

/* ---- 4: a random value -------------------------------------------------- */

typedef char nonce[33];

static void draw(nonce n) {
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        abort();
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(n + 2 * i, 3, "%02x", bytes[i]);
}

static bool replica_says(const evolution *e, const char *line) {
    reply r;
    demo_server_ask(&e->copy, r, "EVAL",
                    "return string.find(redis.call('info', 'replication'), "
                    "ARGV[1], 1, true) and 1 or 0",
                    "0", line, NULL);
    return strcmp(r, "1") == 0;
}

static bool await_replica(const evolution *e, const char *line) {
    int64_t by = moment_now() + WAIT_MS;
    while (!replica_says(e, line)) {
        if (moment_now() > by)
            return false;
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

/* The replica does not hear of A's lock: it is stopped, so that it cannot come
 * back, while its connection is cut, so that nothing is under way to it. */
static bool lose_a_lock(evolution *e, const char *a) {
    demo_server *s = &e->one;
    reply cut;
    bool acknowledged;
    if (!await_replica(e, "master_link_status:up") ||
        kill(e->copy.pid, SIGSTOP) != 0)
        return false;
    demo_server_ask(s, cut, "CLIENT", "KILL", "TYPE", "replica", NULL);
    acknowledged = take(s, a, LONG);
    demo_server_kill(s);
    kill(e->copy.pid, SIGCONT);
    return acknowledged && strcmp(cut, "1") == 0;
}

static bool promote(evolution *e) {
    reply r;
    demo_server_ask(&e->copy, r, "REPLICAOF", "NO", "ONE", NULL);
    return strcmp(r, "OK") == 0 && await_replica(e, "role:master");
}

static bool random_value(evolution *e) {
    const demo_server *s = &e->one;
    nonce a, b;
    bool cured, broken;
    evolution_design(4, "A random value",
                     "SET lock <random> NX PX " LONG
                     "; EVAL if GET = <random> then DEL");
    clear(s);
    draw(a);
    draw(b);
    cured = take(s, a, LEASE) && take_later(s, b) && !give_back(s, a) &&
            lock_is(s, b) && give_back(s, b);
    cured = evolution_holds(cured, "A was slow: no two values are equal, and "
                                   "B kept its lock");
    broken = lose_a_lock(e, a) && promote(e) && take(&e->copy, b, LONG);
    return evolution_breaks(broken,
                            "failover: the master said OK to A and died before "
                            "the replica knew;\n"
                            "promoted, it said OK to B: two holders "
                            "for up to 30 s") &&
           cured;
}

/* ---- the play ----------------------------------------------------------- */

/* All at the beginning: a majority does not trust servers that have just
 * started, because they may have forgotten something. */
static bool start_servers(evolution *e) {
    char name[24];
    if (!demo_server_start(&e->one, e->demo, "one", NULL) ||
        !demo_server_start(&e->copy, e->demo, "copy", &e->one))
        return false;
    for (int i = 0; i < MASTERS; i++) {
        snprintf(name, sizeof(name), "master-%d", i + 1);
        if (!demo_server_start(&e->masters[i], e->demo, name, NULL))
            return false;
    }
    return true;
}

static void stop_servers(evolution *e) {
    demo_server_kill(&e->one);
    demo_server_kill(&e->copy);
    for (int i = 0; i < MASTERS; i++)
        demo_server_kill(&e->masters[i]);
}

int demo_evolution(const demo *d) {
    evolution e = {.demo = d};
    int64_t began = moment_now();
    bool ok = false;
    char span[24];
    unsetenv("REDISCLI_AUTH");
    demo_say(BOLD, "Six designs of a lock on Redis, each run until it breaks");
    if (start_servers(&e)) {
        ok = two_commands(&e);
        ok = one_command(&e) && ok;
        ok = time_stamp(&e) && ok;
        ok = random_value(&e) && ok;
        ok = evolution_majority(&e) && ok;
    }
    stop_servers(&e);
    demo_say(DIM, "\n%s, on %d private servers that are gone now.",
             text_span(moment_now() - began, span), MASTERS + 2);
    return ok ? 0 : 1;
}
