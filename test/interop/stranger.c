/* SPDX-License-Identifier: MIT
 *
 * stranger.c - lines to somebody else's client, and ours beside it. */
#include "stranger.h"

#include "support/dir.h"
#include "support/guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hf_client *client;

const char *const names[] = {"a", "{t}a", "a:b", "Schlüssel 鍵",
                             "a name with spaces"};
const int n_names = sizeof names / sizeof names[0];

static char where[300]; /* the store of both */

void stranger_start(stranger *s, char *const argv[], const char *told) {
    s->peer = hf_test_peer_start_as(argv, told);
}

void stranger_kill(stranger *s) {
    hf_test_peer_stop(s->peer);
    s->peer = NULL;
    memset(s->answers, 0, sizeof s->answers);
}

const char *stranger_why_not(const char *folder, const char *lib) {
    static char line[256];
    char path[512];
    snprintf(path, sizeof path, "%s/%s.why", folder, lib);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        snprintf(path, sizeof path, "%s/why", folder);
        f = fopen(path, "re");
    }
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        snprintf(line, sizeof line,
                 "run the build.sh of this peer, and see the head of its "
                 "header for what to set");
    if (f != NULL)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    return line;
}

/* ---- lines ------------------------------------------------------------- */

/* Takes in one line, if one comes within `ms`. */
static bool hear(stranger *s, int ms) {
    const char *line = hf_test_peer_answer(s->peer, ms);
    int k = 0;
    if (line == NULL)
        return false;
    if (line[0] == '#') {
        k = line[1] - '0';
        line += 3;
    }
    assert_in_range(k, 0, STRANGER_THREADS - 1);
    struct answers *a = &s->answers[k];
    assert_in_range(a->n, 0, STRANGER_LINES - 1);
    snprintf(a->lines[a->n++], sizeof a->lines[0], "%s", line);
    return true;
}

const char *stranger_answer(stranger *s, int k, int ms) {
    static char line[sizeof s->answers->lines[0]];
    struct answers *a = &s->answers[k];
    for (int64_t by = hf_test_now_ms() + ms; a->n == 0;) {
        int64_t left = by - hf_test_now_ms();
        if (left < 0 || !hear(s, (int)left))
            fail_msg("thread %d of %s did not answer within %d ms", k, s->name,
                     ms);
    }
    memcpy(line, a->lines[0], sizeof line);
    memmove(a->lines[0], a->lines[1], (size_t)--a->n * sizeof line);
    return line;
}

/* After a moment: what was said should have had time to arrive. */
bool stranger_answered(stranger *s, int k) {
    while (hear(s, 20))
        ;
    return s->answers[k].n > 0;
}

__attribute__((format(printf, 3, 0))) static void
tell(stranger *s, int k, const char *format, va_list ap) {
    char line[1024];
    vsnprintf(line, sizeof line, format, ap);
    if (k == 0)
        hf_test_peer_send(s->peer, "%s", line);
    else
        hf_test_peer_send(s->peer, "thread %d %s", k, line);
}

const char *stranger_ask(stranger *s, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    tell(s, 0, format, ap);
    va_end(ap);
    return stranger_answer(s, 0, HF_TEST_LONG);
}

int64_t stranger_number(stranger *s, const char *format, ...) {
    char *rest;
    va_list ap;
    va_start(ap, format);
    tell(s, 0, format, ap);
    va_end(ap);
    const char *answer = stranger_answer(s, 0, HF_TEST_LONG);
    int64_t number = strtoll(answer, &rest, 10);
    if (*rest != 0)
        fail_msg("%s said no number: %s", s->name, answer);
    return number;
}

void stranger_begins(stranger *s, int k, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    tell(s, k, format, ap);
    va_end(ap);
}

void stranger_waits(stranger *s, int k, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    tell(s, k, format, ap);
    va_end(ap);
    hf_test_eventually(strcmp(stranger_ask(s, "asleep %d", k), "YES") == 0,
                       HF_TEST_LONG);
}

/* ---- our side ---------------------------------------------------------- */

void c_meet(const char *uri, int lease_ms) {
    snprintf(where, sizeof where, "%s", uri);
    client = hf_test_open(uri, HF_CLIENT_WITH(.lease_ms = lease_ms));
}

hf_client *c_other(void) {
    return hf_test_open(where, NULL);
}

hf_test_peer *c_peer(int lease_ms) {
    char uri[330];
    snprintf(uri, sizeof uri, "%s lease_ms=%d", where, lease_ms);
    return hf_test_peer_start(uri);
}

hf_lock *c_lock(hf_kind kind, const char *name) {
    return hf_test_lock(client, name, HF_LOCK_WITH(.kind = kind));
}

void stranger_has_counted(stranger *s, int k, hf_test_guarded *g) {
    hf_test_finally(stranger_answered(s, k), atomic_load(&g->counter),
                    HF_TEST_LONG);
    stranger_answers(s, k, "OK");
}

void both_add_up(stranger *s, hf_kind kind, const char *noun,
                 const char *name) {
    enum { OURS = 3, THEIRS = 2, ROUNDS = 60 };
    char path[200];
    hf_test_fresh_path(path, sizeof path, noun);
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    stranger_begins(s, 1, "contend %s %s %d %d %s", noun, path, THEIRS, ROUNDS,
                    name);
    hf_test_contend_with(client, name, HF_LOCK_WITH(.kind = kind), g, OURS,
                         ROUNDS);
    stranger_has_counted(s, 1, g);
    assert_int_equal(g->counter, (OURS + THEIRS) * ROUNDS);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->failures, 0);
    hf_test_guarded_unmap(g);
}
