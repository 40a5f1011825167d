/* SPDX-License-Identifier: MIT
 *
 * network.c - messages between clients and the server: late, lost, twice, in
 * another order, or over a connection that is cut.
 *
 * Only a request that nobody has answered yet may arrive a second time: who
 * was answered does not ask again, and a connection repeats nothing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

struct sim_state sim_state;
bool sim_traces;
uint64_t sim_faults[SIM_N_FAULTS];

void sim_trace(const char *format, ...) {
    va_list args;

    if (!sim_traces)
        return;
    printf("%13.6f ", (double)sim_now() / 1e9);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* ---- requests ---------------------------------------------------------- */

static void name_it(char *to, size_t size, const char *from) {
    if (strlen(from) >= size)
        abort();
    strcpy(to, from);
}

sim_request *sim_request_new(sim_link *link, sim_verb verb,
                             hf_claim *const *claims, size_t n) {
    sim_request *r = calloc(1, sizeof *r + n * sizeof r->of[0]);

    if (!r)
        abort();
    r->refs = 1;
    r->link = link;
    r->verb = verb;
    r->session = link->session;
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        r->of[i].claim = *claims[i];
        name_it(r->of[i].name, sizeof r->of[i].name, claims[i]->name);
        r->of[i].claim.name = r->of[i].name;
    }
    return r;
}

void sim_request_put(sim_request *r) {
    if (--r->refs == 0)
        free(r);
}

/* ---- on the way -------------------------------------------------------- */

/* Does it happen this time? */
static bool happens(sim_fault fault, int permille) {
    bool yes = sim_permille(permille);

    sim_faults[fault] += yes;
    return yes;
}

static hf_time travel(void) {
    const sim_network *n = &sim_state.network;

    if (happens(SIM_SLOW, n->slow))
        return sim_between(n->most, n->slowest);
    return sim_between(n->least, n->most);
}

bool sim_link_is_cut_off(const sim_link *link) {
    return link->cut_off_until > sim_now();
}

static void request_arrives(void *arg) {
    sim_request *r = arg;

    if (sim_state.up && !sim_link_is_cut_off(r->link) && !r->answered)
        sim_arrive(r);
    sim_request_put(r);
}

static void travels(sim_request *r, void (*arrives)(void *)) {
    r->refs++;
    sim_after(travel(), arrives, r);
}

/* A session's requests arrive in order, if at all, and none twice: what was
 * said later is true. */
static void send_in_order(sim_request *r) {
    hf_time at = sim_now() + travel();

    if (at <= r->link->last_arrival)
        at = r->link->last_arrival + 1;
    r->link->last_arrival = at;
    r->refs++;
    sim_after(at - sim_now(), request_arrives, r);
}

void sim_send(sim_request *r) {
    if (sim_link_is_cut_off(r->link) ||
        happens(SIM_LOST_REQUEST, sim_state.network.lose_request))
        return;
    if (sim_state.flavour == SIM_SESSION) {
        send_in_order(r);
        return;
    }
    travels(r, request_arrives);
    if (happens(SIM_REPEATED, sim_state.network.repeat))
        travels(r, request_arrives);
}

static void reply_arrives(void *arg) {
    sim_request *r = arg;

    if (r->asker && !r->cut && !sim_link_is_cut_off(r->link)) {
        r->answered = true;
        sim_wake(r->asker);
    }
    sim_request_put(r);
}

void sim_reply(sim_request *r) {
    if (!r->asker || r->replying || sim_link_is_cut_off(r->link) ||
        happens(SIM_LOST_REPLY, sim_state.network.lose_reply))
        return;
    r->replying = true;
    travels(r, reply_arrives);
}

static void notice_arrives(void *arg) {
    sim_notice *n = arg, **link = &n->link->inbox;

    if (n->link->closing || n->link->process->dead ||
        sim_link_is_cut_off(n->link)) {
        free(n);
        return;
    }
    while (*link)
        link = &(*link)->next;
    *link = n;
    sim_wake(n->link->receiver);
}

void sim_notify(sim_link *link, const sim_notice *what) {
    sim_notice *n;

    if (sim_link_is_cut_off(link) ||
        happens(SIM_LOST_NOTICE, sim_state.network.lose_notice))
        return;
    n = malloc(sizeof *n);
    if (!n)
        abort();
    *n = *what;
    n->next = NULL;
    n->link = link;
    sim_after(travel(), notice_arrives, n);
}

/* ---- connections ------------------------------------------------------- */

/* Whoever waits for an answer will not get it. */
static void cut_requests(sim_link *link) {
    for (sim_request *r = link->waiting; r; r = r->next) {
        r->cut = true;
        sim_wake(r->asker);
    }
}

void sim_link_cut(sim_link *link) {
    if (link->closing || link->process->dead)
        return;
    cut_requests(link);
    sim_server_hang_up(link);
    for (sim_ear *e = link->ears; e; e = e->next)
        e->known = false;
    link->reconnects = true;
    sim_wake(link->receiver);
}

static void heal(void *arg) {
    sim_link_cut(arg);
}

void sim_link_partition(sim_link *link, hf_time lasts) {
    link->cut_off_until = sim_now() + lasts;
    sim_after(lasts, heal, link);
}

/* Its process was killed: its end is gone, and what it sent still arrives. */
void sim_link_kill(sim_link *link) {
    cut_requests(link);
    sim_server_hang_up(link);
    if (link->receiver)
        sim_wake(link->receiver);
}

/* ---- ears -------------------------------------------------------------- */

sim_ear **sim_ear_find(sim_ear **list, hf_kind kind, const char *name,
                       uint64_t owner) {
    while (*list && ((*list)->kind != kind || (*list)->owner != owner ||
                     strcmp((*list)->name, name) != 0))
        list = &(*list)->next;
    return list;
}

sim_ear *sim_ear_add(sim_ear **list, hf_kind kind, const char *name,
                     uint64_t owner) {
    sim_ear *e = calloc(1, sizeof *e);

    if (!e)
        abort();
    e->kind = kind;
    e->owner = owner;
    name_it(e->name, sizeof e->name, name);
    e->next = *list;
    *list = e;
    return e;
}
