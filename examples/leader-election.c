/* SPDX-License-Identifier: MIT
 *
 * leader-election.c - three candidates, one leader, and what can befall it.
 *
 *     cc leader-election.c $(pkg-config --cflags --libs holdfast) -o leader-election
 *     ./leader-election [STORE]
 *
 * Whoever holds the lock leads.  The first leader is killed, and another one
 * takes over.  That one is stopped for longer than its lease, which the others
 * cannot tell from death: a third one leads.  When the second one goes on it is
 * told that it has lost the lead, and stands by again.  stand() is what you
 * came for.
 *
 * From the shell, and with a program to run: holdfast lead. */
#include "stage.h"

#include <holdfast.h>
#include <inttypes.h>

enum {
    CANDIDATES = 3,
    LEASE_MS = 2000, /* so long a stopped leader keeps the others out */
    WAIT_MS = 20000, /* for news; nothing takes so long               */
    TERMS = 4
};

typedef enum turn { LEADS, LOST, RESIGNED } turn;

typedef struct news {
    int who; /* 0 for a */
    turn turn;
    uint64_t token; /* of its term */
} news;

typedef struct candidate {
    const char *store;
    int who;
    int news;      /* a pipe to the director */
    int orders[2]; /* a pipe from there: a byte means "resign" */
    pid_t pid;
} candidate;

typedef struct director {
    const stage *stage;
    candidate all[CANDIDATES];
    int news[2];
    uint64_t tokens[TERMS];
    int terms;
} director;

/* ---- a candidate ------------------------------------------------------- */

static void tell(const candidate *c, turn t, uint64_t token) {
    news n = {.who = c->who, .turn = t, .token = token};
    stage_tell(c->news, &n, sizeof n);
}

/* Leads until it is told to resign, or that it no longer leads.  Work would
 * come here, in steps: before each of them hf_lock_is_held costs nothing, and
 * what it writes takes the token along (exactly-once/). */
static turn lead(const candidate *c, hf_lock *lock) {
    struct pollfd fds[] = {{.fd = hf_lock_lost_fd(lock), .events = POLLIN},
                           {.fd = c->orders[0], .events = POLLIN}};
    char order;
    stage_need(fds[0].fd >= 0, hf_strerror(fds[0].fd));
    while (poll(fds, 2, -1) < 0)
        stage_need(errno == EINTR, "poll");
    if (fds[0].revents) /* looked at first: bad news are more urgent */
        return LOST;
    stage_need(read(c->orders[0], &order, 1) == 1, "orders");
    return RESIGNED;
}

/* One term: waits its turn, leads, gives the lead back. */
static int serve(const candidate *c, hf_lock *lock, turn *end, hf_error *err) {
    int rc = hf_lock_acquire(lock, HF_FOREVER, err);
    if (rc != HF_OK)
        return rc;
    uint64_t token = hf_lock_token(lock); /* 0 when it is lost */
    tell(c, LEADS, token);
    *end = lead(c, lock);
    tell(c, *end, token);
    rc = hf_lock_release(lock, err);
    return rc == HF_ELOST ? HF_OK : rc; /* known already */
}

static int stand(void *arg) {
    const candidate *c = arg;
    char host[] = {(char)('a' + c->who), '\0'};
    hf_options options = HF_OPTIONS_INIT;
    hf_client *client = NULL;
    hf_lock *lock = NULL;
    hf_error err;
    turn end = LOST;
    options.lease_ms = LEASE_MS;
    options.host = host; /* what `holdfast show leader` says */
    int rc = hf_open(&client, c->store, &options, &err);
    if (rc == HF_OK)
        rc = hf_lock_new(&lock, client, "leader", NULL, &err);
    while (rc == HF_OK && end != RESIGNED)
        rc = serve(c, lock, &end, &err);
    if (rc != HF_OK)
        fprintf(stderr, "%s: %s\n", host, err.text);
    hf_lock_free(lock);
    hf_close(client);
    return rc == HF_OK ? 0 : 1;
}

/* ---- the director ------------------------------------------------------ */

static void at(const director *d) {
    printf("%6lld ms  ", (long long)(stage_now_ms() - d->stage->began_ms));
}

/* The next news, which must be this; returns who it is about. */
static candidate *await(director *d, turn expected) {
    static const char *const words[] = {
        [LEADS] = "leads, token",
        [LOST] = "is told that it lost the lead, and stops; token",
        [RESIGNED] = "resigns, token"};
    news n;
    if (!stage_hear(d->news[0], &n, sizeof n, WAIT_MS)) {
        fprintf(stderr, "no news any more\n");
        exit(1);
    }
    at(d);
    printf("%c %s %" PRIu64 "\n", 'a' + n.who, words[n.turn], n.token);
    if (n.turn != expected) {
        fprintf(stderr, "that was not to be expected\n");
        exit(1);
    }
    if (n.turn == LEADS)
        d->tokens[d->terms++] = n.token;
    return &d->all[n.who];
}

static void order_to_resign(const candidate *c) {
    stage_tell(c->orders[1], "r", 1);
}

static void say(const director *d, const candidate *c, const char *what) {
    at(d);
    printf("%c %s\n", 'a' + c->who, what);
}

static void assemble(director *d) {
    stage_need(pipe2(d->news, O_CLOEXEC) == 0, "pipe");
    for (int i = 0; i < CANDIDATES; i++) {
        candidate *c = &d->all[i];
        *c =
            (candidate){.store = d->stage->store, .who = i, .news = d->news[1]};
        stage_need(pipe2(c->orders, O_CLOEXEC) == 0, "pipe");
        c->pid = stage_start(stand, c);
    }
    close(d->news[1]); /* so that it ends when all of them have failed */
}

/* Returns how long the others needed. */
static int64_t kill_leader(director *d, candidate **leader) {
    int64_t since = stage_now_ms();
    stage_kill((*leader)->pid);
    say(d, *leader, "is killed: kill -9");
    *leader = await(d, LEADS);
    return stage_now_ms() - since;
}

static int64_t stop_leader(director *d, candidate **leader) {
    int64_t since = stage_now_ms();
    candidate *old = *leader;
    stage_stop(old->pid);
    say(d, old, "is stopped: it cannot renew, nor hear anything");
    *leader = await(d, LEADS);
    int64_t took = stage_now_ms() - since;
    say(d, old, "goes on");
    kill(old->pid, SIGCONT);
    return await(d, LOST) == old ? took : -1;
}

static bool tokens_grow(const director *d) {
    for (int i = 1; i < d->terms; i++)
        if (d->tokens[i] <= d->tokens[i - 1])
            return false;
    return true;
}

int main(int argc, char **argv) {
    stage here;
    director d = {.stage = &here};
    stage_open(&here, argc > 1 ? argv[1] : NULL);
    assemble(&d);
    candidate *leader = await(&d, LEADS);
    int64_t killed_ms = kill_leader(&d, &leader);
    int64_t stopped_ms = stop_leader(&d, &leader);
    /* Who was stopped stands by again, and is the only one who does. */
    order_to_resign(leader);
    bool ok = await(&d, RESIGNED) == leader && stage_ended_well(leader->pid);
    leader = await(&d, LEADS);
    order_to_resign(leader);
    ok = await(&d, RESIGNED) == leader && stage_ended_well(leader->pid) && ok;
    ok = ok && stopped_ms >= 0 && tokens_grow(&d);
    printf("after kill -9 another one led within %lld ms, after SIGSTOP within "
           "%lld ms; the lease is %d ms\n",
           (long long)killed_ms, (long long)stopped_ms, LEASE_MS);
    printf("%d terms, tokens %s\n", d.terms,
           tokens_grow(&d) ? "grow with each" : "do not grow");
    stage_close(&here);
    return ok ? 0 : 1;
}
