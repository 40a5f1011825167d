/* SPDX-License-Identifier: MIT
 *
 * port.c - blocks of ports, each of one process. */
#include "port.h"

#include "wait.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_free(int port) {
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    bool ok = bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return ok;
}

/* Below the range from which the kernel takes ports by itself, so that no
 * outgoing connection sits on ours when the server comes back. */
enum { FIRST_PORT = 12000, BLOCK = 40, BLOCKS = 500 };

/* Is the block of the process that the file names, which lives? */
static bool is_taken(const char *path) {
    int pid = 0;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    if (fscanf(f, "%d", &pid) != 1)
        pid = 0;
    fclose(f);
    return pid == 0 || kill(pid, 0) == 0;
}

/* A file says whose a block is, so that two who find it stale do not both
 * have it: it is linked into place when it is written. */
static bool take_block(unsigned block) {
    char path[200], mine[220];
    const char *dir = getenv("HF_TEST_DIR");
    snprintf(path, sizeof path, "%.150s/ports-%u", dir ? dir : "/tmp", block);
    snprintf(mine, sizeof mine, "%s.%d", path, (int)getpid());
    if (!is_taken(path))
        unlink(path);
    FILE *f = fopen(mine, "we");
    if (f == NULL)
        return false;
    fprintf(f, "%d\n", (int)getpid());
    fclose(f);
    bool ok = link(mine, path) == 0;
    unlink(mine);
    return ok;
}

/* From a block that no other test has: whoever still calls at the port of a
 * server that was killed, a client or a replica, must not find a stranger's. */
int hf_test_free_port(void) {
    static unsigned block = BLOCKS, next;
    for (unsigned i = 0; block == BLOCKS && i < BLOCKS; i++)
        if (take_block(((unsigned)getpid() + i) % BLOCKS))
            block = ((unsigned)getpid() + i) % BLOCKS;
    assert_in_range(block, 0, BLOCKS - 1);
    for (;;) {
        int port = FIRST_PORT + (int)(block * BLOCK + next++ % BLOCK);
        if (is_free(port))
            return port;
    }
}
