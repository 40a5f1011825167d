/* SPDX-License-Identifier: MIT
 *
 * fiber.h - stacks to switch between: the threads of the simulated world.
 *
 * One thread of the system runs them all, one at a time, and a fiber runs
 * until it switches itself away.  On x86-64 the switch is a dozen
 * instructions; elsewhere it is swapcontext, which asks the kernel for the
 * signal mask each time. */
#ifndef HF_SIM_FIBER_H
#define HF_SIM_FIBER_H

#include <stddef.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

typedef struct sim_stack {
#if defined(__x86_64__)
    void *top; /* where it goes on, while another one runs */
#else
    ucontext_t context;
#endif
    void (*run)(void *);
    void *arg;
    void *memory; /* NULL: the stack of the system's thread */
    size_t size;
    void *fake; /* the address sanitizer's own */
    struct sim_stack *next;
} sim_stack;

/* A stack that begins with run(arg), which must never return.  NULL: no
 * memory. */
sim_stack *sim_stack_new(void (*run)(void *), void *arg);

/* Kept to be used again. */
void sim_stack_put(sim_stack *s);
void sim_stack_free_all(void);

/* Goes on in `to`, until somebody switches back.  `ends`: nobody will. */
void sim_switch(sim_stack *from, sim_stack *to, int ends);

#endif
