/* SPDX-License-Identifier: MIT
 *
 * sight.c - reads a line, changes it by what is decided, and writes what is
 * different.
 *
 * The holder of a lock stands in the row of its line, everybody else in a row
 * of his own.  That shows in reading and in writing only: in between all are
 * rows of one sort, and one rule of admission is asked about them. */
#include "sight.h"

#include "../../alloc.h"
#include "../../err.h"

/* Columns of the statement `view`. */
enum {
    RANK,
    CLIENT,
    OWNER,
    ASKED,
    PERMITS,
    NONCE,
    TOKEN,
    PLACE,
    UNTIL,
    SINCE,
    FLAG,
    LEASE,
    NOW,
    WAITS,
    TICKET,
    NUMBER,
    GONE_AT,
    COLUMNS
};

enum { IS_LINE, IS_HOLD, IS_WAIT, IS_OWN }; /* ranks */

/* ---- reading ----------------------------------------------------------- */

static bool grow(hf_sight *v) {
    size_t room = v->room ? 2 * v->room : 8;
    hf_stander *rows = hf__realloc(v->rows, room * sizeof *rows);
    hf_entry *entries;

    if (!rows)
        return false;
    v->rows = rows;
    entries = hf__realloc(v->entries, (room + 1) * sizeof *entries);
    if (!entries)
        return false;
    v->entries = entries;
    v->room = room;
    return true;
}

static hf_stander *append(hf_sight *v) {
    if (v->n == v->room && !grow(v))
        return NULL;
    return memset(&v->rows[v->n++], 0, sizeof(hf_stander));
}

static const char *cell(const hf_rows *rows, size_t row, int column) {
    return rows->cells[row * (size_t)rows->columns + (size_t)column];
}

/* The line's own row, which is always the first. */
static void read_line(hf_sight *v, const hf_rows *from) {
    v->now = hf__tables_number(from, 0, NOW);
    v->waits = (int)hf__tables_number(from, 0, WAITS);
    v->exists = v->waits >= 0;
    v->token = (uint64_t)hf__tables_number(from, 0, TOKEN);
    v->until = hf__tables_number(from, 0, UNTIL);
    v->ticket = hf__tables_number(from, 0, TICKET);
    v->is_set = cell(from, 0, NUMBER) != NULL;
    v->number = hf__tables_number(from, 0, NUMBER);
    v->gone_at = INT64_MAX;
    if (v->is_set && cell(from, 0, GONE_AT))
        v->gone_at = hf__tables_number(from, 0, GONE_AT);
}

static void read_row(hf_stander *row, const hf_rows *from, size_t i) {
    bool waits = hf__tables_number(from, i, RANK) >= IS_WAIT;
    bool flag = hf__tables_number(from, i, FLAG) != 0;

    hf__tables_bytes(from, i, CLIENT, row->client, sizeof row->client);
    hf__tables_bytes(from, i, NONCE, row->nonce, sizeof row->nonce);
    row->owner = (uint64_t)hf__tables_number(from, i, OWNER);
    row->asked = (hf_kind)(hf__tables_number(from, i, ASKED) % HF_KINDS);
    row->permits = (int)hf__tables_number(from, i, PERMITS);
    row->token = (uint64_t)hf__tables_number(from, i, TOKEN);
    row->ticket = hf__tables_number(from, i, PLACE);
    row->until = hf__tables_number(from, i, UNTIL);
    row->since = hf__tables_number(from, i, SINCE);
    row->lease = hf__tables_number(from, i, LEASE);
    row->was = row->is = waits ? HF_WAITS : HF_HOLDS;
    row->kept = !waits && flag;
    row->fifo = waits && flag;
}

/* A lock's holder is in the line's row. */
static int read_holder(hf_sight *v, const hf_rows *from, hf_error *err) {
    hf_stander *row;

    if (v->kind != HF_LOCK || v->until <= v->now)
        return HF_OK;
    row = append(v);
    if (!row)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    read_row(row, from, 0);
    row->was = row->is = HF_HOLDS;
    row->kept = hf__tables_number(from, 0, FLAG) != 0;
    row->block = (int)hf__tables_number(from, 0, PLACE);
    row->token -= (uint64_t)row->block;
    row->ticket = 0;
    return HF_OK;
}

/* Our own place comes once more, and may be behind all the others. */
static bool is_known(const hf_sight *v, const hf_rows *from, size_t i) {
    int64_t ticket = hf__tables_number(from, i, PLACE);

    for (size_t j = v->n; j-- > 0;)
        if (v->rows[j].was == HF_WAITS && v->rows[j].ticket == ticket)
            return true;
    return false;
}

static int read_rows(hf_sight *v, const hf_rows *from, hf_error *err) {
    int waits = 0;

    for (size_t i = 1; i < from->n; i++) {
        int64_t rank = hf__tables_number(from, i, RANK);
        hf_stander *row;

        if (rank == IS_OWN && is_known(v, from, i))
            continue;
        row = append(v);
        if (!row)
            return hf__fail_plain(err, HF_ENO_MEMORY);
        read_row(row, from, i);
        row->far = rank == IS_OWN;
        waits += rank == IS_WAIT;
    }
    v->partial = v->kind == HF_LOCK && waits >= HF_FIRST;
    return HF_OK;
}

/* Where a lock is free and somebody waits, its lease has ended unseen. */
static void remove_what_is_over(hf_sight *v) {
    bool held = false, waited_for = false;

    if (v->is_set && v->gone_at <= v->now)
        hf__sight_unset(v);
    for (size_t i = 0; i < v->n; i++) {
        if (v->rows[i].is != HF_AWAY && v->rows[i].until <= v->now)
            hf__sight_remove(v, &v->rows[i]);
        held = held || v->rows[i].is == HF_HOLDS;
        waited_for = waited_for || v->rows[i].is == HF_WAITS;
    }
    if (v->kind == HF_LOCK && !held && waited_for)
        v->freed = true;
}

int hf__sight_read(hf_sight *v, hf_kind line, const hf_rows *from,
                   hf_error *err) {
    int rc;

    *v = (hf_sight){.kind = line};
    if (from->n == 0 || from->columns != COLUMNS)
        return hf__fail(err, HF_ESTORE, "the tables answer with %d columns",
                        from->columns);
    if (!grow(v))
        return hf__fail_plain(err, HF_ENO_MEMORY);
    read_line(v, from);
    rc = read_holder(v, from, err);
    if (rc == HF_OK)
        rc = read_rows(v, from, err);
    remove_what_is_over(v);
    return rc;
}

void hf__sight_clear(hf_sight *v) {
    hf__free(v->rows);
    hf__free(v->entries);
    *v = (hf_sight){.kind = v->kind};
}

/* ---- finding ----------------------------------------------------------- */

static hf_stander *find(const hf_sight *v, const hf_tables *t, uint64_t owner,
                        hf_stand stand) {
    for (size_t i = 0; owner != 0 && i < v->n; i++) {
        hf_stander *row = &v->rows[i];

        if (row->is == stand && !row->kept && row->owner == owner &&
            memcmp(row->client, t->client, HF_ID) == 0)
            return row;
    }
    return NULL;
}

hf_stander *hf__sight_hold(const hf_sight *v, const hf_tables *t,
                           uint64_t owner) {
    return find(v, t, owner, HF_HOLDS);
}

hf_stander *hf__sight_wait(const hf_sight *v, const hf_tables *t,
                           uint64_t owner) {
    return find(v, t, owner, HF_WAITS);
}

int64_t hf__sight_first_end(const hf_sight *v) {
    int64_t at = v->is_set ? v->gone_at : INT64_MAX;

    for (size_t i = 0; i < v->n; i++)
        if (v->rows[i].is == HF_HOLDS && v->rows[i].until < at)
            at = v->rows[i].until;
    return at;
}

int hf__sight_ahead(const hf_sight *v, const hf_stander *row) {
    int n = 0;

    for (size_t i = 0; i < v->n && &v->rows[i] != row; i++)
        n += v->rows[i].is != HF_AWAY;
    return row && (row->far || row->was == HF_AWAY) && n < v->waits ? v->waits :
                                                                      n;
}

int64_t hf__sight_leased_out(const hf_sight *v) {
    int64_t n = 0;

    for (size_t i = 0; i < v->n; i++)
        n += v->rows[i].is == HF_HOLDS ? v->rows[i].permits : 0;
    return n;
}

/* ---- the rule ---------------------------------------------------------- */

/* Who is called counts as one who holds: it is about to. */
static hf_entry entry_of(const hf_stander *row) {
    return (hf_entry){.mode = hf__mode(row->asked),
                      .permits = row->permits,
                      .holds = row->is == HF_HOLDS || row->called,
                      .fifo = row->fifo};
}

/* Who reads beside his own write lock does not see it, and need not wait for
 * others: nobody could be first. */
bool hf__sight_admits(const hf_sight *v, const hf_stander *row,
                      const hf_stander *unseen) {
    int n = 0, me = 0;

    if (v->partial && row->fifo && (row->far || row->was == HF_AWAY))
        return false; /* behind those who are not in the sight */
    for (size_t i = 0; i < v->n; i++) {
        const hf_stander *other = &v->rows[i];

        if (other == unseen || (other != row && other->is == HF_AWAY))
            continue;
        if (other == row)
            me = n;
        v->entries[n++] = entry_of(other);
    }
    if (unseen)
        v->entries[me].fifo = false;
    return hf__admit(v->entries, n, me, v->number, v->number).admitted;
}

/* ---- changing ---------------------------------------------------------- */

hf_stander *hf__sight_enter(hf_sight *v, const hf_tables *t,
                            const hf_claim *c) {
    hf_stander *row = append(v);

    if (!row)
        return NULL;
    memcpy(row->client, t->client, HF_ID);
    memcpy(row->nonce, c->nonce, sizeof row->nonce);
    row->owner = c->owner;
    row->asked = c->kind;
    row->permits = hf__mode(c->kind) == HF_PERMITS ? c->permits : 0;
    row->lease = c->lease_ms * HF_US_OF_MS;
    row->fifo = hf__tables_is_fifo(c);
    return row;
}

uint64_t hf__sight_tokens(hf_sight *v, int n) {
    uint64_t first = v->token + 1;

    if (v->now > 0 && first < (uint64_t)v->now)
        first = (uint64_t)v->now;
    v->token = first + (uint64_t)n - 1;
    v->changed = true;
    return first;
}

void hf__sight_grant(hf_sight *v, hf_stander *row, int tokens, int64_t lease) {
    row->token = hf__sight_tokens(v, tokens);
    row->block = tokens - 1;
    row->is = HF_HOLDS;
    row->since = v->now;
    row->until = v->now + lease;
    row->kept = row->called = false;
}

void hf__sight_line_up(hf_sight *v, hf_stander *row) {
    row->is = HF_WAITS;
    row->since = v->now;
    row->until = v->now + HF_PLACE_US;
    row->ticket = ++v->ticket;
    v->changed = true;
}

void hf__sight_remove(hf_sight *v, hf_stander *row) {
    if (v->kind == HF_LOCK && row->is == HF_HOLDS && v->until > v->now)
        v->until = v->now;
    row->is = HF_AWAY;
    v->freed = true;
}

void hf__sight_set_until(hf_sight *v, hf_stander *row, int64_t until,
                         bool kept) {
    (void)v;
    row->until = until;
    row->kept = kept;
    row->changed = true;
}

void hf__sight_unset(hf_sight *v) {
    v->is_set = false;
    v->number = 0;
    v->gone_at = INT64_MAX;
    v->changed = v->freed = true;
    for (size_t i = 0; i < v->n; i++)
        if (v->rows[i].is == HF_HOLDS)
            hf__sight_remove(v, &v->rows[i]);
}

void hf__sight_settle(hf_sight *v) {
    for (size_t i = 0; v->freed && i < v->n; i++) {
        hf_stander *row = &v->rows[i];

        if (row->is != HF_WAITS || !hf__sight_admits(v, row, NULL))
            continue;
        row->called = true;
        if (hf__tables_is_leased(row->asked)) {
            hf__sight_grant(
                v, row, 1, row->lease < HF_OFFER_US ? row->lease : HF_OFFER_US);
            row->called = true;
        }
    }
}

/* ---- writing ----------------------------------------------------------- */

bool hf__sight_differs(const hf_sight *v) {
    bool differs = v->changed;

    for (size_t i = 0; i < v->n && !differs; i++)
        differs = v->rows[i].was != v->rows[i].is || v->rows[i].changed ||
                  v->rows[i].called;
    return differs;
}

static void set_row(hf_params *p, const hf_stander *row) {
    hf_set_bytes(p, client, row->client, HF_ID);
    hf_set_bytes(p, nonce, row->nonce, sizeof row->nonce);
    hf_set(p, owner, row->owner);
    hf_set(p, asked, row->asked);
    hf_set(p, permits, row->permits);
    hf_set(p, token, row->token);
    hf_set(p, ticket, row->ticket);
    hf_set(p, until, row->until);
    hf_set(p, since, row->since);
    hf_set(p, lease, row->lease);
    hf_set(p, kept, row->kept);
    hf_set(p, fifo, row->fifo);
}

/* Holds first, then waits, as everybody does it. */
static void write_hold(const hf_sight *v, const hf_stander *row, hf_params *p,
                       hf_script *to) {
    if (v->kind == HF_LOCK)
        return; /* in the line's row */
    set_row(p, row);
    if (row->was == HF_HOLDS && row->is != HF_HOLDS)
        hf__script_add(to, HF_SQL_hold_drop, p);
    else if (row->was == HF_HOLDS && row->changed)
        hf__script_add(to, HF_SQL_hold_set, p);
    else if (row->was != HF_HOLDS && row->is == HF_HOLDS)
        hf__script_add(to, HF_SQL_hold, p);
}

static void write_wait(const hf_stander *row, hf_params *p, hf_script *to) {
    set_row(p, row);
    if (row->was == HF_WAITS && row->is != HF_WAITS)
        hf__script_add(to, HF_SQL_leave, p);
    else if (row->was == HF_WAITS && row->changed)
        hf__script_add(to, HF_SQL_stay, p);
    else if (row->was != HF_WAITS && row->is == HF_WAITS)
        hf__script_add(to, HF_SQL_join, p);
}

/* How many wait: counted, or, where not all are in the sight, reckoned. */
static int count_waits(const hf_sight *v) {
    int now = 0, before = 0;

    for (size_t i = 0; i < v->n; i++) {
        now += v->rows[i].is == HF_WAITS;
        before += v->rows[i].was == HF_WAITS;
    }
    if (v->partial && v->waits > before)
        now += v->waits - before;
    return now;
}

static void write_line(const hf_sight *v, hf_params *p, hf_script *to) {
    static const hf_stander nobody;
    const hf_stander *holder = &nobody;

    for (size_t i = 0; i < v->n; i++)
        if (v->kind == HF_LOCK && v->rows[i].is == HF_HOLDS)
            holder = &v->rows[i];
    set_row(p, holder);
    if (holder == &nobody) {
        hf_set_bytes(p, client, "", 0);
        hf_set(p, until, v->kind == HF_LOCK ? v->until : v->now);
    }
    hf_set(p, block, holder->block);
    hf_set(p, token, v->token);
    hf_set(p, waits, count_waits(v));
    hf_set(p, ticket, v->ticket);
    hf_set_null(p, number);
    hf_set_null(p, gone_at);
    if (v->is_set)
        hf_set(p, number, v->number);
    if (v->is_set && v->gone_at != INT64_MAX)
        hf_set(p, gone_at, v->gone_at);
    hf__script_add(to, HF_SQL_write, p);
}

/* One note is enough for all readers, or all who wait for a latch, of one
 * client. */
static bool is_told(const hf_sight *v, size_t at) {
    const hf_stander *row = &v->rows[at];
    hf_mode mode = hf__mode(row->asked);

    for (size_t i = 0; i < at && (mode == HF_SHARED || mode == HF_ZERO); i++)
        if (v->rows[i].called && hf__mode(v->rows[i].asked) == mode &&
            memcmp(v->rows[i].client, row->client, HF_ID) == 0)
            return true;
    return false;
}

static void write_notes(const hf_sight *v, const hf_claim *c, hf_params *p,
                        hf_script *to) {
    char note[HF_NOTE_MAX];

    for (size_t i = 0; i < v->n; i++) {
        const hf_stander *row = &v->rows[i];

        if (!row->called || is_told(v, i))
            continue;
        hf_set_bytes(p, client, row->client, HF_ID);
        hf_set_bytes(
            p, note, note,
            hf__tables_write_note(note, row->asked, row->owner, c->name));
        hf__script_add(to, HF_SQL_tell, p);
    }
}

/* What is gone before what is new: a key may be used again. */
void hf__sight_write(const hf_sight *v, const hf_tables *t, const hf_claim *c,
                     hf_script *to) {
    hf_params p;

    hf__tables_params(&p, t, c);
    write_line(v, &p, to);
    for (size_t i = 0; i < v->n; i++)
        write_hold(v, &v->rows[i], &p, to);
    for (size_t i = 0; i < v->n; i++)
        write_wait(&v->rows[i], &p, to);
    write_notes(v, c, &p, to);
}
