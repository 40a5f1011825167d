/* SPDX-License-Identifier: MIT
 *
 * wake.c - datagrams, sockets as signs of life, and the ends of processes.
 *
 * When is a client dead?  When its record is gone, or when its socket refuses
 * us: the kernel closes a dead process's sockets and keeps their names.  Who
 * inherits the socket lives on for the client; that is how a guard keeps the
 * next holder out until it has stopped what the killed one had started.  A
 * name that is missing proves nothing, because somebody may have cleaned up
 * the folder; then the process is asked for, where we can see it.  Where we
 * cannot tell it lives, and its lease will end it.
 *
 * The end of a process is only the sign to look.  One listener thread per
 * client, from the first wait on, sleeps on an epoll of the socket and, for
 * every wait, of pidfds of the processes that it waits for. */
#include "wake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"

enum {
    /* The kernel's default queue of datagrams.  After so many without a pause
     * some may have been refused, and every line may have moved. */
    BURST = 10,
    YOUNG_S = 60,  /* a socket whose owner may still be at work making it */
    NAME_ROOM = 41 /* a client's id and ".sock" */
};

/* Ids in the epoll; watches are numbered from FIRST_WATCH on. */
enum { BELL, SOCKET, FIRST_WATCH };

/* A client whose end we would notice. */
typedef struct mark {
    struct mark *next;
    int pidfd;
    char client[37];
} mark;

typedef struct watch {
    struct watch *next;
    uint64_t id;
    uint64_t owner;
    hf_kind kind;
    mark *marks;
    char name[];
} watch;

struct hf_wake {
    const hf_host *host;
    const hf_file *file;
    char *base;    /* how socket addresses begin */
    int folder_fd; /* -1: the path is short enough without */
    int socket;    /* ours; -1: not yet */
    int out;       /* for ringing; -1: not yet */
    int64_t pidns;

    pthread_mutex_t mu;
    watch *watches;   /* mu */
    uint64_t last_id; /* mu */
    bool listens;     /* mu: the rest is set */
    pthread_t listener;
    int epoll, bell;
};

/* ---- addresses --------------------------------------------------------- */

static void address(const hf_wake *w, const char *client,
                    struct sockaddr_un *ret) {
    memset(ret, 0, sizeof *ret);
    ret->sun_family = AF_UNIX;
    snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%.36s.sock", w->base,
             client);
}

/* A socket's address has room for about a hundred bytes.  A longer path is
 * reached through a descriptor of its folder. */
static int shorten(hf_wake *w, hf_error *err) {
    w->folder_fd = open(w->file->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w->folder_fd < 0)
        return hf__fail(err, HF_EFORBIDDEN, "cannot use the folder %s: %s",
                        w->file->folder, strerror(errno));
    if (hf__asprintf(&w->base, "/proc/self/fd/%d", w->folder_fd) < 0) {
        w->base = NULL;
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    return HF_OK;
}

static int make_folder(const hf_wake *w, hf_error *err) {
    const char *path = w->file->folder;
    mode_t mode = w->file->mode == 0660 ? 02770 : 0700;

    if (mkdir(path, 0700) == 0 ?
            chmod(path, mode) == 0 && hf__file_share(w->file, path) :
            errno == EEXIST)
        return HF_OK;
    return hf__fail(err, errno == ENOSPC ? HF_EFULL : HF_EFORBIDDEN,
                    "cannot make the folder %s: %s", path, strerror(errno));
}

int64_t hf__wake_pidns(const hf_wake *w) {
    return w->pidns;
}

int hf__wake_open(hf_wake **ret, const hf_file *file, const hf_host *host,
                  hf_error *err) {
    struct sockaddr_un room;
    struct stat st;
    hf_wake *w = hf__calloc(1, sizeof *w);
    int rc = HF_OK;

    *ret = NULL;
    if (w == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    pthread_mutex_init(&w->mu, NULL);
    w->host = host;
    w->file = file;
    w->folder_fd = w->socket = w->out = w->epoll = w->bell = -1;
    w->last_id = FIRST_WATCH;
    w->pidns = stat("/proc/self/ns/pid", &st) == 0 ? (int64_t)st.st_ino : 0;
    if (strlen(w->file->folder) + 1 + NAME_ROOM >= sizeof room.sun_path) {
        rc = make_folder(w, err);
        if (rc == HF_OK)
            rc = shorten(w, err);
    } else if ((w->base = hf__strdup(w->file->folder)) == NULL)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        *ret = w;
    else
        hf__wake_close(w, false, false);
    return rc;
}

static int new_socket(void) {
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int hf__wake_appear(hf_wake *w, hf_error *err) {
    struct sockaddr_un at;
    int fd, rc;

    if (w->socket >= 0)
        return HF_OK;
    fd = new_socket();
    if (fd < 0)
        return hf__fail(err, HF_ESYSTEM, "cannot make a socket: %s",
                        strerror(errno));
    address(w, w->host->identity.client, &at);
    rc = bind(fd, (struct sockaddr *)&at, sizeof at);
    if (rc < 0 && errno == ENOENT) {
        rc = make_folder(w, err);
        if (rc != HF_OK) {
            close(fd);
            return rc;
        }
        rc = bind(fd, (struct sockaddr *)&at, sizeof at);
    }
    if (rc < 0) {
        hf__fail(err, errno == ENOSPC ? HF_EFULL : HF_EFORBIDDEN,
                 "cannot make a socket in %s: %s", w->file->folder,
                 strerror(errno));
        close(fd);
        return err->code;
    }
    hf__file_share(w->file, at.sun_path);
    w->socket = fd;
    return HF_OK;
}

/* ---- life -------------------------------------------------------------- */

/* What comes of knocking at a client's socket: 0, or why it cannot be
 * reached. */
static int knock(const hf_wake *w, const char *client) {
    struct sockaddr_un to;
    int fd = new_socket(), why = 0;

    if (fd < 0)
        return errno;
    address(w, client, &to);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        why = errno;
    close(fd);
    return why;
}

static int open_pidfd(int64_t pid) {
    return (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
}

static bool has_ended(int pidfd) {
    struct pollfd end = {.fd = pidfd, .events = POLLIN};

    return poll(&end, 1, 0) > 0;
}

static bool is_no_more(int64_t pid) {
    int pidfd = open_pidfd(pid);
    bool ended;

    if (pidfd < 0)
        return errno == ESRCH;
    ended = has_ended(pidfd);
    close(pidfd);
    return ended;
}

/* A neighbour whose process we can see. */
static bool in_sight(const hf_wake *w, const hf_peer *peer) {
    return peer->pid > 0 && peer->pidns != 0 && peer->pidns == w->pidns;
}

bool hf__wake_lives(const hf_wake *w, const hf_peer *peer) {
    if (!peer->known)
        return false;
    if (strcmp(peer->client, w->host->identity.client) == 0)
        return true;
    switch (knock(w, peer->client)) {
    case ECONNREFUSED:
        return false;
    case ENOENT:
        return !(in_sight(w, peer) && is_no_more(peer->pid));
    default:
        return true;
    }
}

void hf__wake_remove(const hf_wake *w, const char *client) {
    struct sockaddr_un at;

    address(w, client, &at);
    unlink(at.sun_path);
}

/* Old enough to be no socket that is just being made? */
static bool is_old(int folder, const char *name) {
    struct stat st;

    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISSOCK(st.st_mode) &&
           hf__world->wall_us() / 1000000 - st.st_mtime > YOUNG_S;
}

int hf__wake_sweep(const hf_wake *w) {
    DIR *dir = opendir(w->file->folder);
    struct dirent *e;
    int n = 0;

    if (dir == NULL)
        return 0;
    while ((e = readdir(dir)) != NULL) {
        if (strlen(e->d_name) != NAME_ROOM || !is_old(dirfd(dir), e->d_name) ||
            knock(w, e->d_name) != ECONNREFUSED)
            continue;
        hf__wake_remove(w, e->d_name);
        n++;
    }
    closedir(dir);
    return n;
}

/* ---- ringing ----------------------------------------------------------- */

/* A message is the kind and the name, and behind a zero the owner that is
 * meant.  A full queue is no failure: who is behind it has enough to read, and
 * understands (BURST). */
bool hf__wake_ring(hf_wake *w, const char *client, hf_kind kind,
                   const char *name, uint64_t owner) {
    char message[1 + HF_NAME_MAX + 1 + sizeof owner];
    struct sockaddr_un to;
    size_t size = strnlen(name, HF_NAME_MAX);

    if (strcmp(client, w->host->identity.client) == 0) {
        w->host->woken(w->host->core, kind, name, owner);
        return true;
    }
    if (w->out < 0)
        w->out = new_socket();
    message[0] = (char)kind;
    memcpy(message + 1, name, size);
    message[1 + size] = '\0';
    memcpy(message + size + 2, &owner, sizeof owner);
    address(w, client, &to);
    return sendto(w->out, message, size + 2 + sizeof owner, MSG_NOSIGNAL,
                  (struct sockaddr *)&to, sizeof to) >= 0 ||
           (errno != ECONNREFUSED && errno != ENOENT);
}

/* ---- listening --------------------------------------------------------- */

/* Listener thread.  Who knows only the plain lock names no owner. */
static void understand(hf_wake *w, const char *message, size_t size) {
    size_t name = strlen(message + 1);
    uint64_t owner = 0;

    if (message[0] < 0 || message[0] >= HF_KINDS)
        return;
    if (size == name + 2 + sizeof owner)
        memcpy(&owner, message + name + 2, sizeof owner);
    w->host->woken(w->host->core, (hf_kind)message[0], message + 1, owner);
}

/* Listener thread. */
static void hear(hf_wake *w) {
    char message[1 + HF_NAME_MAX + 1 + sizeof(uint64_t) + 1];
    ssize_t size;
    int n = 0;

    while ((size = recv(w->socket, message, sizeof message - 1, 0)) >= 0) {
        message[size] = '\0';
        if (++n % BURST == 0 || size < 2)
            w->host->woken(w->host->core, HF_LOCK, NULL, 0);
        else
            understand(w, message, (size_t)size);
    }
}

/* mu. */
static void remove_mark(hf_wake *w, mark **link) {
    mark *gone = *link;

    *link = gone->next;
    epoll_ctl(w->epoll, EPOLL_CTL_DEL, gone->pidfd, NULL);
    close(gone->pidfd);
    hf__free(gone);
}

/* Listener thread: a process behind a watch has ended. */
static void mourn(hf_wake *w, uint64_t id) {
    hf_kind kind = HF_LOCK;
    uint64_t owner = 0;
    char *name = NULL;
    watch *at;

    pthread_mutex_lock(&w->mu);
    for (at = w->watches; at != NULL && at->id != id; at = at->next)
        ;
    if (at != NULL) {
        kind = hf_line_kind(at->kind);
        owner = at->owner;
        name = hf__strdup(at->name); /* else NULL, which is every line */
    }
    pthread_mutex_unlock(&w->mu);
    if (at != NULL)
        w->host->woken(w->host->core, kind, name, owner);
    hf__free(name);
}

static void *listen_loop(void *arg) {
    hf_wake *w = arg;
    struct epoll_event events[16];
    struct pollfd any = {.fd = w->epoll, .events = POLLIN};

    for (;;) {
        hf__world->poll(&any, 1, HF_NEVER);
        int n = epoll_wait(w->epoll, events, 16, 0);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == BELL)
                return NULL;
            if (events[i].data.u64 == SOCKET)
                hear(w);
            else
                mourn(w, events[i].data.u64);
        }
    }
}

static int listen_to(const hf_wake *w, int fd, uint32_t events, uint64_t id) {
    struct epoll_event event = {.events = events, .data.u64 = id};

    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* mu. */
static int start_listening(hf_wake *w, hf_error *err) {
    if (w->listens)
        return HF_OK;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll >= 0 && w->bell >= 0 &&
        listen_to(w, w->bell, EPOLLIN, BELL) == 0 &&
        listen_to(w, w->socket, EPOLLIN, SOCKET) == 0 &&
        hf__world->thread_start(&w->listener, listen_loop, w) == 0) {
        w->listens = true;
        return HF_OK;
    }
    if (w->epoll >= 0)
        close(w->epoll);
    if (w->bell >= 0)
        close(w->bell);
    w->epoll = w->bell = -1;
    return hf__fail(err, HF_ESYSTEM, "cannot start to listen in %s",
                    w->file->folder);
}

/* ---- watches ----------------------------------------------------------- */

/* mu.  Where the watch of the claim hangs, or the end. */
static watch **find(hf_wake *w, const hf_claim *c) {
    watch **at = &w->watches;

    while (*at != NULL && ((*at)->owner != c->owner || (*at)->kind != c->kind ||
                           strcmp((*at)->name, c->name) != 0))
        at = &(*at)->next;
    return at;
}

int hf__wake_watch(hf_wake *w, const hf_claim *c, hf_error *err) {
    size_t size = strlen(c->name) + 1;
    watch *new = hf__calloc(1, sizeof *new + size);
    int rc;

    if (new == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    new->owner = c->owner;
    new->kind = c->kind;
    memcpy(new->name, c->name, size);
    pthread_mutex_lock(&w->mu);
    rc = start_listening(w, err);
    if (rc == HF_OK) {
        new->id = ++w->last_id;
        new->next = w->watches;
        w->watches = new;
    }
    pthread_mutex_unlock(&w->mu);
    if (rc != HF_OK)
        hf__free(new);
    return rc;
}

void hf__wake_unwatch(hf_wake *w, const hf_claim *c) {
    watch **at, *gone;

    pthread_mutex_lock(&w->mu);
    at = find(w, c);
    gone = *at;
    if (gone != NULL) {
        while (gone->marks != NULL)
            remove_mark(w, &gone->marks);
        *at = gone->next;
    }
    pthread_mutex_unlock(&w->mu);
    hf__free(gone);
}

static bool names(const hf_peer *peers, size_t n, const char *client) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(peers[i].client, client) == 0)
            return true;
    return false;
}

static bool has_mark(const watch *at, const char *client) {
    const mark *m = at->marks;

    while (m != NULL && strcmp(m->client, client) != 0)
        m = m->next;
    return m != NULL;
}

/* mu.  A mark tells once: who has ended, and yet lives on in another process,
 * must not wake us again and again. */
static void add_mark(hf_wake *w, watch *at, const hf_peer *peer) {
    int pidfd = open_pidfd(peer->pid);
    mark *new = pidfd >= 0 ? hf__calloc(1, sizeof *new) : NULL;

    if (new != NULL && !has_ended(pidfd) &&
        listen_to(w, pidfd, EPOLLIN | EPOLLONESHOT, at->id) == 0) {
        new->pidfd = pidfd;
        memcpy(new->client, peer->client, sizeof new->client);
        new->next = at->marks;
        at->marks = new;
        return;
    }
    if (pidfd >= 0)
        close(pidfd);
    hf__free(new);
}

/* mu.  Marks of clients that are not waited for any more. */
static void drop_marks(hf_wake *w, watch *at, const hf_peer *peers, size_t n) {
    for (mark **link = &at->marks; *link != NULL;)
        if (names(peers, n, (*link)->client))
            link = &(*link)->next;
        else
            remove_mark(w, link);
}

/* mu.  It may have died between our look at it and the opening of its pidfd,
 * which is then another process's: hence the second look. */
static bool arm(hf_wake *w, watch *at, const hf_peer *peer) {
    if (!in_sight(w, peer) || peer->pid == getpid() ||
        has_mark(at, peer->client))
        return true;
    add_mark(w, at, peer);
    return hf__wake_lives(w, peer);
}

bool hf__wake_arm(hf_wake *w, const hf_claim *c, const hf_peer *peers,
                  size_t n) {
    bool live = true;
    watch *at;

    pthread_mutex_lock(&w->mu);
    at = *find(w, c);
    if (at != NULL)
        drop_marks(w, at, peers, n);
    for (size_t i = 0; at != NULL && i < n; i++)
        live = arm(w, at, &peers[i]) && live;
    pthread_mutex_unlock(&w->mu);
    return live;
}

/* ---- the end ----------------------------------------------------------- */

static void close_all(hf_wake *w) {
    int fds[] = {w->socket, w->out, w->epoll, w->bell, w->folder_fd};

    while (w->watches != NULL) {
        watch *gone = w->watches;
        w->watches = gone->next;
        for (mark *m = gone->marks, *next; m != NULL; m = next) {
            next = m->next;
            close(m->pidfd); /* the epoll may be our parent's as well */
            hf__free(m);
        }
        hf__free(gone);
    }
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

void hf__wake_close(hf_wake *w, bool stay, bool forked) {
    if (w == NULL)
        return;
    if (!forked && w->listens) {
        eventfd_write(w->bell, 1);
        hf__world->thread_join(w->listener);
    }
    if (!forked && !stay && w->socket >= 0)
        hf__wake_remove(w, w->host->identity.client);
    close_all(w);
    if (!forked)
        pthread_mutex_destroy(&w->mu);
    hf__free(w->base);
    hf__free(w);
}
