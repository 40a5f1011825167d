/* SPDX-License-Identifier: MIT
 *
 * seal.c - libzookeeper's socket is not for programs that are started.
 *
 * It is opened without close-on-exec and given to nobody; but libzookeeper says
 * to whom it leads.  So every connection of this process to that server is
 * sealed, whosever it is: no other program has a use for half of one. */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

static bool same_address(const struct sockaddr_storage *a,
                         const struct sockaddr_storage *b) {
    const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
    const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return a4->sin_port == b4->sin_port &&
               a4->sin_addr.s_addr == b4->sin_addr.s_addr;
    return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
           memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
}

static void seal_if(int fd, const struct sockaddr_storage *server) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;

    if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
        same_address(&peer, server))
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void hf__zk_seal(hf_session *s) {
    struct sockaddr_storage server;
    socklen_t size = sizeof server;
    struct dirent *entry;
    DIR *fds;

    if (!zookeeper_get_connected_host(s->zh, (struct sockaddr *)&server, &size))
        return;
    fds = opendir("/proc/self/fd");
    while (fds && (entry = readdir(fds)))
        if (entry->d_name[0] != '.')
            seal_if(atoi(entry->d_name), &server);
    if (fds)
        closedir(fds);
}
