/* SPDX-License-Identifier: MIT
 *
 * demo_majority.c - the last two designs of `holdfast demo evolution`: a
 * majority of independent servers, and the fencing token.
 *
 * One play for both: what the holder who was stopped writes in the end is taken
 * by a file that does not look, and refused by one that checks tokens. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo_evolution.h"
#include "demo_resource.h"

enum { LEASE_MS = 2000, WAIT_MS = 20000, LOST = 2 };

/* A client in a process of its own. */
typedef struct actor {
    pid_t pid;
    const char *name;
    int go[2], tell[2];
} actor;

typedef struct majority {
    demo five; /* with the store of the five masters */
    char plain[300], fenced[300];
    actor a, b;
} majority;

/* What an actor found; written to its pipe in one piece. */
typedef struct report {
    int result; /* of what it did              */
    uint64_t token;
    bool held;
    bool taken; /* by the file that looks      */
} report;

/* ---- on the side of the actors ----------------------------------------- */

static void send_report(const actor *who, const report *r) {
    if (write(who->tell[1], r, sizeof(*r)) != (ssize_t)sizeof(*r))
        _exit(1);
}

static void await_go(const actor *who) {
    char byte;
    if (read(who->go[0], &byte, 1) != 1)
        _exit(1);
}

static void acquire(hf_lock *lock, int wait_ms, report *r) {
    hf_error err = {0};
    r->result = hf_lock_acquire(lock, wait_ms, &err);
    r->token = hf_lock_token(lock);
    r->held = hf_lock_is_held(lock);
    if (r->result < 0 && r->result != HF_EMINORITY)
        demo_say(YELLOW, "   %s", err.text);
}

static void write_both(const majority *m, const actor *who, report *r) {
    resource_write(m->plain, who->name);
    r->taken = resource_write_fenced(m->fenced, r->token, who->name);
}

/* Takes the lock; later says whether it still has it; later writes. */
static int act_a(void *arg) {
    const majority *m = arg;
    hf_client *client;
    hf_lock *lock = demo_lock(&m->five, "lock", LEASE_MS, &client);
    report r = {0};
    acquire(lock, WAIT_MS, &r);
    send_report(&m->a, &r);
    await_go(&m->a);
    r.held = hf_lock_is_held(lock);
    send_report(&m->a, &r);
    await_go(&m->a); /* stopped here: the look is over, the write is not */
    write_both(m, &m->a, &r);
    r.held = hf_lock_is_held(lock);
    r.result = hf_lock_release(lock, NULL);
    send_report(&m->a, &r);
    hf_lock_free(lock);
    hf_close(client);
    return 0;
}

/* Tries once; later waits, writes and releases. */
static int act_b(void *arg) {
    const majority *m = arg;
    hf_client *client;
    hf_lock *lock = demo_lock(&m->five, "lock", LEASE_MS, &client);
    report r = {0};
    acquire(lock, 0, &r);
    send_report(&m->b, &r);
    await_go(&m->b);
    acquire(lock, WAIT_MS, &r);
    if (r.result == HF_OK)
        write_both(m, &m->b, &r);
    r.result |= hf_lock_release(lock, NULL);
    send_report(&m->b, &r);
    hf_lock_free(lock);
    hf_close(client);
    return 0;
}

/* ---- on the side of the play -------------------------------------------- */

static bool enter(actor *who, int (*act)(void *), majority *m) {
    if (pipe2(who->go, O_CLOEXEC) != 0 || pipe2(who->tell, O_CLOEXEC) != 0)
        return false;
    who->pid = demo_fork(act, m);
    close(who->go[0]);
    close(who->tell[1]);
    return who->pid > 0;
}

/* False: it has failed, and is gone or hangs. */
static bool hear(const actor *who, report *r) {
    struct pollfd fd = {.fd = who->tell[0], .events = POLLIN};
    return poll(&fd, 1, WAIT_MS + LEASE_MS) == 1 &&
           read(who->tell[0], r, sizeof(*r)) == (ssize_t)sizeof(*r);
}

static bool go(const actor *who) {
    return write(who->go[1], "", 1) == 1;
}

static bool stop(const actor *who) {
    int status;
    return kill(who->pid, SIGSTOP) == 0 &&
           waitpid(who->pid, &status, WUNTRACED) == who->pid &&
           WIFSTOPPED(status);
}

static void leave(actor *who) {
    if (who->pid > 0) {
        kill(who->pid, SIGKILL);
        waitpid(who->pid, NULL, 0);
    }
    who->pid = 0;
}

/* With time enough for a server on a busy machine. */
static void write_store(const evolution *e, demo *d) {
    size_t n = (size_t)snprintf(d->store, sizeof(d->store), "redlock://");
    for (int i = 0; i < MASTERS; i++)
        n += (size_t)snprintf(d->store + n, sizeof(d->store) - n,
                              "%s127.0.0.1:%d", i ? "," : "",
                              e->masters[i].port);
    snprintf(d->store + n, sizeof(d->store) - n, "?node_timeout=500ms");
}

/* ---- 5: a majority ------------------------------------------------------ */

static bool lose_servers(evolution *e) {
    bool ok = true;
    for (int i = 0; i < LOST; i++) {
        demo_server_kill(&e->masters[i]);
        ok = demo_server_restart(&e->masters[i]) && ok;
    }
    return ok;
}

static bool survive(evolution *e, majority *m) {
    report a = {0}, b = {0};
    bool ok = enter(&m->a, act_a, m) && hear(&m->a, &a) && a.result == HF_OK &&
              lose_servers(e) && enter(&m->b, act_b, m) && hear(&m->b, &b) &&
              go(&m->a) && hear(&m->a, &a);
    return evolution_holds(
        ok && a.held && (b.result == HF_BUSY || b.result == HF_EMINORITY),
        "%d of the %d servers died and came back empty: B was refused,\n"
        "A still held it",
        LOST, MASTERS);
}

static bool two_writers(majority *m, report *a, report *b) {
    char plain[64];
    bool ok = stop(&m->a) && go(&m->b) && hear(&m->b, b) &&
              b->result == HF_OK && kill(m->a.pid, SIGCONT) == 0 && go(&m->a) &&
              hear(&m->a, a) && demo_wait(m->a.pid) == 0;
    if (ok)
        m->a.pid = 0;
    resource_read(m->plain, plain, sizeof(plain));
    return evolution_breaks(
        ok && strcmp(plain, "A") == 0,
        "A was stopped past its lease of %d ms: B got the lock and wrote,\n"
        "A woke and wrote over it; the file says \"%s\"",
        LEASE_MS, plain);
}

/* ---- 6: the token -------------------------------------------------------- */

static bool refuse(const majority *m, const report *a, const report *b) {
    char fenced[64], expected[64];
    evolution_design(6, "The token",
                     "in the file: refuse a token below the newest one seen");
    resource_read(m->fenced, fenced, sizeof(fenced));
    snprintf(expected, sizeof(expected), "%" PRIu64 " B", b->token);
    return evolution_holds(
        !a->taken && b->taken && a->token < b->token &&
            strcmp(fenced, expected) == 0,
        "the same late write had token %" PRIu64 ", B's had\n"
        "%" PRIu64 ": it was refused, and the file says \"B\"",
        a->token, b->token);
}

bool evolution_majority(evolution *e) {
    majority m = {.five = *e->demo, .a.name = "A", .b.name = "B"};
    report a = {0}, b = {0};
    bool ok;
    write_store(e, &m.five);
    demo_path(e->demo, "plain", m.plain, sizeof(m.plain));
    demo_path(e->demo, "fenced", m.fenced, sizeof(m.fenced));
    evolution_design(5, "Redlock: the votes of a majority",
                     "hf_open(&client, \"redlock://one,two,three,four,five\")");
    ok = survive(e, &m) && two_writers(&m, &a, &b) && refuse(&m, &a, &b);
    leave(&m.a);
    leave(&m.b);
    return ok;
}
