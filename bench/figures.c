/* SPDX-License-Identifier: MIT
 *
 * figures.c - the little arithmetic that the benchmarks share. */
#include "figures.h"

#include <stdlib.h>
#include <time.h>

int64_t now_ns(void) {
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

double cpu_used(pid_t pid) {
    struct timespec ts = {0, 0};
    clockid_t clock;

    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double median(double *values, int n) {
    if (n == 0)
        return 0;
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void shuffle(int *order, int n) {
    for (int i = n - 1; i > 0; i--) {
        int k = rand() % (i + 1), was = order[i];

        order[i] = order[k];
        order[k] = was;
    }
}

double jain(const long *counts, int n) {
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++) {
        sum += (double)counts[i];
        squares += (double)counts[i] * (double)counts[i];
    }
    return squares > 0 ? sum * sum / (n * squares) : 0;
}
