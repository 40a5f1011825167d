/* SPDX-License-Identifier: MIT
 *
 * identity.c - who we are. */
#include "identity.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

/* getpid on every call would cost a system call on the fast path; a hook in
 * the child costs nothing until someone forks. */
static atomic_uint generation;
static pthread_once_t hook_once = PTHREAD_ONCE_INIT;

static void in_child(void) {
    atomic_fetch_add(&generation, 1);
}

static void set_hook(void) {
    pthread_atfork(NULL, NULL, in_child);
}

unsigned hf__generation(void) {
    pthread_once(&hook_once, set_hook);
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

uint64_t hf__thread_number(void) {
    static _Thread_local uint64_t mine;
    static atomic_ullong last;

    if (!mine)
        mine = atomic_fetch_add(&last, 1) + 1;
    return mine;
}

/* A version-4 UUID in text, as Java's side has it. */
static void make_uuid(char ret[37]) {
    unsigned char r[16];

    hf__world->random(r, sizeof r);
    r[6] = (unsigned char)((r[6] & 0x0f) | 0x40);
    r[8] = (unsigned char)((r[8] & 0x3f) | 0x80);
    snprintf(ret, 37,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10],
             r[11], r[12], r[13], r[14], r[15]);
}

static void copy(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from ? from : "");
}

/* The number says enough where there is no name. */
static void user_name(char *to, size_t size) {
    char buf[1024];
    struct passwd pw, *found = NULL;

    if (getpwuid_r(geteuid(), &pw, buf, sizeof buf, &found) == 0 && found)
        copy(to, size, found->pw_name);
    else
        snprintf(to, size, "%u", (unsigned)geteuid());
}

void hf__identity_make(hf_identity *ret, const hf_options *options) {
    const char *host = options->host, *program = options->program;

    memset(ret, 0, sizeof *ret);
    make_uuid(ret->client);
    if (host && host[0])
        copy(ret->host, sizeof ret->host, host);
    else if (gethostname(ret->host, sizeof ret->host - 1) < 0)
        copy(ret->host, sizeof ret->host, "?");
    copy(ret->program, sizeof ret->program,
         program ? program : program_invocation_short_name);
    user_name(ret->user, sizeof ret->user);
    copy(ret->why, sizeof ret->why, options->why);
    ret->pid = getpid();
}
