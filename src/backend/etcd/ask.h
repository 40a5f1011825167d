/* SPDX-License-Identifier: MIT
 *
 * ask.h - questions to whichever server knows the answer.
 *
 * A question is asked again, of another server if there is one, until it is
 * answered or its time is over: each of ours may be asked twice without harm,
 * because it says what it expects to find. */
#ifndef HF_ETCD_ASK_H
#define HF_ETCD_ASK_H

#include "auth.h"
#include "proto.h"

typedef struct hf_speaker {
    hf_endpoints *at;
    hf_calls *calls;
    hf_auth *auth;
} hf_speaker;

#define HF_RPC_RANGE     "/etcdserverpb.KV/Range"
#define HF_RPC_TXN       "/etcdserverpb.KV/Txn"
#define HF_RPC_GRANT     "/etcdserverpb.Lease/LeaseGrant"
#define HF_RPC_REVOKE    "/etcdserverpb.Lease/LeaseRevoke"
#define HF_RPC_KEEPALIVE "/etcdserverpb.Lease/LeaseKeepAlive"
#define HF_RPC_LEFT      "/etcdserverpb.Lease/LeaseTimeToLive"
#define HF_RPC_WATCH     "/etcdserverpb.Watch/Watch"
#define HF_RPC_STATUS    "/etcdserverpb.Maintenance/Status"
#define HF_RPC_ALARM     "/etcdserverpb.Maintenance/Alarm"
#define HF_RPC_MEMBERS   "/etcdserverpb.Cluster/MemberList"

/* Asks n questions at once.  OK: each has its answer.  HF_EDOUBT: one that
 * changes something may have done so; HF_EFREE: a lease is over. */
int hf__ask(hf_speaker *s, hf_question *q, size_t n, hf_time by, hf_error *err);

/* A transaction, and its answer; the answer lives until the question is
 * cleared. */
int hf__ask_txn(hf_speaker *s, hf_question *q, hf_txned *ret, hf_time by,
                hf_error *err);

/* The answer cannot be read. */
int hf__ask_nonsense(hf_error *err);

#endif
