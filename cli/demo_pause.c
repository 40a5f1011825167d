/* SPDX-License-Identifier: MIT
 *
 * demo_pause.c - the pause: a holder is stopped past its lease, another takes
 * over, the first wakes and writes.
 *
 * No lock with a lease can prevent that: between the last check and the write
 * there is always a moment, and the machine may choose it to stop.  What
 * prevents it is a resource that refuses an older token than it has seen. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo.h"
#include "demo_resource.h"

enum { LEASE_MS = 300, WAIT_MS = 5000 };

static const char c_lines[] =
    "hf_lock_acquire(lock, 5000, &err);\n"
    "uint64_t token = hf_lock_token(lock);       /* grows with every grant */\n"
    "\n"
    "/* in the resource, atomically: */\n"
    "if (token < newest_token_seen) refuse();\n"
    "newest_token_seen = token;\n";

static const char shell_lines[] =
    "holdfast run ledger -- holdfast guard file -- ./write file\n";

typedef struct pause_demo {
    const demo *demo;
    char plain[300], fenced[300];
    int wake[2]; /* to the first holder: go on       */
    int tell[2]; /* from the holders: their tokens   */
} pause_demo;

/* What a holder found; written to the pipe in one piece. */
typedef struct report {
    uint64_t token;
    bool held;   /* as hf_lock_is_held says                */
    bool fenced; /* the resource that looks took the write */
    int release;
} report;

/* ---- the two holders --------------------------------------------------- */

static hf_lock *take(const pause_demo *p, hf_client **client, report *r) {
    hf_error err;
    hf_lock *lock = demo_lock(p->demo, "ledger", LEASE_MS, client);
    if (hf_lock_acquire(lock, WAIT_MS, &err) != HF_OK) {
        demo_say(RED, "  %s", err.text);
        _exit(1);
    }
    r->token = hf_lock_token(lock);
    return lock;
}

static void send_report(const pause_demo *p, const report *r) {
    if (write(p->tell[1], r, sizeof(*r)) != (ssize_t)sizeof(*r))
        _exit(1);
}

static void write_both(const pause_demo *p, report *r, const char *text) {
    resource_write(p->plain, text);
    r->fenced = resource_write_fenced(p->fenced, r->token, text);
}

static int first_holder(void *arg) {
    const pause_demo *p = arg;
    report r = {0};
    hf_client *client;
    hf_error err;
    hf_lock *lock = take(p, &client, &r);
    char byte;
    r.held = hf_lock_is_held(lock);
    send_report(p, &r);
    /* Stopped here, between the check and the write. */
    if (read(p->wake[0], &byte, 1) != 1)
        _exit(1);
    write_both(p, &r, "first");
    r.held = hf_lock_is_held(lock);
    r.release = hf_lock_release(lock, &err);
    send_report(p, &r);
    hf_lock_free(lock);
    hf_close(client);
    return 0;
}

static int second_holder(void *arg) {
    const pause_demo *p = arg;
    report r = {0};
    hf_client *client;
    hf_error err;
    hf_lock *lock = take(p, &client, &r);
    write_both(p, &r, "second");
    r.held = hf_lock_is_held(lock);
    r.release = hf_lock_release(lock, &err);
    send_report(p, &r);
    hf_lock_free(lock);
    hf_close(client);
    return 0;
}

/* ---- the play ---------------------------------------------------------- */

/* With a limit, since a holder that failed says nothing. */
static bool hear(const pause_demo *p, report *r) {
    struct pollfd fd = {.fd = p->tell[0], .events = POLLIN};
    return poll(&fd, 1, WAIT_MS) == 1 &&
           read(p->tell[0], r, sizeof(*r)) == (ssize_t)sizeof(*r);
}

static bool stop(pid_t pid) {
    int status;
    return kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid &&
           WIFSTOPPED(status);
}

static bool act_one(pause_demo *p, pid_t *first, report *r) {
    *first = demo_fork(first_holder, p);
    if (*first < 0 || !hear(p, r) || !r->held || !stop(*first))
        return false;
    demo_say(PLAIN, "  first   takes the lock, token %" PRIu64, r->token);
    demo_say(YELLOW,
             "  first   is stopped (SIGSTOP), its lease of %d ms runs "
             "out",
             LEASE_MS);
    return true;
}

static bool act_two(pause_demo *p, report *r) {
    pid_t second = demo_fork(second_holder, p);
    if (second < 0 || !hear(p, r) || demo_wait(second) != 0)
        return false;
    demo_say(PLAIN,
             "  second  takes the lock, token %" PRIu64 ", writes, "
             "releases",
             r->token);
    return r->fenced && r->release == HF_OK;
}

static bool act_three(pause_demo *p, pid_t first, report *r) {
    if (kill(first, SIGCONT) != 0 || write(p->wake[1], "", 1) != 1 ||
        !hear(p, r) || demo_wait(first) != 0)
        return false;
    demo_say(YELLOW, "  first   wakes (SIGCONT) and writes with token %" PRIu64,
             r->token);
    demo_say(PLAIN,
             "  first   asks the library afterwards: held? %s; release: %s\n",
             r->held ? "yes" : "no", hf_strerror(r->release));
    return true;
}

static bool judge(const pause_demo *p, const report *first,
                  const report *second) {
    char plain[64], fenced[64], expected[64];
    resource_read(p->plain, plain, sizeof(plain));
    resource_read(p->fenced, fenced, sizeof(fenced));
    snprintf(expected, sizeof(expected), "%" PRIu64 " second", second->token);
    bool stale = strcmp(plain, "first") == 0;
    bool refused = !first->fenced && strcmp(fenced, expected) == 0;
    demo_say(stale ? RED : PLAIN, "  a file that does not look: \"%s\"%s",
             plain, stale ? "   the stale write won" : "");
    demo_say(refused ? GREEN : RED, "  a file that checks tokens: \"%s\"%s\n",
             fenced, refused ? "   the stale write was refused" : "");
    return stale && refused && second->token > first->token && !first->held &&
           first->release == HF_ELOST;
}

int demo_pause(const demo *d) {
    pause_demo p = {.demo = d};
    report first = {0}, second = {0};
    pid_t pid = -1;
    bool ok;
    demo_path(d, "plain", p.plain, sizeof(p.plain));
    demo_path(d, "fenced", p.fenced, sizeof(p.fenced));
    if (pipe2(p.wake, O_CLOEXEC) != 0 || pipe2(p.tell, O_CLOEXEC) != 0)
        return 1;
    demo_title("The pause");
    demo_code(c_lines);
    ok = act_one(&p, &pid, &first) && act_two(&p, &second) &&
         act_three(&p, pid, &first) && judge(&p, &first, &second);
    demo_say(PLAIN, "In a shell guard finds the token in the environment:");
    demo_code(shell_lines);
    return ok ? 0 : 1;
}
