/* SPDX-License-Identifier: MIT
 *
 * guard.c - a file that refuses older tokens than it has seen.
 *
 * Two files stand beside the guarded one.  The record has the highest token
 * seen; it is replaced, never written to, so that it is whole after any crash.
 * The lock file is empty, and is never replaced or removed; its bytes are
 * numbered, and locks on them say who is where:
 *
 *     byte 0        whoever reads and raises the record, for a moment
 *     byte TOKEN    shared, whoever is inside with that token
 *
 *                 lock byte T        record <= T        bytes 1..T-1 free
 *     outside ───────────────► knocking ────────────► raised ─────────────► in
 *                                  │                     │
 *                                  │ record > T          │ record > T
 *                                  ▼                     ▼
 *                               refused               refused
 *
 * Nobody is inside beside a newer one.  Let O < T.  T raises the record under
 * byte 0.  Either O looks at it afterwards, and is refused; or O has looked
 * before, and then it had locked its own byte before that, so that T waits
 * until it is gone.
 *
 * The locks belong to the open file, not to the process (F_OFD_SETLK): two
 * threads exclude each other, nobody loses a lock because something else in
 * the program closed the same file, and the kernel lets go of what a killed
 * process had, when the last one that shares the open file is gone. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "err.h"
#include "uncancelled.h"
#include "world.h"

enum {
    RECORD_BYTE = 0,
    RECORD_MS = 3000, /* for byte 0, which nobody keeps for long */
    FIRST_PAUSE_MS = 1,
    LONGEST_PAUSE_MS = 50,
    RECORD_MODE = 0666, /* less the umask */
};

#define MOST_TOKEN ((uint64_t)INT64_MAX) /* the last byte of a file */
_Static_assert(sizeof(off_t) == 8, "tokens number the bytes of a file");

struct hf_guard {
    int folder, lock;
    int news; /* -1: not asked for */
    uint64_t token;
    char name[NAME_MAX + 1]; /* of what is guarded */
    char lock_name[NAME_MAX + 1];
    char record_name[NAME_MAX + 1];
    char fresh_name[NAME_MAX + 1]; /* what becomes the record */
};

/* ---- where it is ------------------------------------------------------- */

static int fail_errno(hf_error *err, const char *what, const char *name) {
    int e = errno;
    int code = e == EACCES || e == EPERM  ? HF_EFORBIDDEN :
               e == EROFS                 ? HF_EREAD_ONLY :
               e == ENOSPC || e == EDQUOT ? HF_EFULL :
               e == ENOMEM                ? HF_ENO_MEMORY :
                                            HF_ESYSTEM;
    return hf__fail(err, code, "cannot %s '%s': %s", what, name, strerror(e));
}

/* The path with all links followed; of what does not exist yet the folder's,
 * and its own name.  A link to nothing would have one record now and another
 * as soon as it leads somewhere. */
static int resolve(const char *path, char real[static PATH_MAX],
                   hf_error *err) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    struct stat st;

    if (realpath(path, real))
        return HF_OK;
    if (errno != ENOENT || n >= sizeof folder)
        return fail_errno(err, "guard", path);
    if (lstat(path, &st) == 0)
        return hf__fail(err, HF_EUSAGE, "'%s' is a link that leads nowhere",
                        path);
    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    if (!realpath(n ? folder : ".", real))
        return fail_errno(err, "guard something in", n ? folder : ".");
    n = strlen(real);
    errno = ENAMETOOLONG;
    if (snprintf(real + n, PATH_MAX - n, "/%s", base) >= (int)(PATH_MAX - n))
        return fail_errno(err, "guard", path);
    return HF_OK;
}

static bool name_beside(char to[static NAME_MAX + 1], const char *base,
                        const char *what) {
    return snprintf(to, NAME_MAX + 1, ".%s.hf-%s", base, what) <= NAME_MAX;
}

static int find(hf_guard *g, const char *path, hf_error *err) {
    char real[PATH_MAX], *slash;
    int rc = resolve(path, real, err);

    if (rc != HF_OK)
        return rc;
    slash = strrchr(real, '/');
    if (slash[1] == '\0')
        return hf__fail(err, HF_EUSAGE,
                        "'%s' cannot be guarded: it has no name", path);
    if (!name_beside(g->lock_name, slash + 1, "lock") ||
        !name_beside(g->record_name, slash + 1, "token") ||
        !name_beside(g->fresh_name, slash + 1, "token.new"))
        return hf__fail(err, HF_EUSAGE,
                        "'%s' cannot be guarded: its name is too long", path);
    snprintf(g->name, sizeof g->name, "%s", slash + 1);
    slash[slash == real] = '\0';
    g->folder = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->folder < 0)
        return fail_errno(err, "open the folder", real);
    g->lock =
        openat(g->folder, g->lock_name,
               O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, (mode_t)RECORD_MODE);
    if (g->lock < 0)
        return fail_errno(err, "open", g->lock_name);
    return HF_OK;
}

/* ---- the record -------------------------------------------------------- */

enum { RECORD_SIZE = 32 };

static size_t spell_record(char text[static RECORD_SIZE], uint64_t token) {
    return (size_t)snprintf(text, RECORD_SIZE, "%" PRIu64 "\n", token);
}

/* Only what we would write ourselves: strtoull takes more for a number. */
static bool parse_record(const char *text, size_t n, uint64_t *token) {
    char again[RECORD_SIZE];

    *token = strtoull(text, NULL, 10);
    return *token > 0 && *token <= MOST_TOKEN &&
           n == spell_record(again, *token) && memcmp(text, again, n) == 0;
}

/* 0: there is none.  Makes system calls only. */
static int read_record(const hf_guard *g, uint64_t *token, hf_error *err) {
    char text[RECORD_SIZE] = "";
    int fd =
        openat(g->folder, g->record_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    *token = 0;
    if (fd < 0)
        return errno == ENOENT ? HF_OK :
                                 fail_errno(err, "open", g->record_name);
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n < 0)
        return fail_errno(err, "read", g->record_name);
    if (!parse_record(text, (size_t)n, token))
        return hf__fail(err, HF_ESYSTEM,
                        "the record '%s' is not a token: somebody else wrote "
                        "to it",
                        g->record_name);
    return HF_OK;
}

static bool write_text(int fd, const char *text) {
    ssize_t n = (ssize_t)strlen(text);
    return write(fd, text, (size_t)n) == n && fsync(fd) == 0;
}

/* On disk when it returns: the name, too. */
static int write_record(const hf_guard *g, hf_error *err) {
    char text[RECORD_SIZE];
    bool written;
    int fd = openat(g->folder, g->fresh_name,
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                    (mode_t)RECORD_MODE);

    if (fd < 0)
        return fail_errno(err, "write", g->fresh_name);
    spell_record(text, g->token);
    written = write_text(fd, text);
    if (!written)
        fail_errno(err, "write", g->fresh_name);
    close(fd);
    if (!written)
        return err->code;
    if (renameat(g->folder, g->fresh_name, g->folder, g->record_name) != 0)
        return fail_errno(err, "replace", g->record_name);
    if (fsync(g->folder) != 0 && errno != EINVAL)
        return fail_errno(err, "write the folder of", g->record_name);
    return HF_OK;
}

static int refuse(const hf_guard *g, uint64_t seen, hf_error *err) {
    return hf__fail(err, HF_ELOST,
                    "token %" PRIu64 " is older than %" PRIu64
                    ", which '%s' has seen: a newer holder was there",
                    g->token, seen, g->name);
}

static int check(const hf_guard *g, hf_error *err) {
    uint64_t seen;
    int rc = read_record(g, &seen, err);
    return rc == HF_OK && seen > g->token ? refuse(g, seen, err) : rc;
}

/* ---- locks ------------------------------------------------------------- */

static int set_lock(const hf_guard *g, int type, uint64_t first, uint64_t n) {
    struct flock range = {.l_type = (short)type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)first,
                          .l_len = (off_t)n};
    return fcntl(g->lock, F_OFD_SETLK, &range);
}

/* HF_BUSY: not before `by`.  It looks again and again: a wait in the kernel
 * could not be ended, and who waits here is about to be let in.  `checks`:
 * whoever finds itself refused meanwhile waits no longer. */
static int await_lock(const hf_guard *g, int type, uint64_t first, uint64_t n,
                      hf_time by, bool checks, hf_error *err) {
    int pause = FIRST_PAUSE_MS, rc;

    while (set_lock(g, type, first, n) != 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return fail_errno(err, "lock", g->lock_name);
        if (checks && (rc = check(g, err)) != HF_OK)
            return rc;
        if (hf__now() >= by)
            return HF_BUSY;
        poll(NULL, 0, pause);
        pause = pause < LONGEST_PAUSE_MS ? pause * 2 : LONGEST_PAUSE_MS;
    }
    return HF_OK;
}

/* Makes the record ours, unless it is a newer one's.  Byte 0 is locked. */
static int raise_locked(const hf_guard *g, hf_error *err) {
    uint64_t seen;
    int rc = read_record(g, &seen, err);

    if (rc == HF_OK && seen > g->token)
        return refuse(g, seen, err);
    if (rc == HF_OK && seen < g->token)
        return write_record(g, err);
    return rc;
}

static int raise_record(const hf_guard *g, hf_error *err) {
    int rc = await_lock(g, F_WRLCK, RECORD_BYTE, 1, hf__after_ms(RECORD_MS),
                        false, err);

    if (rc == HF_BUSY)
        return hf__fail(err, HF_ETIMEOUT,
                        "'%s' has been locked for %d s by somebody who seems "
                        "to be stopped",
                        g->lock_name, RECORD_MS / 1000);
    if (rc == HF_OK)
        rc = raise_locked(g, err);
    set_lock(g, F_UNLCK, RECORD_BYTE, 1);
    return rc;
}

/* Until everybody with an older token has left.  Those who come later find the
 * record, so the bytes are not kept. */
static int outlast(const hf_guard *g, int wait_ms, hf_error *err) {
    uint64_t older = g->token - 1;
    int rc;

    if (older == 0)
        return HF_OK;
    rc = await_lock(g, F_WRLCK, 1, older, hf__after_ms(wait_ms), true, err);
    set_lock(g, F_UNLCK, 1, older);
    if (rc == HF_BUSY)
        return hf__fail(err, wait_ms == 0 ? HF_BUSY : HF_ETIMEOUT,
                        "somebody with an older token than %" PRIu64
                        " has not left yet",
                        g->token);
    return rc;
}

/* ---- the interface ----------------------------------------------------- */

void hf_guard_leave(hf_guard *guard) {
    HF_UNCANCELLED;

    if (!guard)
        return;
    if (guard->news >= 0)
        close(guard->news);
    if (guard->lock >= 0)
        close(guard->lock);
    if (guard->folder >= 0)
        close(guard->folder);
    hf__free(guard);
}

static int enter(hf_guard *g, const char *path, int wait_ms, hf_error *err) {
    int rc;

    if ((rc = find(g, path, err)))
        return rc;
    /* Only a newer one that looks whether older ones are inside is ever in the
     * way, and only for a moment. */
    rc =
        await_lock(g, F_RDLCK, g->token, 1, hf__after_ms(RECORD_MS), true, err);
    if (rc == HF_BUSY)
        return hf__fail(err, HF_ETIMEOUT, "'%s' stays locked", g->lock_name);
    if (rc != HF_OK || (rc = raise_record(g, err)))
        return rc;
    return outlast(g, wait_ms, err);
}

int hf_guard_enter(hf_guard **ret, const char *path, uint64_t token,
                   int wait_ms, hf_error *err) {
    HF_UNCANCELLED;
    hf_guard *g;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!ret || !path || !*path)
        return hf__fail(err, HF_EUSAGE, "hf_guard_enter: %s",
                        ret ? "no path" : "ret is NULL");
    *ret = NULL;
    if (token == 0 || token > MOST_TOKEN)
        return hf__fail(err, HF_EUSAGE, "%" PRIu64 " is not a token", token);
    if (wait_ms < HF_FOREVER)
        return hf__fail(err, HF_EUSAGE, "a wait of %d ms", wait_ms);
    g = hf__calloc(1, sizeof *g);
    if (!g)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    g->folder = g->lock = g->news = -1;
    g->token = token;
    rc = enter(g, path, wait_ms, err);
    if (rc == HF_OK)
        *ret = g;
    else
        hf_guard_leave(g);
    return rc;
}

int hf_guard_check(hf_guard *guard, hf_error *err) {
    HF_UNCANCELLED;

    err = err ? err : &(hf_error){0};
    if (!guard)
        return hf__fail(err, HF_EUSAGE, "hf_guard_check: guard is NULL");
    return check(guard, err);
}

/* A newer one replaces the record, which takes the old one its name: a change
 * of its attributes, and, as nobody has it open, its end. */
static int listen_for_newer(const hf_guard *g) {
    char record[64 + NAME_MAX];
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        return HF_ESYSTEM;
    snprintf(record, sizeof record, "/proc/self/fd/%d/%s", g->folder,
             g->record_name);
    if (inotify_add_watch(fd, record,
                          IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF) >= 0)
        return fd;
    close(fd);
    return HF_ESYSTEM;
}

int hf_guard_fd(hf_guard *guard) {
    HF_UNCANCELLED;
    int fd;

    if (!guard)
        return HF_EUSAGE;
    if (guard->news >= 0)
        return guard->news;
    fd = listen_for_newer(guard);
    if (fd >= 0)
        guard->news = fd;
    return fd;
}
