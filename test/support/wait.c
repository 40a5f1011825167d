/* SPDX-License-Identifier: MIT
 *
 * wait.c - the clock of the tests, and what /proc says about ourselves. */
#include "wait.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t hf_test_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void hf_test_breathe(void) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The state letter follows the program's name, which may itself contain
 * parentheses: hence the last one. */
static char state_of(pid_t tid) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    char *got = fgets(line, sizeof line, f);
    fclose(f);
    char *end = got != NULL ? strrchr(line, ')') : NULL;
    return end != NULL && end[1] == ' ' ? end[2] : 0;
}

bool hf_test_asleep(pid_t tid) {
    if (tid == 0 || state_of(tid) != 'S')
        return false;
    hf_test_breathe();
    return state_of(tid) == 'S';
}

static int entries(const char *path) {
    int n = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

int hf_test_descriptors(void) {
    return entries("/proc/self/fd");
}

int hf_test_threads(void) {
    return entries("/proc/self/task");
}

bool hf_test_installed(const char *program) {
    char *path = strdup(getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin");
    bool found = false;
    for (char *rest = path, *dir; !found && (dir = strsep(&rest, ":"));) {
        char full[512];
        snprintf(full, sizeof full, "%s/%s", dir, program);
        found = access(full, X_OK) == 0;
    }
    free(path);
    return found;
}
