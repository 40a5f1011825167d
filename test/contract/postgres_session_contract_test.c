/* SPDX-License-Identifier: MIT
 *
 * postgres_session_contract_test.c - locks that belong to a session: a schema of
 * a shared server for each test. */
#include "contract.h"

#include "support/postgres.h"

#include <stdio.h>
#include <string.h>

static void fresh(char *uri, size_t size) {
    char schema[64], *at;
    hf_test_postgres_borrow(uri, size);
    at = strstr(uri, "?hf_schema=");
    assert_non_null(at);
    snprintf(schema, sizeof schema, "%s", at + strlen("?hf_schema="));
    snprintf(at, size - (size_t)(at - uri),
             "?hf_schema=%s&hf_lease=session&hf_timeout=10s", schema);
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
