/* SPDX-License-Identifier: MIT
 *
 * outcome.c - how a `run` ended, for --json-status. */
#include "outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../view/kind.h"
#include "json.h"
#include "signals.h"
#include "status.h"

static void put_command(json *j, const outcome *o) {
    char name[16];
    if (o->ran && WIFEXITED(o->status))
        json_number(j, "command_exit", WEXITSTATUS(o->status));
    else
        json_null(j, "command_exit");
    if (o->ran && WIFSIGNALED(o->status))
        json_text(j, "command_signal", signals_name(WTERMSIG(o->status), name));
    else
        json_null(j, "command_signal");
}

static void put_error(json *j, const grant *g) {
    if (g->result >= 0) {
        json_null(j, "error");
        return;
    }
    json_open(j, "error", '{');
    json_text(j, "code", hf_error_name(g->result));
    json_text(j, "text", g->err.text);
    json_close(j, '}');
}

static void put(json *j, const outcome *o, const grant *g) {
    json_open(j, NULL, '{');
    json_text(j, "outcome", o->word);
    json_number(j, "exit", o->exit);
    put_command(j, o);
    json_text(j, "lock", g->wish->name);
    json_text(j, "kind", kind_word(g->wish->kind));
    json_text_or_null(j, "store", g->client ? hf_store(g->client) : "");
    json_text_or_null(j, "owner", o->owner);
    json_token(j, "token", o->tokens[0]);
    json_span(j, "waited", g->since - g->asked);
    json_span(j, "held", o->held_ms);
    grant_put_locks(g, o->tokens, j);
    put_error(j, g);
    json_close(j, '}');
    fputc('\n', j->out);
}

/* In one write: a reader that polls sees all of the line or nothing. */
void outcome_write(const outcome *o, const grant *g, int fd) {
    char *line = NULL;
    size_t size = 0;
    json j = {.out = NULL};
    if (fd < 0)
        return;
    j.out = open_memstream(&line, &size);
    if (!j.out)
        return;
    put(&j, o, g);
    fclose(j.out);
    if (write(fd, line, size) != (ssize_t)size)
        complain("--json-status: cannot write to descriptor %d", fd);
    free(line);
}
