/* SPDX-License-Identifier: MIT
 *
 * etcd_fault_test.c - the faults of quorum_faults.h, and leases that somebody
 * else ends. */
#include "support/etcdctl.h"
#include "support/proxy.h"
#include "support/quorum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BRAND hf_test_etcd
#define SORT  hf_test_etcd_sort

static int entries(int port, const char *root, const char *name) {
    char prefix[160];
    snprintf(prefix, sizeof prefix, "%s/%s/", root, name);
    return hf_test_etcd_count(port, prefix);
}

static hf_test_proxy *new_proxy(int port) {
    return hf_test_proxy_start(port);
}

#include "quorum_faults.h"

/* ---- leases that end --------------------------------------------------- */

/* The lease of the entry that was made first, or last. */
static int64_t lease_of(bool last) {
    char all[4096], best[128] = "";
    char prefix[96];
    int64_t found = 0;
    snprintf(prefix, sizeof prefix, "%s/x/", root);
    snprintf(all, sizeof all, "%s", hf_test_etcd_keys(port, prefix));
    for (char *at = all, *key; (key = strsep(&at, "\n")) != NULL;) {
        int64_t made =
            *key ? hf_test_etcd_fact(port, key, "CreateRevision") : -1;
        if (made >= 0 && (found == 0 || (last ? made > found : made < found))) {
            found = made;
            snprintf(best, sizeof best, "%s", key);
        }
    }
    return hf_test_etcd_fact(port, best, "Lease");
}

static void revoke_lease(int64_t lease) {
    assert_true(lease > 0);
    assert_non_null(strstr(
        hf_test_etcdctl(port, "lease revoke %" PRIx64, lease), "revoked"));
}

static void a_revoked_lease_is_told_to_its_holder_at_once(void **state) {
    (void)state;
    hf_test_ear e = {0};
    hf_lock *a = lock_in(direct, "20s"), *b = lock_in(direct, LASTING);
    hf_lock_on_state(a, hf_test_hear, &e);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    uint64_t token = hf_lock_token(a);
    revoke_lease(lease_of(false));
    int64_t began = hf_test_now_ms();
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, 5000); /* no renewal */
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR)); /* a new lease */
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(atomic_load(&e.lost), 1);
    nothing_is_left();
}

static void a_waiter_whose_lease_was_revoked_still_gets_in(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, "20s");
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    int64_t lease = lease_of(true);
    revoke_lease(lease);
    int64_t began = hf_test_now_ms();
    hf_test_eventually(in_line() == 2, HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, SOON); /* not 20 s */
    assert_true(lease_of(true) != lease);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    nothing_is_left();
}

/* etcd#11456: the server's own lock service said yes to one whose lease had
 * ended while it waited; so did the Go package of that time. */
static void nobody_is_let_in_by_a_key_that_is_gone(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        hf_test_thread waiter;
        hf_lock *a = lock_in(direct, LASTING), *b = lock_in(direct, "20s");
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_begin(&waiter, b, HF_FOREVER);
        hf_test_eventually(in_line() == 2, HF_TEST_LONG);
        revoke_lease(lease_of(true));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_test_answer(&waiter));
        assert_int_equal(in_line(), 1); /* it holds by something */
        hf_test_throughout(hf_lock_try(a, ERR) == HF_BUSY, 200);
        hf_expect(HF_OK, hf_test_end(&waiter));
        nothing_is_left();
    }
}

static const struct CMUnitTest tests[] = {
    QUORUM_FAULTS PROXY(a_revoked_lease_is_told_to_its_holder_at_once)
        PROXY(a_waiter_whose_lease_was_revoked_still_gets_in)
            PROXY(nobody_is_let_in_by_a_key_that_is_gone)};
HF_SUITE(tests)
