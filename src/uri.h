/* SPDX-License-Identifier: MIT
 *
 * uri.h - what the rest of the library wants of addresses beyond backend.h. */
#ifndef HF_URI_H
#define HF_URI_H

#include "../include/holdfast/backend.h"

/* The word of `known` (NULL at the end) that was probably meant by `word`, or
 * NULL if none is near. */
const char *hf__uri_suggest(const char *word, const char *const *known);

/* Every parameter must be one of `known` (NULL at the end; NULL: none) or one
 * that every store has: hf_prefix, hf_ttl, hf_timeout, hf_presence.  HF_EURI
 * names the wrong one and the one that was meant. */
int hf__uri_check_params(const hf_uri *uri, const char *const *known,
                         hf_error *err);

/* The parameter as a duration, "1500ms", "30s", "5m", "2h", "1d", a bare
 * number being seconds.  *ms stays as it was when there is none. */
int hf__uri_ms(const hf_uri *uri, const char *key, int *ms, hf_error *err);

/* Between the two halves of the parser: the rules of uri_rules.c, and a text of
 * the address set anew. */
int hf__uri_settle(hf_uri *uri, hf_error *err);
int hf__uri_replace(char **text, const char *by, hf_error *err);

#endif
