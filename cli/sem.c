/* SPDX-License-Identifier: MIT
 *
 * sem.c - `holdfast sem`: a number of permits under a name.
 *
 * Permits taken here are nobody's: whoever likes gives them back.  Those that
 * return by themselves when their holder dies are taken by `run --permits`. */
#include "command.h"
#include "words.h"

enum { SET, ACQUIRE, RELEASE, COUNT, ADD, REDUCE, RESIZE, DRAIN, DELETE };

static const char *const names[] = {
    [SET] = "set",         [ACQUIRE] = "acquire",
    [RELEASE] = "release", [COUNT] = "count",
    [ADD] = "add",         [REDUCE] = "reduce",
    [RESIZE] = "resize",   [DRAIN] = "drain",
    [DELETE] = "delete",   NULL};

#define AT(field) offsetof(words_options, field)
static const option_row rows[] = {
    {0, "ttl", "DURATION", OPTION_DURATION, AT(ttl_ms),
     "set: the semaphore vanishes after this"},
    {'J', "json", NULL, OPTION_FLAG, AT(json),
     "count, drain: print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static const option_row *const shared_rows[] = {wait_rows, NULL};

static int set(words *w) {
    return hf_semaphore_set(w->sem, w->n, w->options.ttl_ms, &w->err);
}

/* A slip of the pen shall not make a new semaphore. */
static int release(words *w) {
    return hf_semaphore_release_if_set(w->sem, w->n, &w->err);
}

static int count(words *w) {
    return hf_semaphore_count(w->sem, &w->numbers[0], &w->numbers[1], &w->err);
}

static int add(words *w) {
    return hf_semaphore_add(w->sem, w->n, &w->err);
}

static int reduce(words *w) {
    return hf_semaphore_add(w->sem, -w->n, &w->err);
}

static int resize(words *w) {
    return hf_semaphore_resize(w->sem, w->n, &w->err);
}

static int drain(words *w) {
    return hf_semaphore_drain(w->sem, &w->numbers[0], &w->err);
}

static int delete (words *w) {
    return hf_semaphore_delete(w->sem, &w->err);
}

static const word table[] = {
    [SET] = {NEEDS_N | TAKES_TTL, set, {NULL}},
    [ACQUIRE] = {TAKES_N | TAKES_WAIT, NULL, {NULL}},
    [RELEASE] = {TAKES_N, release, {NULL}},
    [COUNT] = {0, count, {"count", "leased"}},
    [ADD] = {NEEDS_N, add, {NULL}},
    [REDUCE] = {NEEDS_N, reduce, {NULL}},
    [RESIZE] = {NEEDS_N, resize, {NULL}},
    [DRAIN] = {0, drain, {"taken"}},
    [DELETE] = {0, delete, {NULL}},
};

static int run_sem(const command *cmd, int argc, char **argv) {
    return words_run(cmd, HF_SEMAPHORE, table, argc, argv);
}

const command sem_command = {
    .name = "sem",
    .operands = "WORD NAME [N]",
    .summary = "Set, take and give the permits of a semaphore.",
    .about =
        "  set NAME N        there are N, unless somebody has set their number:\n"
        "                    then exit 75\n"
        "  acquire NAME [N]  take N (1) together, waiting for them; exit 75: in\n"
        "                    vain\n"
        "  release NAME [N]  give N (1) back, whoever took them\n"
        "  count NAME        print how many are free\n"
        "  add NAME N, reduce NAME N\n"
        "                    change their number; fewer than none may be free\n"
        "  resize NAME N     make it N, those leased by 'run' counted in\n"
        "  drain NAME        take all that are free, print how many\n"
        "  delete NAME       remove it\n"
        "\n"
        "What is taken here stays taken until somebody gives it back.  Permits\n"
        "that return by themselves: holdfast run --permits N NAME -- COMMAND.\n"
        "Exit 1: there is no such semaphore.",
    .words = names,
    .options = rows,
    .shared = shared_rows,
    .max_operands = 3,
    .store = true,
    .run = run_sem,
};
