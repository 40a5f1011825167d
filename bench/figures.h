/* SPDX-License-Identifier: MIT
 *
 * figures.h - the little arithmetic that the benchmarks share. */
#ifndef HF_BENCH_FIGURES_H
#define HF_BENCH_FIGURES_H

#include <stdint.h>
#include <sys/types.h>

int64_t now_ns(void); /* of the monotonic clock */

/* User and system time that a process has used, in seconds. */
double cpu_used(pid_t pid);

/* Sorts them. */
double median(double *values, int n);

void shuffle(int *order, int n);

/* Jain's index of fairness: 1 when all counts are the same, 1/n when one has
 * everything. */
double jain(const long *counts, int n);

#endif
