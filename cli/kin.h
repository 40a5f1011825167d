/* SPDX-License-Identifier: MIT
 *
 * kin.h - a process and its descendants, where no process group tells them
 * apart from others; and our own descriptors.
 *
 * Everything here is safe in a forked copy of a program with threads: system
 * calls only, no memory taken. */
#ifndef CLI_KIN_H
#define CLI_KIN_H

#include <sys/types.h>

/* Sends `sig` to the children of the process, theirs, and to itself. */
void kin_signal(pid_t pid, int sig);

/* Closes every descriptor that was not opened by us: ours are close-on-exec,
 * those handed to us at exec cannot be. */
void kin_close_inherited(void);

#endif
