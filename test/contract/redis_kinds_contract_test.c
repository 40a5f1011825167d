/* SPDX-License-Identifier: MIT
 *
 * redis_kinds_contract_test.c - what holds for every lock holds for the fair,
 * the spinning and the writing one, and for a permit. */
#include "contract.h"

#include "support/server.h"

#include <stdio.h>

static hf_test_server *server;

static void fresh(char *uri, size_t size) {
    server = hf_test_server_start(NULL);
    snprintf(uri, size, "%s", hf_test_server_uri(server));
}

static void discard(void) {
    hf_test_server_stop(server);
    server = NULL;
}

#define EXCLUSIVE(X)                                                           \
    HF_CONTRACT_TESTS_OF_KIND(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)
#define PERMIT(X)                                                              \
    HF_CONTRACT_TESTS_OF_PERMIT(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)

HF_CONTRACT("redis", fresh, discard,
            EXCLUSIVE(HF_CONTRACT_FAIR) EXCLUSIVE(HF_CONTRACT_SPIN)
                EXCLUSIVE(HF_CONTRACT_WRITE) PERMIT(HF_CONTRACT_PERMIT))
