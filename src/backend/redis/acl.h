/* SPDX-License-Identifier: MIT
 *
 * acl.h - the least that a user of a Redis server needs, as the line that an
 * ACL file has for it.
 *
 * What can be derived is not listed: keys and channels are spelled by keys.c
 * for a name with wildcards in it, and commands are read out of the scripts as
 * this client runs them.  A table has what we send beside scripts. */
#ifndef HF_REDIS_ACL_H
#define HF_REDIS_ACL_H

#include "scripts.h"

/* No server takes this for a hash, so that a rule in which it was forgotten
 * lets nobody in. */
#define HF_ACL_PASSWORD "#SHA256_OF_THE_PASSWORD"

/* What a client does there, beside what all do. */
enum hf_acl_use {
    HF_ACL_DATABASE = 1, /* it selects one                                */
    HF_ACL_REPLICAS = 2, /* they are waited for                           */
    HF_ACL_CLUSTER = 4,
    HF_ACL_SHARDED = 8,   /* messages stay in the shard                   */
    HF_ACL_DELAY = 16,    /* there is a lock delay                        */
    HF_ACL_CHANNELS = 32, /* the server has rights for these: from 6.2    */
    HF_ACL_VOTES = 64     /* it is one of those of whom a majority decides */
};

enum { HF_ACL_COMMANDS = 128, HF_ACL_COMMAND_SIZE = 32 };

/* Commands as rules have them, `script|load`, in the order of the alphabet. */
typedef struct hf_acl {
    int n;
    char commands[HF_ACL_COMMANDS][HF_ACL_COMMAND_SIZE];
} hf_acl;

/* Those of the scripts that are used (NULL: of all), and our own. */
void hf__acl_collect(hf_acl *ret, const hf_scripts *scripts,
                     const bool used[HF_N_SCRIPTS], unsigned uses);

/* Strikes the i-th out. */
void hf__acl_strike(hf_acl *acl, int i);

/* The line, for names that begin with `prefix`; yours to free.  NULL: out of
 * memory. */
char *hf__acl_line(const hf_acl *acl, const char *prefix, unsigned uses);

/* The line for the sentinels. */
#define HF_ACL_SENTINEL                                                        \
    "user holdfast reset on " HF_ACL_PASSWORD                                  \
    " resetchannels &+switch-master +sentinel|get-master-addr-by-name "        \
    "+sentinel|master +sentinel|sentinels +subscribe"

#endif
