/* SPDX-License-Identifier: MIT
 *
 * fiber.c - the switch, and a pool of stacks. */
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK = 512 * 1024 };
#else
enum { STACK = 128 * 1024 };
#endif

static sim_stack *unused;
static sim_stack *arrived_from; /* who switched to us */

/* After a switch, on the new stack. */
static void arrive(sim_stack *self) {
#if defined(__SANITIZE_ADDRESS__)
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(self->fake, &bottom, &size);
    if (!arrived_from->memory && !arrived_from->size) {
        arrived_from->arg = (void *)(uintptr_t)bottom;
        arrived_from->size = size;
    }
#else
    (void)self;
#endif
}

static void depart(sim_stack *from, const sim_stack *to, int ends) {
    arrived_from = from;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(ends ? NULL : &from->fake,
                                   to->memory ? to->memory : to->arg, to->size);
#else
    (void)to, (void)ends;
#endif
}

#if defined(__x86_64__)

void sim_swap_tops(void **from, void *to);
void sim_first(void);

/* What a function must leave as it found it goes on the stack; the rest is
 * the caller's.  A new stack has the zeros for it and sim_first to return
 * to. */
__asm__(".text\n"
        ".globl sim_swap_tops\n"
        ".type sim_swap_tops, @function\n"
        "sim_swap_tops:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size sim_swap_tops, .-sim_swap_tops\n");

static sim_stack *beginning; /* who arrives at sim_first */

void sim_first(void) {
    sim_stack *self = beginning;

    arrive(self);
    self->run(self->arg);
    abort();
}

static void prepare(sim_stack *s) {
    uintptr_t end = ((uintptr_t)s->memory + s->size) & ~(uintptr_t)15;
    void **top = (void **)end - 1; /* as if called: 8 above a multiple of 16 */

    *--top = (void *)sim_first;
    for (int i = 0; i < 6; i++)
        *--top = NULL;
    s->top = top;
}

void sim_switch(sim_stack *from, sim_stack *to, int ends) {
    depart(from, to, ends);
    beginning = to;
    sim_swap_tops(&from->top, to->top);
    arrive(from);
}

#else

static void first(unsigned low, unsigned high) {
    sim_stack *self = (sim_stack *)(((uintptr_t)high << 16 << 16) | low);

    arrive(self);
    self->run(self->arg);
    abort();
}

static void prepare(sim_stack *s) {
    uintptr_t self = (uintptr_t)s;

    getcontext(&s->context);
    s->context.uc_stack.ss_sp = s->memory;
    s->context.uc_stack.ss_size = s->size;
    makecontext(&s->context, (void (*)(void))first, 2, (unsigned)self,
                (unsigned)(self >> 16 >> 16));
}

void sim_switch(sim_stack *from, sim_stack *to, int ends) {
    depart(from, to, ends);
    swapcontext(&from->context, &to->context);
    arrive(from);
}

#endif

sim_stack *sim_stack_new(void (*run)(void *), void *arg) {
    sim_stack *s = unused;

    if (s) {
        unused = s->next;
    } else {
        s = calloc(1, sizeof *s);
        if (!s)
            return NULL;
        s->size = STACK;
        s->memory = mmap(NULL, s->size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (s->memory == MAP_FAILED) {
            free(s);
            return NULL;
        }
    }
    s->run = run;
    s->arg = arg;
    s->fake = NULL;
    prepare(s);
    return s;
}

void sim_stack_put(sim_stack *s) {
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(s->memory, s->size);
#endif
    s->next = unused;
    unused = s;
}

void sim_stack_free_all(void) {
    while (unused) {
        sim_stack *s = unused;

        unused = s->next;
        munmap(s->memory, s->size);
        free(s);
    }
}
