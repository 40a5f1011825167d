/* SPDX-License-Identifier: MIT
 *
 * sentinel_stub.h - a sentinel that says what the test wants.
 *
 * It knows one master, "mymaster", on 127.0.0.1.  A thread of the test. */
#ifndef HF_TEST_SENTINEL_STUB_H
#define HF_TEST_SENTINEL_STUB_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hf_test_stub hf_test_stub;

hf_test_stub *hf_test_stub_start(void);
void hf_test_stub_stop(hf_test_stub *stub); /* NULL is allowed */
int hf_test_stub_port(const hf_test_stub *stub);

/* What it answers from now on; port 0: that it knows no such master. */
void hf_test_stub_names(hf_test_stub *stub, int port, int64_t epoch,
                        int replicas);

/* It leads a failover: SENTINEL MASTER goes on telling the old place. */
void hf_test_stub_leads(hf_test_stub *stub, int old_port);

/* Another sentinel, of whom it tells; 0: none. */
void hf_test_stub_meets(hf_test_stub *stub, int port);

/* Says +switch-master to those who listen; how many they are. */
int hf_test_stub_announces(hf_test_stub *stub);
int hf_test_stub_listeners(hf_test_stub *stub);

/* Answers nothing, and takes no notice. */
void hf_test_stub_sleeps(hf_test_stub *stub, bool on);

/* How often it was asked who the master is. */
int hf_test_stub_questions(hf_test_stub *stub);

#endif
