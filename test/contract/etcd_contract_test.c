/* SPDX-License-Identifier: MIT
 *
 * etcd_contract_test.c - a server that all tests share; each has a
 * part of it for itself. */
#include "contract.h"

#include "support/quorum.h"

#include <stdio.h>

/* Whoever is killed is noticed when its session is over. */
static void fresh(char *uri, size_t size) {
    char part[200];
    hf_test_quorum_borrow(&hf_test_etcd_sort, part, sizeof part);
    snprintf(uri, size, "%s?session=3s", part);
}

const hf_contract hf_contract_under_test = {
    .store = "etcd",
    .fresh = fresh,
    .discard = hf_test_give_back,
    .shares_token = true,
    .moves_token = true,
    .session_ms = 3000,
};

#define EVERYTHING(X)                                                          \
    HF_CONTRACT_TESTS(X)                                                       \
    HF_CONTRACT_TESTS_ACROSS(X)                                                \
    HF_CONTRACT_TESTS_OF_OTHERS(X)                                             \
    HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(X)

HF_CONTRACT_SUITE(EVERYTHING(HF_CONTRACT_ENTRY))
