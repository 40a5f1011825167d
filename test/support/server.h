/* SPDX-License-Identifier: MIT
 *
 * server.h - a private redis-server, to be killed, paused and restarted.
 *
 * It listens on a free port of 127.0.0.1 below 32768 and on a socket in the
 * test's folder, and dies with the test process.  Where redis-server is not
 * installed the test is skipped. */
#ifndef HF_TEST_SERVER_H
#define HF_TEST_SERVER_H

#include "tls.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct hf_test_server hf_test_server;

typedef struct hf_test_server_options {
    bool durable;            /* what was acknowledged outlives a kill -9   */
    const char *password;    /* of the default user; NULL: none            */
    const char *tls_cert;    /* also listen with TLS, showing this one     */
    bool clustered;          /* can become part of a cluster: see cluster.h */
    const char *config;      /* a file of settings; the rest beats it      */
    const char *const *args; /* more arguments, NULL at the end            */
} hf_test_server_options;

/* Returns when PING is answered.  options may be NULL. */
hf_test_server *hf_test_server_start(const hf_test_server_options *options);

/* Kills it, if it lives, and forgets it.  NULL is allowed. */
void hf_test_server_stop(hf_test_server *server);

void hf_test_server_kill(hf_test_server *server);    /* -9 */
void hf_test_server_restart(hf_test_server *server); /* same port, folder */
void hf_test_server_pause(hf_test_server *server);   /* SIGSTOP */
void hf_test_server_resume(hf_test_server *server);  /* SIGCONT */

int hf_test_server_port(const hf_test_server *server);
int hf_test_server_tls_port(const hf_test_server *server);
int hf_test_server_bus_port(const hf_test_server *server); /* of a cluster */

/* "redis://[:password@]127.0.0.1:PORT" and the same by the socket.  Lent. */
const char *hf_test_server_uri(const hf_test_server *server);
const char *hf_test_server_socket_uri(const hf_test_server *server);

/* Sends one command, as it would be typed into redis-cli, through the socket.
 * The reply as text, elements on lines of their own; an error begins with
 * "-".  Lent until the next call. */
const char *hf_test_server_ask(hf_test_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int64_t hf_test_server_ask_number(hf_test_server *server, const char *format,
                                  ...) __attribute__((format(printf, 2, 3)));

/* Sends it and does not wait for the reply: DEBUG SLEEP, SHUTDOWN. */
void hf_test_server_tell(hf_test_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
