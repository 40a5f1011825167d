/* SPDX-License-Identifier: MIT
 *
 * wish.h - what a client asks for in the body of a request. */
#ifndef CONSOLE_WISH_H
#define CONSOLE_WISH_H

#include "../include/holdfast.h"

enum { WISH_TEXT = 512, WISH_WAIT_MOST_MS = 3600000, WISH_TTL_LEAST_MS = 1000 };

/* Texts are "" where the body does not say. */
typedef struct wish {
    int wait_ms; /* 0: do not wait                                        */
    int ttl_ms;  /* 0: the default                                        */
    char mode[16];
    int permits; /* 0: the default                                        */
    char token[WISH_TEXT], confirm[WISH_TEXT], owner[WISH_TEXT];
} wish;

/* Reads an object of JSON; an empty body is one without members.  HF_OK, or
 * HF_EUSAGE with the reason. */
int wish_read(wish *w, const char *body, size_t n, hf_error *err);

#endif
