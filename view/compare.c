/* SPDX-License-Identifier: MIT
 *
 * compare.c - what two looks at a store say about the time between.
 *
 * Lines are sorted by name and the claims of a line by owner, so both looks
 * are gone through side by side, once.
 *
 * What is told is what can be known.  Who was granted and gone again between
 * two looks was never seen.  A hold that is gone while its lease had time left
 * was given back, or taken away: that comes to light when its holder notices,
 * and says so in its record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look.h"

/* In this order things are told of a line. */
typedef enum pass { ENDS, GIVES_UP, BEGINS, WAITS, PASSES } pass;

typedef struct comparison {
    const look *before;
    look *after;
    look_event_fn *fn;
    void *arg;
    const view_line *old, *now; /* the line; either may be NULL */
    pass pass;
} comparison;

static void tell(const comparison *c, view_event_kind kind, const hf_place *p,
                 const char *text) {
    c->fn(c->arg, kind, p, text);
}

/* ---- one claim --------------------------------------------------------- */

static int by_client(const void *client, const void *presence) {
    return strcmp(client, ((const hf_presence *)presence)->client);
}

static bool lives(const look *l, const hf_place *p) {
    return *p->client && l->n_clients > 0 &&
           bsearch(p->client, l->clients, l->n_clients, sizeof(*l->clients),
                   by_client);
}

static bool waits(const hf_place *p) {
    return p && !p->holds && !p->lost;
}

static bool holds(const hf_place *p) {
    return p && p->holds;
}

/* The same owner may hold, give back and hold again; its token tells. */
static bool is_one_grant(const hf_place *a, const hf_place *b) {
    return holds(a) && holds(b) &&
           (a->token == b->token || a->token == 0 || b->token == 0);
}

/* What was left of its lease when it was seen last, less the time since. */
static int64_t left_of(const comparison *c, const hf_place *p) {
    return p->lease_ms - (c->after->then_ms - c->before->then_ms);
}

static int64_t longest_of(const comparison *c, const hf_place *p) {
    return c->before->longest[p - c->before->lines.claims];
}

/* Was there time left?  Who renews has never less than two thirds. */
static bool is_early(const comparison *c, const hf_place *p) {
    return p->lease_ms >= 0 && left_of(c, p) > longest_of(c, p) / 4;
}

/* Nobody renewed it, and its time was over, but for what looks take.  A lease
 * that is shorter than the time between two of them may have been renewed and
 * given back in it, and so says nothing. */
static bool has_run_out(const comparison *c, const hf_place *p) {
    return p->lease_ms >= 0 && left_of(c, p) <= longest_of(c, p) / 16 &&
           longest_of(c, p) > c->after->then_ms - c->before->then_ms;
}

static void tell_end(const comparison *c, const hf_place *old,
                     const hf_place *now) {
    if (now && now->lost)
        tell(c, is_early(c, old) ? VIEW_STOLEN : VIEW_LOST_IT, now, "");
    else if (has_run_out(c, old))
        tell(c, VIEW_EXPIRED, old, "");
    else
        tell(c, VIEW_RELEASED, old,
             lives(c->before, old) && !lives(c->after, old) ?
                 "its process has ended" :
                 "");
}

static const hf_place *const *owners(const look *l, const view_line *line) {
    return l->lines.by_owner + (line ? line->claims - l->lines.claims : 0);
}

static int by_owner(const void *key, const void *item) {
    return lines_order(key, *(const hf_place *const *)item);
}

static bool has_owner(const look *l, const view_line *line, const hf_place *p) {
    return line && line->n > 0 &&
           bsearch(p, owners(l, line), line->n, sizeof(const hf_place *),
                   by_owner);
}

/* Does the line have a claim, or one that waits, of the same client whose owner
 * the line in the other look has not?  Whoever waits is known to some stores by
 * a record only, and under another owner once he is granted. */
static bool goes_on(const view_line *line, bool waiting, const look *other,
                    const view_line *theirs, const hf_place *p) {
    for (size_t i = 0; *p->client && line && i < line->n; i++)
        if (strcmp(line->claims[i].client, p->client) == 0 &&
            (!waiting || waits(&line->claims[i])) &&
            !has_owner(other, theirs, &line->claims[i]))
            return true;
    return false;
}

static bool is_untold(const comparison *c, const hf_place *old) {
    return holds(old) && c->before->untold[old - c->before->lines.claims];
}

/* A client's record comes a moment after what it holds: so long it looks like
 * somebody else's, and is not told of. */
static void tell_grant(const comparison *c, const hf_place *old,
                       const hf_place *now) {
    bool is_new = !is_one_grant(old, now);
    if (is_new && now->foreign)
        c->after->untold[now - c->after->lines.claims] = true;
    else if (is_new || is_untold(c, old))
        tell(c, VIEW_GRANTED, now, "");
}

static void tell_claim(const comparison *c, const hf_place *old,
                       const hf_place *now) {
    switch (c->pass) {
    case ENDS:
        if (holds(old) && !is_one_grant(old, now)) {
            if (is_untold(c, old))
                tell(c, VIEW_GRANTED, old, "");
            tell_end(c, old, now);
        }
        if (!holds(old) && now && now->lost && !(old && old->lost))
            tell(c, VIEW_LOST_IT, now, "");
        break;
    case GIVES_UP:
        if (waits(old) && !now &&
            !goes_on(c->now, false, c->before, c->old, old))
            tell(c, VIEW_GAVE_UP, old, "");
        break;
    case BEGINS:
        if (holds(now))
            tell_grant(c, old, now);
        break;
    case WAITS:
        if (waits(now) && !waits(old) &&
            (old || !goes_on(c->old, true, c->after, c->now, now)))
            tell(c, VIEW_WAITS, now, "");
        break;
    case PASSES:
        break;
    }
}

/* ---- one line ---------------------------------------------------------- */

static void compare_claims(const comparison *c) {
    const hf_place *const *old = owners(c->before, c->old);
    const hf_place *const *now = owners(c->after, c->now);
    size_t n_old = c->old ? c->old->n : 0, n_now = c->now ? c->now->n : 0;
    size_t i = 0, k = 0;
    while (i < n_old || k < n_now) {
        int order = i == n_old ? 1 :
                    k == n_now ? -1 :
                                 lines_order(old[i], now[k]);
        tell_claim(c, order <= 0 ? old[i] : NULL, order >= 0 ? now[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

static void compare_line(comparison *c, const view_line *old,
                         const view_line *now) {
    c->old = old;
    c->now = now;
    for (c->pass = ENDS; c->pass < PASSES; c->pass++)
        compare_claims(c);
}

/* ---- all --------------------------------------------------------------- */

static bool same_circle(const view_circle *a, const view_circle *b) {
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->all[i].client, b->all[i].client) == 0 &&
               a->all[i].thread == b->all[i].thread &&
               strcmp(a->all[i].wants, b->all[i].wants) == 0;
    return same;
}

static void describe(const view_circle *circle, char *buf, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < circle->n && used < size; i++) {
        const hf_stuck *s = &circle->all[i];
        int n = snprintf(buf + used, size - used, "%s%s@%s (pid %lld) wants %s",
                         i > 0 ? ", " : "", s->user, s->host, (long long)s->pid,
                         s->wants);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* Circles are few; somebody has to look at each of them. */
static void compare_circles(const comparison *c) {
    for (size_t i = 0; i < c->after->n_circles; i++) {
        const view_circle *circle = &c->after->circles[i];
        const hf_stuck *s = circle->all;
        char text[480] = "";
        bool known = false;
        for (size_t k = 0; !known && k < c->before->n_circles; k++)
            known = same_circle(circle, &c->before->circles[k]);
        if (known)
            continue;
        describe(circle, text, sizeof(text));
        tell(c, VIEW_STUCK,
             &(hf_place){.name = s->wants,
                         .kind = s->kind,
                         .owner = "",
                         .client = s->client,
                         .host = s->host,
                         .program = s->program,
                         .user = s->user,
                         .why = s->why,
                         .pid = s->pid,
                         .lease_ms = -1,
                         .since_ms = s->since_ms},
             text);
    }
}

void look_compare(const look *before, look *after, look_event_fn *fn,
                  void *arg) {
    comparison c = {.before = before, .after = after, .fn = fn, .arg = arg};
    size_t i = 0, k = 0;
    while (i < before->lines.n || k < after->lines.n) {
        const view_line *old =
            i < before->lines.n ? &before->lines.all[i] : NULL;
        const view_line *now = k < after->lines.n ? &after->lines.all[k] : NULL;
        int order = !old ? 1 : !now ? -1 : lines_compare(old, now);
        compare_line(&c, order <= 0 ? old : NULL, order >= 0 ? now : NULL);
        i += order <= 0;
        k += order >= 0;
    }
    compare_circles(&c);
}
