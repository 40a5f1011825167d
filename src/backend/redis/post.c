/* SPDX-License-Identifier: MIT
 *
 * post.c - releases that nobody waits for. */
#include "post.h"

#include <string.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "reply.h"

enum { BUCKETS = 1024, STRIPES = 16 };

static const hf_time TICK = 100 * HF_MS, PATIENCE = HF_SECOND;

/* A name on its way out, and by which link it goes. */
typedef struct bond {
    struct bond *next;
    hf_link *link;
    unsigned posts;
    char name[];
} bond;

/* A posted release. */
typedef struct release {
    hf_post post; /* first: it is what a link hands back */
    hf_script script;
    bool whole; /* sent as text, not by its hash */
    bool stray; /* its server sent it away       */
    int n_keys, argc;
    size_t lens[HF_POST_ARGS];
    char texts[]; /* of the call, each with a NUL; the name is the first */
} release;

struct hf_poster {
    const hf_engine_needs *needs;
    hf_server *server;
    hf_link *const *links;
    const unsigned *n_links;
    atomic_size_t n; /* posts that are not settled */
    atomic_bool dozes;

    pthread_mutex_t bond_mu[STRIPES];
    bond *bonds[BUCKETS]; /* bond_mu of the stripe */

    pthread_mutex_t mu;
    pthread_cond_t cond;
    pthread_t thread;
    bool runs, stopping; /* mu */
    hf_post *later;      /* mu: refused for now, to be posted again */
};

/* ---- bonds ------------------------------------------------------------- */

static unsigned hash(const char *name) {
    unsigned h = 2166136261u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % BUCKETS;
}

static bond **find(hf_poster *p, unsigned bucket, const char *name) {
    bond **at = &p->bonds[bucket];

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static bond *bond_new(const char *name, hf_link *link) {
    bond *b = hf__malloc(sizeof *b + strlen(name) + 1);

    if (!b)
        return NULL;
    *b = (bond){.link = link};
    strcpy(b->name, name);
    return b;
}

/* The link for a new post: the one the name is bound to, or `link`, to which
 * it then is bound.  NULL: out of memory. */
static hf_link *tie(hf_poster *p, const char *name, hf_link *link) {
    unsigned bucket = hash(name);
    bond **at;

    pthread_mutex_lock(&p->bond_mu[bucket % STRIPES]);
    at = find(p, bucket, name);
    if (!*at)
        *at = bond_new(name, link);
    link = *at ? (*at)->link : NULL;
    if (*at)
        (*at)->posts++;
    pthread_mutex_unlock(&p->bond_mu[bucket % STRIPES]);
    return link;
}

static void untie(hf_poster *p, const char *name) {
    unsigned bucket = hash(name);
    bond **at, *gone = NULL;

    pthread_mutex_lock(&p->bond_mu[bucket % STRIPES]);
    at = find(p, bucket, name);
    if (*at && --(*at)->posts == 0) {
        gone = *at;
        *at = gone->next;
    }
    pthread_mutex_unlock(&p->bond_mu[bucket % STRIPES]);
    hf__free(gone);
}

hf_link *hf__poster_link(hf_poster *p, const char *name) {
    unsigned bucket;
    hf_link *link;
    bond *b;

    if (!name || !atomic_load(&p->n))
        return NULL;
    bucket = hash(name);
    pthread_mutex_lock(&p->bond_mu[bucket % STRIPES]);
    b = *find(p, bucket, name);
    link = b ? b->link : NULL;
    pthread_mutex_unlock(&p->bond_mu[bucket % STRIPES]);
    return link;
}

/* ---- one release ------------------------------------------------------- */

/* With a copy of what the script is told, in case it must be told again. */
static release *release_new(const hf_call *call) {
    size_t size = sizeof(release);
    release *r;
    char *to;

    for (int i = 0; i < call->argc; i++)
        size += call->lens[i] + 1;
    r = hf__malloc(size);
    if (!r)
        return NULL;
    r->post = (hf_post){0};
    r->script = call->script;
    r->whole = r->stray = false;
    r->n_keys = call->n_keys;
    r->argc = call->argc;
    to = r->texts;
    for (int i = 0; i < call->argc; i++) {
        r->lens[i] = call->lens[i];
        memcpy(to, call->argv[i], call->lens[i]);
        to += call->lens[i];
        *to++ = '\0';
    }
    return r;
}

/* The call again, from the copy. */
static hf_call call_of(const release *r, const char *argv[HF_POST_ARGS]) {
    const char *at = r->texts;

    for (int i = 0; i < r->argc; i++) {
        argv[i] = at;
        at += r->lens[i] + 1;
    }
    return (hf_call){.script = r->script,
                     .name = r->texts,
                     .n_keys = r->n_keys,
                     .argc = r->argc,
                     .argv = argv,
                     .lens = r->lens};
}

/* (Re)writes the command. */
static bool prepare(hf_poster *p, release *r) {
    const char *argv[HF_POST_ARGS];
    hf_call call = call_of(r, argv);

    hf__free(r->post.bytes);
    r->post.bytes =
        hf__script_command(p->server->scripts, &call, r->whole, &r->post.len);
    return r->post.bytes != NULL;
}

static void release_free(release *r) {
    hf__free(r->post.bytes);
    hf__free(r);
}

static void over(hf_poster *p, release *r, int code) {
    const hf_host *host = p->server->host;

    if (code != HF_OK && host->unreleased)
        host->unreleased(host->core, r->texts, code);
    untie(p, r->texts);
    release_free(r);
    atomic_fetch_sub(&p->n, 1);
}

/* The server has not, or no longer, what it is about. */
static bool is_sent_away(const redisReply *reply) {
    return hf__reply_is(reply, "MOVED") || hf__reply_is(reply, "ASK") ||
           hf__reply_is(reply, "TRYAGAIN") ||
           hf__reply_is(reply, "CLUSTERDOWN") ||
           hf__reply_is(reply, "READONLY") || hf__reply_cut_short(reply);
}

/* What the answer means.  HF_BUSY: not now, but perhaps later. */
static int verdict(hf_poster *p, release *r) {
    const redisReply *reply = r->post.reply;
    int code;

    r->stray =
        p->needs->stray && (reply ? is_sent_away(reply) : p->needs->once);
    if (r->stray)
        return HF_BUSY;
    if (!reply)
        return r->post.repeated ? HF_EDOUBT : HF_EDOWN;
    code = hf__reply_code(reply);
    if (code == HF_ESTARTING || code == HF_EDOWN)
        return HF_BUSY;
    if (code || reply->type != REDIS_REPLY_INTEGER)
        return code ? code : HF_ESTORE;
    /* Not held: by then, or because we had been heard before. */
    return reply->integer || r->post.repeated ? HF_OK : HF_ELOST;
}

static bool put_off(hf_poster *p, release *r) {
    bool later;

    pthread_mutex_lock(&p->mu);
    later = (!p->stopping || r->stray) && r->post.until > hf__now();
    if (later) {
        r->post.next = p->later;
        p->later = &r->post;
    }
    pthread_mutex_unlock(&p->mu);
    return later;
}

void hf__poster_settled(void *poster, hf_link *link, hf_post *post) {
    hf_poster *p = poster;
    release *r = (release *)post;
    redisReply *reply = post->reply;
    bool lost_script = reply && hf__reply_is(reply, "NOSCRIPT") && !r->whole;
    int code = verdict(p, r);

    post->reply = NULL;
    if (reply)
        freeReplyObject(reply);
    if (lost_script) {
        r->whole = true;
        if (prepare(p, r))
            hf__link_post(link, post);
        else
            over(p, r, HF_ENO_MEMORY);
    } else if (code != HF_BUSY) {
        over(p, r, code);
    } else if (!put_off(p, r)) {
        over(p, r, HF_ESTARTING);
    }
}

/* ---- the thread that looks after them ---------------------------------- */

/* Perhaps it works later. */
static bool is_passing(int code) {
    return code == HF_EDOWN || code == HF_ESTARTING || code == HF_EREAD_ONLY ||
           code == HF_EDOUBT;
}

/* Sends it wherever its name is now. */
static void bring_home(hf_poster *p, release *r, hf_time by) {
    const char *argv[HF_POST_ARGS];
    hf_call call = call_of(r, argv);
    hf_error err;
    int code = p->needs->stray(p->needs->stray_arg, &call,
                               hf__sooner(by, r->post.until), &err);

    if (!is_passing(code) || !put_off(p, r))
        over(p, r, code);
}

static void post_later_ones(hf_poster *p, hf_time by) {
    hf_post *post, *next;

    pthread_mutex_lock(&p->mu);
    post = p->later;
    p->later = NULL;
    pthread_mutex_unlock(&p->mu);
    for (; post; post = next) {
        release *r = (release *)post;

        next = post->next;
        if (r->stray)
            bring_home(p, r, by);
        else
            hf__link_post(hf__poster_link(p, r->texts), post);
    }
}

static void tend_links(hf_poster *p, hf_time by) {
    post_later_ones(p, by);
    for (unsigned i = 0; i < *p->n_links; i++)
        hf__link_tend(p->links[i], by);
}

/* mu.  Sleeps until there is something to tend.  `dozes` before the last look
 * at n, and n before the look at `dozes` in rouse: one of us sees the other. */
static void doze(hf_poster *p) {
    atomic_store(&p->dozes, true);
    if (!atomic_load(&p->n) && !p->stopping)
        hf__world->wait(&p->cond, &p->mu, HF_NEVER);
    atomic_store(&p->dozes, false);
}

/* Poster's thread. */
static void *run(void *arg) {
    hf_poster *p = arg;

    pthread_mutex_lock(&p->mu);
    while (!p->stopping) {
        if (!atomic_load(&p->n)) {
            doze(p);
            continue;
        }
        hf__world->wait(&p->cond, &p->mu, hf__now() + TICK);
        pthread_mutex_unlock(&p->mu);
        tend_links(p, hf__now() + PATIENCE);
        pthread_mutex_lock(&p->mu);
    }
    pthread_mutex_unlock(&p->mu);
    return NULL;
}

static void rouse(hf_poster *p) {
    if (!atomic_load(&p->dozes))
        return;
    pthread_mutex_lock(&p->mu);
    if (!p->runs)
        p->runs = hf__world->thread_start(&p->thread, run, p) == 0;
    pthread_cond_signal(&p->cond);
    pthread_mutex_unlock(&p->mu);
}

/* ---- what the engine calls --------------------------------------------- */

int hf__poster_release(hf_poster *p, const hf_call *call, hf_link *link,
                       hf_time until, hf_error *err) {
    release *r = release_new(call);

    if (!r)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    r->post.until = until;
    atomic_fetch_add(&p->n, 1);
    if (!prepare(p, r) || !(link = tie(p, r->texts, link))) {
        atomic_fetch_sub(&p->n, 1);
        release_free(r);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    hf__link_post(link, &r->post);
    rouse(p);
    return HF_OK;
}

int hf__poster_new(hf_poster **ret, const hf_engine_needs *needs,
                   hf_link *const *links, const unsigned *n_links,
                   hf_error *err) {
    hf_poster *p = hf__calloc(1, sizeof *p);

    if (!p)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    p->needs = needs;
    p->server = needs->server;
    p->links = links;
    p->n_links = n_links;
    atomic_init(&p->dozes, true); /* until it is started */
    pthread_mutex_init(&p->mu, NULL);
    pthread_cond_init(&p->cond, NULL);
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&p->bond_mu[i], NULL);
    *ret = p;
    return HF_OK;
}

void hf__poster_stop(hf_poster *p) {
    hf_time by = hf__now() + PATIENCE;

    pthread_mutex_lock(&p->mu);
    p->stopping = true;
    pthread_cond_signal(&p->cond);
    pthread_mutex_unlock(&p->mu);
    if (p->runs)
        hf__world->thread_join(p->thread);
    p->runs = false;
    while (atomic_load(&p->n) && hf__now() < by) {
        tend_links(p, by);
        if (atomic_load(&p->n)) /* a breath, or we would spin */
            hf__world->poll(NULL, 0, hf__now() + TICK / 10);
    }
}

bool hf__poster_has_posts(hf_poster *p) {
    return atomic_load(&p->n) > 0;
}

void hf__poster_free(hf_poster *p) {
    hf_post *post, *next;

    if (!p)
        return;
    for (post = p->later; post; post = next) {
        next = post->next;
        over(p, (release *)post, HF_EDOWN);
    }
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_destroy(&p->bond_mu[i]);
    pthread_mutex_destroy(&p->mu);
    pthread_cond_destroy(&p->cond);
    hf__free(p);
}
