/* SPDX-License-Identifier: MIT
 *
 * latch.c - `holdfast latch`: closed until it has been counted down. */
#include "command.h"
#include "words.h"

enum { SET, COUNT_DOWN, WAIT, COUNT, DELETE };

static const char *const names[] = {
    [SET] = "set",     [COUNT_DOWN] = "count-down", [WAIT] = "wait",
    [COUNT] = "count", [DELETE] = "delete",         NULL};

static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, offsetof(words_options, json),
     "count: print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

static const option_row *const shared_rows[] = {wait_rows, NULL};

static int set(words *w) {
    return hf_latch_set(w->latch, w->n, &w->err);
}

static int count_down(words *w) {
    return hf_latch_count_down(w->latch, &w->err);
}

static int count(words *w) {
    return hf_latch_count(w->latch, &w->numbers[0], &w->err);
}

static int delete (words *w) {
    return hf_latch_delete(w->latch, &w->err);
}

static const word table[] = {
    [SET] = {NEEDS_N, set, {NULL}},      [COUNT_DOWN] = {0, count_down, {NULL}},
    [WAIT] = {TAKES_WAIT, NULL, {NULL}}, [COUNT] = {0, count, {"count"}},
    [DELETE] = {0, delete, {NULL}},
};

static int run_latch(const command *cmd, int argc, char **argv) {
    return words_run(cmd, HF_LATCH, table, argc, argv);
}

const command latch_command = {
    .name = "latch",
    .operands = "WORD NAME [N]",
    .summary = "Wait until something has happened N times.",
    .about =
        "  set NAME N        closed until it was counted down N times; exit 75:\n"
        "                    it is set already\n"
        "  count-down NAME   one less; at zero it opens and is gone\n"
        "  wait NAME         until it is open; exit 75: in vain\n"
        "  count NAME        print how often it must still be counted down\n"
        "  delete NAME       open it, whatever its count\n"
        "\n"
        "A latch that was never set is open.  Exit 1: there is no such latch.",
    .words = names,
    .options = rows,
    .shared = shared_rows,
    .max_operands = 3,
    .store = true,
    .run = run_latch,
};
