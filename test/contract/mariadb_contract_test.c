/* SPDX-License-Identifier: MIT
 *
 * mariadb_contract_test.c - a server that all tests share; each has a
 * database of it for itself. */
#include "contract.h"

#include "support/mariadb.h"

const hf_contract hf_contract_under_test = {
    .store = "mariadb",
    .fresh = hf_test_mariadb_borrow_patiently,
    .discard = hf_test_give_back,
    .few_connections = true,
};

#define EVERYTHING(X)                                                          \
    HF_CONTRACT_TESTS(X)                                                       \
    HF_CONTRACT_TESTS_ACROSS(X)                                                \
    HF_CONTRACT_TESTS_OF_OTHERS(X)                                             \
    HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(X)

HF_CONTRACT_SUITE(EVERYTHING(HF_CONTRACT_ENTRY))
