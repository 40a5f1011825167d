/* SPDX-License-Identifier: MIT
 *
 * guard_text.c - guards for databases, as texts to install there: the files of
 * guard/. */
#include <stddef.h>
#include <string.h>

#include "../include/holdfast.h"
#include "guard.gen.h"

static const struct {
    const char *system, *text;
} texts[] = {
    {"postgresql", hf_postgresql_sql},
    {"mariadb", hf_mariadb_sql},
    {"sqlite", hf_sqlite_sql},
    {"redis", hf_redis_lua},
};

const char *hf_guard_text(const char *system) {
    for (size_t i = 0; system && i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i].system, system) == 0)
            return texts[i].text;
    return NULL;
}
