/* SPDX-License-Identifier: MIT
 *
 * steal.c - `holdfast release` and `holdfast steal`: taking a lock away from
 * its holder.
 *
 * Both free what one holder has and raise the token, so that what checks
 * tokens refuses it.  `release` names the owner and touches nobody else;
 * `steal` takes it from whoever has it, so it shows him first and asks.  Where
 * several hold, it must be said whom to take it from.
 *
 * Of which kind it is the store knows: both look before they act. */
#include "steal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../view/kind.h"
#include "command.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"
#include "text.h"

typedef struct steal_options {
    settings settings;
    const char *owner;
    bool yes;
} steal_options;

#define AT(field) offsetof(steal_options, field)
static const option_row release_rows[] = {
    {0, "owner", "OWNER", OPTION_TEXT, AT(owner),
     "the holder, as 'show' has it"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

static const option_row steal_rows[] = {
    {'y', "yes", NULL, OPTION_FLAG, AT(yes), "do not ask"},
    {0, "owner", "OWNER", OPTION_TEXT, AT(owner),
     "one of several holders, as 'show' has it"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

const char steal_question[] = "Type the name to take it away: ";

/* ---- whom -------------------------------------------------------------- */

/* What one sees of it is a number: there is another word for that. */
static int nobody(const char *name, const lines *all) {
    const char *kind = all->n > 0 ? all->all[0].kind : "";
    if (kind_of(kind) == HF_SEMAPHORE || kind_of(kind) == HF_LATCH)
        complain("'%s' is a %s that nobody holds; 'holdfast %s delete' "
                 "removes it",
                 name, kind, kind_of(kind) == HF_LATCH ? "latch" : "sem");
    else
        complain("'%s': nobody holds it", name);
    return EXIT_NOTHING;
}

static int somebody_else(const char *name) {
    complain("'%s': somebody else holds it; see: holdfast show '%s'", name,
             name);
    return EXIT_NO_PERMISSION;
}

static int which(const char *name) {
    complain("'%s' has several holders: say which by --owner", name);
    return EXIT_USAGE;
}

/* The holder of that name, or the only one.  0, or a status after saying why
 * there is none. */
static int find_holder(const char *name, const char *owner, const lines *all,
                       const hf_place **ret) {
    const hf_place *first = place_holder(all);
    if (!first)
        return nobody(name, all);
    for (size_t i = 0; i < all->n_claims; i++) {
        const hf_place *p = &all->claims[i];
        if (!p->holds || (owner && strcmp(p->owner, owner) != 0))
            continue;
        if (*ret)
            return which(name);
        *ret = p;
    }
    return *ret ? 0 : somebody_else(name);
}

/* ---- taking it away ---------------------------------------------------- */

int steal_from(hf_client *client, const char *name, const hf_place *holder,
               hf_error *err) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;
    options.kind = kind_of(holder->kind);
    options.flags = HF_OWNER_HANDLE;
    int r = hf_lock_new(&lock, client, name, &options, err);
    if (r == HF_OK)
        r = hf_lock_force_release(lock, holder->owner, err);
    hf_lock_free(lock);
    return r;
}

static int force(hf_client *client, const char *name, const hf_place *holder) {
    hf_error err = {0};
    int r = steal_from(client, name, holder, &err);
    if (r == HF_EFREE)
        complain("'%s' has just changed hands; see: holdfast show '%s'", name,
                 name);
    else if (r < 0)
        status_fail(&err);
    return status_of(r);
}

static int release(hf_client *client, const char *name, const char *owner) {
    hf_error err = {0};
    const hf_place *holder = NULL;
    lines all = {0};
    int status;
    if (lines_list(&all, client, name, &err) != HF_OK)
        status = status_fail(&err);
    else
        status = find_holder(name, owner, &all, &holder);
    if (status == 0)
        status = force(client, name, holder);
    lines_free(&all);
    return status;
}

static int run_release(const command *cmd, int argc, char **argv) {
    static steal_options o;
    hf_client *client = NULL;
    char *name = NULL;
    int status;
    if (options_read(cmd, &o, &name, argc, argv) < argc || !name)
        options_refuse(cmd, "one lock at a time: holdfast release NAME");
    if (!o.owner)
        options_refuse(cmd,
                       "whose?  Give --owner as 'holdfast show %s' has "
                       "it, or use 'holdfast steal'",
                       name);
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = release(client, name, o.owner);
    if (status == 0)
        complain("released '%s'", name);
    hf_close(client);
    return status;
}

/* The name has to be typed: "y" is typed before it is read. */
static bool is_sure(const char *name) {
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    bool sure;
    fputs(steal_question, stderr);
    fflush(stderr);
    n = getline(&line, &size, stdin);
    if (n > 0 && line[n - 1] == '\n')
        line[n - 1] = '\0';
    sure = n > 0 && strcmp(line, name) == 0;
    free(line);
    return sure;
}

static int confirm(const char *name, bool yes) {
    if (yes)
        return 0;
    if (!isatty(STDIN_FILENO)) {
        complain("'%s' was not taken away: without a terminal to ask on, "
                 "--yes is needed",
                 name);
        return EXIT_USAGE;
    }
    if (is_sure(name))
        return 0;
    complain("'%s' was not taken away", name);
    return EXIT_NOTHING;
}

void steal_words(const char *name, uint64_t token, char *buf, size_t size) {
    if (token > 0)
        snprintf(buf, size, "took '%s' away; tokens up to %llu are void", name,
                 (unsigned long long)token);
    else
        snprintf(buf, size, "took '%s' away", name);
}

static void say_taken(const char *name, uint64_t token) {
    char text[HF_NAME_MAX + 80];
    steal_words(name, token, text, sizeof(text));
    complain("%s", text);
}

static int steal(hf_client *client, const char *name, const steal_options *o) {
    hf_error err = {0};
    const hf_place *holder = NULL;
    lines all = {0};
    int status;
    if (lines_list(&all, client, name, &err) != HF_OK) {
        status = status_fail(&err);
        goto out;
    }
    place_block(stderr, name, &all);
    status = find_holder(name, o->owner, &all, &holder);
    if (status == 0)
        status = confirm(name, o->yes);
    if (status == 0)
        status = force(client, name, holder);
    if (status == 0)
        say_taken(name, holder->token);
out:
    lines_free(&all);
    return status;
}

static int run_steal(const command *cmd, int argc, char **argv) {
    static steal_options o;
    hf_client *client = NULL;
    char *name = NULL;
    int status;
    if (options_read(cmd, &o, &name, argc, argv) < argc || !name)
        options_refuse(cmd, "one lock at a time: holdfast steal NAME");
    status = settings_connect(&client, &o.settings);
    if (status == 0)
        status = steal(client, name, &o);
    hf_close(client);
    return status;
}

const command release_command = {
    .name = "release",
    .operands = "NAME --owner OWNER",
    .summary = "Free a lock that this owner holds.",
    .about = "For cleaning up behind a holder one knows to be dead.  Exit 1:\n"
             "nobody holds it.  77: somebody else does.",
    .options = release_rows,
    .max_operands = 1,
    .store = true,
    .run = run_release,
};

const command steal_command = {
    .name = "steal",
    .operands = "NAME",
    .summary = "Take a lock away from whoever holds it.",
    .about = "Shows the holder and asks for the name to be typed; without a\n"
             "terminal --yes is needed.  The holder learns that the lock is\n"
             "lost, and its token is void.  Where several hold, readers or\n"
             "those with permits, --owner says whom to take it from.  Exit 1:\n"
             "nobody holds it.",
    .options = steal_rows,
    .max_operands = 1,
    .store = true,
    .run = run_steal,
};
