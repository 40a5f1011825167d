/* SPDX-License-Identifier: MIT
 *
 * deadlocks.c - `holdfast deadlocks`: who waits for each other in a circle. */
#include <stdio.h>

#include "../view/look.h"
#include "command.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"
#include "text.h"
#include "write.h"

typedef struct deadlocks_options {
    settings settings;
    bool json;
} deadlocks_options;

static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, offsetof(deadlocks_options, json),
     "print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

/* Each has what the one before it wants. */
static void print_member(const view_circle *circle, size_t i) {
    const hf_stuck *s = &circle->all[i];
    const hf_stuck *before = &circle->all[(i + circle->n - 1) % circle->n];
    const hf_place as_place = {.user = s->user,
                               .host = s->host,
                               .program = s->program,
                               .why = s->why,
                               .owner = s->client,
                               .pid = s->pid};
    char who[600], span[24];
    place_who(&as_place, who, sizeof(who));
    printf("  %zu. %s has '", i + 1, who);
    text_put(stdout, before->wants);
    fputs("', wants '", stdout);
    text_put(stdout, s->wants);
    printf("', for %s%s\n", text_span(s->since_ms, span),
           s->asked ? ", and will give way" : "");
}

static void print_circles(const view_picture *p) {
    for (size_t i = 0; i < p->n_circles; i++) {
        printf("%sdeadlock%s of %zu\n", text_paint(stdout, RED),
               text_paint(stdout, PLAIN), p->circles[i].n);
        for (size_t k = 0; k < p->circles[i].n; k++)
            print_member(&p->circles[i], k);
    }
}

static void print(const view_picture *p, const char *store, bool as_json) {
    json j = {.out = stdout};
    if (!as_json) {
        print_circles(p);
        if (p->n_circles == 0)
            complain("no deadlocks in %s", store);
        return;
    }
    json_open(&j, NULL, '{');
    json_text(&j, "store", store);
    write_circles(&j, "circles", p);
    json_close(&j, '}');
    putchar('\n');
}

static int find(hf_client *client, bool as_json) {
    hf_error err = {0};
    look seen = {0};
    int status = 0;
    int rc = look_read_circles(&seen, client, &err);
    if (rc == HF_OK)
        rc = look_finish(&seen, NULL);
    err.code = rc;
    if (rc != HF_OK) {
        status = status_fail(&err);
    } else {
        const view_picture p = {.circles = seen.circles,
                                .n_circles = seen.n_circles};
        print(&p, hf_store(client), as_json);
        status = fflush(stdout) != 0 ? EXIT_SOFTWARE :
                 p.n_circles > 0     ? EXIT_STUCK :
                                       0;
    }
    look_free(&seen);
    return status;
}

static int run_deadlocks(const command *cmd, int argc, char **argv) {
    static deadlocks_options o;
    hf_client *client = NULL;
    int status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no names: it looks at all");
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = find(client, o.json);
    hf_close(client);
    return status;
}

const command deadlocks_command = {
    .name = "deadlocks",
    .operands = "",
    .summary = "Show who waits for each other and can never go on.",
    .about = "A circle is known about two seconds after the last one in it\n"
             "began to wait.  Exit 0: there are none; 1: there are some.",
    .options = rows,
    .store = true,
    .run = run_deadlocks,
};
