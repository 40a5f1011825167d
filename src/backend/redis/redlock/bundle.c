/* SPDX-License-Identifier: MIT
 *
 * bundle.c - a wire to every voter, and rounds of questions over them. */
#include "bundle.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../../../alloc.h"
#include "../../../log.h"
#include "../reply.h"

/* ---- one wire ---------------------------------------------------------- */

static hf_asked *oldest(hf_wire *w) {
    return w->n ? &w->asked[w->first] : NULL;
}

static bool push(hf_wire *w, uint64_t round, hf_letter *owed) {
    if (w->n == w->room) {
        unsigned room = w->room ? 2 * w->room : 16;
        hf_asked *wide = hf__malloc(room * sizeof *wide);

        if (!wide)
            return false;
        for (unsigned i = 0; i < w->n; i++)
            wide[i] = w->asked[(w->first + i) % w->room];
        hf__free(w->asked);
        w->asked = wide;
        w->first = 0;
        w->room = room;
    }
    w->asked[(w->first + w->n++) % w->room] =
        (hf_asked){round, hf__now(), owed ? hf__letter_keep(owed) : NULL};
    return true;
}

static hf_asked pop(hf_wire *w) {
    hf_asked a = w->asked[w->first];

    w->first = (w->first + 1) % w->room;
    w->n--;
    return a;
}

/* Whatever was under way is lost, but for the releases. */
static void break_up(hf_wire *w) {
    hf_time heard = w->conn->heard;

    hf__log_broke(w->voter->node->server.host, w->conn->address->where,
                  w->conn->why[0] ? w->conn->why : "no answer");
    hf__conn_close(w->conn);
    w->conn = NULL;
    w->unsent_len = 0;
    while (w->n) {
        hf_asked a = pop(w);

        if (a.owed)
            hf__voter_owe(w, a.owed);
        hf__letter_put(a.owed);
    }
    hf__voter_redial(w, heard);
}

static bool keep_unsent(hf_wire *w, const char *bytes, size_t len) {
    char *wide = hf__realloc(w->unsent, w->unsent_len + len);

    if (!wide)
        return false;
    memcpy(wide + w->unsent_len, bytes, len);
    w->unsent = wide;
    w->unsent_len += len;
    return true;
}

static bool send_bytes(hf_wire *w, const char *bytes, size_t len) {
    ssize_t n = w->unsent_len ? 0 : hf__conn_send(w->conn, bytes, len);

    if (n < 0)
        return false;
    if ((size_t)n == len)
        return true;
    return keep_unsent(w, bytes + n, len - (size_t)n);
}

static bool flush(hf_wire *w) {
    ssize_t n;

    if (!w->unsent_len)
        return true;
    n = hf__conn_send(w->conn, w->unsent, w->unsent_len);
    if (n < 0)
        return false;
    w->unsent_len -= (size_t)n;
    memmove(w->unsent, w->unsent + n, w->unsent_len);
    return true;
}

/* False: it broke. */
static bool ask(hf_wire *w, uint64_t round, hf_letter *l, bool owed) {
    if (push(w, round, owed ? l : NULL) && send_bytes(w, l->bytes, l->len))
        return true;
    break_up(w);
    return false;
}

/* Once more, to a server that lost the script. */
static bool ask_whole(hf_wire *w, uint64_t round, hf_letter *l, bool owed) {
    size_t len;
    char *whole = hf__letter_whole(l, w->bundle->pool->scripts, &len);
    bool ok =
        whole && push(w, round, owed ? l : NULL) && send_bytes(w, whole, len);

    hf__free(whole);
    return ok;
}

/* The answer to the oldest request; takes the reply.  False: it broke. */
static bool take_in(hf_wire *w, redisReply *reply, hf_round *r) {
    unsigned k = w->voter->k;
    hf_asked a;
    bool mine, ok = true;

    if (!w->n) { /* nobody asked */
        freeReplyObject(reply);
        return false;
    }
    a = pop(w);
    mine = r && a.round == r->number;
    if ((mine || a.owed) && hf__reply_is(reply, "NOSCRIPT")) {
        ok = ask_whole(w, a.round, a.owed ? a.owed : r->letter, a.owed);
    } else if (mine) {
        r->awaited &= ~(1u << k);
        r->answer(r->arg, k, reply);
    }
    hf__letter_put(a.owed);
    freeReplyObject(reply);
    return ok;
}

/* Everything that has come.  With TLS more may be there than the socket
 * knows.  False: it broke. */
static bool take_all(hf_wire *w, hf_round *r) {
    redisReply *reply;
    int filled, rc;

    do {
        filled = hf__conn_fill(w->conn);
        while ((rc = hf__conn_next(w->conn, &reply)) > 0)
            if (!take_in(w, reply, r))
                return false;
    } while (rc == 0 && filled > 0 && w->conn->ssl);
    return rc == 0 && filled >= 0;
}

static void look_at(hf_wire *w, hf_round *r) {
    if (!flush(w) || !take_all(w, r))
        break_up(w);
}

/* ---- a round ----------------------------------------------------------- */

/* Has it been silent for so long that a new question makes no sense? */
static bool stalls(hf_wire *w) {
    const hf_pool *p = w->bundle->pool;
    hf_time limit = hf__now() - p->patience_ms * HF_MS;

    if (!w->n || oldest(w)->at > limit)
        return false;
    look_at(w, NULL);
    if (!w->conn || !w->n || oldest(w)->at > limit)
        return false;
    if (oldest(w)->at < hf__now() - p->host->timeout_ms * HF_MS)
        break_up(w);
    return true;
}

/* Sends the letter, if that is possible: at once, later, or not at all. */
static void offer(hf_wire *w, hf_round *r) {
    unsigned bit = 1u << w->voter->k;
    hf_wire_state state = HF_WIRE_UP;

    r->later &= ~bit;
    if (!w->conn)
        w->conn = hf__voter_collect(w, &state);
    if (!w->conn && state == HF_WIRE_DOWN)
        return;
    if (!w->conn || stalls(w) || !w->conn) {
        r->later |= bit;
        return;
    }
    if (r->may && !r->may(r->arg, w->voter->k))
        return;
    r->sent |= bit;
    if (ask(w, r->number, r->letter, r->owed))
        r->awaited |= bit;
    else if (!r->owed)
        r->later |= bit;
}

/* It broke while its answer was awaited.  Asking twice is safe; a release is
 * sent again by the voter. */
static void lose(hf_wire *w, hf_round *r) {
    unsigned bit = 1u << w->voter->k;

    if (!(r->awaited & bit))
        return;
    r->awaited &= ~bit;
    if (!r->owed)
        r->later |= bit;
}

static void hush(hf_bundle *b) {
    uint64_t rings;

    while (read(b->bell, &rings, sizeof rings) < 0 && errno == EINTR)
        ;
}

/* Is everybody still waited for? */
static bool is_soft(const hf_round *r) {
    return r->enough && hf__now() < r->soft;
}

/* Sleeps until something comes, and takes it in. */
static void listen_to(hf_bundle *b, hf_round *r) {
    struct pollfd fds[HF_VOTERS_MAX + 1] = {{.fd = b->bell, .events = POLLIN}};
    hf_wire *wires[HF_VOTERS_MAX + 1];
    unsigned n = 1;

    for (unsigned k = 0; k < b->pool->n; k++) {
        hf_wire *w = &b->wires[k];

        if (!w->conn || !((r->awaited | r->later) & 1u << k))
            continue;
        fds[n].fd = w->conn->fd;
        fds[n].events = w->unsent_len ? POLLIN | POLLOUT : POLLIN;
        fds[n].revents = 0;
        wires[n++] = w;
    }
    if (hf__world->poll(fds, n, is_soft(r) ? r->soft : r->by) <= 0)
        return;
    for (unsigned i = 1; i < n; i++)
        if (fds[i].revents) {
            look_at(wires[i], r);
            if (!wires[i]->conn)
                lose(wires[i], r);
        }
    if (fds[0].revents)
        hush(b);
}

static void offer_all(hf_bundle *b, hf_round *r, unsigned voters) {
    for (unsigned k = 0; k < b->pool->n; k++)
        if (voters & 1u << k)
            offer(&b->wires[k], r);
}

static bool is_over(hf_round *r) {
    unsigned hope = r->awaited | r->later;

    return !hope || r->decided(r->arg, hope) || hf__now() >= r->by ||
           (r->enough && !is_soft(r) && r->enough(r->arg));
}

void hf__round_run(hf_bundle *b, hf_round *r) {
    r->number = ++b->rounds;
    r->sent = r->awaited = r->later = 0;
    offer_all(b, r, r->voters);
    while (!is_over(r)) {
        listen_to(b, r);
        if (r->later)
            offer_all(b, r, r->later);
    }
}

/* ---- without waiting --------------------------------------------------- */

int hf__bundle_post(hf_bundle *b, hf_letter *l, unsigned voters,
                    unsigned owed) {
    int sent = 0;

    for (unsigned k = 0; k < b->pool->n; k++) {
        hf_wire *w = &b->wires[k];
        hf_wire_state state;

        if (!(voters & 1u << k))
            continue;
        if (!w->conn)
            w->conn = hf__voter_collect(w, &state);
        if (w->conn)
            sent += ask(w, ++b->rounds, l, owed & 1u << k);
        else if (owed & 1u << k)
            hf__voter_owe(w, l);
    }
    return sent;
}

bool hf__bundle_tend(hf_bundle *b) {
    hf_time limit = hf__now() - b->pool->host->timeout_ms * HF_MS;
    bool under_way = false;

    for (unsigned k = 0; k < b->pool->n; k++) {
        hf_wire *w = &b->wires[k];

        if (!w->conn || !w->n)
            continue;
        look_at(w, NULL);
        if (w->conn && w->n && oldest(w)->at < limit)
            break_up(w);
        under_way |= w->conn && w->n;
    }
    return under_way;
}

void hf__bundle_settle(hf_bundle *b, hf_time by) {
    while (hf__bundle_tend(b) && hf__now() < by) {
        struct pollfd fds[HF_VOTERS_MAX];
        nfds_t n = 0;

        for (unsigned k = 0; k < b->pool->n; k++) {
            hf_wire *w = &b->wires[k];

            if (w->conn && w->n)
                fds[n++] = (struct pollfd){
                    .fd = w->conn->fd,
                    .events = w->unsent_len ? POLLIN | POLLOUT : POLLIN};
        }
        hf__world->poll(fds, n, by);
    }
}
