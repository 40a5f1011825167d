/* SPDX-License-Identifier: MIT
 *
 * kazoo.c - Debian's Python with one kazoo or the other. */
#include "kazoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

stranger the_kazoo = {.name = "kazoo"};

static const char *lib(void) {
    const char *set = getenv("HF_KAZOO_LIB");
    return set != NULL ? set : "lib28";
}

bool kazoo_can_read(void) {
    return strcmp(lib(), "lib28") != 0;
}

void kazoo_start(const char *uri, int session_ms) {
    const char *folder = getenv("HF_KAZOO"), *source = getenv("HF_TEST_SOURCE");
    char path[600], peer[600], told[400];
    snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : ".", lib());
    hf_test_need(access(path, R_OK) == 0 && source != NULL,
                 stranger_why_not(folder, lib()));
    snprintf(peer, sizeof peer, "%s/interop/kazoo/peer.py", source);
    snprintf(told, sizeof told, "%s session_ms=%d", uri, session_ms);
    char *argv[] = {"/usr/bin/python3", peer, path, NULL};
    stranger_start(&the_kazoo, argv, told);
}
