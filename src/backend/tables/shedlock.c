/* SPDX-License-Identifier: MIT
 *
 * shedlock.c - one lock for ShedLock and us, in ShedLock's table.
 *
 * Java asks once and goes its way, tells nobody that it has finished, and may
 * leave a row held with nobody behind it: that is lockAtLeastFor, and ours to
 * respect.  So waiting here is asking again, when the row says that it ends or
 * after a pause that grows.
 *
 * What we write in locked_by names the grant, not the host: hf:HOST:PID:OWNER.
 * ShedLock's unlock and extend look for the name and locked_by alone, and so
 * never touch a row of ours; and a late request of an earlier grant finds
 * nothing. */
#include "shedlock.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "form.h"

enum {
    NAME_CHARS = 64,  /* of the column; what is longer must fail, not be cut */
    IDENTIFIER = 63,  /* of a table, where PostgreSQL cuts                   */
    FIRST_PAUSE = 20, /* ms */
    LAST_PAUSE = 500,
    PAUSES = 5,  /* doublings from the first to the last */
    BATCH = 100, /* renewals in a script */
};

/* What a claim's place says: how often it was refused, and that an attempt of
 * it was not answered. */
enum { PLACE_TRIES = 0xff, PLACE_DOUBT = 0x100 };

typedef struct hf_shedlock {
    hf_backend base;
    hf_database_host up;
    hf_database *db;
    hf_texts texts;
    char *where;
    char t[2 * IDENTIFIER + 2]; /* SCHEMA.TABLE, as Java is told it */
    char schema[IDENTIFIER + 1], table[IDENTIFIER + 1];
    char zone[80];
    hf_literal schema_bytes, table_bytes;
    atomic_bool found; /* the table is as we need it */
} hf_shedlock;

/* ---- names ------------------------------------------------------------- */

static int check_name(const char *name, hf_error *err) {
    size_t n = 0;

    for (const char *p = name; *p; p++)
        n += ((unsigned char)*p & 0xc0) != 0x80; /* begins a character */
    if (n <= NAME_CHARS)
        return HF_OK;
    return hf__fail(err, HF_ENAME,
                    "the name '%.80s' has %zu characters: ShedLock's table has "
                    "room for %d",
                    name, n, NAME_CHARS);
}

/* At most 64 + 1 + 20 + 1 + 36 + 1 + 20 characters, and ":done". */
static void grant_of(const hf_shedlock *s, const hf_claim *c, char *to,
                     size_t size) {
    const hf_identity *me = &s->base.host->identity;
    char host[sizeof me->host];

    snprintf(host, sizeof host, "%s", me->host);
    for (char *p = host; *p; p++)
        if (*p == ':')
            *p = '-';
    snprintf(to, size, "hf:%s:%lld:%s:%llu", host, (long long)me->pid,
             me->client, (unsigned long long)c->owner);
}

/* ---- asking ------------------------------------------------------------ */

/* The blanks of a statement about a claim. */
typedef struct fields {
    hf_literal name, me, whose;
    char lease[24];
    hf_blank blanks[11];
} fields;

static const hf_blank *fill_in(const hf_shedlock *s, fields *f,
                               const hf_claim *c, const char *whose) {
    char me[256];
    hf_blank blanks[] = {
        {"now", s->texts[HF_SHED_now]},
        {"t", s->t},
        {"zone", s->zone},
        {"schema", s->schema_bytes},
        {"table", s->table_bytes},
        {"name", f->name},
        {"me", f->me},
        {"whose", f->whose},
        {"lease", f->lease},
        {NULL, NULL},
    };

    grant_of(s, c, me, sizeof me);
    hf__literal(f->name, s->db, c->name != NULL ? c->name : "");
    hf__literal(f->me, s->db, me);
    hf__literal(f->whose, s->db, whose != NULL ? whose : "");
    snprintf(f->lease, sizeof f->lease, "%lld", c->lease_ms * 1000LL);
    memcpy(f->blanks, blanks, sizeof blanks);
    return f->blanks;
}

static void begin(const hf_shedlock *s, hf_form *form, const hf_blank *blanks) {
    hf__form_add(form, s->texts[HF_SHED_first], blanks);
}

/* One statement about a claim; *last is where its answer is. */
static int ask(hf_shedlock *s, hf_shed_sql what, const hf_claim *c,
               const char *whose, hf_answers *a, size_t *last, hf_time by,
               hf_error *err) {
    hf_form form = {.text = NULL};
    fields f;
    const hf_blank *blanks = fill_in(s, &f, c, whose);
    int rc;

    begin(s, &form, blanks);
    *last = hf__form_add(&form, s->texts[what], blanks);
    rc = hf__form_ask_any(&form, s->db, a, by, err);
    hf__form_clear(&form);
    return rc;
}

/* ---- the table --------------------------------------------------------- */

typedef struct sight {
    bool there, usable, extended, exact;
} sight;

static const hf_claim nobody = {.name = ""};

static int look(hf_shedlock *s, sight *ret, hf_time by, hf_error *err) {
    hf_answers a = {.n = 0};
    size_t last;
    int rc = ask(s, HF_SHED_find, &nobody, NULL, &a, &last, by, err);

    if (rc == HF_OK)
        *ret = (sight){hf__cell_number(&a, last, 0, 0) != 0,
                       hf__cell_number(&a, last, 0, 1) != 0,
                       hf__cell_number(&a, last, 0, 2) != 0,
                       hf__cell_number(&a, last, 0, 3) != 0};
    hf__answers_clear(&a);
    return rc;
}

/* Whoever else does the same is no trouble: what counts is what is there
 * afterwards. */
static int change(hf_shedlock *s, hf_shed_sql what, sight *ret, hf_time by,
                  hf_error *err) {
    hf_answers a = {.n = 0};
    hf_error why = {.code = 0};
    size_t last;
    int rc = ask(s, what, &nobody, NULL, &a, &last, by, &why);
    int seen = look(s, ret, by, err);

    hf__answers_clear(&a);
    if (seen != HF_OK)
        return seen;
    if (what == HF_SHED_make ? ret->there : ret->extended)
        return HF_OK;
    if (rc >= 0)
        return hf__fail(err, HF_ESTORE, "the table %s is not as it was made",
                        s->t);
    *err = why;
    return rc;
}

static int refused(const hf_shedlock *s, const sight *seen, int rc,
                   hf_error *err) {
    if (rc != HF_EFORBIDDEN && rc != HF_EREAD_ONLY)
        return rc;
    if (!seen->there)
        return hf__fail(err, rc,
                        "there is no table %s, and this user may not make it: "
                        "make it as ShedLock's manual says, and then ALTER "
                        "TABLE %s ADD COLUMN hf_token bigint NOT NULL DEFAULT "
                        "0",
                        s->t, s->t);
    return hf__fail(err, rc,
                    "this user may not add the column for tokens: ALTER TABLE "
                    "%s ADD COLUMN hf_token bigint NOT NULL DEFAULT 0",
                    s->t);
}

/* Makes what is missing; once it was seen to be there, nobody looks again. */
static int need_table(hf_shedlock *s, hf_time by, hf_error *err) {
    sight seen;
    int rc;

    if (atomic_load(&s->found))
        return HF_OK;
    rc = look(s, &seen, by, err);
    if (rc == HF_OK && !seen.there)
        rc = change(s, HF_SHED_make, &seen, by, err);
    if (rc == HF_OK && !seen.usable)
        return hf__fail(err, HF_ESTORE,
                        "%s.lock_until is missing or of another type than "
                        "ShedLock has it: timestamp without time zone",
                        s->t);
    if (rc == HF_OK && !seen.extended)
        rc = change(s, HF_SHED_extend, &seen, by, err);
    if (rc != HF_OK)
        return refused(s, &seen, rc, err);
    atomic_store(&s->found, true);
    return HF_OK;
}

/* A statement about a claim, with the table made before, and again should
 * somebody have dropped it. */
static int ask_table(hf_shedlock *s, hf_shed_sql what, const hf_claim *c,
                     const char *whose, hf_answers *a, size_t *last, hf_time by,
                     hf_error *err) {
    for (int tries = 0;; tries++) {
        int rc = need_table(s, by, err);

        if (rc == HF_OK)
            rc = ask(s, what, c, whose, a, last, by, err);
        if (rc != HF_DB_NO_TABLES)
            return rc;
        hf__answers_clear(a);
        atomic_store(&s->found, false);
        if (tries > 1)
            return hf__fail(err, HF_ESTORE, "the table %s comes and goes",
                            s->t);
    }
}

/* ---- attempt ----------------------------------------------------------- */

static hf_time pause_after(uint64_t tries) {
    int ms = tries < PAUSES ? FIRST_PAUSE << tries : LAST_PAUSE;

    return hf__now() + hf__jitter(ms * HF_MS);
}

static int answer_attempt(hf_claim *c, const hf_answers *a, size_t last) {
    uint64_t tries = c->place & PLACE_TRIES;
    int64_t left = hf__cell_number(a, last, 0, 2);

    if (hf__cell_number(a, last, 0, 0) == 1) {
        c->token = (uint64_t)hf__cell_number(a, last, 0, 1);
        c->place = 0;
        return HF_OK;
    }
    c->ask_again = hf__sooner(pause_after(tries),
                              hf__now() + (left > 0 ? left * 1000 : 0) + HF_MS);
    if (tries < PLACE_TRIES)
        c->place++;
    return HF_BUSY;
}

static int attempt(hf_backend *be, hf_claim *c, bool waits, hf_time by,
                   hf_error *err) {
    hf_shedlock *s = (hf_shedlock *)be;
    hf_answers a = {.n = 0};
    size_t last;
    int rc = check_name(c->name, err);

    if (rc == HF_OK)
        rc = ask_table(s, HF_SHED_take, c, NULL, &a, &last, by, err);
    if (rc == HF_OK)
        rc = answer_attempt(c, &a, last);
    else if (rc == HF_EDOUBT)
        c->place |= PLACE_DOUBT;
    if (rc == HF_BUSY && !waits)
        c->place &= PLACE_DOUBT;
    hf__answers_clear(&a);
    return rc;
}

/* Nobody tells anybody anything. */
static int watch(hf_backend *be, const hf_claim *c, bool on, hf_time by,
                 hf_error *err) {
    (void)be, (void)c, (void)on, (void)by, (void)err;
    return HF_OK;
}

/* ---- renew ------------------------------------------------------------- */

static int renew_batch(hf_shedlock *s, hf_claim *const *claims, size_t n,
                       hf_time by, hf_error *err) {
    hf_form form = {.text = NULL};
    hf_answers a = {.n = 0};
    size_t last[BATCH];
    int rc;

    for (size_t i = 0; i < n; i++) {
        fields f;
        const hf_blank *blanks = fill_in(s, &f, claims[i], NULL);

        if (i == 0)
            begin(s, &form, blanks);
        last[i] = hf__form_add(&form, s->texts[HF_SHED_renew], blanks);
    }
    rc = hf__form_ask_any(&form, s->db, &a, by, err);
    for (size_t i = 0; i < n && rc == HF_OK; i++)
        claims[i]->result =
            hf__cell_number(&a, last[i], 0, 0) == 1 ? HF_OK : HF_ELOST;
    for (size_t i = 0; i < n && rc == HF_DB_NO_TABLES; i++)
        claims[i]->result = HF_ELOST;
    hf__answers_clear(&a);
    hf__form_clear(&form);
    return rc == HF_DB_NO_TABLES ? HF_OK : rc;
}

static int renew(hf_backend *be, hf_claim *const *claims, size_t n, hf_time by,
                 hf_error *err) {
    int rc = HF_OK;
    size_t at = 0;

    while (rc == HF_OK && at < n) {
        size_t size = n - at < BATCH ? n - at : BATCH;

        rc = renew_batch((hf_shedlock *)be, claims + at, size, by, err);
        if (rc == HF_OK)
            at += size;
    }
    for (; at < n; at++)
        claims[at]->result = rc;
    return rc;
}

/* ---- release ----------------------------------------------------------- */

static int release(hf_backend *be, hf_claim *c, hf_how how, const char *whose,
                   hf_time by, hf_error *err) {
    hf_shedlock *s = (hf_shedlock *)be;
    bool forced = how == HF_RELEASE_FORCED;
    hf_shed_sql what = forced                  ? HF_SHED_force :
                       how == HF_RELEASE_AFTER ? HF_SHED_keep :
                                                 HF_SHED_free;
    hf_answers a = {.n = 0};
    bool done;
    size_t last;
    int rc = check_name(c->name, err);

    if (rc != HF_OK)
        return rc;
    if (!forced && c->token == 0 && c->place != 0 && !(c->place & PLACE_DOUBT))
        return c->place = 0, HF_OK; /* it was refused each time */
    rc = ask_table(s, what, c, whose, &a, &last, by, err);
    done = rc == HF_OK && last < a.n && a.all[last].changed > 0;
    hf__answers_clear(&a);
    if (rc != HF_OK)
        return rc;
    c->place = 0;
    if (done)
        return HF_OK;
    return forced ? hf__fail_plain(err, HF_EFREE) :
                    hf__fail_plain(err, HF_ELOST);
}

/* ---- numbers ----------------------------------------------------------- */

static int count(hf_backend *be, hf_claim *c, hf_count_op op, int64_t *value,
                 hf_time by, hf_error *err) {
    hf_shedlock *s = (hf_shedlock *)be;
    hf_answers a = {.n = 0};
    size_t last;
    int rc;

    if (op != HF_COUNT_TOKEN)
        return hf__fail(err, HF_ECANNOT,
                        "ShedLock's table has locks only, and no numbers");
    rc = check_name(c->name, err);
    if (rc == HF_OK)
        rc = ask_table(s, HF_SHED_token, c, NULL, &a, &last, by, err);
    if (rc == HF_OK)
        *value = hf__cell_number(&a, last, 0, 0);
    hf__answers_clear(&a);
    return rc == HF_EDOUBT ? HF_EDOWN : rc;
}

/* ---- who holds --------------------------------------------------------- */

/* The table says who holds, and there is no other place to say it. */
static int announce(hf_backend *be, const char *doing, int lease_ms, hf_time by,
                    hf_error *err) {
    (void)be, (void)doing, (void)lease_ms, (void)by, (void)err;
    return HF_OK;
}

/* hf:HOST:PID:CLIENT:OWNER, perhaps with :done behind it.  Cuts it up. */
static bool read_owner(char *text, hf_place *place) {
    char *host, *pid, *owner, *end;

    if (strncmp(text, "hf:", 3) != 0)
        return false;
    host = text + 3;
    if ((pid = strchr(host, ':')) == NULL ||
        (owner = strchr(pid + 1, ':')) == NULL ||
        (end = strchr(owner + 1, ':')) == NULL)
        return false;
    *pid++ = *owner++ = 0;
    end[1 + strspn(end + 1, "0123456789")] = 0;
    place->host = host;
    place->pid = strtoll(pid, NULL, 10);
    place->owner = owner;
    return true;
}

static void tell_row(const hf_answers *a, size_t last, size_t row,
                     hf_place_fn *fn, void *arg) {
    char name[4 * NAME_CHARS + 1], by[4 * 255 + 1];
    hf_place place = {
        .name = name,
        .kind = "lock",
        .owner = by,
        .holds = true,
        .host = "",
        .program = "",
        .user = "",
        .why = "",
    };

    hf__unhex(name, sizeof name, hf__cell(a, last, row, 0));
    hf__unhex(by, sizeof by, hf__cell(a, last, row, 1));
    place.lease_ms = (hf__cell_number(a, last, row, 2) + 999) / 1000;
    place.since_ms = hf__cell_number(a, last, row, 3) / 1000;
    place.foreign = !read_owner(by, &place);
    if (!place.foreign) /* else it is that of a holder before it */
        place.token = (uint64_t)hf__cell_number(a, last, row, 4);
    fn(arg, &place);
}

/* To look makes no table. */
static int list(hf_backend *be, const char *name, hf_place_fn *fn, void *arg,
                hf_time by, hf_error *err) {
    hf_shedlock *s = (hf_shedlock *)be;
    const hf_claim c = {.name = name};
    hf_answers a = {.n = 0};
    sight seen = {.there = true, .extended = true};
    size_t last;
    int rc = atomic_load(&s->found) ? HF_OK : look(s, &seen, by, err);

    if (rc != HF_OK || !seen.there || !seen.extended)
        return rc;
    rc = ask(s, name != NULL ? HF_SHED_list_one : HF_SHED_list, &c, NULL, &a,
             &last, by, err);
    for (size_t i = 0; rc == HF_OK && i < hf__answered_rows(&a, last); i++)
        tell_row(&a, last, i, fn, arg);
    hf__answers_clear(&a);
    return rc == HF_DB_NO_TABLES ? HF_OK : rc == HF_EDOUBT ? HF_EDOWN : rc;
}

/* ---- the store itself -------------------------------------------------- */

/* Nothing in the table keeps an order; who spins asks for none. */
static unsigned can(const hf_backend *be, hf_kind kind) {
    (void)be;
    return kind == HF_LOCK || kind == HF_SPIN ? HF_CAN_HOLD : 0;
}

static const char *where(const hf_backend *be) {
    return ((const hf_shedlock *)be)->where;
}

static void tell_table(const hf_shedlock *s, const sight *seen, hf_fact_fn *fn,
                       void *arg) {
    fn(arg, HF_FACT, "table", s->t);
    if (!seen->there)
        fn(arg, HF_FACT, "table", "not there yet: the first lock makes it");
    else if (!seen->usable)
        fn(arg, HF_WARN, "table",
           "lock_until is missing or of another type than ShedLock has it");
    else if (!seen->extended)
        fn(arg, HF_FACT, "table",
           "without hf_token yet: the first lock adds that column");
    if (seen->there && !seen->exact)
        fn(arg, HF_WARN, "names",
           "the column's collation takes some names for one, such as Job and "
           "job: they exclude each other");
}

static int examine(hf_backend *be, hf_fact_fn *fn, void *arg, hf_time by,
                   hf_error *err) {
    hf_shedlock *s = (hf_shedlock *)be;
    sight seen;
    int rc = look(s, &seen, by, err);

    if (rc != HF_OK)
        return rc == HF_EDOUBT ? HF_EDOWN : rc;
    tell_table(s, &seen, fn, arg);
    fn(arg, HF_WARN, "waiting",
       "ShedLock tells nobody of a release: who waits asks again, every half "
       "a second at the latest");
    fn(arg, HF_GOOD, "token",
       "grows with every grant of ours; ShedLock's own grants have none");
    fn(arg, HF_WARN, "clock",
       "leases are by the database's clock; a ShedLock that does not use it "
       "(usingDbTime) must have the same time, in UTC");
    return HF_OK;
}

static int rights(hf_backend *be, const char *prefix, hf_rule_fn *fn, void *arg,
                  hf_time by, hf_error *err) {
    hf_shedlock *s = (hf_shedlock *)be;
    char text[300];

    (void)prefix, (void)by, (void)err;
    snprintf(text, sizeof text, "GRANT SELECT, INSERT, UPDATE ON %s TO USER",
             s->t);
    fn(arg, &(hf_rule){"database", text,
                       "ShedLock's table, which is there and has the column "
                       "hf_token.\nUSER is whom the address names."});
    return HF_OK;
}

/* ---- open and close ---------------------------------------------------- */

static void told(void *store, const char *note) {
    (void)store, (void)note;
}

static void missed(void *store) {
    (void)store;
}

static bool is_identifier(const char *text, size_t n) {
    if (n == 0 || n > IDENTIFIER || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (text[i] != '_' &&
            ((unsigned char)text[i] > 127 || !isalnum((unsigned char)text[i])))
            return false;
    return true;
}

/* TABLE or SCHEMA.TABLE, of letters, digits and underscores: it stands in
 * statements as it is, without quotes, and so is the one that Java means. */
static int settle_table(hf_shedlock *s, const hf_uri *uri, hf_error *err) {
    const char *given = hf_uri_get(uri, "hf_table");
    const char *table = given != NULL ? given : "shedlock";
    const char *dot = strchr(table, '.');
    size_t n = dot != NULL ? (size_t)(dot - table) : 0;
    const char *rest = dot != NULL ? dot + 1 : table;

    if ((dot != NULL && !is_identifier(table, n)) ||
        !is_identifier(rest, strlen(rest)))
        return hf__fail(err, HF_EURI,
                        "hf_table is TABLE or SCHEMA.TABLE, of letters, digits "
                        "and underscores, and not '%.60s'",
                        table);
    snprintf(s->t, sizeof s->t, "%s", table);
    snprintf(s->schema, sizeof s->schema, "%.*s", (int)n, table);
    snprintf(s->table, sizeof s->table, "%s", rest);
    return HF_OK;
}

/* The server's unless another is named, as Java's driver can be told. */
static int settle_zone(hf_shedlock *s, const hf_uri *uri, hf_error *err) {
    const char *zone = hf_uri_get(uri, "hf_zone");

    if (zone == NULL) {
        snprintf(s->zone, sizeof s->zone, "@@global.time_zone");
        return HF_OK;
    }
    if (zone[0] == 0 || strlen(zone) > 64 ||
        strspn(zone, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_/+:-") != strlen(zone))
        return hf__fail(err, HF_EURI,
                        "hf_zone is a time zone as the server knows it, such "
                        "as +00:00 or Europe/Berlin");
    snprintf(s->zone, sizeof s->zone, "'%s'", zone);
    return HF_OK;
}

static void shedlock_close(hf_backend *be, bool forked) {
    hf_shedlock *s = (hf_shedlock *)be;

    if (s->db != NULL)
        s->db->ops->close(s->db, forked);
    hf__free(s->where);
    hf__free(s);
}

static int name_place(hf_shedlock *s, hf_error *err) {
    bool usual = strcmp(s->t, "shedlock") == 0;

    if (hf__asprintf(&s->where, "%s?hf_compat=shedlock%s%s",
                     s->db->ops->where(s->db),
                     usual ? "" : "&hf_table=", usual ? "" : s->t) >= 0)
        return HF_OK;
    s->where = NULL;
    return hf__fail_plain(err, HF_ENO_MEMORY);
}

static const hf_backend_ops verbs;

int hf__shedlock_open(hf_backend **ret, const hf_database_ops *ops,
                      const hf_uri *uri, const hf_host *host, hf_time by,
                      hf_error *err) {
    hf_error unheard;
    hf_shedlock *s;
    int rc;

    if (hf_uri_get(uri, "hf_lease") != NULL)
        return hf__fail(err, HF_EURI,
                        "ShedLock's rows belong to no session: leave out "
                        "hf_lease or hf_compat");
    if (strcmp(hf_uri_get(uri, "hf_compat"), "shedlock") != 0)
        return hf__fail(err, HF_EURI,
                        "hf_compat can be 'shedlock', and not '%.40s'",
                        hf_uri_get(uri, "hf_compat"));
    if (ops->shedlock == NULL)
        return hf__fail(err, HF_ECANNOT,
                        "this store has no table of ShedLock's");
    if ((s = hf__calloc(1, sizeof *s)) == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    s->base = (hf_backend){&verbs, host};
    s->up = (hf_database_host){host, told, missed, s};
    s->texts = ops->shedlock;
    rc = settle_table(s, uri, err);
    if (rc == HF_OK)
        rc = settle_zone(s, uri, err);
    if (rc == HF_OK)
        rc = ops->open(&s->db, uri, &s->up, by, err);
    if (rc == HF_OK)
        rc = name_place(s, err);
    if (rc != HF_OK) {
        shedlock_close(&s->base, false);
        return rc;
    }
    hf__literal(s->schema_bytes, s->db, s->schema);
    hf__literal(s->table_bytes, s->db, s->table);
    need_table(s, by, &unheard); /* whoever needs it is told why not */
    *ret = &s->base;
    return HF_OK;
}

static const hf_backend_ops verbs = {
    .open = NULL, /* by whose address leads here */
    .close = shedlock_close,
    .can = can,
    .where = where,
    .attempt = attempt,
    .watch = watch,
    .renew = renew,
    .release = release,
    .count = count,
    .announce = announce,
    .list = list,
    .examine = examine,
    .rights = rights,
};
