/* SPDX-License-Identifier: MIT
 *
 * api_steal.c - taking a lock away from its holder, as `holdfast steal` does:
 * the name is typed, one holder is named, and it is written down before and
 * after. */
#include "api.h"

#include <string.h>

#include "../cli/place.h"
#include "../view/kind.h"
#include "audit.h"
#include "wish.h"

/* The holder of that name, or the only one; NULL after having answered. */
static const hf_place *find_holder(request *r, const lines *all,
                                   const char *owner) {
    const hf_place *found = NULL;
    for (size_t i = 0; i < all->n_claims; i++) {
        const hf_place *p = &all->claims[i];
        if (!p->holds || (*owner && strcmp(p->owner, owner) != 0))
            continue;
        if (found) {
            request_problem(r, 409, HF_EUSAGE,
                            "it has several holders: say which by \"owner\"");
            return NULL;
        }
        found = p;
    }
    if (!found && *owner && place_holder(all))
        request_problem(r, 403, HF_ENOT_OWNER, "somebody else holds it");
    else if (!found)
        request_problem(r, 404, HF_EFREE, "nobody holds it");
    return found;
}

static int force(request *r, const hf_place *holder, hf_error *err) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;
    int result;
    options.kind = kind_of(holder->kind);
    options.flags = HF_OWNER_HANDLE;
    result = hf_lock_new(&lock, r->console->client, r->name, &options, err);
    if (result == HF_OK)
        result = hf_lock_force_release(lock, holder->owner, err);
    hf_lock_free(lock);
    return result;
}

static void answer_taken(request *r, const hf_place *holder) {
    json j = request_json(r, 200);
    json_open(&j, NULL, '{');
    json_text(&j, "name", r->name);
    json_text(&j, "owner", holder->owner);
    json_token(&j, "void", holder->token);
    json_close(&j, '}');
}

static void take_away(request *r, const hf_place *holder) {
    audit *log = r->console->audit;
    hf_error err = {0};
    int result;
    if (!audit_write(log, r, "steal", holder->owner, holder->token, "asked")) {
        request_problem(r, 500, HF_ESYSTEM,
                        "it could not be written down, so it was not done");
        return;
    }
    result = force(r, holder, &err);
    audit_write(log, r, "steal", holder->owner, holder->token,
                hf_error_name(result));
    if (result == HF_OK)
        answer_taken(r, holder);
    else
        request_fail(r, &err);
    watch_poke(r->console->watch);
}

static void steal(void *arg) {
    request *r = arg;
    const hf_place *holder;
    hf_error err = {0};
    lines all = {0};
    wish w;
    if (wish_read(&w, r->body, r->n_body, &err) != HF_OK) {
        request_fail(r, &err);
    } else if (strcmp(w.confirm, r->name) != 0) {
        request_problem(r, 400, HF_EUSAGE,
                        "\"confirm\" must be the lock's name");
    } else if (lines_list(&all, r->console->client, r->name, &err) != HF_OK) {
        request_fail(r, &err);
    } else {
        holder = find_holder(r, &all, w.owner);
        if (holder)
            take_away(r, holder);
    }
    lines_free(&all);
    request_back(r);
}

void api_steal(request *r) {
    if (r->console->options->allow_actions)
        request_part(r, r->console->tasks, steal);
    else
        request_problem(r, 403, HF_EFORBIDDEN,
                        "this server was started without --allow-actions");
}
