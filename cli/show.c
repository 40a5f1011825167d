/* SPDX-License-Identifier: MIT
 *
 * show.c - `holdfast show NAME`: who holds it, who waits. */
#include "command.h"
#include "options.h"
#include "place.h"
#include "place_json.h"
#include "settings.h"
#include "status.h"

typedef struct show_options {
    settings settings;
    bool json;
} show_options;

static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, offsetof(show_options, json),
     "print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

static void print(const char *name, const lines *all, hf_client *client,
                  bool as_json) {
    const view_line *l = place_line_for(all, HF_LOCK);
    json j = {.out = stdout};
    if (!as_json) {
        place_block(stdout, name, all);
        return;
    }
    json_open(&j, NULL, '{');
    json_text(&j, "store", hf_store(client));
    place_json(&j, name, place_state(l), l);
    json_close(&j, '}');
    putchar('\n');
}

static int show(hf_client *client, const char *name, bool as_json) {
    hf_error err = {0};
    lines all = {0};
    int status = 0;
    if (lines_list(&all, client, name, &err) != HF_OK)
        status = status_fail(&err);
    else
        print(name, &all, client, as_json);
    lines_free(&all);
    return status != 0 || fflush(stdout) == 0 ? status : EXIT_SOFTWARE;
}

static int run_show(const command *cmd, int argc, char **argv) {
    static show_options o;
    hf_client *client = NULL;
    char *name = NULL;
    int status;
    if (options_read(cmd, &o, &name, argc, argv) < argc || !name)
        options_refuse(cmd, "one lock at a time: holdfast show NAME");
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = show(client, name, o.json);
    hf_close(client);
    return status;
}

const command show_command = {
    .name = "show",
    .operands = "NAME",
    .summary = "Show who holds a lock and who waits for it.",
    .about = "Of a semaphore also how many permits are free, of a latch how\n"
             "often it must be counted down.",
    .options = rows,
    .max_operands = 1,
    .store = true,
    .run = run_show,
};
