/* SPDX-License-Identifier: MIT
 *
 * notify.h - telling systemd how we are: one datagram, no library. */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

#include <stdint.h>

/* Sends "READY=1", "STATUS=…" to $NOTIFY_SOCKET; without one it does nothing,
 * and failing is harmless. */
void notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* WATCHDOG=1 if it is due; when it is due next.  `due` is what it returned
 * before, 0 at first. */
int64_t notify_beat(int64_t due);

#endif
