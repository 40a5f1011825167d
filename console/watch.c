/* SPDX-License-Identifier: MIT
 *
 * watch.c - looking at the store, once a second.
 *
 * A view belongs to the thread that looks.  What others read is a copy of its
 * picture, and its events written out as JSON when they were seen.
 *
 * Events are counted from the millisecond in which we started, with room for a
 * thousand in each: so a number of an earlier server is below all of ours. */
#include "watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../cli/json.h"
#include "../cli/write.h"

typedef struct note {
    uint64_t id;
    char *name, *object;
} note;

struct watch {
    watch_fn *fn;
    void *arg;
    view *view;     /* the thread's alone, with                 */
    uint64_t read;  /* its last event that we have              */
    uint64_t first; /* our numbers begin above this             */
    pthread_t thread;
    pthread_mutex_t mu;
    pthread_cond_t news;
    bool poked, ending;                /* mu */
    picture *last;                     /* mu */
    note notes[WATCH_KEEP];            /* mu: a ring, by number */
    uint64_t newest;                   /* mu: 0 or above `first` */
    uint64_t counts[VIEW_EVENT_KINDS]; /* mu */
};

/* ---- events ------------------------------------------------------------ */

static char *written(const view_event *e, uint64_t id) {
    char *text = NULL;
    size_t n;
    json j = {.out = open_memstream(&text, &n)};
    if (!j.out)
        return NULL;
    write_event(&j, e, id);
    if (fclose(j.out) == 0)
        return text;
    free(text);
    return NULL;
}

static void keep(watch *w, const view_event *e) {
    uint64_t id = (w->newest ? w->newest : w->first) + 1;
    note *n = &w->notes[id % WATCH_KEEP];
    char *object = written(e, id), *name = strdup(e->claim.name);
    if (!object || !name) { /* one event less is told of */
        free(object);
        free(name);
        return;
    }
    free(n->object);
    free(n->name);
    *n = (note){.id = id, .name = name, .object = object};
    w->newest = id;
    w->counts[e->kind]++;
}

static void keep_events(watch *w) {
    const view_event *e;
    while ((e = view_after(w->view, w->read)) != NULL) {
        keep(w, e);
        w->read = e->id;
    }
}

uint64_t watch_newest(watch *w) {
    uint64_t id;
    pthread_mutex_lock(&w->mu);
    id = w->newest ? w->newest : w->first;
    pthread_mutex_unlock(&w->mu);
    return id;
}

/* With mu.  The first one remembered. */
static uint64_t oldest(const watch *w) {
    uint64_t id = w->newest >= WATCH_KEEP ? w->newest - WATCH_KEEP + 1 : 1;
    return id > w->first ? id : w->first + 1;
}

bool watch_remembers(watch *w, uint64_t id) {
    bool known;
    pthread_mutex_lock(&w->mu);
    known = id + 1 >= oldest(w) && id <= (w->newest ? w->newest : w->first);
    pthread_mutex_unlock(&w->mu);
    return known;
}

void watch_events(watch *w, uint64_t id, const char *name, watch_event_fn *fn,
                  void *arg) {
    pthread_mutex_lock(&w->mu);
    if (id < oldest(w))
        id = oldest(w) - 1;
    while (++id <= w->newest) {
        const note *n = &w->notes[id % WATCH_KEEP];
        if (n->id == id && (!name || strcmp(n->name, name) == 0))
            fn(arg, id, n->object);
    }
    pthread_mutex_unlock(&w->mu);
}

void watch_counts(watch *w, uint64_t counts[static VIEW_EVENT_KINDS]) {
    pthread_mutex_lock(&w->mu);
    memcpy(counts, w->counts, sizeof(w->counts));
    pthread_mutex_unlock(&w->mu);
}

/* ---- the picture ------------------------------------------------------- */

static void let_go(picture *p) {
    if (p && --p->refs == 0)
        picture_free(p);
}

picture *watch_picture(watch *w) {
    picture *p;
    pthread_mutex_lock(&w->mu);
    p = w->last;
    p->refs++;
    pthread_mutex_unlock(&w->mu);
    return p;
}

void watch_return(watch *w, picture *p) {
    pthread_mutex_lock(&w->mu);
    let_go(p);
    pthread_mutex_unlock(&w->mu);
}

/* ---- looking ----------------------------------------------------------- */

/* A look that fails is told by the picture, which is stale then. */
static bool look(watch *w) {
    hf_error err = {0};
    picture *p;
    view_look(w->view, &err);
    p = picture_copy(view_now(w->view));
    pthread_mutex_lock(&w->mu);
    if (p) {
        let_go(w->last);
        w->last = p;
    }
    keep_events(w);
    pthread_mutex_unlock(&w->mu);
    return p != NULL;
}

/* A store with so many names that a look takes seconds shall have most of its
 * time for others. */
static int64_t pause_ms(const watch *w) {
    const view_picture *now = view_now(w->view);
    int64_t longer = now->stale ? 0 : 3 * (now->rtt_us / 1000);
    return longer > WATCH_EVERY_MS ? longer : WATCH_EVERY_MS;
}

static void pause_until_next(watch *w) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += pause_ms(w) / 1000;
    pthread_mutex_lock(&w->mu);
    while (!w->ending && !w->poked &&
           pthread_cond_timedwait(&w->news, &w->mu, &until) == 0)
        ;
    w->poked = false;
    pthread_mutex_unlock(&w->mu);
}

static bool is_ending(watch *w) {
    bool ending;
    pthread_mutex_lock(&w->mu);
    ending = w->ending;
    pthread_mutex_unlock(&w->mu);
    return ending;
}

static void *run(void *arg) {
    watch *w = arg;
    while (pause_until_next(w), !is_ending(w)) {
        look(w);
        w->fn(w->arg);
    }
    return NULL;
}

void watch_poke(watch *w) {
    pthread_mutex_lock(&w->mu);
    w->poked = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->mu);
}

/* ---- its life ---------------------------------------------------------- */

static void prepare(watch *w) {
    pthread_condattr_t clock;
    struct timespec now;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w->news, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&w->mu, NULL);
    clock_gettime(CLOCK_REALTIME, &now);
    w->first =
        (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000000 * 1000;
}

static void destroy(watch *w) {
    view_free(w->view);
    let_go(w->last);
    for (size_t i = 0; i < WATCH_KEEP; i++) {
        free(w->notes[i].name);
        free(w->notes[i].object);
    }
    pthread_cond_destroy(&w->news);
    pthread_mutex_destroy(&w->mu);
    free(w);
}

int watch_new(watch **ret, hf_client *client, watch_fn *fn, void *arg,
              hf_error *err) {
    watch *w = calloc(1, sizeof(*w));
    if (!w)
        return err->code = HF_ENO_MEMORY;
    prepare(w);
    w->fn = fn;
    w->arg = arg;
    if (view_new(&w->view, client, WATCH_KEEP, err) == HF_OK) {
        if (!look(w))
            err->code = HF_ENO_MEMORY;
        else if (pthread_create(&w->thread, NULL, run, w) != 0)
            err->code = HF_ESYSTEM;
    }
    if (err->code != HF_OK) {
        destroy(w);
        return err->code;
    }
    *ret = w;
    return HF_OK;
}

void watch_free(watch *w) {
    if (!w)
        return;
    pthread_mutex_lock(&w->mu);
    w->ending = true;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->mu);
    pthread_join(w->thread, NULL);
    destroy(w);
}
