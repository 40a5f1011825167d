/* SPDX-License-Identifier: MIT
 *
 * quorum.h - private ZooKeeper or etcd servers: one, or three that agree.
 *
 * They listen on free ports of 127.0.0.1 below 32768, keep their data in the
 * test's folder, and die with the test process.  Members are numbered from 0;
 * who of them leads changes.  Where the store is not installed the test is
 * skipped. */
#ifndef HF_TEST_QUORUM_H
#define HF_TEST_QUORUM_H

#include "lender.h"

#include <stdbool.h>
#include <sys/types.h>

enum { HF_TEST_MEMBERS = 3, HF_TEST_ARGS = 48 };

typedef struct hf_test_quorum hf_test_quorum;

typedef struct hf_test_quorum_options {
    int n;                /* members; 0: one                                */
    int tick_ms;          /* ZooKeeper: its tick; etcd: between heartbeats;
                             0: so that all is quick                        */
    int reap_ms;          /* ZooKeeper: how often empty containers go; 0: as
                             rarely as in daily life                        */
    const char *tls_cert; /* etcd: clients come by TLS; see tls.h           */
    bool tls_clients;     /* etcd: and must show a certificate of tls.h's   */
    const char *const *args; /* more for each program; ZooKeeper: the JVM   */
} hf_test_quorum_options;

typedef enum hf_test_role {
    HF_TEST_AWAY, /* does not answer, or serves nobody */
    HF_TEST_FOLLOWS,
    HF_TEST_LEADS /* or is alone */
} hf_test_role;

/* The words of a command line, in memory of its own. */
typedef struct hf_test_args {
    char *v[HF_TEST_ARGS + 1]; /* NULL at the end */
    int n;
} hf_test_args;
void hf_test_arg(hf_test_args *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One member, as its brand sees it. */
typedef struct hf_test_member {
    int i;        /* its number                                     */
    int port;     /* for clients                                    */
    int inner[2]; /* for other members: ZooKeeper wants two; etcd has
                            a port for questions as the second             */
    char dir[96];
    pid_t pid; /* 0: it does not run */
    bool paused;
} hf_test_member;

/* What is known of one store or the other. */
typedef struct hf_test_brand {
    const char *name, *scheme;
    const char *(*missing)(void); /* why it cannot be started; NULL: it can */
    void (*prepare)(const hf_test_quorum *q, const hf_test_member *m);
    void (*command)(const hf_test_quorum *q, const hf_test_member *m,
                    hf_test_args *args);
    hf_test_role (*role)(const hf_test_member *m);
} hf_test_brand;

extern const hf_test_brand hf_test_zookeeper, hf_test_etcd;

/* Returns when there is a leader and all members serve.  options may be
 * NULL. */
hf_test_quorum *hf_test_quorum_start(const hf_test_brand *brand,
                                     const hf_test_quorum_options *options);
void hf_test_quorum_stop(hf_test_quorum *q); /* NULL is allowed */

/* The same in two steps, so that several can be started at once. */
hf_test_quorum *hf_test_quorum_launch(const hf_test_brand *brand,
                                      const hf_test_quorum_options *options);
void hf_test_quorum_await(hf_test_quorum *q);

const hf_test_quorum_options *hf_test_quorum_options_of(const hf_test_quorum *);
int hf_test_quorum_size(const hf_test_quorum *q);
const hf_test_member *hf_test_quorum_member(const hf_test_quorum *q, int i);
int hf_test_quorum_port(const hf_test_quorum *q, int i);

/* "zk://127.0.0.1:PORT,…": all members, nothing behind the ports.  Lent. */
const char *hf_test_quorum_uri(const hf_test_quorum *q);

void hf_test_quorum_kill(hf_test_quorum *q, int i);    /* -9 */
void hf_test_quorum_revive(hf_test_quorum *q, int i);  /* does not wait */
void hf_test_quorum_restart(hf_test_quorum *q, int i); /* until it serves */
void hf_test_quorum_pause(hf_test_quorum *q, int i);   /* SIGSTOP */
void hf_test_quorum_resume(hf_test_quorum *q, int i);  /* SIGCONT */

hf_test_role hf_test_quorum_role(const hf_test_quorum *q, int i);

/* The number of the member that leads now; -1: none does. */
int hf_test_quorum_leader(const hf_test_quorum *q);

/* Waits until one does; its number. */
int hf_test_quorum_await_leader(const hf_test_quorum *q);

/* A part of a store that nobody else uses, on servers that many tests share
 * (see lender.h): "zk://127.0.0.1:PORT/t-RANDOM". */
void hf_test_quorum_borrow(const hf_test_sort *sort, char *uri, size_t size);

/* What a server on 127.0.0.1 answers to these bytes until it hangs up, or has
 * said nothing for two seconds: the number of bytes, 0 at the end of them. */
size_t hf_test_say(int port, const char *words, char *buf, size_t size);

#endif
