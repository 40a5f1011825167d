/* SPDX-License-Identifier: MIT
 *
 * server.c - one redis-server, its folder, and a small client to ask it.
 *
 * Questions go through the Unix socket with a connection each: no question
 * can disturb, or be disturbed by, what the test does to the TCP side. */
#include "server.h"

#include "dir.h"
#include "port.h"
#include "process.h"
#include "wait.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGS_MAX = 64, TRIES = 8 };

struct hf_test_server {
    pid_t pid;
    int port, tls_port, bus_port;
    hf_test_server_options options;
    char dir[96], socket[104];
    char uri[256], socket_uri[256];
    char reply[1 << 16];
};

/* ---- starting ---------------------------------------------------------- */

typedef struct args {
    char *v[ARGS_MAX];
    char text[8][160]; /* what had to be written out */
    int n, n_text;
} args;

static void add(args *a, const char *option, const char *value) {
    a->v[a->n++] = (char *)option;
    a->v[a->n++] = (char *)value;
}

static void add_number(args *a, const char *option, int number) {
    char *text = a->text[a->n_text++];
    snprintf(text, sizeof a->text[0], "%d", number);
    add(a, option, text);
}

static void add_tls(args *a, const hf_test_server *s) {
    const hf_test_tls *tls = hf_test_tls_files();
    add_number(a, "--tls-port", s->tls_port);
    add(a, "--tls-cert-file", s->options.tls_cert);
    add(a, "--tls-key-file", tls->key);
    add(a, "--tls-ca-cert-file", tls->ca);
    add(a, "--tls-auth-clients", "no");
}

/* With TLS there is nothing else between the servers either. */
static void add_cluster(args *a, const hf_test_server *s) {
    add(a, "--cluster-enabled", "yes");
    add(a, "--cluster-config-file", "nodes.conf");
    add_number(a, "--cluster-port", s->bus_port);
    if (s->options.tls_cert != NULL) {
        add(a, "--tls-cluster", "yes");
        add(a, "--tls-replication", "yes");
    }
}

static void make_args(args *a, const hf_test_server *s) {
    a->v[a->n++] = "redis-server";
    if (s->options.config != NULL)
        a->v[a->n++] = (char *)s->options.config;
    add_number(a, "--port", s->port);
    add(a, "--bind", "127.0.0.1");
    add(a, "--unixsocket", s->socket);
    add(a, "--dir", s->dir);
    add(a, "--save", "");
    add(a, "--appendonly", s->options.durable ? "yes" : "no");
    add(a, "--appendfsync", "always");
    add(a, "--enable-debug-command", "local");
    if (s->options.password != NULL)
        add(a, "--requirepass", s->options.password);
    if (s->options.tls_cert != NULL)
        add_tls(a, s);
    if (s->options.clustered)
        add_cluster(a, s);
    for (const char *const *p = s->options.args; p != NULL && *p != NULL; p++)
        a->v[a->n++] = (char *)*p;
}

static bool launch(hf_test_server *s) {
    char path[160];
    args a = {.n = 0};
    make_args(&a, s);
    snprintf(path, sizeof path, "%s/log", s->dir);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    s->pid = hf_test_spawn(a.v, -1, log, log);
    close(log);
    return s->pid > 0;
}

/* False when the server ended instead: somebody else took the port. */
static bool becomes_ready(hf_test_server *s) {
    int64_t by = hf_test_now_ms() + HF_TEST_LONG;
    while (strcmp(hf_test_server_ask(s, "PING"), "PONG") != 0) {
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            return false;
        }
        if (hf_test_now_ms() > by)
            fail_msg("redis-server in %s does not answer", s->dir);
        hf_test_breathe();
    }
    return true;
}

static void write_uris(hf_test_server *s) {
    const char *password = s->options.password;
    snprintf(s->uri, sizeof s->uri, "redis://%s%s%s127.0.0.1:%d",
             password != NULL ? ":" : "", password != NULL ? password : "",
             password != NULL ? "@" : "", s->port);
    snprintf(s->socket_uri, sizeof s->socket_uri, "redis+unix://%s%s%s%s",
             password != NULL ? ":" : "", password != NULL ? password : "",
             password != NULL ? "@" : "", s->socket);
}

hf_test_server *hf_test_server_start(const hf_test_server_options *options) {
    hf_test_need(hf_test_installed("redis-server"),
                 "redis-server is not installed");
    hf_test_server *s = calloc(1, sizeof *s);
    assert_non_null(s);
    if (options != NULL)
        s->options = *options;
    hf_test_fresh_path(s->dir, sizeof s->dir, "redis");
    assert_int_equal(mkdir(s->dir, 0700), 0);
    snprintf(s->socket, sizeof s->socket, "%s/s", s->dir);
    for (int i = 0; i < TRIES; i++) {
        s->port = hf_test_free_port();
        s->tls_port = s->options.tls_cert != NULL ? hf_test_free_port() : 0;
        s->bus_port = s->options.clustered ? hf_test_free_port() : 0;
        write_uris(s);
        if (launch(s) && becomes_ready(s))
            return s;
    }
    fail_msg("redis-server does not start: see %s/log", s->dir);
    return NULL;
}

/* ---- its fate ---------------------------------------------------------- */

void hf_test_server_kill(hf_test_server *server) {
    hf_test_kill(server->pid);
    server->pid = 0;
}

void hf_test_server_restart(hf_test_server *server) {
    if (server->pid != 0)
        hf_test_server_kill(server);
    if (!launch(server) || !becomes_ready(server))
        fail_msg("redis-server does not come back: see %s/log", server->dir);
}

void hf_test_server_pause(hf_test_server *server) {
    hf_test_pause(server->pid);
}

void hf_test_server_resume(hf_test_server *server) {
    hf_test_resume(server->pid);
}

void hf_test_server_stop(hf_test_server *server) {
    if (server == NULL)
        return;
    hf_test_server_kill(server);
    free(server);
}

int hf_test_server_port(const hf_test_server *server) {
    return server->port;
}

int hf_test_server_tls_port(const hf_test_server *server) {
    return server->tls_port;
}

int hf_test_server_bus_port(const hf_test_server *server) {
    return server->bus_port;
}

const char *hf_test_server_uri(const hf_test_server *server) {
    return server->uri;
}

const char *hf_test_server_socket_uri(const hf_test_server *server) {
    return server->socket_uri;
}

/* ---- asking it --------------------------------------------------------- */

static int dial(const hf_test_server *s) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", s->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Not through stdio: a server that has just died must cost an answer, not a
 * SIGPIPE. */
static void send_line(int fd, const char *line) {
    send(fd, line, strlen(line), MSG_NOSIGNAL);
    send(fd, "\r\n", 2, MSG_NOSIGNAL);
}

/* The connection from which to read the reply, or NULL. */
__attribute__((format(printf, 2, 0))) static FILE *
send_command(const hf_test_server *s, const char *format, va_list ap) {
    char line[4096], ok[128];
    int fd = dial(s);
    if (fd < 0)
        return NULL;
    FILE *f = fdopen(fd, "r");
    if (s->options.password != NULL) {
        snprintf(line, sizeof line, "AUTH %s", s->options.password);
        send_line(fd, line);
        if (fgets(ok, sizeof ok, f) == NULL)
            ok[0] = 0;
    }
    vsnprintf(line, sizeof line, format, ap);
    send_line(fd, line);
    return f;
}

typedef struct sheet {
    char *at;
    size_t room;
} sheet;

static void note(sheet *out, const char *text, size_t size) {
    size_t n = size < out->room ? size : out->room;
    memcpy(out->at, text, n);
    out->at += n;
    out->room -= n;
}

static bool read_bulk(FILE *f, sheet *out, long size) {
    for (long i = 0; i < size + 2; i++) {
        int c = fgetc(f);
        if (c == EOF)
            return false;
        if (i < size)
            note(out, &(char){(char)c}, 1);
    }
    return true;
}

/* One reply of any depth, its leaves separated by line ends. */
static bool read_reply(FILE *f, sheet *out) {
    char line[1024];
    if (fgets(line, sizeof line, f) == NULL)
        return false;
    line[strcspn(line, "\r\n")] = 0;
    long n = atol(line + 1);
    if (line[0] == '$')
        return n < 0 || read_bulk(f, out, n);
    if (line[0] != '*') {
        const char *text = line + (line[0] != '-');
        note(out, text, strlen(text));
        return true;
    }
    for (long i = 0; i < n; i++) {
        if (i > 0)
            note(out, "\n", 1);
        if (!read_reply(f, out))
            return false;
    }
    return true;
}

__attribute__((format(printf, 2, 0))) static const char *
ask(hf_test_server *s, const char *format, va_list ap) {
    sheet out = {s->reply, sizeof s->reply - 1};
    FILE *f = send_command(s, format, ap);
    if (f == NULL || !read_reply(f, &out)) {
        out = (sheet){s->reply, sizeof s->reply - 1};
        note(&out, "-no answer", 10);
    }
    *out.at = 0;
    if (f != NULL)
        fclose(f);
    return s->reply;
}

const char *hf_test_server_ask(hf_test_server *server, const char *format,
                               ...) {
    va_list ap;
    va_start(ap, format);
    const char *reply = ask(server, format, ap);
    va_end(ap);
    return reply;
}

int64_t hf_test_server_ask_number(hf_test_server *server, const char *format,
                                  ...) {
    va_list ap;
    va_start(ap, format);
    int64_t n = atoll(ask(server, format, ap));
    va_end(ap);
    return n;
}

void hf_test_server_tell(hf_test_server *server, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    FILE *f = send_command(server, format, ap);
    va_end(ap);
    if (f != NULL)
        fclose(f);
}
