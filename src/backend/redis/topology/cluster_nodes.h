/* SPDX-License-Identifier: MIT
 *
 * cluster_nodes.h - the servers of a cluster that we have to do with, by
 * number.
 *
 * Whoever uses a node has entered it and leaves it afterwards; that takes no
 * lock.  A node that has no slots any more, and that nobody used for a while,
 * is taken down, and its number may go to another: so a cluster whose servers
 * come and go for years costs no more than one that stays as it is. */
#ifndef HF_REDIS_CLUSTER_NODES_H
#define HF_REDIS_CLUSTER_NODES_H

#include "cluster_map.h"
#include "node.h"

/* The seat of a node.  Seats are never freed, so that anybody may look. */
typedef struct hf_seat {
    atomic_uint users;       /* who entered, or is about to see that nobody
                                is there                                  */
    _Atomic(hf_node *) node; /* NULL: free, or it leaves                  */
    atomic_uint slots;       /* that it has                               */

    /* mu */
    hf_node *leaving; /* when nobody uses it any more                     */
    hf_time idle_at;  /* since when it has no slots and was not asked for */
    bool had_slots;   /* and what is asked there will not be answered     */

    char apart[16]; /* from the next: its users count on another cache line */
} hf_seat;

typedef struct hf_nodes {
    const hf_node_needs *needs; /* lent                                    */
    const hf_address *like;     /* whose credentials and rules all have;
                                   set by the owner before the first       */
    pthread_mutex_t mu;
    atomic_uint n; /* seats ever taken */
    hf_seat seats[HF_CLUSTER_MAX];
} hf_nodes;

void hf__nodes_init(hf_nodes *ns, const hf_node_needs *needs);
void hf__nodes_clear(hf_nodes *ns, bool forked);

/* The number of the node at that address, which is made if need be, or a
 * negative code. */
int hf__nodes_at(hf_nodes *ns, const char *host, int port, hf_error *err);

/* NULL: nobody is there. */
hf_node *hf__nodes_enter(hf_nodes *ns, unsigned number);

/* Once more a node that was entered. */
void hf__nodes_enter_again(hf_nodes *ns, hf_node *node);
void hf__nodes_leave(hf_nodes *ns, const hf_node *node);

/* Takes down what is not needed any more.  One thread at a time.  When to do
 * so again; HF_NEVER: nothing is to be waited for. */
hf_time hf__nodes_sweep(hf_nodes *ns);

#endif
