/* SPDX-License-Identifier: MIT
 *
 * history_test.c - what was written is there, also after kill -9; and what was
 * damaged is refused, with a reason. */
#include "checker.h"
#include "history.h"
#include "support/dir.h"
#include "support/suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAD = 64, RECORD = 64 };

static const char *path_in(const char *dir) {
    static char path[512];
    snprintf(path, sizeof path, "%s/history", dir);
    return path;
}

static hf_record asks(uint32_t call) {
    return (hf_record){.saw = HF_SAW_ASK,
                       .verb = HF_DO_ACQUIRE,
                       .kind = HF_LOCK,
                       .name = 1,
                       .call = call};
}

/* A whole file of three records, in memory. */
static void make(unsigned char *bytes, size_t size) {
    const char *dir = hf_test_dir();
    hf_recorder *r;
    assert_int_equal(hf_recorder_open(&r, path_in(dir), 7, 10), HF_OK);
    for (uint32_t i = 1; i <= 3; i++) {
        hf_record rec = asks(i);
        hf_recorder_add(r, &rec);
    }
    hf_recorder_close(r);
    int fd = open(path_in(dir), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, size), size);
    assert_int_equal(read(fd, &(char){0}, 1), 0);
    close(fd);
}

static void refused(const void *bytes, size_t size, const char *word) {
    const char *why = NULL;
    hf_history h = {0};
    hf_record before = asks(1);
    before.at = 1;
    assert_int_equal(hf_history_add(&h, &before), HF_OK);
    assert_int_equal(hf_history_parse(&h, bytes, size, &why), HF_EUSAGE);
    assert_non_null(strstr(why, word));
    assert_int_equal(h.n, 1); /* nothing of it was added */
    hf_history_free(&h);
}

/* ---- writing ----------------------------------------------------------- */

static void what_was_written_is_read(void **state) {
    (void)state;
    unsigned char bytes[HEAD + 3 * RECORD];
    const char *why;
    hf_history h = {0};
    make(bytes, sizeof bytes);
    assert_int_equal(hf_history_parse(&h, bytes, sizeof bytes, &why), HF_OK);
    assert_int_equal(h.n, 3);
    assert_int_equal(h.left_out, 0);
    for (size_t i = 0; i < h.n; i++) {
        assert_int_equal(h.records[i].call, i + 1);
        assert_int_equal(h.records[i].process, 7);
        assert_true(h.records[i].at > 0);
        assert_true(h.records[i].at <= hf_recorder_now());
    }
    hf_history_free(&h);
}

static void a_record_survives_its_writer(void **state) {
    (void)state;
    const char *path = path_in(hf_test_dir()), *why;
    int told[2], status;
    char byte;
    hf_history h = {0};
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        hf_recorder *r;
        if (hf_recorder_open(&r, path, 3, 1000) != HF_OK)
            _exit(1);
        for (uint32_t i = 1; i <= 500; i++) {
            hf_record rec = asks(i);
            hf_recorder_add(r, &rec);
        }
        if (write(told[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(told[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(hf_history_read(&h, path, &why), HF_OK);
    assert_int_equal(h.n, 500);
    assert_int_equal(h.records[499].call, 500);
    hf_history_free(&h);
    close(told[0]);
    close(told[1]);
}

/* One that took its slot and died over it. */
static void an_unfinished_record_is_passed_over(void **state) {
    (void)state;
    unsigned char bytes[HEAD + 3 * RECORD];
    hf_history h = {0};
    make(bytes, sizeof bytes);
    memset(bytes + HEAD + RECORD, 0, 8);       /* its moment         */
    memset(bytes + HEAD + RECORD + 8, 255, 8); /* and half of it     */
    assert_int_equal(hf_history_parse(&h, bytes, sizeof bytes, NULL), HF_OK);
    assert_int_equal(h.n, 2);
    assert_int_equal(h.records[1].call, 3);
    hf_history_free(&h);
}

static void a_full_recorder_counts_what_it_left_out(void **state) {
    (void)state;
    const char *path = path_in(hf_test_dir()), *why;
    hf_recorder *r;
    hf_history h = {0};
    assert_int_equal(hf_recorder_open(&r, path, 1, 4), HF_OK);
    for (uint32_t i = 1; i <= 10; i++) {
        hf_record rec = asks(i);
        hf_recorder_add(r, &rec);
    }
    hf_recorder_close(r);
    assert_int_equal(hf_history_read(&h, path, &why), HF_OK);
    assert_int_equal(h.n, 4);
    assert_int_equal(h.left_out, 6);
    hf_history_free(&h);
}

enum { THREADS = 4, EACH = 2000 };

static void *write_many(void *arg) {
    for (uint32_t i = 0; i < EACH; i++) {
        hf_record rec = asks(i);
        hf_recorder_add(arg, &rec);
    }
    return NULL;
}

static void threads_write_side_by_side(void **state) {
    (void)state;
    const char *path = path_in(hf_test_dir()), *why;
    pthread_t threads[THREADS];
    hf_recorder *r;
    hf_history h = {0};
    assert_int_equal(hf_recorder_open(&r, path, 1, THREADS * EACH), HF_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hf_recorder_close(r);
    assert_int_equal(hf_history_read(&h, path, &why), HF_OK);
    assert_int_equal(h.n, THREADS * EACH);
    assert_int_equal(h.left_out, 0);
    assert_int_equal(hf_history_sort(&h), HF_OK);
    for (size_t i = 1; i < h.n; i++)
        assert_true(h.records[i - 1].at <= h.records[i].at);
    hf_history_free(&h);
}

static void who_runs_the_trial_writes_about_others(void **state) {
    (void)state;
    const char *path = path_in(hf_test_dir()), *why;
    hf_recorder *r;
    hf_history h = {0};
    assert_int_equal(hf_recorder_open(&r, path, 0, 4), HF_OK);
    hf_recorder_add(r, &(hf_record){.saw = HF_SAW_KILLED, .process = 5});
    hf_recorder_add(r, &(hf_record){.saw = HF_SAW_FAULT, .at = 99});
    hf_recorder_close(r);
    assert_int_equal(hf_history_read(&h, path, &why), HF_OK);
    assert_int_equal(h.records[0].process, 5);
    assert_int_equal(h.records[1].process, 0);
    assert_int_equal(h.records[1].at, 99);
    hf_history_free(&h);
}

static void equal_moments_stay_in_the_order_written(void **state) {
    (void)state;
    static const int64_t at[] = {5, 3, 5, 1, 3, 5};
    static const uint32_t order[] = {4, 2, 5, 1, 3, 6};
    hf_history h = {0};
    for (uint32_t i = 0; i < 6; i++) {
        hf_record rec = asks(i + 1);
        rec.at = at[i];
        assert_int_equal(hf_history_add(&h, &rec), HF_OK);
    }
    assert_int_equal(hf_history_sort(&h), HF_OK);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(h.records[i].call, order[i]);
    hf_history_free(&h);
}

/* ---- damage ------------------------------------------------------------ */

static void a_file_of_another_sort_is_refused(void **state) {
    (void)state;
    unsigned char bytes[HEAD + 3 * RECORD];
    make(bytes, sizeof bytes);
    refused("", 0, "shorter");
    refused(bytes, HEAD - 1, "shorter");
    bytes[0] = 'H';
    refused(bytes, sizeof bytes, "not a history");
    make(bytes, sizeof bytes);
    bytes[8]++;
    refused(bytes, sizeof bytes, "version");
    make(bytes, sizeof bytes);
    memset(bytes + 24, 0, 8);
    refused(bytes, sizeof bytes, "number of slots");
}

static void a_file_that_was_cut_is_refused(void **state) {
    (void)state;
    unsigned char bytes[HEAD + 3 * RECORD];
    make(bytes, sizeof bytes);
    for (size_t size = HEAD; size < sizeof bytes; size++)
        refused(bytes, size, "cut");
    bytes[24] = 2; /* slots */
    refused(bytes, sizeof bytes, "longer");
}

static void a_record_that_cannot_be_is_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        unsigned char byte;
        const char *word;
    } damage[] = {
        {7, 0x80, "time"}, /* at: negative    */
        {8, 9, "process"}, /* process         */
        {20, 0, "sort"},   /* saw             */
        {20, 14, "sort"},   {22, 6, "verb"},
        {22, 0, "verb"}, /* of a call: none */
        {23, 9, "kind"},    {39, 0x80, "permits"},
        {55, 0x80, "time"}, /* until           */
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        unsigned char bytes[HEAD + 3 * RECORD];
        make(bytes, sizeof bytes);
        bytes[HEAD + 2 * RECORD + damage[i].at] = damage[i].byte;
        refused(bytes, sizeof bytes, damage[i].word);
    }
}

static void a_file_that_is_not_there_is_named(void **state) {
    (void)state;
    const char *why = NULL;
    hf_history h = {0};
    assert_int_equal(hf_history_read(&h, "/nowhere/at/all", &why), HF_EUSAGE);
    assert_non_null(strstr(why, "No such file"));
    assert_int_equal(hf_history_read(&h, "/", &why), HF_EUSAGE);
    assert_non_null(strstr(why, "not a file"));
    hf_history_free(&h);
}

/* ---- what is shown ----------------------------------------------------- */

static char *told(const hf_history *h, const hf_verdict *v, int what) {
    static const hf_promise none;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (what == 0)
        hf_verdict_print(out, v, &none, h);
    else if (what == 1)
        hf_verdict_tsv(out, "redis", "none", v, &none);
    else
        assert_int_equal(
            hf_picture(out, h, 1, v->of[HF_INV_FENCE].first, 1000000000),
            HF_OK);
    fclose(out);
    return text;
}

static void a_violation_is_shown(void **state) {
    (void)state;
    static const hf_promise none;
    static const char *const words[] = {"BROKEN", "BROKEN", "<svg "};
    hf_history h = {0};
    hf_verdict v;
    for (uint64_t token = 9; token > 7; token--)
        assert_int_equal(
            hf_history_add(&h, &(hf_record){.at = 10 - (int64_t)token,
                                            .saw = HF_SAW_WRITE,
                                            .name = 1,
                                            .process = 1,
                                            .token = token}),
            HF_OK);
    assert_int_equal(hf_check(&h, &none, &v), HF_OK);
    assert_int_equal(v.of[HF_INV_FENCE].broken, 1);
    for (int i = 0; i < 3; i++) {
        char *text = told(&h, &v, i);
        assert_non_null(strstr(text, words[i]));
        free(text);
    }
    hf_history_free(&h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_was_written_is_read),
    cmocka_unit_test(a_record_survives_its_writer),
    cmocka_unit_test(an_unfinished_record_is_passed_over),
    cmocka_unit_test(a_full_recorder_counts_what_it_left_out),
    cmocka_unit_test(threads_write_side_by_side),
    cmocka_unit_test(who_runs_the_trial_writes_about_others),
    cmocka_unit_test(equal_moments_stay_in_the_order_written),
    cmocka_unit_test(a_file_of_another_sort_is_refused),
    cmocka_unit_test(a_file_that_was_cut_is_refused),
    cmocka_unit_test(a_record_that_cannot_be_is_refused),
    cmocka_unit_test(a_file_that_is_not_there_is_named),
    cmocka_unit_test(a_violation_is_shown),
};
HF_SUITE(tests)
