/* SPDX-License-Identifier: MIT
 *
 * listen.c - where the console is to be found. */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../cli/status.h"

enum { BACKLOG = 511 };

static int fail(const char *where) {
    complain("cannot listen on %s: %s", where, strerror(errno));
    return EXIT_UNAVAILABLE;
}

/* ---- a Unix socket ----------------------------------------------------- */

/* Does somebody answer there? */
static bool is_taken(const struct sockaddr_un *at) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken =
        fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;
    if (fd >= 0)
        close(fd);
    return taken;
}

static bool is_socket(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The mode holds from the first moment: bind makes it by the mask. */
static bool bind_private(int fd, const struct sockaddr_un *at) {
    mode_t before = umask(0177);
    bool bound = bind(fd, (const struct sockaddr *)at, sizeof(*at)) == 0;
    umask(before);
    return bound;
}

static int open_local(place_to_listen *p, const char *path) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof(at.sun_path)) {
        complain("unix:%s: the path must have 1 to %zu bytes", path,
                 sizeof(at.sun_path) - 1);
        return EXIT_USAGE;
    }
    strcpy(at.sun_path, path);
    if (is_socket(path)) {
        errno = EADDRINUSE;
        if (is_taken(&at))
            return fail(path);
        unlink(path);
    }
    p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0 || !bind_private(p->fd, &at))
        return fail(path);
    strcpy(p->path, path);
    p->local = true;
    return listen(p->fd, BACKLOG) == 0 ? 0 : fail(path);
}

/* ---- an address -------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *at) {
    if (at->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 ==
               127;
    return at->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

/* Splits "HOST:PORT"; the host keeps its brackets. */
static bool split(const char *where, char *host, size_t size,
                  const char **port) {
    const char *colon = strrchr(where, ':');
    size_t n = colon ? (size_t)(colon - where) : 0;
    bool bracketed = n > 1 && *where == '[' && where[n - 1] == ']';
    if (n == 0 || n >= size || !colon[1] ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0' ||
        (memchr(where, ':', n) && !bracketed))
        return false;
    memcpy(host, where, n);
    host[n] = '\0';
    *port = colon + 1;
    return true;
}

static int look_up(const char *host, const char *port, struct addrinfo **ret) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char bare[128];
    size_t n = strlen(host);
    int r;
    if (*host == '[')
        snprintf(bare, sizeof(bare), "%.*s", (int)(n - 2), host + 1);
    else
        snprintf(bare, sizeof(bare), "%s", host);
    r = getaddrinfo(bare, port, &hints, ret);
    if (r != 0)
        complain("cannot listen on %s: %s", host, gai_strerror(r));
    return r == 0 ? 0 : EXIT_UNAVAILABLE;
}

static int port_of(int fd) {
    struct sockaddr_storage at;
    socklen_t n = sizeof(at);
    if (getsockname(fd, (struct sockaddr *)&at, &n) != 0)
        return 0;
    return ntohs(at.ss_family == AF_INET6 ?
                     ((struct sockaddr_in6 *)&at)->sin6_port :
                     ((struct sockaddr_in *)&at)->sin_port);
}

static int open_address(place_to_listen *p, const char *where) {
    struct addrinfo *found;
    const char *port;
    int one = 1, status;
    if (!split(where, p->host, sizeof(p->host), &port)) {
        complain("--listen: '%s' is neither HOST:PORT nor unix:PATH", where);
        return EXIT_USAGE;
    }
    status = look_up(p->host, port, &found);
    if (status != 0)
        return status;
    p->open = !is_loopback(found->ai_addr);
    p->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->fd < 0 ||
        setsockopt(p->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(p->fd, found->ai_addr, found->ai_addrlen) != 0 ||
        listen(p->fd, BACKLOG) != 0)
        status = fail(where);
    freeaddrinfo(found);
    p->port = status == 0 ? port_of(p->fd) : 0;
    return status;
}

/* ---- both -------------------------------------------------------------- */

int listen_open(place_to_listen *p, const char *where) {
    memset(p, 0, sizeof(*p));
    p->fd = -1;
    return strncmp(where, "unix:", 5) == 0 ? open_local(p, where + 5) :
                                             open_address(p, where);
}

void listen_close(place_to_listen *p) {
    if (*p->path)
        unlink(p->path);
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}
