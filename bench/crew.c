/* SPDX-License-Identifier: MIT
 *
 * crew.c - the workers of one side of a comparison. */
#include "crew.h"

#include "figures.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MS = 60000, LINE = 4096 };

static bool fail(crew *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(crew *c, const char *format, ...) {
    va_list args;

    va_start(args, format);
    vsnprintf(c->trouble, sizeof c->trouble, format, args);
    va_end(args);
    return false;
}

/* ---- one worker -------------------------------------------------------- */

/* In a session of its own, as the server is: all have their own share. */
static void run(char *const argv[], pid_t parent, int in, int out, int err) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setsid();
    dup2(in, 0);
    dup2(out, 1);
    if (err >= 0)
        dup2(err, 2);
    execvp(argv[0], argv);
    _exit(127);
}

static bool start_one(crew *c, int i, char *const argv[], const char *log) {
    int to[2], from[2], err;
    pid_t parent = getpid();

    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        return fail(c, "pipe: %s", strerror(errno));
    /* Begun anew by the first, never removed: it may be /dev/null. */
    err = open(
        log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (i == 0 ? O_TRUNC : 0),
        0666);
    c->worker[i].pid = fork();
    if (c->worker[i].pid == 0)
        run(argv, parent, to[0], from[1], err);
    if (err >= 0)
        close(err);
    close(to[0]);
    close(from[1]);
    c->worker[i].in = fdopen(to[1], "w");
    c->worker[i].out = fdopen(from[0], "r");
    return true;
}

static void tell(crew *c, int i, const char *line) {
    fprintf(c->worker[i].in, "%s\n", line);
    fflush(c->worker[i].in);
}

/* The rest of an answer that begins with `word`; it has its own line, and so
 * nothing is left in the buffer of stdio. */
static bool hear(crew *c, int i, const char *word, char rest[LINE]) {
    struct pollfd p = {.fd = fileno(c->worker[i].out), .events = POLLIN};
    size_t len = strlen(word);
    char line[LINE];

    if (poll(&p, 1, ANSWER_MS) != 1)
        return fail(c, "%s did not answer in %d s", c->name, ANSWER_MS / 1000);
    if (!fgets(line, sizeof line, c->worker[i].out))
        return fail(c, "%s has ended; see its log", c->name);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, word, len) != 0)
        return fail(c, "%s: %.400s", c->name, line);
    snprintf(rest, LINE, "%s", line + len + (line[len] == ' '));
    return true;
}

/* ---- all of them ------------------------------------------------------- */

bool crew_start(crew *c, char *const argv[], const char *uri, const char *log) {
    char line[LINE];

    signal(SIGPIPE, SIG_IGN);
    snprintf(line, sizeof line, "open %s", uri);
    for (int i = 0; i < CREW_PROCESSES; i++) {
        if (!start_one(c, i, argv, log))
            return false;
        tell(c, i, line);
    }
    for (int i = 0; i < CREW_PROCESSES; i++)
        if (!hear(c, i, "OK", line))
            return false;
    snprintf(c->version, sizeof c->version, "%.63s", line);
    return true;
}

/* Those who are ready when another is not have to go and stop. */
static void call_off(crew *c, const bool *ready, int n) {
    char line[LINE];

    for (int i = 0; i < n; i++)
        if (ready[i]) {
            char trouble[sizeof c->trouble];

            memcpy(trouble, c->trouble, sizeof trouble);
            tell(c, i, "go");
            tell(c, i, "stop");
            hear(c, i, "DONE", line);
            memcpy(c->trouble, trouble, sizeof trouble);
        }
}

bool crew_begin(crew *c, const task *t, const char *name, const char *file) {
    bool ready[CREW_PROCESSES], all = true;
    char line[LINE];

    for (int i = 0; i < t->processes; i++) {
        snprintf(line, sizeof line, "row %s %d %d %d %d %d %s %s", t->kind, i,
                 t->threads / t->processes, t->section_us, t->permits, t->own,
                 name, file);
        tell(c, i, line);
    }
    for (int i = 0; i < t->processes; i++) {
        ready[i] = hear(c, i, "READY", line);
        all &= ready[i];
    }
    if (!all)
        call_off(c, ready, t->processes);
    return all;
}

static int count_threads(outcome *o, int n, const char *line) {
    char *at;

    o->all += strtol(line, &at, 10);
    while (*at == ' ' && n < CREW_THREADS)
        o->counts[n++] = strtol(at, &at, 10);
    return n;
}

bool crew_run(crew *c, const task *t, int ms, outcome *o) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
    int64_t began = now_ns();
    bool well = true;
    char line[LINE];

    memset(o, 0, sizeof *o);
    for (int i = 0; i < t->processes; i++)
        tell(c, i, "go");
    nanosleep(&pause, NULL);
    for (int i = 0; i < t->processes; i++)
        tell(c, i, "stop");
    o->stopped_ns = now_ns();
    o->seconds = (double)(o->stopped_ns - began) / 1e9;
    for (int i = 0; i < t->processes; i++)
        if (hear(c, i, "DONE", line))
            o->threads = count_threads(o, o->threads, line);
        else
            well = false;
    return well;
}

void crew_end(crew *c) {
    for (int i = 0; i < CREW_PROCESSES; i++) {
        if (c->worker[i].pid <= 0)
            continue;
        fclose(c->worker[i].in);
        fclose(c->worker[i].out);
        kill(c->worker[i].pid, SIGKILL);
        waitpid(c->worker[i].pid, NULL, 0);
        c->worker[i].pid = 0;
    }
}
