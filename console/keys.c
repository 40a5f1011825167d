/* SPDX-License-Identifier: MIT
 *
 * keys.c - who may use the console.  On the thread of the HTTP library only,
 * once it serves. */
#include "keys.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "../cli/moment.h"
#include "../cli/status.h"

enum { KEYS_MOST = 64, SESSIONS_MOST = 64, TOKEN_LEAST = 16, NAME_SIZE = 64 };

typedef struct key {
    char operator_[NAME_SIZE], token[KEYS_TOKEN];
} key;

typedef struct session {
    char id[KEYS_SESSION];
    const char *operator_;
    int64_t until_ms; /* 0: an empty place */
} session;

struct keys {
    key all[KEYS_MOST];
    size_t n;
    session sessions[SESSIONS_MOST];
};

bool keys_equal(const char *a, const char *b) {
    char x[KEYS_TOKEN] = {0}, y[KEYS_TOKEN] = {0};
    unsigned char differ = 0;
    if (strlen(a) >= sizeof(x) || strlen(b) >= sizeof(y))
        return false;
    strcpy(x, a);
    strcpy(y, b);
    for (size_t i = 0; i < sizeof(x); i++)
        differ |= (unsigned char)(x[i] ^ y[i]);
    return differ == 0;
}

/* ---- the file ---------------------------------------------------------- */

/* Others can read it: then it keeps nobody out. */
static bool is_private(FILE *file, const char *path) {
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && (st.st_mode & S_IROTH) == 0)
        return true;
    complain("%s: every user of this host can read it; chmod o-r it", path);
    return false;
}

static bool add(keys *k, const char *name, const char *token, const char *path,
                int line) {
    key *to = &k->all[k->n];
    if (k->n == KEYS_MOST || strlen(token) < TOKEN_LEAST ||
        strlen(token) >= sizeof(to->token) || strlen(name) >= NAME_SIZE) {
        complain("%s:%d: expected 'OPERATOR TOKEN', the token of %d to %d "
                 "characters, on at most %d lines",
                 path, line, TOKEN_LEAST, KEYS_TOKEN - 1, KEYS_MOST);
        return false;
    }
    strcpy(to->operator_, name);
    strcpy(to->token, token);
    k->n++;
    return true;
}

static bool read_line(keys *k, char *line, const char *path, int n) {
    static const char blank[] = " \t\r\n";
    char *rest = NULL;
    char *first = strtok_r(line, blank, &rest);
    char *second = first ? strtok_r(NULL, blank, &rest) : NULL;
    if (!first || *first == '#')
        return true;
    return second ? add(k, first, second, path, n) :
                    add(k, "token", first, path, n);
}

static bool read_all(keys *k, FILE *file, const char *path) {
    char line[1024];
    bool good = is_private(file, path);
    for (int n = 1; good && fgets(line, sizeof(line), file); n++)
        good = read_line(k, line, path, n);
    explicit_bzero(line, sizeof(line));
    if (good && k->n == 0) {
        complain("%s: there is no token in it", path);
        return false;
    }
    return good;
}

keys *keys_read(const char *path) {
    FILE *file = fopen(path, "re");
    keys *k = calloc(1, sizeof(*k));
    bool good = file && k && read_all(k, file, path);
    if (!file)
        complain("%s: %s", path, strerror(errno));
    else
        fclose(file);
    if (good)
        return k;
    keys_free(k);
    return NULL;
}

void keys_free(keys *k) {
    if (k)
        explicit_bzero(k, sizeof(*k));
    free(k);
}

/* ---- asking ------------------------------------------------------------ */

/* All are looked at, whichever it is. */
const char *keys_operator(keys *k, const char *token) {
    const char *found = NULL;
    for (size_t i = 0; i < k->n; i++)
        if (keys_equal(k->all[i].token, token))
            found = k->all[i].operator_;
    return found;
}

static session *find(keys *k, const char *id) {
    session *found = NULL;
    for (size_t i = 0; i < SESSIONS_MOST; i++)
        if (k->sessions[i].until_ms > moment_now() &&
            keys_equal(k->sessions[i].id, id))
            found = &k->sessions[i];
    return found;
}

const char *keys_session(keys *k, const char *id) {
    const session *s = find(k, id);
    return s ? s->operator_ : NULL;
}

/* An empty place, or that of the oldest. */
static session *place(keys *k) {
    session *oldest = &k->sessions[0];
    for (size_t i = 1; i < SESSIONS_MOST; i++)
        if (k->sessions[i].until_ms < oldest->until_ms)
            oldest = &k->sessions[i];
    return oldest;
}

bool keys_begin(keys *k, const char *operator_, char id[static KEYS_SESSION]) {
    unsigned char bytes[(KEYS_SESSION - 1) / 2];
    session *s = place(k);
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    strcpy(s->id, id);
    s->operator_ = operator_;
    s->until_ms = moment_now() + KEYS_SESSION_HOURS * INT64_C(3600000);
    return true;
}

void keys_end(keys *k, const char *id) {
    session *s = find(k, id);
    if (s)
        s->until_ms = 0;
}
