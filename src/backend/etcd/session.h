/* SPDX-License-Identifier: MIT
 *
 * session.h - the lease that all our entries hang on, and their numbers.
 *
 * It begins with the first entry.  Whoever finds that it is over says so; the
 * next entry begins another, in a new generation. */
#ifndef HF_ETCD_SESSION_H
#define HF_ETCD_SESSION_H

#include "ask.h"
#include "keys.h"

typedef struct hf_session hf_session;

/* `ring` tells the thread that keeps it alive that there is something to do. */
int hf__session_new(hf_session **ret, hf_speaker *speaker, int asked_ms,
                    void (*ring)(void *arg), void *arg, hf_error *err);
void hf__session_free(hf_session *s);

/* The lease, which is begun if there is none. */
int hf__session_need(hf_session *s, int64_t *lease, uint64_t *generation,
                     hf_time by, hf_error *err);

/* A keepalive of the lease, sent then, was answered so; ttl 0: it is over. */
void hf__session_kept(hf_session *s, int64_t lease, hf_time sent_at,
                      int64_t ttl);
void hf__session_over(hf_session *s, int64_t lease);

/* 0: there is none. */
int64_t hf__session_lease(hf_session *s);
uint64_t hf__session_generation(hf_session *s);
hf_time hf__session_good_until(hf_session *s);
int hf__session_left_ms(hf_session *s);    /* until then, at least 1 */
int hf__session_granted_ms(hf_session *s); /* as long as the server made it */

/* When the next keepalive is due; HF_NEVER: there is nothing to keep. */
hf_time hf__session_due(hf_session *s);

/* A generation that has not been told of; 0: none. */
uint64_t hf__session_news(hf_session *s);

/* Takes the lease away, so that it can be revoked; 0: there is none. */
int64_t hf__session_end(hf_session *s);

/* ---- numbers of entries ------------------------------------------------ */

/* The number for that id, the one it has (`again`) or a free one.  HF_EFREE:
 * the lease is over. */
int hf__etcd_slot_take(hf_session *s, int64_t lease, const unsigned char *id,
                       bool again, unsigned *n, hf_error *err);

/* The number of that id, and its lease. */
bool hf__etcd_slot_find(hf_session *s, const unsigned char *id, int64_t *lease,
                        unsigned *n);

/* Something under that number was not answered, and may come late: nobody else
 * gets it in this session. */
void hf__etcd_slot_doubt(hf_session *s, int64_t lease, unsigned n);

/* The entry was made at that revision. */
void hf__etcd_slot_made(hf_session *s, int64_t lease, unsigned n,
                        int64_t revision);

/* The entry of that revision (0: whatever it was) is gone, under this key. */
void hf__etcd_slot_give(hf_session *s, int64_t lease, unsigned n,
                        int64_t revision, const hf_key *key);

/* ---- ghosts ------------------------------------------------------------ */

/* Of what was left while something was in doubt, a request that comes late can
 * make an entry again, which nobody would ever leave.  So such keys are taken
 * out again now and then, until the session ends; and when `now` is asked
 * for.  When to come back; HF_NEVER: there are none. */
hf_time hf__session_sweep(hf_session *s, bool now);

#endif
