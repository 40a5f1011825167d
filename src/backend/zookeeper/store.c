/* SPDX-License-Identifier: MIT
 *
 * store.c - ZooKeeper as a store: the verbs of a line over its port. */
#include "../line/line.h"
#include "zookeeper.h"

static const char *const schemes[] = {"zk", NULL};
static const char *const params[] = {"layout", "session", "acl", NULL};

HF_LINE_STORE(hf__zookeeper_ops, hf__zookeeper_port, schemes, params)
