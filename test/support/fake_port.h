/* SPDX-License-Identifier: MIT
 *
 * fake_port.h - a port (src/backend/line/port.h) without a server: lines in
 * memory, and trouble when a test wants some.
 *
 * All fake ports of a test see the same lines; each has a session. */
#ifndef HF_TEST_FAKE_PORT_H
#define HF_TEST_FAKE_PORT_H

#include "backend/line/line.h"

extern const hf_backend_ops hf_test_fake_ops;

/* A store over a fake port of its own. */
hf_backend *hf_test_fake_open(const hf_host *host);

typedef enum hf_test_call {
    HF_TEST_ENTER,
    HF_TEST_LOOK,
    HF_TEST_LEAVE,
    HF_TEST_CHECK,
    HF_TEST_WATCH,
    HF_TEST_WRITE,
    HF_TEST_CALLS
} hf_test_call;

typedef enum hf_test_fate {
    HF_TEST_FINE,
    HF_TEST_UNASKED,    /* the question is lost: HF_EDOUBT */
    HF_TEST_UNANSWERED, /* the answer is: HF_EDOUBT */
    HF_TEST_LATE, /* ENTER: it is done when hf_test_fake_arrive is called */
    HF_TEST_DOWN, /* HF_EDOWN */
    HF_TEST_FORBIDDEN, /* HF_EFORBIDDEN */
    HF_TEST_OVERTAKEN  /* ENTER: somebody else enters first; WRITE: writes */
} hf_test_fate;

/* The next `times` calls meet it; negative: all. */
void hf_test_fake_set(hf_backend *be, hf_test_call call, hf_test_fate fate,
                      int times);
int hf_test_fake_calls(hf_backend *be, hf_test_call call);
void hf_test_fake_arrive(hf_backend *be);

/* The session ends, and another one begins. */
void hf_test_fake_expire(hf_backend *be);

/* An operator takes out the entry at that place of a lock's line, or touches
 * it. */
void hf_test_fake_remove(const char *name, int i);
void hf_test_fake_touch(const char *name, int i);

/* How many entries there are under the name; NULL: at all. */
int hf_test_fake_entries(const char *name);

/* How many watches there are. */
int hf_test_fake_watches(void);

/* How long a request may be under way; 0 in a new test. */
void hf_test_fake_settles(int ms);

/* For how long a session is good. */
void hf_test_fake_session(int ms);

#endif
