/* SPDX-License-Identifier: MIT
 *
 * hf-judge.c - the checker as a command: reads the files of one trial, says
 * whether everything was as promised, and shows what was not.
 *
 *     hf-judge --lease 2000 --idle 5000 --picture what.svg trial/[0-9]*
 *
 * 0: it was; 1: it was not; 2: the files cannot be used. */
#include "checker.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FINE = 0, BROKEN = 1, UNUSABLE = 2 };

static const char usage[] =
    "usage: hf-judge [OPTION]... FILE...\n"
    "  --store NAME, --fault NAME   what it was a trial of\n"
    "  --picture FILE               an SVG of what was broken first\n"
    "  --span MS                    so much of it (5000)\n"
    "  --tsv                        a line of numbers instead of a table;\n"
    "                               proof/table.awk makes tables of many\n"
    "what was promised, in ms; 0, the default: not judged\n"
    "  --idle MS     a free name with a waiter, at most so long\n"
    "  --late MS     so long after its deadline a wait ends\n"
    "  --haste MS    who asked so much earlier stands before in a fair line\n"
    "  --lease MS    the longest lease\n"
    "  --permits N   of every semaphore\n"
    "  --waive NAME[,NAME]...  broken without being a failure\n"
    "  --deaf        nobody noted what it was told\n";

typedef struct options {
    const char *store, *fault, *picture;
    int64_t span;
    bool tsv;
    hf_promise promise;
} options;

_Noreturn static void die(const char *what, const char *of) {
    fprintf(stderr, "hf-judge: %s%s%s\n", of, *of != '\0' ? ": " : "", what);
    exit(UNUSABLE);
}

static int64_t number(const char *text, int64_t most) {
    char *end;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || n < 0 || n > most)
        die("is no number that can be used here", text);
    return n;
}

static int64_t ms(const char *text) {
    return number(text, INT64_MAX / 1000000) * 1000000;
}

static void waive(hf_promise *promise, char *names) {
    char *rest;
    for (char *name = strtok_r(names, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        int i = 0;
        while (i < HF_INV_N &&
               strcasecmp(name, hf_invariant_name((hf_invariant)i)) != 0)
            i++;
        if (i == HF_INV_N)
            die("there is no such invariant", name);
        promise->waived[i] = true;
    }
}

static void set(options *o, int option) {
    hf_promise *p = &o->promise;
    switch (option) {
    case 's':
        o->store = optarg;
        break;
    case 'f':
        o->fault = optarg;
        break;
    case 'p':
        o->picture = optarg;
        break;
    case 'S':
        o->span = ms(optarg);
        break;
    case 't':
        o->tsv = true;
        break;
    case 'i':
        p->idle_ns = ms(optarg);
        break;
    case 'l':
        p->late_ns = ms(optarg);
        break;
    case 'h':
        p->haste_ns = ms(optarg);
        break;
    case 'L':
        p->lease_ns = ms(optarg);
        break;
    case 'n':
        p->permits = (int)number(optarg, INT32_MAX);
        break;
    case 'w':
        waive(p, optarg);
        break;
    case 'd':
        p->deaf = true;
        break;
    default:
        fputs(usage, stderr);
        exit(UNUSABLE);
    }
}

static void parse(options *o, int argc, char **argv) {
    static const struct option names[] = {
        {"store", required_argument, NULL, 's'},
        {"fault", required_argument, NULL, 'f'},
        {"picture", required_argument, NULL, 'p'},
        {"span", required_argument, NULL, 'S'},
        {"tsv", no_argument, NULL, 't'},
        {"idle", required_argument, NULL, 'i'},
        {"late", required_argument, NULL, 'l'},
        {"haste", required_argument, NULL, 'h'},
        {"lease", required_argument, NULL, 'L'},
        {"permits", required_argument, NULL, 'n'},
        {"waive", required_argument, NULL, 'w'},
        {"deaf", no_argument, NULL, 'd'},
        {NULL, 0, NULL, 0},
    };
    *o = (options){.store = "-", .fault = "-", .span = 5000000000};
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        set(o, option);
    if (optind == argc) {
        fputs(usage, stderr);
        exit(UNUSABLE);
    }
}

/* What matters most comes first among the invariants. */
static const hf_finding *worst(const hf_verdict *v, const hf_promise *p) {
    for (int waived = 0; waived < 2; waived++)
        for (int i = 0; i < HF_INV_N; i++)
            if (v->of[i].broken > 0 && p->waived[i] == (waived == 1))
                return &v->of[i];
    return NULL;
}

static void draw(const options *o, const hf_history *h, const hf_verdict *v) {
    const hf_finding *f = worst(v, &o->promise);
    if (o->picture == NULL || f == NULL)
        return;
    FILE *out = fopen(o->picture, "we");
    if (out == NULL)
        die("cannot be written", o->picture);
    int rc = hf_picture(out, h, f->name, f->first, o->span);
    if (fclose(out) != 0 || rc != HF_OK)
        die("could not be written", o->picture);
    fprintf(stderr, "hf-judge: drawn into %s\n", o->picture);
}

int main(int argc, char **argv) {
    options o;
    hf_history h = {0};
    hf_verdict v;
    const char *why;
    parse(&o, argc, argv);
    for (int i = optind; i < argc; i++)
        if (hf_history_read(&h, argv[i], &why) != HF_OK)
            die(why, argv[i]);
    if (hf_check(&h, &o.promise, &v) != HF_OK)
        die("out of memory", "");
    if (o.tsv) {
        hf_verdict_tsv_head(stdout);
        hf_verdict_tsv(stdout, o.store, o.fault, &v, &o.promise);
    } else {
        printf("store %s, fault %s: %zu records\n", o.store, o.fault, h.n);
        hf_verdict_print(stdout, &v, &o.promise, &h);
    }
    draw(&o, &h, &v);
    hf_history_free(&h);
    return hf_verdict_bad(&v, &o.promise) ? BROKEN : FINE;
}
