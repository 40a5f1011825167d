/* SPDX-License-Identifier: MIT
 *
 * bare.c - ours and the bare calls of a lock, pair by pair. */
#include "bare.h"

#include <stdlib.h>
#include <time.h>

#include "figures.h"

enum { PATIENCE_MS = 20000, TRIPS = 60 };

static double since_us(int64_t began) {
    return (double)(now_ns() - began) / 1e3;
}

/* As one who would wait: that asks once. */
static bool ours(hf_lock *lock, double *us) {
    int64_t began = now_ns();

    if (hf_lock_acquire(lock, PATIENCE_MS, NULL) != HF_OK ||
        hf_lock_release(lock, NULL) != HF_OK)
        return false;
    *us = since_us(began);
    return true;
}

static bool theirs(const bare *b, double *us) {
    int64_t began = now_ns();

    if (!b->take() || !b->give())
        return false;
    *us = since_us(began);
    return true;
}

static bool trip(const bare *b, int section_us, double *us) {
    struct timespec section = {0, section_us * 1000L};
    int64_t began;
    bool well;

    if (!b->rests && !b->take())
        return false;
    nanosleep(&section, NULL);
    began = now_ns();
    well = b->rests ? b->take() : b->give();
    *us = since_us(began);
    return well && (!b->rests || b->give());
}

bool bare_compare(const bare *b, hf_lock *lock, int n, int section_us,
                  bare_figures *ret) {
    double *us = calloc((size_t)n * 2, sizeof *us), trips[TRIPS];
    bool well = us != NULL;

    for (int i = 0; well && i < n; i++)
        well = ours(lock, &us[i]) && theirs(b, &us[n + i]);
    for (int i = 0; well && i < TRIPS; i++)
        well = trip(b, section_us, &trips[i]);
    if (well)
        *ret = (bare_figures){median(us, n), median(us + n, n),
                              median(trips, TRIPS)};
    free(us);
    return well;
}
