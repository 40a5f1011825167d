/* SPDX-License-Identifier: MIT
 *
 * moment.h - milliseconds of a clock that only goes forward, also while the
 * machine sleeps: a lease does not pause with it. */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdint.h>
#include <time.h>

#define MOMENT_NEVER INT64_MAX

static inline int64_t moment_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline int64_t moment_sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* For poll: -1 for never, 0 for what is past. */
static inline int moment_timeout(int64_t at) {
    int64_t left = at - moment_now();
    if (at == MOMENT_NEVER)
        return -1;
    return left < 0 ? 0 : left > 86400000 ? 86400000 : (int)left;
}

#endif
