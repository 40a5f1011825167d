/* SPDX-License-Identifier: MIT
 *
 * promise.c - what locks outlive on these servers, and what they do not.
 *
 * Replication is asynchronous everywhere.  What each cure is good for was
 * tried out and modelled; a row a cure:
 *
 *                                   master dies with   master is cut off
 *                                   the last writes    with its clients
 *   nothing                         granted twice      granted twice, for as
 *                                                      long as that lasts; in a
 *                                                      cluster for its timeout
 *   min-replicas-to-write           granted twice      … for the lag at most
 *   lock delay                      holds              granted twice
 *   both                            holds              holds
 *   some replicas confirm           holds if one of them takes over
 *   all replicas confirm            holds              holds
 *
 * And the token tells two holders apart, whatever happens. */
#include <stdio.h>

#include "examine.h"

#define SAY(level, what, ...) hf__find(&s->found, "", level, what, __VA_ARGS__)

enum { SPAN_SIZE = 24 };

/* "30 s", "1.5 s", "500 ms" */
static const char *span(int ms, char buf[SPAN_SIZE]) {
    if (ms < 1000)
        snprintf(buf, SPAN_SIZE, "%d ms", ms);
    else if (ms % 1000 < 100)
        snprintf(buf, SPAN_SIZE, "%d s", ms / 1000);
    else
        snprintf(buf, SPAN_SIZE, "%d.%d s", ms / 1000, ms % 1000 / 100);
    return buf;
}

/* ---- a change of master ------------------------------------------------ */

/* All that a new master can have missed must have ended by then: what the old
 * one granted, also in the while before it noticed that it was cut off. */
static int least_delay(const hf_survey *s) {
    int lag = s->guarded && s->lag_s > 0 ? s->lag_s : 0;

    return s->topology->host->lease_ms + 1000 * lag;
}

static bool is_delayed(const hf_survey *s) {
    return s->topology->lock_delay && s->topology->lock_delay >= least_delay(s);
}

/* A master of a cluster that sees no majority stops by itself. */
static const char *how_long(const hf_survey *s) {
    return s->topology->slotted ? " for about cluster-node-timeout" : "";
}

static void failover_bare(hf_survey *s) {
    SAY(HF_WARN, "failover",
        "replication is asynchronous: a lock granted just before its master "
        "died can be forgotten and granted again, and a master that is cut off "
        "with its clients goes on granting%s; let replicas confirm, or set "
        "min-replicas-to-write on the servers and lock_delay in the address",
        how_long(s));
}

static void failover_guarded(hf_survey *s) {
    char lag[32] = "after min-replicas-max-lag";

    if (s->lag_s >= 0)
        snprintf(lag, sizeof lag, "after %d s", s->lag_s);
    SAY(HF_WARN, "failover",
        "replication is asynchronous: a lock granted just before its master "
        "died can be forgotten and granted again; a master that is cut off "
        "stops granting %s (min-replicas-to-write); let replicas confirm, or "
        "set lock_delay in the address as well",
        lag);
}

static void failover_delayed(hf_survey *s) {
    SAY(HF_WARN, "failover",
        "a new master grants nothing until what the old one granted has "
        "ended; but one that is cut off with its clients goes on granting%s: "
        "set min-replicas-to-write 1 on the servers as well, or let replicas "
        "confirm",
        how_long(s));
}

static void failover(hf_survey *s) {
    bool delayed = is_delayed(s);

    if (s->most_replicas && s->topology->steady)
        SAY(HF_FACT, "failover",
            "the address is that of one server: should a replica take its "
            "place, nobody follows; see redis+sentinel:// and redis+cluster://");
    if (!s->most_replicas)
        SAY(HF_FACT, "failover",
            "none: while %s away nothing is granted or renewed there, and what "
            "is held ends with its lease",
            s->topology->slotted ? "a master is" : "the server is");
    else if (delayed && s->guarded)
        SAY(HF_GOOD, "failover",
            "a new master grants nothing until what the old one granted has "
            "ended, and one that is cut off stops granting "
            "(min-replicas-to-write): no lock is granted twice");
    else if (delayed)
        failover_delayed(s);
    else if (s->guarded)
        failover_guarded(s);
    else
        failover_bare(s);
}

static void lock_delay(hf_survey *s) {
    int delay = s->topology->lock_delay;
    char a[SPAN_SIZE], b[SPAN_SIZE];

    if (!delay)
        SAY(HF_FACT, "lock delay",
            s->most_replicas ? "none: a new master grants at once" : "none");
    else if (!is_delayed(s))
        SAY(HF_WARN, "lock delay",
            "%s: a new master may grant what is still held; set lock_delay to "
            "%s, a lease and the lag of replicas, or more",
            span(delay, a), span(least_delay(s), b));
    else
        SAY(HF_GOOD, "lock delay", "%s: a new master grants nothing so long",
            span(delay, a));
}

/* A third of the lease may have passed since the last renewal. */
static void takeover(hf_survey *s) {
    int lease = s->topology->host->lease_ms;
    int takes = s->detect_ms + s->settle_ms;
    char a[SPAN_SIZE], b[SPAN_SIZE], c[SPAN_SIZE];

    if (!s->detect_ms && !s->topology->steady)
        SAY(HF_FACT, "takeover",
            "how long one takes is unknown: we may not ask");
    if (!s->detect_ms || s->topology->steady)
        return;
    if (takes > lease / 3 * 2)
        SAY(HF_WARN, "takeover",
            "takes about %s (%s %s), but of a lease of %s only two thirds may "
            "be left when it begins: locks can be lost; lower %s, or take longer "
            "leases",
            span(takes, a), s->by, span(s->detect_ms, b), span(lease, c),
            s->by);
    else
        SAY(HF_GOOD, "takeover",
            "takes about %s (%s %s): locks that are kept alive, with a lease "
            "of %s, outlive it",
            span(takes, a), s->by, span(s->detect_ms, b), span(lease, c));
}

/* ---- what a lock may ask for ------------------------------------------- */

/* The words are those of hf_lock_options.replicas. */
static void policies(hf_survey *s) {
    int least = s->replicas, most = s->most_replicas;

    if (!most || !s->knows_wait)
        return;
    if (most == 1) {
        SAY(HF_GOOD, "confirmed by its replica",
            "a lock outlives every failover, and a master that is cut off can "
            "neither grant nor renew it; nor can any while the replica is "
            "away");
        return;
    }
    SAY(HF_FACT, "confirmed by n of them",
        "a lock outlives a failover if one that confirmed takes over; the "
        "others may lack it");
    if (least == most)
        SAY(HF_FACT, "confirmed by a majority",
            "the same, with %d of %d replicas", (most + 1) / 2, most);
    else
        SAY(HF_FACT, "confirmed by a majority", "the same, with half of them");
    SAY(HF_GOOD, "confirmed by all of them",
        "a lock outlives every failover, and a master that is cut off can "
        "neither grant nor renew it; nor can any while one of them is away");
}

static void guarantee(hf_survey *s) {
    SAY(HF_GOOD, "token",
        "grows with every grant, also when a server forgot the last one, as "
        "long as its clock is not set back");
    SAY(HF_FACT, "guarantee",
        "one holder at a time while %s and no clock jumps; a lock ends by "
        "itself when its lease does; tokens grow with every grant, so that "
        "what checks them refuses a holder that lost its lock",
        s->topology->steady ? "the server keeps its data" :
                              "the servers keep their data");
}

void hf__survey_promise(hf_survey *s) {
    if (s->told)
        failover(s);
    takeover(s);
    lock_delay(s);
    policies(s);
    guarantee(s);
}
