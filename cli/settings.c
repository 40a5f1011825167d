/* SPDX-License-Identifier: MIT
 *
 * settings.c - which value wins: flag, environment, the user's file, the
 * host's file, built-in.
 *
 * The sources are read in that order and a value once set stays, so that the
 * order of the calls is the precedence.  Every value remembers where it came
 * from; `holdfast doctor` tells. */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "duration.h"
#include "spell.h"
#include "status.h"
#include "text.h"

static const char system_config[] = "/etc/holdfast/config";
static const char system_store[] = "/var/lib/holdfast/holdfast.db";

static const struct {
    const char *name, *variable, *flag, *builtin;
} keys[SETTINGS] = {
    [SET_STORE] = {"store", "HOLDFAST_STORE", "--store", NULL},
    [SET_LEASE] = {"lease", "HOLDFAST_LEASE", "--lease", "30s"},
    [SET_COLOR] = {"color", "HOLDFAST_COLOR", "--color", "auto"},
    [SET_WHY] = {"why", "HOLDFAST_WHY", "--why", ""},
    [SET_ESCALATE] = {"escalate-to", "HOLDFAST_ESCALATE_TO", "--escalate-to",
                      ""},
};

#define AT(field) offsetof(settings, field)
const option_row settings_options[] = {
    {0, "store", "URI", OPTION_TEXT, AT(flags[SET_STORE]),
     "the store; else $HOLDFAST_STORE, else this host's file"},
    {0, "store-file", "FILE", OPTION_TEXT, AT(store_file),
     "read the store's URI from FILE (for URIs with a password)"},
    {0, "color", "WHEN", OPTION_TEXT, AT(flags[SET_COLOR]),
     "auto, always or never"},
    {0, "verbose", NULL, OPTION_FLAG, AT(verbose),
     "say on stderr what happens"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

const option_row settings_hold_options[] = {
    {0, "lease", "DURATION", OPTION_TEXT, AT(flags[SET_LEASE]),
     "how long a dead holder blocks others (30s)"},
    {0, "ttl", "DURATION", OPTION_TEXT, AT(flags[SET_LEASE]), NULL},
    {0, "why", "TEXT", OPTION_TEXT, AT(flags[SET_WHY]),
     "shown to everyone who waits"},
    {0, "escalate-to", "URI", OPTION_TEXT, AT(flags[SET_ESCALATE]),
     "where locks go while the store cannot be reached"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};
#undef AT

const char *settings_name(setting_key key) {
    return keys[key].name;
}

bool settings_is_address(setting_key key) {
    return key == SET_STORE || key == SET_ESCALATE;
}

/* ---- one value --------------------------------------------------------- */

/* The first to come stays; 0, or a status if the value does not fit. */
static int offer(settings *s, setting_key key, const char *value,
                 const char *source) {
    setting *won = &s->won[key];
    if (!value || won->source[0])
        return 0;
    snprintf(won->source, sizeof(won->source), "%s", source);
    if (strlen(value) >= sizeof(won->value)) {
        complain("%s: the value of '%s' is longer than %zu bytes", source,
                 keys[key].name, sizeof(won->value) - 1);
        return EXIT_CONFIG;
    }
    strcpy(won->value, value);
    return 0;
}

static char *trim(char *text) {
    size_t n;
    text += strspn(text, " \t\r\n");
    for (n = strlen(text); n > 0 && strchr(" \t\r\n", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

/* ---- the command line -------------------------------------------------- */

/* Others can read our arguments; what we can still do is to shorten the time
 * in which they can.  The whole password goes, its length too. */
static void blot(const char *flag) {
    char *uri = (char *)flag, clean[sizeof(((setting *)0)->value)];
    size_t length = strlen(uri), n;
    hf_uri_redact(uri, clean, sizeof(clean));
    if (strcmp(clean, uri) == 0)
        return;
    complain("a password on the command line can be read by every user of "
             "this host: use --store-file, the environment or password_file=");
    n = strlen(clean);
    memset(uri, 0, length);
    memcpy(uri, clean, n < length ? n : length);
}

static int read_flags(settings *s) {
    int status = 0;
    for (int key = 0; key < SETTINGS && status == 0; key++)
        status = offer(s, (setting_key)key, s->flags[key], keys[key].flag);
    for (int key = 0; key < SETTINGS; key++)
        if (settings_is_address((setting_key)key) && s->flags[key])
            blot(s->flags[key]);
    return status;
}

static int read_store_file(settings *s) {
    char line[sizeof(s->won[0].value)], source[sizeof(s->won[0].source)];
    FILE *file;
    if (!s->store_file || s->won[SET_STORE].source[0])
        return 0;
    file = fopen(s->store_file, "re");
    if (!file || !fgets(line, sizeof(line), file) || !*trim(line)) {
        complain("--store-file %s: %s", s->store_file,
                 file ? "its first line must be the store's URI" :
                        strerror(errno));
        if (file)
            fclose(file);
        return EXIT_CONFIG;
    }
    fclose(file);
    snprintf(source, sizeof(source), "--store-file %s", s->store_file);
    return offer(s, SET_STORE, trim(line), source);
}

/* ---- the environment --------------------------------------------------- */

/* `run` hands its store down without the password.  Such an address is good
 * for comparing, not for opening: it stands for the one in a file that looks
 * the same without its password. */
static bool has_lost_its_secret(const char *value) {
    return value && strstr(value, "***");
}

static int read_environment(settings *s) {
    int status = 0;
    for (int key = 0; key < SETTINGS && status == 0; key++) {
        const char *value = getenv(keys[key].variable);
        if (!value || !*value || has_lost_its_secret(value))
            continue;
        status = offer(s, (setting_key)key, value, keys[key].variable);
    }
    return status;
}

static int check_secret(const settings *s) {
    char clean[sizeof(s->won[0].value)];
    const char *value = getenv("HOLDFAST_STORE");
    if (!has_lost_its_secret(value) ||
        strncmp(s->won[SET_STORE].source, "--", 2) == 0)
        return 0;
    settings_shown(s, clean, sizeof(clean));
    if (strcmp(clean, value) == 0)
        return 0;
    complain("HOLDFAST_STORE is %s, from an outer 'holdfast run' that took "
             "its password out: give --store-file, or the store in a config "
             "file",
             value);
    return EXIT_CONFIG;
}

/* ---- the files --------------------------------------------------------- */

static int key_of(const char *name, const char **nearest) {
    int distance = SPELL_NONE;
    *nearest = NULL;
    for (int key = 0; key < SETTINGS; key++) {
        if (strcmp(name, keys[key].name) == 0)
            return key;
        spell_offer(name, keys[key].name, nearest, &distance);
    }
    return -1;
}

static int read_line(settings *s, char *line, const char *source) {
    const char *nearest;
    char *name = trim(line), *value = strchr(name, '=');
    int key;
    if (*name == '\0' || *name == '#')
        return 0;
    if (!value) {
        complain("%s: expected 'key = value'", source);
        return EXIT_CONFIG;
    }
    *value++ = '\0';
    name = trim(name);
    key = key_of(name, &nearest);
    if (key < 0) {
        complain("%s: unknown key '%s'%s%s%s", source, name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "",
                 nearest ? "'?" : "");
        return EXIT_CONFIG;
    }
    return offer(s, (setting_key)key, trim(value), source);
}

static int read_config(settings *s, const char *path) {
    char line[4096], source[sizeof(s->won[0].source)];
    FILE *file = fopen(path, "re");
    int status = 0;
    if (!file)
        return 0;
    for (int n = 1; status == 0 && fgets(line, sizeof(line), file); n++) {
        snprintf(source, sizeof(source), "%s:%d", path, n);
        status = read_line(s, line, source);
    }
    fclose(file);
    return status;
}

/* $variable/tail, or ~/otherwise/tail; false without a home. */
static bool xdg_path(char *buf, size_t size, const char *variable,
                     const char *otherwise, const char *tail) {
    const char *base = getenv(variable), *home = getenv("HOME");
    if (base && *base == '/')
        return snprintf(buf, size, "%s/%s", base, tail) < (int)size;
    return home && *home == '/' &&
           snprintf(buf, size, "%s/%s/%s", home, otherwise, tail) < (int)size;
}

static int read_configs(settings *s) {
    char path[4096];
    int status = 0;
    if (xdg_path(path, sizeof(path), "XDG_CONFIG_HOME", ".config",
                 "holdfast/config"))
        status = read_config(s, path);
    return status != 0 ? status : read_config(s, system_config);
}

static int read_builtins(settings *s) {
    char store[sizeof(s->won[0].value)];
    int status = 0;
    if (!s->won[SET_STORE].source[0]) {
        hf_default_store(store, sizeof(store));
        status = offer(s, SET_STORE, store, "built-in");
    }
    for (int key = SET_STORE + 1; key < SETTINGS && status == 0; key++)
        status = offer(s, (setting_key)key, keys[key].builtin, "built-in");
    return status;
}

/* ---- all of it --------------------------------------------------------- */

static int check_color(const settings *s) {
    const setting *color = &s->won[SET_COLOR];
    if (text_colour_mode(color->value))
        return 0;
    complain("%s: '%s' is not auto, always or never", color->source,
             color->value);
    return strncmp(color->source, "--", 2) == 0 ? EXIT_USAGE : EXIT_CONFIG;
}

int settings_resolve(settings *s) {
    static int (*const steps[])(settings *) = {
        read_flags,   read_store_file, read_environment,
        read_configs, read_builtins,
    };
    int status = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (status == 0)
            status = steps[i](s);
    if (status == 0)
        status = check_secret(s);
    return status == 0 ? check_color(s) : status;
}

int settings_lease(const settings *s, int *ret) {
    const setting *lease = &s->won[SET_LEASE];
    bool flag = strncmp(lease->source, "--", 2) == 0;
    const char *wrong = duration_read(lease->value, ret);
    if (!wrong && *ret == 0)
        wrong = "is no lease: it must be longer than zero";
    if (!wrong)
        return 0;
    complain("%s: '%s' %s", lease->source, lease->value, wrong);
    return flag ? EXIT_USAGE : EXIT_CONFIG;
}

size_t settings_shown(const settings *s, char *buf, size_t size) {
    return hf_uri_redact(s->won[SET_STORE].value, buf, size);
}

const char *settings_handed_down(const settings *s, const hf_client *client) {
    static char shown[sizeof(s->won[0].value)];
    settings_shown(s, shown, sizeof(shown));
    return strcmp(shown, s->won[SET_STORE].value) == 0 ? hf_store(client) :
                                                         shown;
}

static void introduce(hf_options *wanted, const settings *s) {
    if (!wanted->why)
        wanted->why = s->won[SET_WHY].value;
    wanted->host = getenv("HOLDFAST_HOST");
}

int settings_open(hf_client **ret, const settings *s, hf_options wanted,
                  hf_error *err) {
    introduce(&wanted, s);
    return hf_open(ret, s->won[SET_STORE].value, &wanted, err);
}

int settings_open_for_locks(hf_client **ret, const settings *s,
                            hf_options wanted, hf_error *err) {
    const char *second = s->won[SET_ESCALATE].value;
    if (!*second)
        return settings_open(ret, s, wanted, err);
    introduce(&wanted, s);
    return hf_escalate_to(ret, s->won[SET_STORE].value, second, &wanted, NULL,
                          err);
}

int settings_connect(hf_client **ret, settings *s) {
    hf_error err = {0};
    int status = settings_resolve(s);
    if (status != 0)
        return status;
    if (settings_open(ret, s, (hf_options)HF_OPTIONS_INIT, &err) != HF_OK)
        return status_fail(&err);
    if (s->verbose)
        complain("store %s (%s)", hf_store(*ret), s->won[SET_STORE].source);
    return 0;
}

/* Its folder is private: that we may not look inside says that it is there. */
static bool has_system_store(void) {
    return access(system_store, F_OK) == 0 || errno == EACCES;
}

/* The mark lies in the user's state folder: cron would mail every repeat. */
void settings_hint(const settings *s) {
    char mark[4096];
    int fd;
    if (strcmp(s->won[SET_STORE].source, "built-in") != 0 ||
        strstr(s->won[SET_STORE].value, system_store) || !has_system_store() ||
        !xdg_path(mark, sizeof(mark), "XDG_STATE_HOME", ".local/state",
                  "holdfast/told-of-system-store"))
        return;
    fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    close(fd);
    complain("this lock is in your own %s; jobs that may write %s lock there "
             "and do not see it (said once)",
             s->won[SET_STORE].value, system_store);
}
