/* SPDX-License-Identifier: MIT
 *
 * site_redis.c - one Redis server that writes everything down before it
 * answers, behind a link. */
#include "site.h"

#include "support/dir.h"
#include "support/wait.h"

#include <stdio.h>
#include <string.h>

static void start(site *s) {
    s->clock = hf_test_clock_new();
    s->server = hf_test_clock_server(
        s->clock, &(hf_test_server_options){.durable = true});
    add_link(s, hf_test_server_port(s->server), false);
    snprintf(s->uri, sizeof s->uri, "redis://127.0.0.1:%d",
             hf_test_proxy_port(s->links[0]));
    snprintf(s->plain, sizeof s->plain, "%s", hf_test_server_uri(s->server));
}

static void stop(site *s) {
    hf_test_server_stop(s->server);
}

static void die(site *s, chance *c) {
    (void)c;
    hf_test_server_kill(s->server);
}

static void come_back(site *s) {
    hf_test_clock_restart(s->clock, s->server);
}

/* Back without anything: the one thing that tokens are for. */
static void forget(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(s->server, "FLUSHALL");
    hf_test_server_ask(s->server, "SCRIPT FLUSH");
    hf_test_server_kill(s->server);
}

/* Permits are set by whoever runs the trial; here they would be none for
 * ever. */
static void come_back_empty(site *s) {
    char name[32];
    come_back(s);
    for (uint32_t n = NAME_PERMIT; n <= NAME_SEMAPHORE; n++) {
        ground_name(n, name, sizeof name);
        hf_test_server_ask(s->server, "SET %s %d NX", name, PERMITS);
    }
}

static void freeze(site *s, chance *c) {
    (void)c;
    hf_test_server_pause(s->server);
}

static void thaw(site *s) {
    hf_test_server_resume(s->server);
}

static void flush_scripts(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(s->server, "SCRIPT FLUSH");
}

static void kill_listeners(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(s->server, "CLIENT KILL TYPE pubsub");
}

static void kill_clients(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(s->server, "CLIENT KILL TYPE normal");
}

static void fill(site *s, chance *c) {
    (void)c;
    hf_test_server_ask(s->server, "CONFIG SET maxmemory 1");
}

static void unfill(site *s) {
    hf_test_server_ask(s->server, "CONFIG SET maxmemory 0");
}

/* The answer of one script is lost: wholly, in part, or for ever. */
static void lose_reply(site *s, chance *c) {
    int dice = chance_below(c, 3);
    hf_test_proxy_catch(s->links[0], "EVALSHA", NULL,
                        dice == 0 ? HF_MUTE :
                        dice == 1 ? 0 :
                                    chance_between(c, 1, 3));
}

static void forward(site *s, chance *c) {
    hf_test_clock_set(s->clock, chance_between(c, 1, 20) * 1000);
}

static void back(site *s, chance *c) {
    hf_test_clock_set(s->clock, -chance_between(c, 1, 20) * 1000);
}

static void right(site *s) {
    hf_test_clock_set(s->clock, 0);
}

/* ---- what is left ------------------------------------------------------ */

/* Of what docs/redis.md says is kept: it goes by itself, or stays for ever. */
static bool may_stay(const char *key) {
    return strncmp(key, "redisson_lock_token:", 20) == 0;
}

int redis_left(hf_test_server *server, char *what, size_t size) {
    static char keys[1 << 16];
    int n = 0;
    char *rest, *key;
    snprintf(keys, sizeof keys, "%s", hf_test_server_ask(server, "KEYS *"));
    for (key = strtok_r(keys, "\n", &rest); key != NULL;
         key = strtok_r(NULL, "\n", &rest)) {
        if (may_stay(key) ||
            hf_test_server_ask_number(server, "PTTL %s", key) != -1)
            continue;
        size_t len = strlen(what);
        snprintf(what + len, size - len, " %s", key);
        n++;
    }
    return n;
}

static int left(site *s, char *what, size_t size) {
    return redis_left(s->server, what, size);
}

static const char *missing(void) {
    return hf_test_redis_missing();
}

static const fault faults[] = {
    LINK_FAULTS,
    {.name = "lost-reply", .begin = lose_reply, .least = 5, .most = 200},
    {.name = "restart",
     .begin = die,
     .end = come_back,
     .least = 20,
     .most = 1500},
    {.name = "slow-server",
     .begin = freeze,
     .end = thaw,
     .least = 100,
     .most = 2500},
    {.name = "flush", .begin = flush_scripts, .least = 5, .most = 100},
    {.name = "deaf", .begin = kill_listeners, .least = 5, .most = 200},
    {.name = "kicked", .begin = kill_clients, .least = 5, .most = 300},
    {.name = "full", .begin = fill, .end = unfill, .least = 100, .most = 1500},
    {.name = "clock-back",
     .begin = back,
     .end = right,
     .least = 100,
     .most = 1500,
     .weak = true},
    {.name = "clock-forward",
     .begin = forward,
     .end = right,
     .least = 100,
     .most = 1500,
     .weak = true},
    {.name = "amnesia",
     .begin = forget,
     .end = come_back_empty,
     .least = 20,
     .most = 500,
     .weak = true},
    {.name = NULL},
};

const store store_redis = {
    .name = "redis",
    .keeps_dead = true,
    .missing = missing,
    .start = start,
    .stop = stop,
    .left = left,
    .faults = faults,
    .lease_ms = 1500,
    .timeout_ms = 500,
};
