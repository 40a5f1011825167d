/* SPDX-License-Identifier: MIT
 *
 * store.c - the backend that a client of the simulated server has: sends,
 * waits for the answer until its deadline, and listens.
 *
 * A process that was killed goes on as a ghost, so that what it had is freed:
 * nothing that it sends leaves, and nothing that it does is written down. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/client.h"
#include "../../src/err.h"
#include "request.h"

typedef struct backend {
    hf_backend base;
    sim_link *link;
} backend;

extern const hf_backend_ops hf__memory_ops;

static sim_link *link_of(hf_backend *be) {
    return ((backend *)be)->link;
}

/* ---- asking ------------------------------------------------------------ */

/* The session that it was asked in is over: a new one begins, and what was
 * held in the old one is gone. */
static void session_is_over(sim_link *link, uint64_t session) {
    if (link->session != session)
        return;
    link->session++;
    link->reconnects = link->shaken = true;
    for (sim_ear *e = link->ears; e; e = e->next)
        e->known = false;
    sim_wake(link->receiver);
}

static void wait_for_answer(sim_request *r, hf_time by) {
    sim_link *link = r->link;
    sim_request **at = &link->waiting;

    r->asker = sim_self();
    r->next = link->waiting;
    link->waiting = r;
    sim_send(r);
    while (!r->answered && !r->cut && sim_now() < by)
        sim_suspend(by);
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->asker = NULL;
}

/* HF_OK: answered.  HF_EDOWN: nothing was sent. */
static int ask(sim_request *r, hf_time by) {
    sim_link *link = r->link;

    if (link->process->dead)
        return HF_EDOWN;
    if (!sim_state.up && !sim_link_is_cut_off(link)) {
        sim_sleep(sim_between(100000, HF_MS)); /* refused */
        return HF_EDOWN;
    }
    wait_for_answer(r, sim_true(link->process, by));
    if (link->process->dead)
        return HF_EDOWN;
    if (!r->answered)
        return HF_EDOUBT;
    if (r->expired)
        session_is_over(link, r->session);
    return HF_OK;
}

static void take_answer(hf_claim *c, const sim_request *r, size_t i) {
    const hf_claim *told = &r->of[i].told;

    c->token = told->token;
    c->last_token = told->last_token;
    c->session_ms = told->session_ms;
    c->result = told->result;
    c->rivals = told->rivals;
    c->place = told->place;
}

/* ---- the verbs --------------------------------------------------------- */

static int sim_attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                       hf_error *err) {
    sim_request *r = sim_request_new(link_of(be), SIM_ATTEMPT, &c, 1);
    int rc;

    r->waits = waits;
    r->call = *sim_mark(sim_self());
    rc = ask(r, by);
    if (rc == HF_OK && r->expired)
        rc = HF_EDOWN;
    if (rc == HF_OK) {
        rc = r->result;
        take_answer(c, r, 0);
        if (rc == HF_BUSY)
            c->ask_again = hf__now() + r->of[0].told.ask_again;
    }
    sim_request_put(r);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

static uint64_t ear_of(const hf_claim *c) {
    return c->kind == HF_FAIR ? c->owner : 0;
}

static void watch_off(sim_link *link, const hf_claim *c) {
    sim_ear **at = sim_ear_find(&link->ears, c->kind, c->name, ear_of(c));
    sim_ear *gone = *at;
    hf_claim copy = *c, *only = &copy;

    if (!gone || --gone->refs > 0)
        return;
    *at = gone->next;
    if (gone->known && !link->process->dead) {
        sim_request *r = sim_request_new(link, SIM_UNWATCH, &only, 1);

        r->value = ++link->sequence;
        sim_send(r);
        sim_request_put(r);
    }
    free(gone);
}

/* The ear may go while we ask. */
static int introduce(sim_link *link, const hf_claim *c, hf_time by) {
    hf_claim copy = *c, *only = &copy;
    sim_request *r = sim_request_new(link, SIM_WATCH, &only, 1);
    int rc;

    r->value = ++link->sequence;
    rc = ask(r, by);
    if (rc == HF_OK && r->expired)
        rc = HF_EDOWN;
    if (rc == HF_OK) {
        sim_ear *e = *sim_ear_find(&link->ears, c->kind, c->name, ear_of(c));

        if (e)
            e->known = true;
    }
    sim_request_put(r);
    return rc;
}

static int sim_watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                     hf_error *err) {
    sim_link *link = link_of(be);
    sim_ear *e;
    int rc = HF_OK;

    if (!on) {
        watch_off(link, c);
        return HF_OK;
    }
    e = *sim_ear_find(&link->ears, c->kind, c->name, ear_of(c));
    if (!e)
        e = sim_ear_add(&link->ears, c->kind, c->name, ear_of(c));
    e->refs++;
    if (!e->known)
        rc = introduce(link, c, by);
    if (rc == HF_OK)
        return HF_OK;
    watch_off(link, c);
    return hf__fail_plain(err, rc);
}

static int sim_renew(hf_backend *be, hf_claim *const *claims, size_t n,
                     hf_time by, hf_error *err) {
    sim_request *r = sim_request_new(link_of(be), SIM_RENEW, claims, n);
    int rc = ask(r, by);

    for (size_t i = 0; i < n; i++)
        if (rc != HF_OK)
            claims[i]->result = rc;
        else if (r->expired)
            claims[i]->result = HF_ELOST;
        else
            take_answer(claims[i], r, i);
    sim_request_put(r);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

/* A place that is tied to a session does not end by itself: whoever has such
 * a store sees to it until the store has confirmed it. */
static void owe(sim_link *link, const sim_request *r) {
    hf_claim c = r->of[0].claim, *only = &c;
    sim_request *again = sim_request_new(link, SIM_RELEASE, &only, 1);

    again->how = r->how;
    again->session = r->session;
    again->next = link->owed;
    link->owed = again;
}

static void pay(sim_link *link) {
    sim_request *r;

    while ((r = link->owed) && !link->closing && !link->process->dead) {
        link->owed = r->next;
        if (ask(r, hf__after_ms(300)) != HF_OK) {
            owe(link, r);
            sim_request_put(r);
            return;
        }
        sim_request_put(r);
    }
}

static int sim_release(hf_backend *be, hf_claim *c, hf_how how,
                       const char *whose, hf_time by, hf_error *err) {
    sim_link *link = link_of(be);
    sim_request *r = sim_request_new(link, SIM_RELEASE, &c, 1);
    int rc = HF_OK;

    (void)whose;
    r->how = how == HF_RELEASE_POSTED ? HF_RELEASE : how;
    if (how == HF_RELEASE_POSTED) {
        if (!link->process->dead)
            sim_send(r);
    } else {
        rc = ask(r, by);
        if (rc == HF_OK) {
            rc = r->expired ? HF_ELOST : r->result;
            c->rivals = r->expired ? 0 : r->of[0].told.rivals;
        } else if (sim_state.flavour == SIM_SESSION && !link->process->dead) {
            owe(link, r);
        }
    }
    sim_request_put(r);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

static int sim_count(hf_backend *be, hf_claim *c, hf_count_op op,
                     int64_t *value, hf_time by, hf_error *err) {
    sim_request *r = sim_request_new(link_of(be), SIM_COUNT, &c, 1);
    int rc;

    r->op = op;
    r->value = *value;
    rc = ask(r, by);
    if (rc == HF_OK && r->expired)
        rc = HF_EDOWN;
    if (rc == HF_OK) {
        rc = r->result;
        *value = r->answer;
    }
    sim_request_put(r);
    return rc < 0 ? hf__fail_plain(err, rc) : rc;
}

static int sim_announce(hf_backend *be, const char *doing, int lease_ms,
                        hf_time by, hf_error *err) {
    (void)be, (void)doing, (void)lease_ms, (void)by, (void)err;
    return HF_OK;
}

static unsigned sim_can(const hf_backend *be, hf_kind kind) {
    return hf__memory_ops.can(be, kind);
}

static const char *sim_where(const hf_backend *be) {
    (void)be;
    return "simulated";
}

/* ---- listening --------------------------------------------------------- */

/* A gift that has little time left is a call only. */
static void deliver(sim_link *link, const sim_notice *n) {
    const hf_host *host = link->host;
    hf_time until = sim_local(link->process, n->until);

    until -= (until - sim_local(link->process, sim_now())) / 50;
    if (n->token && until - hf__now() > 200 * HF_MS)
        host->granted(host->core, n->kind, n->name, n->owner, n->token, until);
    else
        host->woken(host->core, n->kind, n->name, n->owner);
}

static bool reconnect(sim_link *link) {
    bool all = true;

    for (sim_ear *e = link->ears, *next; e; e = next) {
        hf_claim c = {.kind = e->kind, .name = e->name, .owner = e->owner};
        char name[sizeof e->name];

        next = e->next;
        if (e->known)
            continue;
        strcpy(name, e->name);
        c.name = name;
        all &= introduce(link, &c, hf__after_ms(300)) == HF_OK;
        next = link->ears; /* whatever has become of the list */
        if (!all)
            break;
    }
    return all;
}

static void *receiver_run(void *arg) {
    sim_link *link = arg;

    while (!link->closing) {
        sim_notice *n = link->inbox;

        if (n) {
            link->inbox = n->next;
            if (!link->process->dead)
                deliver(link, n);
            free(n);
        } else if (link->reconnects && !link->process->dead) {
            link->reconnects = false;
            if (reconnect(link)) {
                if (link->shaken)
                    link->host->shaken(link->host->core, HF_LOCK, NULL);
                link->shaken = false;
                link->host->woken(link->host->core, HF_LOCK, NULL, 0);
            } else {
                link->reconnects = true;
                sim_suspend(sim_now() + 100 * HF_MS);
            }
        } else {
            sim_suspend(HF_NEVER);
        }
    }
    return NULL;
}

static void *pinger_run(void *arg) {
    sim_link *link = arg;

    while (!link->closing) {
        pay(link);
        if (!link->process->dead) {
            sim_request *r = sim_request_new(link, SIM_PING, NULL, 0);

            if (ask(r, hf__after_ms(SIM_SESSION_MS / 4)) != HF_OK)
                sim_sleep(50 * HF_MS);
            sim_request_put(r);
        }
        if (!link->closing)
            sim_suspend(sim_now() + SIM_SESSION_MS / 4 * HF_MS);
    }
    return NULL;
}

/* ---- opening and closing ----------------------------------------------- */

static void join(sim_fiber **f) {
    if (!*f)
        return;
    sim_wake(*f);
    sim_world.thread_join((pthread_t)(uintptr_t)*f);
    *f = NULL;
}

/* The session ends with its client. */
static void sim_close(hf_backend *be, bool forked) {
    sim_link *link = link_of(be);

    (void)forked;
    link->closing = true;
    join(&link->pinger);
    join(&link->receiver);
    sim_server_hang_up(link);
    free(be);
}

static const hf_backend_ops sim_ops = {
    .close = sim_close,
    .can = sim_can,
    .where = sim_where,
    .attempt = sim_attempt,
    .watch = sim_watch,
    .renew = sim_renew,
    .release = sim_release,
    .count = sim_count,
    .announce = sim_announce,
};

/* In place of the store that the address named. */
static hf_backend *take_place(void *arg, hf_backend *inner) {
    sim_link **ret = arg, *link = calloc(1, sizeof *link);
    backend *be = calloc(1, sizeof *be);

    if (!be || !link || sim_state.n_links == 128)
        abort();
    link->number = sim_state.n_links;
    link->process = sim_process_of(sim_self());
    link->host = inner->host;
    link->session = 1;
    sim_state.links[sim_state.n_links++] = link;
    sim_server_meet(link);
    link->receiver = sim_spawn(link->process, receiver_run, link);
    if (sim_state.flavour == SIM_SESSION)
        link->pinger = sim_spawn(link->process, pinger_run, link);
    be->base.ops = &sim_ops;
    be->base.host = inner->host;
    be->link = link;
    inner->ops->close(inner, false);
    *ret = link;
    return &be->base;
}

int sim_open(hf_client **ret, sim_link **link, const hf_options *options,
             hf_error *err) {
    return hf__open_wrapped(ret, "memory:door", options, take_place, link, err);
}
