/* SPDX-License-Identifier: MIT
 *
 * hf-torture.c - uses a real store hard while everything goes wrong, and has
 * the checker look at what happened.
 *
 *     hf-torture --store redis --seconds 60 --seed 1 --faults all
 *
 * prints a row for each fault.  0: all was as promised; 1: it was not, and
 * where to look is said; 77: the store is not installed. */
#include "trial.h"
#include "worker.h"

#include "support/dir.h"

#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED = 77, TRIALS_MAX = 40, LEAST_MS = 2500 };

static const store *const all_stores[] = {
    &store_redis,   &store_sqlite,   &store_postgres,
    &store_mariadb, &store_etcd,     &store_zookeeper,
    &store_redlock, &store_sentinel, &store_cluster,
    NULL,
};

typedef struct arguments {
    const store *store;
    int seconds, processes, threads;
    uint64_t seed;
    const char *faults, *dir, *tsv;
    bool keep;
} arguments;

static const char usage[] =
    "usage: hf-torture --store STORE [--seconds N] [--seed S]\n"
    "                  [--faults all|mix|workers|none|FAULT,…]\n"
    "                  [--processes P] [--threads T] [--dir DIR] [--tsv FILE]\n"
    "                  [--keep]\n"
    "       hf-torture --list\n";

/* ---- what is asked for ------------------------------------------------- */

static const store *find_store(const char *name) {
    for (int i = 0; all_stores[i] != NULL; i++)
        if (strcmp(all_stores[i]->name, name) == 0)
            return all_stores[i];
    fprintf(stderr, "there is no store %s; see --list\n", name);
    exit(2);
}

static const fault *find_fault(const store *s, const char *name) {
    for (const fault *f = s->faults; f->name != NULL; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    fprintf(stderr, "%s has no fault %s; see --list\n", s->name, name);
    exit(2);
}

static int list(void) {
    for (int i = 0; all_stores[i] != NULL; i++) {
        printf("%s: none workers mix", all_stores[i]->name);
        for (const fault *f = all_stores[i]->faults; f->name != NULL; f++)
            printf(" %s%s", f->name, f->weak ? "*" : "");
        printf("\n");
    }
    printf("* only tokens protect\n");
    return 0;
}

static void parse(int argc, char **argv, arguments *a) {
    static const struct option options[] = {
        {"store", required_argument, NULL, 's'},
        {"seconds", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 'r'},
        {"faults", required_argument, NULL, 'f'},
        {"processes", required_argument, NULL, 'p'},
        {"threads", required_argument, NULL, 't'},
        {"dir", required_argument, NULL, 'd'},
        {"tsv", required_argument, NULL, 'v'},
        {"keep", no_argument, NULL, 'k'},
        {"list", no_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *a = (arguments){.seconds = 20,
                     .processes = 4,
                     .threads = 4,
                     .seed = (uint64_t)now.tv_sec % 100000,
                     .faults = "all"};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (o) {
        case 's':
            a->store = find_store(optarg);
            break;
        case 'n':
            a->seconds = atoi(optarg);
            break;
        case 'r':
            a->seed = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            a->faults = optarg;
            break;
        case 'p':
            a->processes = atoi(optarg);
            break;
        case 't':
            a->threads = atoi(optarg);
            break;
        case 'd':
            a->dir = optarg;
            break;
        case 'v':
            a->tsv = optarg;
            break;
        case 'k':
            a->keep = true;
            break;
        case 'l':
            exit(list());
        default:
            fputs(usage, stderr);
            exit(2);
        }
    if (a->store == NULL || a->seconds < 1 || a->processes < 1 ||
        a->processes > WORKERS_MAX || a->threads < 1 || a->threads > 16) {
        fputs(usage, stderr);
        exit(2);
    }
}

/* ---- the trials -------------------------------------------------------- */

typedef struct programme {
    plan plans[TRIALS_MAX];
    int n;
} programme;

static plan *add(programme *g, const char *label, bool calm) {
    plan *p = &g->plans[g->n++];
    *p = (plan){.label = label, .calm = calm};
    return p;
}

static void add_fault(programme *g, const fault *f) {
    plan *p = add(g, f->name, false);
    p->faults[p->n_faults++] = f;
}

/* Those after which everything still holds, in turn. */
static void add_mix(programme *g, const store *s) {
    plan *p = add(g, "mix", false);
    for (const fault *f = s->faults; f->name != NULL; f++)
        if (!f->weak && f->replicas == 0)
            p->faults[p->n_faults++] = f;
}

static void add_all(programme *g, const store *s) {
    add(g, "none", true);
    add(g, "workers", false);
    for (const fault *f = s->faults; f->name != NULL; f++)
        add_fault(g, f);
    add_mix(g, s);
}

static void compose(programme *g, const store *s, const char *faults) {
    static char copy[512];
    char *rest;
    snprintf(copy, sizeof copy, "%s", faults);
    for (char *word = strtok_r(copy, ",", &rest); word != NULL;
         word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "all") == 0)
            add_all(g, s);
        else if (strcmp(word, "mix") == 0)
            add_mix(g, s);
        else if (strcmp(word, "none") == 0)
            add(g, "none", true);
        else if (strcmp(word, "workers") == 0)
            add(g, "workers", false);
        else
            add_fault(g, find_fault(s, word));
    }
}

/* ---- the table --------------------------------------------------------- */

#define HEAD "%-9s %-13s %6s %5s %5s %7s %7s %7s %6s %6s %7s %7s %8s %6s  %s\n"
#define ROW                                                                    \
    "%-9s %-13s %6lu %5lu %5lu %7lu %7lu %7lu %6lu %6lu %7.2f %7.2f %8lu "     \
    "%6lu  %s\n"

static void print_head(void) {
    printf(HEAD, "store", "fault", "faults", "kills", "stops", "grants",
           "refused", "timeout", "doubt", "lost", "wait s", "idle s", "visits",
           "spoilt", "verdict");
}

static double seconds(int64_t ns) {
    return (double)ns / 1e9;
}

/* "ok", what only tokens saved, or what is broken. */
static void put_verdict(const outcome *o, char *buf, size_t size) {
    size_t len = 0;
    buf[0] = '\0';
    for (int i = 0; i < HF_INV_N; i++) {
        const hf_finding *f = &o->verdict.of[i];
        if (f->broken > 0 && len < size)
            len += (size_t)snprintf(buf + len, size - len, " %s%s=%lu",
                                    o->promise.waived[i] ? "waived:" : "",
                                    hf_invariant_name((hf_invariant)i),
                                    (unsigned long)f->broken);
    }
    if (o->crashed > 0 && len < size)
        len +=
            (size_t)snprintf(buf + len, size - len, " crashed=%d", o->crashed);
    if (o->hung > 0 && len < size)
        len += (size_t)snprintf(buf + len, size - len, " hung=%d", o->hung);
}

static void print_row(const plan *p, const outcome *o) {
    char verdict[512], words[600];
    const hf_verdict *v = &o->verdict;
    put_verdict(o, verdict, sizeof verdict);
    snprintf(words, sizeof words, "%s%s", o->bad ? "BROKEN" : "ok", verdict);
    printf(ROW, p->site->store->name, p->label, o->faults, o->kills, o->stops,
           (unsigned long)v->grants, (unsigned long)v->refusals,
           (unsigned long)v->timeouts, (unsigned long)v->doubts,
           (unsigned long)v->losses, seconds(v->longest_wait),
           seconds(v->of[HF_INV_HANDOFF].worst), o->visits, o->spoilt, words);
    fflush(stdout);
}

/* For docs/reliability.md: the same, and seconds. */
static void append_row(const char *path, const plan *p, const outcome *o) {
    char verdict[512];
    const hf_verdict *v = &o->verdict;
    FILE *f = path != NULL ? fopen(path, "ae") : NULL;
    if (f == NULL)
        return;
    put_verdict(o, verdict, sizeof verdict);
    if (ftell(f) == 0)
        fprintf(f, "store\tfault\tseconds\tseed\tfaults\tkills\tstops\tgrants\t"
                   "refused\ttimeouts\tdoubts\tlosses\tlongest_wait_s\t"
                   "longest_idle_s\tvisits\tspoilt\tverdict\tfindings\n");
    fprintf(f,
            "%s\t%s\t%.1f\t%llu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%.2f\t"
            "%.2f\t%lu\t%lu\t%s\t%s\n",
            p->site->store->name, p->label, p->ms / 1e3,
            (unsigned long long)p->seed, o->faults, o->kills, o->stops,
            (unsigned long)v->grants, (unsigned long)v->refusals,
            (unsigned long)v->timeouts, (unsigned long)v->doubts,
            (unsigned long)v->losses, seconds(v->longest_wait),
            seconds(v->of[HF_INV_HANDOFF].worst), o->visits, o->spoilt,
            o->bad ? "BROKEN" : "ok", verdict[0] != '\0' ? verdict + 1 : "");
    fclose(f);
}

/* ---- a failure --------------------------------------------------------- */

static void draw(const plan *p, const outcome *o) {
    char path[512];
    for (int i = 0; i < HF_INV_N; i++) {
        const hf_finding *f = &o->verdict.of[i];
        if (f->broken == 0 || o->promise.waived[i])
            continue;
        snprintf(path, sizeof path, "%s/%s.svg", p->dir,
                 hf_invariant_name((hf_invariant)i));
        FILE *out = fopen(path, "we");
        if (out == NULL)
            continue;
        if (hf_picture(out, &o->history, f->name, f->first,
                       INT64_C(5000000000)) == HF_OK)
            fprintf(stderr, "a picture of it: %s\n", path);
        fclose(out);
    }
}

/* What endangers data, as opposed to what is only late or untidy: never
 * forgiven, see tools/lane.sh. */
static bool is_unsafe(const outcome *o) {
    for (int i = 0; i < HF_INV_N; i++)
        if (i != HF_INV_HANDOFF && i != HF_INV_TIMELY &&
            i != HF_INV_LEFTOVERS && o->verdict.of[i].broken > 0 &&
            !o->promise.waived[i])
            return true;
    return o->crashed > 0;
}

static void explain(const arguments *a, const plan *p, const outcome *o) {
    hf_verdict_print(stderr, &o->verdict, &o->promise, &o->history);
    if (o->left[0] != '\0')
        fprintf(stderr, "left in the store:%s\n", o->left);
    draw(p, o);
    fprintf(stderr,
            "%s%s, %s: not as promised\n"
            "the histories: %s/*.history (hf-judge reads them)\n"
            "again: hf-torture --store %s --faults %s --seconds %d --seed %llu "
            "--processes %d --threads %d\n",
            is_unsafe(o) ? "UNSAFE: " : "", a->store->name, p->label, p->dir,
            a->store->name, p->label, (p->ms + 999) / 1000,
            (unsigned long long)p->seed, a->processes, a->threads);
}

/* ---- running ----------------------------------------------------------- */

static void make_folder(const char *path) {
    char above[512];
    snprintf(above, sizeof above, "%s", path);
    mkdir(dirname(above), 0700); /* one that is missing above it, too */
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        perror(path);
        exit(1);
    }
}

static void remove_folder(const char *path) {
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    if (system(command) != 0)
        fprintf(stderr, "%s stays\n", path);
}

static bool run(const arguments *a, plan *p) {
    outcome o;
    make_folder(p->dir);
    trial_run(p, &o);
    print_row(p, &o);
    append_row(a->tsv, p, &o);
    if (o.bad)
        explain(a, p, &o);
    else if (!a->keep)
        remove_folder(p->dir);
    bool bad = o.bad;
    outcome_free(&o);
    return bad;
}

static int run_all(const arguments *a, programme *g) {
    static site s;
    int bad = 0, each = a->seconds * 1000 / g->n;
    const char *dir = a->dir != NULL ? a->dir : BUILT_TRIALS;
    s.store = a->store;
    s.store->start(&s);
    make_folder(dir);
    for (int i = 0; i < g->n; i++) {
        plan *p = &g->plans[i];
        p->site = &s;
        p->ms = each > LEAST_MS ? each : LEAST_MS;
        p->seed = a->seed;
        p->processes = a->processes;
        p->threads = a->threads;
        snprintf(p->dir, sizeof p->dir, "%.180s/%s-%s-%llu", dir,
                 a->store->name, p->label, (unsigned long long)a->seed);
        remove_folder(p->dir);
        bad += run(a, p);
    }
    s.store->stop(&s);
    for (int i = 0; i < s.n_links; i++)
        hf_test_proxy_stop(s.links[i]);
    return bad;
}

int main(int argc, char **argv) {
    arguments a;
    static programme g;
    if (argc == 5 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv[2], (uint32_t)atoi(argv[3]),
                           strcmp(argv[4], "mortal") == 0);
    parse(argc, argv, &a);
    const char *missing = a.store->missing();
    if (missing != NULL) {
        printf("skipped: %s\n", missing);
        return SKIPPED;
    }
    setenv("HF_TEST_DIR", BUILT_DIR, 0);
    setenv("HF_SKEW", BUILT_SKEW, 0);
    signal(SIGPIPE, SIG_IGN);
    compose(&g, a.store, a.faults);
    print_head();
    return run_all(&a, &g) > 0 ? 1 : 0;
}
