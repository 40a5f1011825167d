/* SPDX-License-Identifier: MIT
 *
 * etcd_test.c - what only this store has: leased keys that etcdctl and the Go
 * package know, leases, certificates, users.
 *
 * Each test has a part of the shared server for itself, or a server of its own
 * where it wants another one; etcdctl looks from outside. */
#include "support/dir.h"
#include "support/etcdctl.h"
#include "support/quorum.h"
#include "support/records.h"
#include "support/stage.h"
#include "support/suite.h"
#include "support/tls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static hf_test_quorum *own;     /* the server, where it is not the shared one */
static char uri[192], root[64]; /* etcd://127.0.0.1:PORT/ROOT, ROOT/ */
static int port;

/* ---- life -------------------------------------------------------------- */

static void look_from_outside(void) {
    port = atoi(strrchr(uri, ':') + 1);
    snprintf(root, sizeof root, "%.60s/", strchr(strrchr(uri, ':'), '/') + 1);
}

static void with_a_part(void **state) {
    hf_test_quorum_borrow(&hf_test_etcd_sort, uri, sizeof uri);
    look_from_outside();
    hf_test_body(state);
}

static void start_own(const hf_test_quorum_options *options) {
    own = hf_test_quorum_start(&hf_test_etcd, options);
    snprintf(uri, sizeof uri, "%s/own", hf_test_quorum_uri(own));
    look_from_outside();
}

/* With the pace of daily life: an election takes a second. */
static void with_an_unhurried_one(void **state) {
    start_own(&(hf_test_quorum_options){.tick_ms = 100});
    hf_test_body(state);
}

static void with_a_server(void **state) {
    start_own(NULL);
    hf_test_body(state);
}

static int teardown(void **state) {
    (void)state;
    hf_test_clear();
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

/* The keys below ROOT that begin so, without ROOT; how many. */
static char seen[1 << 16];

static int keys(const char *rest) {
    char prefix[256];
    size_t at = 0;
    int n = 0;
    snprintf(prefix, sizeof prefix, "%s%s", root, rest);
    const char *all = hf_test_etcd_keys(port, prefix);
    seen[0] = '\0';
    for (; *all != '\0'; all = strchr(all, '\n') + 1, n++)
        at += (size_t)snprintf(seen + at, sizeof seen - at, "%.*s\n",
                               (int)(strcspn(all, "\n") - strlen(root)),
                               all + strlen(root));
    return n;
}

/* The only one that begins so, whole. */
static const char *key_of(const char *rest) {
    static char key[256];
    assert_int_equal(keys(rest), 1);
    snprintf(key, sizeof key, "%s%.*s", root, (int)strcspn(seen, "\n"), seen);
    return key;
}

static int64_t fact(const char *key, const char *what) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", key);
    return hf_test_etcd_fact(port, copy, what);
}

/* Is it `before`, the lease it lives by, a dot, and a number? */
static void assert_leased(const char *key, const char *before) {
    char wanted[256];
    int64_t lease = fact(key, "Lease");
    assert_true(lease > 0);
    int n = snprintf(wanted, sizeof wanted, "%s%s%" PRIx64 ".", root, before,
                     lease);
    if (strncmp(key, wanted, (size_t)n) != 0 ||
        strspn(key + n, "0123456789") == 0)
        fail_msg("%s does not begin with %s and a number", key, wanted);
}

static void put_key(const char *rest) {
    hf_test_etcdctl(port, "put %s%s somebody", root, rest);
}

static void delete_key(const char *key) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", key);
    hf_test_etcdctl(port, "del %s", copy);
}

/* ---- keys -------------------------------------------------------------- */

static void a_lock_is_a_leased_key_below_its_name(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    char key[256];
    snprintf(key, sizeof key, "%s", key_of("x/"));
    assert_leased(key, "x/");
    assert_true((uint64_t)fact(key, "CreateRevision") == hf_lock_token(a));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(keys("x"), 0);
}

static void who_waits_has_a_key_behind(void **state) {
    (void)state;
    hf_test_thread waiters[2];
    hf_client *c = client(); /* one lease, and yet several in the line */
    hf_lock *a = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_FAIR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    for (int i = 0; i < 2; i++) {
        hf_test_begin(&waiters[i],
                      hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_FAIR)),
                      HF_FOREVER);
        hf_test_eventually(keys("x/") == i + 2, HF_TEST_LONG);
    }
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    for (int i = 0; i < 2; i++) {
        hf_expect(HF_OK, hf_test_answer(&waiters[i]));
        hf_expect(HF_OK, hf_test_end(&waiters[i]));
    }
    assert_int_equal(keys("x"), 0);
}

static int64_t revision(void) {
    hf_test_etcdctl(port, "get -w fields nothing");
    const char *at = strstr(hf_test_etcdctl(port, "get -w fields nothing"),
                            "\"Revision\" : ");
    assert_non_null(at);
    return atoll(at + strlen("\"Revision\" : "));
}

static void a_try_that_is_refused_writes_nothing(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_with("?hf_presence=off"), "x", NULL);
    hf_lock *b = hf_test_lock(client_with("?hf_presence=off"), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int64_t before = revision();
    for (int i = 0; i < 5; i++)
        hf_expect(HF_BUSY, hf_lock_try(b, ERR));
    assert_true(revision() == before);
}

static void readers_and_writers_have_the_recipes_keys(void **state) {
    (void)state;
    char key[256];
    hf_lock *r = lock_of(HF_READ), *w = lock_of(HF_WRITE);
    hf_expect(HF_OK, hf_lock_try(r, ERR));
    assert_int_equal(keys("x/write/"), 0);
    snprintf(key, sizeof key, "%s", key_of("x/read/"));
    assert_leased(key, "x/read/");
    hf_expect(HF_OK, hf_lock_release(r, ERR));
    hf_expect(HF_OK, hf_lock_try(w, ERR));
    snprintf(key, sizeof key, "%s", key_of("x/write/"));
    assert_leased(key, "x/write/");
    assert_true((uint64_t)fact(key, "CreateRevision") == hf_lock_token(w));
    hf_expect(HF_OK, hf_lock_release(w, ERR));
    assert_int_equal(keys("x"), 0);
}

static void who_downgrades_reads_at_the_writers_revision(void **state) {
    (void)state;
    char key[256];
    hf_client *c = client();
    hf_lock *w = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_WRITE));
    hf_lock *r = hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_READ));
    hf_expect(HF_OK, hf_lock_try(w, ERR));
    hf_expect(HF_OK, hf_lock_try(r, ERR));
    assert_true(hf_lock_token(r) == hf_lock_token(w));
    hf_expect(HF_OK, hf_lock_release(w, ERR));
    assert_int_equal(keys("x/write/"), 0);
    assert_true(keys("x/read/") >= 1);
    snprintf(key, sizeof key, "%s%.*s", root, (int)strcspn(seen, "\n"), seen);
    assert_true((uint64_t)fact(key, "CreateRevision") == hf_lock_token(r));
    hf_expect(HF_OK, hf_lock_release(r, ERR));
    assert_int_equal(keys("x"), 0);
}

static void permits_and_numbers_have_keys_of_their_own(void **state) {
    (void)state;
    hf_client *c = client();
    hf_semaphore *sem = hf_test_semaphore(c, "x");
    hf_latch *latch = hf_test_latch(c, "x");
    hf_lock *p =
        hf_test_lock(c, "x", HF_LOCK_WITH(.kind = HF_PERMIT, .permits = 2));
    hf_expect(HF_OK, hf_semaphore_resize(sem, 5, ERR));
    hf_expect(HF_OK, hf_latch_set(latch, 3, ERR));
    assert_int_equal(keys("x/count"), 1);
    assert_int_equal(keys("x/latch"), 1);
    hf_expect(HF_OK, hf_lock_try(p, ERR));
    assert_leased(key_of("x/permit/"), "x/permit/");
    hf_expect(HF_OK, hf_lock_release(p, ERR));
    assert_int_equal(keys("x/permit/"), 0);
    hf_expect(HF_OK, hf_semaphore_delete(sem, ERR));
    hf_expect(HF_OK, hf_latch_delete(latch, ERR));
    assert_int_equal(hf_test_holders(c, NULL), 0);
}

/* ---- strangers --------------------------------------------------------- */

static void note_foreign(void *arg, const hf_place *place) {
    if (place->foreign && place->holds)
        snprintf(arg, 128, "%s", place->owner);
}

static void a_key_of_etcdctls_is_waited_for(void **state) {
    (void)state;
    char owner[128] = "";
    hf_test_thread waiter;
    hf_lock *a = lock_of(HF_LOCK);
    put_key("x/694d7f2a1b");
    hf_expect(HF_BUSY, hf_lock_try(a, ERR));
    hf_expect(HF_OK, hf_list(client(), "x", note_foreign, owner, ERR));
    assert_string_equal(owner, "694d7f2a1b");
    hf_test_begin(&waiter, a, HF_FOREVER);
    hf_test_eventually(keys("x/") == 2, HF_TEST_LONG);
    hf_test_throughout(!atomic_load(&waiter.answered), 100);
    hf_test_etcdctl(port, "del %sx/694d7f2a1b", root);
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
}

static void what_a_stranger_holds_can_be_taken_away(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK);
    put_key("x/694d7f2a1b");
    hf_expect(HF_OK, hf_lock_force_release(a, NULL, ERR));
    assert_int_equal(keys("x/"), 0);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
}

/* What stands deeper is another name's. */
static void keys_that_are_no_entries_are_ignored(void **state) {
    (void)state;
    static const char *const stray[] = {"x/y/694d7f2a1b", "xy/694d7f2a1b", "x",
                                        "x/", "x/y/read/1"};
    hf_lock *a = lock_of(HF_LOCK), *w = lock_of(HF_WRITE);
    for (size_t i = 0; i < sizeof stray / sizeof *stray; i++)
        put_key(stray[i]);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_acquire(w, HF_TEST_LONG, ERR));
}

static void a_name_below_another_is_another_lock(void **state) {
    (void)state;
    hf_client *c = client();
    hf_lock *a = hf_test_lock(c, "x", NULL), *b = hf_test_lock(c, "x/y", NULL);
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(hf_test_holders(c, NULL), 2);
    assert_int_equal(hf_test_holders(c, "x"), 1);
    hf_expect(HF_OK, hf_lock_release(b, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static void names_that_are_parts_of_our_own_keys_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"a/read", "a/write", "a/permit",
                                      "hf-clients", "hf-clients/a"};
    hf_client *c = client_with("?hf_presence=off");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hf_lock *lock = hf_test_lock(c, bad[i], NULL);
        hf_expect(HF_ENAME, hf_lock_try(lock, ERR));
        assert_non_null(strstr(ERR->text, bad[i]));
    }
    assert_int_equal(keys(""), 0);
}

static void without_a_path_the_names_are_the_keys(void **state) {
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "etcd://127.0.0.1:%d", port);
    hf_lock *a = hf_test_lock(hf_test_open(text, NULL), "bare", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_int_equal(hf_test_etcd_count(port, "bare/"), 1);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    assert_int_equal(hf_test_etcd_count(port, "bare/"), 0);
}

/* ---- an operator ------------------------------------------------------- */

static void a_deleted_key_is_told_to_its_holder_at_once(void **state) {
    (void)state;
    hf_lock *a = lock_of(HF_LOCK), *b = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    uint64_t token = hf_lock_token(a);
    int64_t began = hf_test_now_ms();
    delete_key(key_of("x/"));
    hf_test_eventually(hf_test_is_told(a), HF_TEST_LONG);
    assert_in_range(hf_test_now_ms() - began, 0, 2000); /* not a lease */
    assert_false(hf_lock_is_held(a));
    hf_expect(HF_OK, hf_lock_try(b, ERR));
    assert_true(hf_lock_token(b) > token);
    hf_expect(HF_ELOST, hf_lock_release(a, ERR));
    assert_true(hf_lock_is_held(b));
}

static void a_waiter_whose_key_was_deleted_still_gets_in(void **state) {
    (void)state;
    hf_test_thread waiter;
    char mine[256], key[256];
    hf_lock *a = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    snprintf(mine, sizeof mine, "%s", key_of("x/") + strlen(root));
    hf_test_begin(&waiter, lock_of(HF_LOCK), HF_FOREVER);
    hf_test_eventually(keys("x/") == 2, HF_TEST_LONG);
    const char *at = seen;
    if (strncmp(at, mine, strlen(mine)) == 0)
        at = strchr(at, '\n') + 1;
    snprintf(key, sizeof key, "%s%.*s", root, (int)strcspn(at, "\n"), at);
    delete_key(key);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    hf_expect(HF_OK, hf_test_end(&waiter));
    assert_int_equal(keys("x"), 0);
}

/* ---- leases ------------------------------------------------------------ */

static void a_short_lease_is_what_the_server_makes_of_it(void **state) {
    (void)state;
    hf_lock *a = hf_test_lock(client_with("?session=1s"), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    int64_t lease = fact(key_of("x/"), "Lease");
    const char *answer =
        hf_test_etcdctl(port, "lease timetolive %" PRIx64, lease);
    assert_non_null(strstr(answer, "granted with TTL(2s)"));
    assert_in_range(hf_lock_remaining_ms(a), 1, 2000);
    hf_test_throughout(hf_lock_is_held(a), 3000);
}

static void a_closed_client_leaves_no_lease(void **state) {
    (void)state;
    hf_client *c = client();
    hf_lock *a = hf_test_lock(c, "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    assert_non_null(strstr(hf_test_etcdctl(port, "lease list"), "found 1"));
    hf_test_free(a);
    hf_test_close(c);
    assert_int_equal(keys(""), 0);
    assert_non_null(strstr(hf_test_etcdctl(port, "lease list"), "found 0"));
}

/* What was written and deleted a thousand times is gone at the next
 * compaction; a waiter that began before it must not be. */
static void a_compaction_disturbs_no_waiter(void **state) {
    (void)state;
    hf_test_thread waiter;
    hf_lock *a = lock_of(HF_LOCK);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_begin(&waiter, lock_of(HF_LOCK), HF_FOREVER);
    hf_test_eventually(keys("x/") == 2, HF_TEST_LONG);
    for (int i = 0; i < 3; i++) {
        put_key("noise");
        hf_test_etcdctl(port, "compact %" PRId64, revision());
    }
    int64_t began = hf_test_now_ms();
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    hf_expect(HF_OK, hf_test_answer(&waiter));
    assert_in_range(hf_test_now_ms() - began, 0, 2000);
    hf_expect(HF_OK, hf_test_end(&waiter));
}

/* ---- certificates ------------------------------------------------------ */

static void with_tls(void **state) {
    start_own(&(hf_test_quorum_options){.tls_cert = hf_test_tls_files()->cert});
    hf_test_body(state);
}

static void with_tls_for_elsewhere(void **state) {
    start_own(
        &(hf_test_quorum_options){.tls_cert = hf_test_tls_files()->other_cert});
    hf_test_body(state);
}

static void with_tls_both_ways(void **state) {
    start_own(&(hf_test_quorum_options){.tls_cert = hf_test_tls_files()->cert,
                                        .tls_clients = true});
    hf_test_body(state);
}

static void expect_no_client(int code, const char *params, const char *words) {
    hf_client *none = NULL;
    char text[512];
    snprintf(text, sizeof text, "%s%s", uri, params);
    hf_expect(code, hf_open(&none, text, NULL, ERR));
    assert_null(none);
    if (strstr(ERR->text, words) == NULL)
        fail_msg("'%s' does not say '%s'", ERR->text, words);
}

static const char *params_of(const char *format, const char *a, const char *b,
                             const char *c) {
    static char text[512];
    const char *values[] = {a, b, c};
    size_t at = 0;
    for (int i = 0; *format != '\0'; format++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s",
                               *format == '*' ? values[i++] :
                                                (char[]){*format, '\0'});
    return text;
}

static void lock_and_unlock(hf_client *c) {
    hf_lock *a = hf_test_lock(c, "x", NULL);
    hf_expect(HF_OK, hf_lock_acquire(a, HF_TEST_LONG, ERR));
    hf_expect(HF_OK, hf_lock_release(a, ERR));
}

static hf_client *secured_client(const char *params) {
    char text[512];
    snprintf(text, sizeof text, "%s%s", uri, params);
    return hf_test_open(text, NULL);
}

static void a_certificate_of_the_authoritys_is_trusted(void **state) {
    (void)state;
    const hf_test_tls *tls = hf_test_tls_files();
    lock_and_unlock(secured_client(params_of("?tls_ca=*", tls->ca, "", "")));
    expect_no_client(HF_ETLS, params_of("?tls_ca=*", tls->stranger, "", ""),
                     "certificate");
    lock_and_unlock(secured_client("?tls_verify=none"));
}

static void a_certificate_for_another_host_is_not(void **state) {
    (void)state;
    const hf_test_tls *tls = hf_test_tls_files();
    expect_no_client(HF_ETLS, params_of("?tls_ca=*", tls->ca, "", ""), "");
    lock_and_unlock(secured_client(params_of(
        "?tls_ca=*&tls_server_name=elsewhere.example", tls->ca, "", "")));
}

static void a_client_shows_its_own_certificate(void **state) {
    (void)state;
    const hf_test_tls *tls = hf_test_tls_files();
    hf_client *none = NULL;
    char text[512];
    snprintf(text, sizeof text, "%s%s", uri,
             params_of("?tls_ca=*", tls->ca, "", ""));
    assert_true(hf_open(&none, text, NULL, ERR) < 0);
    lock_and_unlock(secured_client(params_of("?tls_ca=*&tls_cert=*&tls_key=*",
                                             tls->ca, tls->cert, tls->key)));
}

/* TLS is spoken where none is. */
static void a_server_without_tls_is_named(void **state) {
    (void)state;
    hf_client *none = NULL;
    char text[256];
    snprintf(text, sizeof text, "etcds://127.0.0.1:%d/x", port);
    hf_expect(HF_ETLS, hf_open(&none, text, NULL, ERR));
    assert_non_null(strstr(ERR->text, "127.0.0.1"));
}

/* ---- users ------------------------------------------------------------- */

static void demand_users(void) {
    hf_test_etcdctl(port, "user add root:rootpw");
    hf_test_etcdctl(port, "user grant-role root root");
    hf_test_etcdctl(port, "role add locks");
    hf_test_etcdctl(port, "role grant-permission locks readwrite own/ own0");
    hf_test_etcdctl(port, "user add ann:secret");
    hf_test_etcdctl(port, "user grant-role ann locks");
    assert_non_null(strstr(hf_test_etcdctl(port, "auth enable"), "Enabled"));
}

static void with_users(void **state) {
    start_own(NULL);
    demand_users();
    hf_test_body(state);
}

static int open_as(hf_client **ret, const char *user, const char *path) {
    char text[256];
    snprintf(text, sizeof text, "etcd://%s%s127.0.0.1:%d/%s", user,
             *user != '\0' ? "@" : "", port, path);
    return hf_open(ret, text, NULL, ERR);
}

static void a_user_is_known_by_the_password(void **state) {
    (void)state;
    hf_client *c = NULL;
    hf_expect(HF_OK, open_as(&c, "ann:secret", "own"));
    lock_and_unlock(hf_test_adopt(c));
    hf_expect(HF_EAUTH, open_as(&c, "ann:guessed", "own"));
    assert_null(strstr(ERR->text, "guessed"));
    assert_null(c);
    hf_expect(HF_EAUTH, open_as(&c, "", "own"));
    assert_null(c);
}

static void a_password_may_stand_in_a_file(void **state) {
    (void)state;
    char path[160], text[384];
    hf_test_fresh_path(path, sizeof path, "password");
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs("secret\n", f);
    fclose(f);
    chmod(path, 0600);
    snprintf(text, sizeof text, "etcd://ann@127.0.0.1:%d/own?password_file=%s",
             port, path);
    lock_and_unlock(hf_test_open(text, NULL));
}

static void a_user_without_rights_is_told_so(void **state) {
    (void)state;
    hf_client *c = NULL;
    int rc = open_as(&c, "ann:secret", "elsewhere");
    if (rc == HF_OK)
        rc = hf_lock_try(hf_test_lock(hf_test_adopt(c), "x", NULL), ERR);
    hf_expect(HF_EFORBIDDEN, rc);
}

/* It gave us a token, and has forgotten it. */
static void a_restarted_server_is_told_the_password_again(void **state) {
    (void)state;
    hf_client *c = NULL;
    hf_expect(HF_OK, open_as(&c, "ann:secret", "own?session=20s"));
    hf_lock *a = hf_test_lock(hf_test_adopt(c), "x", NULL);
    hf_expect(HF_OK, hf_lock_try(a, ERR));
    hf_test_quorum_restart(own, 0);
    hf_expect(HF_OK, hf_lock_release(a, ERR));
    lock_and_unlock(c);
}

/* ---- addresses --------------------------------------------------------- */

static void addresses_that_cannot_be_used_say_why(void **state) {
    (void)state;
    expect_no_client(HF_EURI, "?session=soon", "session");
    expect_no_client(HF_EURI, "?nonsense=1", "nonsense");
}

static void a_store_that_is_away_is_named(void **state) {
    (void)state;
    int64_t began = hf_test_now_ms();
    hf_client *none = NULL;
    hf_expect(HF_EDOWN, hf_open(&none, "etcd://127.0.0.1:1/x",
                                HF_CLIENT_WITH(.timeout_ms = 500), ERR));
    assert_non_null(strstr(ERR->text, "127.0.0.1:1"));
    assert_in_range(hf_test_now_ms() - began, 0, 4000);
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
    assert_non_null(strstr(told, "etcd 3."));
    assert_non_null(strstr(told, "session"));
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
static void a_record_is_a_leased_key(void **state) {
    (void)state;
    hf_client *c = client();
    char key[160];
    int places = 0;
    hf_test_announce(c, "1");
    assert_int_equal(keys("hf-clients/"), 1);
    snprintf(key, sizeof key, "%shf-clients/%s", root, hf_test_id(c));
    assert_true(hf_test_etcd_fact(port, key, "Lease") > 0);
    hf_expect(HF_OK, hf_list(client(), NULL, on_any_place, &places, ERR));
    assert_int_equal(places, 0);
    hf_test_close(c);
    assert_int_equal(keys(""), 0);
}

static void a_record_whose_lease_is_over_is_put_anew(void **state) {
    (void)state;
    hf_client *c = client();
    const char *doing;
    char key[160];
    hf_test_announce(c, "1");
    snprintf(key, sizeof key, "%shf-clients/%s", root, hf_test_id(c));
    hf_test_etcdctl(port, "lease revoke %" PRIx64,
                    (uint64_t)hf_test_etcd_fact(port, key, "Lease"));
    assert_int_equal(keys(""), 0);
    hf_test_announce(c, "1 2");
    hf_test_records(client(), c, &doing);
    assert_string_equal(doing, "1 2");
}

#define TEST(name) HF_TEST_IN(with_a_part, name, teardown)
#define OWN(name)  HF_TEST_IN(with_a_server, name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(a_lock_is_a_leased_key_below_its_name),
    TEST(who_waits_has_a_key_behind),
    OWN(a_try_that_is_refused_writes_nothing),
    TEST(readers_and_writers_have_the_recipes_keys),
    TEST(who_downgrades_reads_at_the_writers_revision),
    TEST(permits_and_numbers_have_keys_of_their_own),
    TEST(a_key_of_etcdctls_is_waited_for),
    TEST(what_a_stranger_holds_can_be_taken_away),
    TEST(keys_that_are_no_entries_are_ignored),
    TEST(a_name_below_another_is_another_lock),
    TEST(names_that_are_parts_of_our_own_keys_are_refused),
    OWN(without_a_path_the_names_are_the_keys),
    TEST(a_deleted_key_is_told_to_its_holder_at_once),
    TEST(a_waiter_whose_key_was_deleted_still_gets_in),
    HF_TEST_IN(with_an_unhurried_one,
               a_short_lease_is_what_the_server_makes_of_it, teardown),
    OWN(a_closed_client_leaves_no_lease),
    OWN(a_compaction_disturbs_no_waiter),
    HF_TEST_IN(with_tls, a_certificate_of_the_authoritys_is_trusted, teardown),
    HF_TEST_IN(with_tls_for_elsewhere, a_certificate_for_another_host_is_not,
               teardown),
    HF_TEST_IN(with_tls_both_ways, a_client_shows_its_own_certificate,
               teardown),
    TEST(a_server_without_tls_is_named),
    HF_TEST_IN(with_users, a_user_is_known_by_the_password, teardown),
    HF_TEST_IN(with_users, a_password_may_stand_in_a_file, teardown),
    HF_TEST_IN(with_users, a_user_without_rights_is_told_so, teardown),
    HF_TEST_IN(with_users, a_restarted_server_is_told_the_password_again,
               teardown),
    TEST(addresses_that_cannot_be_used_say_why),
    TEST(a_store_that_is_away_is_named),
    TEST(the_doctor_says_what_the_store_is),
    TEST(records_are_kept),
    TEST(a_record_is_a_leased_key),
    TEST(a_record_whose_lease_is_over_is_put_anew),
};
HF_SUITE(tests)
