/* SPDX-License-Identifier: MIT
 *
 * roll.c - clients' records as a database tells them. */
#include "roll.h"

#include <stdio.h>
#include <string.h>

#include "../../alloc.h"
#include "../../err.h"

/* Columns of the statement. */
enum { CLIENT, PID, HOST, PROGRAM, LOGIN, WHY, DOING };

void hf__roll_id(char to[37], const char *hex) {
    static const char dashed[37] = "        -    -    -    -            ";
    size_t n = 0;

    for (size_t i = 0; i < sizeof dashed; i++) {
        to[i] = dashed[i];
        if (to[i] == ' ')
            to[i] = hex[n];
        if (to[i] == '\0')
            return;
        if (dashed[i] == ' ')
            n++;
        if (to[i] >= 'A' && to[i] <= 'F')
            to[i] = (char)(to[i] - 'A' + 'a');
    }
}

static void read_who(const hf_answers *a, size_t answer, size_t row,
                     hf_identity *ret) {
    hf__roll_id(ret->client, hf__cell(a, answer, row, CLIENT));
    ret->pid = hf__cell_number(a, answer, row, PID);
    hf__unhex(ret->host, sizeof ret->host, hf__cell(a, answer, row, HOST));
    hf__unhex(ret->program, sizeof ret->program,
              hf__cell(a, answer, row, PROGRAM));
    hf__unhex(ret->user, sizeof ret->user, hf__cell(a, answer, row, LOGIN));
    hf__unhex(ret->why, sizeof ret->why, hf__cell(a, answer, row, WHY));
}

int hf__roll_tell(const hf_answers *a, size_t answer, unsigned char last[16],
                  hf_record_fn *fn, void *arg, hf_error *err) {
    size_t n = hf__answered_rows(a, answer);
    char *doing = n > 0 ? hf__malloc(HF_DOING_MAX + 1) : NULL;
    char id[17] = "";
    hf_identity who;

    if (n == 0)
        return 0;
    if (doing == NULL)
        return hf__fail_plain(err, HF_ENO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        read_who(a, answer, i, &who);
        hf__unhex(doing, HF_DOING_MAX + 1, hf__cell(a, answer, i, DOING));
        fn(arg, &who, doing);
    }
    hf__free(doing);
    hf__unhex(id, sizeof id, hf__cell(a, answer, n - 1, CLIENT));
    memcpy(last, id, 16);
    return n == HF_ROLL;
}
