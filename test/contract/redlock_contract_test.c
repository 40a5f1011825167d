/* SPDX-License-Identifier: MIT
 *
 * redlock_contract_test.c - a majority of three servers keeps the contract as
 * one does.  They are fresh for every test, and said to forget nothing: how
 * young servers are treated is for fault/redlock_fault_test.c. */
#include "contract.h"

#include "support/voters.h"

#include <stdio.h>

static hf_test_voters v;

/* Answers may take long under a sanitizer. */
static void fresh(char *uri, size_t size) {
    hf_test_voters_start(&v, 3, NULL, "durable=1&node_timeout=2s");
    snprintf(uri, size, "%s", v.uri);
}

static void discard(void) {
    hf_test_voters_stop(&v);
}

const hf_contract hf_contract_under_test = {
    .store = "redlock",
    .fresh = fresh,
    .discard = discard,
    .votes = true,
};

HF_CONTRACT_SUITE(HF_CONTRACT_TESTS(HF_CONTRACT_ENTRY)
                      HF_CONTRACT_TESTS_ACROSS(HF_CONTRACT_ENTRY))
