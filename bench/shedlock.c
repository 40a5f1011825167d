/* SPDX-License-Identifier: MIT
 *
 * shedlock.c - the side of ShedLock. */
#include "shedlock.h"

rival shedlock(const char *folder) {
    static char path[1800], log[600];
    const char *why = rivals_why(folder);

    if (why)
        return (rival){.name = "ShedLock", .why = why};
    snprintf(path, sizeof path, "%s/classes:%s/lib/*:%s/pool/*", folder, folder,
             folder);
    snprintf(log, sizeof log, "%s/log", folder);
    return (rival){.name = "ShedLock",
                   .argv = {"java", "-cp", path, "Bench"},
                   .log = log,
                   .waits_not = true};
}
