/* SPDX-License-Identifier: MIT
 *
 * etcd_fuzz.c - any bytes as an answer of etcd, and as a key in it.
 *
 * Whatever is read out of them lies within them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/etcd/keys.h"
#include "backend/etcd/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(hf_bytes all, hf_bytes part) {
    assert(part.n == 0 ||
           (part.at >= all.at && part.at + part.n <= all.at + all.n));
}

static void check_kvs(hf_bytes in, hf_ranged *r) {
    hf_kv kv;
    while (hf__next_kv(r, &kv)) {
        check_within(in, kv.key);
        check_within(in, kv.value);
    }
}

static void check_range(hf_bytes in) {
    hf_ranged r;
    if (hf__read_range(in, &r))
        check_kvs(in, &r);
}

/* The operations in any order that the bytes say. */
static void check_txn(hf_bytes in) {
    hf_txned t;
    hf_ranged r;
    int64_t deleted;
    if (!hf__read_txn(in, &t))
        return;
    for (size_t before = t.rest.n + 1; t.rest.n < before;) {
        hf_txned kept = t;
        before = t.rest.n;
        if (hf__next_range(&t, &r)) {
            check_kvs(in, &r);
            continue;
        }
        t = kept;
        if (hf__next_delete(&t, &deleted))
            continue;
        t = kept;
        if (!hf__next_put(&t))
            return;
    }
}

static void check_watch(hf_bytes in) {
    hf_watched w;
    hf_kv kv;
    bool deleted;
    if (!hf__read_watch(in, &w))
        return;
    check_within(in, w.reason);
    while (hf__next_event(&w, &deleted, &kv))
        check_within(in, kv.key);
}

static void check_others(hf_bytes in) {
    hf_leased l;
    hf_status s;
    hf_members m;
    hf_alarms a;
    hf_bytes token;
    hf__read_lease(in, &l);
    if (hf__read_status(in, &s))
        check_within(in, s.version);
    if (hf__read_members(in, &m))
        assert(m.learners <= m.n);
    hf__read_alarms(in, &a);
    if (hf__read_token(in, &token))
        check_within(in, token);
}

static void check_key(hf_bytes in) {
    hf_key_parts p;
    hf__etcd_key_read(&p, in);
    if (p.sort == HF_KEY_OTHER)
        return;
    assert(p.name > 0 && p.name < in.n && in.at[p.name] == '/');
    assert(p.permits > 0);
    check_within(in, p.unique);
}

/* What we call an entry leads back to it. */
static void check_told(hf_bytes in) {
    hf_key key;
    int64_t revision;
    unsigned n;
    char *told;
    if (memchr(in.at, '\0', in.n) || in.n == 0 || in.n >= HF_KEY_SIZE)
        return;
    told = hf__etcd_key_told(in, 7);
    assert(told && hf__etcd_key_heard(&key, &revision, told));
    assert(revision == 7 && key.n == in.n);
    assert(memcmp(key.at, in.at, in.n) == 0);
    hf__etcd_key_is_ours("p/", &key, 0x1234, &n);
    free(told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* A copy of the very size, so that a byte too far is noticed. */
    uint8_t *copy = malloc(size ? size : 1);
    hf_bytes in = {copy, size};
    assert(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    check_range(in);
    check_txn(in);
    check_watch(in);
    check_others(in);
    check_key(in);
    check_told(in);
    free(copy);
    return 0;
}
