/* SPDX-License-Identifier: MIT
 *
 * name.c - what may be the name of a lock: the same on every store. */
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "err.h"

/* One UTF-8 character: its length, 0 if it is none or a control. */
static size_t character(const unsigned char *s) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80           ? 1 :
               (s[0] & 0xe0) == 0xc0 ? 2 :
               (s[0] & 0xf0) == 0xe0 ? 3 :
               (s[0] & 0xf8) == 0xf0 ? 4 :
                                       0;
    unsigned code = s[0] & (0xffu >> (n + 1));

    if (n == 1)
        return s[0] >= 0x20 && s[0] != 0x7f;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    if (n == 0 || code < least[n] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    return n;
}

/* Redis Cluster places a key by what stands in its first pair of braces, and
 * Redisson wraps a name in braces only if it has none.  So a name's braces
 * must be a tag, or the keys of one lock end up on different nodes: it could
 * be taken, but not given back.  One rule for every store, so that a name that
 * is good today is good on the next. */
static int check_braces(const char *prefix, const char *name, hf_error *err) {
    char full[HF_NAME_MAX + 1];
    const char *open, *close;

    snprintf(full, sizeof full, "%s%s", prefix, name);
    open = strchr(full, '{');
    close = strchr(full, '}');
    if (!open && !close)
        return HF_OK;
    if (open && close && close > open + 1)
        return HF_OK;
    return hf__fail(err, HF_ENAME,
                    "the braces in the name '%.64s' are no tag, and in a Redis "
                    "cluster its keys would fall apart: write {tag}rest, or no "
                    "braces",
                    name);
}

size_t hf__odd_byte(const char *text) {
    size_t length = strlen(text);

    for (size_t i = 0, n; i < length; i += n) {
        n = character((const unsigned char *)text + i);
        if (n == 0)
            return i + 1;
    }
    return 0;
}

int hf__check_name(const hf_client *client, const char *name, hf_error *err) {
    size_t length = name ? strlen(name) : 0;
    size_t most = HF_NAME_MAX - strlen(client->prefix), odd;

    if (length == 0)
        return hf__fail(err, HF_ENAME, "the name is empty");
    if (length > most)
        return hf__fail(err, HF_ENAME,
                        "the name has %zu bytes; at most %zu are "
                        "allowed: '%.24s…'",
                        length, most, name);
    odd = hf__odd_byte(name);
    if (odd)
        return hf__fail(err, HF_ENAME,
                        "byte %zu (0x%02x) of the name is a "
                        "control character or not UTF-8",
                        odd, (unsigned char)name[odd - 1]);
    return check_braces(client->prefix, name, err);
}
