/* SPDX-License-Identifier: MIT
 *
 * dir.c - made once, removed by its maker alone and not by a child that was
 * forked from it. */
#include "dir.h"

#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHORT = 66 }; /* a socket address holds 108 bytes */

static char folder[128];
static pid_t maker;

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

static void remove_all(void) {
    if (getpid() == maker && getenv("HF_TEST_KEEP") == NULL)
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *hf_test_dir(void) {
    if (folder[0] != 0)
        return folder;
    const char *base = getenv("HF_TEST_DIR");
    if (base == NULL || strlen(base) > SHORT)
        base = "/tmp";
    snprintf(folder, sizeof folder, "%s/hf-XXXXXX", base);
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        exit(1);
    }
    maker = getpid();
    atexit(remove_all);
    return folder;
}

void hf_test_fresh_path(char *buf, size_t size, const char *what) {
    static atomic_int next;
    snprintf(buf, size, "%s/%s-%d", hf_test_dir(), what,
             atomic_fetch_add(&next, 1));
}
