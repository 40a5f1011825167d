/* SPDX-License-Identifier: MIT
 *
 * slot.h - the slot of a key: which part of a cluster has it. */
#ifndef HF_REDIS_SLOT_H
#define HF_REDIS_SLOT_H

#include <stdint.h>

enum { HF_SLOTS = 16384 };

/* What stands in the first braces counts, if anything does; else the whole. */
unsigned hf__slot(const char *key);

/* For every slot a number that lies in it when written in decimal: what goes
 * into the braces of a key of ours that shall lie there. */
void hf__slot_tags(uint32_t tags[HF_SLOTS]);

#endif
