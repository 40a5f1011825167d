/* SPDX-License-Identifier: MIT
 *
 * etcd.c - a part of one server, one process in Go, one client. */
#include "etcd.h"

#include "support/quorum.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

stranger the_go = {.name = "Go"};

static void meet(int lease_ms) {
    const char *folder = getenv("HF_ETCD");
    char uri[256], path[600], told[300];
    snprintf(path, sizeof path, "%s/peer", folder != NULL ? folder : ".");
    hf_test_need(access(path, X_OK) == 0, stranger_why_not(folder, "peer"));
    hf_test_quorum_borrow(&hf_test_etcd_sort, uri, sizeof uri);
    snprintf(told, sizeof told, "%s session_ms=%d", uri, lease_ms);
    stranger_start(&the_go, (char *[]){path, NULL}, told);
    c_meet(uri, lease_ms);
}

void with_go(void **state) {
    meet(LONG_LEASE);
    hf_test_body(state);
}

void with_go_briefly(void **state) {
    meet(SHORT_LEASE);
    hf_test_body(state);
}

int end_go(void **state) {
    (void)state;
    hf_test_clear();
    go_kill();
    hf_test_give_back();
    return 0;
}
