/* SPDX-License-Identifier: MIT
 *
 * etcd_bare.h - the bare calls of a lock on etcd: gRPC over nghttp2 by one
 * thread, one call at a time. */
#ifndef HF_BENCH_ETCD_BARE_H
#define HF_BENCH_ETCD_BARE_H

#include "bare.h"

extern const bare etcd_calls;

#endif
