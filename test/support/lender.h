/* SPDX-License-Identifier: MIT
 *
 * lender.h - servers that belong together, started once and lent to one test
 * at a time, or to many that keep apart by themselves.
 *
 * A cluster takes seconds to come up, and a list of sentences is run hundreds
 * of times.  So the program hf-lender (peer/lender.c), a fixture of CTest,
 * starts a few sets of a sort before the first test that needs one and stops
 * them after the last.  A test borrows one for itself and finds it empty; it
 * must leave all servers running, in the role they had.  Where no lender runs,
 * as when a test is started by hand, the test starts a set of its own.
 *
 * To add a sort: fill in an hf_test_sort beside the harness that starts such
 * servers, name it in the table of lender.c, and give the tests that need it
 * the fixture lent_SORT in test/CMakeLists.txt. */
#ifndef HF_TEST_LENDER_H
#define HF_TEST_LENDER_H

#include <stdbool.h>
#include <stddef.h>

enum { HF_TEST_SET_MAX = 8 };

/* Some servers that belong together, as whoever borrows them sees them. */
typedef struct hf_test_set {
    char uri[256];              /* where clients find them               */
    int ports[HF_TEST_SET_MAX]; /* on 127.0.0.1; those to be emptied first */
    int n_ports;
} hf_test_set;

/* How sets of a sort are started; may skip the test or fail it. */
typedef struct hf_test_sort {
    const char *name;
    bool shared; /* lent to many at once, who keep apart by themselves */
    const char *(*missing)(void); /* why there can be none; NULL: there can */
    /* Starts the servers, which die with the process, and then waits until
     * they can be used: several sets are started at once. */
    void *(*start)(hf_test_set *ret);
    void (*await)(void *servers);
    void (*stop)(void *servers);
    /* Makes it as if new.  False: it is not fit to be lent any more. */
    bool (*empty)(const hf_test_set *set);
} hf_test_sort;

extern const hf_test_sort hf_test_cluster_sort;  /* three masters: cluster.h */
extern const hf_test_sort hf_test_sentinel_sort; /* see sentinel.h           */
/* One server, shared: borrowed by hf_test_quorum_borrow, see quorum.h. */
extern const hf_test_sort hf_test_zookeeper_sort;
extern const hf_test_sort hf_test_etcd_sort;
/* Likewise, by hf_test_postgres_borrow: see postgres.h; mariadb.h. */
extern const hf_test_sort hf_test_postgres_sort;
extern const hf_test_sort hf_test_mariadb_sort;

/* Borrows a set of that sort: for this process alone, and empty; unless it is
 * shared. */
const hf_test_set *hf_test_borrow(const hf_test_sort *sort);

/* Gives it back; the end of the process does so, too. */
void hf_test_give_back(void);

/* The sort of that name, or NULL. */
const hf_test_sort *hf_test_sort_of(const char *name);

/* Why there are no Redis servers; NULL: there can be. */
const char *hf_test_redis_missing(void);

/* For the program: starts n sets, says so on `ready`, and lends them until it
 * is told to stop or the process `until` ends. */
int hf_test_lend(const char *sort, int n, int until, int ready);
int hf_test_stop_lending(const char *sort);

/* FLUSHALL and SCRIPT FLUSH on the first n ports.  False: one refused. */
bool hf_test_flush(const hf_test_set *set, int n);

#endif
