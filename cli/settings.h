/* SPDX-License-Identifier: MIT
 *
 * settings.h - which store, how long a lease: what may be said in several
 * places, and which of them won. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "../include/holdfast.h"
#include "command.h"

typedef enum setting_key {
    SET_STORE,
    SET_LEASE,
    SET_COLOR,
    SET_WHY,
    SET_ESCALATE,
    SET_LOG,
    SETTINGS
} setting_key;

typedef struct setting {
    char value[2048];
    char source[300]; /* "--store", "HOLDFAST_STORE", "FILE:LINE", … */
} setting;

/* The first member of the struct of every command that opens a store. */
typedef struct settings {
    const char *flags[SETTINGS]; /* as the command line has it */
    const char *store_file, *config;
    bool verbose;
    setting won[SETTINGS];
} settings;

extern const option_row settings_options[];

/* Those of commands that hold something. */
extern const option_row settings_hold_options[];

/* Reads flag, environment, files and built-in values, in that order, and
 * takes a password out of argv.  0, or an exit status after complaining. */
int settings_resolve(settings *s);

const char *settings_name(setting_key key);

/* The lease in milliseconds.  0, or an exit status after complaining. */
int settings_lease(const settings *s, int *ret);

/* The store's address without secrets. */
size_t settings_shown(const settings *s, char *buf, size_t size);

/* The address for the commands we start: as it was resolved, or if it has a
 * secret as it was written, with *** in its place.  Lent, valid until the next
 * call. */
const char *settings_handed_down(const settings *s, const hf_client *client);

/* Opens the store; the reason is the resolved one unless another is wanted. */
int settings_open(hf_client **ret, const settings *s, hf_options wanted,
                  hf_error *err);

/* The same for those who want a lock: with the second store beside it, if one
 * was given. */
int settings_open_for_locks(hf_client **ret, const settings *s,
                            hf_options wanted, hf_error *err);

/* Is the value an address, which may have a secret in it? */
bool settings_is_address(setting_key key);

/* For commands that only ask: resolves and opens; an exit status. */
int settings_connect(hf_client **ret, settings *s);

/* Once the store is open: says, once per user, that root's jobs lock in another
 * file than ours. */
void settings_hint(const settings *s);

#endif
