/* SPDX-License-Identifier: MIT
 *
 * claim.c - from the options to a wish.
 *
 * The letters are flock's.  As there, -s and -x of one name exclude each
 * other; but where flock knows one sort of lock, a store has several, and a
 * lock without either letter is none of the two sides of a read-write lock. */
#include "claim.h"

#include <string.h>

#include "options.h"

#define AT(field) offsetof(wait_options, field)
const option_row wait_rows[] = {
    {'n', "nonblock", NULL, OPTION_FLAG, AT(nonblock),
     "do not wait: fail with 75 if it is held"},
    {0, "nb", NULL, OPTION_FLAG, AT(nonblock), NULL},
    {'w', "wait", "DURATION", OPTION_DURATION, AT(wait_ms),
     "wait no longer than this (default: for ever)"},
    {0, "timeout", "DURATION", OPTION_DURATION, AT(wait_ms), NULL},
    {'E', "conflict-exit-code", "N", OPTION_STATUS, AT(conflict),
     "exit with N instead of 75"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

#define AT(field) offsetof(claim_options, field)
const option_row claim_rows[] = {
    {'s', "shared", NULL, OPTION_FLAG, AT(shared),
     "share it with others who do; -x keeps them out"},
    {'x', "exclusive", NULL, OPTION_FLAG, AT(exclusive),
     "the other side of -s: alone, without readers"},
    {0, "writers-first", NULL, OPTION_FLAG, AT(writers_first),
     "with -s: after those who wait with -x and this"},
    {0, "fair", NULL, OPTION_FLAG, AT(fair),
     "strictly first come, first served"},
    {0, "permits", "N", OPTION_COUNT, AT(permits),
     "hold N permits of a semaphore (1 with --limit)"},
    {0, "limit", "M", OPTION_COUNT, AT(limit),
     "it has M, unless somebody has set their number"},
    {0, "deadlock", NULL, OPTION_FLAG, AT(deadlock),
     "give way if the wait could never end (75)"},
    {0, "simple", NULL, OPTION_FLAG, AT(simple),
     "Redis: the bare SET NX PX of small clients"},
    {0, "also", "NAME", OPTION_LIST, AT(also),
     "this one too: all or none (may be repeated)"},
    {0, "replicas", "N", OPTION_TEXT, AT(replicas),
     "Redis: so many must confirm it; majority, all"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static hf_kind choose_kind(const command *cmd, const claim_options *o) {
    const struct {
        bool given;
        const char *option;
        hf_kind kind;
    } choices[] = {
        {o->shared, "--shared", HF_READ},
        {o->exclusive, "--exclusive", HF_WRITE},
        {o->fair, "--fair", HF_FAIR},
        {o->simple, "--simple", HF_SIMPLE},
        {o->permits > 0, "--permits", HF_PERMIT},
        {o->limit > 0 && o->permits == 0, "--limit", HF_PERMIT},
    };
    const char *chosen = NULL;
    hf_kind kind = HF_LOCK;
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        if (!choices[i].given)
            continue;
        if (chosen)
            options_refuse(cmd, "%s and %s exclude each other", chosen,
                           choices[i].option);
        chosen = choices[i].option;
        kind = choices[i].kind;
    }
    return kind;
}

static void check(const command *cmd, const claim_options *o) {
    if (o->writers_first && !o->shared && !o->exclusive)
        options_refuse(cmd, "--writers-first goes with --shared or "
                            "--exclusive: other locks have no writers");
    if (o->limit > 0 && o->permits > o->limit)
        options_refuse(cmd,
                       "--permits %d is more than --limit %d: nobody "
                       "could ever get them",
                       o->permits, o->limit);
}

static int replicas(const command *cmd, const claim_options *o) {
    if (!o->replicas)
        return 0;
    if (strcmp(o->replicas, "majority") == 0)
        return HF_MAJORITY;
    if (strcmp(o->replicas, "all") == 0)
        return HF_ALL;
    if (strspn(o->replicas, "0123456789") != strlen(o->replicas))
        options_refuse(cmd, "--replicas: '%s' is not a number, majority or all",
                       o->replicas);
    return options_number(cmd, o->replicas);
}

int claim_wait_ms(const wait_options *o) {
    return o->nonblock ? 0 : o->wait_ms;
}

int claim_wish(const command *cmd, claim_options *o, const char *name,
               grant_wish *wish) {
    settings *s = &o->wait.settings;
    int status;
    *wish = (grant_wish){
        .settings = s,
        .name = name,
        .kind = choose_kind(cmd, o),
        .flags = (o->writers_first ? HF_WRITERS_FIRST : 0U) |
                 (o->deadlock ? HF_DEADLOCK : 0U),
        .permits = o->permits > 0 ? o->permits : 1,
        .limit = o->limit,
        .also = &o->also,
        .replicas = replicas(cmd, o),
        .wait_ms = claim_wait_ms(&o->wait),
    };
    check(cmd, o);
    status = settings_resolve(s);
    return status != 0 ? status : settings_lease(s, &wish->lease_ms);
}
