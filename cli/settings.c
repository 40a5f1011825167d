/* SPDX-License-Identifier: MIT
 *
 * settings.c - which value wins: flag, environment, the file that was asked
 * for, the user's file, the host's file, built-in.
 *
 * The sources are read in that order and a value once set stays, so that the
 * order of the calls is the precedence.  Every value remembers where it came
 * from; `holdfast doctor` tells.
 *
 * Parameters of the store's address may stand in a file beside the store, as
 * lines of their own.  They belong to the store of their file: where another
 * one wins they are not for it. */
#include "settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "duration.h"
#include "log.h"
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
    [SET_LOG] = {"log", "HOLDFAST_LOG", "--log", "none"},
};

#define AT(field) offsetof(settings, field)
const option_row settings_options[] = {
    {0, "store", "URI", OPTION_TEXT, AT(flags[SET_STORE]),
     "the store; else $HOLDFAST_STORE, else this host's file"},
    {0, "store-file", "FILE", OPTION_TEXT, AT(store_file),
     "read the store's URI from FILE (for URIs with a password)"},
    {0, "config", "FILE", OPTION_TEXT, AT(config),
     "settings that win over those of the user's and the host's file"},
    {0, "color", "WHEN", OPTION_TEXT, AT(flags[SET_COLOR]),
     "auto, always or never"},
    {0, "log", "LEVEL", OPTION_TEXT, AT(flags[SET_LOG]),
     "the library's log on stderr: error, warn, info or debug"},
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

static void warn_if_open(const char *path, bool open_to_all,
                         const char *value) {
    char clean[sizeof(((setting *)0)->value)];
    hf_uri_redact(value, clean, sizeof(clean));
    if (open_to_all && strcmp(clean, value) != 0)
        complain("%s: every user of this host can read the password in it: "
                 "chmod 600 it, or use password_file=",
                 path);
}

static int read_store_file(settings *s) {
    struct stat st;
    char line[sizeof(s->won[0].value)], source[sizeof(s->won[0].source)];
    FILE *file;
    if (!s->store_file || s->won[SET_STORE].source[0])
        return 0;
    file = fopen(s->store_file, "re");
    if (!file || !fgets(line, sizeof(line), file) || !*text_trim(line)) {
        complain("--store-file %s: %s", s->store_file,
                 file ? "its first line must be the store's URI" :
                        strerror(errno));
        if (file)
            fclose(file);
        return EXIT_CONFIG;
    }
    warn_if_open(s->store_file,
                 fstat(fileno(file), &st) == 0 && (st.st_mode & S_IROTH),
                 text_trim(line));
    fclose(file);
    snprintf(source, sizeof(source), "--store-file %s", s->store_file);
    return offer(s, SET_STORE, text_trim(line), source);
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

/* The address with "key=value" behind it, in which nothing is special; false
 * if it does not fit. */
static bool add_parameter(char *uri, size_t size, const config_line *line) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/:,";
    char before = strchr(uri, '?') ? '&' : '?';
    size_t n = strlen(uri);
    n += (size_t)snprintf(uri + n, size - n, "%c%s=", before, line->key);
    for (const char *c = line->value; *c && n < size; c++)
        n += (size_t)snprintf(uri + n, size - n,
                              strchr(plain, *c) ? "%c" : "%%%02X",
                              (unsigned char)*c);
    return n < size;
}

static int refuse_key(const config *c, const config_line *line,
                      const char *nearest, const char *text) {
    if (nearest)
        complain("%s:%d: unknown key '%s'; did you mean '%s'?", c->path,
                 line->number, line->key, nearest);
    else
        complain("%s:%d: %s", c->path, line->number, text);
    return EXIT_CONFIG;
}

/* Not a setting: then a parameter that the file's store knows. */
static int read_parameter(const config *c, const config_line *line, char *uri,
                          size_t size) {
    const char *nearest;
    char text[HF_ERROR_TEXT_SIZE];
    hf_error err = {0};
    bool fine;
    key_of(line->key, &nearest);
    if (!*uri) {
        snprintf(text, sizeof(text),
                 "unknown key '%.60s'; if it is a parameter of the store's "
                 "address, 'store' must be in this file too",
                 line->key);
        return refuse_key(c, line, nearest, text);
    }
    /* If it was wrong before, it is not this line's fault. */
    fine = hf_uri_check(uri, &err) != HF_EURI;
    if (!add_parameter(uri, size, line))
        return refuse_key(c, line, NULL, "the store's address is too long");
    if (fine && hf_uri_check(uri, &err) == HF_EURI)
        return refuse_key(c, line, nearest, err.text);
    return 0;
}

/* The parameters go to the file's store, if it is the one that won. */
static int read_parameters(settings *s, const config *c) {
    char uri[sizeof(s->won[0].value)] = "", source[sizeof(s->won[0].source)];
    const char *nearest;
    int status = 0;
    for (size_t i = 0; i < c->n; i++)
        if (key_of(c->lines[i].key, &nearest) == SET_STORE) {
            snprintf(uri, sizeof(uri), "%s", c->lines[i].value);
            snprintf(source, sizeof(source), "%s:%d", c->path,
                     c->lines[i].number);
        }
    for (size_t i = 0; i < c->n && status == 0; i++)
        if (key_of(c->lines[i].key, &nearest) < 0)
            status = read_parameter(c, &c->lines[i], uri, sizeof(uri));
    warn_if_open(c->path, c->open_to_all, uri);
    if (status == 0 && *uri && strcmp(s->won[SET_STORE].source, source) == 0)
        strcpy(s->won[SET_STORE].value, uri);
    return status;
}

static int read_lines(settings *s, const config *c) {
    char source[sizeof(s->won[0].source)];
    const char *nearest;
    int status = 0;
    for (size_t i = 0; i < c->n && status == 0; i++) {
        int key = key_of(c->lines[i].key, &nearest);
        snprintf(source, sizeof(source), "%s:%d", c->path, c->lines[i].number);
        if (key >= 0)
            status = offer(s, (setting_key)key, c->lines[i].value, source);
    }
    return status != 0 ? status : read_parameters(s, c);
}

/* A file that we may not read could name another store: to go on without it
 * would be to lock where nobody else does. */
static int check_there(const settings *s, const config *c, bool asked) {
    int trouble = c->trouble != 0 ? c->trouble : c->there ? 0 : ENOENT;
    if (trouble == 0 ||
        (!asked && (c->trouble == 0 || s->won[SET_STORE].source[0])))
        return 0;
    complain("cannot read the configuration %s: %s", c->path,
             strerror(trouble));
    return EXIT_CONFIG;
}

static int read_config(settings *s, const char *path, bool asked) {
    config c;
    int status = config_read(&c, path);
    if (status == 0)
        status = check_there(s, &c, asked);
    if (status == 0)
        status = read_lines(s, &c);
    config_free(&c);
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
    const char *asked = s->config ? s->config : getenv("HOLDFAST_CONFIG");
    char path[4096];
    int status = 0;
    if (asked && *asked)
        status = read_config(s, asked, true);
    if (status == 0 && xdg_path(path, sizeof(path), "XDG_CONFIG_HOME",
                                ".config", "holdfast/config"))
        status = read_config(s, path, false);
    return status != 0 ? status : read_config(s, system_config, false);
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

static int check_log(const settings *s) {
    const setting *log = &s->won[SET_LOG];
    hf_log_level level;
    if (log_level_read(log->value, &level))
        return 0;
    complain("%s: '%s' is not none, error, warn, info or debug", log->source,
             log->value);
    return strncmp(log->source, "--", 2) == 0 ? EXIT_USAGE : EXIT_CONFIG;
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
    if (status == 0)
        status = check_color(s);
    return status == 0 ? check_log(s) : status;
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
    if (log_level_read(s->won[SET_LOG].value, &wanted->log_level) &&
        wanted->log_level != HF_LOG_NONE)
        wanted->on_log = log_write;
    wanted->host = getenv("HOLDFAST_HOST");
    wanted->inside = getenv("HOLDFAST_OWNER"); /* whoever started us waits */
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
    hf_options wanted = HF_OPTIONS_INIT;
    hf_error err = {0};
    int status = settings_resolve(s);
    if (status != 0)
        return status;
    wanted.hidden = true; /* who only looks is not there */
    if (settings_open(ret, s, wanted, &err) != HF_OK)
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
