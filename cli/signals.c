/* SPDX-License-Identifier: MIT
 *
 * signals.c - signals as messages. */
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int taken[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                            SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH};

static bool is_ignored(int sig) {
    struct sigaction action;
    return sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool signals_take(signals *s) {
    sigset_t read, blocked;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigemptyset(&read);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        if (!is_ignored(taken[i]))
            sigaddset(&read, taken[i]);
    sigaddset(&read, SIGCHLD);
    blocked = read;
    /* A reader that goes away is an error of the write, not our death. */
    sigaddset(&blocked, SIGPIPE);
    if (sigprocmask(SIG_BLOCK, &blocked, &s->before) != 0)
        return false;
    /* Were SIGCHLD ignored, the command's status would be thrown away. */
    sigaction(SIGCHLD, &standard, &s->chld);
    s->fd = signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->fd >= 0;
}

int signals_next(const signals *s, bool *terminal) {
    struct signalfd_siginfo info;
    if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return 0;
    *terminal = info.ssi_code == SI_KERNEL;
    return (int)info.ssi_signo;
}

void signals_restore(const signals *s) {
    sigaction(SIGCHLD, &s->chld, NULL);
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

bool signals_ends(int sig) {
    return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

int signals_number(const char *text) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*text && *end == '\0')
        return n > 0 && n < NSIG ? (int)n : 0;
    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    for (int sig = 1; sig < NSIG; sig++) {
        const char *name = sigabbrev_np(sig);
        if (name && strcasecmp(name, text) == 0)
            return sig;
    }
    return 0;
}

const char *signals_name(int sig, char buf[static 16]) {
    const char *name = sigabbrev_np(sig);
    if (name)
        return name;
    snprintf(buf, 16, "%d", sig);
    return buf;
}
