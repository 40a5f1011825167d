/* SPDX-License-Identifier: MIT
 *
 * history.h - what happened in a trial, written down so that the checker can
 * judge it afterwards.
 *
 * A history is a set of files, one per process, of records of one size.  They
 * lie in shared mappings: a record that was written is there, whatever happens
 * to its writer a moment later.  No lock is taken and nothing allocated.
 *
 * Whoever does something asks (ASK), does it, and notes the answer (ANSWER).
 * An ASK without an ANSWER is a call whose process died, or whose end nobody
 * saw: its outcome is not known, and may be either.
 *
 * Much may lie between something and its record: a pause, a death.  The moments
 * are such that it proves less then, never something wrong:
 *   ASK      noted before the call, ANSWER after it
 *   until    of a grant: the clock, read before the lock is asked how much
 *            remains, and that added.  Of an ASK: the clock and the wait
 *   HELD     `at` is the clock, read before asking; and so is its `value`
 *   LOST     with the token of what was lost, if it is known, so that it is not
 *            taken for a later hold's
 *   KILLED   noted before the signal is sent
 *   PAUSED   noted when the process stands still (waitpid, WUNTRACED), RESUMED
 *            before it is told to go on
 *   FAULT    before it begins, HEALED when it is over
 *   WRITE    inside the resource, so that records stand in the order of writes;
 *            or with `value`, the resource's own number for it
 * A process that was started again has another number.  Whoever ends without
 * having been KILLED counts as alive: it must have released what it held, and
 * have noted that. */
#ifndef HF_PROOF_HISTORY_H
#define HF_PROOF_HISTORY_H

#include "holdfast.h"

/* What a record tells.  The numbers are the format. */
typedef enum hf_saw {
    HF_SAW_ASK = 1, /* a call begins                                        */
    HF_SAW_ANSWER,  /* it ended: `code`; a grant has its token and `until`  */
    HF_SAW_LOST,    /* the holder was told that its hold is gone            */
    HF_SAW_HELD,    /* hf_lock_is_held said yes: `value` is remaining, ns   */
    HF_SAW_WRITE,   /* a fenced resource was written with `token`: HF_OK, or
                      HF_ELOST where it was refused                        */
    HF_SAW_PLACED,  /* the store gave the asker of `call` its place in the
                      line; only where the store is ours to look into      */
    HF_SAW_BORN,    /* the process began                                    */
    HF_SAW_KILLED,  /* it is killed; written by who does it                 */
    HF_SAW_PAUSED,  /* it was stopped                                       */
    HF_SAW_RESUMED, /* it goes on                                           */
    HF_SAW_FAULT,   /* a fault begins: `value` is its number (nemesis)      */
    HF_SAW_HEALED,  /* it ended                                             */
    HF_SAW_LEFTOVER /* after the end: `value` things were still there, and
                      `code` says of which sort (hf_leftover)              */
} hf_saw;

typedef enum hf_verb {
    HF_DO_ACQUIRE = 1, /* locks, readers, writers, permits, semaphores     */
    HF_DO_RELEASE,
    HF_DO_AWAIT, /* a latch                                                */
    HF_DO_COUNT, /* a latch goes one down: `value` is what is left         */
    HF_DO_SET    /* a latch or the permits of a semaphore: `value`         */
} hf_verb;

typedef enum hf_leftover {
    HF_LEFT_IN_STORE = 1, /* keys, nodes, rows, leases                     */
    HF_LEFT_DESCRIPTOR,
    HF_LEFT_THREAD
} hf_leftover;

typedef struct hf_record {
    int64_t at;       /* ns, one clock for all processes; 0: not written   */
    uint32_t process; /* numbered from 1; 0 is the one that runs the trial */
    uint32_t thread;  /* of that process                                   */
    uint32_t call;    /* pairs ASK and ANSWER; its own in the process      */
    uint16_t saw;     /* hf_saw                                            */
    uint8_t verb;     /* hf_verb; 0 where it is no call                    */
    uint8_t kind;     /* hf_kind                                           */
    uint32_t name;    /* a number for it                                   */
    uint32_t claim;   /* who holds or would: its own in the process        */
    int32_t code;     /* of the answer                                     */
    int32_t permits;
    uint64_t token; /* of a grant or a write; 0: none                      */
    int64_t until;  /* a grant: the library believes in it until then; 0:
                       for ever.  ACQUIRE's and AWAIT's ASK: the caller waits
                       until then; 0: for ever                             */
    int64_t value;  /* what `saw` and `verb` say; ACQUIRE's ASK: a fixed
                       lease in ns, 0: it is kept alive                    */
} hf_record;

_Static_assert(sizeof(hf_record) == 64, "a record is a line of the cache");

/* ---- writing ----------------------------------------------------------- */

typedef struct hf_recorder hf_recorder;

/* Makes the file, with room for `most` records.  HF_OK or negative. */
int hf_recorder_open(hf_recorder **ret, const char *path, uint32_t process,
                     size_t most);
void hf_recorder_close(hf_recorder *r);

/* Adds a copy of *rec; `process` and `at` are filled in where they are 0.
 * (The one that runs the trial names others: those whom it kills and pauses.)
 * From any thread; a full recorder counts what it had to leave out. */
void hf_recorder_add(hf_recorder *r, const hf_record *rec);

/* The clock of the records, and of the library: CLOCK_BOOTTIME, ns. */
int64_t hf_recorder_now(void);

/* ---- reading ----------------------------------------------------------- */

typedef struct hf_history {
    hf_record *records; /* by time; equal times in the order written       */
    size_t n;
    size_t left_out; /* records that did not fit: a history with a hole    */
    size_t room;
} hf_history;

/* Adds what a file holds.  HF_EUSAGE: it is none of ours, is cut short or has
 * records that cannot be; *why says what is wrong (a string that lives for
 * ever), and nothing was added. */
int hf_history_read(hf_history *h, const char *path, const char **why);
/* The same from memory; also what the fuzzer feeds. */
int hf_history_parse(hf_history *h, const void *bytes, size_t size,
                     const char **why);
/* A record in memory: for the simulator, which needs no file.  HF_EUSAGE: such
 * a record cannot be. */
int hf_history_add(hf_history *h, const hf_record *rec);
int hf_history_sort(hf_history *h); /* HF_OK or HF_ENO_MEMORY */
void hf_history_free(hf_history *h);

#endif
