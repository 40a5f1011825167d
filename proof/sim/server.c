/* SPDX-License-Identifier: MIT
 *
 * server.c - the server: the memory store, asked by whoever's request arrives.
 *
 * It has a clock of its own.  Each client has a handle of the memory store at
 * the server's end, so that a claim is known by client and owner.  What was
 * done is written in a log, with the time; a copy that lags is made by doing
 * the first part of it again in a store that is new.
 *
 * Beside the store there is a list of all who stand in its lines, because a
 * client that died says nothing: whose place was not kept up, or whose session
 * has ended, is taken out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/err.h"
#include "request.h"

extern const hf_backend_ops hf__memory_ops;

enum {
    PLACE_MS = 10000, /* a place that nobody keeps up lasts so long */
    TICK_MS = 250,
    KEPT = 1 << 16 /* requests in the log: more than a trial has */
};

/* Somebody in a line, by what is known of the answers given. */
typedef struct standing {
    struct standing *next;
    sim_link *link;
    hf_claim claim;
    bool holds;
    uint64_t session;
    hf_time heard; /* the server's clock */
    char name[40];
} standing;

/* A request may have been done twice. */
typedef struct entry {
    sim_request *request;
    hf_time at; /* the server's clock */
} entry;

static struct {
    unsigned stores; /* so many there were, for their names */
    char path[16];
    hf_backend *handles[128]; /* of each link */
    bool copied;              /* the log is kept */
    entry *log;
    size_t n_log;
    standing *standing;
    bool mute; /* nobody is told what happens */
    sim_placed_fn *placed;
} s;

/* ---- the store --------------------------------------------------------- */

static void on_woken(void *core, hf_kind kind, const char *name,
                     uint64_t owner) {
    sim_notice n = {.kind = kind, .owner = owner};

    if (s.mute)
        return;
    snprintf(n.name, sizeof n.name, "%s", name);
    sim_notify(core, &n);
}

static void on_granted(void *core, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    sim_notice n = {.kind = kind,
                    .owner = owner,
                    .token = token,
                    .until = sim_true(&sim_state.process, until)};

    if (s.mute)
        return;
    snprintf(n.name, sizeof n.name, "%s", name);
    sim_notify(core, &n);
}

static void open_handle(sim_link *link) {
    hf_uri uri = {.path = s.path};
    hf_error err;

    link->at_server =
        (hf_host){.woken = on_woken, .granted = on_granted, .core = link};
    if (hf__memory_ops.open(&s.handles[link->number], &uri, &link->at_server,
                            HF_NEVER, &err) < 0)
        abort();
}

/* An empty one, with the clients that there are. */
static void open_store(void) {
    snprintf(s.path, sizeof s.path, "%u", ++s.stores);
    for (size_t i = 0; i < sim_state.n_links; i++)
        open_handle(sim_state.links[i]);
}

static void close_store(void) {
    for (size_t i = 0; i < sim_state.n_links; i++)
        hf__memory_ops.close(s.handles[i], false);
}

void sim_server_meet(sim_link *link) {
    open_handle(link);
}

/* ---- who stands in line ------------------------------------------------ */

static standing **find(const sim_link *link, const hf_claim *c) {
    standing **at = &s.standing;

    while (*at &&
           ((*at)->link != link || (*at)->claim.owner != c->owner ||
            (*at)->claim.kind != c->kind || strcmp((*at)->name, c->name) != 0))
        at = &(*at)->next;
    return at;
}

static void forget(standing **at) {
    standing *gone = *at;

    *at = gone->next;
    free(gone);
}

static bool stands(const sim_request *r, const hf_claim *c, bool holds) {
    sim_link *link = r->link;
    standing *one = *find(link, c);
    bool is_new = !one;

    if (is_new) {
        one = calloc(1, sizeof *one);
        if (!one)
            abort();
        one->link = link;
        snprintf(one->name, sizeof one->name, "%s", c->name);
        one->next = s.standing;
        s.standing = one;
    }
    one->claim = *c;
    one->claim.name = one->name;
    one->holds = holds;
    one->session = r->session;
    one->heard = hf__now();
    return is_new;
}

/* ---- the verbs --------------------------------------------------------- */

/* Only some keep a place where the store is like Redis. */
static bool takes_place(const sim_request *r, const hf_claim *c) {
    return r->waits && (sim_state.flavour != SIM_LEASE || c->kind == HF_FAIR ||
                        c->writers_first);
}

/* FAIR and SPIN stand where LOCK does. */
static hf_kind line_of(hf_kind kind) {
    return kind == HF_FAIR || kind == HF_SPIN ? HF_LOCK : hf_line_kind(kind);
}

/* For how long asking again is pointless.  The memory store says a second at
 * most; others know when the first lease ends, or that nothing ends here by
 * itself. */
static hf_time hint(const hf_claim *c) {
    hf_time now = hf__now(), least = c->ask_again - now, first = HF_NEVER;

    if (c->kind == HF_SEMAPHORE || c->kind == HF_LATCH)
        return 60 * HF_SECOND;
    for (const standing *one = s.standing; one; one = one->next)
        if (one->holds && line_of(one->claim.kind) == line_of(c->kind) &&
            strcmp(one->name, c->name) == 0)
            first = hf__sooner(first,
                               one->heard + one->claim.lease_ms * HF_MS - now);
    return first != HF_NEVER && first > least ? first : least;
}

static int attempt(hf_backend *be, sim_request *r, hf_claim *c) {
    bool place = takes_place(r, c);
    hf_error err;
    int rc = be->ops->attempt(be, c, place, HF_NEVER, &err);

    if (rc == HF_OK && c->token)
        stands(r, c, true);
    else if (rc == HF_BUSY && place && c->place && stands(r, c, false) &&
             c->kind == HF_FAIR && !s.mute && s.placed)
        s.placed(r->link->process->number, r->call);
    if (rc == HF_OK && sim_state.flavour == SIM_SESSION)
        c->session_ms = SIM_SESSION_MS;
    if (rc == HF_BUSY)
        c->ask_again = hint(c);
    return rc;
}

static int renew(hf_backend *be, sim_request *r, hf_claim *c) {
    standing **at = find(r->link, c);
    hf_error err;

    if (!c->token && !takes_place(&(sim_request){.waits = true}, c))
        return HF_OK;
    be->ops->renew(be, &c, 1, HF_NEVER, &err);
    if (c->result == HF_OK && *at) {
        (*at)->heard = hf__now();
        (*at)->holds |= c->token != 0; /* perhaps it was granted unasked */
    }
    if (c->result == HF_OK && sim_state.flavour == SIM_SESSION)
        c->session_ms = SIM_SESSION_MS;
    return c->result;
}

/* How many others listen. */
static int rivals(const sim_link *mine, const hf_claim *c) {
    int n = 0;

    for (size_t i = 0; i < sim_state.n_links; i++)
        if (sim_state.links[i] != mine)
            n += *sim_ear_find(&sim_state.links[i]->watches, c->kind, c->name,
                               0) != NULL;
    return n;
}

static int release(hf_backend *be, sim_request *r, hf_claim *c) {
    standing **at = find(r->link, c);
    hf_error err;
    int rc = be->ops->release(be, c, r->how, NULL, HF_NEVER, &err);

    if (*at)
        forget(at);
    c->rivals = rivals(r->link, c);
    return rc;
}

static uint64_t ear_of(const hf_claim *c) {
    return c->kind == HF_FAIR ? c->owner : 0;
}

static int watch(hf_backend *be, sim_request *r, hf_claim *c) {
    sim_ear *e = *sim_ear_find(&r->link->watches, c->kind, c->name, ear_of(c));
    hf_error err;
    int rc = HF_OK;

    if (!e) {
        e = sim_ear_add(&r->link->watches, c->kind, c->name, ear_of(c));
        rc = be->ops->watch(be, c, true, HF_NEVER, &err);
    }
    if (e->sequence < r->value)
        e->sequence = r->value;
    return rc;
}

static void unwatch(hf_backend *be, sim_link *link, const hf_claim *c,
                    int64_t sequence) {
    sim_ear **at = sim_ear_find(&link->watches, c->kind, c->name, ear_of(c));
    sim_ear *gone = *at;
    hf_error err;

    if (!gone || gone->sequence > sequence)
        return;
    be->ops->watch(be, c, false, HF_NEVER, &err);
    *at = gone->next;
    free(gone);
}

static int apply_one(hf_backend *be, sim_request *r, hf_claim *c,
                     int64_t *value) {
    hf_error err;

    switch (r->verb) {
    case SIM_ATTEMPT:
        return attempt(be, r, c);
    case SIM_WATCH:
        return watch(be, r, c);
    case SIM_UNWATCH:
        unwatch(be, r->link, c, r->value);
        return HF_OK;
    case SIM_RENEW:
        return c->result = renew(be, r, c);
    case SIM_RELEASE:
        return release(be, r, c);
    case SIM_COUNT:
        return be->ops->count(be, c, r->op, value, HF_NEVER, &err);
    default:
        return HF_OK;
    }
}

static void write_down(sim_request *r) {
    if (!s.copied)
        return;
    if (s.n_log == KEPT)
        abort();
    r->refs++;
    s.log[s.n_log++] = (entry){r, hf__now()};
}

/* ---- sessions ---------------------------------------------------------- */

static void take_out(standing **at) {
    hf_backend *be = s.handles[(*at)->link->number];
    sim_request *r = sim_request_new((*at)->link, SIM_RELEASE,
                                     (hf_claim *[]){&(*at)->claim}, 1);
    hf_error err;

    write_down(r);
    be->ops->release(be, &(*at)->claim, HF_RELEASE, NULL, HF_NEVER, &err);
    sim_request_put(r);
    forget(at);
}

static void end_session(sim_link *link) {
    sim_faults[SIM_EXPIRED] += !link->process->dead && !link->closing;
    sim_trace("server: the session of process %u ends", link->process->number);
    sim_server_hang_up(link); /* first: nothing is granted to it any more */
    for (standing **at = &s.standing; *at;)
        if ((*at)->link == link)
            take_out(at);
        else
            at = &(*at)->next;
    link->session_until = 0;
}

/* Is it asked in a session that lives, or in a new one? */
static bool in_session(sim_request *r) {
    sim_link *link = r->link;
    hf_time now = hf__now();

    if (sim_state.flavour != SIM_SESSION)
        return true;
    if (r->session < link->server_session ||
        (r->session == link->server_session && now >= link->session_until))
        return false;
    if (r->session > link->server_session && link->session_until)
        end_session(link);
    link->server_session = r->session;
    link->session_until = now + SIM_SESSION_MS * HF_MS;
    return true;
}

/* ---- arrivals ---------------------------------------------------------- */

static const char *const verbs[] = {"attempt", "watch", "unwatch", "renew",
                                    "release", "count", "ping"};

/* Answers a request that was not answered yet. */
static void apply(sim_request *r, bool answers) {
    hf_backend *be = s.handles[r->link->number];

    for (size_t i = 0; i < r->n; i++) {
        hf_claim c = r->of[i].claim;
        int64_t value = r->value;
        int rc = apply_one(be, r, &c, &value);

        if (!answers)
            continue;
        r->of[i].told = c;
        r->answer = value;
        r->result = rc;
        sim_trace("server: %s %s/%u of %u:%llu: %d token %llu", verbs[r->verb],
                  c.name, (unsigned)c.kind, r->link->process->number,
                  (unsigned long long)c.owner, rc, (unsigned long long)c.token);
    }
}

void sim_arrive(sim_request *r) {
    sim_process *before = sim_as(&sim_state.process);
    bool answers = !r->replying;

    if (in_session(r)) {
        if (r->verb == SIM_ATTEMPT || r->verb == SIM_RENEW ||
            r->verb == SIM_RELEASE || r->verb == SIM_COUNT)
            write_down(r);
        apply(r, answers);
        if (answers)
            r->expired = false;
    } else if (answers) {
        r->expired = true;
    }
    sim_as(before);
    sim_reply(r);
}

void sim_server_hang_up(sim_link *link) {
    sim_process *before = sim_as(&sim_state.process);

    while (link->watches) {
        sim_ear *e = link->watches;

        unwatch(
            s.handles[link->number], link,
            &(hf_claim){.kind = e->kind, .name = e->name, .owner = e->owner},
            INT64_MAX);
    }
    sim_as(before);
}

/* ---- the clock of the server ------------------------------------------- */

/* Does nobody keep it up any more?  A copy that took over may know of sessions
 * that had ended. */
static bool has_lapsed(const standing *one, hf_time now) {
    if (sim_state.flavour == SIM_SESSION)
        return !one->link->session_until ||
               one->session != one->link->server_session;
    return !one->holds && now - one->heard > PLACE_MS * HF_MS;
}

static void tick(void *arg) {
    sim_process *before;
    hf_time now;

    (void)arg;
    if (sim_state.ended)
        return;
    before = sim_as(&sim_state.process);
    now = hf__now();
    for (size_t i = 0; sim_state.up && i < sim_state.n_links; i++) {
        sim_link *link = sim_state.links[i];

        if (link->session_until && now >= link->session_until)
            end_session(link);
    }
    for (standing **at = &s.standing; sim_state.up && *at;)
        if (has_lapsed(*at, now))
            take_out(at);
        else
            at = &(*at)->next;
    sim_as(before);
    sim_after(TICK_MS * HF_MS, tick, NULL);
}

void sim_server_step(hf_time by) {
    sim_state.process.offset += by;
    for (standing *one = s.standing; one; one = one->next)
        one->heard += by; /* no server counts these by the wall */
}

/* ---- restarts ---------------------------------------------------------- */

static void drop_standing(void) {
    while (s.standing)
        forget(&s.standing);
}

/* What happened up to then happens again, in a new store. */
static void replay(hf_time until) {
    size_t n = s.n_log;

    s.n_log = 0;
    s.mute = true;
    while (s.n_log < n && s.log[s.n_log].at <= until) {
        entry *e = &s.log[s.n_log++];

        sim_freeze(e->at);
        apply(e->request, false);
    }
    sim_freeze(0);
    s.mute = false;
    for (size_t i = s.n_log; i < n; i++)
        sim_request_put(s.log[i].request);
}

static void hang_up_all(void) {
    for (size_t i = 0; i < sim_state.n_links; i++) {
        sim_server_hang_up(sim_state.links[i]);
        sim_link_cut(sim_state.links[i]);
    }
}

static void come_back(void *arg) {
    (void)arg;
    if (sim_state.ended)
        return;
    sim_state.up = true;
    sim_trace("server: up");
    for (size_t i = 0; i < sim_state.n_links; i++)
        sim_link_cut(sim_state.links[i]);
}

void sim_server_restart(hf_time away, hf_time lost) {
    sim_process *before;

    if (!sim_state.up)
        return;
    sim_trace("server: down, forgets %lld ms", (long long)(lost / HF_MS));
    hang_up_all();
    before = sim_as(&sim_state.process);
    if (lost) {
        close_store();
        drop_standing();
        open_store();
        replay(lost == SIM_FORGETS ? -1 : hf__now() - lost);
    }
    sim_as(before);
    sim_state.up = false;
    sim_after(away, come_back, NULL);
}

void sim_server_network(sim_network network) {
    sim_state.network = network;
}

/* ---- beginning and end ------------------------------------------------- */

void sim_server_begin(sim_flavour flavour, sim_network network, bool copied,
                      sim_placed_fn *placed) {
    unsigned stores = s.stores;
    entry *log = s.log;

    memset(&sim_state, 0, sizeof sim_state);
    memset(&s, 0, sizeof s);
    s.stores = stores;
    s.log = log ? log : malloc(KEPT * sizeof *log);
    if (!s.log)
        abort();
    s.copied = copied;
    s.placed = placed;
    sim_state.flavour = flavour;
    sim_state.network = network;
    sim_state.up = true;
    sim_state.process.offset = sim_between(HF_SECOND, 1000 * HF_SECOND);
    sim_state.process.ppm = (int32_t)sim_between(-4000, 4000);
    snprintf(s.path, sizeof s.path, "%u", ++s.stores);
    sim_after(TICK_MS * HF_MS, tick, NULL);
}

static void count_place(void *arg, const hf_place *place) {
    if (strcmp(place->owner, "") != 0) {
        ++*(int64_t *)arg;
        sim_trace("left: %s of %s%s", place->name, place->owner,
                  place->holds ? ", held" : "");
    }
}

int64_t sim_server_leftovers(void) {
    sim_process *before = sim_as(&sim_state.process);
    int64_t n = 0;
    hf_error err;

    if (sim_state.n_links)
        hf__memory_ops.list(s.handles[0], NULL, count_place, &n, HF_NEVER,
                            &err);
    sim_as(before);
    return n;
}

static void free_link(sim_link *link) {
    while (link->owed) {
        sim_request *r = link->owed;

        link->owed = r->next;
        sim_request_put(r);
    }
    while (link->ears) {
        sim_ear *e = link->ears;

        link->ears = e->next;
        free(e);
    }
    while (link->inbox) {
        sim_notice *n = link->inbox;

        link->inbox = n->next;
        free(n);
    }
    free(link);
}

void sim_server_end(void) {
    sim_process *before = sim_as(&sim_state.process);

    sim_state.ended = true;
    for (size_t i = 0; i < sim_state.n_links; i++)
        sim_server_hang_up(sim_state.links[i]);
    close_store();
    drop_standing();
    for (size_t i = 0; i < s.n_log; i++)
        sim_request_put(s.log[i].request);
    s.n_log = 0;
    for (size_t i = 0; i < sim_state.n_links; i++)
        free_link(sim_state.links[i]);
    sim_state.n_links = 0;
    sim_as(before);
}
