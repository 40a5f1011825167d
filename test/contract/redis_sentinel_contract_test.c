/* SPDX-License-Identifier: MIT
 *
 * redis_sentinel_contract_test.c - a master that sentinels name, lent to every
 * test in turn. */
#include "contract.h"

#include "support/lender.h"

#include <stdio.h>

static void fresh(char *uri, size_t size) {
    const hf_test_set *set = hf_test_borrow(&hf_test_sentinel_sort);
    snprintf(uri, size, "%s", set->uri);
}

HF_CONTRACT("redis", fresh, hf_test_give_back,
            HF_CONTRACT_TESTS(HF_CONTRACT_ENTRY)
                HF_CONTRACT_TESTS_ACROSS(HF_CONTRACT_ENTRY)
                    HF_CONTRACT_TESTS_OF_KIND(HF_CONTRACT_FAIR))
