/* SPDX-License-Identifier: MIT
 *
 * voters.h - independent servers of whom a majority decides, and links to them
 * that fail on demand. */
#ifndef HF_TEST_VOTERS_H
#define HF_TEST_VOTERS_H

#include "proxy.h"
#include "server.h"

enum { HF_TEST_VOTERS = 5 };

typedef struct hf_test_voters {
    int n;
    hf_test_server *servers[HF_TEST_VOTERS];
    hf_test_proxy *links[HF_TEST_VOTERS]; /* NULL: none */
    char uri[512], by_link[512];
} hf_test_voters;

/* Of all servers here, and in the addresses.  A client goes on dialling servers
 * that were killed, and a test that runs beside this one may have been given
 * their ports: it must not meet our locks, nor we its. */
const char *hf_test_voters_password(void);

/* Starts them.  They are not durable unless the options say so; the query goes
 * into both addresses. */
void hf_test_voters_start(hf_test_voters *v, int n,
                          const hf_test_server_options *options,
                          const char *query);

/* Writes the addresses, where somebody else started the servers, with that
 * password. */
void hf_test_voters_write(hf_test_voters *v, const char *query);

/* Puts a link before each server; by_link is the way through them. */
void hf_test_voters_link(hf_test_voters *v, const char *query);

void hf_test_voters_stop(hf_test_voters *v);

/* Of how many a command is answered with that number. */
int hf_test_voters_say(hf_test_voters *v, int64_t number, const char *command);

/* How many servers have the key. */
int hf_test_voters_have(hf_test_voters *v, const char *key);

#endif
