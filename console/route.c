/* SPDX-License-Identifier: MIT
 *
 * route.c - the table of what is answered.  openapi.json says the same to
 * programs; a test compares them. */
#include "route.h"

#include <string.h>

#include "api.h"
#include "page.h"

const route routes[] = {
    {"GET", "/", page_index, ROUTE_PAGE},
    {"GET", "/console.css", page_file, ROUTE_OPEN},
    {"GET", "/console.js", page_file, ROUTE_OPEN},
    {"GET", "/icon.svg", page_file, ROUTE_OPEN},
    {"POST", "/login", page_log_in, ROUTE_OPEN | ROUTE_FORM},
    {"POST", "/logout", page_log_out, ROUTE_OPEN | ROUTE_FORM},
    {"GET", "/api/v1/locks", api_locks, 0},
    {"GET", "/api/v1/locks/{name}", api_lock, 0},
    {"DELETE", "/api/v1/locks/{name}", api_release, 0},
    {"GET", "/api/v1/locks/{name}/waiters", api_waiters, 0},
    {"GET", "/api/v1/locks/{name}/events", api_lock_events, 0},
    {"POST", "/api/v1/locks/{name}/acquire", api_acquire, 0},
    {"POST", "/api/v1/locks/{name}/renew", api_renew, 0},
    {"POST", "/api/v1/locks/{name}/hold", api_hold, 0},
    {"POST", "/api/v1/locks/{name}/steal", api_steal, 0},
    {"GET", "/api/v1/events", api_events, 0},
    {"GET", "/api/v1/blocking", api_blocking, 0},
    {"GET", "/api/v1/deadlocks", api_deadlocks, 0},
    {"GET", "/api/v1/clients", api_clients, 0},
    {"GET", "/api/v1/store", api_store, 0},
    {"GET", "/leader/{name}", api_leader, 0},
    {"GET", "/metrics", api_metrics, 0},
    {"GET", "/healthz", api_health, ROUTE_OPEN},
    {"GET", "/readyz", api_ready, ROUTE_OPEN},
    {"GET", "/version", api_version, ROUTE_OPEN},
    {"GET", "/openapi.json", api_openapi, ROUTE_OPEN},
    {NULL, NULL, NULL, 0},
};

/* Is it the part of the pattern that begins at `at`?  Where the next does. */
static const char *match_part(const char *at, const char *part, bool *matches,
                              const char **name) {
    size_t n = strcspn(at, "/");
    if (*at == '{')
        *name = part;
    else
        *matches = strlen(part) == n && memcmp(at, part, n) == 0;
    return at + n + (at[n] == '/' ? 1 : 0);
}

static bool matches(const char *pattern, const target *t, const char **name) {
    const char *at = pattern + 1;
    bool good = true;
    *name = NULL;
    for (size_t i = 0; i < t->n_parts && good; i++) {
        if (!*at)
            return false;
        at = match_part(at, t->parts[i], &good, name);
    }
    return good && !*at;
}

static void allow(request *r, char *list, size_t size) {
    const char *name;
    *list = '\0';
    for (const route *it = routes; it->method; it++)
        if (matches(it->pattern, &r->target, &name))
            snprintf(list + strlen(list), size - strlen(list), "%s%s",
                     *list ? ", " : "", it->method);
}

static void refuse(request *r) {
    char list[64];
    allow(r, list, sizeof(list));
    if (!*list) {
        request_problem(r, 404, HF_EUSAGE,
                        "there is nothing at this path; /openapi.json lists "
                        "what there is");
        return;
    }
    request_extra(r, "Allow", list);
    request_problem(r, 405, HF_EUSAGE, "here it is %s", list);
}

bool route_find(request *r) {
    if (r->wrong) {
        request_problem(r, 400, HF_EUSAGE, "the path %s", r->wrong);
        return false;
    }
    for (const route *it = routes; it->method; it++)
        if (strcmp(it->method, r->method) == 0 &&
            matches(it->pattern, &r->target, &r->name)) {
            r->route = it;
            return true;
        }
    r->name = NULL;
    refuse(r);
    return false;
}

void route_print(FILE *out) {
    for (const route *it = routes; it->method; it++)
        fprintf(out, "%s %s\n", it->method, it->pattern);
}
