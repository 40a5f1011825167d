/* SPDX-License-Identifier: MIT
 *
 * log.c - what is written down for those who look for the cause of trouble. */
#include "log.h"

#include <inttypes.h>
#include <stdio.h>

hf_digits hf__digits(int64_t n) {
    hf_digits ret;

    snprintf(ret.text, sizeof ret.text, "%" PRId64, n);
    return ret;
}

bool hf__pace(hf_pace *pace) {
    hf_time now = hf__now();
    long long next = atomic_load(&pace->next);

    return now >= next &&
           atomic_compare_exchange_strong(&pace->next, &next, now + HF_SECOND);
}

hf_log_level hf__log_level_of(int code) {
    switch (code) {
    case HF_EAUTH:
    case HF_EFORBIDDEN:
    case HF_ETLS:
    case HF_EFULL:
    case HF_EURI:
        return HF_LOG_ERROR;
    default:
        return HF_LOG_WARN;
    }
}

/* ---- what all stores have to say --------------------------------------- */

void hf__log_connected(const hf_host *host, const char *node) {
    hf__log(host, HF_LOG_INFO, "connected", {"node", node});
}

void hf__log_broke(const hf_host *host, const char *node, const char *why) {
    hf__log(host, HF_LOG_WARN, "a connection broke", {"node", node},
            {"why", why});
}

void hf__log_unreached(const hf_host *host, hf_pace *pace, const char *node,
                       const hf_error *err) {
    hf_log_level level = hf__log_level_of(err->code);

    if (host->log_level >= level && hf__pace(pace))
        hf__log(host, level, "a server cannot be reached", {"node", node},
                {"code", hf_error_name(err->code)}, {"why", err->text});
}

/* ---- what clients are told --------------------------------------------- */

/* Grants and refusals are many, and their requests are in the log of those who
 * want to see every one. */
static const struct {
    hf_log_level level;
    const char *text;
} events[] = {
    [HF_EVENT_RENEWED] = {HF_LOG_INFO, "a lock that was in doubt is renewed"},
    [HF_EVENT_DOUBT] = {HF_LOG_WARN, "a lock could not be renewed yet"},
    [HF_EVENT_LOST] = {HF_LOG_WARN, "a lock was lost"},
    [HF_EVENT_UNRELEASED] = {HF_LOG_WARN,
                             "a release failed, the lease will end it"},
    [HF_EVENT_WEAKER] = {HF_LOG_WARN,
                         "the store gives less than a lock asks for"},
    [HF_EVENT_MOVING] = {HF_LOG_WARN, "a lock leaves for the other store"},
    [HF_EVENT_MOVED] = {HF_LOG_INFO, "a lock lives in the other store now"},
};

/* A field without a value is left out. */
static hf_digits unless_zero(int64_t n) {
    return n ? hf__digits(n) : (hf_digits){""};
}

void hf__log_event(const hf_host *host, const hf_event *e) {
    size_t kind = (size_t)e->kind;

    if (kind >= sizeof events / sizeof *events || !events[kind].text)
        return;
    hf__log(host, events[kind].level, events[kind].text, {"name", e->name},
            {"token", unless_zero((int64_t)e->token).text},
            {"code", hf_error_name(e->code)},
            {"held_ms", unless_zero(e->held_us / 1000).text}, {"to", e->store});
}
