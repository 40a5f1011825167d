/* SPDX-License-Identifier: MIT
 *
 * words.c - commands of several words. */
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../view/kind.h"
#include "command.h"
#include "json.h"
#include "options.h"

/* ---- what was asked ---------------------------------------------------- */

/* An option that a word does not heed is a misunderstanding. */
static void check(const command *cmd, const char *said, const word *what,
                  const words_options *o) {
    bool waits = o->wait.nonblock || o->wait.wait_ms != HF_FOREVER;
    if (waits && !(what->takes & TAKES_WAIT))
        options_refuse(cmd, "'%s' does not wait: no -n, no -w", said);
    if (o->ttl_ms > 0 && !(what->takes & TAKES_TTL))
        options_refuse(cmd, "'%s' takes no --ttl", said);
    if (o->json && !what->numbers[0])
        options_refuse(cmd, "'%s' prints nothing: no --json", said);
}

static const word *read_command_line(words *w, const command *cmd,
                                     const word *table, int argc, char **argv) {
    char *operands[3] = {NULL};
    const word *what;
    int first = options_read(cmd, &w->options, operands, argc, argv);
    if (!operands[0])
        options_refuse(cmd, "%s what?", cmd->name);
    what = &table[options_word(cmd, operands[0])];
    if (!operands[1])
        options_refuse(cmd, "which name?  holdfast %s %s NAME", cmd->name,
                       operands[0]);
    if ((what->takes & NEEDS_N) && !operands[2])
        options_refuse(cmd, "how many?  holdfast %s %s NAME N", cmd->name,
                       operands[0]);
    if (first < argc || (operands[2] && !(what->takes & (TAKES_N | NEEDS_N))))
        options_refuse(cmd, "'%s' is too much",
                       first < argc ? argv[first] : operands[2]);
    check(cmd, operands[0], what, &w->options);
    w->name = operands[1];
    w->n = operands[2] ? options_number(cmd, operands[2]) : 1;
    return what;
}

/* ---- words that wait --------------------------------------------------- */

static int wait_for(words *w, hf_kind kind) {
    settings *s = &w->options.wait.settings;
    grant_wish wish = {.settings = s,
                       .name = w->name,
                       .kind = kind,
                       .permits = w->n,
                       .wait_ms = claim_wait_ms(&w->options.wait)};
    signals sigs;
    grant g;
    int status;
    if (!signals_take(&sigs)) {
        complain("cannot take signals over: %s", strerror(errno));
        return EXIT_SOFTWARE;
    }
    status = settings_resolve(s);
    if (status != 0)
        return status;
    if (grant_ask(&g, &wish, &sigs) != HF_OK)
        status = grant_refused(&g, w->options.wait.conflict);
    grant_close(&g);
    return status;
}

/* ---- words that do not ------------------------------------------------- */

static int tell(const words *w, hf_kind kind, const word *what,
                const char *store) {
    json j = {.out = stdout};
    if (!what->numbers[0])
        return 0;
    if (!w->options.json) {
        printf("%" PRId64 "\n", w->numbers[0]);
        return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
    }
    json_open(&j, NULL, '{');
    json_text(&j, "store", store);
    json_text(&j, "name", w->name);
    json_text(&j, "kind", kind_word(kind));
    for (int i = 0; i < 2 && what->numbers[i]; i++)
        json_number(&j, what->numbers[i], w->numbers[i]);
    json_close(&j, '}');
    putchar('\n');
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}

static int say_failed(const words *w, hf_kind kind, int result) {
    const char *title = kind_title(kind);
    if (result == HF_BUSY)
        complain("the %s '%s' is set already; see: holdfast show '%s'", title,
                 w->name, w->name);
    else if (result == HF_EFREE)
        complain("there is no %s '%s'", title, w->name);
    else
        status_fail(&w->err);
    return result == HF_BUSY ? w->options.wait.conflict : status_of(result);
}

static int perform(words *w, hf_kind kind, const word *what,
                   hf_client *client) {
    int r, status;
    if (kind == HF_LATCH)
        r = hf_latch_new(&w->latch, client, w->name, &w->err);
    else
        r = hf_semaphore_new(&w->sem, client, w->name, &w->err);
    if (r == HF_OK)
        r = what->run(w);
    if (r == HF_OK)
        status = tell(w, kind, what, hf_store(client));
    else
        status = say_failed(w, kind, r);
    hf_latch_free(w->latch);
    hf_semaphore_free(w->sem);
    return status;
}

int words_run(const command *cmd, hf_kind kind, const word *table, int argc,
              char **argv) {
    static words w = {.options = {.wait = WAIT_OPTIONS_INIT}};
    const word *what = read_command_line(&w, cmd, table, argc, argv);
    hf_client *client = NULL;
    int status;
    if (!what->run)
        return wait_for(&w, kind);
    status = settings_connect(&client, &w.options.wait.settings);
    if (status == 0)
        status = perform(&w, kind, what, client);
    hf_close(client);
    return status;
}
