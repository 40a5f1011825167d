/* SPDX-License-Identifier: MIT
 *
 * clients.c - `holdfast clients`: who uses the store. */
#include <inttypes.h>
#include <stdio.h>

#include "../view/look.h"
#include "command.h"
#include "options.h"
#include "settings.h"
#include "status.h"
#include "table.h"
#include "text.h"
#include "write.h"

typedef struct clients_options {
    settings settings;
    bool json, no_headings, raw;
} clients_options;

#define AT(field) offsetof(clients_options, field)
static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, AT(json), "print an object of JSON"},
    {'n', "noheadings", NULL, OPTION_FLAG, AT(no_headings),
     "leave the headings out"},
    {'r', "raw", NULL, OPTION_FLAG, AT(raw),
     "one blank between cells, and \\x20 for those in them"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

enum { HOST, PID, PROGRAM, USER, HOLDS, WAITS, WAITED, WHY, CLIENT, COLUMNS };

static void print_row(table *t, const hf_presence *c) {
    static char cells[COLUMNS][TABLE_CELL];
    char span[24];
    table_put(cells[HOST], c->host);
    snprintf(cells[PID], TABLE_CELL, "%" PRId64, c->pid);
    table_put(cells[PROGRAM], c->program);
    table_put(cells[USER], c->user);
    snprintf(cells[HOLDS], TABLE_CELL, "%zu", c->holds);
    snprintf(cells[WAITS], TABLE_CELL, "%zu", c->waits);
    table_put(cells[WAITED], text_span(c->waits_ms, span));
    table_put(cells[WHY], c->why);
    table_put(cells[CLIENT], c->client);
    table_row(t, cells);
}

static bool print_table(const look *seen, const clients_options *o) {
    table t = {.heads = {"HOST", "PID", "PROGRAM", "USER", "HOLDS", "WAITS",
                         "WAITED", "WHY", "CLIENT"},
               .n = COLUMNS,
               .headings = !o->no_headings,
               .raw = o->raw};
    for (size_t i = 0; i < seen->n_clients; i++)
        print_row(&t, &seen->clients[i]);
    return table_end(&t);
}

static bool print_json(const look *seen, const char *store) {
    json j = {.out = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "store", store);
    json_open(&j, "clients", '[');
    for (size_t i = 0; i < seen->n_clients; i++)
        write_client(&j, &seen->clients[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
    return fflush(stdout) == 0;
}

static int list(hf_client *client, const clients_options *o) {
    hf_error err = {0};
    look seen = {0};
    bool ok = true;
    int status = 0;
    int rc = look_read_clients(&seen, client, &err);
    if (rc == HF_OK)
        rc = look_finish(&seen, NULL);
    err.code = rc;
    if (rc != HF_OK)
        status = status_fail(&err);
    else if (o->json)
        ok = print_json(&seen, hf_store(client));
    else
        ok = print_table(&seen, o);
    look_free(&seen);
    return ok ? status : EXIT_SOFTWARE;
}

static int run_clients(const command *cmd, int argc, char **argv) {
    static clients_options o;
    hf_client *client = NULL;
    int status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no names: it lists all");
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = list(client, &o);
    hf_close(client);
    return status;
}

const command clients_command = {
    .name = "clients",
    .operands = "",
    .summary = "List the programs that use the store.",
    .about = "As their records tell, which they renew about once a second\n"
             "while something changes.",
    .options = rows,
    .store = true,
    .run = run_clients,
};
