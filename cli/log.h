/* SPDX-License-Identifier: MIT
 *
 * log.h - the library's log on stderr, an entry a line. */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "../include/holdfast.h"

/* "none", "error", "warn", "info" or "debug"; false: it is none of these. */
bool log_level_read(const char *word, hf_log_level *ret);

/* An hf_log_fn: time, level, text and fields as logfmt has them. */
void log_write(void *arg, const hf_log_entry *entry);

#endif
