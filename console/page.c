/* SPDX-License-Identifier: MIT
 *
 * page.c - the console's page and its files.
 *
 * The page is whole without JavaScript: the server writes the table into it.
 * Names and reasons are strangers' words, so every text that is not ours goes
 * through put_text. */
#include "page.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "../cli/text.h"
#include "gate.h"
#include "keys.h"
#include "page.gen.h"

enum { ROWS_MOST = 500 };

/* ---- texts of strangers ------------------------------------------------ */

static void put_char(FILE *out, char c) {
    if (c == '<')
        fputs("&lt;", out);
    else if (c == '>')
        fputs("&gt;", out);
    else if (c == '&')
        fputs("&amp;", out);
    else if (c == '"')
        fputs("&quot;", out);
    else if (c == '\'')
        fputs("&#39;", out);
    else
        fputc(c, out);
}

static void put_text(FILE *out, const char *text) {
    while (*text) {
        size_t n = text_char(text);
        if (n == 0)
            fprintf(out, "\\x%02x", (unsigned char)*text++);
        for (; n > 0; n--)
            put_char(out, *text++);
    }
}

static void put_cell(FILE *out, const char *text) {
    fputs("<td>", out);
    put_text(out, text);
    fputs("</td>", out);
}

/* ---- the table --------------------------------------------------------- */

static void put_holder(FILE *out, const view_line *l) {
    const hf_place *p = l->holder;
    char text[600] = "-";
    int n = 0;
    if (p && !*p->user && !*p->host)
        n = snprintf(text, sizeof(text), "%.200s", p->owner);
    else if (p)
        n = snprintf(text, sizeof(text), "%.80s@%.120s:%" PRId64 "%s%.300s",
                     p->user, p->host, p->pid, *p->why ? ", " : "", p->why);
    if (l->holders > 1 && n > 0 && (size_t)n < sizeof(text))
        snprintf(text + n, sizeof(text) - (size_t)n, " and %zu more",
                 l->holders - 1);
    put_cell(out, text);
}

/* How long a lease is no store tells; what is left of it is shown beside the
 * usual one. */
static void put_lease(FILE *out, const view_line *l, int usual_ms) {
    int64_t left = l->holder ? l->holder->lease_ms : -1;
    int64_t most = left > usual_ms ? left : usual_ms;
    char span[24];
    if (left < 0) {
        put_cell(out, "-");
        return;
    }
    fprintf(out,
            "<td><meter min=\"0\" max=\"%" PRId64 "\" value=\"%" PRId64
            "\"></meter> %s</td>",
            most / 1000, left / 1000, text_span(left, span));
}

static void put_number(FILE *out, uint64_t n) {
    if (n > 0)
        fprintf(out, "<td>%" PRIu64 "</td>", n);
    else
        put_cell(out, "-");
}

static void put_state(FILE *out, view_state state) {
    const char *word = view_state_word(state);
    fputs("<td><span class=\"state\" data-state=\"", out);
    for (const char *at = word; *at; at++)
        fputc(*at == ' ' ? '-' : *at, out);
    fprintf(out, "\">%s</span></td>", word);
}

static void put_row(FILE *out, const view_line *l, int usual_ms) {
    char span[24];
    fputs("<tr><th scope=\"row\">", out);
    put_text(out, l->name);
    fputs("</th>", out);
    put_cell(out, l->kind);
    put_holder(out, l);
    put_cell(out, text_span(l->holder ? l->holder->since_ms : -1, span));
    put_lease(out, l, usual_ms);
    fprintf(out, "<td>%zu</td>", l->waiters);
    put_number(out, l->holder ? l->holder->token : 0);
    put_state(out, l->state);
    fputs("</tr>\n", out);
}

static size_t put_rows(FILE *out, const view_picture *p, int usual_ms,
                       bool held, size_t room) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_lines && n < room; i++)
        if ((p->lines[i].state != VIEW_FREE) == held) {
            put_row(out, &p->lines[i], usual_ms);
            n++;
        }
    return n;
}

static void put_facts(FILE *out, const view_picture *p) {
    time_t at = (time_t)(p->at_ms / 1000);
    char clock[16];
    struct tm tm;
    gmtime_r(&at, &tm);
    strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
    fprintf(out, "%zu held, %zu waiting, looked at %s UTC", p->held, p->waiting,
            clock);
    if (p->n_lines > ROWS_MOST)
        fprintf(out, "; the first %d of %zu are shown", (int)ROWS_MOST,
                p->n_lines);
    if (p->stale) {
        fputs("; the store does not answer: ", out);
        put_text(out, p->trouble.text);
    }
}

/* ---- the page ---------------------------------------------------------- */

static void put_marker(request *r, const view_picture *p, const char *word,
                       size_t n) {
    if (n == 5 && memcmp(word, "store", n) == 0) {
        put_text(r->out, hf_store(r->console->client));
    } else if (n == 5 && memcmp(word, "facts", n) == 0) {
        put_facts(r->out, p);
    } else if (n == 4 && memcmp(word, "rows", n) == 0) {
        size_t put = put_rows(r->out, p, r->console->ttl_ms, true, ROWS_MOST);
        put_rows(r->out, p, r->console->ttl_ms, false, ROWS_MOST - put);
    }
}

void page_index(request *r) {
    static const char mark[] = "<!--holdfast:", end[] = "-->";
    const char *at = hf_index_html, *next;
    picture *p = watch_picture(r->console->watch);
    FILE *out = request_out(r, 200, "text/html; charset=utf-8");
    while ((next = strstr(at, mark)) != NULL) {
        const char *word = next + strlen(mark), *stop = strstr(word, end);
        fwrite(at, 1, (size_t)(next - at), out);
        if (!stop)
            break;
        put_marker(r, &p->seen, word, (size_t)(stop - word));
        at = stop + strlen(end);
    }
    fputs(at, out);
    watch_return(r->console->watch, p);
}

static const struct {
    const char *name, *type, *text;
} files[] = {
    {"console.css", "text/css; charset=utf-8", hf_console_css},
    {"console.js", "text/javascript; charset=utf-8", hf_console_js},
    {"icon.svg", "image/svg+xml", hf_icon_svg},
};

void page_file(request *r) {
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (strcmp(r->target.parts[0], files[i].name) == 0)
            fputs(files[i].text, request_out(r, 200, files[i].type));
}

/* ---- logging in -------------------------------------------------------- */

void page_login(request *r, int status, const char *trouble) {
    FILE *out = request_out(r, status, "text/html; charset=utf-8");
    fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\"><title>holdfast: log in</title>"
          "<link rel=\"stylesheet\" href=\"/console.css\"></head>"
          "<body><main id=\"main\"><h1>holdfast</h1>",
          out);
    if (*trouble) {
        fputs("<p class=\"error\" role=\"alert\">", out);
        put_text(out, trouble);
        fputs("</p>", out);
    }
    fputs("<form method=\"post\" action=\"/login\"><label>Token "
          "<input type=\"password\" name=\"token\" required "
          "autocomplete=\"current-password\"></label> "
          "<button type=\"submit\">Log in</button></form>"
          "</main></body></html>\n",
          out);
}

static void go_home(request *r, const char *session, int seconds) {
    char cookie[160];
    snprintf(cookie, sizeof(cookie),
             "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s",
             GATE_COOKIE, session, seconds, r->console->tls ? "; Secure" : "");
    request_extra(r, "Set-Cookie", cookie);
    request_extra(r, "Location", "/");
    request_out(r, 303, "text/plain");
}

static const char *form_value(request *r, const char *key) {
    target_pair pairs[TARGET_PAIRS];
    size_t n = 0;
    if (!r->body || decode_pairs(r->body, pairs, &n) != NULL)
        return "";
    for (size_t i = 0; i < n; i++)
        if (strcmp(pairs[i].key, key) == 0)
            return pairs[i].value;
    return "";
}

void page_log_in(request *r) {
    char session[KEYS_SESSION];
    keys *k = r->console->keys;
    const char *owner = k ? keys_operator(k, form_value(r, "token")) : NULL;
    if (!k)
        go_home(r, "", 0); /* nobody is asked */
    else if (!owner)
        page_login(r, 401, "This is not a token of this server.");
    else if (!keys_begin(k, owner, session))
        request_problem(r, 500, HF_ESYSTEM, "no randomness to be had");
    else
        go_home(r, session, KEYS_SESSION_HOURS * 3600);
}

void page_log_out(request *r) {
    char session[KEYS_SESSION];
    if (r->console->keys &&
        decode_cookie(request_header(r, "Cookie"), GATE_COOKIE, session,
                      sizeof(session)))
        keys_end(r->console->keys, session);
    go_home(r, "", 0);
}
