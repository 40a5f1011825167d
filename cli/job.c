/* SPDX-License-Identifier: MIT
 *
 * job.c - the command that runs while the lock is held.
 *
 * The guard is made first, and the command itself tells it its pid before it
 * becomes what the user asked for.  So there is no moment at which we could
 * be killed and leave a command behind that nobody watches.
 *
 * vfork, because the command needs nothing of our memory and copying its
 * tables is most of what starting a process costs; in the new process only
 * calls are made that are safe there. */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kin.h"
#include "status.h"

/* On a terminal in the foreground the command stays in the terminal's group:
 * job control and password prompts need it there. */
static bool in_foreground(void) {
    return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* _Fork runs no handlers of others: the copy makes system calls only. */
static bool start_guard(job *j) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    j->guard_pid = _Fork();
    if (j->guard_pid == 0) {
        close(fds[1]);
        guard_watch(j, fds[0]);
    }
    close(fds[0]);
    j->guard = fds[1];
    if (j->guard_pid < 0)
        close(fds[1]);
    return j->guard_pid > 0;
}

/* In the new process. */
static _Noreturn void become(const job *j, char *const argv[],
                             char *const env[], const signals *s, int failed) {
    pid_t self = getpid();
    int e;
    if (j->own_group)
        setpgid(0, 0);
    if (write(j->guard, &self, sizeof(self)) == (ssize_t)sizeof(self)) {
        signals_restore(s);
        execvpe(argv[0], argv, env);
    }
    e = errno;
    if (write(failed, &e, sizeof(e)) != (ssize_t)sizeof(e))
        _exit(EXIT_SOFTWARE);
    _exit(EXIT_NOT_EXECUTABLE);
}

/* The pipe closes itself when the command is executed. */
static int exec_errno(int fd) {
    int e = 0;
    ssize_t n;
    do
        n = read(fd, &e, sizeof(e));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(e) ? e : 0;
}

static int spawn(job *j, char *const argv[], char *const env[],
                 const signals *s) {
    int fds[2], e;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return errno;
    j->pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (j->pid == 0)
        become(j, argv, env, s, fds[1]);
    e = j->pid < 0 ? errno : 0;
    close(fds[1]);
    if (e == 0)
        e = exec_errno(fds[0]);
    close(fds[0]);
    return e;
}

/* The guards of earlier jobs: we have no other children. */
static void bury(void) {
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int job_start(job *j, char *const argv[], char *const env[], const signals *s) {
    int e;
    bury();
    j->own_group = !in_foreground();
    if (!start_guard(j))
        return EXIT_SOFTWARE;
    e = spawn(j, argv, env, s);
    if (e == 0)
        return 0;
    if (j->pid > 0)
        waitpid(j->pid, NULL, 0);
    job_done(j);
    errno = e;
    if (j->pid < 0)
        return EXIT_SOFTWARE;
    return e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

void job_signal(const job *j, int sig) {
    if (j->own_group)
        kill(-j->pid, sig);
    else
        kin_signal(j->pid, sig);
}

/* A guard that was killed watches no more; one whose watch is over has stopped
 * the command, if perhaps not all of it yet. */
static void heed_guard(job *j) {
    siginfo_t info = {0};
    if (j->watch &&
        waitid(P_PID, (id_t)j->guard_pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
            0 &&
        info.si_pid == j->guard_pid)
        job_signal(j, SIGKILL);
}

bool job_reap(job *j) {
    if (waitpid(j->pid, &j->status, WNOHANG) == j->pid)
        return true;
    heed_guard(j);
    return false;
}

bool job_lingers(const job *j) {
    return j->own_group && kill(-j->pid, 0) == 0;
}

void job_done(const job *j) {
    ssize_t n;
    do
        n = write(j->guard, "", 1);
    while (n < 0 && errno == EINTR);
    close(j->guard);
}

int job_done_watching(const job *j) {
    int status = 0;
    pid_t pid;
    job_done(j);
    do
        pid = waitpid(j->guard_pid, &status, 0);
    while (pid < 0 && errno == EINTR);
    return status;
}
