/* SPDX-License-Identifier: MIT
 *
 * keys.c - what the keys of a line are called. */
#include "keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"

#define READ   "read/"
#define WRITE  "write/"
#define PERMIT "permit/"
#define BESIDE "/beside"
#define COUNT  "count"
#define LATCH  "latch"

hf_bytes hf__etcd_key_bytes(const hf_key *k) {
    return (hf_bytes){(const uint8_t *)k->at, k->n};
}

/* Prefix and name are short enough for the longest of all keys. */
void hf__etcd_key_make(hf_key *k, const char *prefix, const char *name,
                       const char *more) {
    k->n = (size_t)snprintf(k->at, sizeof k->at, "%s%s/%s", prefix, name, more);
}

void hf__etcd_key_entry(hf_key *k, const char *prefix, const hf_wish *w,
                        int64_t lease, unsigned n) {
    char more[80];
    const char *folder = w->kind == HF_READ   ? READ :
                         w->kind == HF_WRITE  ? WRITE :
                         w->kind == HF_PERMIT ? PERMIT :
                                                "";
    int at = snprintf(more, sizeof more, "%s%" PRIx64 ".%u", folder,
                      (uint64_t)lease, n);

    if (w->kind == HF_PERMIT)
        snprintf(more + at, sizeof more - (size_t)at, ".%d", w->permits);
    hf__etcd_key_make(k, prefix, w->line.name, more);
}

void hf__etcd_key_number(hf_key *k, const char *prefix, const hf_line *line) {
    hf__etcd_key_make(k, prefix, line->name,
                      line->kind == HF_LATCH ? LATCH : COUNT);
}

hf_key *hf__etcd_key_copy(const hf_key *k) {
    size_t size = offsetof(hf_key, at) + k->n + 1;
    hf_key *ret = hf__malloc(size);

    if (ret)
        memcpy(ret, k, size);
    return ret;
}

/* No key of ours ends in 0xff. */
void hf__etcd_key_end(hf_key *k, const hf_key *of) {
    *k = *of;
    k->at[k->n - 1]++;
}

/* Where the folder of an entry begins, and where what is unique in it does. */
static size_t unique_at(const hf_key *k) {
    size_t at = k->n;

    while (at > 0 && k->at[at - 1] != '/')
        at--;
    return at;
}

static bool ends(const char *at, size_t n, const char *with) {
    size_t m = strlen(with);

    return n >= m && memcmp(at + n - m, with, m) == 0;
}

bool hf__etcd_key_is_pair(const hf_key *k) {
    size_t at = unique_at(k);

    return ends(k->at, at, "/" READ) || ends(k->at, at, "/" WRITE);
}

void hf__etcd_key_twin(hf_key *k, const hf_key *of) {
    size_t at = unique_at(of);
    bool reads = ends(of->at, at, "/" READ);
    size_t base = at - strlen(reads ? READ : WRITE);

    k->n = (size_t)snprintf(k->at, sizeof k->at, "%.*s%s%s", (int)base, of->at,
                            reads ? WRITE : READ, of->at + at);
}

void hf__etcd_key_beside(hf_key *k, const hf_key *of) {
    hf_key twin;

    if (!ends(of->at, unique_at(of), "/" READ)) {
        hf__etcd_key_twin(&twin, of);
        of = &twin;
    }
    k->n = (size_t)snprintf(k->at, sizeof k->at, "%.*s" BESIDE, (int)of->n,
                            of->at);
}

/* ---- as they are told to others ---------------------------------------- */

char *hf__etcd_key_told(hf_bytes key, int64_t revision) {
    char *told;

    if (hf__asprintf(&told, "%.*s@%" PRId64, (int)key.n, (const char *)key.at,
                     revision) < 0)
        return NULL;
    return told;
}

bool hf__etcd_key_heard(hf_key *k, int64_t *revision, const char *told) {
    const char *at = strrchr(told, '@');
    char *end;

    if (!at || (size_t)(at - told) >= sizeof k->at)
        return false;
    k->n = (size_t)(at - told);
    memcpy(k->at, told, k->n);
    k->at[k->n] = '\0';
    *revision = strtoll(at + 1, &end, 10);
    return *revision > 0 && !*end;
}

/* ---- what a key is ----------------------------------------------------- */

/* Takes a number of at most `digits` digits off the front.  False: none. */
static bool take_number(hf_bytes *in, int base, size_t digits, uint64_t *ret) {
    size_t n = 0;

    *ret = 0;
    while (n < in->n && n < digits) {
        uint8_t c = in->at[n];
        int digit = c >= '0' && c <= '9' ? c - '0' :
                    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                                           99;

        if (digit >= base)
            break;
        *ret = *ret * (uint64_t)base + (uint64_t)digit;
        n++;
    }
    in->at += n;
    in->n -= n;
    return n > 0;
}

static bool take_dot(hf_bytes *in) {
    if (in->n == 0 || in->at[0] != '.')
        return false;
    in->at++;
    in->n--;
    return true;
}

/* LEASE or LEASE.N: of the mutex of etcd's own package, or ours. */
static bool is_lock(hf_bytes unique) {
    uint64_t number;

    return take_number(&unique, 16, 16, &number) &&
           (unique.n == 0 ||
            (take_dot(&unique) && take_number(&unique, 10, 10, &number) &&
             unique.n == 0));
}

static bool is_permit(hf_bytes unique, int *permits) {
    uint64_t number;

    if (!take_number(&unique, 16, 16, &number) || !take_dot(&unique) ||
        !take_number(&unique, 10, 10, &number) || !take_dot(&unique) ||
        !take_number(&unique, 10, 9, &number) || unique.n || !number)
        return false;
    *permits = (int)number;
    return true;
}

/* The sort of an entry by the folder before it; `at` is where that ends, with
 * its slash.  The name ends before the folder. */
static hf_key_sort in_folder(const char *key, size_t at, size_t *name) {
    static const struct {
        const char *folder;
        hf_key_sort sort;
    } folders[] = {{"/" READ, HF_KEY_READ},
                   {"/" WRITE, HF_KEY_WRITE},
                   {"/" PERMIT, HF_KEY_PERMIT}};

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (at > strlen(folders[i].folder) &&
            ends(key, at, folders[i].folder)) {
            *name = at - strlen(folders[i].folder);
            return folders[i].sort;
        }
    return HF_KEY_OTHER;
}

static hf_key_sort sort_of(hf_key_parts *p, const char *key, size_t n) {
    bool beside = ends(key, n, BESIDE);
    size_t at = beside ? n - strlen(BESIDE) : n;
    size_t end = at;
    hf_key_sort sort;

    while (at > 0 && key[at - 1] != '/')
        at--;
    if (at < 2 || at == end)
        return HF_KEY_OTHER;
    p->unique = (hf_bytes){(const uint8_t *)key + at, end - at};
    sort = in_folder(key, at, &p->name);
    if (beside)
        return sort == HF_KEY_READ ? HF_KEY_BESIDE : HF_KEY_OTHER;
    if (sort == HF_KEY_PERMIT)
        return is_permit(p->unique, &p->permits) ? sort : HF_KEY_OTHER;
    if (sort != HF_KEY_OTHER)
        return sort;
    p->name = at - 1;
    return is_lock(p->unique)                           ? HF_KEY_LOCK :
           hf__bytes_equal(p->unique, hf__bytes(COUNT)) ? HF_KEY_COUNT :
           hf__bytes_equal(p->unique, hf__bytes(LATCH)) ? HF_KEY_LATCH :
                                                          HF_KEY_OTHER;
}

void hf__etcd_key_read(hf_key_parts *p, hf_bytes key) {
    *p = (hf_key_parts){.permits = 1};
    p->sort = sort_of(p, (const char *)key.at, key.n);
}

bool hf__etcd_key_is_ours(const char *prefix, const hf_key *k, int64_t lease,
                          unsigned *n) {
    size_t skip = strlen(prefix);
    hf_key_parts p = {0};
    uint64_t number;

    if (k->n > skip)
        hf__etcd_key_read(
            &p, (hf_bytes){(const uint8_t *)k->at + skip, k->n - skip});
    if (p.sort == HF_KEY_OTHER || !take_number(&p.unique, 16, 16, &number) ||
        (int64_t)number != lease || !take_dot(&p.unique) ||
        !take_number(&p.unique, 10, 9, &number))
        return false;
    *n = (unsigned)number;
    return true;
}

/* The entries of a lock `a/read` would look like readers of `a`. */
int hf__etcd_key_check(const hf_line *line, hf_error *err) {
    static const char *const taken[] = {"/read", "/write", "/permit"};
    size_t n = strlen(line->name);

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (ends(line->name, n, taken[i]))
            return hf__fail(err, HF_ENAME,
                            "the name '%.100s' cannot be used on etcd: what "
                            "ends in %s belongs to the name before it",
                            line->name, taken[i]);
    n = strlen(HF_KEY_CLIENTS);
    if (strncmp(line->name, HF_KEY_CLIENTS, n) == 0 &&
        (line->name[n] == '\0' || line->name[n] == '/'))
        return hf__fail(err, HF_ENAME,
                        "the name '%.100s' cannot be used on etcd: clients "
                        "keep their records there",
                        line->name);
    return HF_OK;
}
