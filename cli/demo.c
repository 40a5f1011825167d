/* SPDX-License-Identifier: MIT
 *
 * demo.c - `holdfast demo`: shows why, on this machine, in seconds, with
 * nothing installed (but for the evolution, which runs when it is named).
 *
 * The demonstrations run in a process of their own, on a store in a folder of
 * their own; this one waits and cleans up, also when it is interrupted.  They
 * check what they show, and the exit status says whether it came true. */
#include "demo.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "demo_server.h"
#include "options.h"
#include "signals.h"
#include "status.h"

static const char *const names[] = {"flash-sale", "pause", "evolution", NULL};
static int (*const demos[])(const demo *d) = {demo_flash_sale, demo_pause,
                                              demo_evolution};
enum { DEMOS = sizeof(demos) / sizeof(demos[0]), EVOLUTION = 2, ALL = -1 };

/* ---- speaking ---------------------------------------------------------- */

void demo_title(const char *text) {
    printf("\n%s%s%s\n\n", text_paint(stdout, BOLD), text,
           text_paint(stdout, PLAIN));
}

void demo_code(const char *lines) {
    printf("%s", text_paint(stdout, DIM));
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        printf("    %.*s\n", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
    printf("%s\n", text_paint(stdout, PLAIN));
}

void demo_say(text_colour colour, const char *format, ...) {
    va_list args;
    fputs(text_paint(stdout, colour), stdout);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("%s\n", text_paint(stdout, PLAIN));
    fflush(stdout);
}

/* ---- processes --------------------------------------------------------- */

void demo_path(const demo *d, const char *name, char *buf, size_t size) {
    snprintf(buf, size, "%s/%s", d->folder, name);
}

pid_t demo_fork(int (*fn)(void *arg), void *arg) {
    pid_t pid, parent = getpid();
    fflush(NULL);
    pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int status = fn(arg);
    fflush(NULL);
    _exit(status);
}

int demo_wait(pid_t pid) {
    int status;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

hf_lock *demo_lock(const demo *d, const char *name, int lease_ms,
                   hf_client **client) {
    hf_options options = HF_OPTIONS_INIT;
    hf_error err;
    hf_lock *lock = NULL;
    options.lease_ms = lease_ms;
    if (hf_open(client, d->store, &options, &err) != HF_OK ||
        hf_lock_new(&lock, *client, name, NULL, &err) != HF_OK) {
        status_fail(&err);
        _exit(1);
    }
    return lock;
}

/* ---- the folder -------------------------------------------------------- */

static bool make_folder(demo *d) {
    const char *base = getenv("TMPDIR");
    snprintf(d->folder, sizeof(d->folder), "%s/holdfast-demo-XXXXXX",
             base && *base == '/' && strlen(base) < 200 ? base : "/tmp");
    if (!mkdtemp(d->folder)) {
        complain("cannot make the folder %s: %s", d->folder, strerror(errno));
        return false;
    }
    snprintf(d->store, sizeof(d->store), "sqlite:%s/locks.db", d->folder);
    return true;
}

static int remove_entry(const char *path, const struct stat *stat, int type,
                        struct FTW *at) {
    (void)stat;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_folder(const demo *d) {
    if (nftw(d->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0)
        complain("could not remove all of %s", d->folder);
}

/* ---- the command ------------------------------------------------------- */

typedef struct show {
    const demo *demo;
    int which; /* or ALL */
    const signals *signals;
} show;

static int run_shows(void *arg) {
    const show *s = arg;
    int failed = 0;
    signals_restore(s->signals);
    for (int i = 0; i < DEMOS; i++)
        if (s->which == i || (s->which == ALL && i != EVOLUTION))
            failed |= demos[i](s->demo);
    if (failed)
        demo_say(RED, "What was to be shown did not come true.");
    return failed;
}

/* Signals go on to the demonstration; we stay until it is gone. */
static int await(pid_t pid, const signals *s) {
    struct pollfd fd = {.fd = s->fd, .events = POLLIN};
    bool terminal;
    int sig, status;
    for (;;) {
        poll(&fd, 1, -1);
        while ((sig = signals_next(s, &terminal)) != 0)
            if (sig != SIGCHLD && sig != SIGTSTP && !terminal)
                kill(pid, sig);
        if (waitpid(pid, &status, WNOHANG) == pid)
            break;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) :
                               EXIT_SIGNAL + WTERMSIG(status);
}

static int run_demo(const command *cmd, int argc, char **argv) {
    demo d;
    signals s;
    show wanted = {.demo = &d, .which = ALL, .signals = &s};
    char *name = NULL;
    pid_t pid;
    int status;
    if (options_read(cmd, NULL, &name, argc, argv) < argc)
        options_refuse(cmd, "one demonstration at a time");
    if (name)
        wanted.which = options_word(cmd, name);
    if (wanted.which == EVOLUTION && (status = demo_server_needs()) != 0)
        return status;
    status = EXIT_SOFTWARE;
    if (!signals_take(&s) || !make_folder(&d))
        return EXIT_SOFTWARE;
    pid = demo_fork(run_shows, &wanted);
    if (pid > 0)
        status = await(pid, &s);
    remove_folder(&d);
    return status;
}

const command demo_command = {
    .name = "demo",
    .words = names,
    .operands = "[flash-sale|pause|evolution]",
    .summary = "Show what a lock prevents, in a few seconds.",
    .about =
        "flash-sale   eight buyers, a hundred items: without the lock more\n"
        "             are sold than there are, with it exactly a hundred\n"
        "pause        a holder is stopped past its lease, another takes over,\n"
        "             the first wakes: what a fencing token is for\n"
        "evolution    six designs of a lock on Redis, each run until it\n"
        "             breaks, and what cured it; needs redis-server and\n"
        "             redis-cli, and exits with 69 where they are missing\n"
        "\n"
        "The first two run without a word; all of them in a temporary folder\n"
        "that is removed at the end.  Exit 0: what was to be shown came true.",
    .max_operands = 1,
    .run = run_demo,
};
