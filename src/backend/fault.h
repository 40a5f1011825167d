/* SPDX-License-Identifier: MIT
 *
 * fault.h - a store in trouble, for tests: wraps any store and does to chosen
 * verbs what networks and servers do. */
#ifndef HF_FAULT_H
#define HF_FAULT_H

#include "../../include/holdfast/backend.h"

typedef enum hf_verb {
    HF_VERB_ATTEMPT,
    HF_VERB_WATCH,
    HF_VERB_RENEW,
    HF_VERB_RELEASE,
    HF_VERB_COUNT,
    HF_VERBS
} hf_verb;

typedef enum hf_trouble {
    HF_TROUBLE_NONE,
    HF_TROUBLE_UNSENT,     /* never arrives: HF_EDOWN                       */
    HF_TROUBLE_UNANSWERED, /* takes effect, the answer is lost: HF_EDOUBT   */
    HF_TROUBLE_TWICE,      /* arrives twice                                 */
    HF_TROUBLE_SILENT,     /* no answer until the deadline, then HF_EDOUBT;
                              without effect                                */
    HF_TROUBLE_MUTE,       /* watch: says yes, but no message ever comes    */
    HF_TROUBLE_FORGOTTEN   /* release: says yes, and then the store loses
                              what it wrote                                 */
} hf_trouble;

/* For hf__open_wrapped; `arg` may be a hf_backend **, which gets the wrapper
 * so that the test can talk to it. */
hf_backend *hf__fault_wrap(void *arg, hf_backend *inner);

/* The next `times` calls of the verb meet this trouble; negative: all. */
void hf__fault_set(hf_backend *be, hf_verb verb, hf_trouble trouble, int times);

/* From now on grants and renewals are tied to a session of that length, which
 * nothing but the answers tells of; 0: to none. */
void hf__fault_tie(hf_backend *be, int session_ms);

/* How often the verb was called so far. */
int hf__fault_calls(hf_backend *be, hf_verb verb);

#endif
