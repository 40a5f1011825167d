/* SPDX-License-Identifier: MIT
 *
 * uri_test.c - addresses of stores: what is read out of them, what is refused
 * and with which words, and what is shown of them. */
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "uri.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* ---- what is read ------------------------------------------------------ */

/* All that was parsed in one line: scheme user:password@ host:port,... path
 * key=value...  Absent parts are "-". */
static const char *describe(const hf_uri *uri) {
    static char line[1024];
    size_t n = (size_t)snprintf(line, sizeof line, "%s%s %s:%s@ ", uri->scheme,
                                uri->tls ? "(tls)" : "",
                                uri->user != NULL ? uri->user : "-",
                                uri->password != NULL ? uri->password : "-");
    for (size_t i = 0; i < uri->n_hosts; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s:%d",
                              i > 0 ? "," : "", uri->hosts[i].host,
                              uri->hosts[i].port);
    n += (size_t)snprintf(line + n, sizeof line - n, "%s %s",
                          uri->n_hosts == 0 ? "-" : "",
                          uri->path != NULL ? uri->path : "-");
    for (size_t i = 0; i < uri->n_params; i++)
        n += (size_t)snprintf(line + n, sizeof line - n, " %s=%s",
                              uri->params[i].key, uri->params[i].value);
    assert_true(n < sizeof line);
    return line;
}

static void reads_as(const char *text, const char *expected) {
    hf_uri *uri = NULL;
    hf_error err = {0, ""};
    if (hf_uri_parse(&uri, text, &err) != HF_OK)
        fail_msg("%s: %s", text, err.text);
    if (strcmp(describe(uri), expected) != 0)
        fail_msg("%s\n  reads as  %s\n  not as    %s", text, describe(uri),
                 expected);
    assert_string_equal(uri->text, text);
    hf_uri_free(uri);
}

struct reading {
    const char *text, *expected;
};

static void all_read_as(const struct reading *readings, size_t n) {
    for (size_t i = 0; i < n; i++)
        reads_as(readings[i].text, readings[i].expected);
}

static void every_way_to_name_a_file_is_read(void **state) {
    (void)state;
    static const struct reading readings[] = {
        {"sqlite:locks.db", "sqlite -:-@ - locks.db"},
        {"sqlite:./locks.db", "sqlite -:-@ - ./locks.db"},
        {"sqlite:dir/locks.db", "sqlite -:-@ - dir/locks.db"},
        {"sqlite:/var/lib/h.db", "sqlite -:-@ - /var/lib/h.db"},
        {"sqlite:///var/lib/h.db", "sqlite -:-@ - /var/lib/h.db"},
        {"sqlite:////var/lib/h.db", "sqlite -:-@ - /var/lib/h.db"},
        {"sqlite://localhost/var/h.db", "sqlite -:-@ - /var/h.db"},
        {"SQLite:/var/lib/h", "sqlite -:-@ - /var/lib/h"},
        {"file:locks", "sqlite -:-@ - locks"},
        {"file:///tmp/locks", "sqlite -:-@ - /tmp/locks"},
        {"locks.db", "sqlite -:-@ - locks.db"},
        {"/var/lib/100%.db", "sqlite -:-@ - /var/lib/100%.db"},
        {"//tmp/a b.db", "sqlite -:-@ - /tmp/a b.db"},
        {"sqlite:/tmp/a%20b%3Fc%25.db", "sqlite -:-@ - /tmp/a b?c%.db"},
        {"sqlite:/tmp/me@home:1.db", "sqlite -:-@ - /tmp/me@home:1.db"},
        {"sqlite:l.db?unsafe_network_fs=1&hf_ttl=9s",
         "sqlite -:-@ - l.db unsafe_network_fs=1 hf_ttl=9s"},
    };
    all_read_as(readings, LENGTH(readings));
}

static void every_way_to_name_a_redis_is_read(void **state) {
    (void)state;
    static const struct reading readings[] = {
        {"redis://h", "redis -:-@ h:0 -"},
        {"REDIS://h/", "redis -:-@ h:0 -"},
        {"redis://h:1", "redis -:-@ h:1 -"},
        {"redis://h:65535/15", "redis -:-@ h:65535 15"},
        {"redis://127.0.0.1:6379/0", "redis -:-@ 127.0.0.1:6379 0"},
        {"redis://[::1]", "redis -:-@ ::1:0 -"},
        {"redis://[fe80::1%25eth0]:6380/2", "redis -:-@ fe80::1%eth0:6380 2"},
        {"rediss://h", "redis(tls) -:-@ h:0 -"},
        {"valkey://h", "redis -:-@ h:0 -"},
        {"valkeys://h", "redis(tls) -:-@ h:0 -"},
        {"redis+tls://h", "redis(tls) -:-@ h:0 -"},
        {"redis+ssl://h", "redis(tls) -:-@ h:0 -"},
        {"redis://u:p@h:7", "redis u:p@ h:7 -"},
        {"redis://:p@h", "redis -:p@ h:0 -"},
        {"redis://u@h", "redis u:-@ h:0 -"},
        {"redis://u:@h", "redis u:-@ h:0 -"},
        {"redis://@h", "redis -:-@ h:0 -"},
        {"redis://u:a:b@h", "redis u:a:b@ h:0 -"},
        {"redis://%75:p%40%2F%3a%23%3F@h", "redis u:p@/:#?@ h:0 -"},
        {"redis://h?db=3&tls_ca=/a/b", "redis -:-@ h:0 - db=3 tls_ca=/a/b"},
        {"redis://h/0?", "redis -:-@ h:0 0"},
        {"redis://h?&a=1&&b=&", "redis -:-@ h:0 - a=1 b="},
        {"redis://h?a=b=c%26d", "redis -:-@ h:0 - a=b=c&d"},
        {"redis://h?password_file=%2Fp%20q",
         "redis -:-@ h:0 - password_file=/p q"},
    };
    all_read_as(readings, LENGTH(readings));
}

static void names_that_other_clients_use_are_translated(void **state) {
    (void)state;
    static const struct reading readings[] = {
        {"rediss://h?ssl_ca_certs=/c&ssl_certfile=/d&ssl_keyfile=/e",
         "redis(tls) -:-@ h:0 - tls_ca=/c tls_cert=/d tls_key=/e"},
        {"rediss://h?verifyPeer=FALSE",
         "redis(tls) -:-@ h:0 - tls_verify=none"},
        {"rediss://h?verifyPeer=CA", "redis(tls) -:-@ h:0 - tls_verify=ca"},
        {"rediss://h?ssl_cert_reqs=required",
         "redis(tls) -:-@ h:0 - tls_verify=full"},
        {"rediss://h?ssl_cert_reqs=maybe",
         "redis(tls) -:-@ h:0 - tls_verify=maybe"},
        {"redis-socket:///s?database=2", "redis+unix -:-@ - /s db=2"},
        {"postgresql://h?database=2", "postgresql -:-@ h:0 - database=2"},
    };
    all_read_as(readings, LENGTH(readings));
}

static void sockets_are_read(void **state) {
    (void)state;
    static const struct reading readings[] = {
        {"redis+unix:///run/redis.sock?db=0",
         "redis+unix -:-@ - /run/redis.sock db=0"},
        {"redis+unix:/run/redis.sock", "redis+unix -:-@ - /run/redis.sock"},
        {"redis-socket:///r.s", "redis+unix -:-@ - /r.s"},
        {"redis+uds:///r.s", "redis+unix -:-@ - /r.s"},
        {"redis+socket:///r.s", "redis+unix -:-@ - /r.s"},
        {"unix://u:p@/r.s", "redis+unix u:p@ - /r.s"},
        {"unix://:p@/r%20s", "redis+unix -:p@ - /r s"},
    };
    all_read_as(readings, LENGTH(readings));
}

static void lists_of_hosts_are_read(void **state) {
    (void)state;
    static const struct reading readings[] = {
        {"redis+sentinel://a,b:2,[::3]:4/mymaster",
         "redis+sentinel -:-@ a:0,b:2,::3:4 mymaster"},
        {"rediss+sentinel://u:p@a,b/m/1",
         "redis+sentinel(tls) u:p@ a:0,b:0 m/1"},
        {"rediss-sentinel://a/m", "redis+sentinel(tls) -:-@ a:0 m"},
        {"redis-sentinel://a,b?sentinelMasterId=m",
         "redis+sentinel -:-@ a:0,b:0 m"},
        {"redis-sentinel://a,b/2?x=1&sentinelMasterId=m&y=2",
         "redis+sentinel -:-@ a:0,b:0 m/2 x=1 y=2"},
        {"redis+cluster://a,b", "redis+cluster -:-@ a:0,b:0 -"},
        {"redis-cluster://a", "redis+cluster -:-@ a:0 -"},
        {"rediss+cluster://a", "redis+cluster(tls) -:-@ a:0 -"},
        {"redlock://u:p@a,b,c/1", "redlock u:p@ a:0,b:0,c:0 1"},
        {"redlock://a:1,a:2,a:3", "redlock -:-@ a:1,a:2,a:3 -"},
        {"redlocks://a,b,c", "redlock(tls) -:-@ a:0,b:0,c:0 -"},
        {"zk://a,b:2181,c/x/y?layout=kazoo",
         "zk -:-@ a:0,b:2181,c:0 x/y layout=kazoo"},
        {"zookeeper://a", "zk -:-@ a:0 -"},
        {"kazoo://a", "zk -:-@ a:0 -"},
        {"zks://a", "zk(tls) -:-@ a:0 -"},
        {"etcd://a,b/p", "etcd -:-@ a:0,b:0 p"},
        {"etcds://a", "etcd(tls) -:-@ a:0 -"},
        {"etcd+http://a", "etcd -:-@ a:0 -"},
        {"etcd+https://a", "etcd(tls) -:-@ a:0 -"},
        {"etcd3+http://a", "etcd -:-@ a:0 -"},
        {"etcd3+https://a", "etcd(tls) -:-@ a:0 -"},
    };
    all_read_as(readings, LENGTH(readings));
}

static void addresses_of_databases_are_read(void **state) {
    (void)state;
    static const struct reading readings[] = {
        {"postgresql://", "postgresql -:-@ - -"},
        {"postgres:///db", "postgresql -:-@ - db"},
        {"postgresql://u:p@a:1,b:2/db?target_session_attrs=read-write",
         "postgresql u:p@ a:1,b:2 db target_session_attrs=read-write"},
        {"postgresql://%2Fvar%2Frun/db", "postgresql -:-@ /var/run:0 db"},
        {"postgresql://:5433/db", "postgresql -:-@ :5433 db"},
        {"host=h password='a b' dbname=x", "postgresql -:-@ - -"},
        {"dbname = x.db", "postgresql -:-@ - -"},
        {"mariadb://u@h:3306/db", "mariadb u:-@ h:3306 db"},
        {"mysql://h/db", "mariadb -:-@ h:0 db"},
        {"mariadb:///db?unix_socket=/s", "mariadb -:-@ - db unix_socket=/s"},
        {"mysql://u:p@/db?socket=/s", "mariadb u:p@ - db socket=/s"},
        {"memory:", "memory -:-@ - -"},
        {"memory:one", "memory -:-@ - one"},
        {"memory://one?hf_prefix=x", "memory -:-@ - one hf_prefix=x"},
    };
    all_read_as(readings, LENGTH(readings));
}

static void a_parameter_is_found_by_its_name(void **state) {
    (void)state;
    hf_uri *uri = NULL;
    assert_int_equal(hf_uri_parse(&uri, "redis://h?a=1&bb=2", NULL), HF_OK);
    assert_string_equal(hf_uri_get(uri, "a"), "1");
    assert_string_equal(hf_uri_get(uri, "bb"), "2");
    assert_null(hf_uri_get(uri, "b"));
    assert_null(hf_uri_get(uri, ""));
    hf_uri_free(uri);
    hf_uri_free(NULL);
}

/* ---- what is refused --------------------------------------------------- */

struct refusal {
    const char *text, *words; /* that the message must contain */
};

static void is_refused(const struct refusal *r) {
    hf_uri *uri = NULL;
    hf_error err = {0, ""};
    int rc = hf_uri_parse(&uri, r->text, &err);
    if (rc != HF_EURI || uri != NULL)
        fail_msg("%s was not refused: %d", r->text, rc);
    assert_int_equal(err.code, HF_EURI);
    if (strstr(err.text, r->words) == NULL)
        fail_msg("%s\n  says     %s\n  without  %s", r->text, err.text,
                 r->words);
    if (strlen(err.text) == sizeof err.text - 1)
        fail_msg("%s: the message is cut off: %s", r->text, err.text);
    assert_int_equal(hf_uri_parse(&uri, r->text, NULL), HF_EURI);
}

static void what_cannot_be_an_address_is_refused_with_advice(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
        {NULL, "is empty"},
        {"", "is empty"},
        {"localhost", "has no scheme"},
        {"127.0.0.1:6379", "has no scheme"},
        {"://h", "has no scheme"},
        {"?x=1", "has no scheme"},
        {".db", "has no scheme"},
        {"locks.db?x=1", "has no scheme"},
        {"localhost:6379", "unknown scheme 'localhost'"},
        {"rediz://h", "'rediz' in the store's address: did you mean 'redis'?"},
        {"redsi://h", "did you mean 'redis'?"},
        {"redis+unx:///s", "did you mean 'redis+unix'?"},
        {"postgre://h", "did you mean 'postgres'?"},
        {"sqlit3:x", "did you mean 'sqlite'?"},
        {"zookeper://h", "did you mean 'zookeeper'?"},
        {"http://h", "unknown scheme 'http' in the store's address: write"},
        {"averyveryveryveryveryveryveryverylongscheme://h", "unknown scheme"},
        {"redis:h", "two slashes: write redis://HOST"},
        {"redis:/h", "two slashes"},
        {"redis://h\n", "control byte"},
        {"redis://h?a=\x7f", "control byte"},
        {"redis://h#1", "'#' in the store's address must be written %23"},
    };
    for (size_t i = 0; i < LENGTH(refusals); i++)
        is_refused(&refusals[i]);
}

static void a_file_that_was_probably_not_meant_is_refused(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
        {"sqlite:///locks.db", "did you mean sqlite:locks.db?"},
        {"sqlite:////locks.db", "did you mean sqlite:locks.db?"},
        {"sqlite:/locks.db", "did you mean sqlite:locks.db?"},
        {"sqlite:/./locks.db", "did you mean sqlite:locks.db?"},
        {"sqlite:/%2e/locks.db", "did you mean sqlite:locks.db?"},
        {"sqlite:%2Flocks.db", "did you mean sqlite:locks.db?"},
        {"file:///locks", "did you mean sqlite:locks?"},
        {"/locks.db", "did you mean sqlite:locks.db?"},
        {"sqlite://locks.db", "did you mean sqlite:locks.db or"},
        {"sqlite://localhost", "two slashes name a host"},
        {"sqlite:", "names no file"},
        {"sqlite://", "names no file"},
        {"sqlite:///", "names no file"},
        {"sqlite:?a=1", "names no file"},
        {"sqlite:dir/", "names no file"},
        {"sqlite::memory:", "locks nobody out"},
        {"sqlite:///:memory:", "locks nobody out"},
        {"sqlite:a%00b", "write '%' itself as %25"},
        {"sqlite:a#b", "%23"},
    };
    for (size_t i = 0; i < LENGTH(refusals); i++)
        is_refused(&refusals[i]);
}

static void wrong_hosts_and_ports_are_refused(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
        {"redis://", "a host is missing"},
        {"redis:///0", "a host is missing"},
        {"redis://:p@/0", "a host is missing"},
        {"redis://:6379", "a host is missing"},
        {"redis+cluster://a,,b", "a host is missing"},
        {"redis+cluster://a,", "a host is missing"},
        {"mariadb:///db", "a host is missing"},
        {"redis://h:", "from 1 to 65535"},
        {"redis://h:0", "from 1 to 65535"},
        {"redis://h:65536", "from 1 to 65535"},
        {"redis://h:99999999999999999999", "from 1 to 65535"},
        {"redis://h:-1", "from 1 to 65535"},
        {"redis://h:6379x", "from 1 to 65535"},
        {"redis://h:%31", "from 1 to 65535"},
        {"redis://::1", "[::1]:PORT"},
        {"redis://[::1", "has no ']'"},
        {"redis://[]", "has no ']'"},
        {"redis://[::1]6379", "may follow ']'"},
        {"redis://h]", "may follow ']'"},
        {"redis://a b", "no host name has"},
        {"redis://a%0Ab", "no host name has"},
        {"redis://%2Frun%2Fs", "no host name has"},
        {"redis+unix://run/redis.sock", "write redis+unix:///run/redis.sock"},
        {"redis+unix:run/redis.sock", "write redis+unix:///run/redis.sock"},
        {"redis+unix://", "write redis+unix:///run/redis.sock"},
        {"redis+unix://u:p@h/s", "write redis+unix:///run/redis.sock"},
    };
    for (size_t i = 0; i < LENGTH(refusals); i++)
        is_refused(&refusals[i]);
}

static void several_hosts_want_a_scheme_that_says_what_they_mean(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
        {"redis://a,b", "redis+sentinel://"},
        {"redis://a,b", "redis+cluster://"},
        {"rediss://a,b", "redlock://"},
        {"mariadb://a,b/db", "one host"},
        {"redlock://a,b,A", "twice"},
        {"redlock://a,b:6379,b", "twice"},
        {"redis+sentinel://a,b", "/MASTER"},
        {"redis+sentinel://a,b/", "/MASTER"},
    };
    for (size_t i = 0; i < LENGTH(refusals); i++)
        is_refused(&refusals[i]);
}

static void wrong_paths_and_parameters_are_refused(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
        {"redis://h/zero", "write redis://HOST/0"},
        {"redis://h/0/1", "write redis://HOST/0"},
        {"redis://h/-1", "write redis://HOST/0"},
        {"redlock://a,b,c/x", "write redlock://HOST/0"},
        {"redis://h?a", "has no '='"},
        {"redis://h?=1", "has no name"},
        {"redis://h?a=1&b=2&a=1", "'a' stands twice"},
        {"redis://h?a=1&%61=2", "'a' stands twice"},
        {"rediss://h?tls_ca=1&ssl_ca_certs=2", "'tls_ca' stands twice"},
        {"redis://h?a=%", "not followed by two digits"},
        {"redis://h?a=%4", "not followed by two digits"},
        {"redis://h?a=%4g", "not followed by two digits"},
        {"redis://h?a=%00", "not followed by two digits"},
        {"redis://h%zz", "not followed by two digits"},
        {"redis://%:p@h", "not followed by two digits"},
    };
    for (size_t i = 0; i < LENGTH(refusals); i++)
        is_refused(&refusals[i]);
}

static void a_very_long_address_is_refused(void **state) {
    (void)state;
    hf_uri *uri = NULL;
    hf_error err = {0, ""};
    char text[5000];
    memset(text, 'a', sizeof text);
    memcpy(text, "redis://", 8);
    text[sizeof text - 1] = '\0';
    assert_int_equal(hf_uri_parse(&uri, text, &err), HF_EURI);
    assert_non_null(strstr(err.text, "longer than 4096"));
    text[4096] = '\0';
    assert_int_equal(hf_uri_parse(&uri, text, &err), HF_OK);
    hf_uri_free(uri);
}

/* Passwords that somebody forgot to escape, or left without their host. */
static void no_message_repeats_a_password(void **state) {
    (void)state;
    static const char *const texts[] = {
        "redis://u:Tr0ub4dor",           "redis://:Tr0ub4dor",
        "redis://u:Tr0ub4dor@",          "redis://u:Tr0ub4dor@h:x",
        "redis://u:x/Tr0ub4dor@h",       "redis://u:1/Tr0ub4dor@h",
        "redis://u:1?Tr0ub4dor@h",       "redis://u:1?Tr0ub4dor=1@h",
        "redis://u:x@Tr0ub4dor@h",       "redis://u:x@1/Tr0ub4dor@h",
        "redis://u:x#Tr0ub4dor@h",       "redis://u:%Tr0ub4dor@h",
        "redis://u:Tr0ub4dor@a,b",       "redis://h?Tr0ub4dor",
        "rediz://u:Tr0ub4dor@h",         "redis:u:Tr0ub4dor@h",
        "zk://u:Tr0ub4dor@a,u:p@b",      "redis://u:[Tr0ub4dor",
        "redis+unix://u:Tr0ub4dor@",     "redlock://u:Tr0ub4dor@a,a",
        "redis+sentinel://:Tr0ub4dor@a",
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        hf_uri *uri = NULL;
        hf_error err = {0, ""};
        if (hf_uri_parse(&uri, texts[i], &err) != HF_EURI)
            fail_msg("%s was not refused", texts[i]);
        if (strstr(err.text, "Tr0ub4dor") != NULL)
            fail_msg("%s\n  says  %s", texts[i], err.text);
    }
}

static void credentials_stand_once(void **state) {
    (void)state;
    static const struct refusal refusals[] = {
        {"zk://u:p@a,u:p@b", "write it as %40"},
        {"redis://u:p@q@h", "write it as %40"},
        {"redis://u:p/q@h", "'/' as %2F"},
        {"redis://u:p@h/0?a=b@c", "write it as %40"},
    };
    for (size_t i = 0; i < LENGTH(refusals); i++)
        is_refused(&refusals[i]);
}

/* ---- parameters a store knows ------------------------------------------ */

static int check(const char *text, const char *const *known, hf_error *err) {
    hf_uri *uri = NULL;
    assert_int_equal(hf_uri_parse(&uri, text, NULL), HF_OK);
    int rc = hf__uri_check_params(uri, known, err);
    hf_uri_free(uri);
    return rc;
}

static void
an_unknown_parameter_is_refused_and_the_nearest_named(void **state) {
    (void)state;
    static const char *const known[] = {"db",      "tls_ca",        "tls_cert",
                                        "tls_key", "password_file", NULL};
    hf_error err = {0, ""};
    assert_int_equal(check("redis://h?db=1&tls_ca=x", known, &err), HF_OK);
    assert_int_equal(check("redis://h", NULL, &err), HF_OK);
    assert_int_equal(check("redis://h?tls_cs=x", known, &err), HF_EURI);
    assert_string_equal(err.text, "unknown parameter 'tls_cs' in the store's "
                                  "address: did you mean 'tls_ca'?");
    check("redis://h?paswordfile=x", known, &err);
    assert_non_null(strstr(err.text, "did you mean 'password_file'?"));
    check("redis://h?hf_tll=1", known, &err);
    assert_non_null(strstr(err.text, "did you mean 'hf_ttl'?"));
    check("redis://h?hf_compat=shedlock", known, &err);
    assert_string_equal(err.text,
                        "unknown parameter 'hf_compat' in the store's address");
    assert_int_equal(check("redis://h?db=1", NULL, &err), HF_EURI);
}

static void every_store_knows_prefix_ttl_and_timeout(void **state) {
    (void)state;
    hf_error err = {0, ""};
    static const char *const good[] = {"30", "1500ms", "30s", "5m",
                                       "2h", "1d",     "24d", "2147483647ms"};
    static const char *const bad[] = {"",
                                      "0",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 s",
                                      "s",
                                      "1.5",
                                      "25d",
                                      "2147483648ms",
                                      "1w",
                                      "1sm",
                                      "99999999999999999999"};
    char text[80];
    assert_int_equal(check("redis://h?hf_prefix=a:", NULL, &err), HF_OK);
    for (size_t i = 0; i < LENGTH(good); i++) {
        snprintf(text, sizeof text, "redis://h?hf_ttl=%s", good[i]);
        assert_int_equal(check(text, NULL, &err), HF_OK);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        snprintf(text, sizeof text, "redis://h?hf_timeout=%s", bad[i]);
        if (check(text, NULL, &err) != HF_EURI)
            fail_msg("%s was not refused", text);
        assert_non_null(strstr(err.text, "is not a duration"));
    }
}

static void presence_is_on_or_off(void **state) {
    (void)state;
    hf_error err = {0, ""};
    assert_int_equal(check("redis://h?hf_presence=on", NULL, &err), HF_OK);
    assert_int_equal(check("redis://h?hf_presence=off", NULL, &err), HF_OK);
    assert_int_equal(check("redis://h?hf_presence=", NULL, &err), HF_EURI);
    assert_int_equal(check("redis://h?hf_presence=no", NULL, &err), HF_EURI);
    assert_string_equal(err.text,
                        "hf_presence=no in the store's address: write on, or "
                        "off to keep no record of what is held and waited for");
}

static void a_duration_is_read_in_milliseconds(void **state) {
    (void)state;
    hf_uri *uri = NULL;
    int ms = 7;
    assert_int_equal(hf_uri_parse(&uri, "redis://h?a=90&b=2m&c=15ms", NULL), 0);
    assert_int_equal(hf__uri_ms(uri, "z", &ms, NULL), HF_OK);
    assert_int_equal(ms, 7);
    assert_int_equal(hf__uri_ms(uri, "a", &ms, NULL), HF_OK);
    assert_int_equal(ms, 90000);
    assert_int_equal(hf__uri_ms(uri, "b", &ms, NULL), HF_OK);
    assert_int_equal(ms, 120000);
    assert_int_equal(hf__uri_ms(uri, "c", &ms, NULL), HF_OK);
    assert_int_equal(ms, 15);
    hf_uri_free(uri);
}

static void the_nearest_word_is_suggested_or_none(void **state) {
    (void)state;
    static const char *const known[] = {"acquire", "release", "renew", "zk",
                                        NULL};
    static const char *const empty[] = {NULL};
    char longword[100];
    assert_string_equal(hf__uri_suggest("aquire", known), "acquire");
    assert_string_equal(hf__uri_suggest("erlease", known), "release");
    assert_string_equal(hf__uri_suggest("renwe", known), "renew");
    assert_string_equal(hf__uri_suggest("zk3", known), "zk");
    assert_string_equal(hf__uri_suggest("release", known), "release");
    assert_string_equal(hf__uri_suggest("acq", known), "acquire");
    assert_null(hf__uri_suggest("banana", known));
    assert_null(hf__uri_suggest("", known));
    assert_null(hf__uri_suggest("x", empty));
    assert_null(hf__uri_suggest("x", NULL));
    memset(longword, 'r', sizeof longword);
    longword[sizeof longword - 1] = '\0';
    assert_null(hf__uri_suggest(longword, known));
}

/* ---- what is shown ----------------------------------------------------- */

static void is_shown_as(const char *text, const char *expected) {
    char buf[512];
    size_t n = hf_uri_redact(text, buf, sizeof buf);
    if (strcmp(buf, expected) != 0)
        fail_msg("%s\n  is shown as  %s\n  not as       %s", text, buf,
                 expected);
    assert_int_equal(n, strlen(expected));
}

static void an_address_is_shown_without_its_secrets(void **state) {
    (void)state;
    static const struct reading shown[] = {
        {"redis://h", "redis://h"},
        {"redis://h:6379/0?db=1", "redis://h:6379/0?db=1"},
        {"redis://[::1]:6379", "redis://[::1]:6379"},
        {"redis+cluster://[::1],[::2]:7,h:8",
         "redis+cluster://[::1],[::2]:7,h:8"},
        {"redis://user:pw@h:6379/0", "redis://user:***@h:6379/0"},
        {"redis://:pw@h", "redis://:***@h"},
        {"redis://user:@h", "redis://user:***@h"},
        {"redis://pw@h", "redis://***@h"},
        {"redlock://pw@a,b,c", "redlock://***@a,b,c"},
        {"postgresql://alice@db/x", "postgresql://alice@db/x"},
        {"postgresql://alice:pw@a:1,b:2/x", "postgresql://alice:***@a:1,b:2/x"},
        {"mariadb://h?password=pw&a=b", "mariadb://h?password=***&a=b"},
        {"postgresql://h/x?hf_listen=postgresql%3A%2F%2Fu%3Apw%40h&a=b",
         "postgresql://h/x?hf_listen=***&a=b"},
        {"redis://h?a=b&PassWord=pw", "redis://h?a=b&PassWord=***"},
        {"redis://h?sentinel_password=pw", "redis://h?sentinel_password=***"},
        {"redis://h?p%61ss=pw", "redis://h?p%61ss=***"},
        {"x://h?client_secret=pw&b=1", "x://h?client_secret=***&b=1"},
        {"x://h?auth=pw&api_key=pw", "x://h?auth=***&api_key=***"},
        {"x://h?access_token=pw=pw?pw;pw", "x://h?access_token=***"},
        {"rediss://h?tls_key=/k&tls_ca=/c", "rediss://h?tls_key=/k&tls_ca=/c"},
        {"redis+sentinel://:pw@a,b/m?sentinel_user=u&sentinel_password=pw",
         "redis+sentinel://:***@a,b/m?sentinel_user=u&sentinel_password=***"},
        {"redis+sentinel://a/m?sentinel_tls=on&sentinel_tls_key=/k",
         "redis+sentinel://a/m?sentinel_tls=on&sentinel_tls_key=/k"},
        {"sqlite:/tmp/a:b@c.db", "sqlite:/tmp/a:b@c.db"},
        {"sqlite:///tmp/a:b@c.db?x=1", "sqlite:///tmp/a:b@c.db?x=1"},
        {"/tmp/a:b@c.db", "/tmp/a:b@c.db"},
        {"./a@b.db", "./a@b.db"},
        {"unix://u:pw@/run/s", "unix://u:***@/run/s"},
        {"host=h password=pw dbname=x", "host=h password=*** dbname=x"},
        {"host=h password = 'p\\'w w' dbname=x",
         "host=h password =*** dbname=x"},
        {"password='pw", "password=***"},
        {"memory:", "memory:"},
    };
    for (size_t i = 0; i < LENGTH(shown); i++)
        is_shown_as(shown[i].text, shown[i].expected);
}

static void what_cannot_be_parsed_is_shown_without_secrets_too(void **state) {
    (void)state;
    static const struct reading shown[] = {
        {NULL, ""},
        {"", ""},
        {"@", "@"},
        {":@", ":***@"},
        {"://", "://"},
        {"//", "//"},
        {"redis://", "redis://"},
        {"redis://u:p/w@h", "redis://u:***@h"},
        {"redis://u:p?w#x@h/0", "redis://u:***@h/0"},
        {"redis://u:p@w@h", "redis://u:***@h"},
        {"redis://u:p@a,u:q@b", "redis://u:***@b"},
        {"redis://u:pw", "redis://u:***"},
        {"redis://:pw", "redis://:***"},
        {"redis://u:12pw/0", "redis://u:***/0"},
        {"redis://a:1,b:pw,c:2", "redis://a:1,b:***,c:2"},
        {"redis:u:pw@h", "redis:***@h"},
        {"u:pw@h", "u:***@h"},
        {":p=w@h", ":***@h"},
        {"sqlite://u:pw@h/x", "sqlite://u:***@h/x"},
        {"redis://h?x?password=pw", "redis://h?x?password=***"},
        {"redis://h?a=b?password=pw", "redis://h?a=b?password=***"},
        {"h?password=a b&x=1", "h?password=***&x=1"},
        {"redis://h?password", "redis://h?password"},
        {"zk://h?password=pw&a@b", "zk://***@b"},
        {"zk://h?password=pw&a:b@c", "zk://***@c"},
        {"zk://h&password=pw", "zk://h&password=***"},
        {"redis://h\n\x1b[2J", "redis://h??[2J"},
    };
    for (size_t i = 0; i < LENGTH(shown); i++)
        is_shown_as(shown[i].text, shown[i].expected);
}

static void a_short_buffer_gets_what_fits(void **state) {
    (void)state;
    const char *text = "redis://u:secret@h";
    const char *shown = "redis://u:***@h";
    for (size_t size = 0; size < 20; size++) {
        char *buf = malloc(size + 1);
        memset(buf, 'x', size + 1);
        assert_int_equal(hf_uri_redact(text, buf, size), strlen(shown));
        if (size > 0) {
            size_t n = size - 1 < strlen(shown) ? size - 1 : strlen(shown);
            assert_memory_equal(buf, shown, n);
            assert_int_equal(buf[n], '\0');
        }
        assert_int_equal(buf[size], 'x');
        free(buf);
    }
    assert_int_equal(hf_uri_redact(text, NULL, 0), strlen(shown));
}

/* ---- the default ------------------------------------------------------- */

/* Whoever may write the host's own store gets that; nobody makes it here. */
static void user_store_is(const char *expected) {
    char buf[256];
    if (access("/var/lib/holdfast", W_OK) == 0)
        expected = "sqlite:/var/lib/holdfast/holdfast.db";
    assert_int_equal(hf_default_store(buf, sizeof buf), strlen(expected));
    assert_string_equal(buf, expected);
}

static void the_default_store_is_the_users_own(void **state) {
    (void)state;
    hf_uri *uri = NULL;
    setenv("XDG_STATE_HOME", "/x/state", 1);
    setenv("HOME", "/home/me", 1);
    user_store_is("sqlite:/x/state/holdfast/holdfast.db");
    setenv("XDG_STATE_HOME", "relative", 1);
    user_store_is("sqlite:/home/me/.local/state/holdfast/holdfast.db");
    unsetenv("XDG_STATE_HOME");
    setenv("HOME", "/home/50%?#", 1);
    user_store_is("sqlite:/home/50%25%3F%23/.local/state/holdfast/holdfast.db");
    setenv("HOME", "/", 1); /* two slashes would name a host */
    user_store_is("sqlite:/.local/state/holdfast/holdfast.db");
    setenv("XDG_STATE_HOME", "/", 1);
    user_store_is("sqlite:/holdfast/holdfast.db");
    unsetenv("XDG_STATE_HOME");

    char buf[256];
    hf_default_store(buf, sizeof buf);
    assert_int_equal(hf_uri_parse(&uri, buf, NULL), HF_OK);
    hf_uri_free(uri);
    unsetenv("HOME");
    assert_true(hf_default_store(buf, sizeof buf) > strlen("sqlite:/"));
    assert_true(hf_default_store(NULL, 0) > strlen("sqlite:/"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_way_to_name_a_file_is_read),
    cmocka_unit_test(every_way_to_name_a_redis_is_read),
    cmocka_unit_test(names_that_other_clients_use_are_translated),
    cmocka_unit_test(sockets_are_read),
    cmocka_unit_test(lists_of_hosts_are_read),
    cmocka_unit_test(addresses_of_databases_are_read),
    cmocka_unit_test(a_parameter_is_found_by_its_name),
    cmocka_unit_test(what_cannot_be_an_address_is_refused_with_advice),
    cmocka_unit_test(a_file_that_was_probably_not_meant_is_refused),
    cmocka_unit_test(wrong_hosts_and_ports_are_refused),
    cmocka_unit_test(several_hosts_want_a_scheme_that_says_what_they_mean),
    cmocka_unit_test(wrong_paths_and_parameters_are_refused),
    cmocka_unit_test(a_very_long_address_is_refused),
    cmocka_unit_test(no_message_repeats_a_password),
    cmocka_unit_test(credentials_stand_once),
    cmocka_unit_test(an_unknown_parameter_is_refused_and_the_nearest_named),
    cmocka_unit_test(every_store_knows_prefix_ttl_and_timeout),
    cmocka_unit_test(presence_is_on_or_off),
    cmocka_unit_test(a_duration_is_read_in_milliseconds),
    cmocka_unit_test(the_nearest_word_is_suggested_or_none),
    cmocka_unit_test(an_address_is_shown_without_its_secrets),
    cmocka_unit_test(what_cannot_be_parsed_is_shown_without_secrets_too),
    cmocka_unit_test(a_short_buffer_gets_what_fits),
    cmocka_unit_test(the_default_store_is_the_users_own),
};
HF_SUITE(tests)
