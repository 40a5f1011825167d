/* SPDX-License-Identifier: MIT
 *
 * serve_options.h - the options of `holdfast serve`: read by holdfast-serve,
 * and shown by the command that starts it. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include "settings.h"

typedef struct serve_options {
    settings settings;
    const char *listen;
    option_list hosts;
    const char *token_file, *tls_cert, *tls_key, *audit_log;
    bool allow_actions;
    bool routes;
} serve_options;

extern const option_row serve_rows[];
extern const option_row *const serve_shared[];
extern const char serve_summary[], serve_about[];

#endif
