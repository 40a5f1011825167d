/* SPDX-License-Identifier: MIT
 *
 * rights.c - what a user of etcd must be allowed: to read and write the keys
 * that begin with the prefix, and nothing else.  Leases need no rights. */
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "etcd.h"

/* In single quotes for a shell. */
static void quote(FILE *f, const char *text) {
    fputc('\'', f);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", f);
        else
            fputc(*text, f);
    fputc('\'', f);
}

static char *write_rule(const char *prefix, const char *name) {
    char *text = NULL;
    FILE *f = hf__memstream(&text);

    if (!f)
        return NULL;
    fputs("etcdctl role grant-permission holdfast --prefix=true readwrite ", f);
    if (*prefix || *name) {
        char both[HF_PREFIX_MAX + 2 + HF_NAME_MAX + 1];

        snprintf(both, sizeof both, "%s%s", prefix, name);
        quote(f, both);
    } else {
        fputs("\"\"", f);
    }
    if (fclose(f) == 0)
        return text;
    hf__free(text);
    return NULL;
}

static int tell(const hf_etcd *e, const char *name, const char *about,
                hf_rule_fn *fn, void *arg, hf_error *err) {
    char *text = write_rule(e->prefix, name);

    if (!text)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    fn(arg, &(hf_rule){"etcd", text, about});
    hf__free(text);
    return HF_OK;
}

/* Records stand beside the names. */
int hf__etcd_rights(hf_port *p, const char *prefix, hf_rule_fn *fn, void *arg,
                    hf_time by, hf_error *err) {
    hf_etcd *e = hf__etcd_of(p);
    int rc;

    (void)by;
    if (strlen(prefix) > HF_NAME_MAX)
        return hf__fail(err, HF_ENAME, "the prefix is too long");
    rc = tell(e, prefix,
              "once, by root; before it `etcdctl role add holdfast`, and "
              "after it `etcdctl user add holdfast` and `etcdctl user "
              "grant-role holdfast holdfast`\n"
              "opens the keys that begin so, all kinds of locks of those "
              "names; leases and watches need no more\n",
              fn, arg, err);
    if (rc != HF_OK || !*prefix)
        return rc;
    return tell(e, HF_KEY_CLIENTS "/",
                "lets clients see who else is there, and what they wait for; "
                "locks work without it\n",
                fn, arg, err);
}
