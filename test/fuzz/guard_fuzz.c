/* SPDX-License-Identifier: MIT
 *
 * guard_fuzz.c - any bytes as the record of a guarded file.
 *
 * The record says which token was the last.  Somebody who has token 1000 is
 * inside all the time, and asks whether he still may be.  Only a record as we
 * write it lets him go on, and only an older one. */
#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../include/holdfast.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TOKEN = 1000 };

/* What reading the record gives; NULL: what is in it. */
static const uint8_t *record;
static size_t record_size;

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);

ssize_t __wrap_read(int fd, void *buf, size_t size) {
    if (record == NULL)
        return __real_read(fd, buf, size);
    size = size < record_size ? size : record_size;
    memcpy(buf, record, size);
    return (ssize_t)size;
}

static char folder[] = "/tmp/hf-guard-XXXXXX";
static hf_guard *guard;

static void clean_up(void) {
    DIR *dir = opendir(folder);
    char path[512];

    hf_guard_leave(guard);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(folder);
}

static void enter(void) {
    char path[64];
    hf_error err = {0, ""};

    assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
    assert(hf_guard_enter(&guard, path, TOKEN, 0, &err) == HF_OK);
    atexit(clean_up);
}

/* The token, if it is written as we do; else 0. */
static uint64_t as_written(void) {
    char text[32];
    for (uint64_t token = 1; token <= TOKEN; token++) {
        size_t n = (size_t)snprintf(text, sizeof text, "%" PRIu64 "\n", token);
        if (n == record_size && memcmp(text, record, n) == 0)
            return token;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hf_error err = {0, ""};
    int rc;

    if (guard == NULL)
        enter();
    record = data;
    record_size = size;
    rc = hf_guard_check(guard, &err);
    assert((rc == HF_OK) == (as_written() > 0));
    assert(rc == HF_OK || (err.code == rc && err.text[0] != '\0'));
    record = NULL;
    return 0;
}
