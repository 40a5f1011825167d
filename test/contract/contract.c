/* SPDX-License-Identifier: MIT
 *
 * contract.c - an empty store before each test, no trace of it afterwards. */
#include "contract.h"

char hf_contract_uri[256];

void hf_contract_begin(void **state) {
    hf_contract_under_test.fresh(hf_contract_uri, sizeof hf_contract_uri);
    hf_test_body(state);
}

int hf_contract_end(void **state) {
    (void)state;
    hf_test_clear();
    if (hf_contract_under_test.discard != NULL)
        hf_contract_under_test.discard();
    return 0;
}

hf_client *hf_contract_open(const hf_options *options) {
    return hf_test_open(hf_contract_uri, options);
}
