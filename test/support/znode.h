/* SPDX-License-Identifier: MIT
 *
 * znode.h - a small ZooKeeper client of the tests' own: it asks, and waits for
 * the answer.
 *
 * With it a test looks at a server from outside, and does there what others
 * might do.  Paths are whole ones.  What is refused answers with ZooKeeper's
 * own number, which is negative. */
#ifndef HF_TEST_ZNODE_H
#define HF_TEST_ZNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HF_ZK_NONODE = -101, HF_ZK_NOAUTH = -102, HF_ZK_NODEEXISTS = -110 };

typedef enum hf_test_znode_mode {
    HF_ZK_PERSISTENT = 0,
    HF_ZK_EPHEMERAL = 1,
    HF_ZK_EPHEMERAL_SEQUENTIAL = 3,
    HF_ZK_CONTAINER = 4
} hf_test_znode_mode;

typedef struct hf_test_zstat {
    int64_t czxid, mzxid, pzxid, owner; /* owner: the session; 0: none */
    int version, children, size;
} hf_test_zstat;

typedef struct hf_test_zk hf_test_zk;

/* A session of a minute; `user` is NULL or "name:password". */
hf_test_zk *hf_test_zk_dial(int port, const char *user);
void hf_test_zk_hang_up(hf_test_zk *zk); /* ends it; NULL is allowed */
int64_t hf_test_zk_session(const hf_test_zk *zk);

int hf_test_zk_stat(hf_test_zk *zk, const char *path, hf_test_zstat *ret);
bool hf_test_zk_exists(hf_test_zk *zk, const char *path);
int hf_test_zk_create(hf_test_zk *zk, const char *path, const char *data,
                      hf_test_znode_mode mode);
int hf_test_zk_delete(hf_test_zk *zk, const char *path);
int hf_test_zk_set(hf_test_zk *zk, const char *path, const void *data,
                   size_t size);

/* The number of bytes; a zero is put behind them. */
int hf_test_zk_get(hf_test_zk *zk, const char *path, char *buf, size_t size);

/* Their number; the names, sorted, each with a line end behind it. */
int hf_test_zk_children(hf_test_zk *zk, const char *path, char *buf,
                        size_t size);

/* All who may do something there: "scheme:id=bits", as above. */
int hf_test_zk_acl(hf_test_zk *zk, const char *path, char *buf, size_t size);

#endif
