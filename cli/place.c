/* SPDX-License-Identifier: MIT
 *
 * place.c - the lines of a store, copied, and in words. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

#include "../view/kind.h"
#include "text.h"

enum { STRINGS = 7 };

static void strings_of(hf_place *p, const char **at[STRINGS]) {
    const char **all[STRINGS] = {&p->name,    &p->kind, &p->owner, &p->host,
                                 &p->program, &p->user, &p->why};
    memcpy(at, all, sizeof(all));
}

/* One allocation holds all the strings of a claim. */
static bool copy(place *to, const hf_place *from) {
    const char **at[STRINGS];
    size_t size = 0;
    char *next;
    to->seen = *from;
    strings_of(&to->seen, at);
    for (int i = 0; i < STRINGS; i++) {
        if (!*at[i])
            *at[i] = "";
        size += strlen(*at[i]) + 1;
    }
    next = to->text = malloc(size);
    for (int i = 0; next && i < STRINGS; i++) {
        *at[i] = strcpy(next, *at[i]);
        next += strlen(next) + 1;
    }
    return to->text != NULL;
}

static void collect(void *arg, const hf_place *p) {
    places *all = arg;
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 16;
        place *items = realloc(all->items, room * sizeof(*items));
        if (!items) {
            all->failed = HF_ENO_MEMORY;
            return;
        }
        all->items = items;
        all->room = room;
    }
    if (copy(&all->items[all->n], p))
        all->n++;
    else
        all->failed = HF_ENO_MEMORY;
}

int places_list(places *all, hf_client *client, const char *name,
                hf_error *err) {
    memset(all, 0, sizeof(*all));
    int r = hf_list(client, name, collect, all, err);
    if (r == HF_OK && all->failed != 0) {
        r = err->code = all->failed;
        snprintf(err->text, sizeof(err->text), "%s", hf_strerror(r));
    }
    return r;
}

void places_free(places *all) {
    for (size_t i = 0; i < all->n; i++)
        free(all->items[i].text);
    free(all->items);
}

/* ---- lines ------------------------------------------------------------- */

/* A number has a place of its own; it neither holds nor waits. */
static bool is_count(const hf_place *p) {
    hf_kind kind = kind_of(p->kind);
    return (kind == HF_SEMAPHORE || kind == HF_LATCH) && !*p->owner;
}

static bool same_line(const hf_place *a, const hf_place *b) {
    return strcmp(a->name, b->name) == 0 &&
           kind_line(kind_of(a->kind)) == kind_line(kind_of(b->kind));
}

/* One who waits in order makes it a fair lock, whatever the holder says. */
static const char *kind_with(const char *kind, const hf_place *p) {
    if (kind_of(p->kind) == HF_PERMIT)
        return kind_word(HF_SEMAPHORE);
    return !*kind || kind_of(p->kind) == HF_FAIR ? p->kind : kind;
}

static void add(place_line *l, const hf_place *p) {
    l->kind = kind_with(l->kind, p);
    if (is_count(p)) {
        l->count = p;
        return;
    }
    if (p->holds && !l->holder)
        l->holder = p;
    l->holders += p->holds;
    l->waiters += !p->holds;
}

static const char *state_of(const place_line *l) {
    if (kind_of(l->kind) == HF_LATCH)
        return "closed";
    return l->holder || (l->count && l->count->count <= 0) ? "held" : "free";
}

size_t places_line(const places *all, size_t i, place_line *l) {
    *l = (place_line){.all = all, .from = i, .end = i, .kind = ""};
    while (l->end < all->n &&
           same_line(&all->items[i].seen, &all->items[l->end].seen))
        add(l, &all->items[l->end++].seen);
    l->state = state_of(l);
    return l->end;
}

void places_line_for(const places *all, hf_kind kind, place_line *l) {
    size_t i = 0;
    while (i < all->n &&
           kind_line(kind_of(all->items[i].seen.kind)) != kind_line(kind))
        i++;
    places_line(all, i < all->n ? i : 0, l);
}

const hf_place *places_holder(const places *all) {
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].seen.holds && !is_count(&all->items[i].seen))
            return &all->items[i].seen;
    return NULL;
}

/* ---- in words ---------------------------------------------------------- */

void place_who(const hf_place *p, char *buf, size_t size) {
    char raw[1024], pid[32] = "";
    if (p->pid > 0)
        snprintf(pid, sizeof(pid), "pid %lld", (long long)p->pid);
    if (!*p->user && !*p->host && !*pid)
        snprintf(raw, sizeof(raw), "%s%s", p->foreign ? "another client, " : "",
                 *p->owner ? p->owner : "unknown");
    else
        snprintf(raw, sizeof(raw), "%s@%s (%s%s%s%s%s%s)",
                 *p->user ? p->user : "?", *p->host ? p->host : "?",
                 *pid ? pid : "pid unknown", *p->program ? ", " : "",
                 p->program, *p->why ? ", \"" : "", p->why,
                 *p->why ? "\"" : "");
    text_clean(raw, buf, size);
}

void places_who(const place_line *l, char *buf, size_t size) {
    size_t n;
    if (!l->holder) {
        snprintf(buf, size, "nobody for the moment");
        return;
    }
    place_who(l->holder, buf, size);
    n = strlen(buf);
    if (l->holders > 1)
        snprintf(buf + n, size - n, " and %zu more", l->holders - 1);
}

static void put_holder(FILE *out, const hf_place *p) {
    char who[600], held[24], lease[24];
    place_who(p, who, sizeof(who));
    fprintf(out, "  held by   %s%s%s\n", text_paint(out, BOLD), who,
            text_paint(out, PLAIN));
    if (p->permits > 0)
        fprintf(out, "  permits   %d\n", p->permits);
    if (p->since_ms >= 0)
        fprintf(out, "  for       %s\n", text_span(p->since_ms, held));
    if (p->lease_ms >= 0)
        fprintf(out, "  lease     %s left\n", text_span(p->lease_ms, lease));
    fprintf(out, "  owner     ");
    text_put(out, p->owner);
    if (p->token > 0)
        fprintf(out, "\n  token     %llu", (unsigned long long)p->token);
    fputc('\n', out);
}

/* What those in one line want may differ. */
static void put_wish(FILE *out, const hf_place *p) {
    hf_kind kind = kind_of(p->kind);
    if (kind == HF_READ || kind == HF_WRITE)
        fprintf(out, ", wants to %s", p->kind);
    if (p->permits > 0)
        fprintf(out, ", wants %d permit%s", p->permits,
                p->permits > 1 ? "s" : "");
}

static void put_waiter(FILE *out, const hf_place *p, int number) {
    char who[600], since[24];
    place_who(p, who, sizeof(who));
    fprintf(out, "  %-9s %d. %s", number == 1 ? "waiting" : "", number, who);
    put_wish(out, p);
    if (p->since_ms >= 0)
        fprintf(out, ", for %s", text_span(p->since_ms, since));
    fputc('\n', out);
}

static void put_state(FILE *out, const place_line *l) {
    const char *green = text_paint(out, GREEN), *plain = text_paint(out, PLAIN);
    long long count = l->count ? (long long)l->count->count : 0;
    if (strcmp(l->state, "closed") == 0)
        fprintf(out, "  closed    %lld to count down\n", count);
    else if (l->count)
        fprintf(out, "  free      %s%lld permit%s%s\n", count > 0 ? green : "",
                count, count == 1 ? "" : "s", count > 0 ? plain : "");
    else if (!l->holder)
        fprintf(out, "  %sfree%s\n", green, plain);
}

static void put_line(FILE *out, const place_line *l) {
    int waiters = 0;
    put_state(out, l);
    for (size_t i = l->from; i < l->end; i++) {
        const hf_place *p = &l->all->items[i].seen;
        if (is_count(p))
            continue;
        if (p->holds)
            put_holder(out, p);
        else
            put_waiter(out, p, ++waiters);
    }
}

/* A name that nobody has claimed has one line too: an empty one. */
void places_block(FILE *out, const char *name, const places *all) {
    size_t i = 0;
    place_line l;
    do {
        i = places_line(all, i, &l);
        fputs(text_paint(out, BOLD), out);
        text_put(out, name);
        fputs(text_paint(out, PLAIN), out);
        if (*l.kind)
            fprintf(out, " (%s)", l.kind);
        fputc('\n', out);
        put_line(out, &l);
    } while (i < all->n);
}
