/* SPDX-License-Identifier: MIT
 *
 * doing.h - what this client holds and waits for, gathered from its spots. */
#ifndef HF_DOING_H
#define HF_DOING_H

#include "client.h"
#include "presence.h"

/* What is over sooner is nobody's business: a lock that is taken and given
 * back at once costs no record. */
#define HF_LASTING (HF_SECOND / 2)

/* What it says to others: all that began `ripe` or before.  Of what did not,
 * *young is when the oldest began; HF_NEVER: there is none.  Each is marked,
 * so that its end is noticed. */
void hf__doing_tell(hf_client *client, hf_time ripe, hf_doings *ret,
                    hf_time *young);

/* All that it does at this moment, for our own eyes. */
void hf__doing_now(hf_client *client, hf_doings *ret);

#endif
