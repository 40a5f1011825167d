/* SPDX-License-Identifier: MIT
 *
 * worker.h - a process that uses locks, and may be killed over it. */
#ifndef HF_TORTURE_WORKER_H
#define HF_TORTURE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* The life of worker `number`, from 1, on the ground in the file
 * `DIR/ground`; its history is `DIR/NUMBER.history`.  One that is `mortal` may
 * be killed and takes nothing that would not come back by itself.  The status
 * to exit with. */
int worker_main(const char *dir, uint32_t number, bool mortal);

#endif
