/* SPDX-License-Identifier: MIT
 *
 * zookeeper_bench.c - holdfast on ZooKeeper beside bare libzookeeper, Curator
 * and kazoo.
 *
 *     zookeeper_bench [--curator FOLDER] [--kazoo FOLDER] [--results FILE]
 *                     [--rounds N] [--cell MS] [--quick]
 *
 * FOLDER is what curator/build.sh made, or the build.sh of the kazoo of the
 * tests; without it that side is left out. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zookeeper/zookeeper.h>
#include <zookeeper/zookeeper_version.h>

#include <holdfast.h>

#include "bare.h"
#include "rivals.h"
#include "server.h"

enum { SESSION_MS = 30000 };

/* ---- the bare calls ---------------------------------------------------- */

/* What is waited for: so many answers, of which all must be good. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int left, worst;
    char node[256];
} answer = {.mutex = PTHREAD_MUTEX_INITIALIZER,
            .cond = PTHREAD_COND_INITIALIZER};

static zhandle_t *zh;
static char parent[160], entry[240];

static void answered(int rc) {
    pthread_mutex_lock(&answer.mutex);
    if (rc != ZOK)
        answer.worst = rc;
    if (--answer.left == 0)
        pthread_cond_signal(&answer.cond);
    pthread_mutex_unlock(&answer.mutex);
}

static void ask(int n) {
    answer.left = n;
    answer.worst = ZOK;
}

static bool await(void) {
    pthread_mutex_lock(&answer.mutex);
    while (answer.left > 0)
        pthread_cond_wait(&answer.cond, &answer.mutex);
    pthread_mutex_unlock(&answer.mutex);
    return answer.worst == ZOK;
}

static void on_state(zhandle_t *z, int type, int state, const char *path,
                     void *arg) {
    (void)z, (void)path, (void)arg;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        answered(ZOK);
}

static void on_node(int rc, const char *name, const struct Stat *stat,
                    const void *arg) {
    (void)stat, (void)arg;
    if (rc == ZOK)
        snprintf(answer.node, sizeof answer.node, "%s", name);
    answered(rc);
}

static void on_list(int rc, const struct String_vector *list, const void *arg) {
    (void)list, (void)arg;
    answered(rc);
}

static void on_done(int rc, const void *arg) {
    (void)arg;
    answered(rc);
}

static const char *bare_open(const char *uri) {
    zoo_set_debug_level(0);
    ask(1);
    zh = zookeeper_init(strstr(uri, "//") + 2, on_state, SESSION_MS, NULL, NULL,
                        0);
    if (!zh || !await())
        return NULL;
    zoo_set_servers_resolution_delay(zh, 60000);
    return ZOO_VERSION;
}

static bool bare_begin(const char *name) {
    snprintf(parent, sizeof parent, "/%s", name);
    snprintf(entry, sizeof entry,
             "%s/_c_00000000-0000-4000-8000-000000000000-lock-", parent);
    ask(1);
    return zoo_acreate2(zh, parent, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, on_node,
                        NULL) == ZOK &&
           await();
}

/* The list goes out behind the entry: one way to the server and back. */
static bool bare_take(void) {
    ask(2);
    return zoo_acreate2(zh, entry, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                        ZOO_EPHEMERAL | ZOO_SEQUENCE, on_node, NULL) == ZOK &&
           zoo_aget_children(zh, parent, 0, on_list, NULL) == ZOK && await();
}

static bool bare_give(void) {
    ask(1);
    return zoo_adelete(zh, answer.node, -1, on_done, NULL) == ZOK && await();
}

static const bare calls = {"libzookeeper", bare_open, bare_begin,
                           bare_take,      bare_give, false};

/* ---- the others -------------------------------------------------------- */

static rival curator(const char *folder) {
    static char path[1200], log[600];
    const char *why = rivals_why(folder);

    if (why)
        return (rival){.name = "Curator", .why = why};
    snprintf(path, sizeof path, "%s/classes:%s/lib/*", folder, folder);
    snprintf(log, sizeof log, "%s/log", folder);
    return (rival){
        .name = "Curator", .argv = {"java", "-cp", path, "Bench"}, .log = log};
}

static rival kazoo(const char *folder) {
    static char path[600], script[600], log[600];

    if (!folder)
        return (rival){.name = "kazoo", .why = "nobody built it"};
    snprintf(path, sizeof path, "%s/lib211", folder);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/lib28", folder);
    snprintf(script, sizeof script, "%s/kazoo/bench.py", HF_BENCH_SOURCE);
    snprintf(log, sizeof log, "%s/log", folder);
    return (rival){.name = "kazoo",
                   .argv = {"/usr/bin/python3", script, path},
                   .log = log};
}

int main(int argc, char **argv) {
    const bench_server *server;
    char uri[64];

    if (argc == 2 && strcmp(argv[1], "--worker") == 0)
        return worker_main();
    rivals_options(argc, argv);
    server = server_start_zookeeper();
    if (!server) {
        printf("ZooKeeper: not measured, because no server starts\n");
        return 0;
    }
    snprintf(uri, sizeof uri, "zk://127.0.0.1:%d", server->port);
    rivals_run(&(contest){
        .store = "ZooKeeper",
        .version = server_zookeeper_version(server),
        .uri = uri,
        .dir = server->dir,
        .bare = &calls,
        .rivals = {{.name = "holdfast", .argv = {"/proc/self/exe", "--worker"}},
                   curator(rivals_option(argc, argv, "--curator")),
                   kazoo(rivals_option(argc, argv, "--kazoo"))},
        .n = 3});
    return 0;
}
