/* SPDX-License-Identifier: MIT
 *
 * lookout.h - for those who wait and asked for it: whether they ever will be
 * let in. */
#ifndef HF_LOOKOUT_H
#define HF_LOOKOUT_H

#include <pthread.h>

#include "../include/holdfast/backend.h"
#include "deadlock.h"
#include "world.h"

#define HF_LOOK_AFTER HF_SECOND /* who waits for less is not looked after */

enum { HF_SENTENCES = 8 }; /* more give way a second later */

/* One look a second is enough for all threads of a client. */
typedef struct hf_lookout {
    pthread_mutex_t mu;
    bool busy;                     /* somebody looks */
    hf_time looked;                /* when the last one did; 0: never */
    uint64_t keys[HF_CIRCLES_MAX]; /* the circles it saw */
    size_t n_keys;
    struct hf_sentence {
        char owner[HF_DOING_OWNER + 1]; /* who gives way, */
        char text[HF_ERROR_TEXT_SIZE];  /* and what it is told */
    } sentences[HF_SENTENCES];
    size_t n_sentences;
} hf_lookout;

void hf__lookout_init(hf_lookout *l);
void hf__lookout_free(hf_lookout *l);

/* HF_EDEADLOCK, in words: this owner of the client's waits in a circle, the
 * same in two looks a second apart, and is the one to give way.  HF_OK: not
 * that anybody knew.  Asks the store, with nothing locked. */
int hf__lookout(hf_client *client, const char *owner, hf_time by,
                hf_error *err);

#endif
