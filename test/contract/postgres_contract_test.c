/* SPDX-License-Identifier: MIT
 *
 * postgres_contract_test.c - a server that all tests share; each has a schema
 * of it for itself. */
#include "contract.h"

#include "support/postgres.h"

const hf_contract hf_contract_under_test = {
    .store = "postgresql",
    .fresh = hf_test_postgres_borrow_patiently,
    .discard = hf_test_give_back,
    .few_connections = true,
};

#define EVERYTHING(X)                                                          \
    HF_CONTRACT_TESTS(X)                                                       \
    HF_CONTRACT_TESTS_ACROSS(X)                                                \
    HF_CONTRACT_TESTS_OF_OTHERS(X)                                             \
    HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(X)

HF_CONTRACT_SUITE(EVERYTHING(HF_CONTRACT_ENTRY))
