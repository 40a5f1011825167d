/* SPDX-License-Identifier: MIT
 *
 * worker.c - takes locks of all kinds, holds them for a while, writes to what
 * they protect, and notes down all of it.
 *
 * Moments are noted so that they err on the side of the library: a hold begins
 * when its answer was noted, what is left of it counts from before it was asked
 * for.  What is then still wrong is wrong. */
#include "worker.h"

#include "ground.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    HANDS_MAX = 16,
    IN_A_ROW = 8,
    FEW = 12,        /* names, where a store forgets   */
    MOST = 1 << 20,  /* records of a process           */
    WARM_MS = 5,     /* between two looks for cancels  */
    GRACE_MS = 5000, /* for threads and descriptors    */
    LONG_WAIT_MS = 30000
};

typedef struct worker worker;

/* A thread of the worker. */
typedef struct hand {
    worker *w;
    uint32_t n;
    pthread_t thread;
    chance c;

    /* What the canceller ends, and when. */
    pthread_mutex_t mu;
    hf_lock *lock; /* mu; one of these, or none */
    hf_semaphore *sem;
    hf_latch *latch;
    int64_t due; /* ns; 0: only at the end */
} hand;

struct worker {
    ground *g;
    hf_recorder *r;
    hf_client *client;
    uint32_t number;
    bool mortal;
    atomic_uint calls;
    atomic_bool done;
    hand hands[HANDS_MAX];
};

/* A claim, as the records know it. */
typedef struct claim {
    hand *h;
    hf_lock *lock;
    uint32_t name, id;
    hf_kind kind;
    uint64_t token;
    bool fixed; /* its lease is not renewed */
} claim;

static int64_t now(void) {
    return hf_recorder_now();
}

static void pass(int64_t ns) {
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    nanosleep(&t, NULL);
}

static int64_t ms(int64_t n) {
    return n * 1000000;
}

/* ---- records ----------------------------------------------------------- */

static void note(hand *h, hf_record rec) {
    rec.thread = h->n;
    hf_recorder_add(h->w->r, &rec);
}

static uint32_t next_call(hand *h) {
    return atomic_fetch_add(&h->w->calls, 1) + 1;
}

static void on_state(void *arg, hf_lock *lock, hf_state state, int why) {
    const claim *c = arg;
    (void)lock;
    if (state == HF_STATE_LOST)
        note(c->h, (hf_record){.saw = HF_SAW_LOST,
                               .kind = (uint8_t)c->kind,
                               .name = c->name,
                               .claim = c->id,
                               .token = c->token,
                               .code = why});
}

/* Asks the library what is left. */
static bool is_held(claim *c) {
    int64_t at = now(), left = hf_lock_remaining_ms(c->lock);
    if (!hf_lock_is_held(c->lock))
        return false;
    note(c->h, (hf_record){.saw = HF_SAW_HELD,
                           .at = at,
                           .kind = (uint8_t)c->kind,
                           .name = c->name,
                           .claim = c->id,
                           .value = ms(left)});
    return true;
}

/* ---- cancels ----------------------------------------------------------- */

static void expose(hand *h, hf_lock *lock, hf_semaphore *sem, hf_latch *latch,
                   int64_t due) {
    pthread_mutex_lock(&h->mu);
    h->lock = lock;
    h->sem = sem;
    h->latch = latch;
    h->due = due;
    pthread_mutex_unlock(&h->mu);
}

static void hide(hand *h) {
    expose(h, NULL, NULL, NULL, 0);
}

static void cancel_if_due(hand *h, bool over) {
    pthread_mutex_lock(&h->mu);
    if (over || (h->due != 0 && now() > h->due)) {
        if (h->lock != NULL)
            hf_lock_cancel(h->lock);
        if (h->sem != NULL)
            hf_semaphore_cancel(h->sem);
        if (h->latch != NULL)
            hf_latch_cancel(h->latch);
    }
    pthread_mutex_unlock(&h->mu);
}

static void *canceller(void *arg) {
    worker *w = arg;
    while (!atomic_load(&w->done)) {
        bool over = atomic_load(&w->g->over);
        for (int i = 0; i < w->g->threads; i++)
            cancel_if_due(&w->hands[i], over);
        pass(ms(WARM_MS));
    }
    return NULL;
}

static int64_t some_due(hand *h) {
    return chance_percent(&h->c, 5) ?
               now() + ms(chance_between(&h->c, 1, 300)) :
               0;
}

/* Mostly impatient; now and then as patient as one can be. */
static int some_wait(hand *h) {
    int dice = chance_below(&h->c, 100);
    return dice < 10 ? 0 :
           dice < 40 ? chance_between(&h->c, 1, 200) :
           dice < 90 ? chance_between(&h->c, 200, 3000) :
                       LONG_WAIT_MS;
}

/* Up to two leases, but short ones more often.  What a store forgets must be
 * held when it does, and wanted by others. */
static int64_t some_hold(hand *h) {
    const ground *g = h->w->g;
    int dice = chance_below(&h->c, 100);
    if (g->forgetful && dice >= 70)
        return ms(chance_below(&h->c, g->lease_ms / 2));
    return dice < 94 ? chance_below(&h->c, 5000) * INT64_C(1000) :
           dice < 98 ? ms(chance_below(&h->c, g->lease_ms / 4)) :
                       ms(chance_below(&h->c, 2 * g->lease_ms));
}

/* ---- locks ------------------------------------------------------------- */

static uint64_t as_visitor(const claim *c) {
    return (uint64_t)c->h->w->number << 32 | c->id;
}

/* Of shared kinds there are several holders, and nothing to be in order. */
static bool is_exclusive(const claim *c) {
    return c->kind == HF_LOCK || c->kind == HF_FAIR || c->kind == HF_WRITE;
}

static bool work(claim *c, bool enters) {
    ground *g = c->h->w->g;
    if (!is_held(c))
        return false;
    if (!is_exclusive(c))
        return true;
    ground_visit(g, c->name, as_visitor(c), enters);
    ground_write(g, c->h->w->r,
                 &(hf_record){.thread = c->h->n,
                              .kind = (uint8_t)c->kind,
                              .name = c->name,
                              .claim = c->id,
                              .token = c->token});
    return true;
}

static hf_record ask_of(claim *c, int verb) {
    return (hf_record){.saw = HF_SAW_ASK,
                       .verb = (uint8_t)verb,
                       .kind = (uint8_t)c->kind,
                       .name = c->name,
                       .claim = c->id,
                       .permits = c->kind == HF_PERMIT,
                       .call = next_call(c->h)};
}

static hf_record begin_acquire(claim *c, int wait_ms) {
    c->id = next_call(c->h);
    hf_record rec = ask_of(c, HF_DO_ACQUIRE);
    rec.until = wait_ms < 0 ? 0 : now() + ms(wait_ms);
    rec.value = c->fixed ? ms(c->h->w->g->lease_ms) : 0;
    note(c->h, rec);
    return rec;
}

static void end_acquire(claim *c, hf_record rec, int code) {
    rec.saw = HF_SAW_ANSWER;
    rec.code = code;
    rec.until = rec.value = 0;
    if (code == HF_OK) {
        rec.token = c->token = hf_lock_token(c->lock);
        rec.until = now();
        rec.until += ms(hf_lock_remaining_ms(c->lock));
    }
    note(c->h, rec);
    atomic_fetch_add(&c->h->w->g->by_code[(code < 0 ? -code : code + 32) % 64],
                     1);
}

/* "CLIENT:NUMBER": so that what is left in the store can be told to be of one
 * who was killed, or of one who should have cleaned up. */
static void sign(claim *c) {
    worker *w = c->h->w;
    char owner[128];
    if (w->number >= CLIENTS || w->g->clients[w->number][0] != '\0')
        return;
    hf_lock_owner(c->lock, owner, sizeof owner);
    owner[strcspn(owner, ":")] = '\0';
    snprintf(w->g->clients[w->number], sizeof w->g->clients[0], "%.47s", owner);
}

static hf_record begin_release(claim *c) {
    hf_record rec = ask_of(c, HF_DO_RELEASE);
    rec.token = c->token;
    note(c->h, rec);
    return rec;
}

static void end_call(hand *h, hf_record rec, int code) {
    rec.saw = HF_SAW_ANSWER;
    rec.code = code;
    note(h, rec);
}

static bool make_lock(claim *c) {
    char name[32];
    ground *g = c->h->w->g;
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    o.kind = c->kind;
    o.replicas = g->replicas;
    if (c->fixed)
        o.lease_ms = g->lease_ms;
    ground_name(c->name, name, sizeof name);
    if (hf_lock_new(&c->lock, c->h->w->client, name, &o, NULL) != HF_OK)
        return false;
    hf_lock_on_state(c->lock, on_state, c);
    return true;
}

static void free_lock(claim *c) {
    hf_lock_on_state(c->lock, NULL, NULL);
    hf_lock_free(c->lock);
}

/* Returns when the time is over, or the lock. */
static void stay(hand *h, claim *claims, int n) {
    int64_t end = now() + some_hold(h), left;
    bool held = true;
    for (int i = 0; i < n; i++)
        held = work(&claims[i], true) && held;
    while (held && (left = end - now()) > 0 && !atomic_load(&h->w->g->over)) {
        int64_t step = ms(chance_between(&h->c, 5, 100));
        pass(left < step ? left : step);
        for (int i = 0; i < n; i++)
            held = work(&claims[i], false) && held;
    }
}

static void use_lock(hand *h, uint32_t name, hf_kind kind) {
    claim c = {
        .h = h, .name = name, .kind = kind, .fixed = chance_percent(&h->c, 15)};
    if (!make_lock(&c))
        return;
    int wait_ms = some_wait(h);
    expose(h, c.lock, NULL, NULL, some_due(h));
    hf_record rec = begin_acquire(&c, wait_ms);
    int code = hf_lock_acquire(c.lock, wait_ms, NULL);
    end_acquire(&c, rec, code);
    hide(h);
    if (code == HF_OK) {
        sign(&c);
        stay(h, &c, 1);
        rec = begin_release(&c);
        end_call(h, rec, hf_lock_release(c.lock, NULL));
    }
    free_lock(&c);
}

/* Two names as one lock.  Its members wait one after the other, and so nobody
 * can say how long one alone should have: their asks have no deadline. */
static void use_both(hand *h) {
    claim c[2];
    hf_lock *both;
    hf_record rec[2];
    for (int i = 0; i < 2; i++) {
        c[i] =
            (claim){.h = h, .name = (uint32_t)(NAME_BOTH + i), .kind = HF_LOCK};
        if (!make_lock(&c[i])) {
            if (i > 0)
                free_lock(&c[0]);
            return;
        }
    }
    if (hf_multi_new(&both, (hf_lock *[]){c[0].lock, c[1].lock}, 2, NULL) !=
        HF_OK)
        goto out;
    expose(h, both, NULL, NULL, some_due(h));
    for (int i = 0; i < 2; i++)
        rec[i] = begin_acquire(&c[i], -1);
    int code = hf_lock_acquire(both, chance_between(&h->c, 0, 4000), NULL);
    for (int i = 0; i < 2; i++)
        end_acquire(&c[i], rec[i], code);
    hide(h);
    if (code == HF_OK) {
        stay(h, c, 2);
        for (int i = 0; i < 2; i++)
            rec[i] = begin_release(&c[i]);
        code = hf_lock_release(both, NULL);
        for (int i = 0; i < 2; i++)
            end_call(h, rec[i], code);
    }
    hf_lock_free(both);
out:
    for (int i = 0; i < 2; i++)
        free_lock(&c[i]);
}

/* ---- numbers ----------------------------------------------------------- */

static hf_record ask_number(hand *h, int verb, hf_kind kind, uint32_t name,
                            uint32_t id) {
    hf_record rec = {.saw = HF_SAW_ASK,
                     .verb = (uint8_t)verb,
                     .kind = (uint8_t)kind,
                     .name = name,
                     .claim = id,
                     .permits = kind == HF_SEMAPHORE,
                     .call = next_call(h)};
    return rec;
}

static bool for_certain(int code) {
    return hf_error_class(code) != HF_CLASS_NOT_DONE;
}

/* Nobody gives it back for us: asked until there is an answer.  One in doubt
 * stays away for good, for to give it twice would be worse. */
static void give_back(hand *h, hf_semaphore *sem, uint32_t id) {
    hf_record rec =
        ask_number(h, HF_DO_RELEASE, HF_SEMAPHORE, NAME_SEMAPHORE, id);
    int code;
    note(h, rec);
    while (code = hf_semaphore_release(sem, 1, NULL), !for_certain(code))
        pass(ms(20));
    if (code != HF_OK)
        atomic_fetch_add(&h->w->g->doubts, 1);
    end_call(h, rec, code);
}

static void use_semaphore(hand *h) {
    char name[32];
    hf_semaphore *sem;
    int wait_ms = some_wait(h);
    uint32_t id = next_call(h);
    ground_name(NAME_SEMAPHORE, name, sizeof name);
    if (hf_semaphore_new(&sem, h->w->client, name, NULL) != HF_OK)
        return;
    hf_record rec =
        ask_number(h, HF_DO_ACQUIRE, HF_SEMAPHORE, NAME_SEMAPHORE, id);
    rec.until = now() + ms(wait_ms);
    expose(h, NULL, sem, NULL, some_due(h));
    note(h, rec);
    int code = hf_semaphore_acquire(sem, 1, wait_ms, NULL);
    hide(h);
    rec.until = 0;
    end_call(h, rec, code);
    if (hf_error_class(code) == HF_CLASS_DOUBT)
        atomic_fetch_add(&h->w->g->doubts, 1);
    if (code == HF_OK) {
        pass(some_hold(h));
        give_back(h, sem, id);
    }
    hf_semaphore_free(sem);
}

static void await_latch(hand *h) {
    char name[32];
    hf_latch *latch;
    uint32_t n = atomic_load(&h->w->g->latch);
    int wait_ms = some_wait(h);
    if (n == 0)
        return;
    ground_name(n, name, sizeof name);
    if (hf_latch_new(&latch, h->w->client, name, NULL) != HF_OK)
        return;
    hf_record rec = ask_number(h, HF_DO_AWAIT, HF_LATCH, n, next_call(h));
    rec.until = now() + ms(wait_ms);
    expose(h, NULL, NULL, latch, some_due(h));
    note(h, rec);
    int code = hf_latch_wait(latch, wait_ms, NULL);
    hide(h);
    rec.until = 0;
    end_call(h, rec, code);
    hf_latch_free(latch);
}

static void count_down(hand *h, hf_latch *latch, uint32_t n) {
    hf_record rec = ask_number(h, HF_DO_COUNT, HF_LATCH, n, next_call(h));
    note(h, rec);
    end_call(h, rec, hf_latch_count_down(latch, NULL));
}

/* Sets a latch, lets others wait for it, and counts it down.  A step in doubt
 * may have counted: so it looks, and goes on until the latch is open. */
static void run_latch(hand *h) {
    static atomic_uint last;
    char name[32];
    hf_latch *latch;
    int64_t left = 1;
    uint32_t n = NAME_LATCH + atomic_fetch_add(&last, 1);
    ground_name(n, name, sizeof name);
    if (hf_latch_new(&latch, h->w->client, name, NULL) != HF_OK)
        return;
    hf_record rec = ask_number(h, HF_DO_SET, HF_LATCH, n, next_call(h));
    rec.value = LATCH_COUNT;
    note(h, rec);
    int code = hf_latch_set(latch, LATCH_COUNT, NULL);
    end_call(h, rec, code);
    if (code == HF_OK) /* else nobody may wait, and it may be there or not */
        atomic_store(&h->w->g->latch, n);
    while (left > 0 && for_certain(code)) {
        pass(ms(chance_below(&h->c, 60)));
        count_down(h, latch, n);
        while (hf_latch_count(latch, &left, NULL) != HF_OK)
            pass(ms(20));
    }
    hf_latch_free(latch);
}

/* ---- a hand ------------------------------------------------------------ */

static bool can(hand *h, hf_kind kind) {
    bool number = kind == HF_SEMAPHORE || kind == HF_LATCH;
    return !(number && h->w->g->forgetful) &&
           (hf_can(h->w->client, kind) & HF_CAN_HOLD) != 0;
}

/* One after the other, mostly alone with them. */
static void use_many(hand *h) {
    int many = h->w->g->forgetful ? FEW : MANY;
    for (int i = 0; i < IN_A_ROW && !atomic_load(&h->w->g->over); i++)
        use_lock(h, (uint32_t)(NAME_MANY + chance_below(&h->c, many)), HF_LOCK);
}

static void act(hand *h) {
    int dice = chance_below(&h->c, 100);
    if (h->w->g->forgetful && chance_percent(&h->c, 60))
        dice = 99;
    hf_kind rw = chance_percent(&h->c, 70) ? HF_READ : HF_WRITE;
    if (dice < 30)
        use_lock(h, (uint32_t)(NAME_LOCK + chance_below(&h->c, 3)), HF_LOCK);
    else if (dice < 42 && can(h, HF_FAIR))
        use_lock(h, (uint32_t)(NAME_FAIR + chance_below(&h->c, 2)), HF_FAIR);
    else if (dice < 57 && can(h, rw))
        use_lock(h, (uint32_t)(NAME_RW + chance_below(&h->c, 2)), rw);
    else if (dice < 67 && can(h, HF_PERMIT))
        use_lock(h, NAME_PERMIT, HF_PERMIT);
    else if (dice < 73)
        use_both(h);
    else if (dice < 78 && can(h, HF_SEMAPHORE) && !h->w->mortal)
        use_semaphore(h);
    else if (dice < 84 && can(h, HF_LATCH)) {
        if (h->n == 0 && h->w->number == 1)
            run_latch(h);
        else
            await_latch(h);
    } else
        use_many(h);
}

static void *live(void *arg) {
    hand *h = arg;
    while (!atomic_load(&h->w->g->over)) {
        act(h);
        pass(chance_below(&h->c, 4000) * INT64_C(1000));
    }
    return NULL;
}

/* ---- the process ------------------------------------------------------- */

/* The store may be away at this moment. */
static bool open_client(worker *w) {
    hf_options o = HF_OPTIONS_INIT;
    o.lease_ms = w->g->lease_ms;
    o.timeout_ms = w->g->timeout_ms;
    o.patience_ms = 4 * w->g->lease_ms;
    while (!atomic_load(&w->g->over)) {
        if (hf_open(&w->client, w->g->uri, &o, NULL) == HF_OK)
            return true;
        pass(ms(20));
    }
    return false;
}

static int entries(const char *path) {
    int n = 0;
    DIR *dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* How many more there are than before; threads may still be on their way
 * out. */
static int left(const char *path, int before) {
    int64_t by = now() + ms(GRACE_MS);
    int n;
    while ((n = entries(path) - before) > 0 && now() < by)
        pass(ms(2));
    return n;
}

static void note_left(worker *w, int sort, int n) {
    if (n > 0)
        hf_recorder_add(
            w->r,
            &(hf_record){.saw = HF_SAW_LEFTOVER, .code = sort, .value = n});
}

static void use_client(worker *w) {
    pthread_t guard;
    for (int i = 0; i < w->g->threads; i++) {
        hand *h = &w->hands[i];
        *h = (hand){.w = w,
                    .n = (uint32_t)i,
                    .c = chance_of(w->g->seed, w->number * 64 + (uint32_t)i)};
        pthread_mutex_init(&h->mu, NULL);
    }
    pthread_create(&guard, NULL, canceller, w);
    for (int i = 0; i < w->g->threads; i++)
        pthread_create(&w->hands[i].thread, NULL, live, &w->hands[i]);
    for (int i = 0; i < w->g->threads; i++)
        pthread_join(w->hands[i].thread, NULL);
    atomic_store(&w->done, true);
    pthread_join(guard, NULL);
    hf_close(w->client);
}

/* Under its name the file is whole: one that is killed while it makes it has
 * done nothing yet. */
static bool open_history(worker *w, const char *dir) {
    char made[512], path[512];
    snprintf(made, sizeof made, "%s/%u.new", dir, w->number);
    snprintf(path, sizeof path, "%s/%u.history", dir, w->number);
    return hf_recorder_open(&w->r, made, w->number, MOST) == HF_OK &&
           rename(made, path) == 0;
}

static void *nothing(void *arg) {
    return arg;
}

/* A sanitizer starts a thread of its own beside our first one. */
static void start_threads(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0)
        pthread_join(thread, NULL);
}

int worker_main(const char *dir, uint32_t number, bool mortal) {
    static worker w;
    char path[512];
    w.number = number;
    w.mortal = mortal;
    snprintf(path, sizeof path, "%s/ground", dir);
    w.g = ground_map(path);
    if (w.g == NULL || !open_history(&w, dir)) {
        fprintf(stderr, "worker %u: %s cannot be used\n", number, dir);
        return 1;
    }
    start_threads();
    int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    hf_recorder_add(w.r, &(hf_record){.saw = HF_SAW_BORN});
    if (open_client(&w))
        use_client(&w);
    note_left(&w, HF_LEFT_DESCRIPTOR, left("/proc/self/fd", files));
    note_left(&w, HF_LEFT_THREAD, left("/proc/self/task", threads));
    hf_recorder_close(w.r);
    ground_unmap(w.g);
    return 0;
}
