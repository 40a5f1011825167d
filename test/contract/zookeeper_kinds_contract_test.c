/* SPDX-License-Identifier: MIT
 *
 * zookeeper_kinds_contract_test.c - what holds for every lock holds
 * for the fair, the spinning and the writing one, and for a permit. */
#include "contract.h"

#include "support/quorum.h"

#include <stdio.h>

/* Whoever is killed is noticed when its session is over. */
static void fresh(char *uri, size_t size) {
    char part[200];
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, part, sizeof part);
    snprintf(uri, size, "%s?session=3s", part);
}

/* Steps on the way of a path, and a character beyond the first 65536. */
static const char *const refused[] = {".", "..", "🔑", NULL};

const hf_contract hf_contract_under_test = {
    .store = "zk",
    .fresh = fresh,
    .discard = hf_test_give_back,
    .refused = refused,
    .shares_token = true,
    .moves_token = true,
    .session_ms = 3000,
    .small_numbers = true,
};

#define EXCLUSIVE(X)                                                           \
    HF_CONTRACT_TESTS_OF_KIND(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)
#define PERMIT(X)                                                              \
    HF_CONTRACT_TESTS_OF_PERMIT(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)

HF_CONTRACT_SUITE(EXCLUSIVE(HF_CONTRACT_FAIR) EXCLUSIVE(HF_CONTRACT_SPIN)
                      EXCLUSIVE(HF_CONTRACT_WRITE) PERMIT(HF_CONTRACT_PERMIT))
