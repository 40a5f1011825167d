/* SPDX-License-Identifier: MIT
 *
 * api_store.c - how the store and this server are. */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/moment.h"
#include "../cli/write.h"
#include "openapi.gen.h"

enum { LOOK_TOO_OLD_MS = 15000 };

/* ---- the store --------------------------------------------------------- */

static void write_fact(void *arg, hf_verdict_level level, const char *what,
                       const char *text) {
    json *j = arg;
    json_open(j, NULL, '{');
    json_text(j, "level",
              level == HF_GOOD ? "good" :
              level == HF_WARN ? "warn" :
                                 "fact");
    json_text(j, "what", what);
    json_text(j, "text", text);
    json_close(j, '}');
}

static void write_rtt(json *j, int64_t us) {
    fprintf(j->out, ",\"rtt\":%.6f", (double)us / 1e6);
}

/* In a crew: it asks the store. */
static void examine(void *arg) {
    request *r = arg;
    picture *p = watch_picture(r->console->watch);
    hf_error err = {0};
    json j = request_json(r, 200);
    int result;
    json_open(&j, NULL, '{');
    json_text(&j, "store", hf_store(r->console->client));
    json_text(&j, "version", hf_version());
    json_flag(&j, "actions", r->console->options->allow_actions);
    json_text_or_null(&j, "operator", r->operator_);
    write_rtt(&j, p->seen.rtt_us);
    json_open(&j, "endpoints", '[');
    json_text(&j, NULL, hf_store(r->console->client));
    json_close(&j, ']');
    json_open(&j, "facts", '[');
    result = hf_examine(r->console->client, write_fact, &j, &err);
    json_close(&j, ']');
    json_flag(&j, "up", result == HF_OK);
    if (result == HF_OK)
        json_null(&j, "error");
    else
        json_text(&j, "error", err.text[0] ? err.text : hf_strerror(result));
    write_look(&j, &p->seen);
    json_close(&j, '}');
    watch_return(r->console->watch, p);
    request_back(r);
}

void api_store(request *r) {
    request_part(r, r->console->tasks, examine);
}

/* ---- the leader -------------------------------------------------------- */

/* A candidate is a host, HOST:PID, a client's number, or an owner as the store
 * knows it. */
static bool is_candidate(const hf_place *p, const char *who) {
    char at[400];
    snprintf(at, sizeof(at), "%.255s:%lld", p->host, (long long)p->pid);
    return (*p->host && strcmp(p->host, who) == 0) || strcmp(at, who) == 0 ||
           (*p->client && strcmp(p->client, who) == 0) ||
           (*p->owner && strcmp(p->owner, who) == 0);
}

static bool leads(const view_line *l, const char *who) {
    for (size_t i = 0; l && i < l->n; i++)
        if (l->claims[i].holds && is_candidate(&l->claims[i], who))
            return true;
    return false;
}

static void this_host(char *name, size_t size) {
    const char *told = getenv("HOLDFAST_HOST");
    if (told && *told)
        snprintf(name, size, "%s", told);
    else if (gethostname(name, size) != 0)
        *name = '\0';
    name[size - 1] = '\0';
}

static bool is_old(const picture *p) {
    return p->seen.stale || moment_now() - p->made_ms > LOOK_TOO_OLD_MS;
}

/* Who cannot know says no: a load balancer must not send to two. */
void api_leader(request *r) {
    picture *p = watch_picture(r->console->watch);
    const view_line *l = picture_find(p, r->name);
    const char *asked = request_query(r, "candidate");
    char host[256];
    bool yes;
    json j;
    this_host(host, sizeof(host));
    yes = !is_old(p) && leads(l, *asked ? asked : host);
    j = request_json(r, yes ? 200 : 503);
    json_open(&j, NULL, '{');
    json_text(&j, "name", r->name);
    json_text(&j, "candidate", *asked ? asked : host);
    json_flag(&j, "leader", yes);
    json_text_or_null(&j, "host", l && l->holder ? l->holder->host : "");
    if (l && l->holder)
        json_token(&j, "token", l->holder->token);
    else
        json_null(&j, "token");
    write_look(&j, &p->seen);
    json_close(&j, '}');
    watch_return(r->console->watch, p);
}

/* ---- this server ------------------------------------------------------- */

void api_health(request *r) {
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    json_text(&j, "status", "ok");
    json_close(&j, '}');
}

/* Says nothing that strangers should not know. */
void api_ready(request *r) {
    picture *p = watch_picture(r->console->watch);
    bool ready = !is_old(p);
    json j = request_json(r, ready ? 200 : 503);
    json_open(&j, NULL, '{');
    json_text(&j, "status", ready ? "ok" : "the store does not answer");
    json_close(&j, '}');
    watch_return(r->console->watch, p);
}

void api_version(request *r) {
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    json_text(&j, "version", hf_version());
    json_close(&j, '}');
}

void api_openapi(request *r) {
    fputs(hf_openapi_json, request_out(r, 200, "application/json"));
}
