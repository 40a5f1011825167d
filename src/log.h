/* SPDX-License-Identifier: MIT
 *
 * log.h - what is written down for those who look for the cause of trouble:
 * hf_options.on_log.
 *
 *     hf__log(host, HF_LOG_INFO, "another server is the master",
 *             {"node", where}, {"epoch", hf__digits(epoch).text});
 *
 * The text is a sentence that stays the same; what differs is in fields, of
 * which there are at most HF_LOG_FIELDS; one without a value is left out.  No
 * field has a secret in it: addresses go through hf_uri_redact, or never had
 * one, and texts of errors have none by contract.  Where nobody listens an entry
 * costs one comparison, and its fields are not even made. */
#ifndef HF_LOG_H
#define HF_LOG_H

#include "../include/holdfast/backend.h"
#include "world.h"

enum { HF_LOG_FIELDS = 10 };

#define hf__log(host_, level_, text_, ...)                                     \
    do {                                                                       \
        const hf_host *hf_to = (host_);                                        \
        if (hf_to->log_level >= (level_))                                      \
            hf_to->log(hf_to->core,                                            \
                       &(hf_log_entry){                                        \
                           (level_), (text_), (const hf_label[]){__VA_ARGS__}, \
                           sizeof((const hf_label[]){__VA_ARGS__}) /           \
                               sizeof(hf_label)});                             \
    } while (0)

/* A number as a field; lives until the statement ends. */
typedef struct hf_digits {
    char text[24];
} hf_digits;

hf_digits hf__digits(int64_t n);

/* What happens again and again is written down once in a while. */
typedef struct hf_pace {
    atomic_llong next;
} hf_pace;

/* May it be written down now?  At most once a second. */
bool hf__pace(hf_pace *pace);

/* ---- what all stores have to say --------------------------------------- */

/* A connection to a server came about; broke; or did not come about, of which
 * there is an entry once a second.  What only a person can cure is an error. */
void hf__log_connected(const hf_host *host, const char *node);
void hf__log_broke(const hf_host *host, const char *node, const char *why);
void hf__log_unreached(const hf_host *host, hf_pace *pace, const char *node,
                       const hf_error *err);

/* What is worth an entry of what clients are told; the rest is not. */
void hf__log_event(const hf_host *host, const hf_event *event);

/* How bad it is: HF_LOG_ERROR if somebody must act, else HF_LOG_WARN. */
hf_log_level hf__log_level_of(int code);

#endif
