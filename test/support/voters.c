/* SPDX-License-Identifier: MIT
 *
 * voters.c - independent servers of whom a majority decides. */
#include "voters.h"

#include "wait.h"

#include <stdio.h>
#include <unistd.h>

const char *hf_test_voters_password(void) {
    static char password[32];
    snprintf(password, sizeof password, "test-%d", (int)getpid());
    return password;
}

static void write_uri(char *uri, size_t size, const int *ports, int n,
                      const char *query) {
    size_t len = (size_t)snprintf(uri, size, "redlock://:%s@",
                                  hf_test_voters_password());
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(uri + len, size - len, "%s127.0.0.1:%d",
                                i > 0 ? "," : "", ports[i]);
    len += (size_t)snprintf(uri + len, size - len, "%s%s",
                            *query != 0 ? "?" : "", query);
    assert_true(len < size);
}

void hf_test_voters_write(hf_test_voters *v, const char *query) {
    int ports[HF_TEST_VOTERS];
    for (int i = 0; i < v->n; i++)
        ports[i] = hf_test_server_port(v->servers[i]);
    write_uri(v->uri, sizeof v->uri, ports, v->n, query);
}

void hf_test_voters_start(hf_test_voters *v, int n,
                          const hf_test_server_options *options,
                          const char *query) {
    hf_test_server_options with = {0};
    if (options != NULL)
        with = *options;
    with.password = hf_test_voters_password();
    *v = (hf_test_voters){.n = n};
    for (int i = 0; i < n; i++)
        v->servers[i] = hf_test_server_start(&with);
    hf_test_voters_write(v, query);
}

void hf_test_voters_link(hf_test_voters *v, const char *query) {
    int ports[HF_TEST_VOTERS];
    for (int i = 0; i < v->n; i++) {
        v->links[i] = hf_test_proxy_start(hf_test_server_port(v->servers[i]));
        ports[i] = hf_test_proxy_port(v->links[i]);
    }
    write_uri(v->by_link, sizeof v->by_link, ports, v->n, query);
}

void hf_test_voters_stop(hf_test_voters *v) {
    for (int i = 0; i < v->n; i++) {
        hf_test_proxy_stop(v->links[i]);
        hf_test_server_stop(v->servers[i]);
    }
    *v = (hf_test_voters){0};
}

int hf_test_voters_say(hf_test_voters *v, int64_t number, const char *command) {
    int n = 0;
    for (int i = 0; i < v->n; i++)
        n += hf_test_server_ask_number(v->servers[i], "%s", command) == number;
    return n;
}

int hf_test_voters_have(hf_test_voters *v, const char *key) {
    char command[256];
    snprintf(command, sizeof command, "EXISTS %s", key);
    return hf_test_voters_say(v, 1, command);
}
