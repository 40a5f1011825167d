/* SPDX-License-Identifier: MIT
 *
 * mariadb_shedlock_test.c - ShedLock's table: zones and collations. */
#include "support/mariadb.h"
#include "support/stage.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static char base[200];
static int port;

static void with_a_database(void **state) {
    hf_test_mariadb_borrow(base, sizeof base);
    port = hf_test_mariadb_borrowed_port();
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_give_back();
    return 0;
}

static hf_client *open_with(const char *params) {
    char uri[300];
    snprintf(uri, sizeof uri, "%s?hf_compat=shedlock%s", base, params);
    return hf_test_open(uri, NULL);
}

/* Whose zones are the same agree, whatever the zone is. */
static void two_with_one_zone_agree(void **state) {
    (void)state;
    static const char *const zones[] = {"", "&hf_zone=%2B05:00",
                                        "&hf_zone=-11:30"};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        hf_lock *a = hf_test_lock(open_with(zones[i]), name, NULL),
                *b = hf_test_lock(open_with(zones[i]), name, NULL);
        hf_expect(HF_OK, hf_lock_try(a, ERR));
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_expect(HF_OK, hf_lock_try(b, ERR));
    }
}

static void a_zone_is_a_zone(void **state) {
    (void)state;
    static const char *const bad[] = {"", "a'b", "a%20b", "%2B00:00;DROP"};
    for (int i = 0; i < 4; i++) {
        char uri[300];
        hf_client *client = NULL;
        snprintf(uri, sizeof uri, "%s?hf_compat=shedlock&hf_zone=%s", base,
                 bad[i]);
        hf_expect(HF_EURI, hf_open(&client, uri, NULL, ERR));
    }
}

typedef struct heard {
    bool warned;
} heard;

static void hear(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    heard *h = arg;
    (void)text;
    h->warned = h->warned || (level == HF_WARN && strcmp(what, "names") == 0);
}

static void names_that_the_table_takes_for_one_are_warned_of(void **state) {
    (void)state;
    heard h = {false};
    hf_expect(HF_OK, hf_examine(open_with(""), hear, &h, ERR));
    assert_false(h.warned); /* of a table that we made */
    hf_test_mariadb_ask(port, "ALTER TABLE shedlock MODIFY name VARCHAR(64) "
                              "CHARACTER SET utf8mb4 COLLATE "
                              "utf8mb4_general_ci NOT NULL");
    hf_expect(HF_OK, hf_examine(open_with(""), hear, &h, ERR));
    assert_true(h.warned);
}

static const struct CMUnitTest tests[] = {
    HF_TEST_IN(with_a_database, two_with_one_zone_agree, teardown),
    HF_TEST_IN(with_a_database, a_zone_is_a_zone, teardown),
    HF_TEST_IN(with_a_database,
               names_that_the_table_takes_for_one_are_warned_of, teardown),
};
HF_SUITE(tests)
