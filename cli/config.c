/* SPDX-License-Identifier: MIT
 *
 * config.c - reading a configuration file. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "status.h"
#include "text.h"

static int complain_of(const config *c, int number, const char *text) {
    complain("%s:%d: %s", c->path, number, text);
    return EXIT_CONFIG;
}

/* Which of two lines was meant cannot be known. */
static int check_new(const config *c, const config_line *line) {
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->lines[i].key, line->key) == 0) {
            complain("%s:%d: '%s' stands in line %d already: keep one", c->path,
                     line->number, line->key, c->lines[i].number);
            return EXIT_CONFIG;
        }
    return 0;
}

static bool make_room(config *c) {
    size_t room = c->room ? 2 * c->room : 16;
    config_line *lines;
    if (c->n < c->room)
        return true;
    lines = realloc(c->lines, room * sizeof(*lines));
    if (!lines)
        return false;
    c->lines = lines;
    c->room = room;
    return true;
}

static int keep(config *c, const char *key, const char *value, int number) {
    config_line line = {.number = number};
    int status = EXIT_SOFTWARE;
    if (make_room(c) && (line.key = strdup(key)) &&
        (line.value = strdup(value)))
        status = check_new(c, &line);
    if (status == 0) {
        c->lines[c->n++] = line;
        return 0;
    }
    free(line.key);
    free(line.value);
    return status;
}

static int take(config *c, char *text, int number) {
    char *key = text_trim(text), *value = strchr(key, '=');
    if (*key == '\0' || *key == '#')
        return 0;
    if (!value)
        return complain_of(c, number, "expected 'key = value'");
    *value++ = '\0';
    key = text_trim(key);
    if (!*key)
        return complain_of(c, number, "a key is missing before '='");
    return keep(c, key, text_trim(value), number);
}

static int read_lines(config *c, FILE *file) {
    char *line = NULL;
    size_t size = 0;
    int status = 0;
    for (int n = 1; status == 0 && getline(&line, &size, file) >= 0; n++)
        status = take(c, line, n);
    if (status == 0 && ferror(file))
        c->trouble = errno;
    free(line);
    return status;
}

int config_read(config *c, const char *path) {
    struct stat st;
    FILE *file;
    int status;
    *c = (config){.path = path};
    file = fopen(path, "re");
    if (!file) {
        c->trouble = errno == ENOENT || errno == ENOTDIR ? 0 : errno;
        return 0;
    }
    c->there = true;
    c->open_to_all = fstat(fileno(file), &st) == 0 && (st.st_mode & S_IROTH);
    status = read_lines(c, file);
    fclose(file);
    return status;
}

void config_free(config *c) {
    for (size_t i = 0; i < c->n; i++) {
        free(c->lines[i].key);
        free(c->lines[i].value);
    }
    free(c->lines);
}
