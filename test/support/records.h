/* SPDX-License-Identifier: MIT
 *
 * records.h - what clients say of themselves in their store, past the core. */
#ifndef HF_TEST_RECORDS_H
#define HF_TEST_RECORDS_H

#include "holdfast.h"

/* A client's number, as text. */
const char *hf_test_id(hf_client *client);

/* Writes the client's record as the core would.  It must hold and wait for
 * nothing, or the core writes it, too. */
void hf_test_announce(hf_client *client, const char *doing);

/* How many records `client` sees, and what that of `whose` says; NULL: it has
 * none.  Lent until the next call. */
int hf_test_records(hf_client *client, hf_client *whose, const char **doing);

/* A record says who and what, as it was said last, and goes with its client. */
void hf_test_records_are_kept(const char *uri);

#endif
