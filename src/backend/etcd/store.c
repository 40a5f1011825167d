/* SPDX-License-Identifier: MIT
 *
 * store.c - the store that the port makes. */
#include "../line/line.h"
#include "../net/tls.h"
#include "etcd.h"

static const char *const schemes[] = {"etcd", NULL};
static const char *const params[] = {"session", "password_file", HF_TLS_PARAMS,
                                     NULL};

HF_LINE_STORE(hf__etcd_ops, hf__etcd_port, schemes, params)
