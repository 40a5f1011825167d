/* SPDX-License-Identifier: MIT
 *
 * cluster.c - many masters, each with some of the slots.
 *
 * A table says which node has a slot.  It is read without a lock, believed,
 * and put right by what comes back:
 *
 *   MOVED              that slot is elsewhere for good: noted, and asked there
 *   ASK                only this name is elsewhere already: asked there, once
 *   TRYAGAIN, and a    its keys are being moved: asked again a little later
 *   script cut short
 *   down, no answer,   somebody may have taken its place: looked up, and (but
 *   not a master       for no answer) asked again a little later
 *
 * Looking up is the mapper's: a thread that is started when something is first
 * amiss.  It asks one server after the other, not more often than every tenth
 * of a second and the one in trouble last, for the whole table; then it brings
 * the channels we listen to where their slots are, and takes down nodes that
 * have none.  Requests wait for it only by pausing before they ask again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../alloc.h"
#include "../../../err.h"
#include "../../../log.h"
#include "../../../world.h"
#include "../reply.h"
#include "cluster_ears.h"

static const hf_time LOOK_EVERY = 100 * HF_MS; /* at most */
static const hf_time LOOK_AGAIN = 500 * HF_MS; /* after one that did not help */

enum { NOBODY = -1, DEFAULT_PORT = 6379 };

typedef struct cluster {
    hf_topology base;
    hf_address *like; /* credentials and rules, for all servers */
    hf_cluster_place *seeds;
    size_t n_seeds;
    hf_nodes nodes;
    hf_ears ears;
    _Atomic uint16_t owners[HF_SLOTS]; /* a node, counted from 1; 0: nobody */
    atomic_bool stopping;

    pthread_mutex_t mu; /* for the rest */
    pthread_cond_t cond;
    pthread_t mapper;
    bool runs;
    bool wanted;              /* a look                           */
    hf_time look_at;          /* not before                       */
    hf_time later_at;         /* a look that has time             */
    hf_time sweep_at;         /* some node may be taken down then */
    bool handed_on;           /* a slot, to another node          */
    hf_cluster_place suspect; /* in trouble; port 0: none */

    hf_cluster_map *map; /* as last heard: the mapper's */
} cluster;

/* ---- the table --------------------------------------------------------- */

/* Anybody who has slots: he will say that this one is not served. */
static hf_node *anybody(cluster *c) {
    hf_node *node = NULL;
    unsigned n = atomic_load(&c->nodes.n);

    for (unsigned i = 0; !node && i < n; i++)
        if (atomic_load(&c->nodes.seats[i].slots))
            node = hf__nodes_enter(&c->nodes, i);
    return node;
}

/* Nodes with slots are not taken down, and somebody always has some; so this
 * ends, at the latest when the table has changed under us. */
static hf_node *locate(hf_topology *t, unsigned slot) {
    cluster *c = (cluster *)t;
    hf_node *node = NULL;

    while (!node) {
        unsigned owner =
            atomic_load_explicit(&c->owners[slot], memory_order_relaxed);

        if (owner)
            node = hf__nodes_enter(&c->nodes, owner - 1);
        if (!node)
            node = anybody(c);
    }
    return node;
}

static hf_node *master(hf_topology *t, unsigned i) {
    cluster *c = (cluster *)t;
    unsigned n = atomic_load(&c->nodes.n);
    hf_node *node = NULL;

    for (unsigned k = 0; !node && k < n; k++)
        if (atomic_load(&c->nodes.seats[k].slots) && i-- == 0)
            node = hf__nodes_enter(&c->nodes, k);
    return node;
}

static void leave(hf_topology *t, hf_node *node) {
    hf__nodes_leave(&((cluster *)t)->nodes, node);
}

/* mu.  The slot is that node's now; the old one's count falls only when the
 * new one's has grown, so that somebody always has some. */
static void assign(cluster *c, unsigned slot, unsigned owner) {
    unsigned before = atomic_load(&c->owners[slot]);

    if (owner == before)
        return;
    c->handed_on |= owner && before;
    if (owner)
        atomic_fetch_add(&c->nodes.seats[owner - 1].slots, 1);
    atomic_store(&c->owners[slot], (uint16_t)owner);
    if (before)
        atomic_fetch_sub(&c->nodes.seats[before - 1].slots, 1);
}

/* The nodes of the masters in a map, entered; NULL: none, or it could not be
 * made.  How many there are. */
static size_t enter_all(cluster *c, const hf_cluster_map *map,
                        hf_node *nodes[HF_CLUSTER_MAX]) {
    hf_error err;
    size_t n = 0;

    for (size_t i = 0; i < map->n; i++) {
        const hf_cluster_place *p = &map->places[i];
        int number = NOBODY;

        if (p->master)
            number = hf__nodes_at(&c->nodes, p->host, p->port, &err);
        nodes[i] =
            number < 0 ? NULL : hf__nodes_enter(&c->nodes, (unsigned)number);
        if (!nodes[i])
            continue;
        hf__server_saw_replicas(&nodes[i]->server, p->replicas);
        n++;
    }
    return n;
}

/* mu.  First the slots that somebody has by the map, then those that nobody
 * has: so there is no moment at which nobody has any. */
static void assign_all(cluster *c, const hf_cluster_map *map,
                       hf_node *const *nodes) {
    for (int pass = 0; pass < 2; pass++)
        for (unsigned slot = 0; slot < HF_SLOTS; slot++) {
            unsigned place = map->owners[slot];
            const hf_node *node = place ? nodes[place - 1] : NULL;

            if (pass == 0 && node)
                assign(c, slot, node->number + 1);
            else if (pass == 1 && !node)
                assign(c, slot, 0);
        }
}

/* Takes the map.  HF_ENO_MEMORY: everything stays as it was. */
static int install(cluster *c, hf_cluster_map *map, hf_error *err) {
    hf_node *nodes[HF_CLUSTER_MAX];
    size_t n = enter_all(c, map, nodes);

    if (n == 0) {
        hf__cluster_map_free(map);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    pthread_mutex_lock(&c->mu);
    assign_all(c, map, nodes);
    c->sweep_at = 0;
    pthread_mutex_unlock(&c->mu);
    for (size_t i = 0; i < map->n; i++)
        if (nodes[i])
            leave(&c->base, nodes[i]);
    hf__cluster_map_free(c->map);
    c->map = map;
    return HF_OK;
}

/* ---- looking up -------------------------------------------------------- */

static int not_clustered(const hf_address *a, hf_error *err) {
    return hf__fail(err, HF_EURI,
                    "%s is not part of a cluster: for one server write "
                    "redis://",
                    a->where);
}

/* To guess would be to miss the messages of those who know. */
static int cannot_probe(const hf_address *a, hf_error *err) {
    return hf__fail(err, HF_EFORBIDDEN,
                    "%s: our user may not find out whether messages are "
                    "sharded: allow +pubsub|shardnumsub, or write sharded=on "
                    "or sharded=off in the address",
                    a->where);
}

/* The first reply is the map; the second, if asked for, says whether messages
 * can stay in their shard, as Redisson finds it out. */
static int judge(hf_cluster_map **ret, bool *sharded, redisReply **replies,
                 const hf_address *a, hf_error *err) {
    int rc;

    if (hf__reply_is(replies[0], "ERR This instance has cluster support"))
        rc = not_clustered(a, err);
    else if (replies[0]->type == REDIS_REPLY_ERROR)
        rc = hf__reply_fail(err, replies[0], a->where, NULL);
    else
        rc = hf__cluster_map_read(ret, replies[0], a->host, err);
    freeReplyObject(replies[0]);
    if (sharded) {
        *sharded = replies[1]->type != REDIS_REPLY_ERROR;
        if (rc == HF_OK && hf__reply_code(replies[1]) == HF_EFORBIDDEN) {
            rc = cannot_probe(a, err);
            hf__cluster_map_free(*ret);
            *ret = NULL;
        }
        freeReplyObject(replies[1]);
    }
    return rc;
}

static int ask_conn(hf_conn *conn, hf_cluster_map **ret, bool *sharded,
                    hf_time by, hf_error *err) {
    redisReply *replies[2];
    hf_pipe p = {0};
    int rc;

    HF_PIPE(&p, "CLUSTER", "SLOTS");
    if (sharded)
        HF_PIPE(&p, "PUBSUB", "SHARDNUMSUB", "0");
    if (p.failed)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    else
        rc = hf__conn_ask(conn, p.bytes, p.len, replies, p.n, by, err);
    hf__pipe_free(&p);
    if (rc == HF_EDOUBT)
        rc = err->code = HF_EDOWN;
    if (rc == HF_OK)
        rc = judge(ret, sharded, replies, conn->address, err);
    return rc;
}

/* Asks one server, on a connection of its own: those for requests may be
 * waiting for a server that is dead. */
static int ask_server(cluster *c, const hf_cluster_place *at,
                      hf_cluster_map **ret, bool *sharded, hf_time by,
                      hf_error *err) {
    hf_address *address = NULL;
    hf_target target = {0};
    hf_conn *conn = NULL;
    int rc = hf__address_at(&address, c->like, at->host, at->port, err);

    if (rc == HF_OK) {
        address->given_up = &c->stopping;
        rc = hf__target_init(&target, address, err);
    }
    if (rc == HF_OK)
        rc = hf__conn_open(&conn, target.address, target.tls, by, err);
    if (rc == HF_OK)
        rc = ask_conn(conn, ret, sharded, by, err);
    hf__conn_close(conn);
    hf__target_clear(&target);
    return rc;
}

/* Will another server say something else? */
static bool is_final(int code) {
    return code == HF_EAUTH || code == HF_EFORBIDDEN || code == HF_ETLS ||
           code == HF_EURI || code == HF_ENO_MEMORY;
}

/* From the first seed that answers. */
static int ask_seeds(cluster *c, hf_cluster_map **ret, bool *sharded,
                     hf_time by, hf_error *err) {
    int rc = HF_EDOWN;

    for (size_t i = 0; i < c->n_seeds; i++) {
        hf_time left = (by - hf__now()) / (hf_time)(c->n_seeds - i);

        rc = ask_server(c, &c->seeds[i], ret, sharded, hf__now() + left, err);
        if (rc == HF_OK || is_final(rc))
            break;
    }
    return rc;
}

static bool same(const hf_cluster_place *a, const hf_cluster_place *b) {
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* A few of the n places, beginning anywhere: the masters or the others, and
 * those that are like the suspect or not. */
static hf_cluster_map *ask_some(cluster *c, const hf_cluster_place *places,
                                size_t n, bool masters,
                                const hf_cluster_place *suspect,
                                bool suspects) {
    hf_cluster_map *map = NULL;
    unsigned start;
    hf_error err;

    hf__world->random(&start, sizeof start);
    for (size_t i = 0; i < n && !atomic_load(&c->stopping); i++) {
        const hf_cluster_place *at = &places[(start % n + i) % n];

        if (at->master == masters && same(at, suspect) == suspects &&
            ask_server(c, at, &map, NULL,
                       hf__after_ms(c->base.host->timeout_ms / 3),
                       &err) == HF_OK)
            break;
    }
    return map;
}

/* From anybody, whoever is in trouble last.  NULL: nobody answers. */
static hf_cluster_map *ask_around(cluster *c, const hf_cluster_place *suspect) {
    const hf_cluster_place *known = c->map->places;
    size_t n = c->map->n;
    hf_cluster_map *map = ask_some(c, known, n, true, suspect, false);

    if (!map)
        map = ask_some(c, known, n, false, suspect, false);
    if (!map)
        map = ask_some(c, c->seeds, c->n_seeds, false, suspect, false);
    if (!map)
        map = ask_some(c, known, n, true, suspect, true);
    return map;
}

/* ---- the mapper -------------------------------------------------------- */

/* mu. */
static void want_later(cluster *c) {
    c->later_at = hf__sooner(c->later_at, hf__now() + hf__jitter(LOOK_AGAIN));
}

/* A new master may not have heard of all that the old one granted: holders are
 * to know at once. */
static void shake(cluster *c) {
    const hf_host *host = c->base.host;
    bool handed_on;

    pthread_mutex_lock(&c->mu);
    handed_on = c->handed_on;
    c->handed_on = false;
    pthread_mutex_unlock(&c->mu);
    if (handed_on)
        hf__log(host, HF_LOG_INFO, "slots have another master",
                {"masters", hf__digits((int64_t)c->map->n).text});
    if (handed_on)
        host->shaken(host->core, HF_LOCK, NULL);
}

/* mu on entry and exit, not between. */
static void look(cluster *c) {
    hf_cluster_place suspect = c->suspect;
    hf_cluster_map *map;
    bool known, again;
    hf_error err;

    c->suspect.port = 0;
    c->wanted = false;
    c->later_at = HF_NEVER;
    c->look_at = hf__now() + LOOK_EVERY;
    pthread_mutex_unlock(&c->mu);
    map = ask_around(c, &suspect);
    known = map && install(c, map, &err) == HF_OK;
    if (known)
        hf__ears_move(&c->ears);
    if (known)
        shake(c);
    again = !known && hf__ears_any(&c->ears);
    pthread_mutex_lock(&c->mu);
    if (again)
        want_later(c);
}

/* mu, likewise. */
static void sweep(cluster *c) {
    hf_time again;

    c->sweep_at = HF_NEVER;
    pthread_mutex_unlock(&c->mu);
    again = hf__nodes_sweep(&c->nodes);
    pthread_mutex_lock(&c->mu);
    c->sweep_at = hf__sooner(c->sweep_at, again);
}

/* The mapper's thread. */
static void *run(void *arg) {
    cluster *c = arg;

    pthread_mutex_lock(&c->mu);
    while (!atomic_load(&c->stopping)) {
        hf_time now = hf__now();
        hf_time look_at = c->wanted ? c->look_at : c->later_at;

        if (look_at <= now)
            look(c);
        else if (c->sweep_at <= now)
            sweep(c);
        else
            hf__world->wait(&c->cond, &c->mu, hf__sooner(look_at, c->sweep_at));
    }
    pthread_mutex_unlock(&c->mu);
    return NULL;
}

/* mu.  Without a thread things get no worse: every request finds its way by
 * what it is told. */
static void rouse(cluster *c) {
    if (!c->runs && !atomic_load(&c->stopping))
        c->runs = hf__world->thread_start(&c->mapper, run, c) == 0;
    pthread_cond_signal(&c->cond);
}

/* Who has which slot should be looked up; `suspect`, if any, is in trouble. */
static void want_look(cluster *c, const hf_node *suspect) {
    pthread_mutex_lock(&c->mu);
    c->wanted = true;
    if (suspect) {
        const hf_address *a = suspect->server.target.address;

        snprintf(c->suspect.host, sizeof c->suspect.host, "%s", a->host);
        c->suspect.port = a->port;
    }
    rouse(c);
    pthread_mutex_unlock(&c->mu);
}

/* Some node may be in use that has no slots. */
static void want_sweep(cluster *c) {
    pthread_mutex_lock(&c->mu);
    c->sweep_at = 0;
    rouse(c);
    pthread_mutex_unlock(&c->mu);
}

/* A listener's thread. */
static void astray(void *arg, bool again) {
    cluster *c = arg;

    if (!again) {
        want_look(c, NULL);
        return;
    }
    pthread_mutex_lock(&c->mu);
    want_later(c);
    rouse(c);
    pthread_mutex_unlock(&c->mu);
}

/* ---- what comes back --------------------------------------------------- */

/* The node to which the redirect points, entered; NULL: it does not say. */
static hf_node *follow(cluster *c, const hf_trip *trip, const redisReply *reply,
                       const char *word, hf_redirect *to) {
    const char *here = trip->at->server.target.address->host;
    hf_error err;
    int number = NOBODY;

    if (hf__redirect_read(to, reply->str, word, here))
        number = hf__nodes_at(&c->nodes, to->host, to->port, &err);
    return number < 0 ? NULL : hf__nodes_enter(&c->nodes, (unsigned)number);
}

static hf_next moved(cluster *c, hf_trip *trip, const redisReply *reply) {
    hf_redirect to;
    hf_node *node = follow(c, trip, reply, "MOVED", &to);

    if (node) {
        hf__log(c->base.host, HF_LOG_DEBUG, "a slot is elsewhere",
                {"slot", hf__digits(to.slot).text},
                {"node", node->server.where});
        pthread_mutex_lock(&c->mu);
        assign(c, to.slot, node->number + 1);
        pthread_mutex_unlock(&c->mu);
        leave(&c->base, node);
    }
    want_look(c, NULL);
    return node ? HF_NEXT_AGAIN : HF_NEXT_LATER;
}

/* A node without slots, if it is one, is to be taken down some day. */
static hf_next asked(cluster *c, hf_trip *trip, const redisReply *reply) {
    hf_redirect to;

    trip->to = follow(c, trip, reply, "ASK", &to);
    if (!trip->to)
        return HF_NEXT_LATER;
    want_sweep(c);
    return HF_NEXT_ASKING;
}

/* A server that is not what it was, or not yet what it will be. */
static bool is_in_trouble(const redisReply *reply) {
    return hf__reply_is(reply, "CLUSTERDOWN") ||
           hf__reply_is(reply, "READONLY") ||
           hf__reply_is(reply, "MASTERDOWN") || hf__reply_is(reply, "LOADING");
}

static hf_next heed(cluster *c, hf_trip *trip, const redisReply *reply) {
    if (hf__reply_is(reply, "MOVED"))
        return moved(c, trip, reply);
    if (hf__reply_is(reply, "ASK"))
        return asked(c, trip, reply);
    trip->cut_short |= hf__reply_cut_short(reply);
    if (hf__reply_is(reply, "TRYAGAIN")) {
        if (trip->torn++ == 0)
            trip->torn_since = hf__now();
        return HF_NEXT_LATER;
    }
    if (hf__reply_cut_short(reply))
        return HF_NEXT_LATER;
    if (!is_in_trouble(reply))
        return HF_NEXT_DONE;
    want_look(c, trip->at);
    return HF_NEXT_LATER;
}

static hf_next learn(hf_topology *t, hf_trip *trip, int rc,
                     const redisReply *reply, hf_time by) {
    cluster *c = (cluster *)t;

    (void)by;
    if (rc == HF_OK)
        return reply->type == REDIS_REPLY_ERROR ? heed(c, trip, reply) :
                                                  HF_NEXT_DONE;
    if (rc != HF_UNSENT && rc != HF_EDOWN && rc != HF_ESTARTING &&
        rc != HF_EDOUBT)
        return HF_NEXT_DONE;
    want_look(c, trip->at);
    return rc == HF_EDOUBT ? HF_NEXT_DONE : HF_NEXT_LATER;
}

/* ---- messages ---------------------------------------------------------- */

static int watch(hf_topology *t, unsigned slot, const char *channel, hf_time by,
                 hf_error *err) {
    return hf__ears_watch(&((cluster *)t)->ears, slot, channel, by, err);
}

static void unwatch(hf_topology *t, unsigned slot, const char *channel) {
    (void)slot;
    hf__ears_unwatch(&((cluster *)t)->ears, channel);
}

/* ---- life -------------------------------------------------------------- */

static void stop(cluster *c) {
    atomic_store(&c->stopping, true);
    pthread_mutex_lock(&c->mu);
    pthread_cond_signal(&c->cond);
    pthread_mutex_unlock(&c->mu);
    if (c->runs)
        hf__world->thread_join(c->mapper);
}

static void free_cluster(hf_topology *t, bool forked) {
    cluster *c = (cluster *)t;

    if (forked) {
        hf__nodes_clear(&c->nodes, true);
        return; /* threads that are gone may have held its locks */
    }
    stop(c);
    hf__ears_forget(&c->ears);
    hf__nodes_clear(&c->nodes, false);
    hf__ears_clear(&c->ears);
    hf__cluster_map_free(c->map);
    hf__address_free(c->like);
    hf__free(c->seeds);
    pthread_mutex_destroy(&c->mu);
    pthread_cond_destroy(&c->cond);
    hf__topology_clear(t);
    hf__free(c);
}

static const hf_topology_ops ops = {.locate = locate,
                                    .learn = learn,
                                    .master = master,
                                    .leave = leave,
                                    .watch = watch,
                                    .unwatch = unwatch,
                                    .free = free_cluster};

/* ---- opening ----------------------------------------------------------- */

static int read_seeds(cluster *c, const hf_uri *uri, hf_error *err) {
    c->seeds = hf__calloc(uri->n_hosts, sizeof *c->seeds);
    if (!c->seeds)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < uri->n_hosts; i++) {
        const hf_uri_host *at = &uri->hosts[i];

        if (strlen(at->host) >= HF_HOST_SIZE)
            return hf__fail(err, HF_EURI, "the name of a host is too long");
        strcpy(c->seeds[i].host, *at->host ? at->host : c->like->host);
        c->seeds[i].port = at->port ? at->port : DEFAULT_PORT;
    }
    c->n_seeds = uri->n_hosts;
    return HF_OK;
}

static int write_where(cluster *c, hf_error *err) {
    FILE *f = hf__memstream(&c->base.where);

    if (!f)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    fprintf(f, "redis%s+cluster://%s%s", c->like->tls ? "s" : "",
            c->like->user ? c->like->user : "", c->like->user ? "@" : "");
    for (size_t i = 0; i < c->n_seeds; i++) {
        bool v6 = strchr(c->seeds[i].host, ':');

        fprintf(f, "%s%s%s%s:%d", i ? "," : "", v6 ? "[" : "", c->seeds[i].host,
                v6 ? "]" : "", c->seeds[i].port);
    }
    return fclose(f) == 0 ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

static int read_address(cluster *c, const hf_uri *uri, hf_error *err) {
    int rc = hf__address_new(&c->like, uri, 0, err);

    c->nodes.like = c->like;
    if (rc == HF_OK && c->like->db)
        rc = hf__fail(err, HF_EURI,
                      "a cluster has one database, 0: leave the %d out",
                      c->like->db);
    if (rc == HF_OK)
        rc = read_seeds(c, uri, err);
    if (rc == HF_OK)
        rc = write_where(c, err);
    return rc;
}

/* What the URI says of messages, or, unless it says so, the cluster. */
static int settle_messages(cluster *c, const hf_uri *uri, bool can,
                           hf_error *err) {
    const char *word = hf_uri_get(uri, "sharded");

    if (!word || strcmp(word, "auto") == 0)
        c->base.needs.sharded = can;
    else if (strcmp(word, "on") == 0 || strcmp(word, "off") == 0)
        c->base.needs.sharded = strcmp(word, "on") == 0;
    else
        return hf__fail(err, HF_EURI, "sharded=%.32s: say auto, on or off",
                        word);
    return HF_OK;
}

static int join(cluster *c, const hf_uri *uri, const hf_host *host, hf_time by,
                hf_error *err) {
    const char *word = hf_uri_get(uri, "sharded");
    bool probe = !word || strcmp(word, "auto") == 0, can = false;
    hf_cluster_map *map = NULL;
    int rc = read_address(c, uri, err);

    if (rc == HF_OK)
        rc = ask_seeds(c, &map, probe ? &can : NULL, by, err);
    if (rc == HF_OK)
        rc = settle_messages(c, uri, can, err);
    if (rc == HF_OK)
        rc = hf__topology_init(&c->base, &ops, uri, host, err);
    if (rc == HF_OK)
        return install(c, map, err);
    hf__cluster_map_free(map);
    return rc;
}

int hf__cluster_open(hf_topology **ret, const hf_uri *uri, const hf_host *host,
                     hf_time by, hf_error *err) {
    cluster *c = hf__calloc(1, sizeof *c);
    int rc;

    if (!c)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    c->base.host = host;
    c->base.slotted = true;
    c->base.needs.once = true;
    c->later_at = HF_NEVER;
    c->base.needs.listener = (hf_listener_needs){
        .told = hf__ears_told, .broke = hf__ears_broke, .arg = &c->ears};
    c->ears = (hf_ears){
        .topology = &c->base, .nodes = &c->nodes, .astray = astray, .arg = c};
    pthread_mutex_init(&c->mu, NULL);
    pthread_cond_init(&c->cond, NULL);
    hf__nodes_init(&c->nodes, &c->base.needs);
    rc = hf__ears_init(&c->ears, err);
    if (rc == HF_OK)
        rc = join(c, uri, host, by, err);
    if (rc == HF_OK)
        *ret = &c->base;
    else
        free_cluster(&c->base, false);
    return rc;
}
