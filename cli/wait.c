/* SPDX-License-Identifier: MIT
 *
 * wait.c - `holdfast wait NAME`: until nobody holds it.
 *
 * It looks and does not ask: taking the lock to see that it is free would
 * stand in the way of those who want it.  The first looks come quickly, the
 * later ones twice a second. */
#include <poll.h>
#include <string.h>

#include "../view/kind.h"
#include "claim.h"
#include "command.h"
#include "moment.h"
#include "options.h"
#include "place.h"
#include "status.h"
#include "wait_line.h"

enum { FIRST_LOOK_MS = 10, LAST_LOOK_MS = 500 };

typedef struct look_options {
    wait_options wait;
    bool shared;
    int permits;
} look_options;

#define AT(field) offsetof(look_options, field)
static const option_row rows[] = {
    {'s', "shared", NULL, OPTION_FLAG, AT(shared),
     "until one could share it: readers may hold it"},
    {0, "permits", "N", OPTION_COUNT, AT(permits),
     "until N permits of a semaphore are free"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static const option_row *const shared_rows[] = {wait_rows, NULL};

/* What somebody would ask for who came when the wait is over. */
static hf_kind kind_wanted(const look_options *o) {
    return o->permits > 0 ? HF_PERMIT : o->shared ? HF_READ : HF_LOCK;
}

static bool in_the_way(const look_options *o, const view_line *l) {
    if (o->permits > 0)
        return !l->counts || l->count < o->permits;
    if (o->shared && l->holder)
        return kind_of(l->holder->kind) != HF_READ;
    return strcmp(place_state(l), "free") != 0;
}

static int is_held(hf_client *client, const char *name, const look_options *o,
                   bool *held, hf_error *err) {
    lines all = {0};
    int r = lines_list(&all, client, name, err);
    *held = in_the_way(o, place_line_for(&all, kind_wanted(o)));
    lines_free(&all);
    return r;
}

static int wait_until_free(hf_client *client, const char *name,
                           const look_options *o) {
    int wait_ms = claim_wait_ms(&o->wait);
    int64_t since = moment_now();
    int64_t by = wait_ms < 0 ? MOMENT_NEVER : since + wait_ms;
    int look_ms = FIRST_LOOK_MS;
    hf_error err = {0};
    bool held;
    while (is_held(client, name, o, &held, &err) == HF_OK) {
        int64_t now = moment_now();
        if (!held)
            return 0;
        if (now >= by) {
            wait_line_failed(client, name, kind_wanted(o), wait_ms);
            return o->wait.conflict;
        }
        poll(NULL, 0, moment_timeout(moment_sooner(by, now + look_ms)));
        look_ms = look_ms < LAST_LOOK_MS ? 2 * look_ms : look_ms;
    }
    return status_fail(&err);
}

static int run_wait(const command *cmd, int argc, char **argv) {
    static look_options o = {.wait = WAIT_OPTIONS_INIT};
    hf_client *client = NULL;
    char *name = NULL;
    int status;
    if (options_read(cmd, &o, &name, argc, argv) < argc || !name)
        options_refuse(cmd, "one lock at a time: holdfast wait NAME");
    if (o.shared && o.permits > 0)
        options_refuse(cmd, "--shared and --permits exclude each other");
    status = settings_connect(&client, &o.wait.settings);
    if (status == 0)
        status = wait_until_free(client, name, &o);
    hf_close(client);
    return status;
}

const command wait_command = {
    .name = "wait",
    .operands = "NAME",
    .summary = "Wait until nobody holds a lock.",
    .about = "It only looks, at most every half second, and takes nothing: a\n"
             "moment later the lock may be held again.  'holdfast latch wait'\n"
             "waits for a latch.",
    .options = rows,
    .shared = shared_rows,
    .max_operands = 1,
    .store = true,
    .run = run_wait,
};
