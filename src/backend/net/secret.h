/* SPDX-License-Identifier: MIT
 *
 * secret.h - passwords: where they come from, and how they go. */
#ifndef HF_NET_SECRET_H
#define HF_NET_SECRET_H

#include "../../../include/holdfast/backend.h"

/* The file's first line, to be freed with hf__secret_free.  HF_EAUTH: it
 * cannot be read, or everybody can. */
int hf__secret_read(char **ret, const char *path, hf_error *err);

/* Wiped first: memory that is given back may turn up anywhere. */
void hf__secret_free(char *text);

#endif
