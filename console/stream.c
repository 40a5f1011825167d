/* SPDX-License-Identifier: MIT
 *
 * stream.c - answers that go on. */
#include "stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct stream {
    stream *next, **self;
    streams *all;
    struct MHD_Connection *connection;
    stream_fill_fn *fill;
    void *arg;
    void (*let_go)(void *);
    bool suspended, gone, over; /* all->mu */
    char *text;                 /* the HTTP thread's, with */
    size_t n, at;               /* how much, and what was sent */
};

struct streams {
    pthread_mutex_t mu;
    stream *first; /* mu */
    size_t n;      /* mu */
    bool ending;   /* mu */
};

streams *streams_new(void) {
    streams *all = calloc(1, sizeof(*all));
    if (all)
        pthread_mutex_init(&all->mu, NULL);
    return all;
}

void streams_free(streams *all) {
    if (all)
        pthread_mutex_destroy(&all->mu);
    free(all);
}

/* With mu. */
static void wake(stream *s) {
    if (s->suspended)
        MHD_resume_connection(s->connection);
    s->suspended = false;
}

void streams_wake(streams *all) {
    pthread_mutex_lock(&all->mu);
    for (stream *s = all->first; s; s = s->next)
        wake(s);
    pthread_mutex_unlock(&all->mu);
}

void streams_end(streams *all) {
    pthread_mutex_lock(&all->mu);
    all->ending = true;
    pthread_mutex_unlock(&all->mu);
    streams_wake(all);
}

size_t streams_count(streams *all) {
    size_t n;
    pthread_mutex_lock(&all->mu);
    n = all->n;
    pthread_mutex_unlock(&all->mu);
    return n;
}

/* ---- one --------------------------------------------------------------- */

static bool enter(streams *all, stream *s) {
    bool room;
    pthread_mutex_lock(&all->mu);
    room = all->n < STREAMS_MOST && !all->ending;
    if (room) {
        all->n++;
        s->next = all->first;
        s->self = &all->first;
        if (s->next)
            s->next->self = &s->next;
        all->first = s;
    }
    pthread_mutex_unlock(&all->mu);
    return room;
}

bool stream_begin(request *r, const char *type, stream_fill_fn *fill, void *arg,
                  void (*let_go)(void *)) {
    stream *s = calloc(1, sizeof(*s));
    if (s && arg) {
        s->all = r->console->streams;
        s->connection = r->connection;
        s->fill = fill;
        s->arg = arg;
        s->let_go = let_go;
        if (enter(s->all, s)) {
            request_out(r, 200, type);
            r->stream = s;
            return true;
        }
    }
    free(s);
    if (let_go)
        let_go(arg);
    request_crowded(r, "streams");
    return false;
}

void stream_gone(stream *s) {
    pthread_mutex_lock(&s->all->mu);
    s->gone = true;
    wake(s);
    pthread_mutex_unlock(&s->all->mu);
}

void stream_free(stream *s) {
    pthread_mutex_lock(&s->all->mu);
    *s->self = s->next;
    if (s->next)
        s->next->self = s->self;
    s->all->n--;
    pthread_mutex_unlock(&s->all->mu);
    if (s->let_go)
        s->let_go(s->arg);
    free(s->text);
    free(s);
}

/* ---- what it says ------------------------------------------------------ */

/* False: no memory. */
static bool refill(stream *s) {
    FILE *out;
    free(s->text);
    s->text = NULL;
    s->n = s->at = 0;
    out = open_memstream(&s->text, &s->n);
    if (!out)
        return false;
    s->over = !s->fill(s->arg, out);
    return fclose(out) == 0;
}

/* With mu.  What the HTTP library wants to hear while there is no text. */
static ssize_t nothing(stream *s) {
    if (s->gone)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (s->over || s->all->ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    s->suspended = true;
    MHD_suspend_connection(s->connection);
    return 0;
}

static ssize_t read_on(void *arg, uint64_t position, char *buf, size_t most) {
    stream *s = arg;
    ssize_t n = 0;
    (void)position;
    pthread_mutex_lock(&s->all->mu);
    if (s->at == s->n && !s->over && !s->gone && !refill(s))
        s->gone = true;
    if (s->at == s->n || s->gone) {
        n = nothing(s);
    } else {
        n = (ssize_t)(s->n - s->at < most ? s->n - s->at : most);
        memcpy(buf, s->text + s->at, (size_t)n);
        s->at += (size_t)n;
    }
    pthread_mutex_unlock(&s->all->mu);
    return n;
}

struct MHD_Response *stream_response(stream *s) {
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_on, s,
                                             NULL);
}
