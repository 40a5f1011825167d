/* SPDX-License-Identifier: MIT
 *
 * metrics.h - the numbers of one run, in a file for node_exporter. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "../include/holdfast.h"

/* Puts them into `file`, all at once; NULL: nowhere.  Without a client there
 * is but one thing to say: that the store was not reached.  Complains when it
 * cannot, which is no reason to call the run a failure. */
void metrics_write(const char *file, hf_client *client);

#endif
