/* SPDX-License-Identifier: MIT
 *
 * notify.c - telling systemd how we are. */
#include "notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "moment.h"

void notify(const char *format, ...) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char text[1024];
    va_list args;
    int fd;
    if (!path || (*path != '/' && *path != '@') ||
        strlen(path) >= sizeof(to.sun_path))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    strcpy(to.sun_path, path);
    if (*path == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
           (const struct sockaddr *)&to,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    close(fd);
}

/* Half of the time allowed, as systemd's manual advises; 0: nobody asked. */
static int beat_ms(void) {
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    long long us = usec ? atoll(usec) : 0;
    if (us <= 0 || (pid && atoll(pid) != (long long)getpid()))
        return 0;
    us /= 2000;
    return us < 1 ? 1 : us > 86400000 ? 86400000 : (int)us;
}

int64_t notify_beat(int64_t due) {
    int64_t now = moment_now();
    int ms;
    if (now < due)
        return due;
    ms = beat_ms();
    if (ms == 0)
        return MOMENT_NEVER;
    notify("WATCHDOG=1");
    return now + ms;
}
