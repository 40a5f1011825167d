/* SPDX-License-Identifier: MIT
 *
 * fenced.c - writers who try to write with older tokens. */
#include "fenced.h"

#include "wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { WRITERS = 6, ROUNDS = 50, SPREAD = 12 };

#define ADD "INSERT INTO entry (token) VALUES (%llu)"

void hf_fenced_expect(const hf_fenced *db, void *conn, int wanted,
                      const char *sql) {
    int64_t cell;
    int got = db->run(conn, sql, &cell);
    if (got != wanted)
        fail_msg("%s: %s instead of %s", sql, hf_error_name(got),
                 hf_error_name(wanted));
}

int64_t hf_fenced_ask(const hf_fenced *db, void *conn, const char *sql) {
    int64_t cell = 0;
    if (db->run(conn, sql, &cell) != HF_OK)
        fail_msg("no answer: %s", sql);
    return cell;
}

static int add(const hf_fenced *db, void *conn, uint64_t token) {
    char sql[96];
    int64_t cell;
    snprintf(sql, sizeof sql, ADD, (unsigned long long)token);
    return db->run(conn, sql, &cell);
}

int hf_fenced_write(const hf_fenced *db, void *conn, uint64_t token) {
    int64_t cell;
    int rc = db->run(conn, db->begin, &cell);
    if (rc == HF_OK)
        rc = db->pass(conn, "ledger", token);
    if (rc == HF_OK)
        rc = add(db, conn, token);
    if (rc == HF_OK)
        rc = db->run(conn, "COMMIT", &cell);
    if (rc != HF_OK)
        db->run(conn, "ROLLBACK", &cell);
    return rc;
}

void hf_fenced_refuses_older_ones(const hf_fenced *db) {
    void *conn = db->connect();
    uint64_t big = UINT64_C(9007199254740993); /* no double is that */
    assert_int_equal(hf_fenced_write(db, conn, big), HF_OK);
    assert_int_equal(hf_fenced_write(db, conn, big), HF_OK);
    assert_int_equal(hf_fenced_write(db, conn, big - 1), HF_ELOST);
    assert_int_equal(hf_fenced_write(db, conn, 7), HF_ELOST);
    assert_int_equal(hf_fenced_write(db, conn, big + 1), HF_OK);
    assert_int_equal(hf_fenced_write(db, conn, big), HF_ELOST);
    assert_int_equal(hf_fenced_ask(db, conn, "SELECT count(*) FROM entry"), 3);
    /* Another resource has tokens of its own; names are bytes. */
    hf_fenced_expect(db, conn, HF_OK, db->begin);
    assert_int_equal(db->pass(conn, "Ledger", 1), HF_OK);
    assert_int_equal(db->pass(conn, "it's; -- \\", 1), HF_OK);
    hf_fenced_expect(db, conn, HF_OK, "COMMIT");
    /* What was rolled back was not seen. */
    hf_fenced_expect(db, conn, HF_OK, db->begin);
    assert_int_equal(db->pass(conn, "Ledger", 9), HF_OK);
    hf_fenced_expect(db, conn, HF_OK, "ROLLBACK");
    hf_fenced_expect(db, conn, HF_OK, db->begin);
    assert_int_equal(db->pass(conn, "Ledger", 8), HF_OK);
    hf_fenced_expect(db, conn, HF_OK, "COMMIT");
    db->hang_up(conn);
}

typedef struct writer {
    const hf_fenced *db;
    pthread_t thread;
    uint64_t token;
    atomic_bool done;
    int result;
    unsigned seed;
    int passed, refused;
} writer;

static void *write_once(void *arg) {
    writer *w = arg;
    void *conn = w->db->connect();
    do
        w->result = hf_fenced_write(w->db, conn, w->token);
    while (w->result == HF_BUSY);
    w->db->hang_up(conn);
    atomic_store(&w->done, true);
    return NULL;
}

void hf_fenced_lets_a_newer_one_wait(const hf_fenced *db) {
    void *conn = db->connect();
    writer newer = {.db = db, .token = 6};
    assert_int_equal(hf_fenced_write(db, conn, 4), HF_OK);
    hf_fenced_expect(db, conn, HF_OK, db->begin);
    assert_int_equal(db->pass(conn, "ledger", 5), HF_OK);
    pthread_create(&newer.thread, NULL, write_once, &newer);
    hf_test_throughout(!atomic_load(&newer.done), 200);
    assert_int_equal(add(db, conn, 5), HF_OK);
    hf_fenced_expect(db, conn, HF_OK, "COMMIT");
    pthread_join(newer.thread, NULL);
    assert_int_equal(newer.result, HF_OK);
    assert_int_equal(hf_fenced_write(db, conn, 5), HF_ELOST);
    assert_int_equal(
        hf_fenced_ask(db, conn, "SELECT token FROM entry ORDER BY id DESC"), 6);
    db->hang_up(conn);
}

/* Growing tokens, with late ones among them. */
static void *write_many(void *arg) {
    writer *w = arg;
    void *conn = w->db->connect();
    for (int i = 0; i < ROUNDS && w->result == HF_OK; i++) {
        uint64_t token =
            1 + (uint64_t)i + (uint64_t)(rand_r(&w->seed) % SPREAD);
        int rc;
        do
            rc = hf_fenced_write(w->db, conn, token);
        while (rc == HF_BUSY);
        w->passed += rc == HF_OK;
        w->refused += rc == HF_ELOST;
        if (rc != HF_OK && rc != HF_ELOST)
            w->result = rc;
    }
    w->db->hang_up(conn);
    return NULL;
}

void hf_fenced_never_goes_back(const hf_fenced *db) {
    writer writers[WRITERS] = {0};
    void *conn = db->connect();
    int passed = 0, refused = 0;
    for (int i = 0; i < WRITERS; i++) {
        writers[i].db = db;
        writers[i].seed = (unsigned)hf_test_now_ms() + (unsigned)i;
        pthread_create(&writers[i].thread, NULL, write_many, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_int_equal(writers[i].result, HF_OK);
        passed += writers[i].passed;
        refused += writers[i].refused;
    }
    assert_int_equal(passed + refused, WRITERS * ROUNDS);
    assert_true(passed > 0 && refused > 0);
    assert_int_equal(hf_fenced_ask(db, conn, "SELECT count(*) FROM entry"),
                     passed);
    assert_int_equal(hf_fenced_ask(db, conn,
                                   "SELECT count(*) FROM entry a JOIN entry b "
                                   "ON a.id < b.id AND a.token > b.token"),
                     0);
    db->hang_up(conn);
}
