/* SPDX-License-Identifier: MIT
 *
 * process.c - fork, bind the child's life to ours, exec. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(int fd, int at) {
    if (fd >= 0 && fd != at)
        dup2(fd, at);
}

pid_t hf_test_spawn(char *const argv[], int in, int out, int log) {
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the signal was asked for */
        _exit(127);
    put(in, 0);
    put(out, 1);
    put(log, 2);
    execvp(argv[0], argv);
    _exit(127);
}

int hf_test_run(char *const argv[]) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), status = -1;
    pid_t pid = hf_test_spawn(argv, null, null, null);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(null);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void hf_test_signal(pid_t pid, int sig) {
    if (pid > 0)
        kill(pid, sig);
}

void hf_test_kill(pid_t pid) {
    if (pid <= 0)
        return;
    hf_test_signal(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
