/* SPDX-License-Identifier: MIT
 *
 * claim_test.c - the rule of admission as a table of lines and verdicts, and
 * what owners are called. */
#include <string.h>

#include "../../src/claim.h"
#include "support/suite.h"

/* A line in letters, oldest first: x exclusive, s shared, 1-9 that many
 * permits, z "when the count is zero".  After a letter: ! holds, ~ does not
 * keep to the line.  Spaces are for the eye. */
static int read_line(const char *text, hf_entry *line) {
    int n = 0;

    for (; *text; text++) {
        if (*text == ' ')
            continue;
        if (*text == '!')
            line[n - 1].holds = true;
        else if (*text == '~')
            line[n - 1].fifo = false;
        else
            line[n++] = (hf_entry){.mode = *text == 'x' ? HF_EXCLUSIVE :
                                           *text == 's' ? HF_SHARED :
                                           *text == 'z' ? HF_ZERO :
                                                          HF_PERMITS,
                                   .permits = *text - '0',
                                   .fifo = true};
    }
    return n;
}

static const struct row {
    const char *line;
    int me, limit;
    int64_t count;
    bool admitted;
    int blocker;
} rows[] = {
    /* One exclusive claim at a time, oldest first. */
    {"x", 0, 0, 0, true, -1},
    {"x x", 0, 0, 0, true, -1},
    {"x x", 1, 0, 0, false, 0},
    {"x! x x", 2, 0, 0, false, 1},
    {"x! x x", 1, 0, 0, false, 0},
    {"x x!", 0, 0, 0, false, 1},
    {"x!", 0, 0, 0, true, -1},
    /* Who may overtake waits for holders only. */
    {"x x~", 1, 0, 0, true, -1},
    {"x~ x", 1, 0, 0, true, -1},
    {"x! x~", 1, 0, 0, false, 0},
    {"x~ x! x~", 2, 0, 0, false, 1},
    /* Readers share; a writer that came first stops those behind it. */
    {"s! s", 1, 0, 0, true, -1},
    {"s! s! s", 2, 0, 0, true, -1},
    {"s! x s", 2, 0, 0, false, 1},
    {"s! x s", 1, 0, 0, false, 0},
    {"s! s! x", 2, 0, 0, false, 1},
    {"x! s s", 2, 0, 0, false, 0},
    {"s! x~ s", 2, 0, 0, true, -1},
    {"s s! x!", 0, 0, 0, false, 2},
    /* Permits as long as they fit, also those that wait in front. */
    {"1", 0, 3, 0, true, -1},
    {"1! 1! 1", 2, 3, 0, true, -1},
    {"1! 1! 1! 1", 3, 3, 0, false, 2},
    {"2! 2", 1, 3, 0, false, 0},
    {"2! 1", 1, 3, 0, true, -1},
    {"2! 2 1", 2, 3, 0, false, 1},
    {"2! 2~ 1", 2, 3, 0, true, -1},
    {"4", 0, 3, 0, false, -1},
    {"x! 1", 1, 3, 0, false, 0},
    /* A latch looks at its count alone. */
    {"z", 0, 0, 0, true, -1},
    {"z", 0, 0, 2, false, -1},
    {"z z", 1, 0, 1, false, -1},
    {"z x", 1, 0, 1, true, -1},
    {"x! z", 1, 0, 0, true, -1},
};

static void the_rule_gives_the_verdicts_of_the_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        hf_entry line[16] = {0};
        int n = read_line(r->line, line);
        hf_verdict v = hf__admit(line, n, r->me, r->limit, r->count);

        if (v.admitted != r->admitted || v.blocker != r->blocker)
            fail_msg("\"%s\", claim %d: admitted %d blocker %d, expected %d "
                     "and %d",
                     r->line, r->me, v.admitted, v.blocker, r->admitted,
                     r->blocker);
    }
}

/* Whatever the line, granting what the rule admits never lets two in who do
 * not get along, and a line of claims that fit never stands still. */
static void no_random_line_breaks_what_the_rule_promises(void **state) {
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        hf_entry line[8] = {0};
        int n = 1 + (int)((seed = seed * 1103515245u + 12345u) >> 16) % 8;
        int permits = 0, writers = 0, readers = 0, limit = 3;

        for (int i = 0; i < n; i++) {
            unsigned dice = (seed = seed * 1103515245u + 12345u) >> 16;
            line[i] = (hf_entry){.mode = (hf_mode)(dice % 3),
                                 .permits = 1 + (int)(dice / 3 % 3),
                                 .fifo = dice / 9 % 4 != 0};
        }
        for (int i = 0; i < n; i++)
            line[i].holds = hf__admit(line, n, i, limit, 0).admitted;
        for (int i = 0; i < n; i++) {
            permits += line[i].holds && line[i].mode == HF_PERMITS ?
                           line[i].permits :
                           0;
            writers += line[i].holds && line[i].mode == HF_EXCLUSIVE;
            readers += line[i].holds && line[i].mode == HF_SHARED;
        }
        assert_true(line[0].holds);
        assert_in_range(permits, 0, limit);
        assert_true(writers == 0 ||
                    (writers == 1 && readers == 0 && permits == 0));
        assert_true(readers == 0 || permits == 0);
    }
}

static void an_owner_is_called_by_its_kind(void **state) {
    static const struct {
        hf_kind kind;
        const char *text;
    } owners[] = {
        {HF_LOCK, "c-l:17"},
        {HF_SPIN, "c-l:17"},
        {HF_READ, "c-l:17"},
        {HF_FAIR, "c-l:017"},
        {HF_WRITE, "c-l:17:write"},
        {HF_SIMPLE, "00ff4100000000000000000000000001"},
        {HF_PERMIT, "00ff4100000000000000000000000001"},
    };
    hf_claim c = {.owner = 17, .nonce = {0, 255, 'A', [15] = 1}};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
        c.kind = owners[i].kind;
        assert_int_equal(hf__owner_of(&c, "c-l", text, sizeof text),
                         strlen(owners[i].text));
        assert_string_equal(text, owners[i].text);
        assert_int_equal(hf__owner_of(&c, "c-l", NULL, 0),
                         strlen(owners[i].text));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_rule_gives_the_verdicts_of_the_table),
    cmocka_unit_test(no_random_line_breaks_what_the_rule_promises),
    cmocka_unit_test(an_owner_is_called_by_its_kind),
};
HF_SUITE(tests)
