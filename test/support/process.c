/* SPDX-License-Identifier: MIT
 *
 * process.c - fork, bind the child's life to ours, exec. */
#include "process.h"

#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
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

/* /proc/PID/stat: `pid (program) state …`. */
static bool is_stopped(pid_t pid) {
    char path[64], line[128] = "", *end;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f == NULL)
        return true;
    if (fgets(line, sizeof line, f) == NULL)
        line[0] = '\0';
    fclose(f);
    end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'T';
}

void hf_test_pause(pid_t pid) {
    assert_true(pid > 0);
    hf_test_signal(pid, SIGSTOP);
    hf_test_eventually(is_stopped(pid), HF_TEST_LONG);
}

void hf_test_resume(pid_t pid) {
    hf_test_signal(pid, SIGCONT);
}
