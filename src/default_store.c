/* SPDX-License-Identifier: MIT
 *
 * default_store.c - where the embedded store lies when nobody says.
 *
 * The one of the host, /var/lib/holdfast, for those who may write there; the
 * user's own for everybody else.  Whoever gets different answers for two users
 * locks in two files: hence the commands always show which it is. */
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../include/holdfast.h"

static const char host_folder[] = "/var/lib/holdfast";
static const char host_file[] = "/var/lib/holdfast/holdfast.db";

/* SQLite also makes files beside the database, so the folder counts. */
static bool may_use_host_file(void) {
    return access(host_folder, W_OK | X_OK) == 0 &&
           (access(host_file, F_OK) != 0 || access(host_file, W_OK) == 0);
}

static bool is_absolute(const char *path) {
    return path != NULL && path[0] == '/';
}

/* Fills `buf` with the folder that the user's programs keep their state in. */
static bool find_state_folder(char *buf, size_t size) {
    const char *state = secure_getenv("XDG_STATE_HOME");
    const char *home = secure_getenv("HOME");
    struct passwd entry, *found = NULL;
    char names[1024];

    if (is_absolute(state))
        return (size_t)snprintf(buf, size, "%s", state) < size;
    if (!is_absolute(home) &&
        getpwuid_r(getuid(), &entry, names, sizeof names, &found) == 0 &&
        found != NULL)
        home = entry.pw_dir;
    if (!is_absolute(home))
        return false;
    return (size_t)snprintf(buf, size, "%s/.local/state", home) < size;
}

/* The length that the whole has; as much as fits is written. */
static size_t put_escaped(char *buf, size_t size, size_t n, const char *path) {
    for (; *path != '\0'; path++) {
        char piece[4] = {*path, '\0'};
        if ((unsigned char)*path < 0x20 || strchr("%?#\x7f", *path) != NULL)
            snprintf(piece, sizeof piece, "%%%02X", (unsigned char)*path);
        for (const char *p = piece; *p != '\0'; p++, n++)
            if (n + 1 < size)
                buf[n] = *p;
    }
    if (size > 0)
        buf[n < size ? n : size - 1] = '\0';
    return n;
}

/* A path that began with two slashes would name a host. */
static const char *with_one_slash(char *path) {
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        path[--n] = '\0';
    while (path[0] == '/' && path[1] == '/')
        path++;
    return path;
}

size_t hf_default_store(char *buf, size_t size) {
    char folder[4096];
    size_t n = put_escaped(buf, size, 0, "sqlite:");
    if (may_use_host_file() || !find_state_folder(folder, sizeof folder))
        return put_escaped(buf, size, n, host_file);
    n = put_escaped(buf, size, n, with_one_slash(folder));
    return put_escaped(buf, size, n, "/holdfast/holdfast.db");
}
