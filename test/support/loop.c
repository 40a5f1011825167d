/* SPDX-License-Identifier: MIT
 *
 * loop.c - a small event loop for tests. */
#include "loop.h"

#include <poll.h>

void hf_test_tell(void *arg, int rc, const hf_error *err) {
    hf_test_told *told = arg;
    told->n++;
    told->rc = rc;
    hf_test_error = *err;
}

static bool readable(hf_client *client, int ms) {
    struct pollfd fd = {.fd = hf_fd(client), .events = POLLIN};
    assert_true(fd.fd >= 0);
    return poll(&fd, 1, ms) == 1;
}

bool hf_test_readable(hf_client *client) {
    return readable(client, 0);
}

void hf_test_await_readable(hf_client *client) {
    if (!readable(client, HF_TEST_LONG))
        fail_msg("nothing to be told within %d ms", HF_TEST_LONG);
}

void hf_test_turn(hf_client *client) {
    readable(client, 20);
    assert_true(hf_process(client) >= 0);
}

int hf_test_acquired(hf_client *client, hf_lock *lock, int wait_ms) {
    hf_test_told told = {0};
    hf_expect(HF_OK,
              hf_lock_acquire_async(lock, wait_ms, hf_test_tell, &told, ERR));
    hf_test_pump(client, told.n == 1);
    return told.rc;
}

int hf_test_released(hf_client *client, hf_lock *lock) {
    hf_test_told told = {0};
    hf_expect(HF_OK, hf_lock_release_async(lock, hf_test_tell, &told, ERR));
    hf_test_pump(client, told.n == 1);
    return told.rc;
}
