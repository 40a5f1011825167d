/* SPDX-License-Identifier: MIT
 *
 * etcd.c - how an etcd server is started and asked.
 *
 * Questions go to a port of their own, which neither TLS nor users guard. */
#include "quorum.h"

#include "tls.h"
#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Who is alone has nobody to be late for. */
enum { ALONE_MS = 10, TOGETHER_MS = 50, ELECTION = 10 };

static const char *missing(void) {
    return !hf_test_installed("etcd")    ? "etcd is not installed" :
           !hf_test_installed("etcdctl") ? "etcdctl is not installed" :
                                           NULL;
}

static void prepare(const hf_test_quorum *q, const hf_test_member *m) {
    (void)q, (void)m;
}

static void add(hf_test_args *args, const char *option, const char *value) {
    hf_test_arg(args, "%s", option);
    hf_test_arg(args, "%s", value);
}

static void add_url(hf_test_args *args, const char *option, bool tls,
                    int port) {
    hf_test_arg(args, "%s", option);
    hf_test_arg(args, "http%s://127.0.0.1:%d", tls ? "s" : "", port);
}

static void add_tls(hf_test_args *args, const hf_test_quorum_options *o) {
    const hf_test_tls *tls = hf_test_tls_files();
    add(args, "--cert-file", o->tls_cert);
    add(args, "--key-file", tls->key);
    if (!o->tls_clients)
        return;
    hf_test_arg(args, "--client-cert-auth");
    add(args, "--trusted-ca-file", tls->ca);
}

static void add_members(const hf_test_quorum *q, hf_test_args *args) {
    char text[256];
    int at = 0;
    for (int i = 0; i < hf_test_quorum_size(q); i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%sm%d=http://127.0.0.1:%d", i > 0 ? "," : "", i,
                       hf_test_quorum_member(q, i)->inner[0]);
    add(args, "--initial-cluster", text);
    add(args, "--initial-cluster-state", "new");
}

static void add_pace(const hf_test_quorum *q, hf_test_args *args) {
    int beat = hf_test_quorum_options_of(q)->tick_ms;
    if (beat == 0)
        beat = hf_test_quorum_size(q) > 1 ? TOGETHER_MS : ALONE_MS;
    hf_test_arg(args, "--heartbeat-interval=%d", beat);
    hf_test_arg(args, "--election-timeout=%d", beat * ELECTION);
}

static void command(const hf_test_quorum *q, const hf_test_member *m,
                    hf_test_args *args) {
    const hf_test_quorum_options *o = hf_test_quorum_options_of(q);
    bool tls = o->tls_cert != NULL;
    hf_test_arg(args, "etcd");
    hf_test_arg(args, "--name=m%d", m->i);
    hf_test_arg(args, "--data-dir=%s/data", m->dir);
    add_url(args, "--listen-client-urls", tls, m->port);
    add_url(args, "--advertise-client-urls", tls, m->port);
    add_url(args, "--listen-peer-urls", false, m->inner[0]);
    add_url(args, "--initial-advertise-peer-urls", false, m->inner[0]);
    add_url(args, "--listen-metrics-urls", false, m->inner[1]);
    add_members(q, args);
    add_pace(q, args);
    if (tls)
        add_tls(args, o);
    hf_test_arg(args, "--unsafe-no-fsync");
    hf_test_arg(args, "--logger=zap");
    hf_test_arg(args, "--log-level=error");
    for (const char *const *p = o->args; p != NULL && *p != NULL; p++)
        hf_test_arg(args, "%s", *p);
}

/* Asking for its health would wait for a leader. */
static hf_test_role role(const hf_test_member *m) {
    static char text[1 << 18];
    hf_test_say(m->inner[1], "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n",
                text, sizeof text);
    return strstr(text, "\netcd_server_has_leader 1") == NULL ? HF_TEST_AWAY :
           strstr(text, "\netcd_server_is_leader 1") != NULL  ? HF_TEST_LEADS :
                                                                HF_TEST_FOLLOWS;
}

const hf_test_brand hf_test_etcd = {
    .name = "etcd",
    .scheme = "etcd",
    .missing = missing,
    .prepare = prepare,
    .command = command,
    .role = role,
};
