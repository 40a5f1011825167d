/* SPDX-License-Identifier: MIT
 *
 * value.c - what stands in the value of a number. */
#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "holdfast 1 "
#define NONE "none"

int hf__etcd_value_write(char buf[HF_VALUE_SIZE],
                         const hf_number_state *state) {
    int at = state->is_set ? snprintf(buf, HF_VALUE_SIZE, HEAD "%" PRId64 "\n",
                                      state->number) :
                             snprintf(buf, HF_VALUE_SIZE, HEAD NONE "\n");

    for (size_t i = 0; i < state->n_answers; i++) {
        const hf_answered *a = &state->answers[i];

        for (size_t j = 0; j < sizeof a->nonce; j++)
            at += snprintf(buf + at, (size_t)(HF_VALUE_SIZE - at), "%02x",
                           a->nonce[j]);
        at += snprintf(buf + at, (size_t)(HF_VALUE_SIZE - at),
                       " %d %" PRId64 "\n", a->result, a->value);
    }
    return at;
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' :
           c >= 'a' && c <= 'f' ? c - 'a' + 10 :
                                  -1;
}

/* One line of answers; false: it is none. */
static bool parse_answer(hf_answered *a, const char *line) {
    char *end;

    for (size_t i = 0; i < sizeof a->nonce; i++) {
        int high = hex(line[2 * i]);
        int low = high < 0 ? -1 : hex(line[2 * i + 1]);

        if (low < 0)
            return false;
        a->nonce[i] = (unsigned char)(high << 4 | low);
    }
    line += 2 * sizeof a->nonce;
    if (*line != ' ')
        return false;
    a->result = (int)strtol(line + 1, &end, 10);
    if (end == line + 1 || *end != ' ')
        return false;
    line = end;
    a->value = strtoll(line + 1, &end, 10);
    return end != line + 1 && *end == '\n';
}

static bool parse(hf_number_state *state, const char *text) {
    size_t head = strlen(HEAD);
    char *end;

    if (strncmp(text, HEAD, head) != 0)
        return false;
    text += head;
    state->is_set = strncmp(text, NONE "\n", strlen(NONE "\n")) != 0;
    state->number = state->is_set ? strtoll(text, &end, 10) : 0;
    if (state->is_set && (end == text || *end != '\n'))
        return false;
    state->n_answers = 0;
    while (*(text = strchr(text, '\n') + 1)) { /* every line has its end */
        if (state->n_answers == HF_ANSWERS ||
            !parse_answer(&state->answers[state->n_answers], text))
            return false;
        state->n_answers++;
    }
    return true;
}

bool hf__etcd_value_read(hf_number_state *state, hf_bytes value) {
    char text[HF_VALUE_SIZE];

    if (value.n >= sizeof text)
        return false;
    if (value.n)
        memcpy(text, value.at, value.n);
    text[value.n] = '\0';
    return strlen(text) == value.n && parse(state, text);
}
