/* SPDX-License-Identifier: MIT
 *
 * java.c - one server, one virtual machine, one client. */
#include "java.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 10, LINES = 4 };

hf_test_server *server;
hf_client *client;

const char *const names[] = {"a", "{t}a", "a:b", "Schlüssel 鍵",
                             "a name with spaces"};
const int n_names = sizeof names / sizeof names[0];

static hf_test_peer *java;
static char where[300]; /* the store of both */

/* What it has answered and nobody has asked for yet; 0 is its main thread. */
static struct answers {
    char lines[LINES][256];
    int n;
} answers[THREADS];

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

/* What build.sh had to say where it could not build. */
static const char *why_not(const char *folder) {
    static char line[256];
    char path[512];
    snprintf(path, sizeof path, "%s/why", folder);
    FILE *f = fopen(path, "re");
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        snprintf(line, sizeof line,
                 "run test/interop/redisson/build.sh FOLDER and set "
                 "HF_REDISSON to that folder");
    if (f != NULL)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

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

/* With `uri` and what else Java is told when it opens it. */
static void start_java(const char *uri) {
    char path[1024];
    snprintf(path, sizeof path, "%s/classes", folder());
    hf_test_need(access(path, R_OK) == 0, why_not(folder()));
    snprintf(path, sizeof path, "%s/classes:%s/%s/*", folder(), folder(),
             lib());
    char *argv[] = {"java",
                    "-XX:TieredStopAtLevel=1", /* starts sooner */
                    "-XX:+UseSerialGC",
                    "-Dslf4j.internal.verbosity=ERROR",
                    "-cp",
                    path,
                    "Peer",
                    NULL};
    java = hf_test_peer_start_as(argv, uri);
}

void meet_at(const char *uri, int lease_ms) {
    char told[400];
    snprintf(where, sizeof where, "%s", uri);
    snprintf(told, sizeof told, "%s lease_ms=%d fair_ms=%d", uri, lease_ms,
             lease_ms == LONG_LEASE ? LONG_FAIR : SHORT_FAIR);
    if (java == NULL)
        start_java(told);
    else
        java_says("OK", "open %s", told);
    client = hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = lease_ms));
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

void java_kill(void) {
    hf_test_peer_stop(java);
    java = NULL;
    memset(answers, 0, sizeof answers);
}

/* ---- lines ------------------------------------------------------------- */

/* Takes in one line, if one comes within `ms`. */
static bool hear(int ms) {
    const char *line = hf_test_peer_answer(java, ms);
    int k = 0;
    if (line == NULL)
        return false;
    if (line[0] == '#') {
        k = line[1] - '0';
        line += 3;
    }
    assert_in_range(k, 0, THREADS - 1);
    struct answers *a = &answers[k];
    assert_in_range(a->n, 0, LINES - 1);
    snprintf(a->lines[a->n++], sizeof a->lines[0], "%s", line);
    return true;
}

const char *java_answer(int k, int ms) {
    static char line[sizeof answers->lines[0]];
    struct answers *a = &answers[k];
    for (int64_t by = hf_test_now_ms() + ms; a->n == 0;) {
        int64_t left = by - hf_test_now_ms();
        if (left < 0 || !hear((int)left))
            fail_msg("thread %d of Java did not answer within %d ms", k, ms);
    }
    memcpy(line, a->lines[0], sizeof line);
    memmove(a->lines[0], a->lines[1], (size_t)--a->n * sizeof line);
    return line;
}

/* After a moment: what was said should have had time to arrive. */
bool java_answered(int k) {
    while (hear(20))
        ;
    return answers[k].n > 0;
}

__attribute__((format(printf, 2, 0))) static void
tell(int k, const char *format, va_list ap) {
    char line[1024];
    vsnprintf(line, sizeof line, format, ap);
    if (k == 0)
        hf_test_peer_send(java, "%s", line);
    else
        hf_test_peer_send(java, "thread %d %s", k, line);
}

const char *java_ask(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    tell(0, format, ap);
    va_end(ap);
    return java_answer(0, HF_TEST_LONG);
}

int64_t java_number(const char *format, ...) {
    char *rest;
    va_list ap;
    va_start(ap, format);
    tell(0, format, ap);
    va_end(ap);
    const char *answer = java_answer(0, HF_TEST_LONG);
    int64_t number = strtoll(answer, &rest, 10);
    if (*rest != 0)
        fail_msg("Java said no number: %s", answer);
    return number;
}

void java_begins(int k, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    tell(k, format, ap);
    va_end(ap);
}

void java_waits(int k, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    tell(k, format, ap);
    va_end(ap);
    hf_test_eventually(strcmp(java_ask("asleep %d", k), "YES") == 0,
                       HF_TEST_LONG);
}

/* ---- our side ---------------------------------------------------------- */

hf_test_peer *c_peer(int lease_ms) {
    char uri[330];
    snprintf(uri, sizeof uri, "%s lease_ms=%d", where, lease_ms);
    return hf_test_peer_start(uri);
}

hf_lock *c_lock(hf_kind kind, const char *name) {
    return hf_test_lock(client, name, HF_LOCK_WITH(.kind = kind));
}
