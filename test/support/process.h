/* SPDX-License-Identifier: MIT
 *
 * process.h - children that cannot outlive the test.
 *
 * They are started from the test's main thread: the kernel sends their death
 * signal when the *thread* that forked them ends. */
#ifndef HF_TEST_PROCESS_H
#define HF_TEST_PROCESS_H

#include <sys/types.h>

/* Starts argv[0], found in PATH.  in and out become its standard input and
 * output, log its standard error; -1 leaves the test's own. */
pid_t hf_test_spawn(char *const argv[], int in, int out, int log);

/* Runs it to its end, silently; the exit status, or -1. */
int hf_test_run(char *const argv[]);

/* kill -9, and waits for it to be gone. */
void hf_test_kill(pid_t pid);

/* A signal to a child that lives; nothing for one that is gone (0), which to
 * kill(2) would mean every process of the test run. */
void hf_test_signal(pid_t pid, int sig);

/* SIGSTOP, and waits until it is: till then it may still answer.  SIGCONT. */
void hf_test_pause(pid_t pid);
void hf_test_resume(pid_t pid);

#endif
