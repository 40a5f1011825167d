/* SPDX-License-Identifier: MIT
 *
 * demo_resource.c - what the demonstrations write to. */
#include "demo_resource.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

void resource_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        _exit(1);
    close(fd);
}

bool resource_write_fenced(const char *path, uint64_t token, const char *text) {
    char old[64] = "", new[64];
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), n;
    bool newer;
    if (fd < 0 || flock(fd, LOCK_EX) != 0 || read(fd, old, sizeof(old) - 1) < 0)
        _exit(1);
    newer = token >= strtoull(old, NULL, 10);
    n = snprintf(new, sizeof(new), "%" PRIu64 " %s", token, text);
    if (newer && (ftruncate(fd, 0) != 0 || pwrite(fd, new, (size_t)n, 0) != n))
        _exit(1);
    close(fd);
    return newer;
}

void resource_read(const char *path, char *buf, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);
    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
}
