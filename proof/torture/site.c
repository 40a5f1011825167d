/* SPDX-License-Identifier: MIT
 *
 * site.c - links that fail. */
#include "site.h"

void add_link(site *s, int port, bool zookeeper) {
    s->links[s->n_links++] = zookeeper ? hf_test_proxy_start_zookeeper(port) :
                                         hf_test_proxy_start(port);
}

/* One link, or all of them. */
static void choose(site *s, chance *c) {
    s->who = chance_below(c, s->n_links + 1) - 1;
}

static void each(site *s, void (*what)(hf_test_proxy *, int), int arg) {
    for (int i = 0; i < s->n_links; i++)
        if (s->who < 0 || s->who == i)
            what(s->links[i], arg);
}

static void delay(hf_test_proxy *x, int by) {
    hf_test_proxy_delay(x, HF_TO_SERVER, by);
    hf_test_proxy_delay(x, HF_TO_CLIENT, by);
}

void link_delay(site *s, chance *c) {
    choose(s, c);
    each(s, delay, chance_between(c, 5, 250));
}

void link_delay_end(site *s) {
    each(s, delay, 0);
}

static void cut(hf_test_proxy *x, int ignored) {
    (void)ignored;
    hf_test_proxy_cut(x);
}

void link_cut(site *s, chance *c) {
    choose(s, c);
    each(s, cut, 0);
}

/* What was swallowed is missing from the stream: a link that lost bytes is
 * cut when it works again. */
static void drop(hf_test_proxy *x, int ways) {
    hf_test_proxy_drop(x, HF_TO_SERVER, (ways & 1) != 0);
    hf_test_proxy_drop(x, HF_TO_CLIENT, (ways & 2) != 0);
    if (ways == 0)
        hf_test_proxy_cut(x);
}

void link_part(site *s, chance *c) {
    choose(s, c);
    each(s, drop, 3);
}

void link_part_end(site *s) {
    each(s, drop, 0);
}

void link_mute(site *s, chance *c) {
    choose(s, c);
    each(s, drop, 2);
}

void link_mute_end(site *s) {
    each(s, drop, 0);
}

static void stall(hf_test_proxy *x, int ways) {
    hf_test_proxy_stall(x, HF_TO_SERVER, (ways & 1) != 0);
    hf_test_proxy_stall(x, HF_TO_CLIENT, (ways & 2) != 0);
}

/* What is kept back arrives late, requests and answers. */
void link_stall(site *s, chance *c) {
    choose(s, c);
    each(s, stall, chance_between(c, 1, 3));
}

void link_stall_end(site *s) {
    each(s, stall, 0);
}

static void refuse(hf_test_proxy *x, int on) {
    hf_test_proxy_refuse(x, on != 0);
    if (on)
        hf_test_proxy_cut(x);
}

void link_refuse(site *s, chance *c) {
    choose(s, c);
    each(s, refuse, 1);
}

void link_refuse_end(site *s) {
    each(s, refuse, 0);
}
