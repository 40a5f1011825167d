/* SPDX-License-Identifier: MIT
 *
 * rights.c - what a user of PostgreSQL must be allowed, and the tables for
 * those who make them by hand.
 *
 * Rights end at the table: a user who may lock one name may lock all. */
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../tables/statements.h"
#include "postgres.h"

static const char *const tables[] = {"hf_line",   "hf_hold",   "hf_wait",
                                     "hf_answer", "hf_client", "hf_layout"};

/* The section, with {s} written out; no other parameter stands in it. */
static void write_layout(FILE *f, const hf_postgres *pg) {
    const char *text = pg->db.ops->texts[HF_SQL_layout_1], *at;

    if (*pg->name_of_schema)
        fprintf(f, "CREATE SCHEMA IF NOT EXISTS \"%s\";\n", pg->name_of_schema);
    for (; (at = strstr(text, "{s}")) != NULL; text = at + 3)
        fprintf(f, "%.*s%s", (int)(at - text), text, pg->schema);
    fprintf(f, "%.*s;", (int)strlen(text) - 1, text); /* a newline ends it */
}

/* The last of them is only read, and written by whoever makes the tables. */
static void write_grants(FILE *f, const hf_postgres *pg) {
    size_t last = sizeof tables / sizeof *tables - 1;

    if (*pg->name_of_schema)
        fprintf(f, "GRANT USAGE ON SCHEMA \"%s\" TO holdfast;\n",
                pg->name_of_schema);
    fputs("GRANT SELECT, INSERT, UPDATE, DELETE ON ", f);
    for (size_t i = 0; i < last; i++)
        fprintf(f, "%s%s%s", i ? ", " : "", pg->schema, tables[i]);
    fprintf(f, " TO holdfast;\nGRANT SELECT ON %s%s TO holdfast;", pg->schema,
            tables[last]);
}

static int tell(hf_postgres *pg, void (*write)(FILE *, const hf_postgres *),
                const char *about, hf_rule_fn *fn, void *arg, hf_error *err) {
    char *text = NULL;
    FILE *f = hf__memstream(&text);

    if (!f)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    write(f, pg);
    if (fclose(f) != 0) {
        hf__free(text);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    fn(arg, &(hf_rule){"postgresql", text, about});
    hf__free(text);
    return HF_OK;
}

int hf__postgres_rights(hf_database *d, const char *prefix, hf_rule_fn *fn,
                        void *arg, hf_time by, hf_error *err) {
    hf_postgres *pg = hf__postgres_of(d);
    int rc = tell(pg, write_layout,
                  "once, by the owner of the database; not needed where the "
                  "user may create tables itself\n",
                  fn, arg, err);

    (void)by;
    if (rc != HF_OK)
        return rc;
    return tell(pg, write_grants,
                *prefix ? "for the user 'holdfast'; a database cannot tell "
                          "names apart: it opens all, not only those that "
                          "begin so\n" :
                          "for the user 'holdfast', created by `CREATE USER "
                          "holdfast PASSWORD '…'`; opens all names\n",
                fn, arg, err);
}
