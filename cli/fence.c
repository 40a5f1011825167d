/* SPDX-License-Identifier: MIT
 *
 * fence.c - `holdfast guard FILE COMMAND`: a file that refuses older tokens,
 * for commands.  (guard.c is the process that watches over a command.)
 *
 * A command that changes FILE itself runs inside the guard, from beginning to
 * end.  When a newer token comes it has to be out of the way soon, even if we
 * are stopped: so not we are inside but the process that watches over the
 * command (job_watch).  It hears of the newer one, stops the command and ends,
 * and that lets the newer one in.
 *
 * With --stdout the command changes nothing itself.  It writes a draft, for as
 * long as it likes and in nobody's way; only to replace FILE by it do we go
 * inside. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "status.h"
#include "supervise.h"

enum { DEFAULT_WAIT_MS = 30 * 1000, DEFAULT_GRACE_MS = 1000 };

typedef struct fence {
    const char *token_text, *print;
    int wait_ms, kill_after_ms;
    bool replace;
    uint64_t token;
    char *path;
    char **words; /* of the command; NULL: there is none */
    signals signals;
    hf_error err;
} fence;

#define AT(field) offsetof(fence, field)
static const option_row rows[] = {
    {0, "token", "N", OPTION_TEXT, AT(token_text),
     "the token ($HOLDFAST_TOKEN, which run sets)"},
    {0, "stdout", NULL, OPTION_FLAG, AT(replace),
     "what the command prints becomes FILE, if it succeeds"},
    {'w', "wait", "DURATION", OPTION_DURATION, AT(wait_ms),
     "for an older one to be gone (30s)"},
    {'k', "kill-after", "DURATION", OPTION_DURATION, AT(kill_after_ms),
     "from SIGTERM to SIGKILL when a newer one comes (1s)"},
    {0, "print", "SYSTEM", OPTION_TEXT, AT(print),
     "print the guard for postgresql, mariadb, sqlite, redis"},
    {0, "sql", "SYSTEM", OPTION_TEXT, AT(print), NULL},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

/* ---- what was asked ---------------------------------------------------- */

static void read_token(const command *cmd, fence *f) {
    const char *text = f->token_text ? f->token_text : getenv("HOLDFAST_TOKEN");
    char *end;
    if (!text)
        options_refuse(cmd, "which token?  Under 'holdfast run' it is in "
                            "HOLDFAST_TOKEN; else say --token N");
    errno = 0;
    f->token = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno != 0 || f->token == 0 ||
        f->token > INT64_MAX)
        options_refuse(cmd, "'%s' is not a token", text);
}

static void read_command_line(const command *cmd, fence *f, int argc,
                              char **argv) {
    int first = options_read(cmd, f, &f->path, argc, argv);
    if (f->print && (f->path || first < argc))
        options_refuse(cmd, "--print SYSTEM stands alone");
    if (f->print)
        return;
    if (!f->path)
        options_refuse(cmd, "which file?  holdfast guard FILE -- COMMAND");
    if (first < argc && strcmp(argv[first], "--") == 0)
        first++;
    f->words = first < argc ? argv + first : NULL;
    if (f->replace && !f->words)
        options_refuse(cmd, "--stdout: of which command?");
    read_token(cmd, f);
}

static int print_text(const command *cmd, const char *system) {
    const char *text = hf_guard_text(system);
    if (!text)
        options_refuse(cmd,
                       "--print: '%s' is not postgresql, mariadb, sqlite or "
                       "redis",
                       system);
    fputs(text, stdout);
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}

/* ---- a command under it ------------------------------------------------ */

/* Runs in the guard's process. */
static bool is_over(void *arg) {
    return hf_guard_check(arg, NULL) == HF_ELOST;
}

static int failed_to_start(const fence *f, int status) {
    complain("cannot run '%s': %s", f->words[0], strerror(errno));
    return status;
}

static int stopped(const fence *f, int guard) {
    if (WIFSIGNALED(guard)) {
        complain("its guard was killed, and so the command was: '%s' may be "
                 "half written",
                 f->path);
        return EXIT_SOFTWARE;
    }
    complain("a newer holder has come to '%s': the command was stopped",
             f->path);
    return EXIT_LOST;
}

/* Its exit status, or ours.  `inside`, if there is one, is the guard's from
 * here on. */
static int run(fence *f, hf_guard *inside) {
    job_watch watch = {.fd = inside ? hf_guard_fd(inside) : -1,
                       .over = is_over,
                       .arg = inside};
    job j = {.grace_ms = f->kill_after_ms, .watch = inside ? &watch : NULL};
    const loss_plan never = {0};
    int status = EXIT_SOFTWARE, guard = 0;
    if (signals_take(&f->signals))
        status = job_start(&j, f->words, environ, &f->signals);
    hf_guard_leave(inside);
    if (status != 0)
        return failed_to_start(f, status);
    supervise(&j, NULL, &f->signals, &never);
    if (j.watch)
        guard = job_done_watching(&j);
    else
        job_done(&j);
    if (guard != 0)
        return stopped(f, guard);
    return WIFSIGNALED(j.status) ? EXIT_SIGNAL + WTERMSIG(j.status) :
                                   WEXITSTATUS(j.status);
}

static int run_inside(fence *f) {
    hf_guard *g;
    if (hf_guard_enter(&g, f->path, f->token, f->wait_ms, &f->err) != HF_OK)
        return status_fail(&f->err);
    if (f->words)
        return run(f, g);
    hf_guard_leave(g);
    return 0;
}

/* ---- a draft ----------------------------------------------------------- */

typedef struct draft {
    char target[PATH_MAX]; /* behind all links */
    char path[PATH_MAX + 32];
    int fd;
} draft;

static int fail_draft(const draft *d, const char *what) {
    complain("cannot %s '%s': %s", what, d->path, strerror(errno));
    return EXIT_SOFTWARE;
}

/* As the file it will replace, or as a new one. */
static mode_t mode_of(const char *path) {
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    return stat(path, &st) == 0 ? st.st_mode & 07777 : 0666 & ~mask;
}

static bool open_draft(draft *d, const char *path) {
    const char *slash;
    if (!realpath(path, d->target))
        snprintf(d->target, sizeof(d->target), "%s", path);
    slash = strrchr(d->target, '/');
    snprintf(d->path, sizeof(d->path), "%.*s.%s.hf-draft-XXXXXX",
             slash ? (int)(slash - d->target) + 1 : 0, d->target,
             slash ? slash + 1 : d->target);
    d->fd = mkostemp(d->path, O_CLOEXEC);
    return d->fd >= 0 && fchmod(d->fd, mode_of(d->target)) == 0 &&
           dup2(d->fd, STDOUT_FILENO) == STDOUT_FILENO;
}

static bool sync_folder_of(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int fd;
    bool done;
    snprintf(folder, sizeof(folder), "%.*s",
             slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    done = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Nobody newer can come in between: we are inside. */
static int put_in_place(fence *f, const draft *d) {
    hf_guard *g;
    int status = 0;
    if (fsync(d->fd) != 0)
        return fail_draft(d, "write");
    if (hf_guard_enter(&g, f->path, f->token, f->wait_ms, &f->err) != HF_OK)
        return status_fail(&f->err);
    if (rename(d->path, d->target) != 0 || !sync_folder_of(d->target))
        status = fail_draft(d, "put into place");
    hf_guard_leave(g);
    return status;
}

/* The token is taken down before the command begins: who is refused need not
 * run it, and older ones are refused from then on. */
static int run_for_draft(fence *f) {
    draft d = {.fd = -1};
    hf_guard *g;
    int status = hf_guard_enter(&g, f->path, f->token, 0, &f->err);
    if (status != HF_OK && status != HF_BUSY)
        return status_fail(&f->err);
    hf_guard_leave(g);
    if (!open_draft(&d, f->path))
        status = fail_draft(&d, "write");
    else
        status = run(f, NULL);
    if (status == 0)
        status = put_in_place(f, &d);
    if (d.fd >= 0 && status != 0)
        unlink(d.path);
    return status;
}

static int run_guard(const command *cmd, int argc, char **argv) {
    static fence f = {.wait_ms = DEFAULT_WAIT_MS,
                      .kill_after_ms = DEFAULT_GRACE_MS};
    char token[24];
    read_command_line(cmd, &f, argc, argv);
    if (f.print)
        return print_text(cmd, f.print);
    snprintf(token, sizeof(token), "%" PRIu64, f.token);
    setenv("HOLDFAST_TOKEN", token, 1);
    return f.replace ? run_for_draft(&f) : run_inside(&f);
}

const command guard_command = {
    .name = "guard",
    .operands = "FILE [--] [COMMAND [ARGUMENT...]]",
    .summary = "Let a file refuse those whose lock is not theirs any more.",
    .about =
        "A command that slept through the end of its lock does not know it,\n"
        "and writes; the guard of what it writes to does.  It keeps the highest\n"
        "token seen beside FILE, and refuses an older one:\n"
        "\n"
        "  holdfast run report -- holdfast guard out.csv -- ./write out.csv\n"
        "  holdfast run report -- holdfast guard --stdout out.csv -- ./report\n"
        "\n"
        "The command runs while no older one does, and is stopped when a newer\n"
        "one comes: SIGTERM, then SIGKILL.  With --stdout it is in nobody's\n"
        "way: it writes a draft, which replaces FILE when it is complete,\n"
        "unless a newer one has been there.  Without a command only the token\n"
        "is taken down, and older ones are gone.\n"
        "\n"
        "Exit: the command's own status; 76 a newer token was seen, before or\n"
        "while it ran; 75 an older one did not leave in time; 77 no permission,\n"
        "69, 70 the file system failed; 64 usage, 126, 127 as of run.",
    .options = rows,
    .max_operands = 1,
    .run = run_guard,
};
