/* SPDX-License-Identifier: MIT
 *
 * look.c - who holds, who waits: what the store tells, and what its clients'
 * records add to that.
 *
 * Records come first, then the store's places as it tells them, each with what
 * a record knows of it, and behind each line those claims on it that only a
 * record knows; in the end the claims on names that the store did not tell of.
 * So a list of any length passes through, and only records are kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "doing.h"
#include "err.h"
#include "look.h"
#include "uncancelled.h"

/* ---- records ----------------------------------------------------------- */

typedef struct reading {
    hf_client *client;
    hf_records *to;
    hf_doings *own; /* what we do now; NULL: our record must do */
} reading;

/* Of ourselves we know better than our record. */
static void read_record(void *arg, const hf_identity *who, const char *doing) {
    reading *r = arg;
    bool mine = strcmp(who->client, r->client->host.identity.client) == 0;

    hf__records_add(r->to, who, mine && r->own ? r->own->text : doing);
}

/* HF_ECANNOT: the store keeps none. */
static int read_records(hf_records *ret, hf_client *client, hf_time by,
                        hf_error *err) {
    const hf_backend_ops *ops = client->be->ops;
    reading r = {.client = client, .to = ret};
    int rc;

    *ret = (hf_records){.now_ms = hf__world->wall_us() / 1000};
    if (!ops->clients)
        return hf__fail(err, HF_ECANNOT,
                        "the store %s keeps no records of its "
                        "clients",
                        hf_store(client));
    if (!client->hidden) {
        r.own = hf__malloc(sizeof *r.own);
        if (!r.own)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        hf__doing_now(client, r.own);
    }
    rc = ops->clients(client->be, read_record, &r, by, err);
    hf__free(r.own);
    if (rc == HF_OK && hf__records_sort(ret) != HF_OK)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc != HF_OK)
        hf__records_free(ret);
    return rc;
}

/* So long ago, by clocks that may differ. */
static int64_t ago(const hf_records *records, int64_t since_ms) {
    return records->now_ms > since_ms ? records->now_ms - since_ms : 0;
}

/* ---- the list ---------------------------------------------------------- */

typedef struct listing {
    const char *prefix; /* hidden from the caller, and what has another one */
    const char *name;   /* with it; NULL: all */
    hf_records records;
    hf_told **extra; /* claims that do not hold, by name and time */
    size_t n_extra;
    char last[HF_NAME_MAX + 1]; /* the name the store told of last; "": none */
    hf_place_fn *fn;
    void *arg;
} listing;

static bool is_ours(const listing *l, const char *name) {
    return strncmp(name, l->prefix, strlen(l->prefix)) == 0;
}

static const char *or_else(const char *text, const char *otherwise) {
    return text && *text ? text : otherwise;
}

/* What the store did not know of who it is. */
static void introduce(hf_place *p, const hf_identity *who) {
    p->client = who->client;
    p->host = or_else(p->host, who->host);
    p->program = or_else(p->program, who->program);
    p->user = or_else(p->user, who->user);
    p->why = or_else(p->why, who->why);
    p->pid = p->pid ? p->pid : who->pid;
    p->foreign = false;
}

/* A claim that the store did not tell of. */
static void tell(const listing *l, const hf_told *told) {
    const hf_doing *c = &told->of;
    char owner[64];
    hf_place shown = {.name = c->name + strlen(l->prefix),
                      .kind = hf__kind_word(c->kind),
                      .owner = owner,
                      .lease_ms = -1,
                      .since_ms = ago(&l->records, c->since_ms),
                      .permits = c->permits,
                      .lost = c->does == HF_DOES_MOURN};

    introduce(&shown, &told->record->who);
    if (c->kind == HF_SIMPLE || c->kind == HF_PERMIT)
        snprintf(owner, sizeof owner, "%s", c->owner);
    else
        snprintf(owner, sizeof owner, "%s:%s", shown.client, c->owner);
    l->fn(l->arg, &shown);
}

static bool is_extra(const listing *l, const hf_told *told) {
    return told->of.does != HF_DOES_HOLD &&
           (l->name ? strcmp(told->of.name, l->name) == 0 :
                      is_ours(l, told->of.name));
}

static int by_name_and_time(const void *a, const void *b) {
    const hf_told *x = *(hf_told *const *)a, *y = *(hf_told *const *)b;
    int order = strcmp(x->of.name, y->of.name);

    if (!order)
        order = (int)x->of.does - (int)y->of.does; /* who lost it first */
    return order ? order :
                   (x->of.since_ms > y->of.since_ms) -
                       (x->of.since_ms < y->of.since_ms);
}

static int find_extra(listing *l, hf_error *err) {
    hf_records *r = &l->records;

    l->extra = hf__malloc((r->n_claims + 1) * sizeof *l->extra);
    if (!l->extra)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < r->n_claims; i++)
        if (is_extra(l, &r->claims[i]))
            l->extra[l->n_extra++] = &r->claims[i];
    if (l->n_extra)
        qsort(l->extra, l->n_extra, sizeof(hf_told *), by_name_and_time);
    return HF_OK;
}

/* The first of those on a name, or where it would be. */
static size_t first_extra(const listing *l, const char *name) {
    size_t low = 0, high = l->n_extra;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(l->extra[middle]->of.name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those of one name, or all that are left; each once. */
static void tell_extra(listing *l, const char *name) {
    for (size_t i = name ? first_extra(l, name) : 0; i < l->n_extra; i++) {
        hf_told *told = l->extra[i];

        if (name && strcmp(told->of.name, name) != 0)
            return;
        if (!told->seen)
            tell(l, told);
        told->seen = true;
    }
}

/* A place as the store tells it. */
static void pass_on(void *arg, const hf_place *place) {
    listing *l = arg;
    hf_place shown = *place;
    const hf_record *record;
    hf_told *told;

    if (!is_ours(l, place->name))
        return;
    if (l->n_extra && strcmp(place->name, l->last) != 0) {
        tell_extra(l, l->last);
        snprintf(l->last, sizeof l->last, "%s", place->name);
    }
    told = hf__records_find(&l->records, place->owner, place->name);
    record = told ? told->record :
                    hf__records_client(&l->records, place->owner,
                                       strcspn(place->owner, ":"));
    shown.name += strlen(l->prefix);
    shown.client = "";
    if (record)
        introduce(&shown, &record->who);
    if (told) {
        told->seen = true;
        if (shown.since_ms < 0 &&
            (told->of.does == HF_DOES_HOLD) == shown.holds)
            shown.since_ms = ago(&l->records, told->of.since_ms);
    }
    l->fn(l->arg, &shown);
}

/* A store that keeps no records, or will not show them, is listed all the
 * same. */
static int list(hf_client *client, listing *l, hf_error *err) {
    hf_time by = hf__after_ms(client->host.timeout_ms);
    int rc = read_records(&l->records, client, by, err);

    if (rc == HF_ENO_MEMORY)
        return rc;
    by = hf__after_ms(client->host.timeout_ms);
    rc = find_extra(l, err);
    if (rc == HF_OK)
        rc = client->be->ops->list(client->be, l->name, pass_on, l, by, err);
    if (rc == HF_OK) {
        tell_extra(l, l->last);
        tell_extra(l, NULL);
    }
    hf__free(l->extra);
    hf__records_free(&l->records);
    return rc;
}

int hf_list(hf_client *client, const char *name, hf_place_fn *fn, void *arg,
            hf_error *err) {
    HF_UNCANCELLED;
    char full[HF_NAME_MAX + 1];
    listing l = {.fn = fn, .arg = arg};
    int rc;

    err = err ? err : &(hf_error){0};
    if (!client || !fn)
        return hf__fail(err, HF_EUSAGE, "hf_list: %s is NULL",
                        client ? "fn" : "client");
    l.prefix = client->prefix;
    if ((rc = hf__check_process(client, err)) ||
        (name && (rc = hf__check_name(client, name, err))))
        return rc;
    if (name) {
        snprintf(full, sizeof full, "%s%s", client->prefix, name);
        l.name = full;
    }
    return list(client, &l, err);
}

/* ---- clients ----------------------------------------------------------- */

int hf_clients(hf_client *client, hf_presence_fn *fn, void *arg,
               hf_error *err) {
    HF_UNCANCELLED;
    hf_records records;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!client || !fn)
        return hf__fail(err, HF_EUSAGE, "hf_clients: %s is NULL",
                        client ? "fn" : "client");
    if ((rc = hf__check_process(client, err)) ||
        (rc = read_records(&records, client,
                           hf__after_ms(client->host.timeout_ms), err)))
        return rc;
    for (size_t i = 0; i < records.n; i++) {
        const hf_record *r = &records.all[i];
        hf_presence told = {.client = r->who.client,
                            .host = r->who.host,
                            .program = r->who.program,
                            .user = r->who.user,
                            .why = r->who.why,
                            .pid = r->who.pid,
                            .holds = r->holds,
                            .waits = r->waits,
                            .waits_ms = -1};

        if (r->waits)
            told.waits_ms = ago(&records, r->waits_since_ms);
        if (!r->hidden)
            fn(arg, &told);
    }
    hf__records_free(&records);
    return HF_OK;
}

/* ---- deadlocks --------------------------------------------------------- */

typedef struct hearing {
    const hf_records *records;
    const hf_told *holder; /* is it one? */
    bool confirmed;
    bool strange; /* somebody else holds, too, who may go on */
} hearing;

static void hear(void *arg, const hf_place *place) {
    hearing *h = arg;
    const hf_told *told;

    if (!place->holds)
        return;
    told = hf__records_find(h->records, place->owner, place->name);
    if (told && told == h->holder)
        h->confirmed = true;
    else if (h->holder->of.kind == HF_PERMIT && (!told || !told->stuck))
        h->strange = true;
}

/* Records are a second old; the store knows who holds. */
static bool is_confirmed(hf_client *client, const hf_records *records,
                         const hf_circle *circle, hf_time by) {
    hf_error ignored;

    for (size_t i = 0; i < circle->n; i++) {
        hearing h = {.records = records, .holder = circle->links[i].has};

        if (client->be->ops->list(client->be, h.holder->of.name, hear, &h, by,
                                  &ignored) != HF_OK ||
            !h.confirmed || h.strange)
            return false;
    }
    return true;
}

static void keep_confirmed(hf_client *client, const hf_records *records,
                           hf_circles *circles, hf_time by) {
    size_t kept = 0;

    for (size_t i = 0; i < circles->n; i++)
        if (is_confirmed(client, records, &circles->all[i], by))
            circles->all[kept++] = circles->all[i];
        else
            hf__free(circles->all[i].links);
    circles->n = kept;
}

int hf__find_stuck(hf_client *client, hf_records *records, hf_circles *ret,
                   hf_time by, hf_error *err) {
    int rc = read_records(records, client, by, err);

    if (rc != HF_OK)
        return rc;
    if (hf__circles_find(ret, records) != HF_OK) {
        hf__records_free(records);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    keep_confirmed(client, records, ret, by);
    return HF_OK;
}

/* Names that the prefix does not hide are shown as they are. */
static hf_stuck stuck_at(const hf_client *client, const hf_records *records,
                         const hf_link *link) {
    const hf_told *wants = link->wants;
    const hf_identity *who = &wants->record->who;
    size_t n = strlen(client->prefix);
    bool ours = strncmp(wants->of.name, client->prefix, n) == 0;

    return (hf_stuck){.wants = wants->of.name + (ours ? n : 0),
                      .kind = hf__kind_word(wants->of.kind),
                      .client = who->client,
                      .host = who->host,
                      .program = who->program,
                      .user = who->user,
                      .why = who->why,
                      .pid = who->pid,
                      .thread = wants->of.who,
                      .since_ms = ago(records, wants->of.since_ms),
                      .asked = wants->of.asked};
}

static bool concerns(const hf_client *client, const hf_circle *circle) {
    for (size_t i = 0; i < circle->n; i++)
        if (strncmp(circle->links[i].wants->of.name, client->prefix,
                    strlen(client->prefix)) == 0)
            return true;
    return false;
}

static int tell_circles(hf_client *client, hf_deadlock_fn *fn, void *arg,
                        const hf_records *records, const hf_circles *circles,
                        hf_error *err) {
    for (size_t i = 0; i < circles->n; i++) {
        const hf_circle *c = &circles->all[i];
        hf_stuck *all;

        if (!concerns(client, c))
            continue;
        all = hf__calloc(c->n, sizeof *all);
        if (!all)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        for (size_t j = 0; j < c->n; j++)
            all[j] = stuck_at(client, records, &c->links[j]);
        fn(arg, all, c->n);
        hf__free(all);
    }
    return HF_OK;
}

int hf_deadlocks(hf_client *client, hf_deadlock_fn *fn, void *arg,
                 hf_error *err) {
    HF_UNCANCELLED;
    hf_records records;
    hf_circles circles;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!client || !fn)
        return hf__fail(err, HF_EUSAGE, "hf_deadlocks: %s is NULL",
                        client ? "fn" : "client");
    if ((rc = hf__check_process(client, err)) ||
        (rc = hf__find_stuck(client, &records, &circles,
                             hf__after_ms(client->host.timeout_ms), err)))
        return rc;
    rc = tell_circles(client, fn, arg, &records, &circles, err);
    hf__circles_free(&circles);
    hf__records_free(&records);
    return rc;
}
