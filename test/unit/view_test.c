/* SPDX-License-Identifier: MIT
 *
 * view_test.c - looks at stores in this process: what the picture has, and
 * what is remembered. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../../view/view.h"
#include "support/dir.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/wait.h"

typedef struct pair {
    hf_client *one, *other; /* of one store */
    view *view;             /* through `one` */
} pair;

static void open_pair(pair *p, const char *uri, size_t keep) {
    p->one = hf_test_open(uri, NULL);
    p->other = hf_test_open(uri, NULL);
    assert_int_equal(view_new(&p->view, p->one, keep, NULL), HF_OK);
    assert_int_equal(view_now(p->view)->at_ms, 0);
    assert_int_equal(view_look(p->view, NULL), HF_OK);
}

static void close_pair(pair *p) {
    view_free(p->view);
    hf_close(p->other);
    hf_close(p->one);
}

static hf_lock *take(hf_client *client, const char *name) {
    hf_lock *lock = NULL;
    hf_error err = {0};

    assert_int_equal(hf_lock_new(&lock, client, name, NULL, &err), HF_OK);
    assert_int_equal(hf_lock_acquire(lock, HF_TEST_LONG, &err), HF_OK);
    return lock;
}

static void give(hf_lock *lock) {
    assert_int_equal(hf_lock_release(lock, NULL), HF_OK);
    hf_lock_free(lock);
}

static void look(pair *p) {
    hf_error err = {0};

    if (view_look(p->view, &err) != HF_OK)
        fail_msg("the look failed: %s", err.text);
}

/* "granted a, released a": everything that was remembered after `id`. */
static const char *told_since(const view *v, uint64_t id) {
    static char text[1000];
    const view_event *e;

    text[0] = '\0';
    while ((e = view_after(v, id)) != NULL) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "",
                 view_event_word(e->kind), e->claim.name);
        id = e->id;
    }
    return text;
}

/* ---- events ------------------------------------------------------------ */

static void grants_and_releases(const char *uri) {
    pair p;
    hf_lock *lock;

    open_pair(&p, uri, 100);
    lock = take(p.other, "job");
    look(&p);
    assert_int_equal(view_now(p.view)->held, 1);
    assert_non_null(view_find(p.view, "job"));
    assert_int_equal(view_find(p.view, "job")->state, VIEW_HELD);
    assert_non_null(view_find(p.view, "job")->holder);
    assert_null(view_find(p.view, "jobs"));
    give(lock);
    look(&p);
    assert_string_equal(told_since(p.view, 0), "granted job, released job");
    assert_int_equal(view_now(p.view)->held, 0);
    close_pair(&p);
}

static void a_grant_and_a_release_are_told(void **state) {
    char path[300], uri[400];

    (void)state;
    grants_and_releases("memory:view-events");
    hf_test_fresh_path(path, sizeof path, "locks.db");
    snprintf(uri, sizeof uri, "sqlite:%s", path);
    grants_and_releases(uri);
}

static void what_was_there_at_first_is_no_event(void **state) {
    hf_client *client = hf_test_open("memory:view-first", NULL);
    hf_lock *lock = take(client, "job");
    pair p;

    (void)state;
    open_pair(&p, "memory:view-first", 100);
    look(&p);
    assert_string_equal(told_since(p.view, 0), "");
    close_pair(&p);
    give(lock);
    hf_close(client);
}

static void only_so_many_events_are_remembered(void **state) {
    pair p;

    (void)state;
    open_pair(&p, "memory:view-ring", 3);
    for (int i = 0; i < 3; i++) {
        hf_lock *lock = take(p.other, "job");
        look(&p);
        give(lock);
        look(&p);
    }
    assert_int_equal(view_after(p.view, 0)->id, 4);
    assert_string_equal(told_since(p.view, 0),
                        "released job, granted job, released job");
    assert_string_equal(told_since(p.view, 5), "released job");
    assert_null(view_after(p.view, 6));
    close_pair(&p);
}

static void a_beginning_hides_the_rest(void **state) {
    char longest[HF_NAME_MAX + 2];
    hf_lock *lock;
    pair p;

    (void)state;
    open_pair(&p, "memory:view-only", 100);
    assert_int_equal(view_only(p.view, "a", NULL), HF_OK);
    lock = take(p.other, "b");
    look(&p);
    assert_int_equal(view_now(p.view)->n_lines, 0);
    assert_int_equal(view_only(p.view, NULL, NULL), HF_OK);
    look(&p);
    assert_int_equal(view_now(p.view)->n_lines, 1);
    assert_string_equal(told_since(p.view, 0), "");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(view_only(p.view, longest, NULL), HF_ENAME);
    give(lock);
    close_pair(&p);
}

/* ---- circles ----------------------------------------------------------- */

typedef struct entangled {
    pthread_t thread;
    hf_client *client;
    const char *has, *wants;
    pthread_barrier_t *both;
    hf_lock *wanted; /* made before, so that it can be cancelled */
} entangled;

static void *entangle(void *arg) {
    entangled *e = arg;
    hf_lock *lock = take(e->client, e->has);

    pthread_barrier_wait(e->both);
    if (hf_lock_acquire(e->wanted, HF_FOREVER, NULL) == HF_OK)
        hf_lock_release(e->wanted, NULL);
    give(lock);
    return NULL;
}

static bool is_stuck(pair *p) {
    look(p);
    return view_now(p->view)->n_circles == 1;
}

static void a_circle_is_in_the_picture_and_an_event(void **state) {
    pthread_barrier_t both;
    pair p;
    entangled all[2] = {{.has = "a", .wants = "b", .both = &both},
                        {.has = "b", .wants = "a", .both = &both}};

    (void)state;
    open_pair(&p, "memory:view-circle", 100);
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++) {
        all[i].client = hf_test_open("memory:view-circle", NULL);
        assert_int_equal(hf_lock_new(&all[i].wanted, all[i].client,
                                     all[i].wants, NULL, NULL),
                         HF_OK);
        pthread_create(&all[i].thread, NULL, entangle, &all[i]);
    }
    hf_test_eventually(is_stuck(&p), HF_TEST_LONG);
    assert_int_equal(view_now(p.view)->circles[0].n, 2);
    assert_true(view_find(p.view, "a")->stuck);
    assert_true(view_find(p.view, "b")->stuck);
    assert_non_null(strstr(told_since(p.view, 0), "deadlock "));
    hf_lock_cancel(all[0].wanted);
    for (int i = 0; i < 2; i++)
        pthread_join(all[i].thread, NULL);
    for (int i = 0; i < 2; i++) {
        hf_lock_free(all[i].wanted);
        hf_close(all[i].client);
    }
    pthread_barrier_destroy(&both);
    close_pair(&p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_grant_and_a_release_are_told),
    cmocka_unit_test(what_was_there_at_first_is_no_event),
    cmocka_unit_test(only_so_many_events_are_remembered),
    cmocka_unit_test(a_beginning_hides_the_rest),
    cmocka_unit_test(a_circle_is_in_the_picture_and_an_event),
};
HF_SUITE(tests)
