/* SPDX-License-Identifier: MIT
 *
 * sentinel.h - who the master is, by the word of the sentinels.
 *
 * A sentinel watches servers, and together they decide who becomes the master.
 * Each decision has a number, the epoch, above all before it.  We keep asking
 * every sentinel we know of, and listen to each: the master is whom the one
 * with the highest epoch names, not whom the first to answer names, for a
 * sentinel that was cut off from the others goes on naming the old one. */
#ifndef HF_REDIS_SENTINEL_H
#define HF_REDIS_SENTINEL_H

#include "topology.h"

typedef struct hf_sentinels hf_sentinels;

/* Begins to ask those in the address, and returns when it is known who the
 * master is: all have answered, or a moment has passed since the first did.
 *   HF_EDOWN    no sentinel can be reached
 *   HF_EURI     none of them knows a master of that name
 *   HF_EAUTH, HF_EFORBIDDEN, HF_ETLS
 *               as one of them said, and no other had an answer */
int hf__sentinels_new(hf_sentinels **ret, const hf_uri *uri,
                      const hf_host *host, hf_time by, hf_error *err);

/* Asks nobody any more, and tells nothing; who the master was can still be
 * asked. */
void hf__sentinels_stop(hf_sentinels *s);
void hf__sentinels_free(hf_sentinels *s, bool forked); /* NULL is allowed */

/* All of them as a URI, without secrets; lent. */
const char *hf__sentinels_where(const hf_sentinels *s);

/* What is told of the master: whether another server has become it (or the
 * same one, once more), and how many replicas it has, also those that are
 * down.  A sentinel's thread, with no lock of ours held. */
typedef void hf_sentinel_fn(void *arg, bool moved, int replicas);

/* Calls fn once, now, and from now on whenever there is something to tell. */
void hf__sentinels_follow(hf_sentinels *s, hf_sentinel_fn *fn, void *arg);

/* An hf_find_fn; arg is the hf_sentinels.  The master as far as we know, and
 * all sentinels are asked again. */
int hf__sentinels_find(void *arg, const hf_target **ret, hf_time by,
                       hf_error *err);

/* Something is wrong with the master: all sentinels are asked again. */
void hf__sentinels_look(hf_sentinels *s);

/* What they say of themselves. */
void hf__sentinels_count(hf_sentinels *s, hf_referees *ret);

#endif
