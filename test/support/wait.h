/* SPDX-License-Identifier: MIT
 *
 * wait.h - waiting for an event, never for a while.
 *
 * A test says what it waits for and how long it would bear to; it goes on the
 * moment the thing is there.  The bounds only tell a hang from a slow machine
 * and are meant to be generous. */
#ifndef HF_TEST_WAIT_H
#define HF_TEST_WAIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#define HF_TEST_LONG 20000 /* ms: nobody waits that long unless it hangs */

int64_t hf_test_now_ms(void); /* CLOCK_BOOTTIME, as the library counts */

/* The breath between two looks. */
void hf_test_breathe(void);

/* Looks until `condition` holds; fails the test after `ms`. */
#define hf_test_eventually(condition, ms)                                      \
    do {                                                                       \
        int64_t hf_by_ = hf_test_now_ms() + (ms);                              \
        while (!(condition)) {                                                 \
            if (hf_test_now_ms() > hf_by_)                                     \
                fail_msg("not within %d ms: %s", (int)(ms), #condition);       \
            hf_test_breathe();                                                 \
        }                                                                      \
    } while (0)

/* The same for what takes many steps, each soon behind the last, and as long in
 * all as the machine likes: `ms` is what may pass while `steps`, a number, does
 * not change. */
#define hf_test_finally(condition, steps, ms)                                  \
    do {                                                                       \
        int64_t hf_by_ = hf_test_now_ms() + (ms), hf_seen_ = (int64_t)(steps); \
        while (!(condition)) {                                                 \
            int64_t hf_now_ = hf_test_now_ms(), hf_at_ = (int64_t)(steps);     \
            if (hf_at_ != hf_seen_)                                            \
                hf_by_ = hf_now_ + (ms);                                       \
            else if (hf_now_ > hf_by_)                                         \
                fail_msg("no step within %d ms, and not yet: %s", (int)(ms),   \
                         #condition);                                          \
            hf_seen_ = hf_at_;                                                 \
            hf_test_breathe();                                                 \
        }                                                                      \
    } while (0)

/* The contrary: looks for `ms` and fails as soon as it does not hold.  For
 * what must last, such as a lease that is kept alive. */
#define hf_test_throughout(condition, ms)                                      \
    do {                                                                       \
        int64_t hf_by_ = hf_test_now_ms() + (ms);                              \
        do {                                                                   \
            if (!(condition))                                                  \
                fail_msg("did not last: %s", #condition);                      \
            hf_test_breathe();                                                 \
        } while (hf_test_now_ms() < hf_by_);                                   \
    } while (0)

/* Skips the test with a printed reason unless the thing it needs is there. */
#define hf_test_need(condition, what)                                          \
    do {                                                                       \
        if (!(condition)) {                                                    \
            print_message("skipped: %s\n", (what));                            \
            skip();                                                            \
        }                                                                      \
    } while (0)

/* For a child, forked beside threads, that allocates: malloc sees to it that
 * this works, AddressSanitizer's does not, and the child hangs now and then. */
#ifdef __SANITIZE_ADDRESS__
#define hf_test_need_fork()                                                    \
    hf_test_need(false, "AddressSanitizer does not survive fork beside threads")
#else
#define hf_test_need_fork() ((void)0)
#endif

/* A test that begins with something that may be missing, such as a server:
 *
 *     static void with_a_server(void **state) {
 *         server = hf_test_server_start(NULL);
 *         hf_test_body(state);
 *     }
 *     … HF_TEST_IN(with_a_server, a_sentence, teardown),
 *
 * Not a fixture, because only a test can be skipped. */
#define HF_TEST_IN(begin, name, teardown)                                      \
    { #name, begin, NULL, teardown, (void *)name }
void hf_test_body(void **state);

/* Does the thread `tid` of this process sleep, and without stirring for a
 * while?  Everybody nods off for a moment on the way to where he really waits;
 * so this says "probably waits now" and no more. */
bool hf_test_asleep(pid_t tid);

/* How many descriptors are open and how many threads run in this process. */
int hf_test_descriptors(void);
int hf_test_threads(void);

/* Can the program be started by its name? */
bool hf_test_installed(const char *program);

#endif
