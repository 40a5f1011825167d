/* SPDX-License-Identifier: MIT
 *
 * number.c - what semaphores and latches count with.
 *
 *   P/count           four bytes, big-endian: Curator's SharedCount, whose
 *                     compare-and-set wants exactly these
 *   P/count-answers   what was answered lately, and when the number ends
 *
 * Both are written in one request, each with the version that was read.  The
 * answers stay when the number is deleted, so that their version goes on: were
 * it to begin anew, a writer who slept through it all could take the new nodes
 * for the old ones.  A latch that has opened keeps its number, 0, for those in
 * Java who look at it.
 *
 * The answers: a line `holdfast 1 latch 0` - what it counts, and the end in ms
 * of the servers' clock, 0 for none - then for each the nonce, the result in
 * four bytes and the value in eight. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../err.h"
#include "../../world.h"
#include "zookeeper.h"

enum { RECORD = 16 + 4 + 8, HEAD = 64 };

/* ---- bytes ------------------------------------------------------------- */

static void put(char *to, uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        to[i] = (char)(value & 0xff);
}

static uint64_t get(const char *from, int bytes) {
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value = value << 8 | (unsigned char)from[i];
    return value;
}

bool hf__zk_count_parse(const hf_answer *got, int64_t *number) {
    if (got->length != HF_COUNT_BYTES)
        return false;
    *number = (int32_t)(uint32_t)get(got->text, HF_COUNT_BYTES);
    return true;
}

void hf__zk_count_write(int64_t number, char bytes[HF_COUNT_BYTES]) {
    put(bytes, (uint64_t)number, HF_COUNT_BYTES);
}

static const char *word_of(hf_kind kind) {
    return kind == HF_LATCH ? "latch" : "semaphore";
}

bool hf__zk_answers_are_of(const char *text, size_t length, hf_kind kind) {
    char head[HEAD];
    int n = snprintf(head, sizeof head, "holdfast 1 %s ", word_of(kind));

    return length >= (size_t)n && memcmp(text, head, (size_t)n) == 0;
}

/* What is not as we write it is nobody's answer. */
static void parse_answers(const hf_answer *got, hf_number_state *state,
                          int64_t *end_ms) {
    const char *end = memchr(got->text, '\n', got->length), *at, *space;

    *end_ms = 0;
    state->n_answers = 0;
    if (!end || strncmp(got->text, "holdfast 1 ", 11) != 0)
        return;
    space = strchr(got->text + 11, ' ');
    if (!space || space > end)
        return;
    *end_ms = strtoll(space + 1, NULL, 10);
    for (at = end + 1; at + RECORD <= got->text + got->length &&
                       state->n_answers < HF_ANSWERS;
         at += RECORD) {
        hf_answered *a = &state->answers[state->n_answers++];

        memcpy(a->nonce, at, 16);
        a->result = (int32_t)(uint32_t)get(at + 16, 4);
        a->value = (int64_t)get(at + 20, 8);
    }
}

static size_t write_answers(const hf_number_state *state, hf_kind kind,
                            int64_t end_ms, char *buf) {
    size_t n = (size_t)snprintf(buf, HEAD, "holdfast 1 %s %" PRId64 "\n",
                                word_of(kind), end_ms);

    for (size_t i = 0; i < state->n_answers; i++, n += RECORD) {
        memcpy(buf + n, state->answers[i].nonce, 16);
        put(buf + n + 16, (uint64_t)state->answers[i].result, 4);
        put(buf + n + 20, (uint64_t)state->answers[i].value, 8);
    }
    return n;
}

/* ---- versions ---------------------------------------------------------- */

/* Of both nodes; each one higher, so that 0 is for none. */
static uint64_t version_of(const hf_answer *count, const hf_answer *answers) {
    uint64_t high = count->rc == ZOK ? (uint32_t)count->stat.version + 1u : 0;
    uint64_t low =
        answers->rc == ZOK ? (uint32_t)answers->stat.version + 1u : 0;

    return high << 32 | low;
}

/* One round reads one node after the other, with writes of others in between.
 * So the latest change of all would hide an earlier one that the node read
 * first had missed; what was read of each must be the same. */
uint64_t hf__zk_number_as_of(const hf_answer *count, const hf_answer *leases) {
    uint64_t number = count->rc == ZOK ? (uint64_t)count->stat.mzxid : 0;
    uint64_t leased =
        leases && leases->rc == ZOK ? (uint64_t)leases->stat.pzxid : 0;
    uint64_t both = number * UINT64_C(0x9e3779b97f4a7c15) + leased;

    return both ? both : 1;
}

/* ---- read -------------------------------------------------------------- */

static bool is_answer(const hf_answer *a) {
    return a->rc == ZOK || a->rc == ZNONODE;
}

static int64_t count_leases(const hf_zookeeper *p, const hf_answer *list) {
    hf_tagged tagged;
    int64_t n = 0;

    for (size_t i = 0; list->rc == ZOK && i < list->n; i++)
        n += hf__layout_parse(p->layout, HF_SEMAPHORE, list->names[i], &tagged);
    return n;
}

static int note_end(hf_zookeeper *p, int64_t end_ms, hf_number_state *state,
                    hf_time by, hf_error *err) {
    int64_t now_ms;
    int rc;

    state->gone_at = HF_NEVER;
    if (!end_ms || !state->is_set)
        return HF_OK;
    rc = hf__zookeeper_clock(p, &now_ms, by, err);
    if (rc != HF_OK)
        return rc;
    state->gone_at = hf__now() + (end_ms - now_ms) * HF_MS;
    if (end_ms <= now_ms) {
        state->is_set = false;
        state->number = 0;
    }
    return HF_OK;
}

static int note_state(hf_zookeeper *p, const char *base, const hf_answer *count,
                      const hf_answer *answers, hf_number_state *state,
                      hf_time by, hf_error *err) {
    int64_t end_ms = 0;

    if (!is_answer(count))
        return hf__zk_refusal(count->rc, base, err);
    if (!is_answer(answers))
        return hf__zk_refusal(answers->rc, base, err);
    state->is_set = count->rc == ZOK;
    if (state->is_set && !hf__zk_count_parse(count, &state->number))
        return hf__fail(err, HF_ESTORE,
                        "%.150s/count is not the four bytes of a SharedCount",
                        base);
    if (answers->rc == ZOK)
        parse_answers(answers, state, &end_ms);
    state->version = version_of(count, answers);
    return note_end(p, end_ms, state, by, err);
}

static int read_once(hf_zookeeper *p, const hf_line *line,
                     hf_number_state *state, int64_t *leased, hf_time by,
                     hf_error *err) {
    char base[HF_ZNODE_SIZE], path[HF_ZNODE_SIZE];
    const hf_answer *count, *answers, *leases = NULL;
    hf_round *r;
    int rc = hf__round_begin(&r, p->zk, 4, by, err);

    if (rc != HF_OK)
        return rc;
    hf__zookeeper_base(p, line, base);
    hf__round_sync(r);
    hf__zookeeper_join(path, base, hf__zk_count);
    count = hf__round_get(r, path);
    hf__zookeeper_join(path, base, hf__zk_answers);
    answers = hf__round_get(r, path);
    hf__zookeeper_join(path, base, hf__zk_leases);
    if (line->kind == HF_SEMAPHORE)
        leases = hf__round_children(r, path);
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK && leases && !is_answer(leases))
        rc = hf__zk_refusal(leases->rc, base, err);
    if (rc == HF_OK)
        rc = note_state(p, base, count, answers, state, by, err);
    if (rc == HF_OK) {
        state->as_of = hf__zk_number_as_of(count, leases);
        *leased = leases ? count_leases(p, leases) : 0;
    }
    hf__round_free(r);
    return rc;
}

int hf__zookeeper_read(hf_port *port, const hf_line *line,
                       hf_number_state *state, int64_t *leased, hf_time by,
                       hf_error *err) {
    int rc;

    do {
        *state = (hf_number_state){.gone_at = HF_NEVER};
        rc = read_once((hf_zookeeper *)port, line, state, leased, by, err);
    } while (hf__zookeeper_again(rc, by));
    return hf__zookeeper_only_asked(rc, err);
}

/* ---- write ------------------------------------------------------------- */

typedef struct writing {
    hf_zookeeper *p;
    const hf_number_state *state;
    bool latch;
    char base[HF_ZNODE_SIZE], count[HF_ZNODE_SIZE], answers[HF_ZNODE_SIZE];
    char bytes[HF_COUNT_BYTES];
    char text[HEAD + HF_ANSWERS * RECORD];
    size_t length;
} writing;

static void write_op(writing *w, zoo_op_t *op, const char *path,
                     const char *data, size_t length, uint32_t version) {
    if (version)
        zoo_set_op_init(op, path, data, (int)length, (int)(version - 1), NULL);
    else
        zoo_create_op_init(op, path, data, (int)length, w->p->acl,
                           ZOO_PERSISTENT, NULL, 0);
}

/* At most two. */
static int write_ops(writing *w, zoo_op_t *ops) {
    uint32_t count = (uint32_t)(w->state->version >> 32);
    uint32_t answers = (uint32_t)w->state->version;
    int n = 0;

    if (w->state->is_set || (w->latch && count))
        write_op(w, &ops[n++], w->count, w->bytes, sizeof w->bytes, count);
    else if (count)
        zoo_delete_op_init(&ops[n++], w->count, (int)(count - 1));
    write_op(w, &ops[n++], w->answers, w->text, w->length, answers);
    return n;
}

/* HF_BUSY: somebody was first; HF_EFREE: the folder is missing. */
static int write_once(writing *w, hf_time by, hf_error *err) {
    const hf_answer *written;
    zoo_op_t ops[2];
    hf_round *r;
    int rc = hf__round_begin(&r, w->p->zk, 1, by, err);

    if (rc != HF_OK)
        return rc;
    written = hf__round_multi(r, ops, write_ops(w, ops));
    rc = hf__round_end(r, by, err);
    if (rc == HF_OK)
        switch (written->rc) {
        case ZOK:
            break;
        case ZNONODE:
            rc = w->state->version ? HF_BUSY : HF_EFREE;
            break;
        case ZBADVERSION:
        case ZNODEEXISTS:
            rc = HF_BUSY;
            break;
        default:
            rc = hf__zk_refusal(written->rc, w->base, err);
        }
    hf__round_free(r);
    return rc;
}

static int prepare(writing *w, const hf_line *line, hf_time by, hf_error *err) {
    int64_t end_ms = 0;
    int rc = HF_OK;

    w->latch = line->kind == HF_LATCH;
    hf__zookeeper_base(w->p, line, w->base);
    hf__zookeeper_join(w->count, w->base, hf__zk_count);
    hf__zookeeper_join(w->answers, w->base, hf__zk_answers);
    hf__zk_count_write(w->state->is_set ? w->state->number : 0, w->bytes);
    if (w->state->is_set && w->state->gone_at != HF_NEVER) {
        rc = hf__zookeeper_clock(w->p, &end_ms, by, err);
        end_ms += (w->state->gone_at - hf__now()) / HF_MS;
    }
    w->length = write_answers(w->state, line->kind, end_ms, w->text);
    return rc;
}

/* What was not answered is in doubt: the caller reads again, and finds its
 * answer among the others or not. */
int hf__zookeeper_write(hf_port *port, const hf_line *line,
                        const hf_number_state *state, hf_time by,
                        hf_error *err) {
    writing w = {.p = (hf_zookeeper *)port, .state = state};
    int rc;

    if (state->is_set &&
        (state->number > INT32_MAX || state->number < INT32_MIN))
        return hf__fail(err, HF_EUSAGE,
                        "a number in ZooKeeper is at most %" PRId32 ", as in "
                        "Curator's SharedCount",
                        INT32_MAX);
    rc = prepare(&w, line, by, err);
    while (rc == HF_OK) {
        rc = write_once(&w, by, err);
        if (rc != HF_EFREE)
            return rc;
        rc = hf__zookeeper_make_folder(w.p, w.base, by, err);
    }
    return rc;
}
