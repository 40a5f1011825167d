/* SPDX-License-Identifier: MIT
 *
 * memory_contract_test.c - the store that is the contract must keep it, too. */
#include "contract.h"

#include <stdio.h>

static void fresh(char *uri, size_t size) {
    static int n;
    snprintf(uri, size, "memory:contract-%d", n++);
}

HF_CONTRACT("memory", fresh, NULL,
            HF_CONTRACT_TESTS(HF_CONTRACT_ENTRY)
                HF_CONTRACT_TESTS_OF_OTHERS(HF_CONTRACT_ENTRY)
                    HF_CONTRACT_TESTS_OF_KIND(HF_CONTRACT_FAIR)
                        HF_CONTRACT_TESTS_OF_KIND(HF_CONTRACT_SPIN)
                            HF_CONTRACT_TESTS_OF_KIND(HF_CONTRACT_WRITE)
                                HF_CONTRACT_TESTS_OF_PERMIT(HF_CONTRACT_PERMIT))
