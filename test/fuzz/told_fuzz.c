/* SPDX-License-Identifier: MIT
 *
 * told_fuzz.c - any text as what a Redis server, or a client before us, says
 * of itself.
 *
 * INFO and what is read out of it, the clock, the record of a client, what was
 * found at several servers, and the commands and patterns of an ACL.  What is
 * shown of it is no longer than its place, and what we write is read back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/redis/acl.h"
#include "backend/redis/clock.h"
#include "backend/redis/findings.h"
#include "backend/redis/info.h"
#include "backend/redis/redis.h"
#include "recipe.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nobody is asked. */
int hf__node_ask(hf_node *node, int argc, const char *const *argv,
                 redisReply **ret, hf_time by, hf_error *err) {
    (void)node, (void)argc, (void)argv, (void)ret, (void)by, (void)err;
    return HF_EDOWN;
}

static void check_info(char *text) {
    redisReply reply = {
        .type = REDIS_REPLY_STRING, .str = text, .len = strlen(text)};
    hf_info info = {&reply};
    char value[24];

    assert(hf__info_field(&info, "role", value, sizeof value) == value);
    assert(strlen(value) < sizeof value && strpbrk(value, "\r\n") == NULL);
    assert(*value == '\0' || hf__info_has(&info, "role"));
    hf__info_number(&info, "role");
    assert(hf__info_version(&info) >= 0);
}

static void check_clock(const uint8_t *data, size_t size) {
    recipe r = {data, data + size};
    redisReply *reply = recipe_reply(&r);
    hf_server_clock clock;

    hf__server_clock_init(&clock);
    for (int i = 0; i < 2; i++) {
        hf_time now = hf__now();
        hf__server_clock_sample(&clock, reply, now, now + HF_MS);
        hf__server_clock_us(&clock);
        hf__server_clock_local(&clock, reply->integer * 1000000007);
    }
    pthread_mutex_destroy(&clock.mu);
    recipe_free(reply);
}

static void check_time(char *seconds, char *micros) {
    redisReply parts[2] = {{.type = REDIS_REPLY_STRING, .str = seconds},
                           {.type = REDIS_REPLY_STRING, .str = micros}};
    redisReply *both[] = {&parts[0], &parts[1]};
    redisReply reply = {
        .type = REDIS_REPLY_ARRAY, .elements = 2, .element = both};
    hf_server_clock clock;

    hf__server_clock_init(&clock);
    hf__server_clock_sample(&clock, &reply, HF_SECOND, 2 * HF_SECOND);
    hf__server_clock_us(&clock);
    hf__server_clock_local(&clock, strtoll(seconds, NULL, 10));
    hf__server_clock_sample(&clock, &reply, 3 * HF_SECOND, 4 * HF_SECOND);
    pthread_mutex_destroy(&clock.mu);
}

static void check_record(const char *text) {
    char written[HF_RECORD_SIZE];
    hf_identity who, again;

    hf__record_read(&who, text);
    hf__record_write(written, &who);
    assert(strlen(written) < sizeof written);
    hf__record_read(&again, written);
    assert(again.pid == who.pid);
    assert(strcmp(again.host, who.host) == 0);
}

/* What is read is at most what a record may say, and is read back. */
static void check_doing(const char *text) {
    static char doing[HF_DOING_MAX + 1], again[HF_DOING_MAX + 1];
    uint64_t number = hf__record_number(text);
    hf_identity who;
    char *written;

    hf__record_read(&who, text);
    hf__record_doing(doing, text);
    written = hf__record_new(&who, number, doing);
    assert(written);
    hf__record_doing(again, written);
    assert(strcmp(again, doing) == 0);
    assert(hf__record_number(written) == number);
    free(written);
}

static void told(void *arg, hf_verdict_level level, const char *what,
                 const char *text) {
    size_t *n = arg;
    assert(level <= HF_WARN && what != NULL && strlen(text) < 1024);
    ++*n;
}

/* Each line is a finding: the level, the subject, the server, the text. */
static void check_findings(char *text) {
    static const char *const subjects[] = {"version", "memory", "role"};
    hf_findings f = {0};
    hf_error err;
    size_t n = 0, noted = 0;

    while (text != NULL && noted < 40) {
        char *line = strsep(&text, "\n"), *where;
        unsigned first = (unsigned char)*line;
        if (first == 0)
            continue;
        line++;
        where = strsep(&line, " ");
        hf__find(&f, where, (hf_verdict_level)(first % 3),
                 subjects[first / 3 % 3], "%s", line != NULL ? line : "");
        noted++;
    }
    assert(hf__findings_tell(&f, told, &n, &err) == HF_OK);
    assert(n <= noted && (n > 0) == (noted > 0));
    hf__findings_clear(&f);
}

/* In the order of the alphabet, none of them twice. */
static void check_commands(const hf_acl *acl) {
    assert(acl->n >= 0 && acl->n <= HF_ACL_COMMANDS);
    for (int i = 0; i < acl->n; i++) {
        assert(memchr(acl->commands[i], '\0', HF_ACL_COMMAND_SIZE) != NULL);
        assert(i == 0 || strcmp(acl->commands[i - 1], acl->commands[i]) < 0);
    }
}

static void check_acl(char *text, const char *prefix, unsigned uses) {
    static char nothing[] = "";
    static hf_scripts scripts;
    hf_acl acl;
    char *line;

    for (int i = 0; i < HF_N_SCRIPTS; i++)
        scripts.text[i] = i == 0 ? text : nothing;
    hf__acl_collect(&acl, &scripts, NULL, uses);
    check_commands(&acl);
    if (acl.n > 0)
        hf__acl_strike(&acl, acl.n / 2);
    check_commands(&acl);
    if (strlen(prefix) > HF_NAME_MAX / 2)
        return;
    line = hf__acl_line(&acl, prefix, uses);
    assert(line != NULL && strncmp(line, "user holdfast reset", 19) == 0);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1), *second, *copy;

    assert(text != NULL);
    memcpy(text, data, size);
    check_info(text);
    check_record(text);
    check_doing(text);
    check_clock(data, size);
    copy = strdup(text);
    assert(copy != NULL);
    check_findings(copy);
    free(copy);
    second = text + strcspn(text, "\n");
    if (*second == '\n')
        *second++ = '\0';
    check_time(text, second);
    check_acl(second, text, size > 0 ? data[size - 1] : 0);
    free(text);
    return 0;
}
