/* SPDX-License-Identifier: MIT
 *
 * audit.c - who took what away from whom. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../cli/status.h"
#include "../cli/write.h"

struct audit {
    int fd;
};

audit *audit_open(const char *path) {
    audit *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) :
                   STDERR_FILENO;
    if (a->fd >= 0)
        return a;
    complain("--audit-log %s: %s", path, strerror(errno));
    free(a);
    return NULL;
}

void audit_close(audit *a) {
    if (a && a->fd != STDERR_FILENO)
        close(a->fd);
    free(a);
}

static void write_entry(json *j, const request *r, const char *action,
                        const char *owner, uint64_t token, const char *stage) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    json_open(j, NULL, '{');
    write_time(j, "at", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    json_text(j, "action", action);
    json_text(j, "name", r->name);
    json_text_or_null(j, "operator", r->operator_);
    json_text(j, "known_by", r->known_by);
    json_text(j, "store", hf_store(r->console->client));
    json_text_or_null(j, "owner", owner);
    json_token(j, "token", token);
    json_text(j, "result", stage);
    json_close(j, '}');
    fputc('\n', j->out);
}

bool audit_write(audit *a, const request *r, const char *action,
                 const char *owner, uint64_t token, const char *stage) {
    char *text = NULL;
    size_t n = 0;
    bool written = false;
    json j = {.out = open_memstream(&text, &n)};
    if (!j.out)
        return false;
    write_entry(&j, r, action, owner, token, stage);
    if (fclose(j.out) == 0)
        written = write(a->fd, text, n) == (ssize_t)n;
    free(text);
    return written;
}
