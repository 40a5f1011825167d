/* SPDX-License-Identifier: MIT
 *
 * postgres_kinds_contract_test.c - what holds for every lock holds for the
 * fair, the spinning and the writing one, and for a permit. */
#include "contract.h"

#include "support/postgres.h"

const hf_contract hf_contract_under_test = {
    .store = "postgresql",
    .fresh = hf_test_postgres_borrow_patiently,
    .discard = hf_test_give_back,
};

#define EXCLUSIVE(X)                                                           \
    HF_CONTRACT_TESTS_OF_KIND(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)
#define PERMIT(X)                                                              \
    HF_CONTRACT_TESTS_OF_PERMIT(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)

HF_CONTRACT_SUITE(EXCLUSIVE(HF_CONTRACT_FAIR) EXCLUSIVE(HF_CONTRACT_SPIN)
                      EXCLUSIVE(HF_CONTRACT_WRITE) PERMIT(HF_CONTRACT_PERMIT))
