/* SPDX-License-Identifier: MIT
 *
 * rights.c - which rights a user needs at every one of the servers. */

#include "../rights.h"
#include "../../../alloc.h"
#include "../../../err.h"
#include "redlock.h"

static void note_layout(bool used[HF_N_SCRIPTS], const hf_layout *l) {
    if (l->can)
        used[l->attempt] = used[l->confirm] = used[l->release] = used[l->undo] =
            used[l->after] = used[l->force] = true;
}

/* Servers that cannot be reached at the moment are taken to be like the
 * others. */
static int survey(hf_redlock *rl, hf_ground *g, hf_time by, hf_error *err) {
    bool used[HF_N_SCRIPTS] = {[HF_SCRIPT_ANNOUNCE] = true,
                               [HF_SCRIPT_TAKE_LEAVE] = true,
                               [HF_SCRIPT_CLIENTS] = true,
                               [HF_SCRIPT_SCAN] = true,
                               [HF_SCRIPT_LIST] = true};
    unsigned seen = 0;
    int rc = HF_OK;

    for (int kind = 0; kind < HF_KINDS; kind++)
        note_layout(used, &hf__redlock_layouts[kind]);
    for (unsigned k = 0; k < rl->n; k++)
        if ((rc = hf__ground_see(g, rl->voters[k]->node, hf__redlock_by(rl, by),
                                 err)) == HF_OK)
            seen++;
        else if (rc != HF_EDOWN)
            return rc;
    g->uses &= ~(unsigned)HF_ACL_REPLICAS;
    hf__acl_collect(&g->acl, &rl->scripts, used, g->uses);
    for (unsigned k = 0; k < rl->n; k++)
        hf__ground_ask(g, rl->voters[k]->node, hf__redlock_by(rl, by));
    return seen ? HF_OK : rc;
}

int hf__redlock_rights(hf_backend *be, const char *prefix, hf_rule_fn *fn,
                       void *arg, hf_time by, hf_error *err) {
    hf_ground *g = hf__calloc(1, sizeof *g);
    int rc =
        g ? hf__ground_check(prefix, err) : hf__fail_plain(err, HF_ENO_MEMORY);

    if (rc == HF_OK) {
        g->uses = HF_ACL_CHANNELS | HF_ACL_VOTES;
        rc = survey((hf_redlock *)be, g, by, err);
    }
    if (rc == HF_OK)
        rc = hf__ground_tell(g, prefix, fn, arg, err);
    hf__free(g);
    return rc;
}
