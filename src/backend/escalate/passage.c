/* SPDX-License-Identifier: MIT
 *
 * passage.c - what this process knows of a name, and whose turn it is to learn
 * more. */
#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "escalate.h"

/* ---- passages ---------------------------------------------------------- */

static size_t bucket_of(const char *name) {
    size_t h = 5381;

    while (*name)
        h = h * 33 + (unsigned char)*name++;
    return h % HF_PASSAGES;
}

void hf__passage_free(hf_passage *p) {
    pthread_mutex_destroy(&p->mu);
    pthread_cond_destroy(&p->free);
    hf__free(p->gate_name);
    hf__free(p->second);
    hf__free(p->name);
    hf__free(p);
}

static hf_passage *passage_new(const hf_escalate *w, const char *name) {
    const hf_side *first = &w->side[HF_SIDE_FIRST],
                  *second = &w->side[HF_SIDE_SECOND];
    const char *bare = name + strlen(first->prefix);
    hf_passage *p = hf__calloc(1, sizeof *p);

    if (!p)
        return NULL;
    pthread_mutex_init(&p->mu, NULL);
    pthread_cond_init(&p->free, NULL);
    p->name = hf__strdup(name);
    p->second = hf__malloc(strlen(second->prefix) + strlen(bare) + 1);
    if (!p->name || !p->second) {
        hf__passage_free(p);
        return NULL;
    }
    sprintf(p->second, "%s%s", second->prefix, bare);
    return p;
}

/* Nobody uses it, and its permission is over: what it knows is one question
 * away.  mu of the whole. */
static void sweep(hf_passage **link) {
    while (*link) {
        hf_passage *p = *link;

        if (p->refs == 0 && !p->twins && hf__now() >= p->until) {
            *link = p->next;
            hf__passage_free(p);
        } else {
            link = &p->next;
        }
    }
}

hf_passage *hf__passage_find(hf_escalate *w, const char *name, bool make) {
    hf_passage **bucket = &w->passages[bucket_of(name)], *p;

    pthread_mutex_lock(&w->mu);
    for (p = *bucket; p && strcmp(p->name, name) != 0; p = p->next)
        ;
    if (!p && make) {
        sweep(bucket);
        p = passage_new(w, name);
        if (p) {
            p->next = *bucket;
            *bucket = p;
        }
    }
    if (p)
        p->refs++;
    pthread_mutex_unlock(&w->mu);
    return p;
}

void hf__passage_put(hf_escalate *w, hf_passage *p) {
    pthread_mutex_lock(&w->mu);
    p->refs--;
    pthread_mutex_unlock(&w->mu);
}

/* The suffix of a gate must fit behind the name. */
int hf__passage_of(hf_escalate *w, hf_passage **ret, const char *name,
                   hf_error *err) {
    hf_passage *p = hf__passage_find(w, name, true);

    *ret = p;
    if (!p)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    if (strlen(p->second) + HF_GATE_TEXT <= HF_NAME_MAX)
        return HF_OK;
    hf__passage_put(w, p);
    return hf__fail(err, HF_ENAME,
                    "a name that may change stores has at most %d bytes",
                    HF_NAME_MAX - HF_GATE_TEXT);
}

/* ---- the turn ---------------------------------------------------------- */

static bool take_turn(hf_passage *p, hf_time by) {
    pthread_mutex_lock(&p->mu);
    while (p->busy && hf__now() < by)
        hf__world->wait(&p->free, &p->mu, by);
    bool mine = !p->busy;
    if (mine)
        p->busy = true;
    pthread_mutex_unlock(&p->mu);
    return mine;
}

/* With nothing locked: a callback may want the turn. */
static void tell(hf_escalate *w, const hf_passage *p, const hf_news *news) {
    void *core = w->base.host->core;

    if (news->moving)
        w->moved(core, p->name, hf__side_where(hf__side_of(w, news->to)), false,
                 news->why);
    if (news->moved)
        w->moved(core, p->name, hf__side_where(hf__side_of(w, news->to)), true,
                 HF_OK);
}

static void end_turn(hf_escalate *w, hf_passage *p) {
    pthread_mutex_lock(&p->mu);
    hf_news news = p->news;
    p->news = (hf_news){0};
    p->busy = false;
    pthread_cond_broadcast(&p->free);
    pthread_mutex_unlock(&p->mu);
    tell(w, p, &news);
}

int hf__pass(hf_escalate *w, hf_passage *p, hf_time by, hf_error *err) {
    int rc;

    if (!take_turn(p, by))
        return hf__fail(err, HF_EDOWN,
                        "%s does not answer: whether '%s' may be used is not "
                        "known",
                        hf__side_where(&w->side[HF_SIDE_SECOND]), p->name);
    rc = hf__advance(w, p, by, err);
    end_turn(w, p);
    return rc;
}
