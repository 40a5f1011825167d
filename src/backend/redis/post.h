/* SPDX-License-Identifier: MIT
 *
 * post.h - releases that nobody waits for.
 *
 * They have two troubles of their own.  The next request for the same name
 * must not overtake one, so the name is bound to its link until it is
 * answered.  And nobody may ever come by to read the answer, or to connect
 * again when the connection broke: a thread looks after them, ten times a
 * second while there are any, and sleeps when there are none. */
#ifndef HF_REDIS_POST_H
#define HF_REDIS_POST_H

#include "engine.h"
#include "link.h"

typedef struct hf_poster hf_poster;

/* `needs` is lent; `links` and their number may still grow while nothing is
 * posted. */
int hf__poster_new(hf_poster **ret, const hf_engine_needs *needs,
                   hf_link *const *links, const unsigned *n_links,
                   hf_error *err);

/* Waits a moment for what was posted; may be called twice.  The links outlive
 * this call. */
void hf__poster_stop(hf_poster *p);

/* Is anything not settled yet? */
bool hf__poster_has_posts(hf_poster *p);

/* What is unanswered by then, the links have handed back. */
void hf__poster_free(hf_poster *p);

enum { HF_POST_ARGS = 8 };

/* Posts a release, by `link` unless the name is bound to another; pointless
 * after `until`.  The call has lengths, at most HF_POST_ARGS of them, and the
 * name as its first key. */
int hf__poster_release(hf_poster *p, const hf_call *call, hf_link *link,
                       hf_time until, hf_error *err);

/* The link the name is bound to, or NULL. */
hf_link *hf__poster_link(hf_poster *p, const char *name);

/* For the needs of a link. */
void hf__poster_settled(void *poster, hf_link *link, hf_post *post);

#endif
