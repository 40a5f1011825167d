/* SPDX-License-Identifier: MIT
 *
 * errors.h - what a number of MariaDB's or of its client library means. */
#ifndef HF_MARIADB_ERRORS_H
#define HF_MARIADB_ERRORS_H

#include "../../../include/holdfast/backend.h"

typedef enum hf_maria_stage {
    HF_MARIA_CONNECTING, /* nothing can have been done         */
    HF_MARIA_SENDING,    /* the script may not have left whole */
    HF_MARIA_READING     /* it left                            */
} hf_maria_stage;

/* The code for it, beside HF_E… also HF_DB_AGAIN and HF_DB_NO_TABLES; err has
 * the text, which may be the server's. */
int hf__maria_error(hf_error *err, const char *where, hf_maria_stage stage,
                    unsigned number, const char *text);

#endif
