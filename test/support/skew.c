/* SPDX-License-Identifier: MIT
 *
 * skew.c - a clock that can be set, for a program that is not ours.
 *
 * Not part of the tests themselves: a library of its own, to be preloaded into
 * a server (clock.c does that).  The time of day is off by as many nanoseconds
 * as stand, signed, in the first eight bytes of $HF_SKEW_FILE, at this moment;
 * clocks that only count are left alone.  System calls only, and no memory is
 * allocated, for an allocator may ask for the time before it works. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

static const _Atomic int64_t *skew(void) {
    static const _Atomic int64_t none;
    static const _Atomic int64_t *_Atomic mapped;
    const _Atomic int64_t *at = atomic_load(&mapped);

    if (!at) {
        const char *path = getenv("HF_SKEW_FILE");
        long fd = path ? syscall(SYS_open, path, O_RDONLY | O_CLOEXEC) : -1;
        void *page = fd >= 0 ?
                         mmap(NULL, 8, PROT_READ, MAP_SHARED, (int)fd, 0) :
                         MAP_FAILED;

        if (fd >= 0)
            syscall(SYS_close, fd);
        at = page == MAP_FAILED ? &none : page;
        atomic_store(&mapped, at);
    }
    return at;
}

static int64_t shifted(void) {
    struct timespec ts = {0, 0};

    syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec + atomic_load(skew());
}

SEEN int clock_gettime(clockid_t clock, struct timespec *ts) {
    int64_t ns;

    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, ts);
    ns = shifted();
    ts->tv_sec = (time_t)(ns / 1000000000);
    ts->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

SEEN int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    int64_t ns = shifted();

    (void)zone;
    tv->tv_sec = (time_t)(ns / 1000000000);
    tv->tv_usec = (suseconds_t)(ns % 1000000000 / 1000);
    return 0;
}

SEEN time_t time(time_t *ret) {
    time_t now = (time_t)(shifted() / 1000000000);

    if (ret)
        *ret = now;
    return now;
}
