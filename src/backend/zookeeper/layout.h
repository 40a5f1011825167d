/* SPDX-License-Identifier: MIT
 *
 * layout.h - how entries are called, so that others take them for theirs.
 *
 *   kind    curator                           kazoo
 *   LOCK    P/_c_<uuid>-lock-<n>              P/<32 hex>__lock__<n>
 *   WRITE   P/_c_<uuid>-__WRIT__<n>           P/<32 hex>__lock__<n>
 *   READ    P/_c_<uuid>-__READ__<n>           P/<32 hex>__rlock__<n>
 *   PERMIT  P/leases/_c_<uuid>-lease-<n>      as curator
 *
 * P is the chroot and the name, <n> the ten digits that the server appends.
 * Bridge is curator, but a LOCK has two nodes, `_c_<uuid>-lock-<n>` and
 * `_c_<uuid>-__lock__<n + 1>`, one for each peer to wait for.
 *
 * A child is an entry by its tag and its digits, whatever stands before them;
 * all others are nobody's affair.  Pure: text in, text out. */
#ifndef HF_ZOOKEEPER_LAYOUT_H
#define HF_ZOOKEEPER_LAYOUT_H

#include "../../../include/holdfast/backend.h"

typedef enum hf_layout { HF_CURATOR, HF_KAZOO, HF_BRIDGE } hf_layout;

enum {
    HF_CHROOT_MAX = 512,
    HF_ZNODE_SIZE = 1024,      /* of any path of ours, NUL included     */
    HF_LAST_ORDER = 2000000000 /* beyond it numbers soon turn negative,
                                      and nobody's order works any more     */
};

/* What the name of a child tells. */
typedef struct hf_tagged {
    hf_kind kind; /* LOCK, READ, WRITE, PERMIT */
    uint64_t order;
} hf_tagged;

/* Is `child` an entry in lines of this kind (hf_line_kind)? */
bool hf__layout_parse(hf_layout layout, hf_kind line, const char *child,
                      hf_tagged *ret);

/* What an entry of this kind and id is called before the digits; the length.
 * `id` becomes a UUID of version 4. */
size_t hf__layout_name(hf_layout layout, hf_kind kind,
                       const unsigned char id[16], char buf[HF_ZNODE_SIZE]);

/* What the other node of a LOCK is called on the bridge. */
size_t hf__layout_twin(const unsigned char id[16], char buf[HF_ZNODE_SIZE]);

/* Was the entry made with this id? */
bool hf__layout_has_id(const char *child, const unsigned char id[16]);

/* Do the two stand for one claim: the nodes of a pair, the leases of one who
 * took several?  `a` and `b` are entries of one folder. */
bool hf__layout_same_id(const char *a, const char *b);

/* Nobody gets in before that moment of the server's clock, in ms. */
bool hf__layout_parse_until(const char *child, int64_t *ms);
void hf__layout_until(int64_t ms, char buf[HF_ZNODE_SIZE]);

/* ---- keys -------------------------------------------------------------- */

/* The key of an entry is the path of its first node, and behind it how many
 * there are: nothing, `+` for a pair of the bridge, `*3` for three leases,
 * whose numbers follow each other because one request made them all. */
enum { HF_ONE = 1, HF_PAIR = -2 };
char *hf__zk_key_make(const char *folder, const char *child, int nodes);
size_t hf__zk_key_nodes(const char *key);

/* The path of the i-th. */
void hf__zk_key_node(const char *key, size_t i, char buf[HF_ZNODE_SIZE]);

uint64_t hf__zk_key_order(const char *key);

/* ---- names ------------------------------------------------------------- */

/* HF_ENAME in words if the name cannot be a path below the chroot, or would be
 * taken for a part of another line. */
int hf__layout_check_name(const char *chroot, const char *name, hf_error *err);

/* The children of a semaphore's or a latch's node that are not names. */
extern const char hf__zk_leases[], hf__zk_locks[], hf__zk_count[],
    hf__zk_answers[];
bool hf__layout_is_part(const char *child);

/* The child of the chroot in which clients keep their records. */
extern const char hf__zk_clients[];

#endif
