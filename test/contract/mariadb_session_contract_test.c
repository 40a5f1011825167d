/* SPDX-License-Identifier: MIT
 *
 * mariadb_session_contract_test.c - locks that belong to a session: a
 * database of a shared server for each test. */
#include "contract.h"

#include "support/mariadb.h"

#include <stdio.h>
#include <string.h>

static void fresh(char *uri, size_t size) {
    hf_test_mariadb_borrow(uri, size);
    size_t n = strlen(uri);
    snprintf(uri + n, size - n, "?hf_lease=session&hf_timeout=10s");
}

const hf_contract hf_contract_under_test = {
    .store = "session",
    .fresh = fresh,
    .discard = hf_test_give_back,
    .polls = true,
    .curt = true,
    .bundled = true,
    .session_ms = 15000,
};

#define EVERYTHING(X)                                                          \
    HF_CONTRACT_TESTS(X)                                                       \
    HF_CONTRACT_TESTS_ACROSS(X)

HF_CONTRACT_SUITE(EVERYTHING(HF_CONTRACT_ENTRY))
