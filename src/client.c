/* SPDX-License-Identifier: MIT
 *
 * client.c - opening a store by its address, and closing it. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "backend/table.h"
#include "err.h"
#include "identity.h"
#include "log.h"
#include "options.h"
#include "presence.h"
#include "uncancelled.h"
#include "uri.h"

enum { LEASE_MS = 30000, TIMEOUT_MS = 3000, PATIENCE_MS = 15000 };

/* ---- what the backend calls -------------------------------------------- */

static void on_woken(void *core, hf_kind kind, const char *name,
                     uint64_t owner) {
    hf_client *client = core;

    hf__spots_woken(&client->spots, kind, name, owner);
}

static void on_granted(void *core, hf_kind kind, const char *name,
                       uint64_t owner, uint64_t token, hf_time until) {
    hf_client *client = core;

    hf__spots_granted(&client->spots, kind, name, owner, token, until);
}

static void on_shaken(void *core, hf_kind kind, const char *name) {
    hf_client *client = core;

    hf__keeper_shaken(client->keeper, kind, name);
}

static void on_unreleased(void *core, const char *name, int code) {
    hf__client_tell(
        core,
        &(hf_event){.kind = HF_EVENT_UNRELEASED, .name = name, .code = code});
}

static void on_weaker(void *core, const char *name, int code) {
    hf__client_tell(
        core, &(hf_event){.kind = HF_EVENT_WEAKER, .name = name, .code = code});
}

/* Every entry says first which store it is about. */
static void on_log(void *core, const hf_log_entry *entry) {
    hf_client *client = core;
    hf_label fields[HF_LOG_FIELDS + 1] = {
        {"store", atomic_load(&client->shown)}};
    size_t n = 1;

    for (size_t i = 0; i < entry->n_fields && n <= HF_LOG_FIELDS; i++)
        if (entry->fields[i].value && entry->fields[i].value[0])
            fields[n++] = entry->fields[i];
    client->on_log(client->log_arg,
                   &(hf_log_entry){entry->level, entry->text, fields, n});
}

void hf__client_tell(hf_client *client, const hf_event *event) {
    hf_event told = *event;

    told.name += strlen(client->prefix);
    told.store = told.store ? told.store : "";
    hf__log_event(&client->host, &told);
    if (!client->on_event)
        return;
    if (client->by_loop)
        hf__loop_event(client->loop, &told);
    else
        client->on_event(client->event_arg, &told);
}

static void on_moved(void *core, const char *name, const char *store,
                     bool arrived, int why) {
    hf__client_tell(
        core, &(hf_event){.kind = arrived ? HF_EVENT_MOVED : HF_EVENT_MOVING,
                          .name = name,
                          .store = store,
                          .code = why});
}

int hf__attach(hf_spot **ret, hf_client *client, hf_kind kind, const char *name,
               hf_error *err) {
    char full[HF_NAME_MAX + 1];
    int rc = hf__check_name(client, name, err);

    if (rc < 0)
        return rc;
    snprintf(full, sizeof full, "%s%s", client->prefix, name);
    *ret = hf__spot_get(&client->spots, hf_line_kind(kind), full);
    if (!*ret)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (!(*ret)->tally)
        (*ret)->tally = hf__tally_of(&client->tallies, name);
    return HF_OK;
}

int hf__check_process(const hf_client *client, hf_error *err) {
    if (client->generation == hf__generation())
        return HF_OK;
    return hf__fail(err, HF_EFORKED,
                    "this client was opened before fork: open one of your own "
                    "in the child");
}

/* ---- settings ---------------------------------------------------------- */

static int or_default(int value, int otherwise) {
    return value ? value : otherwise;
}

/* A duration from the address, where the program has set none. */
static int from_uri(int *value, const hf_uri *uri, const char *key,
                    hf_error *err) {
    return *value ? HF_OK : hf__uri_ms(uri, key, value, err);
}

static int check_settings(const hf_options *o, hf_error *err) {
    if (o->lease_ms < 0 || o->renew_ms < 0 || o->timeout_ms < 0 ||
        o->patience_ms < 0)
        return hf__fail(err, HF_EUSAGE,
                        "hf_options: a duration is negative (lease %d, renew "
                        "%d, timeout %d, patience %d ms)",
                        o->lease_ms, o->renew_ms, o->timeout_ms,
                        o->patience_ms);
    if (o->lease_ms && o->lease_ms < 10)
        return hf__fail(err, HF_EUSAGE,
                        "hf_options.lease_ms is %d: at least 10 ms make sense",
                        o->lease_ms);
    if (o->renew_ms && o->renew_ms >= or_default(o->lease_ms, LEASE_MS))
        return hf__fail(err, HF_EUSAGE,
                        "renewing every %d ms cannot keep a lease of %d ms",
                        o->renew_ms, or_default(o->lease_ms, LEASE_MS));
    return HF_OK;
}

static bool shows_itself(const hf_uri *uri) {
    const char *value = hf_uri_get(uri, "hf_presence");

    return !value || strcmp(value, "off") != 0;
}

/* Whose owner it is, as most stores write it; else nobody is known. */
static void work_for(hf_client *client, const char *owner) {
    size_t n = owner ? strcspn(owner, ":") : 0;

    if (n < sizeof client->inside && hf__is_client(owner, n))
        memcpy(client->inside, owner, n);
}

/* The address is there before the first entry, and until the last. */
static int keep_log(hf_client *client, const hf_uri *uri, const hf_options *o,
                    hf_error *err) {
    size_t size = hf_uri_redact(uri->text, NULL, 0) + 1;

    if (!o->on_log)
        return HF_OK;
    client->address = hf__malloc(size);
    if (!client->address)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    hf_uri_redact(uri->text, client->address, size);
    atomic_store(&client->shown, client->address);
    client->on_log = o->on_log;
    client->log_arg = o->log_arg;
    client->host.log = on_log;
    client->host.log_level = o->log_level ? o->log_level : HF_LOG_INFO;
    return HF_OK;
}

static int configure(hf_client *client, const hf_uri *uri, hf_options o,
                     hf_error *err) {
    const char *prefix = hf_uri_get(uri, "hf_prefix");
    int rc;

    if ((rc = from_uri(&o.lease_ms, uri, "hf_ttl", err)) ||
        (rc = from_uri(&o.timeout_ms, uri, "hf_timeout", err)) ||
        (rc = check_settings(&o, err)) ||
        (rc = keep_log(client, uri, &o, err)) ||
        (rc = hf__tallies_init(&client->tallies, o.stats_names, err)))
        return rc;
    client->lease_ms = or_default(o.lease_ms, LEASE_MS);
    client->renew_ms = or_default(o.renew_ms, client->lease_ms / 3);
    client->patience_ms = or_default(o.patience_ms, PATIENCE_MS);
    client->hidden = o.hidden || !shows_itself(uri);
    work_for(client, o.inside);
    client->by_loop = o.loop;
    client->on_event = o.on_event;
    client->event_arg = o.event_arg;
    client->prefix = hf__strdup(prefix ? prefix : "");
    if (!client->prefix)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (strlen(client->prefix) > HF_NAME_MAX / 2)
        return hf__fail(err, HF_EURI, "hf_prefix has more than %d bytes",
                        HF_NAME_MAX / 2);
    if (hf__odd_byte(client->prefix)) /* it is a part of every name */
        return hf__fail(err, HF_EURI,
                        "byte %zu of hf_prefix is a control character or not "
                        "UTF-8",
                        hf__odd_byte(client->prefix));
    hf__identity_make(&client->host.identity, &o);
    client->host.timeout_ms = or_default(o.timeout_ms, TIMEOUT_MS);
    client->host.lease_ms = client->lease_ms;
    client->host.spin_us = o.spin_us > 0 ? o.spin_us : 0;
    client->host.woken = on_woken;
    client->host.granted = on_granted;
    client->host.shaken = on_shaken;
    client->host.unreleased = on_unreleased;
    client->host.weaker = on_weaker;
    client->host.core = client;
    return HF_OK;
}

/* ---- opening ----------------------------------------------------------- */

/* How a client comes to its store: one address, perhaps wrapped, or two. */
typedef struct opening {
    hf_wrap_fn *wrap; /* NULL: not */
    void *arg;
    const char *second; /* NULL: one */
    hf_escalate_options escalate;
} opening;

static int find_store(const hf_backend_ops **ret, const hf_uri *uri,
                      const hf_host *host, hf_error *err) {
    int rc = hf__table_find(ret, uri->scheme, host, err);

    return rc < 0 ? rc : hf__uri_check_params(uri, (*ret)->params, err);
}

static int open_one(hf_client *client, const hf_uri *uri, hf_time by,
                    hf_error *err) {
    const hf_backend_ops *ops;
    int rc = find_store(&ops, uri, &client->host, err);

    if (rc < 0)
        return rc;
    return ops->open(&client->be, uri, &client->host, by, err);
}

int hf_uri_check(const char *text, hf_error *err) {
    HF_UNCANCELLED;
    const hf_backend_ops *ops;
    hf_uri *uri;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!text)
        return hf__fail(err, HF_EUSAGE, "hf_uri_check: uri is NULL");
    rc = hf_uri_parse(&uri, text, err);
    if (rc < 0)
        return rc;
    rc = find_store(&ops, uri, NULL, err);
    hf_uri_free(uri);
    return rc;
}

static int open_two(hf_client *client, const hf_uri *uri, const opening *how,
                    hf_time by, hf_error *err) {
    hf_uri *second;
    int rc = hf_uri_parse(&second, how->second, err);

    if (rc < 0)
        return rc;
    rc = hf__escalate_open(&client->be, uri, second, &client->host,
                           &how->escalate, on_moved, by, err);
    client->pair = client->be;
    hf_uri_free(second);
    return rc;
}

static int open_backend(hf_client *client, const hf_uri *uri,
                        const opening *how, hf_error *err) {
    hf_time by = hf__after_ms(client->host.timeout_ms);
    int rc = how->second ? open_two(client, uri, how, by, err) :
                           open_one(client, uri, by, err);

    if (rc < 0)
        return rc;
    if (how->wrap)
        client->be = how->wrap(how->arg, client->be);
    if (client->be && !client->pair) /* the two of a pair are logged apart */
        client->be = hf__logged_wrap(client->be);
    if (client->be && !client->be->ops->clients)
        client->hidden = true; /* nobody could read it */
    return client->be ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

static void destroy(hf_client *client) {
    hf__loop_stop(client->loop);
    hf__keeper_stop(client->keeper);
    if (client->be)
        client->be->ops->close(client->be, false);
    hf__keeper_free(client->keeper);
    hf__spots_free(&client->spots);
    hf__tallies_free(&client->tallies);
    hf__lookout_free(&client->lookout);
    hf__loop_close(client->loop);
    hf__free(client->prefix);
    hf__free(client->address);
    hf__free(client);
}

static int open_client(hf_client **ret, const char *address,
                       const hf_options *options, const opening *how,
                       hf_error *err) {
    hf_client *client = NULL;
    hf_uri *uri = NULL;
    hf_options o;
    int rc;

    *ret = NULL;
    if ((rc = hf__options_copy(&o, sizeof o, options, "hf_options", err)) ||
        (rc = hf_uri_parse(&uri, address, err)))
        goto out;
    client = hf__calloc(1, sizeof *client);
    if (client)
        hf__lookout_init(&client->lookout);
    if (!client || hf__spots_init(&client->spots) < 0 ||
        hf__loop_new(&client->loop, client) < 0 ||
        hf__keeper_new(&client->keeper, client) < 0) {
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
        goto out;
    }
    client->generation = hf__generation();
    if ((rc = configure(client, uri, o, err)) ||
        (rc = open_backend(client, uri, how, err))) {
        hf__log(&client->host, hf__log_level_of(rc), "the store was not opened",
                {"code", hf_error_name(rc)}, {"why", err->text});
        goto out;
    }
    atomic_store(&client->shown, hf_store(client));
    hf__log(&client->host, HF_LOG_INFO, "the store is open",
            {"client", client->host.identity.client});
    *ret = client;
out:
    hf_uri_free(uri);
    if (rc < 0 && client)
        destroy(client);
    return rc;
}

int hf__open_wrapped(hf_client **ret, const char *uri,
                     const hf_options *options, hf_wrap_fn *wrap, void *arg,
                     hf_error *err) {
    return open_client(ret, uri, options, &(opening){.wrap = wrap, .arg = arg},
                       err);
}

/* The address that is meant. */
static const char *resolve(const char *uri, char *buf, size_t size) {
    if (!uri)
        uri = getenv("HOLDFAST_STORE");
    if (uri && uri[0])
        return uri;
    hf_default_store(buf, size);
    return buf;
}

int hf_open(hf_client **ret, const char *uri, const hf_options *options,
            hf_error *err) {
    HF_UNCANCELLED;
    char embedded[4096];

    err = err ? err : &(hf_error){0};
    if (!ret)
        return hf__fail(err, HF_EUSAGE, "hf_open: ret is NULL");
    return open_client(ret, resolve(uri, embedded, sizeof embedded), options,
                       &(opening){0}, err);
}

int hf_escalate_to(hf_client **ret, const char *uri, const char *second,
                   const hf_options *options,
                   const hf_escalate_options *escalate, hf_error *err) {
    HF_UNCANCELLED;
    opening how = {.second = second};
    char embedded[4096];
    int rc;

    err = err ? err : &(hf_error){0};
    if (!ret || !second)
        return hf__fail(err, HF_EUSAGE, "hf_escalate_to: %s is NULL",
                        ret ? "second" : "ret");
    *ret = NULL;
    rc = hf__options_copy(&how.escalate, sizeof how.escalate, escalate,
                          "hf_escalate_options", err);
    if (rc < 0)
        return rc;
    return open_client(ret, resolve(uri, embedded, sizeof embedded), options,
                       &how, err);
}

void hf_close(hf_client *client) {
    HF_UNCANCELLED;

    if (!client)
        return;
    if (hf__check_process(client, NULL) == HF_OK) {
        hf__log(&client->host, HF_LOG_INFO, "the store is being closed",
                {"client", client->host.identity.client});
        atomic_store(&client->shown, client->address);
        destroy(client);
    } else /* the threads are the parent's, and so is every mutex they held */
        client->be->ops->close(client->be, true);
}

/* ---- what passes through ----------------------------------------------- */

const char *hf_store(const hf_client *client) {
    return client ? client->be->ops->where(client->be) : "";
}

const char *hf_lock_store(hf_lock *lock) {
    hf_client *client;

    if (!lock || !lock->spot)
        return "";
    client = lock->client;
    if (!client->pair || hf__check_process(client, NULL))
        return hf_store(client);
    return hf__escalate_where(client->pair, lock->spot->name);
}

unsigned hf_can(const hf_client *client, hf_kind kind) {
    if (!client || kind < 0 || kind >= HF_KINDS)
        return 0;
    return client->be->ops->can(client->be, kind);
}

int hf_examine(hf_client *client, hf_fact_fn *fn, void *arg, hf_error *err) {
    HF_UNCANCELLED;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!client || !fn)
        return hf__fail(err, HF_EUSAGE, "hf_examine: %s is NULL",
                        client ? "fn" : "client");
    if ((rc = hf__check_process(client, err)))
        return rc;
    return client->be->ops->examine(client->be, fn, arg,
                                    hf__after_ms(client->host.timeout_ms), err);
}

/* Can a name begin so?  A tag in braces may still be open. */
static int check_beginning(const hf_client *client, const char *prefix,
                           hf_error *err) {
    bool open = strchr(prefix, '{') && !strchr(prefix, '}');
    char name[HF_NAME_MAX + 4];

    if (!*prefix)
        return HF_OK;
    snprintf(name, sizeof name, "%.*s%s", HF_NAME_MAX + 1, prefix,
             open ? "x}" : "");
    return hf__check_name(client, name, err);
}

int hf_rights(hf_client *client, const char *prefix, hf_rule_fn *fn, void *arg,
              hf_error *err) {
    HF_UNCANCELLED;
    char full[HF_NAME_MAX + 1];
    const hf_backend_ops *ops;
    int rc;

    err = err ? err : &(hf_error){0};
    if (!client || !fn)
        return hf__fail(err, HF_EUSAGE, "hf_rights: %s is NULL",
                        client ? "fn" : "client");
    if ((rc = hf__check_process(client, err)) ||
        (rc = check_beginning(client, prefix ? prefix : "", err)))
        return rc;
    ops = client->be->ops;
    if (!ops->rights)
        return hf__fail_plain(err, HF_ECANNOT);
    snprintf(full, sizeof full, "%s%s", client->prefix, prefix ? prefix : "");
    return ops->rights(client->be, full, fn, arg,
                       hf__after_ms(client->host.timeout_ms), err);
}

const char *hf_version(void) {
    return HF_VERSION;
}
