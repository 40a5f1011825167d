/* SPDX-License-Identifier: MIT
 *
 * info.h - what a server says of itself: INFO, and what its settings are. */
#ifndef HF_REDIS_INFO_H
#define HF_REDIS_INFO_H

#include "topology/node.h"

/* INFO's text.  HF_EFORBIDDEN: our user may not ask. */
typedef struct hf_info {
    redisReply *reply; /* NULL: nothing is known */
} hf_info;

int hf__info_ask(hf_info *ret, hf_node *node, hf_time by, hf_error *err);
void hf__info_clear(hf_info *info);

/* A field into buf, which is also what it gives; "": there is none. */
const char *hf__info_field(const hf_info *info, const char *name, char *buf,
                           size_t size);
bool hf__info_has(const hf_info *info, const char *name);
long long hf__info_number(const hf_info *info, const char *name);

/* Of Redis, or what Valkey takes itself for: 700 is 7.0; 0: unknown. */
int hf__info_version(const hf_info *info);

/* A setting as CONFIG GET tells it, into buf; false: we may not ask, or there
 * is none. */
bool hf__setting(hf_node *node, const char *name, char *buf, size_t size,
                 hf_time by);

#endif
