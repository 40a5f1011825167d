/* SPDX-License-Identifier: MIT
 *
 * suite.c - runs the tests of one program: see suite.h.
 *
 * Descriptors are counted around the whole run, group fixtures included. */
#include "support/suite.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FD = 1024 };

static int list(const struct suite *suite) {
    for (size_t i = 0; i < suite->n_tests; i++)
        puts(suite->tests[i].name);
    return 0;
}

static const struct CMUnitTest *find(const struct suite *suite,
                                     const char *name) {
    for (size_t i = 0; i < suite->n_tests; i++)
        if (strcmp(suite->tests[i].name, name) == 0)
            return &suite->tests[i];
    return NULL;
}

static int run_all(const struct suite *suite) {
    return _cmocka_run_group_tests(suite->name, suite->tests, suite->n_tests,
                                   suite->setup, suite->teardown);
}

static int run_named(const struct suite *suite, char **names) {
    int failed = 0;
    for (; *names != NULL; names++) {
        const struct CMUnitTest *test = find(suite, *names);
        if (test == NULL) {
            fprintf(stderr, "no test is called %s; see --list\n", *names);
            return 1;
        }
        struct suite one = *suite;
        one.tests = test;
        one.n_tests = 1;
        failed += run_all(&one);
    }
    return failed;
}

/* ---- descriptors ------------------------------------------------------- */

static void note_descriptors(bool open[MAX_FD]) {
    memset(open, 0, MAX_FD * sizeof open[0]);
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        int fd = atoi(e->d_name);
        if (e->d_name[0] != '.' && fd < MAX_FD && fd != dirfd(dir))
            open[fd] = true;
    }
    closedir(dir);
}

static int count_leaked(const bool before[MAX_FD]) {
    bool after[MAX_FD];
    int leaked = 0;
    note_descriptors(after);
    for (int fd = 0; fd < MAX_FD; fd++) {
        if (!after[fd] || before[fd])
            continue;
        char link[64], what[256] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, what, sizeof what - 1) < 0)
            what[0] = '\0';
        fprintf(stderr, "descriptor %d was left open: %s\n", fd, what);
        leaked++;
    }
    return leaked;
}

int suite_main(const struct suite *suite, int argc, char **argv) {
    bool before[MAX_FD];

    if (argc > 1 && strcmp(argv[1], "--list") == 0)
        return list(suite);
    note_descriptors(before);
    int failed = argc > 1 ? run_named(suite, argv + 1) : run_all(suite);
    failed += count_leaked(before);
    return failed != 0;
}
