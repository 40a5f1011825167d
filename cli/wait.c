/* SPDX-License-Identifier: MIT
 *
 * wait.c - `holdfast wait NAME`: until nobody holds it.
 *
 * It looks and does not ask: taking the lock to see that it is free would
 * stand in the way of those who want it.  The first looks come quickly, the
 * later ones twice a second. */
#include <poll.h>

#include "command.h"
#include "moment.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"
#include "wait_line.h"

enum { FIRST_LOOK_MS = 10, LAST_LOOK_MS = 500 };

typedef struct wait_options {
    settings settings;
    int wait_ms, conflict;
} wait_options;

#define AT(field) offsetof(wait_options, field)
static const option_row rows[] = {
    {'w', "wait", "DURATION", OPTION_DURATION, AT(wait_ms),
     "wait no longer than this (default: for ever)"},
    {'E', "conflict-exit-code", "N", OPTION_STATUS, AT(conflict),
     "exit with N instead of 75"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

static int is_held(hf_client *client, const char *name, bool *held,
                   hf_error *err) {
    places all;
    int r = places_list(&all, client, name, err);
    *held = places_holder(&all, 0, all.n) != NULL;
    places_free(&all);
    return r;
}

static int wait_until_free(hf_client *client, const char *name, int wait_ms,
                           int conflict) {
    int64_t since = moment_now();
    int64_t by = wait_ms < 0 ? MOMENT_NEVER : since + wait_ms;
    int look_ms = FIRST_LOOK_MS;
    hf_error err = {0};
    bool held;
    while (is_held(client, name, &held, &err) == HF_OK) {
        int64_t now = moment_now();
        if (!held)
            return 0;
        if (now >= by) {
            wait_line_failed(client, name, wait_ms);
            return conflict;
        }
        poll(NULL, 0, moment_timeout(moment_sooner(by, now + look_ms)));
        look_ms = look_ms < LAST_LOOK_MS ? 2 * look_ms : look_ms;
    }
    return status_fail(&err);
}

static int run_wait(const command *cmd, int argc, char **argv) {
    static wait_options o = {.wait_ms = HF_FOREVER, .conflict = EXIT_BUSY};
    hf_client *client = NULL;
    char *name = NULL;
    int status;
    if (options_read(cmd, &o, &name, argc, argv) < argc || !name)
        options_refuse(cmd, "one lock at a time: holdfast wait NAME");
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = wait_until_free(client, name, o.wait_ms, o.conflict);
    hf_close(client);
    return status;
}

const command wait_command = {
    .name = "wait",
    .operands = "NAME",
    .summary = "Wait until nobody holds a lock.",
    .about = "It only looks, at most every half second, and takes nothing: a\n"
             "moment later the lock may be held again.",
    .options = rows,
    .max_operands = 1,
    .store = true,
    .run = run_wait,
};
