/* SPDX-License-Identifier: MIT
 *
 * postgres_bare.h - the bare statements of a lock in PostgreSQL: libpq, one
 * connection, one statement at a time. */
#ifndef HF_BENCH_POSTGRES_BARE_H
#define HF_BENCH_POSTGRES_BARE_H

#include "bare.h"

extern const bare postgres_calls;

#endif
