/* SPDX-License-Identifier: MIT
 *
 * peer.c - hf-peer: the other process of a test, told what to do line by line.
 *
 *     open URI [lease_ms=N]                    lock SLOT NAME [KEY=NUMBER…]
 *     acquire SLOT MS     try SLOT             release SLOT
 *     extend SLOT MS      after SLOT MS        force SLOT
 *     held SLOT           token SLOT           holds SLOT
 *     contend FILE NAME THREADS ROUNDS         (see support/guarded.h)
 *
 * Every line is answered by one: the name of the result, then a value where
 * there is one.  At the end of input it frees and closes what it has, as a
 * good citizen would; a test that wants a bad one kills it. */
#include "support/guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 16, WORDS = 8 };

static hf_client *client;
static hf_lock *locks[SLOTS];
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

static hf_lock *slot(char **words) {
    int i = number(words[1]);
    return i >= 0 && i < SLOTS ? locks[i] : NULL;
}

static void do_open(char **words) {
    hf_options options = HF_OPTIONS_INIT;
    options.lease_ms = option(words, "lease_ms");
    options.why = "being a peer";
    answer(hf_open(&client, words[1], &options, &err));
}

static void do_lock(char **words) {
    hf_lock_options options = HF_LOCK_OPTIONS_INIT;
    options.lease_ms = option(words, "lease_ms");
    options.watchdog_ms = option(words, "watchdog_ms");
    options.renew_ms = option(words, "renew_ms");
    answer(hf_lock_new(&locks[number(words[1]) % SLOTS], client, words[2],
                       &options, &err));
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

static void do_contend(char **words) {
    hf_test_guarded *g = hf_test_guarded_map(words[1]);
    if (g == NULL) {
        answer(HF_ESYSTEM);
        return;
    }
    hf_test_contend(client, words[2], g, number(words[3]), number(words[4]));
    hf_test_guarded_unmap(g);
    answer(HF_OK);
}

static const struct command {
    const char *word;
    void (*run)(char **words);
} commands[] = {
    {"open", do_open},   {"lock", do_lock},       {"acquire", do_acquire},
    {"try", do_try},     {"release", do_release}, {"extend", do_extend},
    {"after", do_after}, {"force", do_force},     {"held", do_held},
    {"token", do_token}, {"holds", do_holds},     {"contend", do_contend},
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
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(line);
    for (int i = 0; i < SLOTS; i++)
        if (locks[i] != NULL)
            hf_lock_free(locks[i]);
    hf_close(client);
    return 0;
}
