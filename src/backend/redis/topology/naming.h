/* SPDX-License-Identifier: MIT
 *
 * naming.h - what a sentinel says of a master, read out of its replies.  Pure:
 * a reply of any shape in, a place or nothing out. */
#ifndef HF_REDIS_NAMING_H
#define HF_REDIS_NAMING_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

/* Whom a sentinel names as the master. */
typedef struct hf_naming {
    char host[256];
    int port;
    int64_t epoch;
    int replicas; /* also those that are down */

    int sentinels, quorum, down_after_ms; /* see hf_referees */
} hf_naming;

/* Out of SENTINEL MASTER and SENTINEL GET-MASTER-ADDR-BY-NAME.  False: they
 * name none. */
bool hf__naming_read(hf_naming *ret, const redisReply *master,
                     const redisReply *place);

/* Where another sentinel is: one row of SENTINEL SENTINELS. */
bool hf__naming_of_other(hf_naming *ret, const redisReply *row);

/* Is it the message that the master of that name is another now? */
bool hf__naming_changes(const redisReply *message, const char *name);

#endif
