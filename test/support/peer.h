/* SPDX-License-Identifier: MIT
 *
 * peer.h - another process that locks, to be killed and stopped.
 *
 * It is the program hf-peer (test/peer/peer.c), found by $HF_PEER or beside
 * the test.  Each line sent to it is a call, each line it answers the result:
 * the name of the code, then the value, for instance "OK 17" or "TIMEOUT". */
#ifndef HF_TEST_PEER_H
#define HF_TEST_PEER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct hf_test_peer hf_test_peer;

/* Starts one and lets it open the store; the test is skipped where the
 * program was not built. */
hf_test_peer *hf_test_peer_start(const char *uri);

/* Likewise, with another program that takes such lines. */
hf_test_peer *hf_test_peer_start_as(char *const argv[], const char *uri);

/* Kills it and forgets it.  NULL is allowed. */
void hf_test_peer_stop(hf_test_peer *peer);

void hf_test_peer_send(hf_test_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The next answer, or NULL if none came within `ms`.  Lent until the next. */
const char *hf_test_peer_answer(hf_test_peer *peer, int ms);

/* Both; a missing answer fails the test. */
const char *hf_test_peer_ask(hf_test_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* SIGKILL is waited for, so that the process is certainly gone. */
void hf_test_peer_signal(hf_test_peer *peer, int sig);

/* Ends its input, so that it frees, closes and exits; returns when it has. */
void hf_test_peer_hang_up(hf_test_peer *peer);

/* It was told to exit: with which status it did; -1: not by itself. */
int hf_test_peer_exited(hf_test_peer *peer);

pid_t hf_test_peer_pid(const hf_test_peer *peer);

#endif
