/* SPDX-License-Identifier: MIT
 *
 * redact.c - an address as it may be shown.
 *
 * It works on any text, because what cannot be parsed is shown too, in the
 * error that says so.  So it does not parse; it assumes that whoever wrote the
 * address forgot to escape, and hides rather too much:
 *
 *     redis://user:pa/s@s@host   from the first ':' up to the last '@'
 *     redis://user:password      after a ':' what cannot be a port
 *     redis://password@host      before '@', where some clients mean a password
 *     ...?password=x&tls_key=y   values whose key sounds secret, or is another
 *                                address (hf_listen)
 *
 * The parser refuses an '@' in other places than before the hosts, so an
 * address it accepts is shown in full but for the secrets. */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "../include/holdfast.h"

/* What snprintf does: keeps as much as fits, counts everything. */
typedef struct sink {
    char *buf;
    size_t size, n;
} sink;

/* No control bytes either: the text is made for terminals and logs. */
static void put(sink *to, const char *from, size_t n) {
    for (size_t i = 0; i < n; i++, to->n++)
        if (to->n + 1 < to->size)
            to->buf[to->n] = iscntrl((unsigned char)from[i]) ? '?' : from[i];
}

static void put_stars(sink *to) {
    put(to, "***", 3);
}

/* ---- parameters -------------------------------------------------------- */

static bool contains(const char *text, const char *word) {
    return strcasestr(text, word) != NULL;
}

static int hex(char c) {
    static const char digits[16] = "0123456789abcdef";
    const char *at = memchr(digits, tolower((unsigned char)c), sizeof digits);
    return at != NULL ? (int)(at - digits) : -1;
}

/* Keys whose value is where a secret lies, and not the secret. */
static bool is_path(const char *key) {
    static const char *const paths[] = {"tls_key", "sentinel_tls_key",
                                        "password_file",
                                        "sentinel_password_file"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcasecmp(key, paths[i]) == 0)
            return true;
    return false;
}

/* Escapes in the key are resolved, since a store would do so.  A key too long
 * to look at is taken for secret. */
static bool sounds_secret(const char *key, size_t n) {
    char plain[64];
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (m + 1 == sizeof plain)
            return true;
        int high = key[i] == '%' && i + 2 < n ? hex(key[i + 1]) : -1;
        int low = high >= 0 ? hex(key[i + 2]) : -1;
        plain[m++] = (char)(low >= 0 ? high * 16 + low : key[i]);
        i += low >= 0 ? 2 : 0;
    }
    plain[m] = '\0';
    if (is_path(plain))
        return false;
    return contains(plain, "pass") || contains(plain, "secret") ||
           contains(plain, "token") || contains(plain, "auth") ||
           contains(plain, "key") || contains(plain, "hf_listen");
}

/* The length of a value of libpq's key = 'value' form, blanks before it and
 * quotes included. */
static size_t value_length(const char *from) {
    size_t n = strspn(from, " ");
    bool quoted = from[n] == '\'';
    for (n += quoted; from[n] != '\0'; n++) {
        if (from[n] == '\\' && from[n + 1] != '\0')
            n++;
        else if (quoted ? from[n] == '\'' : from[n] == ' ')
            return n + quoted;
    }
    return n;
}

/* Copies the rest of the text without the values of secret parameters. */
static void put_rest(sink *to, const char *from, bool is_uri) {
    while (*from != '\0') {
        size_t key = strcspn(from, "=?&;# ");
        size_t blanks = is_uri ? 0 : strspn(from + key, " ");
        if (from[key + blanks] != '=') {
            size_t step = from[key] != '\0' ? key + 1 : key;
            put(to, from, step);
            from += step;
            continue;
        }
        put(to, from, key + blanks + 1);
        bool secret = sounds_secret(from, key);
        from += key + blanks + 1;
        if (!secret)
            continue;
        put_stars(to);
        from += is_uri ? strcspn(from, "&") : value_length(from);
    }
}

/* ---- user and password ------------------------------------------------- */

/* "scheme:" in front, or 0. */
static size_t scheme_length(const char *uri) {
    size_t n = 0;
    while (isalnum((unsigned char)uri[n]) ||
           (uri[n] != '\0' && strchr("+-.", uri[n]) != NULL))
        n++;
    return n > 0 && uri[n] == ':' ? n + 1 : 0;
}

static bool begins(const char *text, const char *word) {
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* Files have no password, but may well have an '@'. */
static bool is_file(const char *uri, size_t scheme) {
    if (begins(uri, "sqlite:") || begins(uri, "file:"))
        return strncmp(uri + scheme, "//", 2) != 0 || uri[scheme + 2] == '/';
    return uri[0] == '/' || uri[0] == '.';
}

/* To lettuce the lone word before the '@' is a password, to redis-py a user. */
static bool lone_word_is_secret(const char *uri) {
    return begins(uri, "redis") || begins(uri, "valkey") ||
           begins(uri, "redlock") || begins(uri, "unix");
}

/* Copies what stands before the last '@', and the '@'.  Only a user's name is
 * shown, and only where it looks like one. */
static const char *put_user(sink *to, const char *uri, const char *from,
                            const char *at) {
    size_t n = strcspn(from, ":@/?#&=");
    bool alone = from + n == at && !lone_word_is_secret(uri);
    if (alone || from[n] == ':')
        put(to, from, n + !alone);
    if (!alone)
        put_stars(to);
    put(to, "@", 1);
    return at + 1;
}

/* Copies the hosts of an address without '@'.  A ':' that no port follows may
 * be the one before a password whose host was forgotten. */
static const char *put_hosts(sink *to, const char *from) {
    const char *end = from + strcspn(from, "/?#&");
    bool bracketed = false;
    while (from < end) {
        bracketed = *from == '[' || (bracketed && *from != ']');
        put(to, from, 1);
        if (*from++ != ':' || bracketed)
            continue;
        size_t word = strcspn(from, ",/?#&");
        size_t digits = strspn(from, "0123456789");
        if (digits == word)
            put(to, from, word);
        else
            put_stars(to);
        from += word;
    }
    return from;
}

/* libpq's form: key = 'value' key = 'value' */
static bool is_key_value(const char *text) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    return n > 0 && text[n + strspn(text + n, " ")] == '=';
}

/* Copies everything up to the path, and returns what is left. */
static const char *put_front(sink *to, const char *uri) {
    size_t scheme = scheme_length(uri);
    bool slashes = strncmp(uri + scheme, "//", 2) == 0;
    const char *at = strrchr(uri, '@');
    const char *from = uri;

    if (is_file(uri, scheme))
        return uri;
    if (slashes || at == NULL)
        from += scheme + (slashes ? 2 : 0);
    put(to, uri, (size_t)(from - uri));
    if (at != NULL) /* behind `from`: no scheme has one */
        return put_user(to, uri, from, at);
    return slashes ? put_hosts(to, from) : from;
}

size_t hf_uri_redact(const char *uri, char *buf, size_t size) {
    sink to = {buf, size, 0};
    const char *from = uri != NULL ? uri : "";
    bool key_value = is_key_value(from);

    if (!key_value)
        from = put_front(&to, from);
    put_rest(&to, from, !key_value);
    if (size > 0)
        buf[to.n < size ? to.n : size - 1] = '\0';
    return to.n;
}
