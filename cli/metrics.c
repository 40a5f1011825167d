/* SPDX-License-Identifier: MIT
 *
 * metrics.c - the numbers of one run, in a file for node_exporter.
 *
 * Its textfile collector reads every *.prom of a folder whenever it is asked,
 * so a file is written beside, under a name that it does not read, and then
 * takes the place of the old one. */
#include "metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "status.h"

static const char unreached[] =
    "# HELP holdfast_store_up 1: the last request was answered, 0: the store "
    "could not be used.\n"
    "# TYPE holdfast_store_up gauge\n"
    "holdfast_store_up 0\n";

/* To be freed; NULL: no memory.  It may grow while it is asked for. */
static char *text_of(hf_client *client) {
    size_t size = 0, len;
    char *text = NULL, *wide;
    if (!client)
        return strdup(unreached);
    while ((len = hf_stats_text(client, text, size)) >= size) {
        size = len + 256;
        wide = realloc(text, size);
        if (!wide) {
            free(text);
            return NULL;
        }
        text = wide;
    }
    return text;
}

/* 0, or an errno. */
static int write_all(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    size_t left = strlen(text);
    int e = 0;
    if (fd < 0)
        return errno;
    while (left > 0 && e == 0) {
        ssize_t n = write(fd, text, left);
        if (n < 0 && errno != EINTR)
            e = errno;
        else if (n > 0)
            text += n, left -= (size_t)n;
    }
    if (close(fd) != 0 && e == 0)
        e = errno;
    return e;
}

void metrics_write(const char *file, hf_client *client) {
    char *beside = NULL, *text = file ? text_of(client) : NULL;
    int e = ENOMEM;
    if (!file)
        return;
    if (text && asprintf(&beside, "%s.%ld", file, (long)getpid()) >= 0) {
        unlink(beside); /* of one that was killed, and had our number */
        e = write_all(beside, text);
        if (e == 0 && rename(beside, file) != 0)
            e = errno;
        if (e != 0)
            unlink(beside);
        free(beside);
    }
    if (e != 0)
        complain("cannot write the numbers to %s: %s", file, strerror(e));
    free(text);
}
