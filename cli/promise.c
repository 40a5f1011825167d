/* SPDX-License-Identifier: MIT
 *
 * promise.c - a verdict for each promise, from what the store tells of itself.
 *
 * The sentences are the store's, since it knows why.  What they rest on is in
 * docs/guarantees.md. */
#include "promise.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

enum { MOST_SUBJECTS = 8 };

enum { CRASH, FAILOVER, TOKEN, ORDER, WAKE, NOTICE, PRESENCE };

static const struct {
    const char *key, *title;
    bool safety;
    const char *subjects[MOST_SUBJECTS]; /* of the facts it rests on */
} table[PROMISES] = {
    [CRASH] = {"crash",
               "one holder, also when the store crashes",
               true,
               {"crash", "crash of the server", "crash of the host",
                "persistence", "eviction", "grants"}},
    [FAILOVER] = {"failover",
                  "one holder, also when another server takes over",
                  true,
                  {"failover", "lock delay", "Galera", "grants"}},
    [TOKEN] = {"token", "fencing tokens only grow", true, {"token"}},
    [ORDER] = {"order", "waiters are served in order", false, {NULL}},
    [WAKE] = {"wake",
              "a release wakes who waits, nobody polls",
              false,
              {"messages", "wake-up", "waking", "waiting"}},
    [NOTICE] = {"notice",
                "a killed holder is noticed before its lease ends",
                false,
                {"death"}},
    [PRESENCE] = {"presence", "who holds and who waits is seen", false, {NULL}},
};

/* A warning is what remains, of equals the one that is nearest to the promise;
 * a plain fact is nothing bad. */
static void hear(verdict *v, int rank, hf_verdict_level level,
                 const char *text) {
    hf_verdict_level now = level == HF_WARN ? HF_WARN : HF_GOOD;
    bool stays = now == v->level ? v->rank <= rank : v->level == HF_WARN;
    if (v->said && stays)
        return;
    v->said = true;
    v->rank = rank;
    v->level = now;
    snprintf(v->text, sizeof(v->text), "%s", text);
}

/* Behind what the store says itself. */
static void say(verdict *v, hf_verdict_level level, const char *text) {
    hear(v, MOST_SUBJECTS, level, text);
}

void promises_hear(promises *p, hf_verdict_level level, const char *what,
                   const char *text) {
    for (int i = 0; i < PROMISES; i++)
        for (int k = 0; k < MOST_SUBJECTS && table[i].subjects[k]; k++)
            if (strcmp(table[i].subjects[k], what) == 0)
                hear(&p->of[i], k, level, text);
}

/* ---- what the store can ------------------------------------------------ */

static void ask_order(verdict *v, hf_client *client) {
    if (hf_can(client, HF_LOCK) & HF_CAN_ORDER)
        say(v, HF_GOOD, "first come, first served, in every line");
    else if (hf_can(client, HF_FAIR) & HF_CAN_ORDER)
        say(v, HF_GOOD,
            "in a fair lock (--fair); a plain lock goes to whoever asks first "
            "when it is free");
    else
        say(v, HF_WARN,
            "whoever asks first when it is free gets it; for order use another "
            "store");
}

static void ask_wake(verdict *v, hf_client *client) {
    if (hf_can(client, HF_LOCK) & HF_CAN_WAKE)
        say(v, HF_GOOD, "the store tells the next one at once");
    else
        say(v, HF_WARN,
            "the store tells nobody: waiters look again from time to time, "
            "which costs requests and a moment after each release");
}

static void ask_notice(verdict *v, hf_client *client) {
    if (hf_can(client, HF_LOCK) & HF_CAN_NOTICE)
        say(v, HF_GOOD, "the store sees that its process is gone");
    else
        say(v, HF_WARN,
            "a killed holder blocks others until its lease ends; a shorter "
            "lease (--lease) shortens that");
}

static void count_client(void *arg, const hf_presence *client) {
    (void)client;
    ++*(int *)arg;
}

static void ask_presence(verdict *v, hf_client *client) {
    hf_error err = {0};
    char text[sizeof(err.text) + 64];
    int n = 0, r = hf_clients(client, count_client, &n, &err);
    if (r == HF_OK)
        say(v, HF_GOOD,
            "every client keeps a record of what it holds and waits for, and "
            "deadlocks are found");
    else if (r == HF_ECANNOT)
        say(v, HF_WARN,
            "this store keeps no records of its clients: holders are seen as "
            "far as their locks tell, and deadlocks are not found");
    else {
        snprintf(text, sizeof(text), "cannot be told: %s", err.text);
        say(v, HF_WARN, text);
    }
}

void promises_ask(promises *p, hf_client *client) {
    ask_order(&p->of[ORDER], client);
    ask_wake(&p->of[WAKE], client);
    ask_notice(&p->of[NOTICE], client);
    ask_presence(&p->of[PRESENCE], client);
    for (int i = 0; i < PROMISES; i++)
        if (!p->of[i].said)
            say(&p->of[i], HF_WARN,
                "the store says nothing of it: do not rely on it");
}

/* ---- telling ----------------------------------------------------------- */

bool promises_safe(const promises *p) {
    for (int i = 0; i < PROMISES; i++)
        if (table[i].safety && p->of[i].level == HF_WARN)
            return false;
    return true;
}

void promises_print(const promises *p, FILE *out) {
    fprintf(out, "\nPromises\n");
    for (int i = 0; i < PROMISES; i++) {
        bool good = p->of[i].level != HF_WARN;
        fprintf(out, "  %s%s%s %s: ", text_paint(out, good ? GREEN : YELLOW),
                good ? "GOOD" : "WARN", text_paint(out, PLAIN), table[i].title);
        text_put(out, p->of[i].text);
        fputc('\n', out);
    }
}

void promises_json(const promises *p, json *j) {
    json_open(j, "promises", '[');
    for (int i = 0; i < PROMISES; i++) {
        json_open(j, NULL, '{');
        json_text(j, "promise", table[i].key);
        json_text(j, "verdict", p->of[i].level == HF_WARN ? "warn" : "good");
        json_flag(j, "safety", table[i].safety);
        json_text(j, "title", table[i].title);
        json_text(j, "text", p->of[i].text);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_flag(j, "safe", promises_safe(p));
}
