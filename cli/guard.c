/* SPDX-License-Identifier: MIT
 *
 * guard.c - stops the command when its wrapper was killed.
 *
 * SIGKILL gives the wrapper no last word, and a command that runs on without
 * it runs beside the next holder of the lock.  The guard is a copy of the
 * wrapper that sleeps on a pipe.  A byte means that the command is gone; the
 * end of the pipe without one means that the wrapper is.
 *
 * Once the wrapper is gone nobody renews the lock; so the command gets a
 * second to end, not more.
 *
 * It may have something else to watch (job_watch): then it stops the command
 * when that is over, also while the wrapper is stopped itself.
 *
 * The guard gives up the standard descriptors, because a reader of the
 * command's output must see the end of it.  It keeps the others: on a store
 * where an open descriptor is the holder's sign of life, the next holder comes
 * in when the command is gone and not before. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "job.h"
#include "moment.h"

enum {
    LOOK_MS = 10,
    LONGEST_GRACE_MS = 1000,
    REST_MS = 1000,
    WATCH_MS = 1000 /* at the latest we look by ourselves */
};

static char *title;
static size_t title_room;

void guard_title(char **argv) {
    size_t n = 0;
    while (argv[n + 1])
        n++;
    title = argv[0];
    title_room = (size_t)(argv[n] + strlen(argv[n]) - argv[0]);
}

static void take_name(void) {
    static const char name[] = "holdfast-guard";
    prctl(PR_SET_NAME, name);
    if (title_room < sizeof(name))
        return;
    memset(title, 0, title_room);
    memcpy(title, name, sizeof(name));
}

/* Whatever is sent to the wrapper's group or session, the guard stays. */
static void ignore_signals(void) {
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD)
            sigaction(sig, &ignore, NULL);
    setsid();
}

/* The bytes read, 0 at the end. */
static size_t take(int fd, void *to, size_t size) {
    ssize_t n;
    do
        n = read(fd, to, size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? 0 : (size_t)n;
}

static bool is_there(const job *j) {
    return kill(j->own_group ? -j->pid : j->pid, 0) == 0;
}

/* Not our child, so we cannot wait for it; we look. */
static void await_end(const job *j, int ms) {
    int64_t by = moment_now() + ms;
    while (is_there(j) && moment_now() < by)
        poll(NULL, 0, LOOK_MS);
}

/* Even the dead may linger in the table if nobody reaps them, hence an end to
 * the second wait too. */
static void stop(const job *j, int grace_ms) {
    job_signal(j, SIGTERM);
    job_signal(j, SIGCONT);
    await_end(j, grace_ms);
    job_signal(j, SIGKILL);
    await_end(j, REST_MS);
}

/* How long it may take to end.  Sent SIGTERM by nobody but us, it can be told
 * to be slow; without its wrapper it cannot. */
static int grace(const job *of, bool over) {
    return over || of->grace_ms < LONGEST_GRACE_MS ? of->grace_ms :
                                                     LONGEST_GRACE_MS;
}

static bool is_over(const job_watch *w) {
    char news[512];
    if (!w)
        return false;
    while (w->fd >= 0 && read(w->fd, news, sizeof(news)) > 0)
        ;
    return w->over(w->arg);
}

/* Until the pipe says something, or the watch is over: true. */
static bool sleep_until_over(const job_watch *w, int in) {
    struct pollfd fds[] = {{.fd = in, .events = POLLIN},
                           {.fd = w ? w->fd : -1, .events = POLLIN}};
    while (fds[0].revents == 0) {
        if (is_over(w))
            return true;
        poll(fds, 2, w ? WATCH_MS : -1);
    }
    return false;
}

_Noreturn void guard_watch(const job *of, int in) {
    job j = {.own_group = of->own_group};
    bool over = false;
    char done;
    take_name();
    ignore_signals();
    close_range(STDIN_FILENO, STDERR_FILENO, 0);
    if (take(in, &j.pid, sizeof(j.pid)) == sizeof(j.pid)) {
        over = sleep_until_over(of->watch, in);
        if (over || take(in, &done, 1) == 0)
            stop(&j, grace(of, over));
    }
    _exit(over);
}
