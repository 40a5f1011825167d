/* SPDX-License-Identifier: MIT
 *
 * contract.c - an empty store before each test, no trace of it afterwards. */
#include "contract.h"

#include "backend/fault.h"
#include "client.h"

char hf_contract_uri[256];

void hf_contract_begin(void **state) {
    hf_contract_under_test.fresh(hf_contract_uri, sizeof hf_contract_uri);
    hf_test_body(state);
}

static void begin_with(hf_kind kind, void **state) {
    hf_test_kind = kind;
    hf_contract_begin(state);
}

void hf_contract_begin_fair(void **state) {
    begin_with(HF_FAIR, state);
}

void hf_contract_begin_spin(void **state) {
    begin_with(HF_SPIN, state);
}

void hf_contract_begin_write(void **state) {
    begin_with(HF_WRITE, state);
}

void hf_contract_begin_permit(void **state) {
    begin_with(HF_PERMIT, state);
}

int hf_contract_end(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_kind = HF_LOCK;
    if (hf_contract_under_test.discard != NULL)
        hf_contract_under_test.discard();
    return 0;
}

int hf_contract_believed(int lease_ms) {
    int session_ms = hf_contract_under_test.session_ms;
    return session_ms != 0 && session_ms < lease_ms ? session_ms : lease_ms;
}

hf_client *hf_contract_open(const hf_options *options) {
    return hf_test_open(hf_contract_uri, options);
}

hf_client *hf_contract_open_troubled(hf_backend **trouble) {
    hf_client *client;
    hf_expect(HF_OK, hf__open_wrapped(&client, hf_contract_uri, NULL,
                                      hf__fault_wrap, trouble, ERR));
    return hf_test_adopt(client);
}
