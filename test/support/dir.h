/* SPDX-License-Identifier: MIT
 *
 * dir.h - a private folder for everything a test leaves on disk.
 *
 * One per process, made at the first call in $HF_TEST_DIR - or in /tmp where
 * that is too long a path for the sockets that will live in it - and removed
 * when the process exits, unless HF_TEST_KEEP is set. */
#ifndef HF_TEST_DIR_H
#define HF_TEST_DIR_H

#include <stddef.h>

const char *hf_test_dir(void);

/* A path in it that was not given out before, "DIR/what-N". */
void hf_test_fresh_path(char *buf, size_t size, const char *what);

#endif
