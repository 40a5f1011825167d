/* SPDX-License-Identifier: MIT
 *
 * lender.c - hf-lender: starts sets of servers and lends them to tests.
 *
 *     hf-lender start SORT N      returns when N sets are up
 *     hf-lender stop SORT
 *
 * Both are fixtures of CTest; see support/lender.h.  What stays behind after
 * `start` ends with `stop`, or with the process that called it. */
#include "support/lender.h"
#include "support/wait.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77 };

/* Apart from the caller's terminal and pipes, or it would wait for us. */
static void detach(void) {
    int null = open("/dev/null", O_RDWR);
    setsid();
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    close(null);
}

static int start(const char *sort, int n) {
    int ready[2], caller = getppid();
    char byte;
    const hf_test_sort *known = hf_test_sort_of(sort);
    const char *missing = known != NULL ? known->missing() : NULL;
    if (missing != NULL) {
        printf("skipped: %s\n", missing);
        return SKIPPED;
    }
    hf_test_stop_lending(sort);
    if (pipe2(ready, O_CLOEXEC) != 0)
        return 1;
    if (fork() == 0) {
        close(ready[0]);
        detach();
        exit(hf_test_lend(sort, n, caller, ready[1]));
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1)
        return 0;
    fprintf(stderr, "the servers do not start\n");
    return 1;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "start") == 0)
        return start(argv[2], atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "stop") == 0)
        return hf_test_stop_lending(argv[2]);
    fprintf(stderr, "usage: %s start SORT N | stop SORT\n", argv[0]);
    return 2;
}
