/* SPDX-License-Identifier: MIT
 *
 * store_parsers_test.c - the corners of what reads the keys, notes and
 * addresses of etcd, PostgreSQL and MariaDB, which the other tests and the
 * corpus of the fuzzer leave out; among them the want of memory at every step.
 * tools/coverage.sh says which there are. */
#include "support/dir.h"
#include "support/suite.h"
#include "support/want.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/etcd/keys.h"
#include "backend/etcd/wire.h"
#include "backend/line/note.h"
#include "backend/mariadb/address.h"
#include "backend/postgres/conninfo.h"

#define EACH(i, of) for (size_t i = 0; i < sizeof(of) / sizeof *(of); i++)

/* ---- etcd's fields ----------------------------------------------------- */

static void bytes_are_equal_when_all_of_them_are(void **state) {
    (void)state;
    assert_true(hf__bytes_equal(hf__bytes("ab"), hf__bytes("ab")));
    assert_true(hf__bytes_equal((hf_bytes){0}, hf__bytes("")));
    assert_false(hf__bytes_equal(hf__bytes("ab"), hf__bytes("ac")));
    assert_false(hf__bytes_equal(hf__bytes("ab"), hf__bytes("abc")));
}

/* As long as the first room for it, so that its length needs more. */
static void write_message(hf_pb *b) {
    char text[255];
    memset(text, 'x', sizeof text);
    size_t mark = hf__pb_open(b, 1);
    hf__pb_raw(b, text, 0);
    hf__pb_raw(b, text, sizeof text);
    hf__pb_close(b, mark);
    hf__pb_int(b, 2, 300);
    hf__pb_bytes(b, 3, hf__bytes("y"));
}

static void a_message_remembers_that_memory_was_short(void **state) {
    (void)state;
    for (int n = 1;; n++) {
        hf_pb b = {0};
        was_hit = false;
        until_failure = n;
        write_message(&b);
        until_failure = 0;
        assert_true(b.failed == was_hit);
        if (!was_hit)
            assert_int_equal(b.n, 1 + 2 + 255 + 3 + 3);
        hf__pb_free(&b);
        if (!was_hit)
            break;
    }
}

/* ---- etcd's keys ------------------------------------------------------- */

static hf_key key_of(const char *text) {
    hf_key k = {0};
    k.n = (size_t)snprintf(k.at, sizeof k.at, "%s", text);
    return k;
}

static void the_number_of_a_line_has_a_key(void **state) {
    (void)state;
    hf_key k;
    hf__etcd_key_number(&k, "p/", &(hf_line){HF_LATCH, "a"});
    assert_string_equal(k.at, "p/a/latch");
    hf__etcd_key_number(&k, "p/", &(hf_line){HF_SEMAPHORE, "a"});
    assert_string_equal(k.at, "p/a/count");
}

static void a_copy_of_a_key_may_find_no_memory(void **state) {
    (void)state;
    hf_key k = key_of("a/1.2");
    was_hit = false;
    until_failure = 1;
    hf_key *copy = hf__etcd_key_copy(&k);
    until_failure = 0;
    assert_true((copy == NULL) == was_hit);
    free(copy);
    copy = hf__etcd_key_copy(&k);
    assert_non_null(copy);
    assert_string_equal(copy->at, "a/1.2");
    free(copy);
}

static void readers_and_writers_have_twins(void **state) {
    (void)state;
    hf_key reader = key_of("a/read/1.2"), writer = key_of("a/write/1.2"), k;
    assert_true(hf__etcd_key_is_pair(&reader));
    assert_true(hf__etcd_key_is_pair(&writer));
    k = key_of("a/1.2");
    assert_false(hf__etcd_key_is_pair(&k));
    k = key_of("a");
    assert_false(hf__etcd_key_is_pair(&k));
    hf__etcd_key_twin(&k, &reader);
    assert_string_equal(k.at, writer.at);
    hf__etcd_key_twin(&k, &writer);
    assert_string_equal(k.at, reader.at);
    hf__etcd_key_beside(&k, &reader);
    assert_string_equal(k.at, "a/read/1.2/beside");
    hf__etcd_key_beside(&k, &writer);
    assert_string_equal(k.at, "a/read/1.2/beside");
}

static bool heard(const char *told) {
    hf_key k;
    int64_t revision;
    return hf__etcd_key_heard(&k, &revision, told);
}

static void a_key_is_told_with_its_revision(void **state) {
    (void)state;
    hf_key k;
    int64_t revision;
    was_hit = false;
    until_failure = 1;
    char *told = hf__etcd_key_told(hf__bytes("a@b/1"), 7);
    until_failure = 0;
    assert_true((told == NULL) == was_hit);
    free(told);
    told = hf__etcd_key_told(hf__bytes("a@b/1"), 7);
    assert_string_equal(told, "a@b/1@7");
    assert_true(hf__etcd_key_heard(&k, &revision, told));
    assert_string_equal(k.at, "a@b/1");
    assert_int_equal(revision, 7);
    free(told);
    char longest[HF_KEY_SIZE + 3];
    memset(longest, 'x', HF_KEY_SIZE);
    memcpy(longest + HF_KEY_SIZE, "@1", 3);
    assert_false(heard(longest));
    assert_true(heard(longest + 1));
    assert_false(heard("a/1"));
    assert_false(heard("a/1@"));
    assert_false(heard("a/1@-1"));
    assert_false(heard("a/1@1x"));
}

static void a_key_is_what_its_folder_and_end_say(void **state) {
    (void)state;
    static const struct {
        const char *key;
        hf_key_sort sort;
    } rows[] = {
        {"a/1f", HF_KEY_LOCK},
        {"a/1f.2", HF_KEY_LOCK},
        {"a/x", HF_KEY_OTHER},
        {"a/1f-2", HF_KEY_OTHER},
        {"a/1f.", HF_KEY_OTHER},
        {"a/1f.2x", HF_KEY_OTHER},
        {"a/11112222333344445", HF_KEY_OTHER}, /* too long for a lease */
        {"a/read/1f.2", HF_KEY_READ},
        {"a/read/peer", HF_KEY_READ},
        {"a/write/1f.2", HF_KEY_WRITE},
        {"a/read/1f.2/beside", HF_KEY_BESIDE},
        {"a/write/1f.2/beside", HF_KEY_OTHER},
        {"/read/1f.2", HF_KEY_LOCK}, /* of a name `/read` */
        {"a/permit/1f.2.3", HF_KEY_PERMIT},
        {"a/permit/x", HF_KEY_OTHER},
        {"a/permit/1f", HF_KEY_OTHER},
        {"a/permit/1f.", HF_KEY_OTHER},
        {"a/permit/1f.2", HF_KEY_OTHER},
        {"a/permit/1f.2.", HF_KEY_OTHER},
        {"a/permit/1f.2.3x", HF_KEY_OTHER},
        {"a/permit/1f.2.0", HF_KEY_OTHER},
        {"a/count", HF_KEY_COUNT},
        {"a/latch", HF_KEY_LATCH},
        {"", HF_KEY_OTHER},
        {"a", HF_KEY_OTHER},
        {"/1f", HF_KEY_OTHER},
        {"a/", HF_KEY_OTHER},
    };
    EACH(i, rows) {
        hf_key_parts p;
        hf__etcd_key_read(&p, hf__bytes(rows[i].key));
        if (p.sort != rows[i].sort)
            fail_msg("%s is taken for sort %d", rows[i].key, (int)p.sort);
    }
}

static bool is_ours(const char *text, unsigned *n) {
    hf_key k = key_of(text);
    return hf__etcd_key_is_ours("p/", &k, 0x1f, n);
}

static void a_session_knows_its_own_keys(void **state) {
    (void)state;
    unsigned n = 0;
    assert_true(is_ours("p/a/1f.2", &n));
    assert_int_equal(n, 2);
    assert_true(is_ours("p/a/read/1f.3", &n));
    assert_int_equal(n, 3);
    static const char *const others[] = {
        "p/",           "p/a",       "p/a/2f.2",     "p/a/1f",
        "p/a/read/1f.", "p/a/count", "p/a/read/-x-", "p/a/read/1f",
    };
    EACH(i, others)
    assert_false(is_ours(others[i], &n));
}

static void a_name_that_would_be_another_key_is_refused(void **state) {
    (void)state;
    static const char *const good[] = {
        "a", "read", "a/readers", "hf-clien", "hf-clients2", "a/hf-clients"};
    static const struct {
        const char *name, *why;
    } bad[] = {
        {"a/read", "what ends in /read belongs to the name before it"},
        {"a/write", "what ends in /write belongs to the name before it"},
        {"a/permit", "what ends in /permit belongs to the name before it"},
        {"hf-clients", "clients keep their records there"},
        {"hf-clients/a", "clients keep their records there"},
    };
    hf_error err;
    EACH(i, good) {
        if (hf__etcd_key_check(&(hf_line){HF_LOCK, good[i]}, &err) != HF_OK)
            fail_msg("%s: %s", good[i], err.text);
    }
    EACH(i, bad) {
        char wanted[200];
        snprintf(wanted, sizeof wanted,
                 "the name '%s' cannot be used on etcd: %s", bad[i].name,
                 bad[i].why);
        assert_int_equal(
            hf__etcd_key_check(&(hf_line){HF_LOCK, bad[i].name}, &err),
            HF_ENAME);
        assert_string_equal(err.text, wanted);
    }
}

/* ---- notes ------------------------------------------------------------- */

static void a_note_is_read_as_far_as_it_goes(void **state) {
    (void)state;
    hf_note note;
    assert_false(hf__note_read(&note, NULL));
    assert_false(hf__note_read(&note, ""));
    assert_false(hf__note_read(&note, "holdfast 2 a"));
    assert_true(hf__note_read(&note, "holdfast 1 a%20b 5 7 h - p%2 50%zz%2z%"));
    assert_string_equal(note.owner, "a b");
    assert_int_equal(note.lasts_ms, 5);
    assert_int_equal(note.who.pid, 7);
    assert_string_equal(note.who.host, "h");
    assert_string_equal(note.who.user, "");
    assert_string_equal(note.who.program, "p%2");
    assert_string_equal(note.who.why, "50%zz%2z%");
    assert_true(hf__note_read(&note, "holdfast 1 "));
    assert_string_equal(note.owner, "");
}

static void a_field_of_a_note_is_cut_to_its_room(void **state) {
    (void)state;
    char text[400] = "holdfast 1 ";
    hf_note note;
    memset(text + strlen(text), 'x', 200);
    strcat(text, " 5 7 h u p w");
    assert_true(hf__note_read(&note, text));
    assert_int_equal(strlen(note.owner), sizeof note.owner - 1);
    assert_string_equal(note.who.why, "w");
}

static void a_note_can_say_anything(void **state) {
    (void)state;
    char text[HF_NOTE_SIZE];
    hf_note note;
    hf_identity who = {
        .host = "-", .program = "a b%", .user = "\xc3\xa9", .why = "\x7f\n"};
    hf__note_released(text, 5, &who);
    assert_string_equal(text,
                        "holdfast 1 released 5 0 %2D %C3%A9 a%20b%25 %7F%0A");
    assert_true(hf__note_read(&note, text));
    assert_string_equal(note.who.host, who.host);
    assert_string_equal(note.who.program, who.program);
    assert_string_equal(note.who.user, who.user);
    assert_string_equal(note.who.why, who.why);
}

/* ---- PostgreSQL's addresses -------------------------------------------- */

/* What libpq would know of a connection, and what it was told: nothing is
 * connected to. */
static struct {
    const char *host, *port;
    char heard[4096];
} libpq;

char *PQhost(const PGconn *conn) {
    (void)conn;
    return (char *)(uintptr_t)libpq.host;
}

char *PQport(const PGconn *conn) {
    (void)conn;
    return (char *)(uintptr_t)libpq.port;
}

char *PQuser(const PGconn *conn) {
    (void)conn;
    return (char *)(uintptr_t) "me";
}

char *PQdb(const PGconn *conn) {
    (void)conn;
    return (char *)(uintptr_t) "db";
}

PGconn *PQconnectStartParams(const char *const *keys, const char *const *values,
                             int expand) {
    char *to = libpq.heard;
    assert_int_equal(expand, 0);
    *to = '\0';
    for (size_t i = 0; keys[i] != NULL; i++)
        to += sprintf(to, "%s=%s ", keys[i], values[i]);
    return (PGconn *)&libpq;
}

static int conninfo_of(hf_conninfo **ret, const char *text, hf_error *err) {
    hf_uri uri = {.text = (char *)(uintptr_t)text};
    return hf__pg_conninfo_of(ret, &uri, err);
}

static hf_conninfo *conninfo(const char *text) {
    hf_conninfo *info = NULL;
    hf_error err = {0, ""};
    assert_int_equal(conninfo_of(&info, text, &err), HF_OK);
    return info;
}

static bool was_told(const char *what) {
    return strstr(libpq.heard, what) != NULL;
}

static void libpq_is_told_of_one_host(void **state) {
    (void)state;
    hf_conninfo *info = conninfo("host=a,b,c port=1,2 hostaddr=::1 user=''");
    assert_int_equal(hf__pg_conninfo_hosts(info), 3);
    assert_non_null(hf__pg_conninfo_start(info, 1));
    assert_true(was_told("host=b ") && was_told("port=2 "));
    assert_true(was_told("hostaddr=::1 "));
    assert_true(was_told("fallback_application_name=holdfast "));
    assert_non_null(hf__pg_conninfo_start(info, 2));
    assert_true(was_told("host=c ") && was_told("port= "));
    assert_null(hf__pg_conninfo_get(info, "user"));
    assert_null(hf__pg_conninfo_get(info, "no such option"));
    hf__pg_conninfo_free(info);
    info = conninfo("hostaddr=::1,::2 fallback_application_name=x");
    assert_int_equal(hf__pg_conninfo_hosts(info), 2);
    assert_non_null(hf__pg_conninfo_start(info, 1));
    assert_true(was_told("hostaddr=::2 ") && !was_told("host="));
    assert_true(was_told("fallback_application_name=x "));
    hf__pg_conninfo_free(info);
    hf__pg_conninfo_free(NULL);
}

static void parameters_of_ours_are_kept_from_libpq(void **state) {
    (void)state;
    static const struct {
        const char *text, *dbname, *timeout;
    } rows[] = {
        {"postgres://h/d?hf_lease=1&&connect_timeout=5&hf_x=1", "d", "5"},
        {"postgresql://h/e?connect_timeout=6&user=u", "e", "6"},
        {"postgresql://h/f", "f", NULL},
        {"postgresql://h/g?", "g", NULL},
        {"postgresql://h?hf_schema=s", NULL, NULL},
    };
    EACH(i, rows) {
        hf_conninfo *info = conninfo(rows[i].text);
        const char *dbname = hf__pg_conninfo_get(info, "dbname");
        const char *timeout = hf__pg_conninfo_get(info, "connect_timeout");
        assert_true((dbname == NULL) == (rows[i].dbname == NULL));
        assert_true((timeout == NULL) == (rows[i].timeout == NULL));
        if (dbname != NULL)
            assert_string_equal(dbname, rows[i].dbname);
        if (timeout != NULL)
            assert_string_equal(timeout, rows[i].timeout);
        hf__pg_conninfo_free(info);
    }
}

static void an_address_that_libpq_refuses_is_not_repeated(void **state) {
    (void)state;
    static const char *const bad[] = {"host=a password='secret",
                                      "postgresql://u:secret@h?no_such=1"};
    EACH(i, bad) {
        hf_conninfo *info = NULL;
        hf_error err = {0, ""};
        assert_int_equal(conninfo_of(&info, bad[i], &err), HF_EURI);
        assert_null(info);
        assert_null(strstr(err.text, "secret"));
    }
}

#define BASE                                                                   \
    "host=a hostaddr=::1 port=1 service=s target_session_attrs=any user=u "    \
    "password=p dbname=d"

static void who_listens_elsewhere_is_the_same_one(void **state) {
    (void)state;
    hf_conninfo *base = conninfo(BASE), *ear = NULL;
    hf_error err = {0, ""};
    assert_int_equal(
        hf__pg_conninfo_beside(&ear, base, "host=b dbname=e", &err), HF_OK);
    assert_string_equal(hf__pg_conninfo_get(ear, "host"), "b");
    assert_string_equal(hf__pg_conninfo_get(ear, "dbname"), "e");
    assert_string_equal(hf__pg_conninfo_get(ear, "user"), "u");
    assert_string_equal(hf__pg_conninfo_get(ear, "password"), "p");
    assert_null(hf__pg_conninfo_get(ear, "hostaddr"));
    assert_null(hf__pg_conninfo_get(ear, "port"));
    assert_null(hf__pg_conninfo_get(ear, "service"));
    assert_null(hf__pg_conninfo_get(ear, "target_session_attrs"));
    hf__pg_conninfo_free(ear);
    assert_int_equal(hf__pg_conninfo_beside(&ear, base, "port=6", &err), HF_OK);
    assert_null(hf__pg_conninfo_get(ear, "host"));
    hf__pg_conninfo_free(ear);
    ear = NULL;
    assert_int_equal(hf__pg_conninfo_beside(&ear, base, "host='", &err),
                     HF_EURI);
    assert_null(ear);
    hf__pg_conninfo_free(base);
}

static void is_shown(const char *text, const char *host, const char *port,
                     const char *expected) {
    hf_conninfo *info = conninfo(text);
    libpq.host = host;
    libpq.port = port;
    char *where = hf__pg_conninfo_where(info, NULL);
    assert_non_null(where);
    assert_string_equal(where, expected);
    free(where);
    hf__pg_conninfo_free(info);
}

static void a_database_is_shown_with_its_hosts(void **state) {
    (void)state;
    is_shown("host=a,::1 port=1,2", "a", "1", "postgresql://me@a:1,[::1]:2/db");
    is_shown("host=a,b", "b", "5", "postgresql://me@a:5,b:5/db");
    is_shown("host=a,b,c port=1,", "b", "5", "postgresql://me@a:1,b,c/db");
    is_shown("user=x", "h", "5", "postgresql://me@h:5/db");
    is_shown("user=x", NULL, "", "postgresql://me@/db");
    is_shown("user=x", "/run", "5", "postgresql://me@/db?host=/run&port=5");
    is_shown("host=@x", "@x", "5", "postgresql://me@/db?host=@x&port=5");
}

/* What libpq makes of its own want of memory is its affair. */
static void assert_fair(int rc) {
    if (ours_alone || rc != HF_EURI)
        assert_int_equal(rc, HF_ENO_MEMORY);
}

static void libpq_s_address_bears_the_want_of_memory(void **state) {
    (void)state;
    static const char *const texts[] = {
        BASE, "postgresql://u:p@a,b/d?hf_lease=1&connect_timeout=5"};
    EACH(i, texts) {
        for (int n = 1;; n++) {
            hf_conninfo *info = NULL;
            hf_error err = {0, ""};
            was_hit = false;
            until_failure = n;
            int rc = conninfo_of(&info, texts[i], &err);
            until_failure = 0;
            assert_true((rc == HF_OK) == (info != NULL));
            hf__pg_conninfo_free(info);
            if (!was_hit)
                break;
            assert_fair(rc);
        }
    }
    hf_conninfo *base = conninfo(BASE);
    for (int n = 1;; n++) {
        hf_conninfo *ear = NULL;
        hf_error err = {0, ""};
        was_hit = false;
        until_failure = n;
        int rc = hf__pg_conninfo_beside(&ear, base, "host=b", &err);
        until_failure = 0;
        assert_true((rc == HF_OK) == (ear != NULL));
        hf__pg_conninfo_free(ear);
        if (!was_hit)
            break;
        assert_fair(rc);
    }
    hf__pg_conninfo_free(base);
}

static void a_long_address_is_read_whole_or_not_at_all(void **state) {
    (void)state;
    char text[20000] = "postgresql://h/d?application_name=";
    size_t n = strlen(text);
    memset(text + n, 'x', sizeof text - n);
    strcpy(text + sizeof text - 8, "&user=u");
    for (int k = 1;; k++) {
        hf_conninfo *info = NULL;
        hf_error err = {0, ""};
        was_hit = false;
        until_failure = k;
        int rc = conninfo_of(&info, text, &err);
        until_failure = 0;
        if (rc == HF_OK) {
            const char *name = hf__pg_conninfo_get(info, "application_name");
            assert_non_null(name);
            assert_int_equal(strlen(name), sizeof text - 8 - n);
            assert_string_equal(hf__pg_conninfo_get(info, "user"), "u");
        }
        hf__pg_conninfo_free(info);
        if (!was_hit)
            break;
        assert_fair(rc);
    }
}

static void a_connection_and_its_name_bear_the_want_of_memory(void **state) {
    (void)state;
    hf_conninfo *info = conninfo("host=a,b");
    libpq.host = "a";
    libpq.port = "5";
    for (int n = 1;; n++) {
        was_hit = false;
        until_failure = n;
        char *where = hf__pg_conninfo_where(info, NULL);
        until_failure = 0;
        /* The C library may do with the room that it has. */
        assert_true(where != NULL || was_hit);
        if (where != NULL)
            assert_string_equal(where, "postgresql://me@a:5,b:5/db");
        free(where);
        if (!was_hit)
            break;
    }
    was_hit = false;
    until_failure = 1;
    PGconn *conn = hf__pg_conninfo_start(info, 0);
    until_failure = 0;
    assert_true((conn == NULL) == was_hit);
    hf__pg_conninfo_free(info);
}

/* No store is asked: the address is refused before. */
static void too_many_hosts_are_refused(void **state) {
    (void)state;
    char text[200] = "postgresql://u:p@h";
    hf_client *client = NULL;
    hf_error err = {0, ""};
    for (int i = 0; i < 32; i++)
        strcat(text, ",h");
    assert_int_equal(hf_open(&client, text, NULL, &err), HF_EURI);
    assert_non_null(strstr(err.text, "more than 32 hosts"));
    char ear[200] = "postgresql://h?hf_listen=host%3Da";
    for (int i = 0; i < 32; i++)
        strcat(ear, ",h");
    assert_int_equal(hf_open(&client, ear, NULL, &err), HF_EURI);
    assert_non_null(strstr(err.text, "more than 32 hosts"));
}

/* ---- MariaDB's addresses ----------------------------------------------- */

static int maria_address(hf_maria_address *at, const char *text) {
    hf_uri *uri = NULL;
    hf_error err = {0, ""};
    assert_int_equal(hf_uri_parse(&uri, text, &err), HF_OK);
    int rc = hf__maria_address_read(at, uri, &err);
    hf_uri_free(uri);
    return rc;
}

static void a_server_is_where_its_address_says(void **state) {
    (void)state;
    static const struct {
        const char *text, *where, *password;
    } rows[] = {
        {"mariadb://h", "mariadb://h:3306/", NULL},
        {"mariadb://h/", "mariadb://h:3306/", NULL},
        {"mariadb://u:p@h:5/d", "mariadb://h:5/d", "p"},
        {"mariadb://u:p@h/d?password_file=/none", "mariadb://h:3306/d", "p"},
        {"mariadbs://[::1]/d", "mariadbs://[::1]:3306/d", NULL},
        {"mariadb:///d?socket=/run/s", "mariadb:///d?socket=/run/s", NULL},
        {"mariadb://h?unix_socket=/s", "mariadb:///?socket=/s", NULL},
    };
    EACH(i, rows) {
        hf_maria_address at;
        assert_int_equal(maria_address(&at, rows[i].text), HF_OK);
        assert_string_equal(at.where, rows[i].where);
        assert_true((at.password == NULL) == (rows[i].password == NULL));
        if (at.password != NULL)
            assert_string_equal(at.password, rows[i].password);
        hf__maria_address_clear(&at);
    }
}

static void a_server_s_password_may_be_in_a_file(void **state) {
    (void)state;
    hf_maria_address at;
    char path[200], text[300];
    hf_test_fresh_path(path, sizeof path, "password");
    snprintf(text, sizeof text, "mariadb://u@h?password_file=%s", path);
    assert_int_equal(maria_address(&at, text), HF_EAUTH);
    hf__maria_address_clear(&at);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, "secret\n", 7) == 7);
    close(fd);
    assert_int_equal(maria_address(&at, text), HF_OK);
    assert_string_equal(at.password, "secret");
    assert_null(strstr(at.where, "secret"));
    hf__maria_address_clear(&at);
}

static void tls_is_for_the_network(void **state) {
    (void)state;
    static const char *const bad[] = {"mariadbs:///d?socket=/s",
                                      "mariadbs://h?tls_verify=no",
                                      "mariadb://h?tls_ca=/ca"};
    EACH(i, bad) {
        hf_maria_address at;
        assert_int_equal(maria_address(&at, bad[i]), HF_EURI);
        hf__maria_address_clear(&at);
    }
}

static void a_server_s_address_bears_the_want_of_memory(void **state) {
    (void)state;
    static const char *const texts[] = {
        "mariadb://u:p@h/d?socket=/s&option_file=/o",
        "mariadbs://u:p@h/d?tls_ca=/a&tls_cert=/b&tls_key=/c"};
    EACH(i, texts) {
        hf_uri *uri = NULL;
        hf_error err = {0, ""};
        assert_int_equal(hf_uri_parse(&uri, texts[i], &err), HF_OK);
        for (int n = 1;; n++) {
            hf_maria_address at;
            was_hit = false;
            until_failure = n;
            int rc = hf__maria_address_read(&at, uri, &err);
            until_failure = 0;
            hf__maria_address_clear(&at);
            /* The C library may do with the room that it has. */
            if (rc != HF_OK)
                assert_int_equal(rc, HF_ENO_MEMORY);
            if (!was_hit)
                break;
        }
        hf_uri_free(uri);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(bytes_are_equal_when_all_of_them_are),
    cmocka_unit_test(a_message_remembers_that_memory_was_short),
    cmocka_unit_test(the_number_of_a_line_has_a_key),
    cmocka_unit_test(a_copy_of_a_key_may_find_no_memory),
    cmocka_unit_test(readers_and_writers_have_twins),
    cmocka_unit_test(a_key_is_told_with_its_revision),
    cmocka_unit_test(a_key_is_what_its_folder_and_end_say),
    cmocka_unit_test(a_session_knows_its_own_keys),
    cmocka_unit_test(a_name_that_would_be_another_key_is_refused),
    cmocka_unit_test(a_note_is_read_as_far_as_it_goes),
    cmocka_unit_test(a_field_of_a_note_is_cut_to_its_room),
    cmocka_unit_test(a_note_can_say_anything),
    cmocka_unit_test(libpq_is_told_of_one_host),
    cmocka_unit_test(parameters_of_ours_are_kept_from_libpq),
    cmocka_unit_test(an_address_that_libpq_refuses_is_not_repeated),
    cmocka_unit_test(who_listens_elsewhere_is_the_same_one),
    cmocka_unit_test(a_database_is_shown_with_its_hosts),
    cmocka_unit_test(libpq_s_address_bears_the_want_of_memory),
    cmocka_unit_test(a_long_address_is_read_whole_or_not_at_all),
    cmocka_unit_test(a_connection_and_its_name_bear_the_want_of_memory),
    cmocka_unit_test(too_many_hosts_are_refused),
    cmocka_unit_test(a_server_is_where_its_address_says),
    cmocka_unit_test(a_server_s_password_may_be_in_a_file),
    cmocka_unit_test(tls_is_for_the_network),
    cmocka_unit_test(a_server_s_address_bears_the_want_of_memory),
};
HF_SUITE(tests)
