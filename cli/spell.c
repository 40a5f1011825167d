/* SPDX-License-Identifier: MIT
 *
 * spell.c - the number of letters to change, add, drop or swap between two
 * words; up to a third of the word may be wrong. */
#include "spell.h"

#include <string.h>

enum { LONGEST = 31 };

static int least(int a, int b, int c) {
    int m = a < b ? a : b;
    return m < c ? m : c;
}

static int distance_between(const char *a, const char *b) {
    int d[LONGEST + 2][LONGEST + 2];
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LONGEST || m > LONGEST)
        return SPELL_NONE;
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int other = a[i - 1] != b[j - 1];
            d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1,
                            d[i - 1][j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1, SPELL_NONE);
        }
    return d[n][m];
}

void spell_offer(const char *word, const char *candidate, const char **best,
                 int *distance) {
    int length = (int)strlen(word), d = distance_between(word, candidate);
    int allowed = length < 3 ? 1 : (length + 2) / 3;
    if (length > 2 && strncmp(word, candidate, (size_t)length) == 0)
        d = 1;
    if (d <= allowed && d < *distance) {
        *best = candidate;
        *distance = d;
    }
}
