/* SPDX-License-Identifier: MIT
 *
 * proto.c - the messages of etcd that we write and read. */
#include "proto.h"

#include <string.h>

/* ---- questions --------------------------------------------------------- */

/* Which of the two lists of a transaction an operation stands in, and what it
 * is there. */
enum { COMPARE = 1, THEN = 2, ELSE = 3 };
enum { OP_RANGE = 1, OP_PUT = 2, OP_DELETE = 3 };

void hf__write_range(hf_pb *b, const hf_range *r) {
    hf__pb_bytes(b, 1, r->key);
    hf__pb_bytes(b, 2, r->end);
    hf__pb_int(b, 3, r->limit);
    hf__pb_int(b, 4, r->revision);
    hf__pb_int(b, 8, r->keys_only);
    hf__pb_int(b, 9, r->count_only);
    hf__pb_int(b, 10, r->newer ? r->newer + 1 : 0);
}

static size_t open_op(hf_pb *b, bool then, unsigned op, size_t *outer) {
    *outer = hf__pb_open(b, then ? THEN : ELSE);
    return hf__pb_open(b, op);
}

static void close_op(hf_pb *b, size_t inner, size_t outer) {
    hf__pb_close(b, inner);
    hf__pb_close(b, outer);
}

void hf__txn_range(hf_pb *b, bool then, const hf_range *r) {
    size_t outer, inner = open_op(b, then, OP_RANGE, &outer);

    hf__write_range(b, r);
    close_op(b, inner, outer);
}

void hf__txn_put(hf_pb *b, bool then, const hf_put *p) {
    size_t outer, inner = open_op(b, then, OP_PUT, &outer);

    hf__pb_bytes(b, 1, p->key);
    hf__pb_bytes(b, 2, p->value);
    hf__pb_int(b, 3, p->lease);
    hf__pb_int(b, 5, p->same_value);
    hf__pb_int(b, 6, p->same_lease);
    close_op(b, inner, outer);
}

void hf__txn_delete(hf_pb *b, bool then, hf_bytes key) {
    size_t outer, inner = open_op(b, then, OP_DELETE, &outer);

    hf__pb_bytes(b, 1, key);
    close_op(b, inner, outer);
}

/* What it is compared with is a oneof, which must be there even if it is 0. */
static void put_number(hf_pb *b, unsigned field, int64_t value) {
    uint8_t zero[] = {(uint8_t)(field << 3), 0};

    if (value == 0)
        hf__pb_raw(b, zero, sizeof zero);
    else
        hf__pb_int(b, field, value);
}

void hf__txn_compare(hf_pb *b, const hf_compare *c) {
    size_t mark = hf__pb_open(b, COMPARE);

    hf__pb_int(b, 1, c->is);
    hf__pb_int(b, 2, c->target);
    hf__pb_bytes(b, 3, c->key);
    put_number(b, 4 + (unsigned)c->target, c->value);
    hf__pb_bytes(b, 64, c->end);
    hf__pb_close(b, mark);
}

void hf__write_grant(hf_pb *b, int64_t lease, int64_t ttl) {
    hf__pb_int(b, 1, ttl);
    hf__pb_int(b, 2, lease);
}

void hf__write_lease(hf_pb *b, int64_t lease) {
    hf__pb_int(b, 1, lease);
}

void hf__write_credentials(hf_pb *b, const char *user, const char *password) {
    hf__pb_bytes(b, 1, hf__bytes(user));
    hf__pb_bytes(b, 2, hf__bytes(password));
}

void hf__write_watch(hf_pb *b, int64_t id, hf_bytes key, hf_bytes end,
                     int64_t revision) {
    size_t mark = hf__pb_open(b, 1);

    hf__pb_bytes(b, 1, key);
    hf__pb_bytes(b, 2, end);
    hf__pb_int(b, 3, revision ? revision + 1 : 0);
    hf__pb_int(b, 7, id);
    hf__pb_close(b, mark);
}

void hf__write_unwatch(hf_pb *b, int64_t id) {
    size_t mark = hf__pb_open(b, 2);

    hf__pb_int(b, 1, id);
    hf__pb_close(b, mark);
}

/* ---- answers ----------------------------------------------------------- */

/* One field of a message of ours: what to do with it.  False: it is not what
 * the message may have there. */
typedef bool field_fn(void *ret, const hf_pb_field *f);

static bool read_all(hf_bytes in, field_fn *fn, void *ret) {
    hf_pb_field f;
    int rc;

    while ((rc = hf__pb_next(&in, &f)) > 0)
        if (!fn(ret, &f))
            return false;
    return rc == 0;
}

static bool number(const hf_pb_field *f, int64_t *ret) {
    *ret = f->value;
    return !f->is_bytes;
}

static bool flag(const hf_pb_field *f, bool *ret) {
    *ret = f->value != 0;
    return !f->is_bytes;
}

static bool bytes(const hf_pb_field *f, hf_bytes *ret) {
    *ret = f->bytes;
    return f->is_bytes;
}

static bool header_field(void *ret, const hf_pb_field *f) {
    return f->number != 3 || number(f, ret);
}

/* Of the header that every answer begins with, only the revision. */
static bool header(const hf_pb_field *f, int64_t *revision) {
    return f->is_bytes && read_all(f->bytes, header_field, revision);
}

static bool kv_field(void *ret, const hf_pb_field *f) {
    hf_kv *kv = ret;

    switch (f->number) {
    case 1:
        return bytes(f, &kv->key);
    case 2:
        return number(f, &kv->create);
    case 3:
        return number(f, &kv->mod);
    case 4:
        return number(f, &kv->version);
    case 5:
        return bytes(f, &kv->value);
    case 6:
        return number(f, &kv->lease);
    default:
        return true;
    }
}

static bool read_kv(hf_bytes in, hf_kv *ret) {
    *ret = (hf_kv){0};
    return read_all(in, kv_field, ret);
}

/* The next field of that number, and what follows it; the bytes were looked
 * at before. */
static bool next_of(hf_bytes *rest, unsigned which, hf_bytes *ret) {
    hf_pb_field f;

    while (hf__pb_next(rest, &f) > 0)
        if (f.number == which && f.is_bytes) {
            *ret = f.bytes;
            return true;
        }
    return false;
}

static bool range_field(void *ret, const hf_pb_field *f) {
    hf_ranged *r = ret;
    hf_kv kv;

    switch (f->number) {
    case 1:
        return header(f, &r->revision);
    case 2:
        return f->is_bytes && read_kv(f->bytes, &kv);
    case 3:
        return flag(f, &r->more);
    case 4:
        return number(f, &r->count);
    default:
        return true;
    }
}

bool hf__read_range(hf_bytes in, hf_ranged *ret) {
    *ret = (hf_ranged){.rest = in};
    return read_all(in, range_field, ret);
}

bool hf__next_kv(hf_ranged *r, hf_kv *ret) {
    hf_bytes one;

    return next_of(&r->rest, 2, &one) && read_kv(one, ret);
}

static bool txn_field(void *ret, const hf_pb_field *f) {
    hf_txned *t = ret;

    switch (f->number) {
    case 1:
        return header(f, &t->revision);
    case 2:
        return flag(f, &t->succeeded);
    case 3:
        return f->is_bytes;
    default:
        return true;
    }
}

bool hf__read_txn(hf_bytes in, hf_txned *ret) {
    *ret = (hf_txned){.rest = in};
    return read_all(in, txn_field, ret);
}

/* The answer to the next operation, if it is of that sort.  An empty one is
 * there all the same. */
static bool next_op(hf_txned *t, unsigned op, hf_bytes *ret) {
    hf_bytes one;
    hf_pb_field f;

    if (!next_of(&t->rest, 3, &one))
        return false;
    while (hf__pb_next(&one, &f) > 0)
        if (f.number == op)
            return bytes(&f, ret);
    return false;
}

bool hf__next_range(hf_txned *t, hf_ranged *ret) {
    hf_bytes in;

    return next_op(t, OP_RANGE, &in) && hf__read_range(in, ret);
}

bool hf__next_put(hf_txned *t) {
    hf_bytes in;

    return next_op(t, OP_PUT, &in);
}

static bool delete_field(void *ret, const hf_pb_field *f) {
    return f->number != 2 || number(f, ret);
}

bool hf__next_delete(hf_txned *t, int64_t *deleted) {
    hf_bytes in;

    *deleted = 0;
    return next_op(t, OP_DELETE, &in) && read_all(in, delete_field, deleted);
}

static bool lease_field(void *ret, const hf_pb_field *f) {
    hf_leased *l = ret;

    return f->number == 2 ? number(f, &l->lease) :
           f->number == 3 ? number(f, &l->ttl) :
                            true;
}

bool hf__read_lease(hf_bytes in, hf_leased *ret) {
    *ret = (hf_leased){0};
    return read_all(in, lease_field, ret);
}

/* ---- watches ----------------------------------------------------------- */

typedef struct event {
    int64_t type; /* 1: deleted */
    hf_kv kv;
} event;

static bool event_field(void *ret, const hf_pb_field *f) {
    event *e = ret;

    return f->number == 1 ? number(f, &e->type) :
           f->number == 2 ? f->is_bytes && read_kv(f->bytes, &e->kv) :
                            true;
}

static bool read_event(hf_bytes in, event *ret) {
    *ret = (event){0};
    return read_all(in, event_field, ret);
}

static bool watch_field(void *ret, const hf_pb_field *f) {
    hf_watched *w = ret;
    event e;

    switch (f->number) {
    case 1:
        return header(f, &w->revision);
    case 2:
        return number(f, &w->id);
    case 3:
        return flag(f, &w->created);
    case 4:
        return flag(f, &w->cancelled);
    case 5:
        return number(f, &w->compacted);
    case 6:
        return bytes(f, &w->reason);
    case 11:
        return f->is_bytes && read_event(f->bytes, &e);
    default:
        return true;
    }
}

bool hf__read_watch(hf_bytes in, hf_watched *ret) {
    *ret = (hf_watched){.rest = in};
    return read_all(in, watch_field, ret);
}

bool hf__next_event(hf_watched *w, bool *deleted, hf_kv *ret) {
    hf_bytes one;
    event e;

    if (!next_of(&w->rest, 11, &one) || !read_event(one, &e))
        return false;
    *deleted = e.type == 1;
    *ret = e.kv;
    return true;
}

/* ---- the server -------------------------------------------------------- */

static bool token_field(void *ret, const hf_pb_field *f) {
    return f->number != 2 || bytes(f, ret);
}

bool hf__read_token(hf_bytes in, hf_bytes *token) {
    *token = (hf_bytes){0};
    return read_all(in, token_field, token);
}

static bool member_id_field(void *ret, const hf_pb_field *f) {
    int64_t id;

    if (f->number != 2)
        return true;
    if (!number(f, &id))
        return false;
    *(uint64_t *)ret = (uint64_t)id;
    return true;
}

static bool status_field(void *ret, const hf_pb_field *f) {
    hf_status *s = ret;
    int64_t id = 0;

    switch (f->number) {
    case 1:
        return f->is_bytes && read_all(f->bytes, member_id_field, &s->member);
    case 2:
        return bytes(f, &s->version);
    case 3:
        return number(f, &s->size);
    case 4:
        if (!number(f, &id))
            return false;
        s->leader = (uint64_t)id;
        return true;
    default:
        return true;
    }
}

bool hf__read_status(hf_bytes in, hf_status *ret) {
    *ret = (hf_status){0};
    return read_all(in, status_field, ret);
}

static bool member_field(void *ret, const hf_pb_field *f) {
    return f->number != 5 || flag(f, ret);
}

static bool members_field(void *ret, const hf_pb_field *f) {
    hf_members *m = ret;
    bool learner = false;

    if (f->number != 2)
        return true;
    if (!f->is_bytes || !read_all(f->bytes, member_field, &learner))
        return false;
    m->n++;
    m->learners += learner;
    return true;
}

bool hf__read_members(hf_bytes in, hf_members *ret) {
    *ret = (hf_members){0};
    return read_all(in, members_field, ret);
}

static bool alarm_field(void *ret, const hf_pb_field *f) {
    return f->number != 2 || number(f, ret);
}

static bool alarms_field(void *ret, const hf_pb_field *f) {
    hf_alarms *a = ret;
    int64_t what = 0;

    if (f->number != 2)
        return true;
    if (!f->is_bytes || !read_all(f->bytes, alarm_field, &what))
        return false;
    a->no_space |= what == 1;
    a->corrupt |= what == 2;
    return true;
}

bool hf__read_alarms(hf_bytes in, hf_alarms *ret) {
    *ret = (hf_alarms){0};
    return read_all(in, alarms_field, ret);
}
