/* SPDX-License-Identifier: MIT
 *
 * commands.h - how many commands clients sent to a Redis server.
 *
 * INFO commandstats counts what clients send and what scripts call alike, and
 * a command such as DEL may be either.  So MONITOR, which knows the two apart
 * but slows the server down, watches once, and its shares are applied to the
 * figures of undisturbed runs. */
#ifndef HF_BENCH_COMMANDS_H
#define HF_BENCH_COMMANDS_H

enum { MIX_MAX = 64 };

/* Of each command seen, how often a client sent it and how often a script
 * called it. */
typedef struct mix {
    int n;
    struct {
        char name[24];
        long sent, called;
    } of[MIX_MAX];
} mix;

void commands_watch(int port, mix *m); /* watches from now on ... */
void commands_unwatch(void);           /* ... until now           */

void commands_reset(int port);                 /* counts from now on ... */
double commands_sent(int port, const mix *m);  /* ... until now          */
void commands_version(int port, char buf[16]); /* of the server          */

#endif
