/* SPDX-License-Identifier: MIT
 *
 * trouble.h - what a failure at PostgreSQL means to us. */
#ifndef HF_POSTGRES_TROUBLE_H
#define HF_POSTGRES_TROUBLE_H

#include <libpq-fe.h>

#include "../../../include/holdfast/backend.h"

/* Why there is no connection; the code, and err filled. */
int hf__pg_trouble_connecting(const PGconn *conn, hf_error *err);

/* Why a statement failed: HF_DB_AGAIN, HF_DB_NO_TABLES, or a code; or that what
 * the session prepared is not there, or of no use, any more. */
enum { HF_PG_FORGOTTEN = 4 };
int hf__pg_trouble_asking(const PGresult *result, const PGconn *conn,
                          hf_error *err);

#endif
