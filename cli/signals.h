/* SPDX-License-Identifier: MIT
 *
 * signals.h - signals as messages: blocked in every thread from the first
 * moment, read from a descriptor by the main thread. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

typedef struct signals {
    int fd;                /* readable when one has come             */
    sigset_t before;       /* what our parent had blocked            */
    struct sigaction chld; /* and how it had SIGCHLD                 */
} signals;

/* Takes the signals over.  Those our parent told us to ignore (nohup, a
 * shell's background job) stay ignored.  false: errno says why. */
bool signals_take(signals *s);

/* The next one, 0 if there is none.  *terminal: the terminal's driver sent it,
 * to everyone in the foreground. */
int signals_next(const signals *s, bool *terminal);

/* Gives them back: in a process that is about to execute something else.
 * Only calls that are safe there. */
void signals_restore(const signals *s);

/* "TERM", "sigterm" or "15"; 0 if there is no such signal. */
int signals_number(const char *text);

/* "TERM"; a number where it has no name. */
const char *signals_name(int sig, char buf[static 16]);

/* Does it ask us to leave, while nothing runs yet? */
bool signals_ends(int sig);

#endif
