/* SPDX-License-Identifier: MIT
 *
 * place.c - the lines of a store, in words. */
#include "place.h"

#include <fnmatch.h>
#include <string.h>

#include "../view/kind.h"
#include "text.h"

static const view_line no_line = {.name = "", .kind = ""};

const view_line *place_line_for(const lines *all, hf_kind kind) {
    for (size_t i = 0; i < all->n; i++)
        if (kind_line(kind_of(all->all[i].kind)) == kind_line(kind))
            return &all->all[i];
    return all->n > 0 ? all->all : &no_line;
}

const hf_place *place_holder(const lines *all) {
    for (size_t i = 0; i < all->n; i++)
        if (all->all[i].holder)
            return all->all[i].holder;
    return NULL;
}

bool place_matches(const char *pattern, const char *name) {
    if (!pattern)
        return true;
    if (!strpbrk(pattern, "*?["))
        return strncmp(name, pattern, strlen(pattern)) == 0;
    return fnmatch(pattern, name, 0) == 0;
}

const char *place_state(const view_line *line) {
    if (kind_of(line->kind) == HF_LATCH)
        return "closed";
    return line->holder || (line->counts && line->count <= 0) ? "held" : "free";
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

void place_holders(const view_line *l, char *buf, size_t size) {
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

static void put_blocker(FILE *out, const hf_place *p) {
    if (!p)
        return;
    fputs(", behind ", out);
    if (p->pid > 0) {
        text_put(out, p->host);
        fprintf(out, ":%lld", (long long)p->pid);
    } else {
        text_put(out, *p->owner ? p->owner : "somebody");
    }
}

static void put_waiter(FILE *out, const view_line *l, size_t i, int number) {
    const hf_place *p = &l->claims[i];
    char who[600], since[24];
    place_who(p, who, sizeof(who));
    fprintf(out, "  %-9s %d. %s", number == 1 ? "waiting" : "", number, who);
    put_wish(out, p);
    if (p->since_ms >= 0)
        fprintf(out, ", for %s", text_span(p->since_ms, since));
    put_blocker(out, view_blocker(l, i));
    fputc('\n', out);
}

/* Whoever it is may still act as if it held it. */
static void put_lost(FILE *out, const hf_place *p) {
    char who[600];
    place_who(p, who, sizeof(who));
    fprintf(out, "  %slost by%s   %s, who has not given it up yet\n",
            text_paint(out, RED), text_paint(out, PLAIN), who);
}

static void put_state(FILE *out, const view_line *l) {
    const char *green = text_paint(out, GREEN), *plain = text_paint(out, PLAIN);
    long long count = (long long)l->count;
    if (kind_of(l->kind) == HF_LATCH)
        fprintf(out, "  closed    %lld to count down\n", count);
    else if (l->counts)
        fprintf(out, "  free      %s%lld permit%s%s\n", count > 0 ? green : "",
                count, count == 1 ? "" : "s", count > 0 ? plain : "");
    else if (!l->holder)
        fprintf(out, "  %sfree%s\n", green, plain);
}

static void put_line(FILE *out, const view_line *l) {
    int waiters = 0;
    put_state(out, l);
    for (size_t i = 0; i < l->n; i++) {
        if (l->claims[i].holds)
            put_holder(out, &l->claims[i]);
        else if (l->claims[i].lost)
            put_lost(out, &l->claims[i]);
        else
            put_waiter(out, l, i, ++waiters);
    }
}

/* A name that nobody has claimed has one line too: an empty one. */
void place_block(FILE *out, const char *name, const lines *all) {
    size_t i = 0;
    do {
        const view_line *l = i < all->n ? &all->all[i] : &no_line;
        fputs(text_paint(out, BOLD), out);
        text_put(out, name);
        fputs(text_paint(out, PLAIN), out);
        if (*l->kind)
            fprintf(out, " (%s)", l->kind);
        fputc('\n', out);
        put_line(out, l);
    } while (++i < all->n);
}
