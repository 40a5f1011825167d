/* SPDX-License-Identifier: MIT
 *
 * zookeeper.c - how a ZooKeeper server is configured, started and asked.
 *
 * A JVM that lives for seconds is best left without its second compiler.  Not
 * synchronised to disk: what a server is killed for is the process, and the
 * kernel keeps what it wrote. */
#include "quorum.h"

#include "wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TICK_MS = 250, RARELY_MS = 60000 };

#define JAR "/usr/share/java/zookeeper.jar"

static const char *missing(void) {
    return !hf_test_installed("java") ? "java is not installed" :
           access(JAR, R_OK) != 0     ? "ZooKeeper is not installed" :
                                        NULL;
}

static FILE *open_file(const hf_test_member *m, const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", m->dir, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    return f;
}

/* A follower that lags for two seconds is given up, and so is a leader. */
static void write_members(const hf_test_quorum *q, FILE *f, int tick) {
    fprintf(f, "initLimit=%d\nsyncLimit=%d\n", 10000 / tick, 2000 / tick);
    for (int i = 0; i < hf_test_quorum_size(q); i++) {
        const hf_test_member *m = hf_test_quorum_member(q, i);
        fprintf(f, "server.%d=127.0.0.1:%d:%d\n", i + 1, m->inner[0],
                m->inner[1]);
    }
}

static void prepare(const hf_test_quorum *q, const hf_test_member *m) {
    char path[160];
    int tick = hf_test_quorum_options_of(q)->tick_ms;
    if (tick == 0)
        tick = TICK_MS;
    snprintf(path, sizeof path, "%s/data", m->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    FILE *f = open_file(m, "data/myid");
    fprintf(f, "%d\n", m->i + 1);
    fclose(f);
    f = open_file(m, "zoo.cfg");
    fprintf(f,
            "tickTime=%d\ndataDir=%s/data\nclientPortAddress=127.0.0.1\n"
            "clientPort=%d\nmaxClientCnxns=0\nadmin.enableServer=false\n"
            "4lw.commands.whitelist=*\nminSessionTimeout=%d\n"
            "maxSessionTimeout=60000\n",
            tick, m->dir, m->port, 2 * tick);
    if (hf_test_quorum_size(q) > 1)
        write_members(q, f, tick);
    fclose(f);
}

static void command(const hf_test_quorum *q, const hf_test_member *m,
                    hf_test_args *args) {
    const hf_test_quorum_options *o = hf_test_quorum_options_of(q);
    hf_test_arg(args, "java");
    hf_test_arg(args, "-Xmx%s", "192m");
    hf_test_arg(args, "-XX:TieredStopAtLevel=1");
    hf_test_arg(args, "-XX:+UseSerialGC");
    hf_test_arg(args, "-XX:-UsePerfData");
    hf_test_arg(args, "-Dzookeeper.forceSync=no");
    hf_test_arg(args, "-Dzookeeper.preAllocSize=1024");
    hf_test_arg(args, "-Dznode.container.checkIntervalMs=%d",
                o->reap_ms != 0 ? o->reap_ms : RARELY_MS);
    for (const char *const *p = o->args; p != NULL && *p != NULL; p++)
        hf_test_arg(args, "%s", *p);
    hf_test_arg(args, "-cp");
    hf_test_arg(args, JAR);
    hf_test_arg(args, "org.apache.zookeeper.server.quorum.QuorumPeerMain");
    hf_test_arg(args, "%s/zoo.cfg", m->dir);
}

/* `imok` comes before it serves; a mode does not. */
static hf_test_role role(const hf_test_member *m) {
    char text[2048];
    hf_test_say(m->port, "srvr", text, sizeof text);
    return strstr(text, "Mode: leader") != NULL ||
                   strstr(text, "Mode: standalone") != NULL ?
               HF_TEST_LEADS :
           strstr(text, "Mode: follower") != NULL ? HF_TEST_FOLLOWS :
                                                    HF_TEST_AWAY;
}

const hf_test_brand hf_test_zookeeper = {
    .name = "zookeeper",
    .scheme = "zk",
    .missing = missing,
    .prepare = prepare,
    .command = command,
    .role = role,
};
