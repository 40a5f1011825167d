/* SPDX-License-Identifier: MIT
 *
 * java.c - a virtual machine with somebody's libraries. */
#include "java.h"

#include <stdio.h>
#include <unistd.h>

stranger the_java = {.name = "Java"};

void java_start(const char *folder, const char *lib, const char *told) {
    char path[1024];
    snprintf(path, sizeof path, "%s/classes", folder);
    bool built = access(path, R_OK) == 0;
    snprintf(path, sizeof path, "%s/%s", folder, lib);
    hf_test_need(built && access(path, R_OK) == 0,
                 stranger_why_not(folder, lib));
    snprintf(path, sizeof path, "%s/classes:%s/%s/*", folder, folder, lib);
    char *argv[] = {"java",
                    "-XX:TieredStopAtLevel=1", /* starts sooner */
                    "-XX:+UseSerialGC",
                    "-Dslf4j.internal.verbosity=ERROR",
                    "-cp",
                    path,
                    "Peer",
                    NULL};
    stranger_start(&the_java, argv, told);
}
