/* SPDX-License-Identifier: MIT
 *
 * mariadb.c - MariaDB servers and their fate.
 *
 * An empty data folder is made once for all tests of a build and copied, with
 * small files.  Nothing is synchronised to disk: what a server is killed for is
 * the process, and the kernel keeps what it wrote. */
#include "mariadb.h"

#include "dir.h"
#include "port.h"
#include "process.h"
#include "quorum.h"
#include "tls.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <mysql.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct hf_test_mariadb {
    hf_test_mariadb_options options;
    pid_t pid; /* 0: it does not run */
    int port;
    char dir[96], socket[108], uri[96];
};

/* What `ask` asks in. */
static char database[64] = "locks";

/* ---- programs ---------------------------------------------------------- */

static const char *server_program(void) {
    return access("/usr/sbin/mariadbd", X_OK) == 0 ? "/usr/sbin/mariadbd" :
                                                     "mariadbd";
}

const char *hf_test_mariadb_missing(void) {
    return !hf_test_installed("mariadb-install-db") ||
                   (access("/usr/sbin/mariadbd", X_OK) != 0 &&
                    !hf_test_installed("mariadbd")) ?
               "MariaDB is not installed" :
           geteuid() == 0 && getpwnam("mysql") == NULL ?
               "there is no user mysql" :
           geteuid() == 0 && !hf_test_installed("setpriv") ?
               "setpriv is not installed" :
               NULL;
}

/* The death signal is lost with the user, so whoever changes that sets it. */
static void as_mysql(hf_test_args *a) {
    if (geteuid() != 0)
        return;
    hf_test_arg(a, "setpriv");
    hf_test_arg(a, "--reuid=mysql");
    hf_test_arg(a, "--regid=mysql");
    hf_test_arg(a, "--clear-groups");
    hf_test_arg(a, "--pdeathsig=KILL");
}

static void free_args(hf_test_args *a) {
    for (int i = 0; i < a->n; i++)
        free(a->v[i]);
}

static void run(hf_test_args *a) {
    int status = hf_test_run(a->v);
    if (status != 0)
        fail_msg("%s … %s: status %d", a->v[0], a->v[a->n - 1], status);
    free_args(a);
}

/* So that it may reach what is its own. */
static void give(const char *path) {
    const struct passwd *p = getpwnam("mysql");
    if (geteuid() != 0 || p == NULL)
        return;
    assert_int_equal(chmod(hf_test_dir(), 0711), 0);
    assert_int_equal(chown(path, p->pw_uid, p->pw_gid), 0);
}

static void make_folder(const char *path) {
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    give(path);
}

static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    give(path);
}

/* ---- an empty one ------------------------------------------------------ */

/* What must be the same when it is made and when it runs. */
static void add_sizes(hf_test_args *a) {
    hf_test_arg(a, "--innodb-log-file-size=16M");
    hf_test_arg(a, "--innodb-buffer-pool-size=32M");
    hf_test_arg(a, "--innodb-undo-tablespaces=0");
    hf_test_arg(a, "--innodb-fast-shutdown=0");
}

static void make_template(const char *dir) {
    hf_test_args a = {.n = 0};
    as_mysql(&a);
    hf_test_arg(&a, "mariadb-install-db");
    hf_test_arg(&a, "--no-defaults");
    hf_test_arg(&a, "--datadir=%s", dir);
    hf_test_arg(&a, "--auth-root-authentication-method=normal");
    hf_test_arg(&a, "--skip-test-db");
    add_sizes(&a);
    run(&a);
}

/* One process makes it, while the others wait. */
static const char *template(void) {
    static char dir[160];
    char lock[176], ready[192];
    const char *base = getenv("HF_TEST_DIR");
    snprintf(dir, sizeof dir, "%.100s/my-template-%d",
             base != NULL ? base : hf_test_dir(), (int)geteuid());
    snprintf(lock, sizeof lock, "%s.lock", dir);
    snprintf(ready, sizeof ready, "%s.ready", dir);
    int fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    if (access(ready, F_OK) != 0) {
        hf_test_args a = {.n = 0};
        hf_test_arg(&a, "rm");
        hf_test_arg(&a, "-rf");
        hf_test_arg(&a, "%s", dir);
        run(&a);
        make_folder(dir);
        make_template(dir);
        write_text(ready, "");
    }
    close(fd);
    return dir;
}

static const char users[] =
    "CREATE DATABASE IF NOT EXISTS locks;\n"
    "CREATE USER IF NOT EXISTS app;\n"
    "CREATE USER IF NOT EXISTS guest;\n"
    "CREATE USER IF NOT EXISTS secret IDENTIFIED BY 'secret';\n"
    "CREATE USER IF NOT EXISTS few WITH MAX_USER_CONNECTIONS 3;\n"
    "GRANT ALL ON locks.* TO app;\n"
    "GRANT ALL ON `t\\_%`.* TO app;\n"
    "GRANT ALL ON locks.* TO secret;\n"
    "GRANT ALL ON locks.* TO few;\n"
    "GRANT SELECT ON locks.* TO guest;\n";

static void copy_template(const hf_test_mariadb *m) {
    char path[128];
    hf_test_args a = {.n = 0};
    make_folder(m->dir);
    hf_test_arg(&a, "cp");
    hf_test_arg(&a, "-a");
    hf_test_arg(&a, "%s", template());
    hf_test_arg(&a, "%s/data", m->dir);
    run(&a);
    snprintf(path, sizeof path, "%s/users.sql", m->dir);
    write_text(path, users);
}

/* ---- life -------------------------------------------------------------- */

static void copy_for_it(const hf_test_mariadb *m, const char *from,
                        const char *name) {
    char path[128];
    hf_test_args a = {.n = 0};
    snprintf(path, sizeof path, "%s/%s", m->dir, name);
    hf_test_arg(&a, "cp");
    hf_test_arg(&a, "%s", from);
    hf_test_arg(&a, "%s", path);
    run(&a);
    give(path);
}

static void add_tls(const hf_test_mariadb *m, hf_test_args *a) {
    const hf_test_tls *tls = hf_test_tls_files();
    copy_for_it(m, tls->key, "key");
    copy_for_it(m, tls->cert, "cert");
    hf_test_arg(a, "--ssl-key=%s/key", m->dir);
    hf_test_arg(a, "--ssl-cert=%s/cert", m->dir);
}

void hf_test_mariadb_revive(hf_test_mariadb *m) {
    char path[128];
    hf_test_args a = {.n = 0};
    as_mysql(&a);
    hf_test_arg(&a, "%s", server_program());
    hf_test_arg(&a, "--no-defaults");
    hf_test_arg(&a, "--datadir=%s/data", m->dir);
    hf_test_arg(&a, "--socket=%s", m->socket);
    hf_test_arg(&a, "--port=%d", m->port);
    hf_test_arg(&a, "--bind-address=127.0.0.1");
    hf_test_arg(&a, "--pid-file=%s/pid", m->dir);
    hf_test_arg(&a, "--init-file=%s/users.sql", m->dir);
    hf_test_arg(&a, "--skip-name-resolve");
    hf_test_arg(&a, "--max-connections=500");
    hf_test_arg(&a, "--innodb-flush-log-at-trx-commit=2");
    hf_test_arg(&a, "--innodb-flush-method=nosync");
    hf_test_arg(&a, "--skip-sync-frm");
    hf_test_arg(&a, "--tmpdir=%s", m->dir);
    add_sizes(&a);
    if (m->options.tls)
        add_tls(m, &a);
    for (const char *const *p = m->options.settings; p != NULL && *p != NULL;
         p++)
        hf_test_arg(&a, "%s", *p);
    snprintf(path, sizeof path, "%s/log", m->dir);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    m->pid = hf_test_spawn(a.v, -1, log, log);
    close(log);
    free_args(&a);
    assert_true(m->pid > 1);
}

static void await_answer(hf_test_mariadb *m) {
    int64_t by = hf_test_now_ms() + 2 * HF_TEST_LONG;
    while (strcmp(hf_test_mariadb_ask(m->port, "SELECT 1"), "1") != 0) {
        if (waitpid(m->pid, NULL, WNOHANG) == m->pid) {
            m->pid = 0;
            fail_msg("MariaDB does not start: see %s/log", m->dir);
        }
        if (hf_test_now_ms() > by)
            fail_msg("MariaDB does not answer: see %s/log", m->dir);
        hf_test_breathe();
    }
}

static hf_test_mariadb *launch(const hf_test_mariadb_options *options) {
    const char *missing = hf_test_mariadb_missing();
    hf_test_need(missing == NULL, missing);
    hf_test_mariadb *m = calloc(1, sizeof *m);
    assert_non_null(m);
    if (options != NULL)
        m->options = *options;
    hf_test_fresh_path(m->dir, sizeof m->dir, "my");
    m->port = hf_test_free_port();
    snprintf(m->socket, sizeof m->socket, "%s/s", m->dir);
    snprintf(m->uri, sizeof m->uri, "mariadb://app@127.0.0.1:%d/locks",
             m->port);
    copy_template(m);
    hf_test_mariadb_revive(m);
    return m;
}

hf_test_mariadb *hf_test_mariadb_start(const hf_test_mariadb_options *options) {
    hf_test_mariadb *m = launch(options);
    await_answer(m);
    return m;
}

void hf_test_mariadb_crash(hf_test_mariadb *m) {
    hf_test_kill(m->pid);
    m->pid = 0;
}

void hf_test_mariadb_restart(hf_test_mariadb *m) {
    if (m->pid != 0)
        hf_test_mariadb_crash(m);
    hf_test_mariadb_revive(m);
    await_answer(m);
}

void hf_test_mariadb_pause(hf_test_mariadb *m) {
    hf_test_pause(m->pid);
}

void hf_test_mariadb_resume(hf_test_mariadb *m) {
    hf_test_resume(m->pid);
}

void hf_test_mariadb_stop(hf_test_mariadb *m) {
    if (m == NULL)
        return;
    if (m->pid != 0)
        hf_test_mariadb_crash(m);
    free(m);
}

int hf_test_mariadb_port(const hf_test_mariadb *m) {
    return m->port;
}

const char *hf_test_mariadb_socket(const hf_test_mariadb *m) {
    return m->socket;
}

const char *hf_test_mariadb_uri(const hf_test_mariadb *m) {
    return m->uri;
}

/* ---- asking by hand ---------------------------------------------------- */

/* The library ignores SIGPIPE for everybody when it is first used. */
static void start_library(void) {
    static bool started;
    struct sigaction before;
    if (started)
        return;
    started = true;
    sigaction(SIGPIPE, NULL, &before);
    mysql_library_init(0, NULL, NULL);
    sigaction(SIGPIPE, &before, NULL);
}

/* NULL: it is not there; *my says why. */
static MYSQL *dial(MYSQL *my, int port) {
    unsigned protocol = MYSQL_PROTOCOL_TCP, patience = 5;
    mysql_options(my, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &patience);
    return mysql_real_connect(my, "127.0.0.1", "root", NULL, database,
                              (unsigned)port, NULL, CLIENT_MULTI_STATEMENTS);
}

static const char *ask(int port, const char *script) {
    static char answer[4096];
    start_library();
    MYSQL *my = mysql_init(NULL);
    assert_non_null(my);
    answer[0] = '\0';
    int failed = dial(my, port) == NULL ? 1 : mysql_query(my, script);
    while (failed == 0) {
        MYSQL_RES *r = mysql_store_result(my);
        MYSQL_ROW row = r != NULL ? mysql_fetch_row(r) : NULL;
        snprintf(answer, sizeof answer, "%s",
                 row != NULL && row[0] != NULL ? row[0] : "");
        mysql_free_result(r);
        failed = mysql_next_result(my);
    }
    if (failed > 0)
        snprintf(answer, sizeof answer, "-%u %s", mysql_errno(my),
                 mysql_error(my));
    mysql_close(my);
    return answer;
}

MYSQL *hf_test_mariadb_open(int port) {
    start_library();
    MYSQL *my = mysql_init(NULL);
    assert_non_null(my);
    if (dial(my, port) == NULL)
        fail_msg("%s", mysql_error(my));
    return my;
}

void hf_test_mariadb_say(MYSQL *my, const char *statement) {
    if (mysql_query(my, statement) != 0)
        fail_msg("%s: %s", statement, mysql_error(my));
    mysql_free_result(mysql_store_result(my));
}

void hf_test_mariadb_close(MYSQL *my) {
    mysql_close(my);
}

const char *hf_test_mariadb_ask(int port, const char *format, ...) {
    static char script[16384];
    va_list ap;
    va_start(ap, format);
    vsnprintf(script, sizeof script, format, ap);
    va_end(ap);
    return ask(port, script);
}

int64_t hf_test_mariadb_number(int port, const char *format, ...) {
    char script[2048];
    va_list ap;
    va_start(ap, format);
    vsnprintf(script, sizeof script, format, ap);
    va_end(ap);
    const char *answer = ask(port, script);
    if (*answer == '-' && strchr(answer, ' ') != NULL)
        fail_msg("%s: %s", script, answer);
    return atoll(answer);
}

/* ---- to be lent -------------------------------------------------------- */

static int borrowed_port;

void hf_test_mariadb_borrow(char *uri, size_t size) {
    unsigned long long part = 0;
    const hf_test_set *set = hf_test_borrow(&hf_test_mariadb_sort);
    char name[32];
    assert_int_equal(getrandom(&part, sizeof part, 0), sizeof part);
    snprintf(name, sizeof name, "t_%016llx", part);
    borrowed_port = set->ports[0];
    assert_string_equal(
        hf_test_mariadb_ask(borrowed_port, "CREATE DATABASE %s", name), "");
    snprintf(database, sizeof database, "%s", name);
    snprintf(uri, size, "mariadb://app@127.0.0.1:%d/%s", borrowed_port, name);
}

void hf_test_mariadb_borrow_patiently(char *uri, size_t size) {
    hf_test_mariadb_borrow(uri, size);
    strncat(uri, "?hf_timeout=10s", size - strlen(uri) - 1);
}

int hf_test_mariadb_borrowed_port(void) {
    return borrowed_port;
}

static void *start_set(hf_test_set *ret) {
    hf_test_mariadb *m = launch(NULL);
    snprintf(ret->uri, sizeof ret->uri, "%s", m->uri);
    ret->ports[0] = m->port;
    ret->n_ports = 1;
    return m;
}

static void await_set(void *server) {
    await_answer(server);
}

static void stop_set(void *server) {
    hf_test_mariadb_stop(server);
}

/* Many use it at once, each its own database. */
static bool leave_as_it_is(const hf_test_set *set) {
    (void)set;
    return true;
}

const hf_test_sort hf_test_mariadb_sort = {
    .name = "mariadb",
    .shared = true,
    .missing = hf_test_mariadb_missing,
    .start = start_set,
    .await = await_set,
    .stop = stop_set,
    .empty = leave_as_it_is,
};
