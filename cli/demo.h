/* SPDX-License-Identifier: MIT
 *
 * demo.h - what the demonstrations share: a folder of their own with a store
 * in it, processes, and a way of speaking. */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include <stdbool.h>
#include <sys/types.h>

#include "../include/holdfast.h"
#include "text.h"

typedef struct demo {
    char folder[256];
    char store[320]; /* its URI */
} demo;

/* Each returns 0, or 1 if what it shows did not come true. */
int demo_flash_sale(const demo *d);
int demo_pause(const demo *d);
int demo_evolution(const demo *d);

/* A heading; lines of code that were used; a sentence in a colour. */
void demo_title(const char *text);
void demo_code(const char *lines);
void demo_say(text_colour colour, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The path of a file in the folder. */
void demo_path(const demo *d, const char *name, char *buf, size_t size);

/* Starts `fn` in a process that does not outlive us; it ends with what `fn`
 * returns. */
pid_t demo_fork(int (*fn)(void *arg), void *arg);

/* Its exit status; -1 if it did not end by itself. */
int demo_wait(pid_t pid);

/* A client of the demonstration's store, with leases of so long (0: as usual),
 * and a lock in it; leaves the process if that fails. */
hf_lock *demo_lock(const demo *d, const char *name, int lease_ms,
                   hf_client **client);

#endif
