/* SPDX-License-Identifier: MIT
 *
 * command_fuzz.c - any words as the arguments of the command, and any text as
 * its configuration.
 *
 * The first byte chooses the command.  Then come the arguments, one a line,
 * and behind a form feed the user's file.  Whatever it is, the command reads
 * it or leaves with a status for a wrong usage or a wrong configuration; it
 * never gets as far as doing something. */
#include <assert.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

int holdfast_main(int argc, char **argv);
#define main holdfast_main
#include "../../cli/main.c"
#undef main
#include "../../cli/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 32, ROOM = 1 << 16 };

/* ---- leaving ----------------------------------------------------------- */

static jmp_buf out;
static bool inside;
static int left_with;

_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);

_Noreturn void __wrap_exit(int status) {
    if (!inside)
        __real_exit(status);
    left_with = status;
    longjmp(out, 1);
}

/* ---- files ------------------------------------------------------------- */

static char *config; /* of the user; NULL: there is none */

/* Visible, because a sanitizer's library asks for fopen, too. */
HF_API FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__real_fopen(const char *path, const char *mode);

/* The host has none, and an empty one cannot be had from memory. */
FILE *__wrap_fopen(const char *path, const char *mode) {
    if (!inside || *mode != 'r')
        return __real_fopen(path, mode);
    if (config == NULL || *config == '\0' ||
        strcmp(path, "/etc/holdfast/config") == 0)
        return NULL;
    return fmemopen(config, strlen(config), "r");
}

static void keep_quiet(void) {
    static bool done;
    if (done)
        return;
    done = true;
    unsetenv("HOLDFAST_STORE");
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    setenv("HOME", "/nowhere", 1);
    stdout = fopen("/dev/null", "w");
    stderr = fopen("/dev/null", "w");
    assert(stdout != NULL && stderr != NULL);
}

/* ---- reading ----------------------------------------------------------- */

static void read_settings(settings *s) {
    int lease = -1, status = settings_resolve(s);
    assert(status == 0 || status == EXIT_CONFIG || status == EXIT_USAGE);
    if (status != 0)
        return;
    for (int key = 0; key < SETTINGS; key++)
        assert(s->won[key].source[0] != '\0');
    if (settings_lease(s, &lease) == 0)
        assert(lease > 0);
}

/* The last one may have been left in the middle of a word. */
static void forget_words(void) {
    char name[] = "holdfast", *none[] = {name, NULL};
    optind = 0;
    getopt(1, none, "");
}

static void check(const command *cmd, int argc, char **argv) {
    static char *into, *operands[8];
    int first;

    free(into);
    into = calloc(1, ROOM);
    assert(into != NULL && cmd->max_operands <= 8);
    memset(operands, 0, sizeof operands);
    forget_words();
    inside = true;
    if (setjmp(out) != 0) {
        inside = false;
        assert(left_with == 0 || left_with == EXIT_USAGE);
        return;
    }
    first = options_read(cmd, into, operands, argc, argv);
    assert(first >= 1 && first <= argc);
    if (cmd->words != NULL && operands[0] != NULL)
        options_word(cmd, operands[0]);
    if (cmd->store)
        read_settings((settings *)into);
    inside = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1), *rest, *argv[WORDS + 2];
    size_t n = 0;
    int argc = 1;

    keep_quiet();
    assert(text != NULL);
    memcpy(text, data, size);
    while (commands[n] != NULL)
        n++;
    rest = size > 0 ? text + 1 : text;
    config = strchr(rest, '\f');
    if (config != NULL)
        *config++ = '\0';
    argv[0] = strdup(commands[(unsigned char)*text % n]->name);
    assert(argv[0] != NULL);
    while (rest != NULL && argc <= WORDS) /* each alone on the heap */
        argv[argc++] = strdup(strsep(&rest, "\n"));
    argv[argc] = NULL;
    check(commands[(unsigned char)*text % n], argc, argv);
    while (argc > 0)
        free(argv[--argc]);
    free(text);
    return 0;
}
