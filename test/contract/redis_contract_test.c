/* SPDX-License-Identifier: MIT
 *
 * redis_contract_test.c - a server of its own for every test. */
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

HF_CONTRACT("redis", fresh, discard,
            HF_CONTRACT_TESTS(HF_CONTRACT_ENTRY)
                HF_CONTRACT_TESTS_ACROSS(HF_CONTRACT_ENTRY)
                    HF_CONTRACT_TESTS_OF_OTHERS(HF_CONTRACT_ENTRY)
                        HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(HF_CONTRACT_ENTRY))
