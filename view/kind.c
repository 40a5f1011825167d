/* SPDX-License-Identifier: MIT
 *
 * kind.c - the kinds of lock, and what they are called. */
#include "kind.h"

#include <string.h>

static const struct {
    const char *word, *title;
    hf_kind line;
    bool shares;
} kinds[HF_KINDS] = {
    [HF_LOCK] = {"lock", "lock", HF_LOCK, false},
    [HF_SIMPLE] = {"simple", "simple lock", HF_SIMPLE, false},
    [HF_FAIR] = {"fair", "fair lock", HF_LOCK, false},
    [HF_SPIN] = {"spin", "spin lock", HF_LOCK, false},
    [HF_READ] = {"read", "read lock", HF_WRITE, true},
    [HF_WRITE] = {"write", "write lock", HF_WRITE, false},
    [HF_PERMIT] = {"permit", "leased permit", HF_SEMAPHORE, true},
    [HF_SEMAPHORE] = {"semaphore", "semaphore", HF_SEMAPHORE, true},
    [HF_LATCH] = {"latch", "latch", HF_LATCH, true},
};

const char *kind_word(hf_kind kind) {
    return kinds[kind].word;
}

const char *kind_title(hf_kind kind) {
    return kinds[kind].title;
}

hf_kind kind_of(const char *word) {
    int kind = 0;
    while (kind < HF_KINDS && strcmp(kinds[kind].word, word) != 0)
        kind++;
    return (hf_kind)kind;
}

hf_kind kind_line(hf_kind kind) {
    return kind < HF_KINDS ? kinds[kind].line : HF_KINDS;
}

bool kind_shares(hf_kind kind) {
    return kinds[kind].shares;
}
