/* SPDX-License-Identifier: MIT
 *
 * hold.c - `holdfast hold NAME`: for scripts that cannot be wrapped.  One line
 * on stdout says that the lock is held; it is held until stdin closes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../view/kind.h"
#include "claim.h"
#include "command.h"
#include "grant.h"
#include "json.h"
#include "keep.h"
#include "notify.h"
#include "options.h"
#include "status.h"

typedef struct hold_options {
    claim_options claim;
    bool json;
} hold_options;

static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, offsetof(hold_options, json),
     "print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

static const option_row *const shared_rows[] = {wait_rows, claim_rows,
                                                settings_hold_options, NULL};

static bool say_held(const grant *g, bool as_json) {
    char owner[128];
    json j = {.out = stdout};
    uint64_t tokens[GRANT_MOST];
    int n = grant_tokens(g, tokens);
    hf_lock_owner(g->members[0], owner, sizeof(owner));
    for (int i = 0; i < n && !as_json; i++)
        printf("%" PRIu64 "%c", tokens[i], i + 1 < n ? ' ' : '\n');
    if (!as_json)
        return fflush(stdout) == 0;
    json_open(&j, NULL, '{');
    json_text(&j, "name", g->wish->name);
    json_text(&j, "kind", kind_word(g->wish->kind));
    json_text(&j, "store", hf_store(g->client));
    json_text(&j, "owner", owner);
    json_token(&j, "token", tokens[0]);
    grant_put_locks(g, tokens, &j);
    json_close(&j, '}');
    putchar('\n');
    return fflush(stdout) == 0;
}

static int give_back(grant *g, int status) {
    int r = grant_release(g, 0);
    notify("STOPPING=1");
    if (status == EXIT_LOST || r == HF_OK)
        return status;
    complain("'%s': %s", grant_name(g), g->err.text);
    return r == HF_ELOST ? EXIT_LOST : status;
}

static int hold(grant *g, const signals *s, bool as_json) {
    if (!say_held(g, as_json))
        return give_back(g, EXIT_SOFTWARE);
    notify("READY=1\nSTATUS=holding '%s'", grant_name(g));
    return give_back(g, keep(g, s, STDIN_FILENO));
}

static int run_hold(const command *cmd, int argc, char **argv) {
    static hold_options o = {.claim = CLAIM_OPTIONS_INIT};
    grant_wish wish;
    signals s;
    grant g;
    char *name = NULL;
    int status;
    if (!signals_take(&s)) {
        complain("cannot take signals over: %s", strerror(errno));
        return EXIT_SOFTWARE;
    }
    if (options_read(cmd, &o, &name, argc, argv) < argc || !name)
        options_refuse(cmd, "one lock at a time: holdfast hold NAME");
    status = claim_wish(cmd, &o.claim, name, &wish);
    if (status != 0)
        return status;
    grant_ask(&g, &wish, &s);
    settings_hint(wish.settings);
    if (g.result == HF_OK)
        status = hold(&g, &s, o.json);
    else
        status = grant_refused(&g, o.claim.wait.conflict);
    grant_close(&g);
    return status;
}

const command hold_command = {
    .name = "hold",
    .operands = "NAME",
    .summary = "Hold a lock until stdin closes.",
    .about =
        "For scripts that cannot be wrapped by 'run'.  When the lock is held\n"
        "its token is printed, one line; it is given back when stdin closes\n"
        "or a signal comes.  Exit 76: it was lost meanwhile.  With --also the\n"
        "tokens of all stand in that line, NAME's first.\n"
        "\n"
        "    coproc LOCK { holdfast hold nightly; }\n"
        "    read -r token <&\"${LOCK[0]}\"",
    .options = rows,
    .shared = shared_rows,
    .max_operands = 1,
    .store = true,
    .run = run_hold,
};
