/* SPDX-License-Identifier: MIT
 *
 * shedlock.h - the side of ShedLock, for both databases. */
#ifndef HF_BENCH_SHEDLOCK_H
#define HF_BENCH_SHEDLOCK_H

#include "rivals.h"

/* FOLDER is what shedlock/build.sh made; NULL: nobody did.  Its table must be
 * there. */
rival shedlock(const char *folder);

#endif
