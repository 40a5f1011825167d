/* SPDX-License-Identifier: MIT
 *
 * layout.c - how entries are called, so that others take them for theirs. */
#include "layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"

enum { DIGITS = 10 };

const char hf__zk_leases[] = "leases", hf__zk_locks[] = "locks",
           hf__zk_count[] = "count", hf__zk_answers[] = "count-answers",
           hf__zk_clients[] = "hf-clients";
static const char until[] = "hf-until-";

/* The tags that peers look for right before the digits.  Curator cuts at the
 * last `lock-`, so the dash before it is not demanded. */
static const char t_lock[] = "lock-", t_read[] = "__READ__",
                  t_write[] = "__WRIT__", t_lease[] = "lease-",
                  t_kazoo[] = "__lock__", t_kazoo_read[] = "__rlock__";

static const char *tag_of(hf_layout layout, hf_kind kind) {
    bool kazoo = layout == HF_KAZOO;

    switch (kind) {
    case HF_READ:
        return kazoo ? t_kazoo_read : t_read;
    case HF_WRITE:
        return kazoo ? t_kazoo : t_write;
    case HF_PERMIT:
        return t_lease;
    default:
        return kazoo ? t_kazoo : t_lock;
    }
}

/* ---- entries ----------------------------------------------------------- */

/* Where the digits of a child begin, or NULL. */
static const char *digits_of(const char *child) {
    size_t n = strlen(child);

    if (n < DIGITS || strspn(child + n - DIGITS, "0123456789") != DIGITS)
        return NULL;
    return child + n - DIGITS;
}

static bool has_tag(const char *child, const char *digits, const char *tag) {
    size_t n = strlen(tag);

    return (size_t)(digits - child) >= n && memcmp(digits - n, tag, n) == 0;
}

bool hf__layout_parse(hf_layout layout, hf_kind line, const char *child,
                      hf_tagged *ret) {
    static const hf_kind rw[] = {HF_READ, HF_WRITE}, permit[] = {HF_PERMIT},
                         lock[] = {HF_LOCK};
    const hf_kind *kinds = line == HF_WRITE     ? rw :
                           line == HF_SEMAPHORE ? permit :
                                                  lock;
    size_t n = line == HF_WRITE ? 2 : 1;
    const char *digits = digits_of(child);
    bool found = false;

    if (!digits || line == HF_LATCH)
        return false;
    for (size_t i = 0; i < n && !found; i++)
        if (has_tag(child, digits, tag_of(layout, kinds[i]))) {
            ret->kind = kinds[i];
            found = true;
        }
    if (!found && layout == HF_BRIDGE && line == HF_LOCK &&
        has_tag(child, digits, t_kazoo)) {
        ret->kind = HF_LOCK;
        found = true;
    }
    ret->order = found ? strtoull(digits, NULL, 10) : 0;
    return found;
}

/* 32 hex digits, with dashes or without. */
static size_t write_uuid(const unsigned char id[16], bool dashed, char *buf) {
    static const char hex[] = "0123456789abcdef";
    size_t n = 0;

    for (int i = 0; i < 16; i++) {
        unsigned char byte = id[i];

        if (i == 6)
            byte = (byte & 0x0f) | 0x40;
        if (i == 8)
            byte = (byte & 0x3f) | 0x80;
        if (dashed && (i == 4 || i == 6 || i == 8 || i == 10))
            buf[n++] = '-';
        buf[n++] = hex[byte >> 4];
        buf[n++] = hex[byte & 15];
    }
    buf[n] = '\0';
    return n;
}

/* "_c_<uuid>-", by which Curator finds again what it made. */
static size_t write_guard(const unsigned char id[16], char *buf) {
    size_t n = 3;

    memcpy(buf, "_c_", 3);
    n += write_uuid(id, true, buf + n);
    buf[n++] = '-';
    buf[n] = '\0';
    return n;
}

size_t hf__layout_name(hf_layout layout, hf_kind kind,
                       const unsigned char id[16], char buf[HF_ZNODE_SIZE]) {
    bool kazoo = layout == HF_KAZOO && kind != HF_PERMIT;
    size_t n = kazoo ? write_uuid(id, false, buf) : write_guard(id, buf);

    return n + (size_t)snprintf(buf + n, HF_ZNODE_SIZE - n, "%s",
                                tag_of(layout, kind));
}

size_t hf__layout_twin(const unsigned char id[16], char buf[HF_ZNODE_SIZE]) {
    size_t n = write_guard(id, buf);

    return n + (size_t)snprintf(buf + n, HF_ZNODE_SIZE - n, "%s", t_kazoo);
}

bool hf__layout_has_id(const char *child, const unsigned char id[16]) {
    char guard[48];
    size_t n = write_guard(id, guard);

    if (strncmp(child, guard, n) == 0)
        return true;
    n = write_uuid(id, false, guard);
    return strncmp(child, guard, n) == 0;
}

/* The length of "_c_<uuid>-" at the beginning, or 0. */
static size_t guard_length(const char *child) {
    enum { UUID = 36 };

    if (strncmp(child, "_c_", 3) != 0 || strlen(child) < 3 + UUID + 1)
        return 0;
    for (int i = 0; i < UUID; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = child[3 + i];

        if (dash ? c != '-' : !strchr("0123456789abcdef", c))
            return 0;
    }
    return child[3 + UUID] == '-' ? 3 + UUID + 1 : 0;
}

bool hf__layout_same_id(const char *a, const char *b) {
    size_t n = guard_length(a);

    return n > 0 && strncmp(a, b, n) == 0;
}

/* ---- keeping out ------------------------------------------------------- */

bool hf__layout_parse_until(const char *child, int64_t *ms) {
    size_t n = strlen(until);
    const char *digits = child + n;

    if (strncmp(child, until, n) != 0 || strlen(digits) > 15 ||
        *digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return false;
    *ms = strtoll(digits, NULL, 10);
    return true;
}

void hf__layout_until(int64_t ms, char buf[HF_ZNODE_SIZE]) {
    snprintf(buf, HF_ZNODE_SIZE, "%s%" PRId64, until, ms);
}

/* ---- keys -------------------------------------------------------------- */

char *hf__zk_key_make(const char *folder, const char *child, int nodes) {
    size_t size = strlen(folder) + strlen(child) + 16;
    char *key = hf__malloc(size);

    if (!key)
        return NULL;
    if (nodes == HF_PAIR)
        snprintf(key, size, "%s/%s+", folder, child);
    else if (nodes > 1)
        snprintf(key, size, "%s/%s*%d", folder, child, nodes);
    else
        snprintf(key, size, "%s/%s", folder, child);
    return key;
}

/* How long the path in it is, and how many nodes there are. */
static size_t split(const char *key, size_t *nodes) {
    size_t n = strlen(key), at = n;

    *nodes = 1;
    if (n > 0 && key[n - 1] == '+') {
        *nodes = 2;
        return n - 1;
    }
    while (at > 0 && key[at - 1] >= '0' && key[at - 1] <= '9')
        at--;
    if (at == n || at == 0 || key[at - 1] != '*')
        return n;
    *nodes = strtoull(key + at, NULL, 10);
    return at - 1;
}

size_t hf__zk_key_nodes(const char *key) {
    size_t nodes;

    split(key, &nodes);
    return nodes;
}

uint64_t hf__zk_key_order(const char *key) {
    size_t nodes, n = split(key, &nodes);

    return n < DIGITS ? 0 : strtoull(key + n - DIGITS, NULL, 10);
}

void hf__zk_key_node(const char *key, size_t i, char buf[HF_ZNODE_SIZE]) {
    size_t nodes, n = split(key, &nodes), stem = n - DIGITS;

    if (i == 0 || n < DIGITS || n >= HF_ZNODE_SIZE) {
        snprintf(buf, HF_ZNODE_SIZE, "%.*s", (int)n, key);
        return;
    }
    if (key[n] == '+') /* the tag of the other peer */
        snprintf(buf, HF_ZNODE_SIZE, "%.*s%s%010" PRIu64,
                 (int)(stem - strlen(t_lock)), key, t_kazoo,
                 hf__zk_key_order(key) + i);
    else
        snprintf(buf, HF_ZNODE_SIZE, "%.*s%010" PRIu64, (int)stem, key,
                 hf__zk_key_order(key) + i);
}

/* ---- names ------------------------------------------------------------- */

bool hf__layout_is_part(const char *child) {
    return strcmp(child, hf__zk_leases) == 0 ||
           strcmp(child, hf__zk_locks) == 0 ||
           strcmp(child, hf__zk_count) == 0 ||
           strcmp(child, hf__zk_answers) == 0;
}

static bool is_entry(const char *child) {
    static const hf_kind lines[] = {HF_LOCK, HF_WRITE, HF_SEMAPHORE};
    hf_tagged tagged;
    int64_t ms;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (hf__layout_parse(HF_BRIDGE, lines[i], child, &tagged) ||
            hf__layout_parse(HF_KAZOO, lines[i], child, &tagged))
            return true;
    return hf__layout_parse_until(child, &ms);
}

/* What the server takes in a path: it counts in UTF-16 and refuses controls,
 * surrogates, private use and specials.  The path of an address is not checked
 * before, so the text may end in the middle of a character. */
static bool is_allowed(const char *s, size_t *length) {
    const unsigned char *c = (const unsigned char *)s;
    unsigned code = c[0] < 0xe0 ? c[0] & 0x1fu : c[0] & 0x0fu;

    *length = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : 3;
    if (*length == 1)
        code = c[0];
    if ((c[0] >= 0x80 && c[0] < 0xc0) || c[0] >= 0xf0)
        return false;
    for (size_t i = 1; i < *length; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return false;
        code = code << 6 | (c[i] & 0x3fu);
    }
    return code >= 0x20 && !(code >= 0x7f && code < 0xa0) &&
           !(code >= 0xd800 && code < 0xf900) && code < 0xfff0;
}

static int check_letters(const char *name, hf_error *err) {
    size_t length;

    for (const char *s = name; *s; s += length)
        if (!is_allowed(s, &length))
            return hf__fail(err, HF_ENAME,
                            "byte %zu of the name '%.64s' begins a character "
                            "that ZooKeeper does not take in paths",
                            (size_t)(s - name) + 1, name);
    return HF_OK;
}

/* `first`: nothing of a line stands beside it. */
static int check_segment(const char *name, const char *segment, bool first,
                         bool top, hf_error *err) {
    const char *why = NULL;

    if (*segment == '\0')
        why = "an empty part between slashes is no part of a path";
    else if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
        why = "ZooKeeper's paths have no parts '.' and '..'";
    else if (first && top && strcmp(segment, "zookeeper") == 0)
        why = "/zookeeper is the server's own";
    else if (first && strcmp(segment, hf__zk_clients) == 0)
        why = "clients keep their records there";
    else if (!first && (hf__layout_is_part(segment) || is_entry(segment)))
        why = "it would be taken for a part of the line above it";
    if (why)
        return hf__fail(err, HF_ENAME, "'%.100s' cannot be a name here: %s",
                        name, why);
    return HF_OK;
}

int hf__layout_check_name(const char *chroot, const char *name, hf_error *err) {
    char copy[HF_ZNODE_SIZE], *at = copy, *slash;
    bool first = true;
    int rc = check_letters(name, err);

    if (rc == HF_OK && strlen(name) >= sizeof copy)
        return hf__fail(err, HF_ENAME, "the name is too long for a path");
    snprintf(copy, sizeof copy, "%s", name);
    while (rc == HF_OK && at) {
        slash = strchr(at, '/');
        if (slash)
            *slash++ = '\0';
        rc = check_segment(name, at, first, *chroot == '\0', err);
        first = false;
        at = slash;
    }
    return rc;
}
