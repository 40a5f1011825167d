/* SPDX-License-Identifier: MIT
 *
 * look.h - who is stuck, as the store and its clients' records have it. */
#ifndef HF_LOOK_H
#define HF_LOOK_H

#include "client.h"
#include "deadlock.h"

/* The circles that there are, each of which the store confirms; they point
 * into the records.  On HF_OK both are the caller's to free. */
int hf__find_stuck(hf_client *client, hf_records *records, hf_circles *ret,
                   hf_time by, hf_error *err);

#endif
