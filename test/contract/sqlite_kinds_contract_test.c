/* SPDX-License-Identifier: MIT
 *
 * sqlite_kinds_contract_test.c - what holds for every lock holds for the fair,
 * the spinning and the writing one, and for a permit. */
#include "contract.h"

#include "support/dir.h"

#include <stdio.h>

static void fresh(char *uri, size_t size) {
    char path[160];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, size, "sqlite:%s.db", path);
}

#define EXCLUSIVE(X)                                                           \
    HF_CONTRACT_TESTS_OF_KIND(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)
#define PERMIT(X)                                                              \
    HF_CONTRACT_TESTS_OF_PERMIT(X) HF_CONTRACT_TESTS_OF_KIND_ACROSS(X)

HF_CONTRACT("sqlite", fresh, NULL,
            EXCLUSIVE(HF_CONTRACT_FAIR) EXCLUSIVE(HF_CONTRACT_SPIN)
                EXCLUSIVE(HF_CONTRACT_WRITE) PERMIT(HF_CONTRACT_PERMIT))
