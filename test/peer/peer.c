/* SPDX-License-Identifier: MIT
 *
 * peer.c - hf-peer: the other process of a test, told what to do line by line.
 *
 *     open URI [second=URI] [host=HOST] [why=WORD] [KEY=NUMBER…]
 *     lock SLOT NAME [KEY=NUMBER…]
 *     acquire SLOT MS     try SLOT             release SLOT
 *     extend SLOT MS      after SLOT MS        force SLOT
 *     held SLOT           token SLOT           holds SLOT
 *     semaphore SLOT NAME                      permits SLOT N
 *     take SLOT N MS      give SLOT N          available SLOT
 *     latch SLOT NAME                          count SLOT N
 *     down SLOT           await SLOT MS        left SLOT
 *     contend FILE NAME THREADS ROUNDS [KIND]  (see support/guarded.h)
 *
 * A kind is the number of an hf_kind.
 *
 * Every line is answered by one: the name of the result, then a value where
 * there is one.  At the end of input it frees and closes what it has, as a
 * good citizen would; a test that wants a bad one kills it. */
#include "support/guarded.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16, WORDS = 8 };

static hf_client *client;
static hf_lock *locks[SLOTS];
static hf_semaphore *semaphores[SLOTS];
static hf_latch *latches[SLOTS];
static hf_error err;

static void answer(int result) {
    printf("%s\n", hf_error_name(result));
}

static void answer_number(int result, unsigned long long number) {
    printf("%s %llu\n", hf_error_name(result), number);
}

static int number(const char *text) {
    return text != NULL ? atoi(text) : 0;
}

/* "key=12" among the words; 0 if it is not there. */
static int option(char **words, const char *key) {
    size_t n = strlen(key);
    for (; *words != NULL; words++)
        if (strncmp(*words, key, n) == 0 && (*words)[n] == '=')
            return atoi(*words + n + 1);
    return 0;
}

/* "key=text", or NULL. */
static const char *text(char **words, const char *key) {
    size_t n = strlen(key);
    for (; *words != NULL; words++)
        if (strncmp(*words, key, n) == 0 && (*words)[n] == '=')
            return *words + n + 1;
    return NULL;
}

static int index_of(char **words) {
    return (unsigned)number(words[1]) % SLOTS;
}

static hf_lock *slot(char **words) {
    return locks[index_of(words)];
}

static hf_semaphore *semaphore(char **words) {
    return semaphores[index_of(words)];
}

static hf_latch *latch(char **words) {
    return latches[index_of(words)];
}

static void do_open(char **words) {
    hf_options options = HF_OPTIONS_INIT;
    options.lease_ms = option(words, "lease_ms");
    const char *why = text(words, "why");
    options.why = why != NULL ? why : "being a peer";
    options.host = text(words, "host");
    hf_escalate_options escalate = HF_ESCALATE_OPTIONS_INIT;
    escalate.permission_ms = option(words, "permission_ms");
    escalate.after_ms = option(words, "after_ms");
    escalate.back_ms = option(words, "back_ms");
    const char *second = text(words, "second");
    answer(second != NULL ? hf_escalate_to(&client, words[1], second, &options,
                                           &escalate, &err) :
                            hf_open(&client, words[1], &options, &err));
}

static void do_lock(char **words) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    options.kind = (hf_kind)option(words, "kind");
    options.flags = (unsigned)option(words, "flags");
    options.permits = option(words, "permits");
    options.lease_ms = option(words, "lease_ms");
    options.watchdog_ms = option(words, "watchdog_ms");
    options.renew_ms = option(words, "renew_ms");
    answer(
        hf_lock_new(&locks[index_of(words)], client, words[2], &options, &err));
}

static void do_acquire(char **words) {
    int result = hf_lock_acquire(slot(words), number(words[2]), &err);
    answer_number(result, hf_lock_token(slot(words)));
}

static void do_try(char **words) {
    int result = hf_lock_try(slot(words), &err);
    answer_number(result, hf_lock_token(slot(words)));
}

static void do_release(char **words) {
    answer(hf_lock_release(slot(words), &err));
}

static void do_extend(char **words) {
    answer(hf_lock_extend(slot(words), number(words[2]), &err));
}

static void do_after(char **words) {
    answer(hf_lock_release_after(slot(words), number(words[2]), &err));
}

static void do_force(char **words) {
    answer(hf_lock_force_release(slot(words), NULL, &err));
}

static void do_held(char **words) {
    answer_number(HF_OK, hf_lock_is_held(slot(words)));
}

static void do_token(char **words) {
    answer_number(HF_OK, hf_lock_token(slot(words)));
}

static void do_holds(char **words) {
    answer_number(HF_OK, (unsigned long long)hf_lock_holds(slot(words)));
}

static void do_semaphore(char **words) {
    answer(
        hf_semaphore_new(&semaphores[index_of(words)], client, words[2], &err));
}

static void do_permits(char **words) {
    answer(hf_semaphore_set(semaphore(words), number(words[2]), 0, &err));
}

static void do_take(char **words) {
    answer(hf_semaphore_acquire(semaphore(words), number(words[2]),
                                number(words[3]), &err));
}

static void do_give(char **words) {
    answer(hf_semaphore_release(semaphore(words), number(words[2]), &err));
}

static void do_available(char **words) {
    int64_t n = 0;
    int result = hf_semaphore_count(semaphore(words), &n, NULL, &err);
    answer_number(result, (unsigned long long)n);
}

static void do_latch(char **words) {
    answer(hf_latch_new(&latches[index_of(words)], client, words[2], &err));
}

static void do_count(char **words) {
    answer(hf_latch_set(latch(words), number(words[2]), &err));
}

static void do_down(char **words) {
    answer(hf_latch_count_down(latch(words), &err));
}

static void do_await(char **words) {
    answer(hf_latch_wait(latch(words), number(words[2]), &err));
}

static void do_left(char **words) {
    int64_t n = 0;
    int result = hf_latch_count(latch(words), &n, &err);
    answer_number(result, (unsigned long long)n);
}

static void contend(char **words, hf_test_guarded *g) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    options.kind = (hf_kind)number(words[5]);
    if (options.kind == HF_SEMAPHORE)
        hf_test_contend_for_permit(client, words[2], g, number(words[3]),
                                   number(words[4]));
    else
        hf_test_contend_with(client, words[2], &options, g, number(words[3]),
                             number(words[4]));
}

static void do_contend(char **words) {
    hf_test_guarded *g = hf_test_guarded_map(words[1]);
    if (g == NULL) {
        answer(HF_ESYSTEM);
        return;
    }
    contend(words, g);
    hf_test_guarded_unmap(g);
    answer(HF_OK);
}

/* Without a word to the library, which holds and renews meanwhile. */
static void do_exit(char **words) {
    exit(number(words[1]));
}

static const struct command {
    const char *word;
    void (*run)(char **words);
} commands[] = {
    {"open", do_open},           {"lock", do_lock},
    {"acquire", do_acquire},     {"try", do_try},
    {"release", do_release},     {"extend", do_extend},
    {"after", do_after},         {"force", do_force},
    {"held", do_held},           {"token", do_token},
    {"holds", do_holds},         {"contend", do_contend},
    {"semaphore", do_semaphore}, {"permits", do_permits},
    {"take", do_take},           {"give", do_give},
    {"available", do_available}, {"latch", do_latch},
    {"count", do_count},         {"down", do_down},
    {"await", do_await},         {"left", do_left},
    {"exit", do_exit},
};

static void obey(char *line) {
    char *words[WORDS + 1] = {NULL};
    size_t n = 0;
    for (char *word; n < WORDS && (word = strsep(&line, " \n")) != NULL;)
        if (*word != 0)
            words[n++] = word;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (n > 0 && strcmp(words[0], commands[i].word) == 0) {
            commands[i].run(words);
            return;
        }
    answer(HF_EUSAGE);
}

int main(void) {
    char line[2048];
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (getenv("HF_TEST_ONLY_WOKEN") != NULL)
        hf__look_again = 120 * HF_SECOND; /* see support/stage.h */
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(line);
    for (int i = 0; i < SLOTS; i++) {
        hf_lock_free(locks[i]);
        hf_semaphore_free(semaphores[i]);
        hf_latch_free(latches[i]);
    }
    hf_close(client);
    return 0;
}
