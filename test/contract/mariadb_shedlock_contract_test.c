/* SPDX-License-Identifier: MIT
 *
 * mariadb_shedlock_contract_test.c - ShedLock's table as a store: a
 * database of a shared server for each test. */
#include "contract.h"

#include "support/mariadb.h"

#include <stdio.h>
#include <string.h>

static void fresh(char *uri, size_t size) {
    hf_test_mariadb_borrow(uri, size);
    size_t n = strlen(uri);
    /* The contract wants names to differ in a blank at their end as well. */
    assert_string_equal(
        hf_test_mariadb_ask(
            hf_test_mariadb_borrowed_port(),
            "CREATE TABLE shedlock (name VARCHAR(64) COLLATE "
            "utf8mb4_nopad_bin NOT NULL, lock_until TIMESTAMP(3) NOT NULL, "
            "locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), "
            "locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name)) CHARACTER "
            "SET utf8mb4"),
        "");
    snprintf(uri + n, size - n, "?hf_compat=shedlock&hf_timeout=10s");
}

const hf_contract hf_contract_under_test = {
    .store = "shedlock",
    .fresh = fresh,
    .discard = hf_test_give_back,
    .polls = true,
    .curt = true,
    .name_max = 64,
};

#define EVERYTHING(X)                                                          \
    HF_CONTRACT_TESTS(X)                                                       \
    HF_CONTRACT_TESTS_ACROSS(X)

HF_CONTRACT_SUITE(EVERYTHING(HF_CONTRACT_ENTRY))
