/* SPDX-License-Identifier: MIT
 *
 * kin.h - a process and its descendants, where no process group tells them
 * apart from others.
 *
 * Safe in a forked copy of a program with threads: system calls only, no
 * memory taken. */
#ifndef CLI_KIN_H
#define CLI_KIN_H

#include <sys/types.h>

/* Sends `sig` to the children of the process, theirs, and to itself. */
void kin_signal(pid_t pid, int sig);

#endif
