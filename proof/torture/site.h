/* SPDX-License-Identifier: MIT
 *
 * site.h - a store with its private servers, the links to it, and what can be
 * done to them.
 *
 * To add a fault: a function that begins it and one that ends it, a row in the
 * list of faults of each store that can have it, and nothing else.  To add a
 * store: a file site_x.c, and its name in hf-torture.c. */
#ifndef HF_TORTURE_SITE_H
#define HF_TORTURE_SITE_H

#include "checker.h"
#include "ground.h"

#include "support/clock.h"
#include "support/cluster.h"
#include "support/mariadb.h"
#include "support/postgres.h"
#include "support/proxy.h"
#include "support/quorum.h"
#include "support/sentinel.h"
#include "support/server.h"
#include "support/voters.h"

typedef struct site site;

/* What happens to the store.  One fault at a time; it lasts between `least` and
 * `most` ms, and always ends. */
typedef struct fault {
    const char *name;
    void (*begin)(site *s, chance *c);
    void (*end)(site *s); /* NULL: nothing is to be healed */
    int least, most;
    int rest;     /* at most so long it is quiet after it; 0: not for long */
    bool weak;    /* takes from the store what a lease lock rests on: its
                     memory, its clock.  Then only tokens protect        */
    int replicas; /* locks ask for so many: see hf_lock_options          */
    int lease_ms; /* 0: as the store has it.  What a failover loses shows
                     while a lease outlives it only                      */
} fault;

typedef struct store {
    const char *name;
    const char *(*missing)(void); /* why there can be none; NULL: there can */
    void (*start)(site *s);
    void (*stop)(site *s);
    /* Waits until the servers, after all faults, serve as before. */
    void (*settle)(site *s); /* NULL: they do at once */
    /* What is left there that should not be, by the store's own means; up to
     * `size` of it goes into `what`. */
    int (*left)(site *s, char *what, size_t size); /* NULL: hf_list only */
    const fault *faults; /* without a name at the end */
    bool keeps_dead;     /* a killed waiter stays in a fair line, passed over,
                        until the line ends by itself                     */
    int lease_ms, timeout_ms;
} store;

enum { LINKS = 5 };

struct site {
    const store *store;
    char uri[512];   /* through the links      */
    char plain[512]; /* the same without links */

    hf_test_server *server;
    hf_test_clock *clock;
    hf_test_proxy *links[LINKS];
    int n_links;
    hf_test_quorum *quorum;
    hf_test_postgres *postgres;
    hf_test_mariadb *mariadb;
    struct pg_conn *pg_session;
    struct st_mysql *my_session;
    hf_test_ensemble *ensemble;
    hf_test_cluster *cluster;
    hf_test_voters voters;
    void *sqlite; /* a connection of ours */

    int who; /* whom the present fault has hit */
};

/* ---- faults of links, for whoever has links ---------------------------- */

void link_delay(site *s, chance *c);
void link_delay_end(site *s);
void link_cut(site *s, chance *c);
void link_part(site *s, chance *c); /* both ways: nothing arrives */
void link_part_end(site *s);
void link_mute(site *s, chance *c); /* requests arrive, answers do not */
void link_mute_end(site *s);
void link_stall(site *s, chance *c);
void link_stall_end(site *s);
void link_refuse(site *s, chance *c);
void link_refuse_end(site *s);

#define LINK_FAULTS                                                            \
    {.name = "delay",                                                          \
     .begin = link_delay,                                                      \
     .end = link_delay_end,                                                    \
     .least = 200,                                                             \
     .most = 1500},                                                            \
        {.name = "cut", .begin = link_cut, .least = 10, .most = 300},          \
        {.name = "partition",                                                  \
         .begin = link_part,                                                   \
         .end = link_part_end,                                                 \
         .least = 200,                                                         \
         .most = 2500},                                                        \
        {.name = "mute",                                                       \
         .begin = link_mute,                                                   \
         .end = link_mute_end,                                                 \
         .least = 100,                                                         \
         .most = 1500},                                                        \
        {.name = "stall",                                                      \
         .begin = link_stall,                                                  \
         .end = link_stall_end,                                                \
         .least = 100,                                                         \
         .most = 2000},                                                        \
    {                                                                          \
        .name = "refuse", .begin = link_refuse, .end = link_refuse_end,        \
        .least = 100, .most = 1500                                             \
    }

/* ---- the stores -------------------------------------------------------- */

extern const store store_redis, store_sentinel, store_cluster, store_redlock,
    store_sqlite, store_zookeeper, store_etcd, store_postgres, store_mariadb;

/* Of a Redis server: keys that nobody will ever remove; names of up to a few
 * of them are added to `what`. */
int redis_left(hf_test_server *server, char *what, size_t size);

void add_link(site *s, int port, bool zookeeper);

#endif
