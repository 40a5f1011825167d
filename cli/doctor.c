/* SPDX-License-Identifier: MIT
 *
 * doctor.c - `holdfast doctor`: which settings are in force and where they
 * came from, whether the store answers, and what it promises. */
#include <stdio.h>

#include "command.h"
#include "json.h"
#include "kind.h"
#include "options.h"
#include "settings.h"
#include "status.h"
#include "text.h"

typedef struct doctor_options {
    settings settings;
    bool json;
} doctor_options;

static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, offsetof(doctor_options, json),
     "print an object of JSON"},
    {0, NULL, NULL, OPTION_FLAG, 0, NULL},
};

static const struct {
    unsigned bit;
    const char *key, *yes, *no;
} abilities[] = {
    {HF_CAN_ORDER, "order", "waiters are served first come, first served",
     "waiters are served in no particular order"},
    {HF_CAN_WAKE, "wake", "a release wakes the next waiter at once",
     "waiters look again from time to time"},
    {HF_CAN_NOTICE, "notice",
     "a killed holder is noticed before its lease ends",
     "a killed holder blocks others until its lease ends"},
};
enum { ABILITIES = sizeof(abilities) / sizeof(abilities[0]) };

/* Nobody holds what is only a number. */
static unsigned relevant(hf_kind kind) {
    unsigned all = HF_CAN_ORDER | HF_CAN_WAKE | HF_CAN_NOTICE;
    return kind == HF_SEMAPHORE || kind == HF_LATCH ?
               all & ~(unsigned)HF_CAN_NOTICE :
               all;
}

/* ---- for people -------------------------------------------------------- */

static void put_setting(const settings *s, setting_key key) {
    char shown[2048];
    hf_uri_redact(s->won[key].value, shown, sizeof(shown));
    printf("  %-8s ", settings_name(key));
    text_put(stdout, key == SET_STORE ? shown : s->won[key].value);
    printf("  %s(", text_paint(stdout, DIM));
    text_put(stdout, s->won[key].source);
    printf(")%s\n", text_paint(stdout, PLAIN));
}

static void put_settings(const settings *s) {
    printf("holdfast %s, stores: %s\n\nSettings\n", hf_version(), hf_stores());
    for (int key = 0; key < SETTINGS; key++)
        put_setting(s, (setting_key)key);
    printf("\nStore\n");
}

static void put_fact(void *arg, hf_verdict_level level, const char *what,
                     const char *text) {
    static const char *const marks[] = {
        [HF_FACT] = "  ", [HF_GOOD] = "ok", [HF_WARN] = "!!"};
    static const text_colour colours[] = {
        [HF_FACT] = PLAIN, [HF_GOOD] = GREEN, [HF_WARN] = YELLOW};
    (void)arg;
    printf("  %s%s%s ", text_paint(stdout, colours[level]), marks[level],
           text_paint(stdout, PLAIN));
    text_put(stdout, what);
    printf(": ");
    text_put(stdout, text);
    putchar('\n');
}

/* Of both the same is to be said. */
static bool alike(hf_client *client, hf_kind a, hf_kind b) {
    unsigned can = hf_can(client, a);
    return can == hf_can(client, b) &&
           (!(can & HF_CAN_HOLD) || relevant(a) == relevant(b));
}

/* "lock, read lock or write lock": the kinds like this one, from it on. */
static void put_kinds(hf_client *client, hf_kind kind) {
    int last = kind;
    for (int other = kind; other < HF_KINDS; other++)
        if (alike(client, kind, (hf_kind)other))
            last = other;
    for (int other = kind; other <= last; other++)
        if (alike(client, kind, (hf_kind)other))
            printf("%s%s",
                   other == (int)kind ? "" :
                   other == last      ? " or " :
                                        ", ",
                   kind_title((hf_kind)other));
}

static void put_abilities(hf_client *client, hf_kind kind) {
    unsigned can = hf_can(client, kind);
    for (int other = 0; other < (int)kind; other++)
        if (alike(client, kind, (hf_kind)other))
            return;
    printf("\nWhat a ");
    put_kinds(client, kind);
    printf(" gives here\n");
    if (!(can & HF_CAN_HOLD))
        printf("     it does not exist in this store\n");
    for (int i = 0; (can & HF_CAN_HOLD) && i < ABILITIES; i++)
        if (relevant(kind) & abilities[i].bit)
            printf("     %s\n",
                   can & abilities[i].bit ? abilities[i].yes : abilities[i].no);
}

static int tell(hf_client *client) {
    hf_error err = {0};
    int status = 0;
    put_fact(NULL, HF_GOOD, "reached", hf_store(client));
    if (hf_examine(client, put_fact, NULL, &err) != HF_OK)
        status = status_fail(&err);
    for (int kind = 0; kind < HF_KINDS; kind++)
        put_abilities(client, (hf_kind)kind);
    return status;
}

/* ---- for programs ------------------------------------------------------ */

static void json_settings(json *j, const settings *s) {
    char shown[2048];
    settings_shown(s, shown, sizeof(shown));
    json_open(j, NULL, '{');
    json_text(j, "version", hf_version());
    json_text(j, "stores", hf_stores());
    json_open(j, "settings", '{');
    for (int key = 0; key < SETTINGS; key++) {
        json_open(j, settings_name((setting_key)key), '{');
        json_text(j, "value", key == SET_STORE ? shown : s->won[key].value);
        json_text(j, "source", s->won[key].source);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static void json_fact(void *arg, hf_verdict_level level, const char *what,
                      const char *text) {
    static const char *const levels[] = {
        [HF_FACT] = "fact", [HF_GOOD] = "good", [HF_WARN] = "warning"};
    json *j = arg;
    json_open(j, NULL, '{');
    json_text(j, "level", levels[level]);
    json_text(j, "what", what);
    json_text(j, "text", text);
    json_close(j, '}');
}

static void json_abilities(json *j, hf_client *client) {
    json_open(j, "kinds", '{');
    for (int kind = 0; kind < HF_KINDS; kind++) {
        unsigned can = hf_can(client, (hf_kind)kind);
        json_open(j, kind_word((hf_kind)kind), '{');
        json_flag(j, "hold", can & HF_CAN_HOLD);
        for (int i = 0; i < ABILITIES; i++)
            json_flag(j, abilities[i].key, can & abilities[i].bit);
        json_close(j, '}');
    }
    json_close(j, '}');
}

static int json_tell(json *j, hf_client *client) {
    hf_error err = {0};
    int r;
    json_text(j, "store", hf_store(client));
    json_open(j, "facts", '[');
    r = hf_examine(client, json_fact, j, &err);
    json_close(j, ']');
    json_abilities(j, client);
    return r == HF_OK ? 0 : status_fail(&err);
}

/* ---- both -------------------------------------------------------------- */

static int examine(const doctor_options *o) {
    json j = {.out = stdout};
    hf_client *client = NULL;
    hf_error err = {0};
    int status;
    if (o->json)
        json_settings(&j, &o->settings);
    else
        put_settings(&o->settings);
    if (settings_open(&client, &o->settings, (hf_options)HF_OPTIONS_INIT,
                      &err) == HF_OK) {
        status = o->json ? json_tell(&j, client) : tell(client);
    } else {
        fflush(stdout);
        status = status_fail(&err);
        if (o->json)
            json_text(&j, "error", err.text);
    }
    if (o->json) {
        json_close(&j, '}');
        putchar('\n');
    }
    hf_close(client);
    return status != 0 || fflush(stdout) == 0 ? status : EXIT_SOFTWARE;
}

static int run_doctor(const command *cmd, int argc, char **argv) {
    static doctor_options o;
    int status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no arguments");
    status = settings_resolve(&o.settings);
    return status != 0 ? status : examine(&o);
}

const command doctor_command = {
    .name = "doctor",
    .operands = "",
    .summary = "Show settings, reach the store, say what it promises.",
    .options = rows,
    .store = true,
    .run = run_doctor,
};
