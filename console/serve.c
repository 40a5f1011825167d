/* SPDX-License-Identifier: MIT
 *
 * serve.c - holdfast-serve: options, the place to listen, and an orderly
 * end. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../cli/notify.h"
#include "../cli/options.h"
#include "../cli/status.h"
#include "audit.h"
#include "claims.h"
#include "console.h"
#include "keys.h"
#include "listen.h"
#include "route.h"
#include "server.h"
#include "stream.h"

static const command serve = {
    .name = "serve",
    .operands = "",
    .summary = serve_summary,
    .about = serve_about,
    .options = serve_rows,
    .shared = serve_shared,
    .store = true,
};

/* ---- files ------------------------------------------------------------- */

static char *read_file(const char *path) {
    enum { MOST = 256 * 1024 };
    char *text = calloc(1, MOST);
    FILE *file = fopen(path, "re");
    if (!file || !text || fread(text, 1, MOST - 1, file) == 0) {
        complain("%s: %s", path, file ? "cannot be read" : strerror(errno));
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

typedef struct papers {
    char *cert, *key; /* both or none */
} papers;

static int read_papers(papers *p, const serve_options *o) {
    if (!o->tls_cert && !o->tls_key)
        return 0;
    if (!o->tls_cert || !o->tls_key) {
        complain("--tls-cert and --tls-key go together");
        return EXIT_USAGE;
    }
    p->cert = read_file(o->tls_cert);
    p->key = read_file(o->tls_key);
    return p->cert && p->key ? 0 : EXIT_CONFIG;
}

static void free_papers(papers *p) {
    if (p->key)
        explicit_bzero(p->key, strlen(p->key));
    free(p->key);
    free(p->cert);
}

/* ---- who may come ------------------------------------------------------ */

static int read_keys(console *c, const serve_options *o) {
    const char *path = o->token_file;
    if (!path)
        path = getenv("HOLDFAST_CONSOLE_TOKEN_FILE");
    if (!path || !*path)
        return 0;
    c->keys = keys_read(path);
    return c->keys ? 0 : EXIT_CONFIG;
}

/* Whoever reaches us may take locks, so not everybody shall. */
static int check_public(const console *c, const place_to_listen *p,
                        const char *where) {
    if (p->local && c->tls) {
        complain("a Unix socket needs no --tls-cert");
        return EXIT_USAGE;
    }
    if (!p->open)
        return 0;
    if (!c->keys && !c->tls) {
        complain("%s is no loopback address: others could reach the console. "
                 "Give --token-file or --tls-cert and --tls-key, or listen on "
                 "127.0.0.1 or unix:PATH",
                 where);
        return EXIT_CONFIG;
    }
    if (!c->keys)
        complain("everyone who reaches %s may take locks: consider "
                 "--token-file",
                 where);
    if (!c->tls)
        complain("tokens travel readably to %s: consider --tls-cert, or a "
                 "proxy with TLS on this host",
                 where);
    return 0;
}

/* ---- its parts --------------------------------------------------------- */

static void after_look(void *arg) {
    console *c = arg;
    claims_tend(c->claims);
    streams_wake(c->streams);
}

static int open_store(console *c, serve_options *o) {
    hf_options options = HF_OPTIONS_INIT;
    hf_error err = {0};
    int status = settings_resolve(&o->settings);
    if (status == 0)
        status = settings_lease(&o->settings, &c->ttl_ms);
    if (status != 0)
        return status;
    options.lease_ms = c->ttl_ms;
    options.program = "holdfast-serve";
    if (settings_open_for_locks(&c->client, &o->settings, options, &err) !=
        HF_OK)
        return status_fail(&err);
    return 0;
}

static int make_parts(console *c, const serve_options *o) {
    hf_error err = {0};
    c->streams = streams_new();
    c->claims = claims_new(c->client, CLAIMS_MOST);
    c->waits = crew_new(WAITS_MOST, 0);
    c->tasks = crew_new(TASKS_MOST, TASKS_LINE);
    if (!c->streams || !c->claims || !c->waits || !c->tasks) {
        complain("no memory");
        return EXIT_SOFTWARE;
    }
    c->audit = audit_open(o->audit_log);
    if (!c->audit)
        return EXIT_CONFIG;
    if (hangup_new(&c->hangup, &err) != HF_OK ||
        watch_new(&c->watch, c->client, after_look, c, &err) != HF_OK)
        return status_fail(&err);
    return 0;
}

static void free_parts(console *c) {
    watch_free(c->watch);
    hangup_free(c->hangup);
    crew_free(c->waits);
    crew_free(c->tasks);
    claims_free(c->claims);
    streams_free(c->streams);
    audit_close(c->audit);
    keys_free(c->keys);
    hf_close(c->client);
}

/* ---- the way ----------------------------------------------------------- */

/* So that as many connections as we allow can be had. */
static void allow_files(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static void announce(const console *c, const place_to_listen *p) {
    if (p->local)
        complain("serving %s on unix:%s", hf_store(c->client), p->path);
    else
        complain("serving %s on %s://%s:%d/", hf_store(c->client),
                 c->tls ? "https" : "http", p->host, p->port);
    notify("READY=1\nSTATUS=serving %s", hf_store(c->client));
}

static void wait_for_end(const sigset_t *ends) {
    int sig;
    while (sigwait(ends, &sig) != 0)
        ;
    notify("STOPPING=1");
}

static int run(console *c, serve_options *o, const place_to_listen *p,
               const papers *tls, const sigset_t *ends) {
    server *s;
    int status = open_store(c, o);
    if (status == 0)
        status = make_parts(c, o);
    if (status != 0)
        return status;
    s = server_start(c, p->fd, tls->cert, tls->key);
    if (!s)
        return EXIT_CONFIG;
    announce(c, p);
    wait_for_end(ends);
    server_stop(s);
    return 0;
}

/* Before the first thread: they inherit it. */
static void take_signals(sigset_t *ends) {
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(ends);
    sigaddset(ends, SIGTERM);
    sigaddset(ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, ends, NULL);
}

static int serve_with(serve_options *o) {
    static console c;
    const char *where = o->listen ? o->listen : LISTEN_DEFAULT;
    place_to_listen p = {.fd = -1};
    papers tls = {0};
    sigset_t ends;
    int status = read_papers(&tls, o);
    take_signals(&ends);
    allow_files();
    c.options = o;
    c.tls = tls.cert != NULL;
    if (status == 0)
        status = read_keys(&c, o);
    if (status == 0)
        status = listen_open(&p, where);
    if (status == 0)
        status = check_public(&c, &p, where);
    c.local = p.local;
    snprintf(c.host, sizeof(c.host), "%s", p.host);
    if (status == 0)
        status = run(&c, o, &p, &tls, &ends);
    free_parts(&c);
    listen_close(&p);
    free_papers(&tls);
    return status;
}

int main(int argc, char **argv) {
    static serve_options o;
    if (options_read(&serve, &o, NULL, argc, argv) < argc)
        options_refuse(&serve, "it takes no arguments");
    if (!o.routes)
        return serve_with(&o);
    route_print(stdout);
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}
