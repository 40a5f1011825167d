/* SPDX-License-Identifier: MIT
 *
 * line.c - into the line of a name, through it, and out of it.
 *
 *      take         a lock that is free, and no line: held, by one statement
 *       │ no
 *      decide       looks at who holds and who waits, reading only; if it would
 *       │           have to write, again inside a transaction: bury the dead,
 *       │           hold, or join the line
 *       ▼
 *      BUSY         who leaves rings whoever is let in by that, and we notice
 *                   the ends of the processes before us; behind both we look
 *                   again by ourselves
 *
 * The lock has one holder (alone.c), the other kinds have several
 * (together.c). */
#include "line.h"

#include <string.h>

#include "../../err.h"
#include "clients.h"

#define LOOK_AGAIN HF_SECOND

/* ---- places ------------------------------------------------------------ */

int hf__sqlite_line_ticket(hf_embedded *s, const hf_claim *c, int64_t *ret,
                           hf_error *err) {
    return hf__store_ask_number(s, HF_QUERY_place, c, hf__place_ticket(c), ret,
                                err);
}

int hf__sqlite_line_join(hf_embedded *s, hf_claim *c, hf_error *err) {
    sqlite3_stmt *st;
    int64_t ticket;
    int rc;

    if (!hf__db_writes(s->db))
        return HF_AGAIN;
    rc = hf__clients_introduce(s, err);
    if (rc != HF_OK)
        return rc;
    st = hf__store_query(s, HF_QUERY_join, c, 0, err);
    if (st == NULL)
        return err->code;
    hf__store_bind_asked(st, c);
    rc = hf__store_tell_number(s, st, &ticket, err);
    if (rc < 0)
        return rc;
    c->place = (uint64_t)ticket;
    return HF_BUSY;
}

int hf__sqlite_line_step_out(hf_embedded *s, const hf_claim *c, hf_error *err) {
    return hf__store_run(s, HF_QUERY_leave, c, hf__place_ticket(c), err);
}

hf_time hf__sqlite_line_look_again(const hf_embedded *s, int64_t at_us) {
    int64_t now_us = hf__db_now_us(s->db);
    hf_time soon = hf__now() + hf__jitter(LOOK_AGAIN);

    return at_us < now_us + LOOK_AGAIN / 1000 ?
               hf__sooner(hf__db_local(s->db, at_us), soon) :
               soon;
}

/* ---- asking ------------------------------------------------------------ */

static int decide(hf_embedded *s, hf_claim *c, bool waits, hf_refusal *why,
                  hf_error *err) {
    memset(why, 0, sizeof *why);
    return hf__is_alone(c) ? hf__alone_decide(s, c, waits, why, err) :
                             hf__together_decide(s, c, waits, why, err);
}

static int decide_for_good(hf_embedded *s, hf_claim *c, bool waits,
                           hf_refusal *why, hf_error *err) {
    uint64_t place = c->place;
    int rc = hf__store_begin(s, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__store_end(s, decide(s, c, waits, why, err), err);
    if (rc < 0)
        c->place = place;
    return rc;
}

/* One question.  AGAIN: somebody before us died as we looked.  Who was called
 * and finds that another was faster calls those for whom there is room left. */
static int ask(hf_embedded *s, hf_claim *c, bool waits, hf_error *err) {
    bool stood = hf__place_waits(c), armed;
    hf_refusal why;
    int rc = waits && !stood ? HF_AGAIN : decide(s, c, waits, &why, err);

    if (rc == HF_AGAIN)
        rc = decide_for_good(s, c, waits, &why, err);
    if (rc != HF_BUSY)
        return rc;
    armed = why.n == 0 || hf__wake_arm(s->wake, c, why.peers, why.n);
    if (why.ring || (stood && !hf__is_alone(c)))
        hf__sqlite_line_ring(s, c);
    return armed ? HF_BUSY : HF_AGAIN;
}

int hf__sqlite_line_attempt(hf_embedded *s, hf_claim *c, bool waits,
                            hf_error *err) {
    int rc = hf__db_check_place(s->db, err);

    if (rc == HF_OK)
        rc = hf__wake_appear(s->wake, err);
    if (rc != HF_OK)
        return rc;
    if (c->place == 0 && hf__is_alone(c)) {
        rc = hf__alone_take(s, c, err);
        if (rc != HF_BUSY)
            return rc;
    }
    if (c->kind == HF_SPIN) /* hears nobody, stands in no line */
        waits = false;
    for (int i = 0; i < 3; i++)
        if ((rc = ask(s, c, waits, err)) != HF_AGAIN)
            return rc;
    c->ask_again = hf__now(); /* they die faster than we can look */
    return HF_BUSY;
}

/* ---- ringing ----------------------------------------------------------- */

/* Those who ask beside others of their process, who were refused, are called
 * by their number; for the rest it is enough to wake whoever is next there. */
static bool has_a_bell_of_its_own(hf_kind asked) {
    return asked == HF_FAIR || hf__mode(asked) == HF_PERMITS;
}

bool hf__sqlite_line_ring_one(hf_embedded *s, const hf_claim *c,
                              const hf_peer *who, hf_kind asked,
                              uint64_t owner) {
    return hf__wake_ring(s->wake, who->client, hf_line_kind(asked), c->name,
                         has_a_bell_of_its_own(asked) ? owner : 0);
}

void hf__sqlite_line_ring(hf_embedded *s, const hf_claim *c) {
    if (hf__is_alone(c))
        hf__alone_ring(s, c);
    else
        hf__together_ring(s, c);
}

/* ---- leaving ----------------------------------------------------------- */

/* Those behind us may have waited for us. */
int hf__sqlite_line_leave(hf_embedded *s, hf_claim *c, hf_error *err) {
    int rc = hf__sqlite_line_step_out(s, c, err);

    if (rc != HF_OK)
        return rc;
    c->place = 0;
    if (hf__db_changes(s->db) == 0)
        return hf__fail(err, HF_ELOST,
                        "%s is no longer held: its lease ended or somebody "
                        "took it away",
                        c->name);
    hf__sqlite_line_ring(s, c);
    return HF_OK;
}

void hf__sqlite_line_owner(const hf_peer *by, hf_kind asked, uint64_t owner,
                           const void *nonce, size_t nonce_size, char *buf,
                           size_t size) {
    hf_claim c = {.kind = asked, .owner = owner};

    if (nonce_size == sizeof c.nonce)
        memcpy(c.nonce, nonce, sizeof c.nonce);
    hf__owner_of(&c, by->client, buf, size);
}

int hf__sqlite_line_force(hf_embedded *s, hf_claim *c, const char *whose,
                          hf_error *err) {
    int rc = hf__store_begin(s, err);

    if (rc != HF_OK)
        return rc;
    rc = hf__is_alone(c) ? hf__alone_force(s, c, whose, err) :
                           hf__together_force(s, c, whose, err);
    rc = hf__store_end(s, rc, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return hf__fail(err, HF_EFREE, "%s%s %s",
                        whose != NULL ? whose : "nobody",
                        whose != NULL ? " does not hold" : " holds", c->name);
    hf__sqlite_line_ring(s, c);
    return HF_OK;
}
