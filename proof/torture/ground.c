/* SPDX-License-Identifier: MIT
 *
 * ground.c - the shared page of a trial, its resources, and chance. */
#include "ground.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static ground *map(const char *path, int flags) {
    ground *g = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0)
        return NULL;
    if (ftruncate(fd, sizeof *g) == 0)
        g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return g != MAP_FAILED ? g : NULL;
}

ground *ground_make(const char *path) {
    pthread_mutexattr_t shared;
    ground *g = map(path, O_CREAT | O_TRUNC);
    if (g == NULL)
        return NULL;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
    for (int i = 0; i < CELLS; i++)
        pthread_mutex_init(&g->cells[i].mu, &shared);
    pthread_mutexattr_destroy(&shared);
    return g;
}

ground *ground_map(const char *path) {
    return map(path, 0);
}

void ground_unmap(ground *g) {
    munmap(g, sizeof *g);
}

/* Who died with it left the cell as good as any: one number is written. */
static cell *enter(ground *g, uint32_t name) {
    cell *c = &g->cells[name];
    if (pthread_mutex_lock(&c->mu) == EOWNERDEAD)
        pthread_mutex_consistent(&c->mu);
    return c;
}

void ground_write(ground *g, hf_recorder *r, hf_record *rec) {
    cell *c = enter(g, rec->name);
    rec->saw = HF_SAW_WRITE;
    rec->code = rec->token >= c->high ? HF_OK : HF_ELOST;
    if (rec->code == HF_OK)
        c->high = rec->token;
    hf_recorder_add(r, rec);
    pthread_mutex_unlock(&c->mu);
}

bool ground_visit(ground *g, uint32_t name, uint64_t me, bool enters) {
    cell *c = enter(g, name);
    bool alone = enters || c->visitor == me;
    c->visitor = me;
    pthread_mutex_unlock(&c->mu);
    atomic_fetch_add(&g->visits, 1);
    if (!alone)
        atomic_fetch_add(&g->spoilt, 1);
    return alone;
}

void ground_name(uint32_t name, char *buf, size_t size) {
    snprintf(buf, size, "%s-%u",
             name >= NAME_LATCH ? "latch" :
             name >= NAME_MANY  ? "many" :
                                  "hot",
             name);
}

/* ---- chance ------------------------------------------------------------ */

chance chance_of(uint64_t seed, uint64_t who) {
    chance c = {seed * UINT64_C(0x9e3779b97f4a7c15) + who};
    chance_next(&c);
    return c;
}

/* splitmix64 */
uint64_t chance_next(chance *c) {
    uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int chance_below(chance *c, int n) {
    return (int)(chance_next(c) % (uint64_t)n);
}

int chance_between(chance *c, int least, int most) {
    return least + chance_below(c, most - least + 1);
}

bool chance_percent(chance *c, int percent) {
    return chance_below(c, 100) < percent;
}
