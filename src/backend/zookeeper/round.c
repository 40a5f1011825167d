/* SPDX-License-Identifier: MIT
 *
 * round.c - some requests at once, and one wait for all their answers.
 *
 * The round is counted: by who waits, and by every request that libzookeeper
 * has not answered.  It answers each one, be it with ZCLOSING; so who gives up
 * waiting leaves his share and goes. */
#include "round.h"

#include <stdatomic.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "layout.h"

/* What libzookeeper writes into when a multi is answered. */
typedef struct multi {
    int n;
    zoo_op_result_t *results;
    struct Stat stat;
    char path[HF_ZNODE_SIZE]; /* of the first create */
} multi;

typedef struct slot {
    hf_round *round;
    hf_answer answer;
    multi *multi;
} slot;

struct hf_round {
    hf_zk *zk;
    hf_session *session; /* until the end; NULL: left */
    uint64_t generation, handle;
    int64_t owner;
    hf_time sent;
    bool counts; /* a majority has heard of it when it is answered */
    atomic_uint refs;
    atomic_uint pending; /* answers that have not come */
    size_t used, n;
    slot slots[];
};

/* ---- memory ------------------------------------------------------------ */

static void clear_answer(hf_answer *a) {
    hf__free(a->text);
    for (size_t i = 0; i < a->n; i++)
        hf__free(a->names[i]);
    hf__free(a->names);
}

static void unref(hf_round *r) {
    if (atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    for (size_t i = 0; i < r->used; i++) {
        clear_answer(&r->slots[i].answer);
        if (r->slots[i].multi)
            hf__free(r->slots[i].multi->results);
        hf__free(r->slots[i].multi);
    }
    hf__free(r);
}

int hf__round_begin(hf_round **ret, hf_zk *zk, size_t n, hf_time by,
                    hf_error *err) {
    hf_round *r = hf__calloc(1, sizeof *r + n * sizeof *r->slots);
    int rc;

    *ret = NULL;
    if (!r)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    rc = hf__zk_enter(&r->session, zk, by, err);
    if (rc != HF_OK) {
        hf__free(r);
        return rc;
    }
    r->zk = zk;
    r->generation = r->session->generation;
    r->handle = r->session->handle;
    r->owner = r->session->id;
    r->sent = hf__now();
    r->n = n;
    atomic_init(&r->refs, 1);
    atomic_init(&r->pending, 0);
    *ret = r;
    return HF_OK;
}

uint64_t hf__round_generation(const hf_round *r) {
    return r->generation;
}

int64_t hf__round_session(const hf_round *r) {
    return r->owner;
}

uint64_t hf__round_handle(const hf_round *r) {
    return r->handle;
}

static void leave_session(hf_round *r) {
    if (r->session)
        hf__zk_leave(r->session);
    r->session = NULL;
}

void hf__round_free(hf_round *r) {
    if (!r)
        return;
    leave_session(r);
    unref(r);
}

/* ---- answers: libzookeeper's thread ------------------------------------ */

static void answered(slot *s, int rc) {
    hf_round *r = s->round;

    s->answer.rc = rc;
    if (atomic_fetch_sub(&r->pending, 1) == 1)
        hf__world->unpark(&r->pending, 1);
    unref(r);
}

/* An answer that there is no memory for has not come. */
static int keep_text(hf_answer *a, const char *text, size_t length) {
    a->text = hf__malloc(length + 1);
    if (!a->text)
        return ZOPERATIONTIMEOUT;
    if (length)
        memcpy(a->text, text, length);
    a->text[length] = '\0';
    a->length = length;
    return ZOK;
}

static int keep_names(hf_answer *a, const struct String_vector *names) {
    a->names = hf__calloc((size_t)names->count + 1, sizeof *a->names);
    if (!a->names)
        return ZOPERATIONTIMEOUT;
    for (int i = 0; i < names->count; i++) {
        a->names[i] = hf__strdup(names->data[i]);
        if (!a->names[i])
            return ZOPERATIONTIMEOUT;
        a->n++;
    }
    return ZOK;
}

static void on_void(int rc, const void *arg) {
    answered((slot *)arg, rc);
}

static void on_stat(int rc, const struct Stat *stat, const void *arg) {
    slot *s = (slot *)arg;

    if (rc == ZOK)
        s->answer.stat = *stat;
    answered(s, rc);
}

static void on_data(int rc, const char *data, int length,
                    const struct Stat *stat, const void *arg) {
    slot *s = (slot *)arg;

    if (rc == ZOK) {
        s->answer.stat = *stat;
        rc = keep_text(&s->answer, data, length > 0 ? (size_t)length : 0);
    }
    answered(s, rc);
}

static void on_children(int rc, const struct String_vector *names,
                        const struct Stat *stat, const void *arg) {
    slot *s = (slot *)arg;

    if (rc == ZOK) {
        s->answer.stat = *stat;
        rc = keep_names(&s->answer, names);
    }
    answered(s, rc);
}

static void on_created(int rc, const char *path, const struct Stat *stat,
                       const void *arg) {
    slot *s = (slot *)arg;

    if (rc == ZOK) {
        s->answer.stat = *stat;
        hf__zk_saw_clock(s->round->zk, stat->ctime);
        rc = keep_text(&s->answer, path, strlen(path));
    }
    answered(s, rc);
}

static void on_text(int rc, const char *text, const void *arg) {
    (void)text;
    answered((slot *)arg, rc);
}

static int first_failed(const multi *m) {
    int i = 0;

    while (i < m->n && (m->results[i].err == ZOK ||
                        m->results[i].err == ZRUNTIMEINCONSISTENCY))
        i++;
    return i;
}

static void on_multi(int rc, const void *arg) {
    slot *s = (slot *)arg;

    if (rc == ZOK) {
        s->answer.stat = s->multi->stat;
        if (s->answer.stat.mtime)
            hf__zk_saw_clock(s->round->zk, s->answer.stat.mtime);
        rc = keep_text(&s->answer, s->multi->path, strlen(s->multi->path));
    } else {
        s->answer.failed_op = first_failed(s->multi);
    }
    answered(s, rc);
}

/* ---- requests ---------------------------------------------------------- */

/* Counted before it is sent, since the answer may be there first. */
static slot *next_slot(hf_round *r) {
    slot *s = &r->slots[r->used++];

    s->round = r;
    atomic_fetch_add(&r->refs, 1);
    atomic_fetch_add(&r->pending, 1);
    return s;
}

/* What could not be sent will not be answered by anybody else. */
static const hf_answer *sent(slot *s, int rc) {
    if (rc != ZOK)
        answered(s, rc);
    return &s->answer;
}

const hf_answer *hf__round_create(hf_round *r, const char *path,
                                  const char *data, size_t length,
                                  const struct ACL_vector *acl, int mode) {
    slot *s = next_slot(r);

    r->counts = true;
    return sent(s, zoo_acreate2(r->session->zh, path, data, (int)length,
                                acl ? acl : &ZOO_OPEN_ACL_UNSAFE, mode,
                                on_created, s));
}

const hf_answer *hf__round_delete(hf_round *r, const char *path) {
    slot *s = next_slot(r);

    r->counts = true;
    return sent(s, zoo_adelete(r->session->zh, path, -1, on_void, s));
}

const hf_answer *hf__round_exists(hf_round *r, const char *path) {
    slot *s = next_slot(r);

    return sent(s, zoo_aexists(r->session->zh, path, 0, on_stat, s));
}

const hf_answer *hf__round_get(hf_round *r, const char *path) {
    slot *s = next_slot(r);

    return sent(s, zoo_aget(r->session->zh, path, 0, on_data, s));
}

const hf_answer *hf__round_children(hf_round *r, const char *path) {
    slot *s = next_slot(r);

    return sent(s, zoo_aget_children2(r->session->zh, path, 0, on_children, s));
}

const hf_answer *hf__round_sync(hf_round *r) {
    slot *s = next_slot(r);

    r->counts = true;
    return sent(s, zoo_async(r->session->zh, "/", on_text, s));
}

const hf_answer *hf__round_watch_data(hf_round *r, const char *path,
                                      uint64_t watch) {
    slot *s = next_slot(r);

    return sent(s, zoo_awget(r->session->zh, path, hf__zk_watcher,
                             (void *)(uintptr_t)watch, on_data, s));
}

const hf_answer *hf__round_watch_children(hf_round *r, const char *path,
                                          uint64_t watch) {
    slot *s = next_slot(r);

    return sent(s,
                zoo_awget_children2(r->session->zh, path, hf__zk_watcher,
                                    (void *)(uintptr_t)watch, on_children, s));
}

const hf_answer *hf__round_watch_exists(hf_round *r, const char *path,
                                        uint64_t watch) {
    slot *s = next_slot(r);

    return sent(s, zoo_awexists(r->session->zh, path, hf__zk_watcher,
                                (void *)(uintptr_t)watch, on_stat, s));
}

/* The path of the first create and the Stat of a set are kept; the paths of
 * further creates follow from the first. */
static void aim(multi *m, zoo_op_t *op, bool *has_path) {
    if (op->type == ZOO_SETDATA_OP)
        op->set_op.stat = &m->stat;
    if (op->type != ZOO_CREATE_OP || *has_path)
        return;
    op->create_op.buf = m->path;
    op->create_op.buflen = sizeof m->path;
    *has_path = true;
}

const hf_answer *hf__round_multi(hf_round *r, const zoo_op_t *ops, int n) {
    slot *s = next_slot(r);
    zoo_op_t *copy = hf__calloc((size_t)n, sizeof *copy);
    multi *m = hf__calloc(1, sizeof *m);
    bool has_path = false;
    int rc = ZOPERATIONTIMEOUT;

    r->counts = true;
    s->multi = m;
    if (m)
        m->results = hf__calloc((size_t)n, sizeof *m->results);
    if (copy && m && m->results) {
        m->n = n;
        memcpy(copy, ops, (size_t)n * sizeof *copy);
        for (int i = 0; i < n; i++)
            aim(m, &copy[i], &has_path);
        rc = zoo_amulti(r->session->zh, n, copy, m->results, on_multi, s);
    }
    hf__free(copy);
    return sent(s, rc);
}

/* ---- the end ----------------------------------------------------------- */

/* The request may have been done, or will not be answered by this session. */
static bool is_unsure(int rc) {
    switch (rc) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED:
    case ZSESSIONEXPIRED:
    case ZCLOSING:
    case ZINVALIDSTATE:
        return true;
    default:
        return false;
    }
}

static bool await(hf_round *r, hf_time by) {
    unsigned left;

    while ((left = atomic_load(&r->pending)) != 0 && hf__now() < by)
        hf__world->park(&r->pending, left, by);
    return left == 0;
}

int hf__round_end(hf_round *r, hf_time by, hf_error *err) {
    size_t unsure = 0, unsent = 0;

    leave_session(r);
    if (!await(r, by))
        return hf__fail(err, HF_EDOUBT, "ZooKeeper did not answer in time");
    for (size_t i = 0; i < r->used; i++) {
        unsure += is_unsure(r->slots[i].answer.rc);
        unsent += r->slots[i].answer.rc == ZINVALIDSTATE;
    }
    if (unsure && unsent == r->used)
        return hf__fail(err, HF_EDOWN, "the session with ZooKeeper is over");
    if (unsure)
        return hf__fail(err, HF_EDOUBT,
                        "the connection to ZooKeeper broke before the answer");
    if (r->counts)
        hf__zk_answered(r->zk, r->generation, r->sent);
    return HF_OK;
}

const hf_answer *hf__round_nth(const hf_round *r, size_t i) {
    return &r->slots[i].answer;
}

int hf__zk_refusal(int rc, const char *path, hf_error *err) {
    switch (rc) {
    case ZNOAUTH:
        return hf__fail(err, HF_EFORBIDDEN,
                        "ZooKeeper's access list of %.120s, or of its parent, "
                        "does not let us do this",
                        path);
    case ZAUTHFAILED:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
        return hf__fail(err, HF_EAUTH, "ZooKeeper refused the credentials");
    case ZNOTREADONLY:
        return hf__fail(err, HF_EREAD_ONLY,
                        "this server of ZooKeeper is cut off from the others "
                        "and takes no writes");
    case ZTHROTTLEDOP:
        return hf__fail(err, HF_ECROWDED, "ZooKeeper throttles requests");
    case ZNOCHILDRENFOREPHEMERALS:
        return hf__fail(err, HF_ESTORE,
                        "an ephemeral node stands in the way of %.150s", path);
    default:
        return hf__fail(err, HF_ESTORE, "ZooKeeper: %s (%.150s)", zerror(rc),
                        path);
    }
}
