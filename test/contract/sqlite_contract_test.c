/* SPDX-License-Identifier: MIT
 *
 * sqlite_contract_test.c - a file of its own for every test. */
#include "contract.h"

#include "support/dir.h"

#include <stdio.h>

static void fresh(char *uri, size_t size) {
    char path[160];
    hf_test_fresh_path(path, sizeof path, "locks");
    snprintf(uri, size, "sqlite:%s.db", path);
}

HF_CONTRACT("sqlite", fresh, NULL,
            HF_CONTRACT_TESTS(HF_CONTRACT_ENTRY)
                HF_CONTRACT_TESTS_ACROSS(HF_CONTRACT_ENTRY)
                    HF_CONTRACT_TESTS_OF_OTHERS(HF_CONTRACT_ENTRY)
                        HF_CONTRACT_TESTS_OF_OTHERS_ACROSS(HF_CONTRACT_ENTRY))
