/* SPDX-License-Identifier: MIT
 *
 * etcdctl.h - etcd's own command: a look from outside, and a stranger's hand. */
#ifndef HF_TEST_ETCDCTL_H
#define HF_TEST_ETCDCTL_H

#include <stdbool.h>
#include <stdint.h>

/* Runs it against 127.0.0.1:PORT with those words, separated by single spaces,
 * and returns what it printed.  Lent until the next call. */
const char *hf_test_etcdctl(int port, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* All keys that begin so, in their order, each with a line end behind it. */
const char *hf_test_etcd_keys(int port, const char *prefix);
int hf_test_etcd_count(int port, const char *prefix);

/* A fact about one key: "CreateRevision", "ModRevision", "Version", "Lease";
 * -1: there is no such key. */
int64_t hf_test_etcd_fact(int port, const char *key, const char *what);

#endif
