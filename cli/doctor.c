/* SPDX-License-Identifier: MIT
 *
 * doctor.c - `holdfast doctor`: which settings are in force and where they
 * came from, whether the store answers, what it is, and a verdict for each of its
 * promises; or, with --acl, which rights a user of the store needs. */
#include <stdio.h>
#include <string.h>

#include "../view/kind.h"
#include "command.h"
#include "json.h"
#include "options.h"
#include "promise.h"
#include "settings.h"
#include "status.h"
#include "text.h"

typedef struct doctor_options {
    settings settings;
    bool json;
    bool acl, sentinels;
    const char *prefix;
} doctor_options;

static const option_row rows[] = {
    {'J', "json", NULL, OPTION_FLAG, offsetof(doctor_options, json),
     "print an object of JSON"},
    {0, "acl", NULL, OPTION_FLAG, offsetof(doctor_options, acl),
     "print the rule for a user of the store who may do what holdfast does, "
     "and nothing more"},
    {0, "prefix", "PREFIX", OPTION_TEXT, offsetof(doctor_options, prefix),
     "--acl: with names that begin so (all names)"},
    {0, "sentinels", NULL, OPTION_FLAG, offsetof(doctor_options, sentinels),
     "--acl: the rule for the sentinels instead"},
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
    {HF_CAN_REPLICATE, "replicate", NULL, NULL},
};
enum { ABILITIES = sizeof(abilities) / sizeof(abilities[0]) };

/* Nobody holds what is only a number. */
static unsigned relevant(hf_kind kind) {
    unsigned any = HF_CAN_ORDER | HF_CAN_WAKE;
    return kind == HF_SEMAPHORE || kind == HF_LATCH ?
               any :
               any | HF_CAN_NOTICE | HF_CAN_REPLICATE;
}

/* ---- for people -------------------------------------------------------- */

static void put_setting(const settings *s, setting_key key) {
    char shown[2048];
    if (key == SET_ESCALATE && !*s->won[key].value)
        return; /* few have one */
    hf_uri_redact(s->won[key].value, shown, sizeof(shown));
    printf("  %-8s ", settings_name(key));
    text_put(stdout, settings_is_address(key) ? shown : s->won[key].value);
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
    if (arg)
        promises_hear(arg, level, what, text);
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
    for (int i = 0; (can & HF_CAN_HOLD) && i < ABILITIES; i++) {
        const char *text =
            can & abilities[i].bit ? abilities[i].yes : abilities[i].no;
        if (text && (relevant(kind) & abilities[i].bit))
            printf("     %s\n", text);
    }
}

static int tell(hf_client *client) {
    hf_error err = {0};
    promises p = {0};
    int status = 0;
    put_fact(NULL, HF_GOOD, "reached", hf_store(client));
    if (hf_examine(client, put_fact, &p, &err) != HF_OK)
        status = status_fail(&err);
    promises_ask(&p, client);
    promises_print(&p, stdout);
    for (int kind = 0; kind < HF_KINDS; kind++)
        put_abilities(client, (hf_kind)kind);
    return status != 0 || promises_safe(&p) ? status : EXIT_UNSAFE;
}

/* ---- for programs ------------------------------------------------------ */

static void json_settings(json *j, const settings *s) {
    char shown[2048];
    json_open(j, NULL, '{');
    json_text(j, "version", hf_version());
    json_text(j, "stores", hf_stores());
    json_open(j, "settings", '{');
    for (int key = 0; key < SETTINGS; key++) {
        hf_uri_redact(s->won[key].value, shown, sizeof(shown));
        json_open(j, settings_name((setting_key)key), '{');
        json_text(j, "value",
                  settings_is_address((setting_key)key) ? shown :
                                                          s->won[key].value);
        json_text(j, "source", s->won[key].source);
        json_close(j, '}');
    }
    json_close(j, '}');
}

typedef struct json_facts {
    json *j;
    promises *p;
} json_facts;

static void json_fact(void *arg, hf_verdict_level level, const char *what,
                      const char *text) {
    static const char *const levels[] = {
        [HF_FACT] = "fact", [HF_GOOD] = "good", [HF_WARN] = "warning"};
    json *j = ((json_facts *)arg)->j;
    promises_hear(((json_facts *)arg)->p, level, what, text);
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
    promises p = {0};
    int r;
    json_text(j, "store", hf_store(client));
    json_open(j, "facts", '[');
    r = hf_examine(client, json_fact, &(json_facts){j, &p}, &err);
    json_close(j, ']');
    promises_ask(&p, client);
    promises_json(&p, j);
    json_abilities(j, client);
    if (r != HF_OK)
        return status_fail(&err);
    return promises_safe(&p) ? 0 : EXIT_UNSAFE;
}

/* ---- both -------------------------------------------------------------- */

static int examine(const doctor_options *o) {
    json j = {.out = stdout};
    hf_options wanted = HF_OPTIONS_INIT;
    hf_client *client = NULL;
    hf_error err = {0};
    int status = settings_lease(&o->settings, &wanted.lease_ms);
    if (status != 0)
        return status;
    if (o->json)
        json_settings(&j, &o->settings);
    else
        put_settings(&o->settings);
    if (settings_open(&client, &o->settings, wanted, &err) == HF_OK) {
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

/* ---- rights ------------------------------------------------------------ */

typedef struct rules {
    const doctor_options *o;
    json *j;   /* NULL: for people */
    int n;     /* that were printed */
    bool more; /* there are some for the sentinels */
} rules;

/* Sentences on lines. */
static void put_about(const char *about) {
    while (*about) {
        int length = (int)strcspn(about, "\n");
        complain("%.*s", length, about);
        about += length + (about[length] == '\n');
    }
}

/* The rule alone goes to stdout, so that it can be piped. */
static void put_rule(rules *r, const hf_rule *rule) {
    bool sentinels = strcmp(rule->servers, "sentinel") == 0;
    r->more |= sentinels;
    if (sentinels != r->o->sentinels)
        return;
    r->n++;
    printf("%s\n", rule->text);
    fflush(stdout);
    put_about(rule->about);
}

static void json_rule(json *j, const hf_rule *rule) {
    json_open(j, NULL, '{');
    json_text(j, "servers", rule->servers);
    json_text(j, "rule", rule->text);
    json_text(j, "about", rule->about);
    json_close(j, '}');
}

static void on_rule(void *arg, const hf_rule *rule) {
    rules *r = arg;
    if (r->j)
        json_rule(r->j, rule);
    else
        put_rule(r, rule);
}

static int json_rights(hf_client *client, rules *r, hf_error *err) {
    json j = {.out = stdout};
    int code;
    r->j = &j;
    json_open(&j, NULL, '{');
    json_text(&j, "store", hf_store(client));
    json_open(&j, "rules", '[');
    code = hf_rights(client, r->o->prefix, on_rule, r, err);
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
    return code;
}

static int tell_rights(hf_client *client, rules *r) {
    hf_error err = {0};
    int code = r->o->json ? json_rights(client, r, &err) :
                            hf_rights(client, r->o->prefix, on_rule, r, &err);
    if (code != HF_OK)
        return status_fail(&err);
    if (r->o->sentinels && r->n == 0) {
        complain("%s: there are no sentinels", hf_store(client));
        return EXIT_USAGE;
    }
    if (r->more && !r->o->sentinels)
        complain("the sentinels want a rule of their own: --acl --sentinels");
    return fflush(stdout) == 0 ? 0 : EXIT_SOFTWARE;
}

static int rights(const doctor_options *o) {
    hf_client *client = NULL;
    hf_error err = {0};
    int status;
    if (settings_open(&client, &o->settings, (hf_options)HF_OPTIONS_INIT,
                      &err) != HF_OK)
        return status_fail(&err);
    status = tell_rights(client, &(rules){.o = o});
    hf_close(client);
    return status;
}

static int run_doctor(const command *cmd, int argc, char **argv) {
    static doctor_options o;
    int status;
    if (options_read(cmd, &o, NULL, argc, argv) < argc)
        options_refuse(cmd, "it takes no arguments");
    if (!o.acl && (o.prefix || o.sentinels))
        options_refuse(cmd, "--prefix and --sentinels go with --acl");
    status = settings_resolve(&o.settings);
    return status != 0 ? status : o.acl ? rights(&o) : examine(&o);
}

const command doctor_command = {
    .name = "doctor",
    .operands = "",
    .summary = "Show settings, reach the store, judge what it promises.",
    .about = "Exit 1: the store is reached, but one of the promises that keep "
             "two from\nholding one lock, or the tokens growing, has a WARN.",
    .options = rows,
    .store = true,
    .run = run_doctor,
};
