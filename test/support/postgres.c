/* SPDX-License-Identifier: MIT
 *
 * postgres.c - PostgreSQL servers and their fate.
 *
 * To make an empty database takes initdb seconds, so it is made once for all
 * tests of a build and copied.  Not synchronised to disk unless asked for: what
 * a server is killed for is the process, and the kernel keeps what it wrote. */
#include "postgres.h"

#include "dir.h"
#include "port.h"
#include "process.h"
#include "quorum.h"
#include "stage.h"
#include "tls.h"
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libpq-fe.h>
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

struct hf_test_postgres {
    hf_test_postgres_options options;
    pid_t pid; /* 0: it does not run */
    int port;
    char dir[96], uri[96];
};

struct hf_test_pgbouncer {
    pid_t pid;
    int port;
    char uri[96];
};

/* ---- programs ---------------------------------------------------------- */

/* The newest that is installed; "" if none is. */
static const char *bin(void) {
    static char folder[128];
    glob_t found;
    if (*folder != '\0')
        return folder;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) == 0)
        snprintf(folder, sizeof folder, "%.*s",
                 (int)(strlen(found.gl_pathv[found.gl_pathc - 1]) -
                       strlen("/postgres")),
                 found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return folder;
}

const char *hf_test_postgres_missing(void) {
    return *bin() == '\0' ? "PostgreSQL is not installed" :
           geteuid() == 0 && getpwnam("postgres") == NULL ?
                            "there is no user postgres" :
           geteuid() == 0 && !hf_test_installed("setpriv") ?
                            "setpriv is not installed" :
                            NULL;
}

const char *hf_test_pgbouncer_missing(void) {
    return access("/usr/sbin/pgbouncer", X_OK) == 0 ?
               hf_test_postgres_missing() :
               "PgBouncer is not installed";
}

/* The death signal is lost with the user, so whoever changes that sets it. */
static void as_postgres(hf_test_args *a, const char *sig) {
    if (geteuid() != 0)
        return;
    hf_test_arg(a, "setpriv");
    hf_test_arg(a, "--reuid=postgres");
    hf_test_arg(a, "--regid=postgres");
    hf_test_arg(a, "--clear-groups");
    hf_test_arg(a, "--pdeathsig=%s", sig);
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

/* So that they may reach what is theirs. */
static void give(const char *path) {
    const struct passwd *p = getpwnam("postgres");
    if (geteuid() != 0 || p == NULL)
        return;
    assert_int_equal(chmod(hf_test_dir(), 0711), 0);
    assert_int_equal(chown(path, p->pw_uid, p->pw_gid), 0);
}

static void make_folder(const char *path) {
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    give(path);
}

static FILE *append(const char *dir, const char *name) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "ae");
    assert_non_null(f);
    return f;
}

/* ---- an empty one ------------------------------------------------------ */

static const char users[] = "CREATE ROLE app LOGIN\n"
                            "CREATE ROLE guest LOGIN\n"
                            "CREATE ROLE secret LOGIN PASSWORD 'secret'\n"
                            "CREATE DATABASE locks OWNER app\n";

static const char who_may[] = "local all all trust\n"
                              "host all secret 127.0.0.1/32 scram-sha-256\n"
                              "host all all 127.0.0.1/32 trust\n"
                              "host replication all 127.0.0.1/32 trust\n";

static void write_users(const char *dir) {
    hf_test_args a = {.n = 0};
    char path[192];
    snprintf(path, sizeof path, "%s.sql", dir);
    FILE *f = fopen(path, "w+e");
    assert_non_null(f);
    fputs(users, f);
    rewind(f);
    as_postgres(&a, "KILL");
    hf_test_arg(&a, "%s/postgres", bin());
    hf_test_arg(&a, "--single");
    hf_test_arg(&a, "-D%s", dir);
    hf_test_arg(&a, "-F");
    hf_test_arg(&a, "postgres");
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), status = -1;
    pid_t pid = hf_test_spawn(a.v, fileno(f), null, null);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    free_args(&a);
    close(null);
    fclose(f);
    unlink(path);
}

static void make_template(const char *dir) {
    char path[192];
    hf_test_args a = {.n = 0};
    as_postgres(&a, "KILL");
    hf_test_arg(&a, "%s/initdb", bin());
    hf_test_arg(&a, "-D%s", dir);
    hf_test_arg(&a, "-N");
    hf_test_arg(&a, "-Upostgres");
    hf_test_arg(&a, "--wal-segsize=1");
    hf_test_arg(&a, "-EUTF8");
    hf_test_arg(&a, "--locale=C");
    run(&a);
    write_users(dir);
    snprintf(path, sizeof path, "%s/pg_hba.conf", dir);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(who_may, f);
    fclose(f);
}

/* One process makes it, while the others wait. */
static const char *template(void) {
    static char dir[160];
    char lock[176], ready[192];
    const char *base = getenv("HF_TEST_DIR");
    snprintf(dir, sizeof dir, "%.100s/pg-template-%d",
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
        fd = (close(fd), open(ready, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    }
    close(fd);
    return dir;
}

static void copy_template(const char *dir) {
    hf_test_args a = {.n = 0};
    hf_test_arg(&a, "cp");
    hf_test_arg(&a, "-a");
    hf_test_arg(&a, "%s", template());
    hf_test_arg(&a, "%s", dir);
    run(&a);
    give(dir);
}

static void copy_primary(const char *dir, const hf_test_postgres *from) {
    hf_test_args a = {.n = 0};
    make_folder(dir);
    as_postgres(&a, "KILL");
    hf_test_arg(&a, "%s/pg_basebackup", bin());
    hf_test_arg(&a, "-D%s", dir);
    hf_test_arg(&a, "-h127.0.0.1");
    hf_test_arg(&a, "-p%d", from->port);
    hf_test_arg(&a, "-Upostgres");
    hf_test_arg(&a, "-R");
    hf_test_arg(&a, "-N");
    hf_test_arg(&a, "-cfast");
    run(&a);
}

/* ---- settings ---------------------------------------------------------- */

/* PostgreSQL wants the key to itself. */
static void write_tls(const char *dir, FILE *f) {
    const hf_test_tls *tls = hf_test_tls_files();
    hf_test_args a = {.n = 0};
    char key[192];
    snprintf(key, sizeof key, "%s/server.key", dir);
    hf_test_arg(&a, "cp");
    hf_test_arg(&a, "%s", tls->key);
    hf_test_arg(&a, "%s", key);
    run(&a);
    assert_int_equal(chmod(key, 0600), 0);
    give(key);
    a = (hf_test_args){.n = 0};
    hf_test_arg(&a, "cp");
    hf_test_arg(&a, "%s", tls->cert);
    hf_test_arg(&a, "%s/server.crt", dir);
    run(&a);
    snprintf(key, sizeof key, "%s/server.crt", dir);
    give(key);
    fprintf(f, "ssl=on\n");
}

static void configure(const hf_test_postgres *pg) {
    const hf_test_postgres_options *o = &pg->options;
    FILE *f = append(pg->dir, "postgresql.conf");
    fprintf(f,
            "port=%d\nlisten_addresses='127.0.0.1'\n"
            "unix_socket_directories='%s'\nmax_connections=300\n"
            "shared_buffers=16MB\njit=off\nautovacuum=off\n"
            "fsync=%s\nfull_page_writes=%s\nwal_sender_timeout=5s\n",
            pg->port, pg->dir, o->durable ? "on" : "off",
            o->durable ? "on" : "off");
    if (o->tls)
        write_tls(pg->dir, f);
    for (const char *const *p = o->settings; p != NULL && *p != NULL; p++)
        fprintf(f, "%s\n", *p);
    fclose(f);
}

/* ---- life -------------------------------------------------------------- */

void hf_test_postgres_revive(hf_test_postgres *pg) {
    char path[128];
    hf_test_args a = {.n = 0};
    as_postgres(&a, "QUIT");
    hf_test_arg(&a, "%s/postgres", bin());
    hf_test_arg(&a, "-D%s", pg->dir);
    snprintf(path, sizeof path, "%s.log", pg->dir);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    pg->pid = hf_test_spawn(a.v, -1, log, log);
    close(log);
    free_args(&a);
    assert_true(pg->pid > 1);
}

/* False: it ended. */
static bool becomes_ready(hf_test_postgres *pg) {
    int64_t by = hf_test_now_ms() + 2 * HF_TEST_LONG;
    while (strcmp(hf_test_sql(pg->port, "SELECT 1"), "1") != 0) {
        if (waitpid(pg->pid, NULL, WNOHANG) == pg->pid) {
            pg->pid = 0;
            return false;
        }
        if (hf_test_now_ms() > by)
            fail_msg("PostgreSQL does not answer: see %s.log", pg->dir);
        hf_test_breathe();
    }
    return true;
}

static hf_test_postgres *launch(const hf_test_postgres_options *options) {
    const char *missing = hf_test_postgres_missing();
    hf_test_need(missing == NULL, missing);
    hf_test_postgres *pg = calloc(1, sizeof *pg);
    assert_non_null(pg);
    if (options != NULL)
        pg->options = *options;
    hf_test_fresh_path(pg->dir, sizeof pg->dir, "pg");
    pg->port = hf_test_free_port();
    snprintf(pg->uri, sizeof pg->uri, "postgresql://app@127.0.0.1:%d/locks",
             pg->port);
    if (pg->options.standby_of != NULL)
        copy_primary(pg->dir, pg->options.standby_of);
    else
        copy_template(pg->dir);
    configure(pg);
    hf_test_postgres_revive(pg);
    return pg;
}

hf_test_postgres *
hf_test_postgres_start(const hf_test_postgres_options *options) {
    hf_test_postgres *pg = launch(options);
    if (!becomes_ready(pg))
        fail_msg("PostgreSQL does not start: see %s.log", pg->dir);
    return pg;
}

void hf_test_postgres_crash(hf_test_postgres *pg) {
    hf_test_signal(pg->pid, SIGQUIT);
    while (pg->pid > 0 && waitpid(pg->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    pg->pid = 0;
}

void hf_test_postgres_restart(hf_test_postgres *pg) {
    if (pg->pid != 0)
        hf_test_postgres_crash(pg);
    hf_test_postgres_revive(pg);
    if (!becomes_ready(pg))
        fail_msg("PostgreSQL does not come back: see %s.log", pg->dir);
}

void hf_test_postgres_stop(hf_test_postgres *pg) {
    if (pg == NULL)
        return;
    hf_test_postgres_crash(pg);
    free(pg);
}

int hf_test_postgres_port(const hf_test_postgres *pg) {
    return pg->port;
}

const char *hf_test_postgres_uri(const hf_test_postgres *pg) {
    return pg->uri;
}

/* ---- asking by hand ---------------------------------------------------- */

static void quiet(void *arg, const PGresult *notice) {
    (void)arg, (void)notice;
}

PGconn *hf_test_sql_open(int port) {
    char info[128];
    snprintf(info, sizeof info,
             "host=127.0.0.1 port=%d user=postgres dbname=locks "
             "connect_timeout=5",
             port);
    PGconn *conn = PQconnectdb(info);
    PQsetNoticeReceiver(conn, quiet, NULL);
    return conn;
}

/* Frees the script. */
static const char *ask(int port, char *script) {
    static char answer[4096];
    PGconn *conn = hf_test_sql_open(port);
    PGresult *r = PQexec(conn, script);
    if (PQresultStatus(r) == PGRES_TUPLES_OK)
        snprintf(answer, sizeof answer, "%s",
                 PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
    else if (PQresultStatus(r) == PGRES_COMMAND_OK)
        answer[0] = '\0';
    else
        snprintf(answer, sizeof answer, "-%s", PQerrorMessage(conn));
    PQclear(r);
    PQfinish(conn);
    free(script);
    return answer;
}

const char *hf_test_sql(int port, const char *format, ...) {
    char *script;
    va_list ap;
    va_start(ap, format);
    assert_true(vasprintf(&script, format, ap) >= 0);
    va_end(ap);
    return ask(port, script);
}

int64_t hf_test_sql_number(int port, const char *format, ...) {
    char *script;
    va_list ap;
    va_start(ap, format);
    assert_true(vasprintf(&script, format, ap) >= 0);
    va_end(ap);
    const char *answer = ask(port, script);
    if (*answer == '-' && (answer[1] < '0' || answer[1] > '9'))
        fail_msg("%s", answer);
    return atoll(answer);
}

/* ---- PgBouncer --------------------------------------------------------- */

static void write_pooler(const char *dir, int listens, int port,
                         const char *pool_mode) {
    FILE *f = append(dir, "users");
    fputs("\"app\" \"\"\n\"postgres\" \"\"\n\"guest\" \"\"\n", f);
    fclose(f);
    f = append(dir, "ini");
    fprintf(f,
            "[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\n"
            "listen_addr=127.0.0.1\nlisten_port=%d\nunix_socket_dir=\n"
            "auth_type=trust\nauth_file=%s/users\npool_mode=%s\n"
            "default_pool_size=4\nmax_client_conn=500\n",
            port, listens, dir, pool_mode);
    fclose(f);
}

hf_test_pgbouncer *hf_test_pgbouncer_start(int port, const char *pool_mode) {
    char dir[96], path[128];
    const char *missing = hf_test_pgbouncer_missing();
    hf_test_args a = {.n = 0};
    hf_test_need(missing == NULL, missing);
    hf_test_pgbouncer *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->port = hf_test_free_port();
    hf_test_fresh_path(dir, sizeof dir, "pgb");
    make_folder(dir);
    write_pooler(dir, b->port, port, pool_mode);
    snprintf(path, sizeof path, "%s/ini", dir);
    give(path);
    snprintf(path, sizeof path, "%s/users", dir);
    give(path);
    snprintf(path, sizeof path, "%s/log", dir);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    as_postgres(&a, "KILL");
    hf_test_arg(&a, "/usr/sbin/pgbouncer");
    hf_test_arg(&a, "%s/ini", dir);
    b->pid = hf_test_spawn(a.v, -1, log, log);
    close(log);
    free_args(&a);
    snprintf(b->uri, sizeof b->uri, "postgresql://app@127.0.0.1:%d/locks",
             b->port);
    hf_test_eventually(strcmp(hf_test_sql(b->port, "SELECT 1"), "1") == 0,
                       HF_TEST_LONG);
    return b;
}

void hf_test_pgbouncer_stop(hf_test_pgbouncer *b) {
    if (b == NULL)
        return;
    hf_test_kill(b->pid);
    free(b);
}

int hf_test_pgbouncer_port(const hf_test_pgbouncer *b) {
    return b->port;
}

const char *hf_test_pgbouncer_uri(const hf_test_pgbouncer *b) {
    return b->uri;
}

/* ---- to be lent -------------------------------------------------------- */

static void nobody(void *arg, const hf_place *place) {
    (void)arg, (void)place;
}

/* Whoever comes first makes the tables, which on a busy machine outlasts the
 * short leases of some tests. */
static void warm(const char *uri) {
    hf_client *c = NULL;
    hf_error err;
    if (hf_open(&c, uri, HF_CLIENT_WITH(.timeout_ms = HF_TEST_LONG), &err) !=
            HF_OK ||
        hf_list(c, NULL, nobody, NULL, &err) != HF_OK)
        fail_msg("%s", err.text);
    hf_close(c);
}

void hf_test_postgres_borrow(char *uri, size_t size) {
    unsigned long long part = 0;
    const hf_test_set *set = hf_test_borrow(&hf_test_postgres_sort);
    assert_int_equal(getrandom(&part, sizeof part, 0), sizeof part);
    snprintf(uri, size, "%s?hf_schema=t_%016llx", set->uri, part);
    warm(uri);
}

void hf_test_postgres_borrow_patiently(char *uri, size_t size) {
    hf_test_postgres_borrow(uri, size);
    strncat(uri, "&hf_timeout=10s", size - strlen(uri) - 1);
}

static void *start_set(hf_test_set *ret) {
    hf_test_postgres *pg = launch(NULL);
    snprintf(ret->uri, sizeof ret->uri, "%s", pg->uri);
    ret->ports[0] = pg->port;
    ret->n_ports = 1;
    return pg;
}

static void await_set(void *server) {
    if (!becomes_ready(server))
        fail_msg("PostgreSQL does not start");
}

static void stop_set(void *server) {
    hf_test_postgres_stop(server);
}

/* Many use it at once, each its own schema. */
static bool leave_as_it_is(const hf_test_set *set) {
    (void)set;
    return true;
}

const hf_test_sort hf_test_postgres_sort = {
    .name = "postgres",
    .shared = true,
    .missing = hf_test_postgres_missing,
    .start = start_set,
    .await = await_set,
    .stop = stop_set,
    .empty = leave_as_it_is,
};
