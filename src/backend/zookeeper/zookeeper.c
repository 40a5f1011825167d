/* SPDX-License-Identifier: MIT
 *
 * zookeeper.c - the port to ZooKeeper: its address, and its verbs. */
#include "zookeeper.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../uri.h"
#include "../../world.h"

enum { PORT = 2181, LONGEST_MS = 24 * 3600 * 1000 };

static hf_zookeeper *self(hf_port *port) {
    return (hf_zookeeper *)port;
}

/* ---- the address ------------------------------------------------------- */

/* "h1:2181,[::1]:2181" */
static char *host_list(const hf_uri *uri) {
    size_t size = 1, n = 0;
    char *list;

    for (size_t i = 0; i < uri->n_hosts; i++)
        size += strlen(uri->hosts[i].host) + 16;
    list = hf__malloc(size);
    if (!list)
        return NULL;
    list[0] = '\0';
    for (size_t i = 0; i < uri->n_hosts; i++) {
        const hf_uri_host *h = &uri->hosts[i];
        bool v6 = strchr(h->host, ':') != NULL;

        n += (size_t)snprintf(list + n, size - n, "%s%s%s%s:%d", i ? "," : "",
                              v6 ? "[" : "", h->host, v6 ? "]" : "",
                              h->port ? h->port : PORT);
    }
    return list;
}

static int set_chroot(hf_zookeeper *p, const hf_uri *uri, hf_error *err) {
    const char *path = uri->path ? uri->path : "";
    size_t n;

    path += strspn(path, "/");
    n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    if (n == 0)
        return HF_OK;
    if (n >= HF_CHROOT_MAX)
        return hf__fail(err, HF_EURI,
                        "the path in the store's address is longer than %d "
                        "bytes",
                        HF_CHROOT_MAX - 1);
    snprintf(p->chroot, sizeof p->chroot, "/%.*s", (int)n, path);
    if (hf__layout_check_name("", p->chroot + 1, err) != HF_OK)
        return err->code = HF_EURI;
    return HF_OK;
}

static int set_layout(hf_zookeeper *p, const hf_uri *uri, hf_error *err) {
    static const char *const words[] = {"curator", "kazoo", "bridge"};
    const char *word = hf_uri_get(uri, "layout");

    for (int i = 0; word && i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            p->layout = (hf_layout)i;
            return HF_OK;
        }
    if (word)
        return hf__fail(err, HF_EURI,
                        "layout=%.40s in the store's address: write curator, "
                        "kazoo or bridge",
                        word);
    return HF_OK;
}

static int set_acl(hf_zookeeper *p, const hf_uri *uri, hf_error *err) {
    const char *word = hf_uri_get(uri, "acl");

    p->guarded = word ? strcmp(word, "auth") == 0 : uri->user != NULL;
    p->acl = p->guarded ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
    if (word && !p->guarded && strcmp(word, "world") != 0)
        return hf__fail(err, HF_EURI,
                        "acl=%.40s in the store's address: write auth or world",
                        word);
    if (p->guarded && !uri->user)
        return hf__fail(err, HF_EURI,
                        "acl=auth wants somebody to let in: write "
                        "zk://USER:PASSWORD@HOST");
    return HF_OK;
}

static int check_secrets(const hf_uri *uri, hf_error *err) {
    if (uri->tls)
        return hf__fail(err, HF_EURI,
                        "zks:// is not possible: libzookeeper was built "
                        "without TLS.  Write zk:// and take a tunnel");
    if (uri->user && !uri->password)
        return hf__fail(err, HF_EURI,
                        "a user in the store's address wants a password: "
                        "write zk://USER:PASSWORD@HOST");
    return HF_OK;
}

static int set_where(hf_zookeeper *p, const char *hosts, hf_error *err) {
    size_t size = strlen(hosts) + strlen(p->chroot) + 8;

    p->where = hf__malloc(size);
    if (!p->where)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    snprintf(p->where, size, "zk://%s%s", hosts, p->chroot);
    return HF_OK;
}

/* ---- life -------------------------------------------------------------- */

static void renewed(void *arg, uint64_t generation) {
    hf_zookeeper *p = arg;

    hf__zk_watches_clear(&p->watches);
    p->host->renewed(p->host->line_store, generation);
}

static void reconnected(void *arg) {
    hf_zookeeper *p = arg;

    p->host->reconnected(p->host->line_store);
}

static int session_length(const hf_uri *uri, const hf_port_host *host, int *ms,
                          hf_error *err) {
    int rc;

    *ms = host->host->lease_ms;
    rc = hf__uri_ms(uri, "session", ms, err);
    if (rc == HF_OK && (*ms < 1 || *ms > LONGEST_MS))
        return hf__fail(err, HF_EURI,
                        "session= in the store's address is between 1ms and "
                        "1d");
    return rc;
}

/* "user:password", which libzookeeper wants in one piece. */
static int connect_to(hf_zookeeper *p, const hf_uri *uri, const char *hosts,
                      int session_ms, hf_time by, hf_error *err) {
    const hf_zk_host host = {.host = p->host->host,
                             .fired = hf__zookeeper_fired,
                             .renewed = renewed,
                             .reconnected = reconnected,
                             .replaced = hf__zookeeper_replaced,
                             .arg = p};
    hf_zk_options options = {.hosts = hosts, .session_ms = session_ms};
    char *auth = NULL;
    int rc;

    if (uri->user) {
        size_t size = strlen(uri->user) + strlen(uri->password) + 2;

        auth = hf__malloc(size);
        if (!auth)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        snprintf(auth, size, "%s:%s", uri->user, uri->password);
    }
    options.auth = auth;
    rc = hf__zk_open(&p->zk, &options, &host, by, err);
    if (auth)
        explicit_bzero(auth, strlen(auth));
    hf__free(auth);
    return rc;
}

/* All that the address says. */
static int settle(hf_zookeeper *p, const hf_uri *uri, const char *hosts,
                  hf_error *err) {
    int rc = check_secrets(uri, err);

    if (rc == HF_OK)
        rc = set_chroot(p, uri, err);
    if (rc == HF_OK)
        rc = set_layout(p, uri, err);
    if (rc == HF_OK)
        rc = set_acl(p, uri, err);
    if (rc == HF_OK)
        rc = set_where(p, hosts, err);
    return rc;
}

static void free_port(hf_zookeeper *p) {
    hf__zk_watches_destroy(&p->watches);
    hf__free(p->where);
    hf__free(p);
}

static int open_port(hf_port **ret, const hf_uri *uri, const hf_port_host *host,
                     hf_time by, hf_error *err) {
    hf_zookeeper *p = hf__calloc(1, sizeof *p);
    char *hosts = host_list(uri);
    int session_ms, rc;

    if (!p || !hosts) {
        hf__free(p);
        hf__free(hosts);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    p->base.ops = &hf__zookeeper_port;
    p->host = host;
    hf__zk_watches_init(&p->watches);
    rc = settle(p, uri, hosts, err);
    if (rc == HF_OK)
        rc = session_length(uri, host, &session_ms, err);
    if (rc == HF_OK)
        rc = connect_to(p, uri, hosts, session_ms, by, err);
    hf__free(hosts);
    if (rc != HF_OK)
        free_port(p);
    else
        *ret = &p->base;
    return rc;
}

/* In a forked child neither libzookeeper's threads nor its locks are of any
 * use, and its descriptors are known to nobody: they are left as they are, and
 * no byte is sent. */
static void close_port(hf_port *port, bool forked) {
    if (forked)
        return;
    hf__zk_close(self(port)->zk);
    free_port(self(port));
}

static const char *where(const hf_port *port) {
    return ((const hf_zookeeper *)port)->where;
}

static int check_name(const hf_port *port, const hf_line *line, hf_error *err) {
    return hf__layout_check_name(((const hf_zookeeper *)port)->chroot,
                                 line->name, err);
}

static int session_ms(hf_port *port) {
    return hf__zk_session_ms(self(port)->zk);
}

static uint64_t generation(hf_port *port) {
    return hf__zk_generation(self(port)->zk);
}

static hf_time good_until(hf_port *port) {
    return hf__zk_good_until(self(port)->zk);
}

const hf_port_ops hf__zookeeper_port = {
    .settles_ms = 0,
    .open = open_port,
    .close = close_port,
    .where = where,
    .check_name = check_name,
    .session_ms = session_ms,
    .generation = generation,
    .good_until = good_until,
    .enter = hf__zookeeper_enter,
    .look = hf__zookeeper_look,
    .leave = hf__zookeeper_leave,
    .keep_out = hf__zookeeper_keep_out,
    .check = hf__zookeeper_check,
    .watch = hf__zookeeper_watch,
    .unwatch = hf__zookeeper_unwatch,
    .read = hf__zookeeper_read,
    .write = hf__zookeeper_write,
    .record = hf__zookeeper_record,
    .records = hf__zookeeper_records,
    .names = hf__zookeeper_names,
    .lines_of = hf__zookeeper_lines_of,
    .examine = hf__zookeeper_examine,
};
