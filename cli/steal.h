/* SPDX-License-Identifier: MIT
 *
 * steal.h - taking a lock away from its holder, and the words for it. */
#ifndef CLI_STEAL_H
#define CLI_STEAL_H

#include "../include/holdfast.h"

/* Only from this holder: if it changed hands meanwhile, the consent was to
 * something else, and the answer is HF_EFREE. */
int steal_from(hf_client *client, const char *name, const hf_place *holder,
               hf_error *err);

/* What is said when it is done. */
void steal_words(const char *name, uint64_t token, char *buf, size_t size);

extern const char steal_question[]; /* what asks for the name */

#endif
