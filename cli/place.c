/* SPDX-License-Identifier: MIT
 *
 * place.c - the lines of a store, copied, and in words. */
#include "place.h"

#include <stdlib.h>
#include <string.h>

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

size_t places_next_name(const places *all, size_t i) {
    const hf_place *first = &all->items[i].seen;
    while (++i < all->n) {
        const hf_place *p = &all->items[i].seen;
        if (strcmp(p->name, first->name) != 0 ||
            strcmp(p->kind, first->kind) != 0)
            break;
    }
    return i;
}

const hf_place *places_holder(const places *all, size_t i, size_t end) {
    for (; i < end; i++)
        if (all->items[i].seen.holds)
            return &all->items[i].seen;
    return NULL;
}

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

static void put_holder(FILE *out, const hf_place *p) {
    char who[600], held[24], lease[24];
    place_who(p, who, sizeof(who));
    fprintf(out, "  held by   %s%s%s\n", text_paint(out, BOLD), who,
            text_paint(out, PLAIN));
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

static void put_waiters(FILE *out, const places *all) {
    int n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const hf_place *p = &all->items[i].seen;
        char who[600], since[24];
        if (p->holds)
            continue;
        place_who(p, who, sizeof(who));
        fprintf(out, "  %-9s %d. %s, for %s\n", n == 0 ? "waiting" : "", n + 1,
                who, text_span(p->since_ms, since));
        n++;
    }
}

void places_block(FILE *out, const char *name, const places *all) {
    const hf_place *holder = places_holder(all, 0, all->n);
    fputs(text_paint(out, BOLD), out);
    text_put(out, name);
    fputs(text_paint(out, PLAIN), out);
    if (all->n > 0)
        fprintf(out, " (%s)", all->items[0].seen.kind);
    fputc('\n', out);
    if (holder)
        put_holder(out, holder);
    else
        fprintf(out, "  %sfree%s\n", text_paint(out, GREEN),
                text_paint(out, PLAIN));
    put_waiters(out, all);
}
