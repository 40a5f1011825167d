/* SPDX-License-Identifier: MIT
 *
 * server.c - private servers for a benchmark. */
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 48, FIRST_PORT = 10000, PORTS = 9000 };

static bench_server servers[SERVERS_MAX];
static pid_t owner; /* who started them */

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- the end ----------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where) {
    (void)st, (void)type, (void)where;
    return remove(path);
}

void server_stop(const bench_server *server) {
    bench_server *s = &servers[server - servers];

    if (s->pid <= 0)
        return;
    kill(s->pid, s->end ? s->end : SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
    nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A child that exits stops none of its parent's. */
static void stop_all(void) {
    for (int i = 0; i < SERVERS_MAX && owner == getpid(); i++)
        server_stop(&servers[i]);
}

/* ---- the beginning ----------------------------------------------------- */

static bool is_free(int port) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    bool yes;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    yes = bind(fd, (struct sockaddr *)&at, sizeof at) == 0;
    close(fd);
    return yes;
}

static int free_port(void) {
    static int next;

    if (!next)
        next = getpid() * 7;
    for (int i = 0; i < PORTS; i++) {
        int port = FIRST_PORT + next++ % PORTS;

        if (is_free(port) && is_free(port + 10000))
            return port;
    }
    die("ports", "none is free");
    return 0;
}

/* A database refuses to be root's.  The signal for the end of the parent is
 * forgotten by whoever becomes somebody else, so it comes afterwards. */
static bool become(const char *user) {
    const struct passwd *who;

    if (!user || geteuid() != 0)
        return true;
    who = getpwnam(user);
    return who && initgroups(user, who->pw_gid) == 0 &&
           setgid(who->pw_gid) == 0 && setuid(who->pw_uid) == 0;
}

/* What they say is in their log, or nobody's business. */
static void run(const bench_server *s, const char *const *argv, pid_t parent) {
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (!become(s->user) || chdir(s->dir) != 0)
        _exit(127);
    prctl(PR_SET_PDEATHSIG, s->end ? s->end : SIGKILL);
    if (getppid() != parent)
        _exit(1);
    setsid();
    dup2(fd, 1);
    dup2(fd, 2);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* A command that makes what a server needs; did it work? */
static bool prepare(const bench_server *s, const char *const *argv) {
    pid_t parent = getpid(), pid = fork();
    int status;

    if (pid == 0)
        run(s, argv, parent);
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool answers_ping(const bench_server *s) {
    redisContext *rc = redisConnect("127.0.0.1", s->port);
    redisReply *reply = rc && !rc->err ? redisCommand(rc, "PING") : NULL;
    bool yes = reply && reply->type == REDIS_REPLY_STATUS;

    if (reply)
        freeReplyObject(reply);
    if (rc)
        redisFree(rc);
    return yes;
}

/* Says the words; what comes back until it hangs up or is silent: a server that
 * starts may take a connection and forget it.  Bytes of 0 come back as dots. */
static void say(const bench_server *s, const char *words, char *text,
                size_t size) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_usec = 500000};
    size_t n = 0;
    ssize_t got = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
        write(fd, words, strlen(words)) >= 0)
        while (got > 0 && n < size - 1) {
            got = read(fd, text + n, size - 1 - n);
            n += got > 0 ? (size_t)got : 0;
        }
    for (size_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = '.';
    text[n] = '\0';
    close(fd);
}

static bool answers_with(const bench_server *s, const char *words,
                         const char *wanted) {
    char text[4096];

    say(s, words, text, sizeof text);
    return strstr(text, wanted) != NULL;
}

/* Up to a character that no version has. */
static const char *version_after(const bench_server *s, const char *words,
                                 const char *mark) {
    static char version[32];
    char text[4096], *at;

    say(s, words, text, sizeof text);
    at = strstr(text, mark);
    snprintf(version, sizeof version, "%s", at ? at + strlen(mark) : "?");
    version[strcspn(version, "-\", \n")] = '\0';
    return version;
}

const char *server_zookeeper_version(const bench_server *s) {
    return version_after(s, "srvr", "Zookeeper version: ");
}

const char *server_etcd_version(const bench_server *s) {
    return version_after(s, "GET /version HTTP/1.0\r\n\r\n",
                         "\"etcdserver\":\"");
}

static bool answers_srvr(const bench_server *s) {
    return answers_with(s, "srvr", "Mode");
}

static bool answers_health(const bench_server *s) {
    return answers_with(s, "GET /health HTTP/1.0\r\n\r\n", "\"true\"");
}

static bool launch(bench_server *s, const char *const *argv,
                   bool (*answers)(const bench_server *)) {
    pid_t parent = getpid();
    int status;

    s->pid = fork();
    if (s->pid == 0)
        run(s, argv, parent);
    for (int i = 0; i < 1500; i++) {
        if (answers(s))
            return true;
        if (waitpid(s->pid, &status, WNOHANG) != 0) {
            s->pid = 0;
            nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
            break;
        }
        usleep(10000);
    }
    fprintf(stderr, "bench: %s does not start; is it installed?\n", argv[0]);
    return false;
}

/* A place, a port and a folder for one more. */
static bench_server *settle(void) {
    static bool registered;
    bench_server *s = servers;

    while (s < servers + SERVERS_MAX && s->pid)
        s++;
    if (s == servers + SERVERS_MAX)
        die("redis-server", "there are too many");
    if (!registered)
        atexit(stop_all);
    registered = true;
    if (!owner)
        owner = getpid();
    s->port = free_port();
    s->user = NULL;
    s->end = 0;
    snprintf(s->dir, sizeof s->dir, "/tmp/hf-bench-XXXXXX");
    if (!mkdtemp(s->dir))
        die("mkdtemp", strerror(errno));
    snprintf(s->socket, sizeof s->socket, "%s/redis", s->dir);
    return s;
}

const bench_server *server_start_with(const char *const *args) {
    bench_server *s = settle();
    char port[16], log[128];
    const char *argv[ARGS_MAX] = {"redis-server",
                                  "--port",
                                  port,
                                  "--bind",
                                  "127.0.0.1",
                                  "--unixsocket",
                                  s->socket,
                                  "--dir",
                                  s->dir,
                                  "--logfile",
                                  log,
                                  "--save",
                                  "",
                                  "--maxclients",
                                  "2000"};
    int n = 15;

    snprintf(port, sizeof port, "%d", s->port);
    snprintf(log, sizeof log, "%s/log", s->dir);
    while (args && *args && n < ARGS_MAX - 1)
        argv[n++] = *args++;
    if (!launch(s, argv, answers_ping))
        exit(1);
    return s;
}

const bench_server *server_start(void) {
    return server_start_with(NULL);
}

/* It writes into the file what it learns. */
const bench_server *server_start_sentinel(const bench_server *master) {
    bench_server *s = settle();
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/conf", s->dir);
    f = fopen(path, "w");
    if (!f)
        die(path, strerror(errno));
    fprintf(f,
            "port %d\nbind 127.0.0.1\ndir %s\nlogfile %s/log\n"
            "sentinel monitor bench 127.0.0.1 %d 2\n",
            s->port, s->dir, s->dir, master->port);
    fclose(f);
    if (!launch(s,
                (const char *const[]){"redis-server", path, "--sentinel", NULL},
                answers_ping))
        exit(1);
    return s;
}

/* As Debian sets it up, but for the number of connections from one address. */
const bench_server *server_start_zookeeper(void) {
    static const char jar[] = "/usr/share/java/zookeeper.jar";
    bench_server *s = settle();
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/zoo.cfg", s->dir);
    f = fopen(path, "w");
    if (!f)
        die(path, strerror(errno));
    fprintf(f,
            "tickTime=2000\ndataDir=%s/data\nclientPort=%d\n"
            "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"
            "admin.enableServer=false\n4lw.commands.whitelist=*\n",
            s->dir, s->port);
    fclose(f);
    return access(jar, R_OK) == 0 &&
                   launch(s,
                          (const char *const[]){
                              "java", "-Xmx512m", "-cp", jar,
                              "org.apache.zookeeper.server.quorum."
                              "QuorumPeerMain",
                              path, NULL},
                          answers_srvr) ?
               s :
               NULL;
}

const bench_server *server_start_etcd(void) {
    bench_server *s = settle();
    char data[128], clients[64], peers[64], cluster[80];

    snprintf(data, sizeof data, "%s/data", s->dir);
    snprintf(clients, sizeof clients, "http://127.0.0.1:%d", s->port);
    snprintf(peers, sizeof peers, "http://127.0.0.1:%d", s->port + 10000);
    snprintf(cluster, sizeof cluster, "default=%s", peers);
    return launch(s,
                  (const char *const[]){
                      "etcd", "--data-dir", data, "--listen-client-urls",
                      clients, "--advertise-client-urls", clients,
                      "--listen-peer-urls", peers,
                      "--initial-advertise-peer-urls", peers,
                      "--initial-cluster", cluster, "--logger", "zap",
                      "--log-level", "error", NULL},
                  answers_health) ?
               s :
               NULL;
}

/* ---- databases --------------------------------------------------------- */

/* Its folder is its user's.  False: there is no such user. */
static bool belongs_to(bench_server *s, const char *user) {
    const struct passwd *who = getpwnam(user);

    s->user = user;
    return geteuid() != 0 ||
           (who && chown(s->dir, who->pw_uid, who->pw_gid) == 0);
}

static const bench_server *give_up(bench_server *s) {
    nftw(s->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return NULL;
}

/* Debian keeps them where no shell looks. */
static void find_program(char path[128], const char *name) {
    glob_t found;
    char pattern[64];

    snprintf(path, 128, "%s", name);
    snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
    if (glob(pattern, 0, NULL, &found) == 0)
        snprintf(path, 128, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
}

/* As pg_ctl knows it. */
static bool is_ready(const bench_server *s) {
    char path[128], line[128] = "";
    FILE *f;

    snprintf(path, sizeof path, "%s/data/postmaster.pid", s->dir);
    f = fopen(path, "r");
    if (!f)
        return false;
    for (int i = 0; i < 8; i++)
        if (!fgets(line, sizeof line, f))
            *line = '\0';
    fclose(f);
    return strncmp(line, "ready", 5) == 0;
}

/* Ended by force it would leave shared memory behind. */
const bench_server *server_start_postgres(void) {
    bench_server *s = settle();
    char initdb[128], postgres[128], data[128], port[16];

    find_program(initdb, "initdb");
    find_program(postgres, "postgres");
    snprintf(data, sizeof data, "%s/data", s->dir);
    snprintf(port, sizeof port, "%d", s->port);
    s->end = SIGQUIT;
    if (!belongs_to(s, "postgres") ||
        !prepare(s, (const char *const[]){initdb, "-D", data, "-A", "trust",
                                          "-U", "postgres", "--no-sync", "-E",
                                          "UTF8", "--locale=C", NULL}))
        return give_up(s);
    return launch(s,
                  (const char *const[]){postgres, "-D", data, "-p", port, "-k",
                                        s->dir, "-c",
                                        "listen_addresses=127.0.0.1", NULL},
                  is_ready) ?
               s :
               NULL;
}

/* It speaks first. */
static bool greets(const bench_server *s) {
    return answers_with(s, "", "native_password");
}

const bench_server *server_start_mariadb(void) {
    bench_server *s = settle();
    char data[128], port[32], socket[128], log[128], pid[128];

    snprintf(data, sizeof data, "--datadir=%s/data", s->dir);
    snprintf(port, sizeof port, "--port=%d", s->port);
    snprintf(socket, sizeof socket, "--socket=%s/mariadb", s->dir);
    snprintf(log, sizeof log, "--log-error=%s/log", s->dir);
    snprintf(pid, sizeof pid, "--pid-file=%s/pid", s->dir);
    if (!belongs_to(s, "mysql") ||
        !prepare(s, (const char *const[]){
                        "mariadb-install-db", "--no-defaults", data,
                        "--auth-root-authentication-method=normal", NULL}))
        return give_up(s);
    return launch(s,
                  (const char *const[]){
                      "mariadbd", "--no-defaults", data, port, socket, log, pid,
                      "--bind-address=127.0.0.1", "--skip-name-resolve", NULL},
                  greets) ?
               s :
               NULL;
}
