/* SPDX-License-Identifier: MIT
 *
 * redisson.c - one server, one virtual machine, one client. */
#include "redisson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hf_test_server *server;

/* ---- the server -------------------------------------------------------- */

static int64_t number_after(const char *text, const char *key) {
    const char *found = text != NULL ? strstr(text, key) : NULL;
    return found != NULL ? atoll(found + strlen(key)) : 0;
}

/* Calls of a command that did not fail. */
static int64_t calls(const char *command) {
    char key[64];
    snprintf(key, sizeof key, "cmdstat_%s:", command);
    const char *line =
        strstr(hf_test_server_ask(server, "INFO commandstats"), key);
    return number_after(line, "calls=") - number_after(line, "failed_calls=");
}

int64_t scripts_run(void) {
    return calls("evalsha") + calls("eval");
}

const char *prefixed(const char *prefix, const char *name) {
    static char text[2][512];
    static int next;
    char *to = text[next++ % 2];
    snprintf(to, sizeof text[0],
             strchr(name, '{') != NULL ? "%s:%s" : "%s:{%s}", prefix, name);
    return to;
}

/* ---- begin and end ----------------------------------------------------- */

static const char *folder(void) {
    const char *set = getenv("HF_REDISSON");
    return set != NULL ? set : ".";
}

static const char *lib(void) {
    const char *set = getenv("HF_REDISSON_LIB");
    return set != NULL ? set : "lib4";
}

bool java_is_4(void) {
    return strcmp(lib(), "lib4") == 0;
}

void meet_at(const char *uri, int lease_ms) {
    char told[400];
    snprintf(told, sizeof told, "%s lease_ms=%d fair_ms=%d", uri, lease_ms,
             lease_ms == LONG_LEASE ? LONG_FAIR : SHORT_FAIR);
    if (the_java.peer == NULL)
        java_start(folder(), lib(), told);
    else
        java_says("OK", "open %s", told);
    c_meet(uri, lease_ms);
}

void with_long_leases(void **state) {
    server = hf_test_server_start(NULL);
    meet_at(hf_test_server_uri(server), LONG_LEASE);
    hf_test_body(state);
}

void with_short_leases(void **state) {
    server = hf_test_server_start(NULL);
    meet_at(hf_test_server_uri(server), SHORT_LEASE);
    hf_test_body(state);
}

void part(void) {
    hf_test_clear();
    java_kill();
}

int end(void **state) {
    (void)state;
    part();
    hf_test_server_stop(server);
    server = NULL;
    return 0;
}
