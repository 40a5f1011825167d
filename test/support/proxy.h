/* SPDX-License-Identifier: MIT
 *
 * proxy.h - a link between client and server that fails on demand.
 *
 * A thread of the test forwards bytes between 127.0.0.1:port() and a server.
 * Faults are switched on and off while connections run, and hold for all of
 * them.  On links that speak plain RESP, or ZooKeeper's protocol, it also knows
 * which reply belongs to which command, so that exactly one can be caught. */
#ifndef HF_TEST_PROXY_H
#define HF_TEST_PROXY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hf_test_proxy hf_test_proxy;

typedef enum hf_way { HF_TO_SERVER, HF_TO_CLIENT } hf_way;

hf_test_proxy *hf_test_proxy_start(int server_port);
void hf_test_proxy_stop(hf_test_proxy *proxy); /* NULL is allowed */
int hf_test_proxy_port(const hf_test_proxy *proxy);

/* Every byte arrives that much later. */
void hf_test_proxy_delay(hf_test_proxy *proxy, hf_way way, int ms);

/* Bytes are kept back and delivered when it is switched off. */
void hf_test_proxy_stall(hf_test_proxy *proxy, hf_way way, bool on);

/* Bytes vanish, and so does the news that the other side hung up: what a
 * partition in one direction looks like. */
void hf_test_proxy_drop(hf_test_proxy *proxy, hf_way way, bool on);

/* Stalls and drops are for the link of that replica alone, known by the
 * port it listens on; or for all replicas' links; 0: for all links. */
#define HF_REPLICAS (-1)
void hf_test_proxy_single_out(hf_test_proxy *proxy, int replica);

/* New connections are closed at once. */
void hf_test_proxy_refuse(hf_test_proxy *proxy, bool on);

/* Hangs up on everybody. */
void hf_test_proxy_cut(hf_test_proxy *proxy);

/* Waits for the next command that begins with `word` and in which `within`
 * occurs (NULL: any), lets the server execute it, delivers `bytes` of
 * its reply and cuts that connection.  HF_MUTE instead of a number: delivers
 * nothing from there on, but leaves the connection open. */
#define HF_MUTE (-1)
void hf_test_proxy_catch(hf_test_proxy *proxy, const char *word,
                         const char *within, int bytes);

/* Likewise, but delivers `text` in place of the reply and goes on. */
void hf_test_proxy_forge(hf_test_proxy *proxy, const char *word,
                         const char *within, const char *text);

/* The same on links that speak ZooKeeper's protocol: waits for a request of
 * that operation (0: any) in which `within` occurs, lets so many pass first,
 * and swallows the reply.  hf_test_proxy_caught counts on both. */
enum { HF_ZK_MULTI = 14, HF_ZK_CREATE2 = 15, HF_ZK_DELETE = 2 };
hf_test_proxy *hf_test_proxy_start_zookeeper(int server_port);
void hf_test_proxy_swallow(hf_test_proxy *proxy, int op, const char *within,
                           int pass, int bytes);

/* The size of the reply that was caught; 0 while none was. */
size_t hf_test_proxy_caught(hf_test_proxy *proxy);

/* Since the start. */
int hf_test_proxy_connections(hf_test_proxy *proxy);

#endif
