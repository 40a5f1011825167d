/* SPDX-License-Identifier: MIT
 *
 * picture.c - some seconds of a history as a picture: SVG that needs nothing
 * else, readable on white and on black.
 *
 * A lane for each thread that had to do with the name.  A thin line is a call
 * under way, a light bar a possible hold, a solid one a definite hold, with its
 * token.  Pauses and faults are bands behind them, and where it went wrong is a
 * line through all.  Nothing but numbers and our own words is ever written. */
#include "check/trial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEFT = 120,
    WIDTH = 1080, /* of the time that is shown */
    TOP = 70,
    LANE = 30,
    BAR = 12,
    LANES_MAX = 80,
    SHAPES_MAX = 6000 /* a browser should still open it */
};

typedef struct lane {
    uint32_t process, thread;
    double written_to; /* where its last token ends */
} lane;

typedef struct sheet {
    FILE *out;
    const trial *t;
    uint32_t name;
    int64_t from, to;
    lane lanes[LANES_MAX];
    size_t n_lanes;
    int shapes;
} sheet;

/* ---- lanes ------------------------------------------------------------- */

static bool has_lane(const hf_record *rec) {
    return rec->saw < HF_SAW_PLACED;
}

static int compare(const lane *a, uint32_t process, uint32_t thread) {
    if (a->process != process)
        return a->process < process ? -1 : 1;
    return a->thread < thread ? -1 : a->thread > thread;
}

/* Where it is, or would be. */
static size_t find_lane(const sheet *s, uint32_t process, uint32_t thread) {
    size_t i = 0;
    while (i < s->n_lanes && compare(&s->lanes[i], process, thread) < 0)
        i++;
    return i;
}

static void add_lane(sheet *s, uint32_t process, uint32_t thread) {
    size_t i = find_lane(s, process, thread);
    if (s->n_lanes == LANES_MAX ||
        (i < s->n_lanes && compare(&s->lanes[i], process, thread) == 0))
        return;
    for (size_t j = s->n_lanes++; j > i; j--)
        s->lanes[j] = s->lanes[j - 1];
    s->lanes[i] = (lane){process, thread, 0};
}

/* The middle of a lane; negative: there is none. */
static int y_of(const sheet *s, uint32_t process, uint32_t thread) {
    size_t i = find_lane(s, process, thread);
    if (i == s->n_lanes || compare(&s->lanes[i], process, thread) != 0)
        return -1;
    return TOP + (int)i * LANE + LANE / 2;
}

static bool in_sight(const sheet *s, int64_t from, int64_t to) {
    return from <= s->to && to >= s->from;
}

static void find_lanes(sheet *s) {
    const trial *t = s->t;
    for (size_t i = 0; i < t->n_calls; i++) {
        const call *c = &t->calls[i];
        if (c->name == s->name && in_sight(s, c->asked, c->ended))
            add_lane(s, c->process, c->thread);
    }
    for (size_t i = 0; i < t->n_holds; i++) {
        const hold *h = &t->holds[i];
        if (h->name == s->name && in_sight(s, h->from, h->to))
            add_lane(s, h->process, h->thread);
    }
    for (size_t i = 0; i < t->h->n; i++) {
        const hf_record *rec = &t->h->records[i];
        if (rec->name == s->name && has_lane(rec) &&
            in_sight(s, rec->at, rec->at))
            add_lane(s, rec->process, rec->thread);
    }
}

/* ---- shapes ------------------------------------------------------------ */

static double x_of(const sheet *s, int64_t at) {
    if (at <= s->from)
        return LEFT;
    if (at >= s->to)
        return LEFT + WIDTH;
    return LEFT + WIDTH * ((double)(at - s->from) / (double)(s->to - s->from));
}

/* Is there room for one more? */
static bool one_more(sheet *s) {
    return s->shapes++ < SHAPES_MAX;
}

static void bar(sheet *s, const char *class, int y, int height, int64_t from,
                int64_t to) {
    double x = x_of(s, from), end = x_of(s, to);
    if (!in_sight(s, from, to) || y < 0 || !one_more(s))
        return;
    fprintf(s->out,
            "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
            "height=\"%d\"/>\n",
            class, x, y - height / 2, end - x > 0.8 ? end - x : 0.8, height);
}

static void mark(sheet *s, const char *class, int y, int64_t at,
                 const char *path) {
    if (!in_sight(s, at, at) || y < 0 || !one_more(s))
        return;
    fprintf(s->out,
            "<path class=\"%s\" transform=\"translate(%.2f %d)\" d=\"%s\"/>\n",
            class, x_of(s, at), y, path);
}

static void draw_calls(sheet *s) {
    for (size_t i = 0; i < s->t->n_calls; i++) {
        const call *c = &s->t->calls[i];
        if (c->name != s->name)
            continue;
        int y = y_of(s, c->process, c->thread);
        bar(s, "call", y, 2, c->asked, c->ended);
        if (c->ask != HF_NONE)
            mark(s, "ask", y, c->asked, "M0 -5V5");
        if (hf__refused(c))
            mark(s, "no", y, c->ended, "M0 -4L4 0 0 4 -4 0z");
        else if (c->answered && c->code != HF_OK)
            mark(s, "odd", y, c->ended, "M0 -4L4 0 0 4 -4 0z");
    }
}

static int64_t possible_end(const hold *h) {
    int64_t given = h->given != NULL ? h->given->ended : HF_NEVER;
    if (given != HF_NEVER && h->given->code == HF_OK)
        return given;
    if (h->until == HF_NEVER || given == HF_NEVER)
        return h->until;
    return h->until > given ? h->until : given;
}

/* Its last digits tell tokens apart; where two would overlap, the first is
 * written. */
static void write_token(sheet *s, const hold *h, int y) {
    lane *l = &s->lanes[find_lane(s, h->process, h->thread)];
    double x = x_of(s, h->from);
    char text[32];
    if (h->token == 0 || x < l->written_to || !one_more(s))
        return;
    int n =
        h->token < 10000000 ?
            snprintf(text, sizeof text, "%" PRIu64, h->token) :
            snprintf(text, sizeof text, "..%07" PRIu64, h->token % 10000000);
    l->written_to = x + 6 * n;
    fprintf(s->out, "<text class=\"token\" x=\"%.2f\" y=\"%d\">%s</text>\n", x,
            y - BAR / 2 - 2, text);
}

static void draw_holds(sheet *s) {
    for (size_t i = 0; i < s->t->n_holds; i++) {
        const hold *h = &s->t->holds[i];
        int y = y_of(s, h->process, h->thread);
        if (h->name != s->name || y < 0)
            continue;
        bar(s, "may", y, BAR, h->taken->asked, possible_end(h));
        if (h->to <= h->from || !in_sight(s, h->from, h->to))
            continue;
        bar(s, "does", y, BAR, h->from, h->to);
        write_token(s, h, y);
    }
}

static void draw_marks(sheet *s) {
    for (size_t i = 0; i < s->t->h->n; i++) {
        const hf_record *rec = &s->t->h->records[i];
        int y = y_of(s, rec->process, rec->thread);
        if (rec->name != s->name || y < 0)
            continue;
        if (rec->saw == HF_SAW_LOST)
            mark(s, "lost", y, rec->at, "M-5 -7L5 7M5 -7L-5 7");
        else if (rec->saw == HF_SAW_HELD)
            mark(s, "held", y, rec->at, "M0 -2V2");
        else if (rec->saw == HF_SAW_WRITE)
            mark(s, rec->code == HF_OK ? "wrote" : "refused", y, rec->at,
                 "M0 7L4 13 -4 13z");
    }
}

/* Bands of a process lie behind all of its lanes. */
static void draw_lives(sheet *s) {
    for (size_t i = 0; i < s->n_lanes; i++) {
        const life *l = hf__life(s->t, s->lanes[i].process);
        int y = TOP + (int)i * LANE + LANE / 2;
        const span *pauses;
        size_t n = hf__pauses(s->t, l->process, s->from, s->to, &pauses);
        for (size_t j = 0; j < n; j++)
            bar(s, "paused", y, LANE, pauses[j].from, pauses[j].to);
        if (l->died != HF_NEVER) {
            bar(s, "dead", y, LANE, l->died, HF_NEVER);
            mark(s, "killed", y, l->died, "M0 -14V14");
        }
    }
}

static void draw_faults(sheet *s) {
    int height = (int)s->n_lanes * LANE;
    for (size_t i = 0; i < s->t->n_faults; i++)
        bar(s, "fault", TOP + height / 2, height, s->t->faults[i].from,
            s->t->faults[i].to);
}

/* ---- around it --------------------------------------------------------- */

static const char style[] =
    "<style>\n"
    "svg{--ink:#1b1f24;--faint:#8b949e;--paper:#fff;--solid:#1f6feb;"
    "--light:#a9c9f7;--bad:#cf222e;--warn:#bf8700;--good:#1a7f37;"
    "--band:#d0d7de;--fault:#ffd8d3;background:var(--paper)}\n"
    "@media (prefers-color-scheme:dark){svg{--ink:#e6edf3;--faint:#7d8590;"
    "--paper:#0d1117;--solid:#4493f8;--light:#1f3d66;--bad:#ff7b72;"
    "--warn:#d29922;--good:#3fb950;--band:#30363d;--fault:#4a1d1f}}\n"
    "text{font:11px ui-monospace,monospace;fill:var(--ink)}\n"
    ".token{font-size:9px}.small{fill:var(--faint)}\n"
    ".call{fill:var(--faint)}.may{fill:var(--light)}.does{fill:var(--solid)}\n"
    ".paused{fill:var(--band)}.dead{fill:var(--band);opacity:.5}"
    ".fault{fill:var(--fault)}\n"
    ".ask,.held{stroke:var(--faint);fill:none}"
    ".no{fill:var(--paper);stroke:var(--faint)}.odd{fill:var(--warn)}\n"
    ".lost{stroke:var(--bad);stroke-width:2;fill:none}"
    ".killed{stroke:var(--ink);stroke-width:3;fill:none}\n"
    ".wrote{fill:var(--good)}.refused{fill:var(--bad)}"
    ".here{stroke:var(--bad);stroke-dasharray:4 3}.axis{stroke:var(--band)}\n"
    "</style>\n";

static void draw_head(sheet *s, int height) {
    fprintf(s->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n"
            "<title>what happened to name %" PRIu32 "</title>\n%s"
            "<rect width=\"100%%\" height=\"100%%\" "
            "style=\"fill:var(--paper)\"/>\n"
            "<text x=\"10\" y=\"20\">name %" PRIu32 "</text>\n",
            LEFT + WIDTH + 60, height, LEFT + WIDTH + 60, height, s->name,
            style, s->name);
}

/* Shapes, and words beside them. */
static void draw_legend(sheet *s) {
    static const struct {
        const char *class, *path, *word;
    } rows[] = {{"does", "M-10 -6H10V6H-10z", "holds"},
                {"may", "M-10 -6H10V6H-10z", "may hold"},
                {"call", "M-10 -1H10V1H-10z", "call"},
                {"paused", "M-10 -6H10V6H-10z", "stands still"},
                {"fault", "M-10 -6H10V6H-10z", "fault"},
                {"lost", "M-5 -7L5 7M5 -7L-5 7", "told of loss"},
                {"no", "M0 -4L4 0 0 4 -4 0z", "refused"},
                {"odd", "M0 -4L4 0 0 4 -4 0z", "error"},
                {"wrote", "M0 -3L4 3 -4 3z", "written"},
                {"refused", "M0 -3L4 3 -4 3z", "write refused"},
                {"killed", "M0 -7V7", "killed"}};
    int x = LEFT + 10;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fprintf(s->out,
                "<path class=\"%s\" transform=\"translate(%d 16)\" d=\"%s\"/>"
                "<text x=\"%d\" y=\"20\">%s</text>\n",
                rows[i].class, x, rows[i].path, x + 14, rows[i].word);
        x += 14 + 7 * (int)strlen(rows[i].word) + 22;
    }
}

/* Seconds from where it went wrong. */
static void draw_axis(sheet *s, int64_t zero, int bottom) {
    for (int i = 0; i <= 10; i++) {
        int64_t at = s->from + (s->to - s->from) / 10 * i;
        double x = x_of(s, at);
        fprintf(s->out,
                "<path class=\"axis\" d=\"M%.2f %dV%d\"/>"
                "<text class=\"small\" x=\"%.2f\" y=\"%d\" "
                "text-anchor=\"middle\">%+.3f s</text>\n",
                x, TOP - 12, bottom, x, TOP - 18, (double)(at - zero) / 1e9);
    }
    for (size_t i = 0; i < s->n_lanes; i++)
        fprintf(s->out,
                "<text x=\"10\" y=\"%d\">p%" PRIu32 ".t%" PRIu32 "</text>\n",
                TOP + (int)i * LANE + LANE / 2 + 4, s->lanes[i].process,
                s->lanes[i].thread);
}

static void draw(sheet *s, int64_t zero) {
    int bottom = TOP + (int)s->n_lanes * LANE;
    draw_head(s, bottom + 30);
    draw_legend(s);
    draw_faults(s);
    draw_lives(s);
    draw_axis(s, zero, bottom);
    draw_holds(s);
    draw_calls(s);
    draw_marks(s);
    fprintf(s->out, "<path class=\"here\" d=\"M%.2f %dV%d\"/>\n", x_of(s, zero),
            TOP - 12, bottom);
    if (s->shapes > SHAPES_MAX)
        fprintf(s->out,
                "<text x=\"%d\" y=\"%d\">there was more: show a shorter time"
                "</text>\n",
                LEFT, bottom + 18);
    fputs("</svg>\n", s->out);
}

int hf_picture(FILE *out, const hf_history *h, uint32_t name, size_t at,
               int64_t span_ns) {
    static const hf_promise none;
    trial t;
    sheet *s = calloc(1, sizeof *s);
    int rc = HF_ENO_MEMORY;
    if (at >= h->n || span_ns <= 0) {
        free(s);
        return HF_EUSAGE;
    }
    if (hf__trial_make(&t, h, &none, NULL) == HF_OK && s != NULL) {
        int64_t zero = h->records[at].at, half = span_ns / 2 + 1;
        s->out = out;
        s->t = &t;
        s->name = name;
        s->from = zero > half ? zero - half : 0;
        s->to = hf__later(zero, half);
        find_lanes(s);
        draw(s, zero);
        rc = ferror(out) ? HF_ESYSTEM : HF_OK;
    }
    hf__trial_free(&t);
    free(s);
    return rc;
}
