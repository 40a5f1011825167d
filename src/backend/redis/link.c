/* SPDX-License-Identifier: MIT
 *
 * link.c - one connection shared by many threads.
 *
 *        add            push             gather, finish
 *   ask ─────► open ───────────► in flight ───────────► done
 *               │     window       │  │                  ▲
 *               │                  │  └── break_up ──────┤  doubt
 *               └──────────────────┴───── break_up ──────┘  unsent
 *
 * Invariants, true whenever mu is free:
 *   - a batch is open, or in flight in the order of sending, or done;
 *   - bytes [0, left) of a batch may have left, the rest certainly did not;
 *   - if anybody sleeps, somebody reads, is called to read, or is sending.
 *
 * mu is not held while bytes move.  One thread at a time sends (`sending`) and
 * one reads (role ACTIVE); `conn` is closed by the last of the two.  What has
 * to happen without the lock - waking, handing posts back - is noted under it
 * and done by let_go, the only way to give it up in the end. */
#include "link.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../plant.h"
#include "../../world.h"
#include "batch.h"
#include "reply.h"

enum {
    HOLD = 4,        /* fewer requests in flight: never held back       */
    FEW = 8,         /* no more threads than that: likewise             */
    WINDOW_MIN = 2,  /* batches in flight, at most,                     */
    WINDOW_MAX = 48, /* depending on the way                            */
    IN_VAIN_MAX = 4, /* then a lone caller spins only                   */
    LOOK_EVERY = 64, /* every so many times                             */
};

static const hf_time RTT_PER_BATCH = 50000, IDLE_LOOK = HF_SECOND;
static const hf_time BACKOFF_MIN = 50 * HF_MS;

typedef enum role { NOBODY, CALLED, ACTIVE } role;

struct hf_link {
    hf_link_needs needs;
    atomic_bool is_up;
    atomic_uint load; /* requests under way */

    pthread_mutex_t mu;
    pthread_cond_t changed; /* opened, or failed to; sending ended */
    hf_conn *conn;
    bool opening, sending;
    unsigned cuts; /* what was being opened then is of no use either */
    hf_time retry_at, backoff;
    hf_error why; /* the last failure to open */

    hf_batch *open;         /* being filled                                 */
    hf_batch *first, *last; /* in flight                                    */
    size_t n_flying;        /* batches, */
    size_t n_requests;      /* and the requests in them                     */
    hf_time rtt;            /* the least one lately; 0: unknown             */

    unsigned in_vain; /* the reader's: spins that saw nothing */

    role role;
    hf_batch *heir; /* CALLED: one of its threads is to read */

    hf_post *resend, **resend_end; /* for the next connection   */
    hf_post *settled;              /* for let_go                */
    hf_batch *finished, **finished_end;
    hf_batch *call;
};

/* The batch to add to.  NULL: out of memory. */
static hf_batch *open_batch(hf_link *l) {
    if (!l->open)
        l->open = hf__batch_new();
    return l->open;
}

static bool add_post(hf_link *l, hf_post *post) {
    return open_batch(l) && hf__batch_add_post(l->open, post);
}

/* ---- posts ------------------------------------------------------------- */

static void keep_post(hf_link *l, hf_post *p) {
    p->next = NULL;
    *l->resend_end = p;
    l->resend_end = &p->next;
}

static void settle(hf_link *l, hf_post *p, redisReply *reply) {
    p->reply = reply;
    p->next = l->settled;
    l->settled = p;
}

static hf_post *pop_resend(hf_link *l) {
    hf_post *p = l->resend;

    if (!p)
        return NULL;
    l->resend = p->next;
    if (!l->resend)
        l->resend_end = &l->resend;
    return p;
}

/* Puts what is due again in front of everything else. */
static void post_again(hf_link *l) {
    hf_time now = hf__now();
    hf_post *p;

    while ((p = pop_resend(l)))
        if (p->until <= now || !add_post(l, p))
            settle(l, p, NULL);
}

/* The posts of a batch that is over: answered ones go back, the others wait
 * for the next connection. */
static void collect_posts(hf_link *l, hf_batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        hf_slot *s = &b->slots[i];

        if (!s->post)
            continue;
        if (s->reply) {
            settle(l, s->post, s->reply);
            s->reply = NULL;
        } else {
            s->post->repeated |= b->left > s->at;
            keep_post(l, s->post);
        }
        s->post = NULL;
    }
}

/* ---- who reads --------------------------------------------------------- */

/* Calls one of the threads of a batch to read: the oldest that has any. */
static void pass_role(hf_link *l) {
    hf_batch *b = l->first;

    while (b && !b->asking)
        b = b->next;
    if (!b && l->open && l->open->asking)
        b = l->open;
    l->role = b ? CALLED : NOBODY;
    l->heir = b;
    if (!b || !b->sleeping)
        return; /* who is not asleep will look by itself */
    atomic_fetch_add(&b->word, 2 * HF_BATCH_DONE);
    if (l->call)
        hf__batch_put(l->call);
    l->call = hf__batch_keep(b);
}

static void finish(hf_link *l, hf_batch *b) {
    collect_posts(l, b);
    b->wake = b->sleeping > 0;
    atomic_fetch_or_explicit(&b->word, HF_BATCH_DONE, memory_order_release);
    b->next = NULL;
    *l->finished_end = b; /* with the link's reference */
    l->finished_end = &b->next;
}

/* Gives mu up and does what was noted: first whoever reads next, then those
 * who have their answers. */
static void let_go(hf_link *l) {
    hf_batch *call, *b = l->finished, *next;
    hf_post *p = l->settled;

    if (l->role == NOBODY)
        pass_role(l);
    call = l->call;
    l->call = l->finished = NULL;
    l->finished_end = &l->finished;
    l->settled = NULL;
    pthread_mutex_unlock(&l->mu);
    if (call) {
        hf__batch_wake(call, 1);
        hf__batch_put(call);
    }
    for (; b; b = next) {
        next = b->next;
        if (b->wake)
            hf__batch_wake(b, INT_MAX);
        hf__batch_put(b);
    }
    while (p) {
        hf_post *done = p;

        p = p->next;
        l->needs.settled(l->needs.settled_arg, l, done);
    }
}

/* ---- breaking ---------------------------------------------------------- */

/* The connection is of no use any more.  What may have left is in doubt, what
 * did not is unsent, posts are kept.  Not while another thread reads. */
static void disconnect(hf_link *l, const char *why) {
    hf_batch *b;

    hf__fail(&l->why, HF_EDOWN, "%s: %s", l->needs.where, why);
    if (!l->sending)
        hf__conn_close(l->conn);
    l->conn = NULL;
    atomic_store(&l->is_up, false);
    l->retry_at = hf__now();
    while ((b = l->first)) {
        l->first = b->next;
        finish(l, b);
    }
    l->last = NULL;
    l->n_flying = 0;
    l->n_requests = 0;
    if (l->open) {
        finish(l, l->open);
        l->open = NULL;
    }
    l->role = NOBODY;
    l->heir = NULL;
}

/* The same, and it was not our doing. */
static void break_up(hf_link *l, const char *why) {
    hf__log_broke(l->needs.host, l->conn->address->where, why);
    disconnect(l, why);
}

/* ---- sending ----------------------------------------------------------- */

/* May the open batch fly?  Always if few threads ask or hardly anything flies:
 * nobody would come to fill it.  Else only a few at a time, two where the way
 * is short and more the longer it is, so that the server never waits for us;
 * and none that is small beside those in flight, since each costs both sides
 * the same. */
static bool window_open(hf_link *l) {
    size_t window = 1 + (size_t)(l->rtt / RTT_PER_BATCH);
    unsigned load = atomic_load_explicit(&l->load, memory_order_relaxed);

    if (l->n_flying == 0 || l->n_requests < HOLD || (load && load <= FEW))
        return true;
    window = window < WINDOW_MIN ? WINDOW_MIN :
             window > WINDOW_MAX ? WINDOW_MAX :
                                   window;
    return l->n_flying < window && l->open->n * window >= 2 * l->n_requests;
}

/* The batch to send from: one that was not sent whole, or the open one. */
static hf_batch *next_to_send(hf_link *l) {
    hf_batch *b = l->last;

    if (b && b->sent < b->len)
        return b;
    b = l->open;
    if (!b || !b->len || !window_open(l))
        return NULL;
    l->open = NULL;
    b->solo = b->asking == 1 && atomic_load(&l->load) == 1;
    if (l->last)
        l->last->next = b;
    else
        l->first = b;
    l->last = b;
    l->n_flying++;
    l->n_requests += b->n;
    b->sent_at = hf__now();
    if (l->role == CALLED && l->heir == b)
        pass_role(l); /* it could not read before it was in flight */
    return b;
}

/* Sends from b.  False: the socket takes no more now, or it is broken. */
static bool send_some(hf_link *l, hf_batch *b) {
    hf_conn *conn = l->conn;
    ssize_t n;

    hf__batch_keep(b);
    l->sending = true;
    b->left = b->len; /* as of now nobody can say that it did not leave */
    pthread_mutex_unlock(&l->mu);
    n = hf__conn_send(conn, b->bytes + b->sent, b->len - b->sent);
    pthread_mutex_lock(&l->mu);
    l->sending = false;
    if (l->conn != conn) { /* broken up meanwhile: we were the last */
        hf__conn_close(conn);
        pthread_cond_broadcast(&l->changed);
        n = 0;
    } else if (n >= 0) {
        b->sent += (size_t)n;
        b->left = b->sent;
    } else if (l->role == ACTIVE) {
        hf__conn_cut(conn); /* the reader will see it, and break up */
    } else {
        break_up(l, "the connection broke");
    }
    hf__batch_put(b);
    return n > 0;
}

static void push(hf_link *l) {
    hf_batch *b;

    while (l->conn && !l->sending && (b = next_to_send(l)))
        if (!send_some(l, b))
            break;
}

/* ---- reading ----------------------------------------------------------- */

typedef enum outcome { FULL, WRITABLE, LATE, SILENT, BROKEN } outcome;

/* A lone caller looks for its answer for a moment before it sleeps: waking
 * up costs more than the answer takes.  If it looks in vain, the way is longer
 * than that or the server wants our core, and we look only now and then. */
static hf_time spin_until(hf_link *l, const hf_batch *b) {
    hf_time most = l->needs.spin_us * (hf_time)1000;

    if (!most || !b->solo ||
        atomic_load_explicit(l->needs.callers, memory_order_relaxed) != 1)
        return 0;
    if (l->in_vain >= IN_VAIN_MAX && ++l->in_vain % LOOK_EVERY)
        return 0;
    return b->sent_at + most;
}

static void learn(hf_link *l, hf_time spun) {
    if (!spun)
        return;
    if (l->conn->heard <= spun)
        l->in_vain = 0;
    else if (l->in_vain < IN_VAIN_MAX)
        l->in_vain++;
}

/* Parses what is there into the slots of b. */
static int take_replies(hf_conn *conn, hf_batch *b) {
    int rc = 1;

    while (b->answered < b->n) {
        hf_slot *s = &b->slots[b->answered];

        if (!s->gone && (rc = hf__conn_next(conn, &s->reply)) <= 0)
            return rc;
        b->answered++;
    }
    return 1;
}

/* Waits for bytes, or (more to send) for room.  FULL stands for "go on". */
static outcome await_bytes(hf_conn *conn, bool more, hf_time by, hf_time dead) {
    short events = more ? POLLIN | POLLOUT : POLLIN;

    if (hf__conn_wait(conn, events, hf__sooner(by, dead)))
        return more ? WRITABLE : FULL;
    return hf__now() >= dead ? SILENT : LATE;
}

/* Reads the replies of b, the oldest batch.  No lock; role ACTIVE. */
static outcome gather(hf_conn *conn, hf_batch *b, bool more, hf_time spin,
                      hf_time by, hf_time dead) {
    bool look = conn->ssl || spin || by == 0;

    for (;;) {
        int rc = take_replies(conn, b);
        outcome next = FULL;

        if (rc > 0)
            return FULL;
        if (rc == 0 && !look) {
            next = await_bytes(conn, more, by, dead);
            if (next != FULL && next != WRITABLE)
                return next;
        }
        if (rc == 0)
            rc = hf__conn_fill(conn);
        if (rc < 0)
            return BROKEN;
        if (next == WRITABLE)
            return WRITABLE;
        if (rc == 0 && by == 0)
            return LATE;
        look = rc > 0 ? conn->ssl || by == 0 : spin && hf__now() < spin;
    }
}

/* Only what was sent into an idle connection says how long the way is; the
 * least is forgotten slowly, for the way may have become longer. */
static void measure(hf_link *l, const hf_batch *b) {
    hf_time rtt = l->conn->heard - b->sent_at;

    if (!b->solo || rtt <= 0)
        return;
    if (!l->rtt || rtt < l->rtt)
        l->rtt = rtt;
    else
        l->rtt += (rtt - l->rtt) / 128;
}

static void take_off(hf_link *l, hf_batch *b) {
    measure(l, b);
    l->backoff = 0;
    l->first = b->next;
    if (!l->first)
        l->last = NULL;
    l->n_flying--;
    l->n_requests -= b->n;
    finish(l, b);
}

/* Nothing was heard of the oldest batch since then. */
static hf_time silent_since(const hf_link *l) {
    hf_time sent = l->first->sent_at, heard = l->conn->heard;

    return heard > sent ? heard : sent;
}

/* One step of the reader: the oldest batch, until it is done or time is over
 * (by 0: without waiting).  False: nothing more can be done. */
static bool read_batch(hf_link *l, hf_time spin, hf_time by) {
    hf_batch *b = l->first;
    hf_conn *conn = l->conn;
    hf_time dead = silent_since(l) + l->needs.timeout_ms * HF_MS;
    bool more = l->last->sent < l->last->len;
    outcome what;

    let_go(l);
    what = gather(conn, b, more, spin, by, dead);
    pthread_mutex_lock(&l->mu);
    switch (what) {
    case FULL:
        take_off(l, b);
        push(l);
        return true;
    case WRITABLE:
        push(l);
        return true;
    case LATE:
        return false;
    case SILENT:
        snprintf(conn->why, sizeof conn->why, "no answer for %d ms",
                 l->needs.timeout_ms);
        break;
    case BROKEN:
        break;
    }
    break_up(l, conn->why);
    return false;
}

/* Reads for everybody until `mine` is done or `by` has come, then for those
 * whose replies came along, then calls another. */
static void read_role(hf_link *l, hf_batch *mine, hf_time by) {
    hf_conn *conn = l->conn;
    hf_time spin = spin_until(l, mine);

    l->role = ACTIVE;
    l->heir = NULL;
    while (l->first && !hf__batch_is_done(mine) && read_batch(l, spin, by))
        ;
    while (l->conn == conn && l->first && hf__batch_is_done(mine) &&
           conn->reader->pos < conn->reader->len && read_batch(l, 0, 0))
        ;
    if (l->conn != conn)
        return;
    learn(l, spin);
    pass_role(l);
}

/* Takes in what has come already. */
static void sweep(hf_link *l) {
    hf_conn *conn = l->conn;

    l->role = ACTIVE;
    while (l->conn == conn && l->first && read_batch(l, 0, 0))
        ;
    if (l->conn == conn)
        pass_role(l);
}

/* ---- one request ------------------------------------------------------- */

/* Where the replies to a request come. */
typedef struct ticket {
    hf_batch *batch;
    size_t first, n;
} ticket;

static void sleep_in(hf_link *l, hf_batch *b, hf_time by) {
    unsigned seen;

    if (l->role == NOBODY)
        pass_role(l);
    b->sleeping++;
    seen = atomic_load(&b->word);
    let_go(l);
    hf__batch_sleep(b, seen, by);
    pthread_mutex_lock(&l->mu);
    b->sleeping--;
}

static bool should_read(hf_link *l, hf_batch *b) {
    if (!l->conn || !l->first)
        return false;
    return l->role == NOBODY || (l->role == CALLED && l->heir == b);
}

/* Sees to it that b gets done.  False: `by` came first. */
static bool attend(hf_link *l, hf_batch *b, hf_time by) {
    push(l);
    while (!hf__batch_is_done(b)) {
        if (should_read(l, b))
            read_role(l, b, by);
        else
            sleep_in(l, b, by);
        if (!hf__batch_is_done(b) && hf__now() >= by)
            return false;
        push(l);
    }
    return true;
}

/* Gives up waiting: whatever comes later is thrown away with the batch. */
static void leave(hf_link *l, const ticket *t, bool answered) {
    hf_batch *b = t->batch;

    b->asking--;
    if (!answered && b == l->open)
        hf__batch_withdraw(b, t->first, t->n);
    if (!answered && HF_PLANTED(LATE)) /* what comes is taken for the next */
        b->slots[t->first].gone = true;
    if (l->role == CALLED && l->heir == b)
        pass_role(l); /* perhaps it was us who was called */
}

/* What is in flight and not yet sent will be. */
static int late(hf_link *l, const ticket *t, hf_error *err) {
    if (!t->batch->slots[t->first].gone)
        return hf__fail(err, HF_EDOUBT,
                        "%s: no answer in time: it may have taken effect",
                        l->needs.where);
    return hf__fail(err, HF_EDOWN,
                    "%s: no answer in time to earlier requests; this one was "
                    "not sent",
                    l->needs.where);
}

/* The replies go over to the caller.  All of them have come, or the last have
 * not and it is unknown what became of them. */
static int results(hf_link *l, const ticket *t, redisReply **replies,
                   hf_error *err) {
    hf_slot *s = &t->batch->slots[t->first];

    if (s[t->n - 1].reply) {
        for (size_t i = 0; i < t->n; i++) {
            replies[i] = s[i].reply;
            s[i].reply = NULL;
        }
        return HF_OK;
    }
    if (t->batch->left <= s->at)
        return hf__fail(err, HF_UNSENT,
                        "%s: the connection broke before the request was sent",
                        l->needs.where);
    return hf__fail(err, HF_EDOUBT,
                    "%s: the connection broke: it may have taken effect",
                    l->needs.where);
}

/* How many replicas confirmed.  A server that does not know WAIT says so with
 * ERR; one that lost its role while it waited (UNBLOCKED), whose user may not
 * ask (NOPERM), or that answers something else, has confirmed nothing. */
static int confirmed(const ticket *t) {
    const redisReply *wait = hf__batch_wait(t->batch, t->first);

    if (!wait)
        return 0;
    if (wait->type == REDIS_REPLY_INTEGER && wait->integer > 0)
        return wait->integer < INT_MAX ? (int)wait->integer : INT_MAX;
    return hf__reply_is(wait, "ERR") ? HF_NO_WAIT : 0;
}

/* ---- opening ----------------------------------------------------------- */

static bool permanent(int code) {
    switch (code) {
    case HF_EAUTH:
    case HF_EFORBIDDEN:
    case HF_ETLS:
    case HF_EURI:
    case HF_ENO_MEMORY:
        return true;
    default:
        return false;
    }
}

static void opened(hf_link *l, hf_conn *conn) {
    l->conn = conn;
    l->rtt = 0;
    l->why.code = 0;
    atomic_store(&l->is_up, true);
    post_again(l);
    push(l);
}

static void failed_to_open(hf_link *l) {
    hf_time longer = 2 * l->backoff, most = l->needs.backoff_ms * HF_MS;

    l->backoff = longer < BACKOFF_MIN ? BACKOFF_MIN :
                 longer > most        ? most :
                                        longer;
    l->retry_at = hf__now() + hf__jitter(l->backoff);
}

/* One try, by this thread.  Whoever can go elsewhere is left time to. */
static void try_open(hf_link *l, hf_time by) {
    hf_conn *conn = NULL;
    unsigned cuts = l->cuts;
    hf_error err;
    int rc;

    if (l->needs.once)
        by = hf__sooner(by, hf__after_ms(l->needs.timeout_ms / 2));
    l->opening = true;
    let_go(l);
    rc = l->needs.open(l->needs.open_arg, &conn, by, &err);
    pthread_mutex_lock(&l->mu);
    l->opening = false;
    if (rc == HF_OK && l->cuts != cuts) {
        hf__conn_close(conn);
        hf__fail(&l->why, HF_EDOWN, "%s: the server changed", l->needs.where);
    } else if (rc == HF_OK) {
        opened(l, conn);
    } else {
        l->why = err;
        failed_to_open(l);
    }
    pthread_cond_broadcast(&l->changed);
}

static int not_up(hf_link *l, hf_error *err) {
    if (l->why.code) {
        *err = l->why;
        return err->code;
    }
    return hf__fail(err, HF_EDOWN, "%s: not connected in time", l->needs.where);
}

/* Waits for another thread's try, or until the next one is due.  False: that
 * is pointless. */
static bool await_turn(hf_link *l, hf_time by) {
    hf_time now = hf__now();

    if (now >= by)
        return false;
    if (!l->opening && !l->sending &&
        (permanent(l->why.code) || l->retry_at >= by))
        return false;
    hf__world->wait(&l->changed, &l->mu,
                    l->opening || l->sending ? by : l->retry_at);
    return true;
}

/* The last try failed, and the next is not due. */
static bool is_pausing(const hf_link *l) {
    return l->why.code && !l->opening && !l->sending;
}

static int bring_up(hf_link *l, bool once, hf_time by, hf_error *err) {
    while (!l->conn) {
        if (!l->opening && !l->sending && l->retry_at <= hf__now()) {
            try_open(l, by);
            if (!l->conn && (once || permanent(l->why.code)))
                return not_up(l, err);
        } else if ((once && is_pausing(l)) || !await_turn(l, by)) {
            return not_up(l, err);
        }
    }
    return HF_OK;
}

/* A connection that nobody used for a while may have ended unnoticed, and one
 * with old unread answers may be dead.  Better to know before we send. */
static void look_first(hf_link *l) {
    hf_time now;

    if (!l->conn || l->role != NOBODY || l->sending)
        return;
    now = hf__now();
    if (now - l->conn->heard < IDLE_LOOK)
        return;
    if (l->first)
        sweep(l);
    else if (hf__conn_fill(l->conn) != 0)
        break_up(l, "it ended while it was idle");
    if (l->conn && l->first && l->role == NOBODY && !l->sending &&
        now > silent_since(l) + l->needs.timeout_ms * HF_MS)
        break_up(l, "no answer for long");
}

/* ---- what others call -------------------------------------------------- */

int hf__link_new(hf_link **ret, const hf_link_needs *needs, hf_error *err) {
    hf_link *l = hf__calloc(1, sizeof *l);

    if (!l)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    l->needs = *needs;
    l->resend_end = &l->resend;
    l->finished_end = &l->finished;
    pthread_mutex_init(&l->mu, NULL);
    pthread_cond_init(&l->changed, NULL);
    *ret = l;
    return HF_OK;
}

void hf__link_free(hf_link *l) {
    hf_post *p;

    if (!l)
        return;
    pthread_mutex_lock(&l->mu);
    if (l->conn)
        disconnect(l, "closed");
    while ((p = pop_resend(l)))
        settle(l, p, NULL);
    let_go(l);
    pthread_mutex_destroy(&l->mu);
    pthread_cond_destroy(&l->changed);
    hf__free(l);
}

void hf__link_forget(hf_link *l) {
    if (l && l->conn)
        hf__world->close(l->conn->fd);
}

bool hf__link_is_up(hf_link *l) {
    return atomic_load_explicit(&l->is_up, memory_order_relaxed);
}

bool hf__link_is_idle(hf_link *l) {
    return atomic_load_explicit(&l->load, memory_order_relaxed) == 0;
}

int hf__link_up(hf_link *l, bool once, hf_time by, hf_error *err) {
    int rc;

    pthread_mutex_lock(&l->mu);
    rc = bring_up(l, once, by, err);
    let_go(l);
    return rc;
}

/* Adds the request and sees to it until it is answered or `by` has come. */
static int take_part(hf_link *l, const hf_request *q, ticket *t, hf_time by,
                     hf_error *err) {
    hf_batch *b = open_batch(l);
    bool answered;

    t->n = q->n;
    if (!b || !hf__batch_add(b, q, l->needs.wait_ms, &t->first))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    b->asking++;
    t->batch = hf__batch_keep(b);
    answered = attend(l, b, by);
    leave(l, t, answered);
    return answered ? HF_OK : late(l, t, err);
}

int hf__link_ask(hf_link *l, const hf_request *q, redisReply **replies,
                 int *acks, hf_time by, hf_error *err) {
    ticket t = {0};
    int rc;

    atomic_fetch_add_explicit(&l->load, 1, memory_order_relaxed);
    pthread_mutex_lock(&l->mu);
    look_first(l);
    rc = bring_up(l, l->needs.once, by, err);
    if (rc == HF_OK)
        rc = take_part(l, q, &t, by, err);
    let_go(l);
    if (rc == HF_OK)
        rc = results(l, &t, replies, err);
    if (rc == HF_OK && q->replicas)
        *acks = HF_PLANTED(REPLICAS) ? INT_MAX : confirmed(&t);
    if (t.batch)
        hf__batch_put(t.batch);
    atomic_fetch_sub_explicit(&l->load, 1, memory_order_relaxed);
    return rc;
}

/* Whoever waits for an answer will see the end; whoever comes next connects. */
static void cut(hf_link *l, bool stale_only) {
    const atomic_bool *given_up;
    bool ends = false;

    pthread_mutex_lock(&l->mu);
    l->cuts++;
    l->retry_at = 0;
    l->backoff = 0;
    if (l->conn) {
        given_up = l->conn->address->given_up;
        ends = !stale_only || (given_up && atomic_load(given_up));
    }
    if (ends && (l->role == ACTIVE || l->sending))
        hf__conn_cut(l->conn);
    else if (ends)
        break_up(l, "the server changed");
    pthread_cond_broadcast(&l->changed);
    let_go(l);
}

void hf__link_cut(hf_link *l) {
    cut(l, false);
}

void hf__link_leave(hf_link *l) {
    cut(l, true);
}

void hf__link_post(hf_link *l, hf_post *post) {
    pthread_mutex_lock(&l->mu);
    if (!l->conn || !add_post(l, post))
        keep_post(l, post);
    push(l);
    if (l->open && l->conn && l->role == NOBODY && !l->sending)
        sweep(l);
    let_go(l);
}

/* Posts that nobody can say anything new of any more are settled. */
static void drop_pointless(hf_link *l) {
    hf_post *p, *kept = NULL, **end = &kept;
    hf_time now = hf__now();

    while ((p = pop_resend(l))) {
        if (p->until <= now) {
            settle(l, p, NULL);
        } else {
            p->next = NULL;
            *end = p;
            end = &p->next;
        }
    }
    l->resend = kept;
    l->resend_end = kept ? end : &l->resend;
}

/* The server cannot be reached: somebody else may know where to go. */
static void hand_back(hf_link *l) {
    hf_post *p;

    while ((p = pop_resend(l)))
        settle(l, p, NULL);
}

void hf__link_tend(hf_link *l, hf_time by) {
    pthread_mutex_lock(&l->mu);
    drop_pointless(l);
    if (!l->conn && l->resend && !l->opening && !l->sending &&
        l->retry_at <= hf__now())
        try_open(l, by);
    if (l->conn)
        post_again(l);
    else if (l->needs.hands_back && is_pausing(l))
        hand_back(l);
    push(l);
    if (l->conn && l->first && l->role == NOBODY && !l->sending) {
        hf_batch *b = hf__batch_keep(l->last);

        read_role(l, b, by);
        hf__batch_put(b);
    }
    let_go(l);
}
