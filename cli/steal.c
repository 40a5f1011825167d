/* SPDX-License-Identifier: MIT
 *
 * steal.c - `holdfast release` and `holdfast steal`: taking a lock away from
 * its holder.
 *
 * Both free the name and raise its token, so that what checks tokens refuses
 * the former holder.  `release` names the owner and touches nobody else;
 * `steal` takes it from whoever has it, so it shows him first and asks. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "place.h"
#include "settings.h"
#include "status.h"
#include "text.h"

typedef struct steal_options {
    settings settings;
    const char *owner;
    bool yes, simple;
} steal_options;

#define AT(field) offsetof(steal_options, field)
#define SIMPLE                                                                 \
    {                                                                          \
        0, "simple", NULL, OPTION_FLAG, AT(simple),                            \
            "Redis: the bare SET NX PX of small clients"                       \
    }
static const option_row release_rows[] = {
    {0, "owner", "OWNER", OPTION_TEXT, AT(owner),
     "the holder, as 'show' has it"},
    SIMPLE,
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

static const option_row steal_rows[] = {
    {'y', "yes", NULL, OPTION_FLAG, AT(yes), "do not ask"},
    SIMPLE,
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef SIMPLE
#undef AT

static bool is_held(hf_client *client, const char *name) {
    hf_error err;
    places all;
    bool held = places_list(&all, client, name, &err) == HF_OK &&
                places_holder(&all, 0, all.n);
    places_free(&all);
    return held;
}

static int force(hf_client *client, const char *name, bool simple,
                 const char *owner) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    hf_lock *lock = NULL;
    hf_error err = {0};
    options.kind = simple ? HF_SIMPLE : HF_LOCK;
    options.flags = HF_OWNER_HANDLE;
    int r = hf_lock_new(&lock, client, name, &options, &err);
    if (r == HF_OK)
        r = hf_lock_force_release(lock, owner, &err);
    hf_lock_free(lock);
    if (r == HF_EFREE && is_held(client, name)) {
        complain("'%s': somebody else holds it; see: holdfast show '%s'", name,
                 name);
        return EXIT_NO_PERMISSION;
    }
    if (r == HF_EFREE)
        complain("'%s': nobody holds it", name);
    else if (r < 0)
        status_fail(&err);
    return status_of(r);
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
        status = force(client, name, o.simple, o.owner);
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
    fputs("Type the name to take it away: ", stderr);
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

/* Only the holder that was shown: if it changed hands meanwhile, the consent
 * was to something else. */
static int steal(hf_client *client, const char *name, const steal_options *o) {
    hf_error err = {0};
    const hf_place *holder;
    places all;
    int status = 0;
    if (places_list(&all, client, name, &err) != HF_OK) {
        status = status_fail(&err);
        goto out;
    }
    holder = places_holder(&all, 0, all.n);
    places_block(stderr, name, &all);
    if (!holder) {
        status = EXIT_NOTHING;
        goto out;
    }
    status = confirm(name, o->yes);
    if (status == 0)
        status = force(client, name, o->simple, holder->owner);
    if (status == 0)
        complain("took '%s' away; tokens up to %llu are void", name,
                 (unsigned long long)holder->token);
out:
    places_free(&all);
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
             "lost, and its token is void.  Exit 1: nobody holds it.",
    .options = steal_rows,
    .max_operands = 1,
    .store = true,
    .run = run_steal,
};
