/* SPDX-License-Identifier: MIT
 *
 * sides.c - the two stores: opening them, and what they call. */
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../log.h"
#include "../../uri.h"
#include "escalate.h"

enum { OPEN_AGAIN_MS = 200 };

/* Each of the two is logged: what is asked of both together says little. */
static int open_side(hf_side *side, hf_time by, hf_error *err) {
    hf_backend *be = NULL;
    int rc = HF_EDOWN;

    if (hf__now() < side->open_at)
        return hf__fail(err, rc, "%s could not be opened", side->shown);
    rc = side->ops->open(&be, side->uri, &side->host, by, err);
    side->open_at = hf__now() + OPEN_AGAIN_MS * HF_MS;
    if (rc == HF_OK && !(be = hf__logged_wrap(be)))
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    if (rc == HF_OK)
        atomic_store(&side->be, be);
    return rc;
}

int hf__side_open(hf_side *side, hf_backend **ret, hf_time by, hf_error *err) {
    int rc = HF_OK;

    *ret = atomic_load(&side->be);
    if (*ret)
        return HF_OK;
    if (pthread_mutex_trylock(&side->mu) != 0)
        return hf__fail(err, HF_EDOWN, "%s is being opened", side->shown);
    if (!atomic_load(&side->be))
        rc = open_side(side, by, err);
    pthread_mutex_unlock(&side->mu);
    *ret = atomic_load(&side->be);
    return rc;
}

const char *hf__side_where(hf_side *side) {
    hf_backend *be = atomic_load(&side->be);

    return be ? be->ops->where(be) : side->shown;
}

/* What the two stores call.  A name of the second is told as that of the
 * first; names of gates are nobody's. */
const char *hf__side_outer_name(const hf_side *side, const char *name,
                                char *buf, size_t size) {
    const hf_side *first = &side->whole->side[HF_SIDE_FIRST];
    size_t n = strlen(side->prefix);

    if (!name || side == first)
        return name;
    snprintf(buf, size, "%s%s", first->prefix,
             strncmp(name, side->prefix, n) == 0 ? name + n : name);
    return buf;
}

static void on_woken(void *core, hf_kind kind, const char *name,
                     uint64_t owner) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->woken(host->core, kind,
                hf__side_outer_name(side, name, buf, sizeof buf), owner);
}

/* Whether we may take it is not known here: the waiter asks, which is safe. */
static void on_granted(void *core, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    (void)token, (void)until;
    on_woken(core, kind, name, owner);
}

static void on_shaken(void *core, hf_kind kind, const char *name) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->shaken(host->core, kind,
                 hf__side_outer_name(side, name, buf, sizeof buf));
}

static void on_unreleased(void *core, const char *name, int code) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->unreleased(host->core,
                     hf__side_outer_name(side, name, buf, sizeof buf), code);
}

static void on_weaker(void *core, const char *name, int code) {
    hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    char buf[2 * HF_NAME_MAX];

    host->weaker(host->core, hf__side_outer_name(side, name, buf, sizeof buf),
                 code);
}

/* With the one of the two that it is about. */
static void on_log(void *core, const hf_log_entry *entry) {
    const hf_side *side = core;
    const hf_host *host = side->whole->base.host;
    hf_label fields[HF_LOG_FIELDS];
    size_t n = 0;

    fields[n++] = (hf_label){"side", side->shown};
    for (size_t i = 0; i < entry->n_fields && n < HF_LOG_FIELDS; i++)
        fields[n++] = entry->fields[i];
    host->log(host->core,
              &(hf_log_entry){entry->level, entry->text, fields, n});
}

int hf__side_init(hf_side *side, hf_escalate *w, const hf_uri *uri,
                  hf_error *err) {
    const char *prefix;
    size_t size;
    int rc;

    side->whole = w;
    pthread_mutex_init(&side->mu, NULL);
    if ((rc = hf__table_find(&side->ops, uri->scheme, w->base.host, err)) ||
        (rc = hf__uri_check_params(uri, side->ops->params, err)) ||
        (rc = hf_uri_parse(&side->uri, uri->text, err)))
        return rc;
    prefix = hf_uri_get(side->uri, "hf_prefix");
    side->prefix = prefix ? prefix : "";
    size = hf_uri_redact(uri->text, NULL, 0) + 1;
    side->shown = hf__malloc(size);
    if (!side->shown)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf_uri_redact(uri->text, side->shown, size);
    side->host = *w->base.host;
    side->host.woken = on_woken;
    side->host.granted = on_granted;
    side->host.shaken = on_shaken;
    side->host.unreleased = on_unreleased;
    side->host.weaker = on_weaker;
    side->host.log = on_log;
    side->host.core = side;
    return HF_OK;
}

void hf__side_free(hf_side *side, bool forked) {
    hf_backend *be = atomic_load(&side->be);

    if (be)
        be->ops->close(be, forked);
    if (forked)
        return;
    pthread_mutex_destroy(&side->mu);
    hf_uri_free(side->uri);
    hf__free(side->shown);
}
