/* SPDX-License-Identifier: MIT
 *
 * duration.c - reading durations in whole numbers: no locale decides what a
 * decimal point is, and nothing overflows unnoticed. */
#include "duration.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

static const char *const not_one =
    "is not a duration: write 1500ms, 30s, 5m, 2h or 1d";
static const char *const too_long =
    "is too long: the longest duration is 24 days";

static int64_t unit_us(const char *unit) {
    static const struct {
        const char *name;
        int64_t us;
    } units[] = {
        {"", 1000000},   {"ms", 1000},        {"s", 1000000},
        {"m", 60000000}, {"h", 3600000000LL}, {"d", 86400000000LL},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].us;
    return 0;
}

/* Digits as a number that stops growing where it is too large anyway. */
static int64_t whole_part(const char **text) {
    int64_t n = 0;
    for (; isdigit((unsigned char)**text); (*text)++)
        if (n <= INT_MAX)
            n = n * 10 + (**text - '0');
    return n;
}

/* The digits behind the point, as a millionth part of the unit. */
static int64_t fraction(const char **text, int64_t unit) {
    int64_t us = 0;
    for (; isdigit((unsigned char)**text); (*text)++) {
        unit /= 10;
        us += unit * (**text - '0');
    }
    return us;
}

const char *duration_read(const char *text, int *ret) {
    const char *end = text + strspn(text, "0123456789.");
    int64_t unit = unit_us(end), n, us = 0;
    if (text[0] == '-' && isdigit((unsigned char)text[1]))
        return "is negative: a duration is zero or more";
    if (unit == 0 || !(isdigit((unsigned char)text[0]) ||
                       (text[0] == '.' && isdigit((unsigned char)text[1]))))
        return not_one;
    n = whole_part(&text);
    if (*text == '.') {
        text++;
        us = fraction(&text, unit);
    }
    if (text != end)
        return not_one;
    if (n > INT_MAX || n * unit / 1000 > INT_MAX - 1000)
        return too_long;
    us += n * unit;
    if ((us + 999) / 1000 > INT_MAX)
        return too_long;
    *ret = (int)((us + 999) / 1000);
    return NULL;
}
