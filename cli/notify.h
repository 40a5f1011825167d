/* SPDX-License-Identifier: MIT
 *
 * notify.h - telling systemd how we are: one datagram, no library. */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

/* Sends "READY=1", "STATUS=…" to $NOTIFY_SOCKET; without one it does nothing,
 * and failing is harmless. */
void notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often WATCHDOG=1 is due in milliseconds; 0: nobody asked for it. */
int notify_watchdog_ms(void);

#endif
