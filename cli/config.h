/* SPDX-License-Identifier: MIT
 *
 * config.h - a configuration file: lines 'key = value', blank lines, and
 * comments that begin their line with '#'. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

typedef struct config_line {
    char *key, *value;
    int number;
} config_line;

typedef struct config {
    const char *path; /* lent */
    config_line *lines;
    size_t n, room;
    bool open_to_all; /* every user of this host can read it */
    int trouble;      /* errno: it is there and cannot be read; 0: it can, or
                         there is none                                     */
    bool there;
} config;

/* 0, or an exit status after complaining of a line. */
int config_read(config *c, const char *path);
void config_free(config *c);

#endif
