/* SPDX-License-Identifier: MIT
 *
 * header.c - the names before the first bracket of each declaration. */
#include "header.h"

#include "wait.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hf_test_header_is_covered(bool (*has_row)(const char *name, size_t n)) {
    static char text[1 << 17];
    char path[512];
    int found = 0;
    snprintf(path, sizeof path, "%s/../include/holdfast.h",
             getenv("HF_TEST_SOURCE"));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    for (char *at = text; (at = strstr(at, "\nHF_API ")) != NULL;) {
        char *end = at + strcspn(at, "(");
        char *name = end;
        while (strncmp(name, "hf_", 3) != 0 || strchr(" *", name[-1]) == NULL)
            name--;
        if (!has_row(name, (size_t)(end - name)))
            fail_msg("%.*s has no row here", (int)(end - name), name);
        found++;
        at = end;
    }
    assert_true(found > 60);
}
