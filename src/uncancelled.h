/* SPDX-License-Identifier: MIT
 *
 * uncancelled.h - calls that pthread_cancel does not end in the middle.
 *
 * A thread that is cancelled unwinds from wherever it sleeps or reads.  Inside
 * the library it would leave mutexes locked, its place in a queue that lies on
 * its own stack, and a claim in the store that nobody gives back.  So a public
 * function that may come to such a point begins with HF_UNCANCELLED: the
 * thread ends when the call has, at its own next cancellation point. */
#ifndef HF_UNCANCELLED_H
#define HF_UNCANCELLED_H

#include <pthread.h>

static inline int hf__defer_cancel(void) {
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void hf__restore_cancel(const int *before) {
    int now;

    pthread_setcancelstate(*before, &now);
}

/* The first declaration of the function. */
#define HF_UNCANCELLED                                                         \
    __attribute__((cleanup(hf__restore_cancel))) int cancel_before =           \
        hf__defer_cancel()

#endif
