/* SPDX-License-Identifier: MIT
 *
 * across.c - the same between processes: what dies, sleeps or is started. */
#include "contract.h"

#include "support/dir.h"
#include "support/guarded.h"
#include "support/peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* "OK 17" is 17; anything else fails the test. */
static uint64_t token_in(const char *answer) {
    if (strncmp(answer, "OK ", 3) != 0)
        fail_msg("the peer answered %s", answer);
    return strtoull(answer + 3, NULL, 10);
}

void two_processes_of_eight_threads_lose_no_increment(void **state) {
    (void)state;
    enum { THREADS = 8, ROUNDS = 15 };
    char path[160];
    hf_test_fresh_path(path, sizeof path, "counter");
    hf_test_guarded *g = hf_test_guarded_map(path);
    assert_non_null(g);
    hf_client *client = hf_contract_open(NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_free(hf_test_lock(client, "counter", NULL));
    hf_test_peer_send(peer, "contend %s counter %d %d %d", path, THREADS,
                      ROUNDS, hf_test_kind);
    hf_test_contend_with(client, "counter", HF_LOCK_WITH(.kind = hf_test_kind),
                         g, THREADS, ROUNDS);
    assert_string_equal(hf_test_peer_answer(peer, 3 * HF_TEST_LONG), "OK");
    assert_int_equal(g->failures, 0);
    assert_int_equal(g->overlaps, 0);
    assert_int_equal(g->disorders, 0);
    assert_int_equal(g->counter, 2 * THREADS * ROUNDS);
    hf_test_guarded_unmap(g);
    hf_test_peer_stop(peer);
}

/* A store that notices does so long before the lease of a minute ends; any
 * other frees the lock when its lease, then a short one, is over. */
void a_killed_holder_frees_the_lock(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    bool notices = (hf_can(client, hf_test_kind) & HF_CAN_NOTICE) != 0;
    hf_lock *b = hf_test_lock(client, "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d watchdog_ms=%d", hf_test_kind,
                     notices ? 60000 : 1500);
    uint64_t token = token_in(hf_test_peer_ask(peer, "try 0"));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_peer_signal(peer, SIGKILL);
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, 10000);
    assert_true(waiter.token > token);
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_peer_stop(peer);
}

void a_killed_waiter_stands_in_nobodys_way(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_client *client = hf_contract_open(NULL);
    hf_lock *a = hf_test_lock(client, "x", NULL);
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d watchdog_ms=1500", hf_test_kind);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_peer_send(peer, "acquire 0 -1");
    if (hf_can(client, hf_test_kind) & HF_CAN_ORDER)
        hf_test_eventually(hf_test_waiters(client, "x") == 1, HF_TEST_LONG);
    hf_test_begin(&waiter, b, HF_FOREVER);
    hf_test_peer_signal(peer, SIGKILL);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    hf_test_peer_stop(peer);
}

void a_stopped_holder_wakes_up_to_find_it_lost(void **state) {
    (void)state;
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d watchdog_ms=800 renew_ms=200",
                     hf_test_kind);
    uint64_t token = token_in(hf_test_peer_ask(peer, "try 0"));
    hf_test_peer_signal(peer, SIGSTOP);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_test_peer_signal(peer, SIGCONT);
    assert_string_equal(hf_test_peer_ask(peer, "held 0"), "OK 0");
    assert_string_equal(hf_test_peer_ask(peer, "release 0"), "LOST");
    assert_true(hf_lock_is_held(b));
    assert_string_equal(hf_test_peer_ask(peer, "try 0"), "BUSY 0");
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_test_peer_stop(peer);
}

void another_process_is_woken_by_a_release(void **state) {
    (void)state;
    enum { TURNS = 10, TOO_LONG = 6000 };
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", hf_test_kind);
    int64_t spent = 0;
    for (int i = 0; i < TURNS; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_test_peer_send(peer, "acquire 0 %d", HF_TEST_LONG);
        assert_null(hf_test_peer_answer(peer, 50));
        int64_t began = hf_test_now_ms();
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        token_in(hf_test_peer_answer(peer, HF_TEST_LONG));
        spent += hf_test_now_ms() - began;
        assert_string_equal(hf_test_peer_ask(peer, "release 0"), "OK");
    }
    assert_in_range(spent, 0, TOO_LONG);
    hf_test_peer_stop(peer);
}

/* The library's threads still run while the program's handlers of exit do. */
void who_exits_while_it_holds_ends_cleanly(void **state) {
    (void)state;
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d watchdog_ms=1500 renew_ms=1",
                     hf_test_kind);
    token_in(hf_test_peer_ask(peer, "try 0"));
    hf_test_peer_send(peer, "exit 7");
    assert_int_equal(hf_test_peer_exited(peer), 7);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_peer_stop(peer);
}

void release_after_outlives_the_process(void **state) {
    (void)state;
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", hf_test_kind);
    token_in(hf_test_peer_ask(peer, "try 0"));
    int64_t began = hf_test_now_ms();
    assert_string_equal(hf_test_peer_ask(peer, "after 0 1500"), "OK");
    hf_test_peer_signal(peer, SIGKILL);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_in_range(hf_test_now_ms() - began, 1480, HF_TEST_LONG);
    hf_test_peer_stop(peer);
}

void a_closed_client_leaves_its_lock_to_others(void **state) {
    (void)state;
    hf_lock *b = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", hf_test_kind);
    token_in(hf_test_peer_ask(peer, "try 0"));
    hf_test_peer_hang_up(peer);
    hf_expect(HF_OK, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    hf_test_peer_stop(peer);
}

void a_program_that_is_started_inherits_nothing(void **state) {
    (void)state;
    int out[2];
    char names[4096] = "";
    size_t n = 0;
    hf_lock *a = hf_test_lock(hf_contract_open(NULL), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_false(hf_test_is_told(a));
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], 1);
        execl("/bin/ls", "ls", "-l", "/proc/self/fd", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (ssize_t got;
         n < sizeof names - 1 &&
         (got = read(out[0], names + n, sizeof names - 1 - n)) > 0;)
        n += (size_t)got;
    close(out[0]);
    waitpid(pid, NULL, 0);
    assert_non_null(strstr(names, "/proc/"));
    assert_null(strstr(names, "socket:"));
    assert_null(strstr(names, "anon_inode"));
    assert_null(strstr(names, "locks-"));
}

static void note_pid(void *arg, const hf_place *place) {
    *(int64_t *)arg = place->pid;
}

static int64_t pid_of_holder(hf_client *client) {
    int64_t pid = 0;
    hf_expect(HF_OK, hf_list(client, "x", note_pid, &pid, ERR));
    return pid;
}

void the_list_shows_a_holder_in_another_process(void **state) {
    (void)state;
    hf_client *client = hf_contract_open(NULL);
    hf_test_peer *peer = hf_test_peer_start(hf_contract_uri);
    hf_test_peer_ask(peer, "lock 0 x kind=%d", hf_test_kind);
    token_in(hf_test_peer_ask(peer, "try 0"));
    hf_test_eventually(pid_of_holder(client) == hf_test_peer_pid(peer),
                       HF_TEST_LONG);
    hf_test_peer_stop(peer);
}
