/* SPDX-License-Identifier: MIT
 *
 * holdfast.h - locks that many processes on many machines share through a
 * store they already run.
 *
 * A *client* is this program's tie to one store: open it once, share it among
 * threads.  A *lock* is a handle to one name in that store; so are a
 * *semaphore*, which counts, and a *latch*, which opens when it has counted
 * down.
 *
 *     hf_client *client;
 *     hf_lock *lock;
 *     hf_error err;
 *     hf_open(&client, "redis://127.0.0.1", NULL, &err);
 *     hf_lock_new(&lock, client, "nightly", NULL, &err);
 *     if (hf_lock_acquire(lock, 5000, &err) == HF_OK) {
 *         write_report(hf_lock_token(lock));
 *         hf_lock_release(lock, &err);
 *     }
 *
 * Results.  0 is success, positive is an answer (HF_BUSY), negative is an
 * error whose class says how sure it is: certainly not done, in doubt, no
 * longer held, or misuse.  Detail goes into the caller's hf_error, which may
 * be NULL.  Options may be NULL; in them zero means the default.
 *
 * Time.  Durations are int milliseconds.  A wait of 0 tries once; HF_FOREVER
 * has no end.  A lease is counted by our own clock from before the request
 * left, so that we stop believing in it before the store does.
 *
 * Threads.  Every function may be called from any thread unless it says
 * otherwise; freeing is for one thread, when no other uses the object.
 * After fork the child owns nothing: calls answer HF_EFORKED, and it opens
 * a client of its own.  No call is a cancellation point: a thread that is
 * cancelled ends after it.  The library never prints, exits or takes signals. */
#ifndef HOLDFAST_H
#define HOLDFAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_API             __attribute__((visibility("default")))
#define HF_VERSION         "1.0.0"
#define HF_FOREVER         (-1)
#define HF_NAME_MAX        255 /* bytes in a name                        */
#define HF_ERROR_TEXT_SIZE 240

typedef struct hf_client hf_client;
typedef struct hf_lock hf_lock;
typedef struct hf_semaphore hf_semaphore;
typedef struct hf_latch hf_latch;
typedef struct hf_job hf_job;
typedef struct hf_guard hf_guard;

/* ---- results and errors ------------------------------------------------ */

#define HF_OK   0
#define HF_BUSY 1 /* an answer, not an error: somebody was first */

/*    number, name, class, text */
#define HF_ERRORS(X)                                                           \
    X(1, TIMEOUT, NOT_DONE, "the time allowed ran out while waiting")          \
    X(2, CANCELLED, NOT_DONE, "the wait was cancelled")                        \
    X(3, DOWN, NOT_DONE, "the store cannot be reached")                        \
    X(4, STARTING, NOT_DONE, "the store is still loading its data")            \
    X(5, READ_ONLY, NOT_DONE, "the store accepts no writes here")              \
    X(6, FULL, NOT_DONE, "the store has no room to write")                     \
    X(7, CROWDED, NOT_DONE, "the store takes no more connections")             \
    X(8, AUTH, NOT_DONE, "the store refused the credentials")                  \
    X(9, FORBIDDEN, NOT_DONE, "the user may not do this in the store")         \
    X(10, TLS, NOT_DONE, "the connection could not be made secure")            \
    X(11, STORE, NOT_DONE, "the store reported an error")                      \
    X(12, NO_MEMORY, NOT_DONE, "out of memory")                                \
    X(13, SYSTEM, NOT_DONE, "the operating system refused")                    \
    X(14, DOUBT, DOUBT, "no answer: the request may have taken effect")        \
    X(15, LOST, NOT_HELD, "the lease ended, or somebody took the lock away")   \
    X(16, NOT_OWNER, NOT_HELD, "the caller does not hold it")                  \
    X(17, FREE, NOT_HELD, "nobody holds it")                                   \
    X(18, USAGE, MISUSE, "the call makes no sense as it was made")             \
    X(19, NAME, MISUSE, "the name cannot be used")                             \
    X(20, URI, MISUSE, "the address of the store cannot be used")              \
    X(21, NO_STORE, MISUSE, "this store is not part of this installation")     \
    X(22, CANNOT, MISUSE, "this store cannot do that")                         \
    X(23, FORKED, MISUSE, "the client belongs to the parent process")          \
    X(24, REPLICAS, NOT_DONE, "too few replicas confirmed it")                 \
    X(25, MINORITY, NOT_DONE, "no majority of the servers granted it")         \
    X(26, DEADLOCK, NOT_DONE, "who holds it waits, in the end, for the caller")

enum hf_result {
#define HF_X(number, name, class_, text) HF_E##name = -(number),
    HF_ERRORS(HF_X)
#undef HF_X
};

typedef enum hf_class {
    HF_CLASS_NONE,     /* not an error                                     */
    HF_CLASS_NOT_DONE, /* certainly without effect; try again when cured   */
    HF_CLASS_DOUBT,    /* done or not; asking again is safe                */
    HF_CLASS_NOT_HELD, /* the caller does not hold (any more)              */
    HF_CLASS_MISUSE    /* the program or its settings must change          */
} hf_class;

/* A code, and a sentence that names the thing and the next step.  Secrets
 * never stand in it. */
typedef struct hf_error {
    int code;
    char text[HF_ERROR_TEXT_SIZE];
} hf_error;

HF_API hf_class hf_error_class(int code);
HF_API const char *hf_error_name(int code); /* "TIMEOUT"; "OK", "BUSY" too */
HF_API const char *hf_strerror(int code);   /* the general sentence        */

/* ---- the client -------------------------------------------------------- */

/* What happened, for those who want to log it.  Fields that do not apply are
 * "" or 0. */
typedef enum hf_event_kind {
    HF_EVENT_GRANTED,    /* a lock was granted                             */
    HF_EVENT_RELEASED,   /* it was released                                */
    HF_EVENT_RENEWED,    /* renewed again after it was in doubt            */
    HF_EVENT_DOUBT,      /* a renewal failed; we go on trying              */
    HF_EVENT_LOST,       /* a lock was lost                                */
    HF_EVENT_UNRELEASED, /* a release failed; the lease will end it        */
    HF_EVENT_WEAKER,     /* the store cannot give what a lock asks of it:
                            no replicas are waited for.  Told once         */
    HF_EVENT_MOVING,     /* a lock is leaving for `store`, see
                            hf_escalate_to; `code` is the first store's
                            trouble, HF_OK on the way back                 */
    HF_EVENT_MOVED,      /* what is held of it lives in `store` now        */
    HF_EVENT_REFUSED     /* a lock was asked for and not granted; `code` is
                            HF_BUSY, HF_ETIMEOUT, HF_ECANCELLED, or another
                            error                                          */
} hf_event_kind;

typedef struct hf_event {
    hf_event_kind kind;
    const char *name; /* of the lock */
    uint64_t token;
    int code;          /* why: an HF_E…, or HF_OK */
    const char *store; /* MOVING, MOVED: its address */
    int64_t waited_us; /* GRANTED, REFUSED: since it was asked for */
    int64_t held_us;   /* RELEASED, UNRELEASED, LOST: how long it was held.
                          Passed on within the process, each owner's own */
} hf_event;

/* Runs with none of the library's locks held, on the thread that granted or
 * released, or on the keeper's; should be short, and must not close the
 * client.  With hf_options.loop it runs in hf_process, and may do anything. */
typedef void hf_event_fn(void *arg, const hf_event *event);

/* A name and what belongs to it, as it is, not escaped. */
typedef struct hf_label {
    const char *name, *value;
} hf_label;

/* What those want to read who look for the cause of trouble: connections that
 * come and go, masters that change, requests that fail.  Secrets never stand
 * in it. */
typedef enum hf_log_level {
    HF_LOG_NONE,
    HF_LOG_ERROR, /* somebody must act: credentials refused, no such file   */
    HF_LOG_WARN,  /* trouble that is being dealt with                       */
    HF_LOG_INFO,  /* opened, closed, connected, moved to another master     */
    HF_LOG_DEBUG  /* every request of the core to the store                 */
} hf_log_level;

typedef struct hf_log_entry {
    hf_log_level level;
    const char *text;       /* a sentence that stays the same               */
    const hf_label *fields; /* what is different each time: "store", "name" */
    size_t n_fields;
} hf_log_entry;

/* Runs where it happens, on whatever thread, also under locks of the library:
 * it writes the entry down, and calls nothing of holdfast. */
typedef void hf_log_fn(void *arg, const hf_log_entry *entry);

typedef struct hf_options {
    size_t size;         /* sizeof(hf_options)                             */
    int lease_ms;        /* what the watchdog keeps up        (30 000)     */
    int renew_ms;        /* how often it renews               (lease / 3)  */
    int timeout_ms;      /* for one request                   (3 000)      */
    int patience_ms;     /* a wait bears an unreachable store (15 000)     */
    int spin_us;         /* a lone caller looks that long for its answer
                            before it sleeps                  (0: never)   */
    const char *why;     /* shown to those who wait           ("")         */
    const char *host;    /* shown as our host                 (its name)   */
    const char *program; /* shown as our program              (its name)   */
    hf_event_fn *on_event;
    void *event_arg;
    const char *inside; /* the owner of a lock that is held until we are done,
                           by another process that waits for us: then what we
                           wait for keeps that lock, too  (nobody)         */
    bool hidden; /* keeps no record of what it holds and waits for: others see
                    less, and deadlocks it is part of are not found        */
    const char *stats_names; /* patterns under which locks are counted, see
                                hf_stats: "order:*, nightly"
                                                (the first names as they are) */
    bool loop; /* on_event and on_state run in hf_process, and nowhere else */
    hf_log_fn *on_log;
    void *log_arg;
    hf_log_level log_level; /* how much of it                (HF_LOG_INFO) */
} hf_options;

#define HF_OPTIONS_INIT                                                        \
    { .size = sizeof(hf_options) }

/* Opens a client of the store at `uri`.  NULL means $HOLDFAST_STORE, or else
 * the embedded store of this host (hf_default_store).  Errors to expect:
 * HF_EURI, HF_ENO_STORE, HF_EDOWN, HF_EAUTH, HF_ETLS. */
HF_API int hf_open(hf_client **ret, const char *uri, const hf_options *options,
                   hf_error *err);

/* Frees the client, once callbacks that run have returned.  Its locks must
 * have been freed before, which released them.  NULL is allowed. */
HF_API void hf_close(hf_client *client);

/* The store's address as it was resolved, without secrets.  Lent; lives as
 * long as the client. */
HF_API const char *hf_store(const hf_client *client);

/* ---- the lock ---------------------------------------------------------- */

/* LOCK, FAIR and SPIN of one name are one lock with three manners of waiting,
 * READ and WRITE are the two sides of another; the rest of the kinds stand
 * apart.  Do not use one name for two of these. */
typedef enum hf_kind {
    HF_LOCK,      /* exclusive and re-entrant                              */
    HF_SIMPLE,    /* Redis only: exactly SET name value NX PX, as redis-py,
                     Jedis-style scripts and Redlock's nodes have it       */
    HF_FAIR,      /* as LOCK, strictly first come, first served            */
    HF_SPIN,      /* as LOCK, but asks again and again and hears nobody    */
    HF_READ,      /* many readers (within a process they keep behind a
                     writer who came first), or                            */
    HF_WRITE,     /* one writer, who may take the read side as well and
                     release the write side first: a downgrade             */
    HF_PERMIT,    /* some permits of a semaphore, leased; the handle owns
                     them, and they return when its process dies           */
    HF_SEMAPHORE, /* not for hf_lock_new: see hf_semaphore_new             */
    HF_LATCH,     /* likewise: see hf_latch_new                            */
    HF_KINDS
} hf_kind;

enum hf_lock_flag {
    HF_OWNER_HANDLE = 1,  /* the handle owns, not the thread: any thread may
                             release; for event loops and handing over     */
    HF_POST_RELEASE = 2,  /* release returns before the store has answered; a
                             failure becomes HF_EVENT_UNRELEASED           */
    HF_NO_REENTRY = 4,    /* an owner who asks again is told HF_EUSAGE     */
    HF_WRITERS_FIRST = 8, /* READ: stay out while a writer waits; WRITE: be
                             such a writer                                 */
    HF_NO_COHORT = 16,    /* give it back to the store each time, never
                             straight to the next thread of this process   */
    HF_DEADLOCK = 32      /* a wait that could never end does, with
                             HF_EDEADLOCK: see hf_deadlocks.  HF_ECANNOT: the
                             store keeps no records, or the client is hidden */
};

typedef struct hf_lock_options {
    size_t size; /* sizeof(hf_lock_options)                                */
    hf_kind kind;
    unsigned flags;
    int lease_ms;       /* a fixed lease, not renewed; 0: kept alive       */
    int watchdog_ms;    /* the lease that is kept alive    (the client's)  */
    int renew_ms;       /* how often                       (a third of it) */
    int max_hold_ms;    /* renewal stops after this and the holder is told
                           that the lock is lost           (no limit)      */
    int permits;        /* PERMIT: how many                (1)             */
    int backoff_ms;     /* SPIN: its first pause, doubling (1)             */
    int max_backoff_ms; /* SPIN: its longest; the same as the first makes
                           it constant                     (128)           */
    int replicas;       /* Redis: so many replicas must have confirmed each
                           grant and each renewal: a number, HF_MAJORITY or
                           HF_ALL of them                  (0)             */
} hf_lock_options;

/* Of the copies, the master's being one; and of the replicas that are known,
 * also of those that are down.  One at least: a master without any grants no
 * such lock. */
#define HF_MAJORITY (-1)
#define HF_ALL      (-2)

#define HF_LOCK_OPTIONS_INIT                                                   \
    { .size = sizeof(hf_lock_options) }

/* Makes a handle; asks nothing of the store.  HF_ENAME: empty, longer than
 * HF_NAME_MAX bytes, not UTF-8, with control characters in it, or with braces
 * that would tear its keys apart in a Redis cluster: what stands in the first
 * pair of them is the tag, as in "{orders}:7".
 * HF_ECANNOT: this store has no such kind. */
HF_API int hf_lock_new(hf_lock **ret, hf_client *client, const char *name,
                       const hf_lock_options *options, hf_error *err);

/* Releases what is still held through the handle, then frees it. */
HF_API void hf_lock_free(hf_lock *lock);

/* Takes the lock, waiting at most wait_ms.  The owner is the calling thread
 * (or the handle, see HF_OWNER_HANDLE); who already owns it is counted up
 * without asking the store, and each OK wants one release.
 *   HF_OK         held, with a token above every earlier one of this name
 *   HF_BUSY       wait_ms was 0 and somebody else holds it or is first
 *   HF_ETIMEOUT   not held, and nothing of us is left in the store
 *   HF_ECANCELLED likewise, by hf_lock_cancel
 *   HF_EDOWN      the store was unreachable for too long; not held
 *   HF_EDEADLOCK  likewise, by HF_DEADLOCK: release what the others wait for
 *   HF_EDOUBT     no answer; should it have been granted, the library gives
 *                 it back as soon as it can, at the latest its lease ends
 *   HF_ELOST      held before by this owner and lost: release it first
 * A token of READ or PERMIT is above those of all who held before; on Redis two
 * who hold together may have the same one. */
HF_API int hf_lock_acquire(hf_lock *lock, int wait_ms, hf_error *err);
HF_API int hf_lock_try(hf_lock *lock, hf_error *err); /* wait_ms = 0 */

/* Ends every wait that is under way through this handle.  A grant that came
 * first stays a grant: look at what acquire returned. */
HF_API void hf_lock_cancel(hf_lock *lock);

/* Gives one hold back, the last one in the store too.
 *   HF_OK         one hold less; at zero the lock is free
 *   HF_ELOST      it had been lost before; counted down all the same
 *   HF_ENOT_OWNER the caller does not hold it; nothing was changed
 *   HF_EDOUBT, HF_EDOWN and other errors of the store: given up here; the
 *                 library goes on trying until the lease ends it */
HF_API int hf_lock_release(hf_lock *lock, hf_error *err);

/* As release, but when it is the last hold others get in only after `ms`: the
 * job stays "just done" for that long, also when this process ends.  If the
 * store does not confirm it, the lease as it was ends the lock. */
HF_API int hf_lock_release_after(hf_lock *lock, int ms, hf_error *err);

/* Sets the lease anew, counted from now.  HF_ELOST if it is too late. */
HF_API int hf_lock_extend(hf_lock *lock, int lease_ms, hf_error *err);

/* For operators: frees the name whoever holds it, and raises its token so
 * that the former holder is refused by what checks tokens.  Of a read-write
 * lock it frees the side of the handle's kind, of a semaphore all leased
 * permits.  `owner` limits it to that holder, or the permit of that id; NULL
 * means any.  HF_EFREE: there was nothing. */
HF_API int hf_lock_force_release(hf_lock *lock, const char *owner,
                                 hf_error *err);

/* About the calling owner, answered from memory and our clock: no I/O.
 * Not held: false, 0, 0, 0, "". */
HF_API bool hf_lock_is_held(hf_lock *lock);
HF_API int64_t hf_lock_remaining_ms(hf_lock *lock); /* of the lease */
HF_API int hf_lock_holds(hf_lock *lock);            /* how often re-entered */
HF_API uint64_t hf_lock_token(hf_lock *lock);
HF_API size_t hf_lock_owner(hf_lock *lock, char *buf, size_t size);

HF_API const char *hf_lock_name(const hf_lock *lock); /* lent */

/* The last token granted under this name, to whomever; 0 if there was none.
 * Asks the store. */
HF_API int hf_lock_last_token(hf_lock *lock, uint64_t *token, hf_error *err);

/* ---- loss -------------------------------------------------------------- */

typedef enum hf_state {
    HF_STATE_HELD,  /* again, after it was in doubt                        */
    HF_STATE_DOUBT, /* a renewal failed; still ours until the deadline     */
    HF_STATE_LOST   /* not ours any more: stop                             */
} hf_state;

/* Called at each change of state of a hold taken through `lock`, on the
 * library's thread, with none of its locks held.  `why` is an HF_E….  It may
 * call anything but hf_lock_free and hf_close.  With hf_options.loop it is
 * called in hf_process, may call these too, and of several changes since then
 * it is told the last, also one that came before it was set. */
typedef void hf_state_fn(void *arg, hf_lock *lock, hf_state state, int why);

/* One callback per handle; NULL takes it away and waits until it no longer
 * runs (unless called from it). */
HF_API void hf_lock_on_state(hf_lock *lock, hf_state_fn *fn, void *arg);

/* A descriptor that is readable while a lost hold of this handle has not been
 * released.  Belongs to the handle; poll it, do not read it.  Negative: an
 * error code. */
HF_API int hf_lock_lost_fd(hf_lock *lock);

/* ---- several locks at once --------------------------------------------- */

/* A lock made of others, of whatever kinds and stores: held while all of them
 * are.  The verbs above serve it:
 *   acquire  all or none, by one deadline.  They are taken in one order, that
 *            of their stores and names, so that two who want the same ones do
 *            not wait for each other; should that happen all the same, each
 *            gives way now and then.  What was taken is given back on failure;
 *            err names the member it came from.  HF_ELOST may also say that a
 *            member was lost while another was waited for
 *   release, release_after, extend
 *            all of them, whatever becomes of one.  The result is the worst by
 *            its class - misuse, not held, doubt, not done -, and err tells of
 *            every one that failed.  Release goes from the last to the first
 *   force_release
 *            all of them; HF_EFREE: nobody held any.  `owner` must be NULL
 *   is_held, remaining_ms
 *            of the weakest member
 *   on_state, lost_fd
 *            lost as soon as one member is, and told once; in doubt while one
 *            is; held again when all are
 *   token, owner, last_token
 *            it has none of its own: 0, "", HF_EUSAGE.  Ask the members
 *   name     the members', in that order, joined by " + "
 * It belongs to the calling thread, unless every member belongs to its handle
 * (HF_OWNER_HANDLE).
 *
 * Members are lent: they outlive it, and so do their clients.  Meanwhile they
 * may be asked, but acquire, release and extend are refused (HF_EUSAGE), and
 * their on_state is taken.  Freeing the multi-lock releases what is held and
 * leaves them as they were, without a callback.
 *
 * HF_EUSAGE: a member is held, stands in another multi-lock, or is one itself;
 * or one name of a store comes twice, of whatever kinds. */
HF_API int hf_multi_new(hf_lock **ret, hf_lock *const *members, size_t n,
                        hf_error *err);

/* ---- a second store for bad times -------------------------------------- */

typedef struct hf_escalate_options {
    size_t size;       /* sizeof(hf_escalate_options)                      */
    int permission_ms; /* for so long a client may use either store after
                          it last asked the second        (lease / 6)      */
    int after_ms;      /* the first store fails for so long before a lock
                          goes over                       (permission)     */
    int back_ms;       /* it answers for so long before a held lock goes
                          back; HF_FOREVER: never         (lease)          */
} hf_escalate_options;

#define HF_ESCALATE_OPTIONS_INIT                                               \
    { .size = sizeof(hf_escalate_options) }

/* Opens, as hf_open does, a client of two stores.  Its locks live in the first
 * one, at `uri`.  When that can no longer be reached they go over to the one
 * at `second`, with what is held and without a moment in which there could be
 * two holders; and back when the first one is well again.  A lock that goes
 * over in time stays held, under the same token; tokens grow through all of
 * it.  HF_EVENT_MOVING and HF_EVENT_MOVED tell.
 *
 * Everybody who wants one of the names opens it so, with the same two stores
 * and permission_ms: who asks only one of them excludes nobody in the other.
 * The second store says which of the two is to be used.  While it cannot be
 * reached nothing is granted (its HF_E…), and what is held is lost when the
 * permission ends; it must not forget what it was told.  The first one may be
 * down when this is called.
 *
 * Kinds: LOCK, FAIR, SPIN, READ, WRITE; no numbers, no hf_lock_last_token.
 * The promises in full: docs/escalation.md. */
HF_API int hf_escalate_to(hf_client **ret, const char *uri, const char *second,
                          const hf_options *options,
                          const hf_escalate_options *escalate, hf_error *err);

/* The address of the store in which the lock lives, as far as this client has
 * seen; of a multi-lock "".  Lent; lives as long as the client. */
HF_API const char *hf_lock_store(hf_lock *lock);

/* ---- the semaphore ----------------------------------------------------- */

/* A number of permits under a name, until somebody sets it: none.  Permits
 * taken here are nobody's: they have no lease, and whoever likes gives them
 * back, here or in another process.  For permits that return by themselves
 * when their holder dies take a lock of kind HF_PERMIT on the same name.
 *
 * A request whose answer was lost is asked again, and counts once. */
HF_API int hf_semaphore_new(hf_semaphore **ret, hf_client *client,
                            const char *name, hf_error *err);
HF_API void hf_semaphore_free(hf_semaphore *sem);
HF_API const char *hf_semaphore_name(const hf_semaphore *sem); /* lent */

/* Sets the number of permits if nobody has; HF_BUSY: somebody had.  After
 * ttl_ms, unless 0, the semaphore vanishes. */
HF_API int hf_semaphore_set(hf_semaphore *sem, int permits, int ttl_ms,
                            hf_error *err);

/* Takes n permits together, waiting at most wait_ms; results as of
 * hf_lock_acquire. */
HF_API int hf_semaphore_acquire(hf_semaphore *sem, int n, int wait_ms,
                                hf_error *err);
HF_API void hf_semaphore_cancel(hf_semaphore *sem);

/* Gives n permits, whether they were taken before or not. */
HF_API int hf_semaphore_release(hf_semaphore *sem, int n, hf_error *err);

/* The same, but HF_EFREE if there is no such semaphore. */
HF_API int hf_semaphore_release_if_set(hf_semaphore *sem, int n, hf_error *err);

/* Changes their number by n, or, with leased permits counted in, to n; the
 * free ones may become less than none. */
HF_API int hf_semaphore_add(hf_semaphore *sem, int n, hf_error *err);
HF_API int hf_semaphore_resize(hf_semaphore *sem, int n, hf_error *err);

/* Takes all that are free; *taken may be NULL. */
HF_API int hf_semaphore_drain(hf_semaphore *sem, int64_t *taken, hf_error *err);

/* What is free, and what is leased through HF_PERMIT; either may be NULL. */
HF_API int hf_semaphore_count(hf_semaphore *sem, int64_t *available,
                              int64_t *leased, hf_error *err);

/* HF_EFREE: there was none. */
HF_API int hf_semaphore_delete(hf_semaphore *sem, hf_error *err);

/* ---- the latch --------------------------------------------------------- */

/* Closed while its count is above zero; one that was never set is open. */
HF_API int hf_latch_new(hf_latch **ret, hf_client *client, const char *name,
                        hf_error *err);
HF_API void hf_latch_free(hf_latch *latch);
HF_API const char *hf_latch_name(const hf_latch *latch); /* lent */

/* Sets the count if it is not set; HF_BUSY: it is. */
HF_API int hf_latch_set(hf_latch *latch, int count, hf_error *err);

/* One less; at zero the latch opens and is gone. */
HF_API int hf_latch_count_down(hf_latch *latch, hf_error *err);
HF_API int hf_latch_count(hf_latch *latch, int64_t *count, hf_error *err);

/* HF_OK: open.  HF_BUSY: wait_ms was 0, and it is closed.  HF_ETIMEOUT,
 * HF_ECANCELLED, HF_EDOWN: it may still be closed. */
HF_API int hf_latch_wait(hf_latch *latch, int wait_ms, hf_error *err);
HF_API void hf_latch_cancel(hf_latch *latch);

/* Opens it, whatever the count; HF_EFREE: it was not set. */
HF_API int hf_latch_delete(hf_latch *latch, hf_error *err);

/* ---- the scheduled job ------------------------------------------------- */

/* Many hosts start the same job at the same time, and one of them shall run
 * it.  Whoever begins first does; the others skip it, also when it was over
 * before they asked. */
typedef struct hf_job_options {
    size_t size;     /* sizeof(hf_job_options)                             */
    int at_least_ms; /* the name stays taken so long, counted from the
                        beginning, however soon the job ends: as long as the
                        clocks of the hosts may differ        (0)          */
    int at_most_ms;  /* after this it counts as lost, and others may begin:
                        a lease that is not renewed, which a killed host
                        leaves behind, too   (0: kept alive by the watchdog,
                        whose lease is not shorter than at_least_ms)       */
} hf_job_options;

#define HF_JOB_OPTIONS_INIT                                                    \
    { .size = sizeof(hf_job_options) }

/* HF_OK: run it, and end it.  HF_BUSY: skip it, another host runs it or has
 * just done so; *ret is NULL.  Errors as of hf_lock_new and hf_lock_try. */
HF_API int hf_job_begin(hf_job **ret, hf_client *client, const char *name,
                        const hf_job_options *options, hf_error *err);

/* The lock under it, of kind HF_LOCK, owned by its handle: for its token, and
 * to hear of its loss.  Lent, until the job ends, which is what releases it. */
HF_API hf_lock *hf_job_lock(hf_job *job);

/* Ends and frees it, by whatever thread; NULL is allowed.
 *   HF_OK     others get in when at_least_ms have passed since it began
 *   HF_ELOST  it took longer than at_most_ms, or was lost in another way:
 *             somebody else may have run it meanwhile
 *   HF_EDOUBT, HF_EDOWN and other errors of the store: the lease will end it */
HF_API int hf_job_end(hf_job *job, hf_error *err);

/* ---- the checking half of the token ------------------------------------ */

/* No lock with a lease can stop a holder that slept through its end; what it
 * wants to change can, by refusing a token older than one that it has seen.
 * For databases and Redis that is a text to install there, see
 * docs/fencing.md: "postgresql", "mariadb", "sqlite", "redis"; NULL for
 * anything else.  Lent for ever. */
HF_API const char *hf_guard_text(const char *system);

/* For a file, or a folder, it is a guard: whoever is about to change `path`
 * enters, and leaves when it has.  The highest token seen is kept beside it
 * (".NAME.hf-token", written before anybody enters), and it may not exist yet.
 *   HF_OK        inside: no older token is, or will ever be
 *   HF_ELOST     a newer one has been here: change nothing
 *   HF_BUSY      wait_ms was 0, and
 *   HF_ETIMEOUT  somebody with an older token is still inside; it is told to
 *                leave, and older ones that come are refused from now on
 *   HF_EFORBIDDEN, HF_EREAD_ONLY, HF_EFULL, HF_ESYSTEM: by the file system
 * Equal tokens are one holder's and do not keep each other out.  The tokens at
 * one path must be those of one lock. */
HF_API int hf_guard_enter(hf_guard **ret, const char *path, uint64_t token,
                          int wait_ms, hf_error *err);

/* HF_ELOST: a newer one waits until we leave.  Reads a small file. */
HF_API int hf_guard_check(hf_guard *guard, hf_error *err);

/* Becomes readable when a newer one comes: then, and once after having asked
 * for it, check.  Belongs to the guard.  Of other hosts on a network file
 * system it hears nothing; check now and then.  Negative: an error code. */
HF_API int hf_guard_fd(hf_guard *guard);

/* Leaves and frees it; NULL is allowed.  Whoever was forked meanwhile is
 * inside as well, until it leaves, executes something, or ends. */
HF_API void hf_guard_leave(hf_guard *guard);

/* ---- event loops ------------------------------------------------------- */

/* What takes time has a second form, hf_…_async, that does not.  It begins the
 * same thing and returns; when that is done, `fn` is told once what the first
 * form would have returned.  fn runs in hf_process and nowhere else, with none
 * of the library's locks held, and may do anything: begin something, free the
 * object, close the client.  The rest is as it was: leases are renewed by the
 * library's own threads, however busy the loop is.
 *
 *     static void got_it(void *arg, int rc, const hf_error *err) {
 *         if (rc == HF_OK)
 *             write_report(hf_lock_token(lock));
 *         hf_lock_release_async(lock, NULL, NULL, NULL);
 *     }
 *     hf_lock_acquire_async(lock, HF_FOREVER, got_it, NULL, &err);
 *     while (poll(&(struct pollfd){hf_fd(client), POLLIN, 0}, 1, -1) > 0)
 *         hf_process(client);
 *
 * HF_OK: it has begun.  Otherwise, and that is only HF_EUSAGE, HF_EFORKED,
 * HF_ENO_MEMORY or HF_ESYSTEM, it has not, and fn is told nothing.  fn may be
 * NULL.  `err` is for the call; what fn is told lives until fn returns.
 *
 * Cancelling is as ever: hf_lock_cancel and its like end what waits, and fn is
 * told HF_ECANCELLED.  Freeing the object ends all that was begun through it,
 * and fn is not told.  That waits for the request that is under way, and for a
 * grant that must go back: release it before, and freeing costs nothing.
 *
 * A lock must belong to its handle (HF_OWNER_HANDLE, as a permit does anyway),
 * all members of a multi-lock likewise: the loop's thread does many things at
 * a time, and cannot be told apart by the thread.
 *
 * Ten thousand waits are no more threads than one: docs/event-loops.md. */
typedef void hf_done_fn(void *arg, int rc, const hf_error *err);

/* A descriptor that is readable while hf_process has something to do.  Belongs
 * to the client; poll it, do not read it.  Negative: an error code. */
HF_API int hf_fd(hf_client *client);

/* Runs the callbacks that are due, and returns how many: never waits, and leaves
 * what is added meanwhile to the next time.  For one thread at a time; not from
 * a callback of its own (HF_EUSAGE).  Negative: an error code. */
HF_API int hf_process(hf_client *client);

HF_API int hf_lock_acquire_async(hf_lock *lock, int wait_ms, hf_done_fn *fn,
                                 void *arg, hf_error *err);

/* Not held any more when this returns, as far as we are concerned; fn is told
 * when the store knows. */
HF_API int hf_lock_release_async(hf_lock *lock, hf_done_fn *fn, void *arg,
                                 hf_error *err);
HF_API int hf_lock_release_after_async(hf_lock *lock, int ms, hf_done_fn *fn,
                                       void *arg, hf_error *err);
HF_API int hf_lock_extend_async(hf_lock *lock, int lease_ms, hf_done_fn *fn,
                                void *arg, hf_error *err);
HF_API int hf_semaphore_acquire_async(hf_semaphore *sem, int n, int wait_ms,
                                      hf_done_fn *fn, void *arg, hf_error *err);
HF_API int hf_semaphore_release_async(hf_semaphore *sem, int n, hf_done_fn *fn,
                                      void *arg, hf_error *err);
HF_API int hf_latch_wait_async(hf_latch *latch, int wait_ms, hf_done_fn *fn,
                               void *arg, hf_error *err);
HF_API int hf_latch_count_down_async(hf_latch *latch, hf_done_fn *fn, void *arg,
                                     hf_error *err);

/* *ret is set before fn is told, and must live until then. */
HF_API int hf_job_begin_async(hf_job **ret, hf_client *client, const char *name,
                              const hf_job_options *options, hf_done_fn *fn,
                              void *arg, hf_error *err);
HF_API int hf_job_end_async(hf_job *job, hf_done_fn *fn, void *arg,
                            hf_error *err);

/* Anything else that takes time: `work` runs on a thread of the library's, and
 * fn is told what it returned.  There are few of these threads: ask there, as
 * hf_semaphore_count or hf_list do, but do not wait.  hf_close waits for what
 * has begun; fn is not told then. */
typedef int hf_work_fn(void *arg, hf_error *err);
HF_API int hf_call_async(hf_client *client, hf_work_fn *work, hf_done_fn *fn,
                         void *arg, hf_error *err);

/* ---- who holds, who waits ---------------------------------------------- */

/* One claim in the line of a name.  Strings are lent for the call, "" where
 * the store does not know.  A semaphore and a latch have a place of their own,
 * without an owner, that says their count. */
typedef struct hf_place {
    const char *name;
    const char *kind;  /* "lock", "simple", "fair", "read", "write",
                          "permit", "semaphore", "latch"                   */
    const char *owner; /* as the store knows it                            */
    bool holds;        /* else it waits                                    */
    bool foreign;      /* no holdfast client is known by that owner        */
    uint64_t token;    /* of a holder; 0: unknown                          */
    int64_t lease_ms;  /* left; -1: unknown or without end                 */
    int64_t since_ms;  /* holds or waits for so long; -1: unknown          */
    const char *host, *program, *user, *why;
    int64_t pid;   /* 0: unknown                                           */
    int64_t count; /* semaphore: free permits; latch: what is left         */
    int permits;   /* PERMIT: how many it holds or waits for; else 0       */
    const char *client; /* whose record tells of it; "": nobody's          */
    bool lost;          /* it held, lost it, and has not released it yet;
                           `holds` is false                                */
} hf_place;

typedef void hf_place_fn(void *arg, const hf_place *place);

/* Tells `fn` of every claim on `name`, the holder first and the waiters in
 * order; of every name when NULL, as they are found: that takes as long as it
 * takes, timeout_ms is for one request of it.  Claims that only their clients'
 * records know come last in a line: those that were lost, and who waits where
 * the store keeps no line, as it was a second ago. */
HF_API int hf_list(hf_client *client, const char *name, hf_place_fn *fn,
                   void *arg, hf_error *err);

/* Every client keeps a record of what it holds and waits for in its store,
 * renewed about once a second while it changes: so others see those who wait
 * where the store keeps no line, and whether a wait can ever end.  What is over
 * within half a second is not told.  docs/presence.md */
typedef struct hf_presence {
    const char *client; /* its number, a UUID                              */
    const char *host, *program, *user, *why;
    int64_t pid;
    size_t holds, waits; /* how many                                       */
    int64_t waits_ms;    /* the longest of its waits; -1: none             */
} hf_presence;

typedef void hf_presence_fn(void *arg, const hf_presence *client);

/* Tells `fn` of every client of the store that is known.  HF_ECANNOT: the
 * store keeps no records. */
HF_API int hf_clients(hf_client *client, hf_presence_fn *fn, void *arg,
                      hf_error *err);

/* One of several who wait in a circle: it wants what the next one holds, or
 * works inside of, and the last one what the first one does.  Strings are lent for the call. */
typedef struct hf_stuck {
    const char *wants, *kind;
    const char *client, *host, *program, *user, *why;
    int64_t pid;
    uint64_t thread;  /* of its process, as that counts them; several threads
                         may be stuck, each in its circle                  */
    int64_t since_ms; /* waits for so long                                 */
    bool asked;       /* by HF_DEADLOCK: one of these will give way        */
} hf_stuck;

typedef void hf_deadlock_fn(void *arg, const hf_stuck *circle, size_t n);

/* Tells `fn` of every circle of claims that wait for each other, over all
 * processes that use the store, so that everybody who is in one is in one of
 * these.  Within about two seconds after the last of them began to wait it is
 * known.  A foreign or hidden client cannot be part of one, nor can a lock that
 * its handle owns, because any thread may release that, unless somebody works
 * inside of it (hf_options.inside).  HF_ECANNOT: the store keeps no records.
 *
 * Of those in a circle who asked by HF_DEADLOCK, the one whose wait began last
 * gives way, when it has seen the same circle twice: after two to five
 * seconds. */
HF_API int hf_deadlocks(hf_client *client, hf_deadlock_fn *fn, void *arg,
                        hf_error *err);

/* ---- numbers for monitoring -------------------------------------------- */

/* What this client has done since it was opened, as Prometheus would have it:
 * docs/metrics.md tells of each number.  Names of locks become labels, and
 * there must not be too many of them: the first HF_STATS_MAX names are counted
 * as they are, all others together as "other".  hf_options.stats_names has
 * patterns instead, in which * stands for anything: a name is counted under
 * the first that it matches, or as "other". */
#define HF_STATS_MAX 100

typedef enum hf_sample_type {
    HF_COUNTER,  /* only grows                                             */
    HF_GAUGE,    /* rises and falls                                        */
    HF_HISTOGRAM /* how many took how long                                 */
} hf_sample_type;

/* One number.  Everything is lent for the call. */
typedef struct hf_sample {
    const char *metric, *help; /* "holdfast_lock_held", a sentence         */
    hf_sample_type type;
    const hf_label *labels; /* "store" is the first, where it has one      */
    size_t n_labels;
    double value; /* COUNTER, GAUGE; seconds where the name says so        */

    /* HISTOGRAM: counts[i] of them took at most bounds[i] seconds, counts[n]
     * is all of them; sum is what they took together. */
    const double *bounds;
    const uint64_t *counts; /* one more than bounds                        */
    size_t n;
    double sum;
    uint64_t count;
} hf_sample;

typedef void hf_sample_fn(void *arg, const hf_sample *sample);

/* Tells `fn` every number, those of one metric after each other.  Asks nothing
 * of the store and takes no lock that an acquire waits for; other threads go
 * on counting meanwhile.  HF_EFORKED: a child counts what it does itself. */
HF_API int hf_stats(hf_client *client, hf_sample_fn *fn, void *arg,
                    hf_error *err);

/* The same as text, Prometheus' format 0.0.4: for an answer to a scrape, with
 * the type "text/plain; version=0.0.4", or for a file that node_exporter
 * collects.  The length, as snprintf counts it; it may have grown when it is
 * asked for again.  0: client is NULL, or the parent's.  Allocates nothing.
 * A text has each name once: who adds numbers of his own, about a whole store
 * say, gives them other names than these. */
HF_API size_t hf_stats_text(hf_client *client, char *buf, size_t size);

/* ---- the store itself -------------------------------------------------- */

enum hf_ability {
    HF_CAN_HOLD = 1,   /* the kind exists there                             */
    HF_CAN_ORDER = 2,  /* first come, first served                          */
    HF_CAN_WAKE = 4,   /* a release wakes; otherwise it polls               */
    HF_CAN_NOTICE = 8, /* a killed holder is noticed before its lease ends */
    HF_CAN_REPLICATE = 16 /* grants can wait for replicas                  */
};

HF_API unsigned hf_can(const hf_client *client, hf_kind kind);

typedef enum hf_verdict_level {
    HF_FACT, /* neither good nor bad: a version, a path */
    HF_GOOD,
    HF_WARN
} hf_verdict_level;

typedef void hf_fact_fn(void *arg, hf_verdict_level level, const char *what,
                        const char *text);

/* Examines the store and says in words which guarantee it gives. */
HF_API int hf_examine(hf_client *client, hf_fact_fn *fn, void *arg,
                      hf_error *err);

/* A line for the store's own list of users.  Lent for the call. */
typedef struct hf_rule {
    const char *servers; /* whose list: "redis", "sentinel"                */
    const char *text;    /* the password is a placeholder that no server
                            takes: put the real one there                  */
    const char *about;   /* what it opens, and for whom; sentences on lines */
} hf_rule;

typedef void hf_rule_fn(void *arg, const hf_rule *rule);

/* The least that a user of the store must be allowed so that a client opened
 * as this one was can do everything with names that begin with `prefix`; NULL
 * means all names.  HF_ECANNOT: the store has no such list. */
HF_API int hf_rights(hf_client *client, const char *prefix, hf_rule_fn *fn,
                     void *arg, hf_error *err);

/* The embedded store's address when none is given; the length, as snprintf
 * counts it. */
HF_API size_t hf_default_store(char *buf, size_t size);

/* Reads the address of a store as hf_open does, its parameters too, and opens
 * nothing.  HF_EURI, HF_ENO_STORE. */
HF_API int hf_uri_check(const char *uri, hf_error *err);

/* `uri` with every secret in it replaced by ***.  Works on what cannot be
 * parsed too.  The length, as snprintf counts it. */
HF_API size_t hf_uri_redact(const char *uri, char *buf, size_t size);

HF_API const char *hf_version(void); /* of the library that runs */

/* Whose memory the library takes: as malloc, realloc and free, with `arg`.
 * Before anything else of the library is called; HF_EUSAGE: it is too late, or
 * one of them is NULL.  What the stores' client libraries need they take
 * themselves. */
typedef struct hf_allocator {
    size_t size; /* sizeof(hf_allocator) */
    void *(*alloc)(void *arg, size_t n);
    void *(*resize)(void *arg, void *p, size_t n);
    void (*release)(void *arg, void *p);
    void *arg;
} hf_allocator;

HF_API int hf_set_allocator(const hf_allocator *allocator, hf_error *err);

/* The schemes this installation can open, "redis sqlite …".  Lent. */
HF_API const char *hf_stores(void);

#ifdef __cplusplus
}
#endif
#endif
