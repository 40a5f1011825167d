/* SPDX-License-Identifier: MIT
 *
 * zookeeper_test.c - what only this store has: nodes that Curator and kazoo
 * know, containers, users and their rights, sessions, chroots.
 *
 * Each test has a part of the shared server for itself, or a server of its own
 * where it wants another one; a small client looks from outside. */
#include "support/quorum.h"
#include "support/records.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/znode.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hf_test_quorum *own;     /* the server, where it is not the shared one */
static char uri[192], root[64]; /* zk://127.0.0.1:PORT/ROOT, /ROOT */
static hf_test_zk *eye;
static int port;

/* ---- life -------------------------------------------------------------- */

static void look_from_outside(void) {
    port = atoi(strrchr(uri, ':') + 1);
    snprintf(root, sizeof root, "%.60s", strchr(strrchr(uri, ':'), '/'));
    eye = hf_test_zk_dial(port, NULL);
}

static void with_a_part(void **state) {
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, uri, sizeof uri);
    look_from_outside();
    hf_test_body(state);
}

/* One that removes empty containers all the time. */
static void with_a_reaper(void **state) {
    own = hf_test_quorum_start(&hf_test_zookeeper,
                               &(hf_test_quorum_options){.reap_ms = 20});
    snprintf(uri, sizeof uri, "%s/own", hf_test_quorum_uri(own));
    look_from_outside();
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
    hf_test_zk_hang_up(eye);
    eye = NULL;
    hf_test_quorum_stop(own);
    own = NULL;
    hf_test_give_back();
    return 0;
}

static hf_client *client_with(const char *params) {
    char text[256];
    snprintf(text, sizeof text, "%s%s", uri, params);
    return hf_test_open(text, NULL);
}

static hf_client *client(void) {
    return client_with("");
}

static hf_lock *lock_of(hf_kind kind) {
    return hf_test_lock(client(), "x", HF_LOCK_WITH(.kind = kind));
}

/* ---- looking ----------------------------------------------------------- */

static const char *path_of(const char *rest) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", root, rest);
    return path;
}

/* The children of a node below ROOT, sorted; how many. */
static char seen[1 << 16];

static int children(const char *rest) {
    seen[0] = '\0';
    return hf_test_zk_children(eye, path_of(rest), seen, sizeof seen);
}

static bool is_empty(const char *rest) {
    int n = children(rest);
    return n == 0 || n == HF_ZK_NONODE;
}

/* The n-th of them, below ROOT. */
static const char *child(const char *rest, int n) {
    static char path[512];
    const char *at = seen;
    assert_true(children(rest) > n);
    for (int i = 0; i < n; i++)
        at = strchr(at, '\n') + 1;
    snprintf(path, sizeof path, "%s/%.*s", rest, (int)strcspn(at, "\n"), at);
    return path;
}

static hf_test_zstat stat_of(const char *rest) {
    hf_test_zstat stat;
    assert_int_equal(hf_test_zk_stat(eye, path_of(rest), &stat), 0);
    return stat;
}

/* `x` is a hexadecimal digit, `9` a decimal one, the rest itself. */
static bool is_like(const char *text, const char *pattern) {
    for (; *pattern != '\0' && *text != '\0'; pattern++, text++)
        if (*pattern == 'x' ?
                !isxdigit((unsigned char)*text) || isupper(*text) :
            *pattern == '9' ? !isdigit((unsigned char)*text) :
                              *pattern != *text)
            return false;
    return *pattern == *text;
}

#define assert_like(text, pattern)                                             \
    do {                                                                       \
        if (!is_like(text, pattern))                                           \
            fail_msg("%s is not like %s", text, pattern);                      \
    } while (0)

#define UUID "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
#define SEQ  "9999999999"

static const char *last_part(const char *path) {
    return strrchr(path, '/') + 1;
}

/* ---- nodes ------------------------------------------------------------- */

static void a_lock_is_a_node_as_curator_makes_it(void **state) {
    (void)state;
    char data[1024];
    hf_lock *a = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(children("x"), 1);
    const char *node = child("x", 0);
    assert_like(last_part(node), "_c_" UUID "-lock-0000000000");
    hf_test_zstat stat = stat_of(node);
    assert_true(stat.owner != 0);
    assert_true((uint64_t)stat.czxid == hf_lock_token(a));
    assert_true(hf_test_zk_get(eye, path_of(node), data, sizeof data) > 0);
    assert_int_equal(strncmp(data, "holdfast 1 ", 11), 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_true(is_empty("x"));
}

static void who_waits_has_a_node_behind(void **state) {
    (void)state;
    hf_test_thread waiters[2];
    hf_lock *a = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 2; i++) {
        hf_test_begin(&waiters[i], lock_of(HF_LOCK), HF_FOREVER);
        hf_test_eventually(children("x") == i + 2, HF_TEST_LONG);
    }
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiters[0]));
    assert_int_equal(children("x"), 2);
    hf_expect(HF_OK, hf_test_end(&waiters[0]));
    hf_expect(HF_OK, hf_test_answer(&waiters[1]));
    hf_expect(HF_OK, hf_test_end(&waiters[1]));
    assert_true(is_empty("x"));
}

static void a_try_that_is_refused_writes_nothing(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK), *b = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int64_t before = stat_of("x").pzxid;
    for (int i = 0; i < 5; i++)
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    assert_true(stat_of("x").pzxid == before);
}

static void readers_and_writers_have_curators_tags(void **state) {
    (void)state;
    hf_lock *r = lock_of(HF_READ), *w = lock_of(HF_WRITE);
    hf_expect(HF_OK, hf_lock_try(r, ERR));
    assert_like(last_part(child("x", 0)), "_c_" UUID "-__READ__" SEQ);
    hf_expect(HF_OK, hf_lock_release(r, ERR));
    hf_expect(HF_OK, hf_lock_try(w, ERR));
    assert_like(last_part(child("x", 0)), "_c_" UUID "-__WRIT__" SEQ);
    assert_true((uint64_t)stat_of(child("x", 0)).czxid == hf_lock_token(w));
}

/* As Curator does from 5.5 on: a writer who queued in between would get in
 * beside a reader that stands at the end. */
static void who_downgrades_reads_under_the_writers_number(void **state) {
    (void)state;
    hf_client *c = client();
    hf_lock *w = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_WRITE));
    hf_lock *r = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_READ));
    char number[16];
    hf_expect(HF_OK, hf_lock_try(w, ERR));
    const char *node = child("x", 0);
    snprintf(number, sizeof number, "%s", node + strlen(node) - 10);
    hf_expect(HF_OK, hf_lock_try(r, ERR));
    assert_int_equal(children("x"), 2);
    for (int i = 0; i < 2; i++) {
        node = child("x", i);
        assert_string_equal(node + strlen(node) - 10, number);
        assert_true(stat_of(node).owner != 0);
    }
    assert_true(hf_lock_token(r) == hf_lock_token(w));
    hf_expect(HF_OK, hf_lock_release(w, ERR));
    assert_int_equal(children("x"), 1);
    assert_non_null(strstr(seen, "__READ__"));
    hf_expect(HF_OK, hf_lock_release(r, ERR));
    assert_true(is_empty("x"));
}

static int number_at(const char *rest) {
    unsigned char b[16];
    int n = hf_test_zk_get(eye, path_of(rest), (char *)b, sizeof b);
    assert_int_equal(n, 4); /* SharedCount compares all bytes */
    return (int)((unsigned)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]);
}

static void permits_are_leases_out_of_a_shared_count(void **state) {
    (void)state;
    hf_client *c = client();
    hf_semaphore *sem = hf_test_semaphore(c, "x");
    hf_lock *p =
        hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 3));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 5, ERR));
    assert_int_equal(number_at("x/count"), 5);
    hf_expect(HF_OK, hf_lock_try(p, ERR));
    assert_int_equal(children("x/leases"), 3);
    for (int i = 0; i < 3; i++) {
        const char *node = child("x/leases", i);
        assert_like(last_part(node), "_c_" UUID "-lease-" SEQ);
        assert_true(stat_of(node).owner != 0);
    }
    assert_int_equal(number_at("x/count"), 5); /* leased ones included */
    assert_true(is_empty("x/locks"));
    hf_expect(HF_OK, hf_lock_release(p, ERR));
    assert_true(is_empty("x/leases"));
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 2, 0, ERR));
    assert_int_equal(number_at("x/count"), 3);
}

static void a_latch_is_a_shared_count(void **state) {
    (void)state;
    hf_latch *latch = hf_test_latch(client(), "x");
    hf_test_task waiter;
    hf_expect(HF_OK, hf_latch_set(latch, 2, ERR));
    assert_int_equal(number_at("x/count"), 2);
    hf_test_await(&waiter, latch, HF_FOREVER);
    assert_int_equal(hf_test_zk_set(eye, path_of("x/count"), "\0\0\0\1", 4), 0);
    hf_test_throughout(!atomic_load(&waiter.answered), 200);
    assert_int_equal(hf_test_zk_set(eye, path_of("x/count"), "\0\0\0\0", 4), 0);
    hf_expect(HF_OK, hf_test_result(&waiter));
}

/* Another client's empty semaphore number is a number, too. */
static void a_count_set_by_others_is_respected(void **state) {
    (void)state;
    int64_t n = -1;
    hf_client *c = client();
    hf_semaphore *sem = hf_test_semaphore(c, "x");
    hf_expect(HF_OK, hf_semaphore_set(sem, 1, 0, ERR));
    assert_int_equal(hf_test_zk_set(eye, path_of("x/count"), "\0\0\0\7", 4), 0);
    hf_expect(HF_OK, hf_semaphore_count(sem, &n, NULL, ERR));
    assert_int_equal(n, 7);
    hf_expect(HF_OK, hf_semaphore_acquire(sem, 7, 0, ERR));
    assert_int_equal(number_at("x/count"), 0);
}

/* ---- strangers --------------------------------------------------------- */

#define SOMEBODY "_c_11111111-2222-4333-8444-555555555555"

static void put_node(const char *rest, hf_test_znode_mode mode) {
    assert_int_equal(hf_test_zk_create(eye, path_of(rest), "", mode), 0);
}

static void make_parent(void) {
    assert_int_equal(hf_test_zk_create(eye, root, "", HF_ZK_CONTAINER), 0);
    put_node("x", HF_ZK_CONTAINER);
}

/* One such child stopped a whole Curator lock for good. */
static void children_with_other_names_are_ignored(void **state) {
    (void)state;
    static const char *const stray[] = {
        "0",
        "lock",
        "lock-",
        "-lock-",
        "0-lock-12",
        SOMEBODY "-lock-00000000x1",
        SOMEBODY "-lock-000000001",
        SOMEBODY "-lock-00000000001",
        SOMEBODY "-LOCK-0000000000",
        "0000000000",
        "leases",
        "locks",
        "größe",
    };
    make_parent();
    for (size_t i = 0; i < sizeof stray / sizeof *stray; i++) {
        char rest[128];
        snprintf(rest, sizeof rest, "x/%s", stray[i]);
        put_node(rest, HF_ZK_PERSISTENT);
    }
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_READ, HF_WRITE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hf_lock *a = lock_of(kinds[i]);
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        hf_expect(HF_OK, hf_lock_release(a, ERR));
    }
    assert_int_equal(children("x"), (int)(sizeof stray / sizeof *stray));
}

static void note_foreign(void *arg, const hf_place *place) {
    if (place->foreign && place->holds)
        snprintf(arg, 128, "%s", place->owner);
}

static void a_curator_client_is_waited_for(void **state) {
    (void)state;
    char owner[128] = "";
    hf_test_thread waiter;
    hf_lock *a = lock_of(HF_LOCK);
    make_parent();
    put_node("x/" SOMEBODY "-lock-", HF_ZK_EPHEMERAL_SEQUENTIAL);
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_list(client(), "x", note_foreign, owner, ERR));
    assert_string_equal(owner, SOMEBODY "-lock-0000000000");
    hf_test_begin(&waiter, a, HF_FOREVER);
    hf_test_eventually(children("x") == 2, HF_TEST_LONG);
    hf_test_throughout(!atomic_load(&waiter.answered), 100);
    hf_test_zk_delete(eye, path_of("x/" SOMEBODY "-lock-0000000000"));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void what_a_stranger_holds_can_be_taken_away(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK);
    make_parent();
    put_node("x/" SOMEBODY "-lock-", HF_ZK_EPHEMERAL_SEQUENTIAL);
    hf_expect(HF_OK, hf_lock_force_release(a, NULL, ERR));
    assert_true(is_empty("x"));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}

/* ---- an operator ------------------------------------------------------- */

static void a_deleted_node_is_told_to_its_holder_at_once(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK), *b = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    int64_t began = hf_test_now_ms();
    hf_test_zk_delete(eye, path_of(child("x", 0)));
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, 2000); /* not a lease */
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(hf_lock_is_held(b));
}

static void a_waiter_whose_node_was_deleted_still_gets_in(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, lock_of(HF_LOCK), HF_FOREVER);
    hf_test_eventually(children("x") == 2, HF_TEST_LONG);
    for (int i = 0; i < 2; i++) { /* the one that is not the holder's */
        const char *node = child("x", i);
        if ((uint64_t)stat_of(node).czxid != hf_lock_token(a)) {
            hf_test_zk_delete(eye, path_of(node));
            break;
        }
    }
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_true(is_empty("x"));
}

/* ---- containers -------------------------------------------------------- */

/* Its counter begins again with it: what must not is the token. */
static void a_container_is_reaped_between_unlock_and_lock(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
        assert_like(last_part(child("x", 0)), "_c_" UUID "-lock-0000000000");
        assert_true(hf_lock_token(a) > last);
        last = hf_lock_token(a);
        hf_expect(HF_OK, hf_lock_release(a, ERR));
        hf_test_eventually(!hf_test_zk_exists(eye, path_of("x")), HF_TEST_LONG);
    }
}

typedef struct busy {
    pthread_t thread;
    hf_client *client;
    int wrong;
} busy;

static void *lock_and_unlock(void *arg) {
    busy *b = arg;
    hf_lock *lock;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d/x", i % 3);
        if (hf_lock_new(&lock, b->client, name, NULL, NULL) != HF_OK ||
            hf_lock_acquire(lock, HF_TEST_LONG, NULL) != HF_OK ||
            hf_lock_release(lock, NULL) != HF_OK)
            b->wrong++;
        hf_lock_free(lock);
        if (i % 10 == 0)
            hf_test_breathe(); /* a chance for the reaper */
    }
    return NULL;
}

static void containers_that_come_and_go_disturb_nobody(void **state) {
    (void)state;
    enum { N = 4 };
    busy all[N];
    for (int i = 0; i < N; i++) {
        all[i] = (busy){.client = client()};
        pthread_create(&all[i].thread, NULL, lock_and_unlock, &all[i]);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(all[i].thread, NULL);
        assert_int_equal(all[i].wrong, 0);
    }
    hf_test_eventually(is_empty(""), HF_TEST_LONG); /* nothing stays */
}

/* ---- names and chroots ------------------------------------------------- */

static void names_that_no_node_can_have_are_refused_in_words(void **state) {
    (void)state;
    static const char *const bad[] = {
        ".",
        "..",
        "a/../b",
        "a/./b",
        "/a",
        "a/",
        "a//b",
        "🔑",
        "a/locks",
        "a/leases",
        "a/count",
        "\xc2\x80x",
        "a/count-answers",
        "hf-clients",
        "hf-clients/a",
    };
    hf_client *c = client();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hf_lock *lock = hf_test_lock(c, bad[i], NULL);
        hf_expect(HF_ENAME, hf_lock_try(lock, ERR));
        assert_non_null(strstr(ERR->text, bad[i]));
    }
    hf_semaphore *sem = hf_test_semaphore(c, "..");
    hf_expect(HF_ENAME, hf_semaphore_set(sem, 1, 0, ERR));
    hf_latch *latch = hf_test_latch(c, "..");
    hf_expect(HF_ENAME, hf_latch_set(latch, 1, ERR));
    assert_true(is_empty(""));
}

static void a_name_below_another_is_another_lock(void **state) {
    (void)state;
    hf_client *c = client();
    hf_lock *a = hf_test_lock(c, "x", NULL), *b = hf_test_lock(c, "x/y", NULL);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(hf_test_holders(c, NULL), 2);
    assert_int_equal(hf_test_holders(c, "x"), 1);
    assert_int_equal(hf_test_holders(c, "x/y"), 1);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void chroots_are_made_and_keep_apart(void **state) {
    (void)state;
    hf_client *a = client_with("/deep/er"), *b = client_with("/deep");
    hf_lock *x = hf_test_lock(a, "x", NULL), *y = hf_test_lock(b, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(x, ERR));
    hf_expect(HF_OK, hf_lock_try(y, ERR));
    assert_int_equal(children("deep/er/x"), 1);
    assert_int_equal(children("deep/x"), 1);
    assert_int_equal(hf_test_holders(a, NULL), 1);
}

/* ---- users ------------------------------------------------------------- */

/* The address with a user in it. */
static hf_client *client_of(const char *user, const char *params) {
    char text[256];
    snprintf(text, sizeof text, "zk://%s@%s%s", user, uri + strlen("zk://"),
             params);
    return hf_test_open(text, NULL);
}

static void what_a_user_makes_is_the_users(void **state) {
    (void)state;
    char rights[512];
    hf_lock *a = hf_test_lock(client_of("ann:secret", ""), "x", NULL);
    hf_lock *b = hf_test_lock(client_of("ann:secret", ""), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_test_zk *ann = hf_test_zk_dial(port, "ann:secret");
    char node[512];
    assert_int_equal(hf_test_zk_children(ann, path_of("x"), seen, sizeof seen),
                     1);
    snprintf(node, sizeof node, "%s/x/%.*s", root, (int)strcspn(seen, "\n"),
             seen);
    assert_int_equal(hf_test_zk_acl(ann, node, rights, sizeof rights), 1);
    assert_int_equal(strncmp(rights, "digest:ann:", 11), 0);
    assert_non_null(strstr(rights, "=31\n"));
    assert_int_equal(hf_test_zk_get(eye, node, rights, sizeof rights),
                     HF_ZK_NOAUTH);
    assert_int_equal(hf_test_zk_delete(eye, node), HF_ZK_NOAUTH);
    hf_test_zk_hang_up(ann);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

static void others_are_told_that_they_may_not(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_of("ann:secret", ""), "x", NULL);
    hf_lock *b = hf_test_lock(client_of("bob:hidden", ""), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_expect(HF_EFORBIDDEN, hf_lock_acquire(b, HF_TEST_LONG, ERR));
    assert_null(strstr(ERR->text, "hidden"));
    hf_expect(HF_EFORBIDDEN, hf_lock_force_release(b, NULL, ERR));
    assert_true(hf_lock_is_held(a));
}

static void a_user_may_leave_the_nodes_to_everybody(void **state) {
    (void)state;
    char rights[512];
    hf_lock *a = hf_test_lock(client_of("ann:secret", "?acl=world"), "x", NULL);
    hf_lock *b = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_zk_acl(eye, path_of(child("x", 0)), rights, sizeof rights);
    assert_string_equal(rights, "world:anyone=31\n");
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

/* ---- addresses --------------------------------------------------------- */

static void expect_no_client(int code, const char *text, const char *words) {
    hf_client *none = NULL;
    hf_expect(code, hf_open(&none, text, NULL, ERR));
    assert_null(none);
    if (strstr(ERR->text, words) == NULL)
        fail_msg("'%s' does not say '%s'", ERR->text, words);
}

static void addresses_that_cannot_be_used_say_why(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "zks://%s", uri + strlen("zk://"));
    expect_no_client(HF_EURI, text, "TLS");
    snprintf(text, sizeof text, "%s?layout=redisson", uri);
    expect_no_client(HF_EURI, text, "curator");
    snprintf(text, sizeof text, "%s?acl=nobody", uri);
    expect_no_client(HF_EURI, text, "acl");
    snprintf(text, sizeof text, "%s?session=soon", uri);
    expect_no_client(HF_EURI, text, "session");
    snprintf(text, sizeof text, "%s?nonsense=1", uri);
    expect_no_client(HF_EURI, text, "nonsense");
}

static void a_store_that_is_away_is_named(void **state) {
    (void)state;
    int64_t began = hf_test_now_ms();
    hf_client *none = NULL;
    hf_expect(HF_EDOWN, hf_open(&none, "zk://127.0.0.1:1/x",
                                HF_CLIENT_WITH(.timeout_ms = 500), ERR));
    assert_non_null(strstr(ERR->text, "127.0.0.1:1"));
    assert_in_range(hf_test_now_ms() - began, 0, 4000);
}

static void a_session_is_what_the_server_makes_of_it(void **state) {
    (void)state;
    hf_lock *brief = hf_test_lock(client_with("?session=100ms"), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(brief, ERR)); /* it becomes two ticks: 500 */
    assert_in_range(hf_lock_remaining_ms(brief), 1, 500);
    hf_test_throughout(hf_lock_is_held(brief), 1500);
    hf_lock *lasting = hf_test_lock(client_with("?session=20s"), "y",
                                    HF_LOCK_WITH(.lease_ms = 60000));
    hf_expect(HF_OK, hf_lock_try(lasting, ERR));
    assert_in_range(hf_lock_remaining_ms(lasting), 5000, 20000);
}

/* ---- layouts ----------------------------------------------------------- */

static void in_kazoos_layout_a_lock_is_kazoos(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_with("?layout=kazoo"), "x", NULL);
    hf_lock *b = hf_test_lock(client_with("?layout=kazoo"), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(children("x"), 1);
    assert_like(last_part(child("x", 0)),
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx__lock__" SEQ);
    hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
}

static void the_bridge_stands_in_both_lines(void **state) {
    (void)state;
    hf_lock *bridge = hf_test_lock(client_with("?layout=bridge"), "x", NULL);
    hf_lock *curator = lock_of(HF_LOCK);
    hf_lock *kazoo = hf_test_lock(client_with("?layout=kazoo"), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(bridge, ERR));
    assert_int_equal(children("x"), 2);
    assert_non_null(strstr(seen, "-lock-"));
    assert_non_null(strstr(seen, "__lock__"));
    hf_expect(HF_BUSY, hf_lock_try(curator, ERR));
    hf_expect(HF_BUSY, hf_lock_try(kazoo, ERR));
    hf_expect(HF_OK, hf_lock_release(bridge, ERR));
    assert_true(is_empty("x"));
    hf_expect(HF_OK, hf_lock_try(kazoo, ERR));
    hf_expect(HF_BUSY, hf_lock_try(bridge, ERR));
    hf_expect(HF_OK, hf_lock_release(kazoo, ERR));
    hf_expect(HF_OK, hf_lock_try(curator, ERR));
    hf_expect(HF_BUSY, hf_lock_try(bridge, ERR));
}

/* ---- the doctor -------------------------------------------------------- */

static char told[8192];

static void hear(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    size_t n = strlen(told);
    (void)arg;
    snprintf(told + n, sizeof told - n, "%d %s: %s\n", (int)level, what, text);
}

static void the_doctor_says_what_the_store_is(void **state) {
    (void)state;
    told[0] = '\0';
    hf_expect(HF_OK, hf_examine(client_with("?session=4s"), hear, NULL, ERR));
    assert_non_null(strstr(told, "ZooKeeper"));
    assert_non_null(strstr(told, "session"));
    assert_non_null(strstr(told, "curator"));
}

static void a_closed_client_leaves_no_session(void **state) {
    (void)state;
    hf_client *c = client();
    hf_lock *a = hf_test_lock(c, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_free(a);
    hf_test_close(c);
    assert_true(is_empty("x")); /* at once, not when a session has ended */
}

/* ---- records ----------------------------------------------------------- */

static void records_are_kept(void **state) {
    (void)state;
    hf_test_records_are_kept(uri);
}

static void on_any_place(void *arg, const hf_place *place) {
    (void)place;
    ++*(int *)arg;
}

/* And no lock of anybody's. */
static void a_record_is_a_node_of_its_session(void **state) {
    (void)state;
    hf_client *c = client();
    int places = 0;
    hf_test_announce(c, "1");
    const char *node = child("hf-clients", 0);
    assert_string_equal(last_part(node), hf_test_id(c));
    assert_true(stat_of(node).owner != 0);
    hf_expect(HF_OK, hf_list(client(), NULL, on_any_place, &places, ERR));
    assert_int_equal(places, 0);
    hf_test_close(c);
    assert_true(is_empty("hf-clients"));
}

static void a_record_that_was_taken_away_is_made_anew(void **state) {
    (void)state;
    hf_client *c = client();
    const char *doing;
    hf_test_announce(c, "1");
    assert_int_equal(hf_test_zk_delete(eye, path_of(child("hf-clients", 0))),
                     0);
    hf_test_announce(c, "1 2");
    hf_test_records(client(), c, &doing);
    assert_string_equal(doing, "1 2");
}

/* As a session that is over, and not yet ended by the server, leaves it. */
static void a_record_of_an_earlier_session_is_replaced(void **state) {
    (void)state;
    hf_client *c = client();
    const char *doing;
    char path[512];
    hf_test_announce(client(), "1"); /* makes the folder */
    snprintf(path, sizeof path, "%s/hf-clients/%s", root, hf_test_id(c));
    assert_int_equal(hf_test_zk_create(eye, path, "1", HF_ZK_EPHEMERAL), 0);
    hf_test_announce(c, "1 2");
    hf_test_records(client(), c, &doing);
    assert_string_equal(doing, "1 2");
    hf_test_zstat stat;
    assert_int_equal(hf_test_zk_stat(eye, path, &stat), 0);
    assert_true(stat.owner != hf_test_zk_session(eye));
}

static void the_folder_of_records_goes_with_the_last(void **state) {
    (void)state;
    hf_client *c = client();
    hf_test_announce(c, "1");
    assert_true(hf_test_zk_exists(eye, path_of("hf-clients")));
    hf_test_close(c);
    hf_test_eventually(!hf_test_zk_exists(eye, path_of("hf-clients")),
                       HF_TEST_LONG);
}

#define TEST(name) HF_TEST_IN(with_a_part, name, teardown)
#define REAP(name) HF_TEST_IN(with_a_reaper, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_lock_is_a_node_as_curator_makes_it),
    TEST(who_waits_has_a_node_behind),
    TEST(a_try_that_is_refused_writes_nothing),
    TEST(readers_and_writers_have_curators_tags),
    TEST(who_downgrades_reads_under_the_writers_number),
    TEST(permits_are_leases_out_of_a_shared_count),
    TEST(a_latch_is_a_shared_count),
    TEST(a_count_set_by_others_is_respected),
    TEST(children_with_other_names_are_ignored),
    TEST(a_curator_client_is_waited_for),
    TEST(what_a_stranger_holds_can_be_taken_away),
    TEST(a_deleted_node_is_told_to_its_holder_at_once),
    TEST(a_waiter_whose_node_was_deleted_still_gets_in),
    REAP(a_container_is_reaped_between_unlock_and_lock),
    REAP(containers_that_come_and_go_disturb_nobody),
    TEST(names_that_no_node_can_have_are_refused_in_words),
    TEST(a_name_below_another_is_another_lock),
    TEST(chroots_are_made_and_keep_apart),
    TEST(what_a_user_makes_is_the_users),
    TEST(others_are_told_that_they_may_not),
    TEST(a_user_may_leave_the_nodes_to_everybody),
    TEST(addresses_that_cannot_be_used_say_why),
    TEST(a_store_that_is_away_is_named),
    TEST(a_session_is_what_the_server_makes_of_it),
    TEST(in_kazoos_layout_a_lock_is_kazoos),
    TEST(the_bridge_stands_in_both_lines),
    TEST(the_doctor_says_what_the_store_is),
    TEST(a_closed_client_leaves_no_session),
    TEST(records_are_kept),
    TEST(a_record_is_a_node_of_its_session),
    TEST(a_record_that_was_taken_away_is_made_anew),
    TEST(a_record_of_an_earlier_session_is_replaced),
    REAP(the_folder_of_records_goes_with_the_last),
};
HF_SUITE(tests)
