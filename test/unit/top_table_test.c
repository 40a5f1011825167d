/* SPDX-License-Identifier: MIT
 *
 * top_table_test.c - the pages of `holdfast top`, of pictures made up by hand:
 * no store, no screen. */
#include <stdio.h>
#include <string.h>

#include "../../cli/top_table.h"
#include "support/suite.h"

enum { WIDE = 200 };

static hf_place claim(const char *name, const char *user, bool holds,
                      int64_t since_ms) {
    return (hf_place){.name = name,
                      .kind = "lock",
                      .owner = "",
                      .client = "",
                      .host = "h",
                      .user = user,
                      .program = "",
                      .why = "",
                      .holds = holds,
                      .pid = 7,
                      .lease_ms = holds ? 30000 : -1,
                      .since_ms = since_ms};
}

/* a: held by ann for a minute, bob and cy wait; b: held by bob for a second;
 * the two wait for each other. */
static hf_place of_a[3], of_b[1];
static hf_stuck stuck[2];
static view_line all_lines[2];
static view_circle circle = {stuck, 2};
static view_picture picture;

static void set_scene(void) {
    of_a[0] = claim("a", "ann", true, 60000);
    of_a[1] = claim("a", "bob", false, 5000);
    of_a[2] = claim("a", "cy", false, 9000);
    of_b[0] = claim("b", "bob", true, 1000);
    of_b[0].why = "\033[2J\xff";
    all_lines[0] = (view_line){.name = "a",
                               .kind = "lock",
                               .state = VIEW_HELD,
                               .claims = of_a,
                               .n = 3,
                               .holders = 1,
                               .waiters = 2,
                               .holder = &of_a[0],
                               .stuck = true};
    all_lines[1] = (view_line){.name = "b",
                               .kind = "lock",
                               .state = VIEW_LATE,
                               .claims = of_b,
                               .n = 1,
                               .holders = 1,
                               .holder = &of_b[0]};
    stuck[0] = (hf_stuck){.wants = "b",
                          .kind = "lock",
                          .client = "1",
                          .host = "h",
                          .user = "ann",
                          .since_ms = 4000};
    stuck[1] = (hf_stuck){.wants = "a",
                          .kind = "lock",
                          .client = "2",
                          .host = "h",
                          .user = "bob",
                          .since_ms = 5000};
    picture = (view_picture){.lines = all_lines,
                             .n_lines = 2,
                             .circles = &circle,
                             .n_circles = 1,
                             .held = 2,
                             .waiting = 2};
}

/* The page as text, its lines without the blanks between the columns. */
static const char *page(top_page which, const char *filter, top_sort sort,
                        int width) {
    static char text[8000];
    int widths[TOP_COLUMNS];
    top_table t = {0};
    char line[2000];
    size_t n = 0;

    top_table_fill(&t, which, &picture, filter, sort);
    top_table_layout(&t, width, widths);
    text[0] = '\0';
    for (size_t i = 0; i <= t.n; i++) {
        char *rest = line, *word;
        top_table_line(&t, widths, i == 0 ? NULL : &t.rows[i - 1], width, line,
                       sizeof line);
        assert_true(strlen(line) <= (size_t)width);
        while ((word = strsep(&rest, " ")) != NULL)
            if (*word)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s ", word);
        text[n - 1] = '\n';
    }
    top_table_free(&t);
    return text;
}

static void held_page(void **state) {
    (void)state;
    set_scene();
    assert_string_equal(
        page(TOP_HELD, "", TOP_BY_NAME, WIDE),
        "NAME STATE WAIT HOLDER PID HELD LEASE KIND WHY\n"
        "a held, DEADLOCK 2 ann@h 7 1m00s 30s lock -\n"
        "b renewing late 0 bob@h 7 1.0s 30s lock \\x1b[2J\\xff\n");
}

static void waiting_page_keeps_the_order_of_a_line(void **state) {
    (void)state;
    set_scene();
    assert_string_equal(page(TOP_WAITING, "", TOP_BY_NAME, WIDE),
                        "NAME WAITS PLACE WHO PID STATE BLOCKED BY WHY\n"
                        "a 5.0s 1/2 bob@h 7 DEADLOCK ann@h -\n"
                        "a 9.0s 2/2 cy@h 7 DEADLOCK ann@h -\n");
    assert_string_equal(page(TOP_WAITING, "", TOP_BY_TIME, WIDE),
                        "NAME WAITS PLACE WHO PID STATE BLOCKED BY WHY\n"
                        "a 9.0s 2/2 cy@h 7 DEADLOCK ann@h -\n"
                        "a 5.0s 1/2 bob@h 7 DEADLOCK ann@h -\n");
}

/* Each holds what the one before it in the circle wants. */
static void blocking_page_begins_with_circles(void **state) {
    (void)state;
    set_scene();
    assert_string_equal(page(TOP_BLOCKING, "", TOP_BY_TIME, WIDE),
                        "WHO STATE HOLDS WANTS WAITERS LONGEST PID\n"
                        "ann@h DEADLOCK a b - 4.0s -\n"
                        "bob@h DEADLOCK b a - 5.0s -\n"
                        "ann@h DEADLOCK a - 2 9.0s 7\n");
}

static void a_free_line_is_not_held_but_a_semaphore_is_shown(void **state) {
    (void)state;
    set_scene();
    all_lines[1] = (view_line){.name = "b", .kind = "lock"};
    assert_null(strstr(page(TOP_HELD, "", TOP_BY_NAME, WIDE), "\nb "));
    all_lines[1].kind = "semaphore";
    all_lines[1].counts = true;
    all_lines[1].count = 3;
    assert_non_null(strstr(page(TOP_HELD, "", TOP_BY_NAME, WIDE),
                           "\nb free, 3 left 0 - - - - semaphore -\n"));
}

static void a_filter_looks_into_every_cell(void **state) {
    (void)state;
    set_scene();
    assert_null(strstr(page(TOP_HELD, "ANN", TOP_BY_NAME, WIDE), "\nb "));
    assert_non_null(strstr(page(TOP_HELD, "ANN", TOP_BY_NAME, WIDE), "\na "));
    assert_string_equal(page(TOP_WAITING, "nobody", TOP_BY_NAME, WIDE),
                        "NAME WAITS PLACE WHO PID STATE BLOCKED BY WHY\n");
    assert_non_null(strstr(page(TOP_HELD, "late", TOP_BY_NAME, WIDE), "\nb "));
}

static void rows_are_sorted(void **state) {
    (void)state;
    set_scene();
    all_lines[0].name = "z";
    assert_true(strstr(page(TOP_HELD, "", TOP_BY_NAME, WIDE), "\nb ") <
                strstr(page(TOP_HELD, "", TOP_BY_NAME, WIDE), "\nz "));
    assert_true(strstr(page(TOP_HELD, "", TOP_BY_TIME, WIDE), "\nz ") <
                strstr(page(TOP_HELD, "", TOP_BY_TIME, WIDE), "\nb "));
    assert_true(strstr(page(TOP_HELD, "", TOP_BY_WAITERS, WIDE), "\nz ") <
                strstr(page(TOP_HELD, "", TOP_BY_WAITERS, WIDE), "\nb "));
}

/* The least important columns go first; page() checks that all fit. */
static void narrow_screens_lose_columns(void **state) {
    char name[HF_NAME_MAX + 1];

    (void)state;
    set_scene();
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    all_lines[0].name = name;
    assert_null(strstr(page(TOP_HELD, "", TOP_BY_NAME, 80), "KIND"));
    assert_non_null(strstr(page(TOP_HELD, "", TOP_BY_NAME, 80), "HOLDER"));
    for (int width = 78; width > 0; width--)
        page(TOP_HELD, "", TOP_BY_NAME, width);
    assert_non_null(strstr(page(TOP_HELD, "", TOP_BY_NAME, 30), "STAT"));
    assert_non_null(strstr(page(TOP_HELD, "", TOP_BY_NAME, 30), "WAIT"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(held_page),
    cmocka_unit_test(waiting_page_keeps_the_order_of_a_line),
    cmocka_unit_test(blocking_page_begins_with_circles),
    cmocka_unit_test(a_free_line_is_not_held_but_a_semaphore_is_shown),
    cmocka_unit_test(a_filter_looks_into_every_cell),
    cmocka_unit_test(rows_are_sorted),
    cmocka_unit_test(narrow_screens_lose_columns),
};
HF_SUITE(tests)
