/* SPDX-License-Identifier: MIT
 *
 * program.c - a program under test: threads that take locks of every kind,
 * hold them for a while, write to something that checks tokens, give them
 * back, change their minds, and do what they must not.
 *
 * All of it is written down as a user sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

enum {
    TIMEOUT_MS = 1000,
    MOST_WORKERS = 3,
    MOST_NAMES = 8,
    PAIRS = 100, /* names from here on are taken two at a time */
    HOT = 300
};

/* A handle of a worker's, and the hold that it has. */
typedef struct handle {
    hf_lock *lock;
    sim_program *program;
    hf_kind kind;
    uint32_t name, claim;
    uint64_t token; /* once it is known */
    int permits, lease_ms;
    bool lost;    /* we were told */
    bool waiting; /* a canceller may see to it */
    bool begins;  /* it owns, and calls are begun and awaited */
    bool over;    /* the last one is, and came to… */
    int rc;
} handle;

typedef struct sim_worker {
    sim_program *program;
    sim_fiber *fiber;
    handle handles[HF_KINDS][MOST_NAMES], hot;
    handle looped[HF_KINDS]; /* one for each kind, on the first name */
    hf_semaphore *semaphores[2];
    bool permits_set[2];
    hf_latch *latch;
    uint32_t latch_number;
    bool in_latch;
} sim_worker;

sim_scene sim_scene_now;
#define scene sim_scene_now

/* ---- writing down ------------------------------------------------------ */

static const char *const saws[] = {
    "?",    "ask",    "answer", "lost",    "held",  "write",  "placed",
    "born", "killed", "paused", "resumed", "fault", "healed", "leftover"};
static const char *const doings[] = {"",      "acquire", "release",
                                     "await", "count",   "set"};

void sim_record(hf_record r) {
    if (!r.at)
        r.at = sim_now();
    if (r.at == 0)
        r.at = 1;
    if (hf_history_add(&scene.history, &r) < 0)
        abort();
    sim_trace("%u.%u %s %s name %u kind %u claim %u: %d token %llu until %.6f "
              "value %lld",
              r.process, r.thread, saws[r.saw], doings[r.verb], r.name, r.kind,
              r.claim, r.code, (unsigned long long)r.token,
              (double)r.until / 1e9, (long long)r.value);
}

/* Where the store forgets, a member may go to another while the rest is waited
 * for, which nobody who has both can tell; and there may be no permits. */
static bool is_unclear(uint32_t name) {
    return scene.unsafe &&
           (name / 100 == PAIRS / 100 || name / 100 == HF_PERMIT);
}

static void note(sim_program *p, hf_record r) {
    if (p->process.dead || is_unclear(r.name))
        return;
    r.process = p->process.number;
    r.thread = sim_self() ? sim_thread_of(sim_self()) : 0;
    sim_record(r);
}

static void complain(const char *why) {
    if (!scene.broken++)
        scene.why = why;
    sim_trace("broken: %s", why);
}

static uint32_t begin_call(sim_program *p) {
    *sim_mark(sim_self()) = ++p->calls;
    scene.operations++;
    return p->calls;
}

/* A moment so many ms later, by the process's clock. */
static hf_time later_by(const sim_program *p, hf_time from, int64_t ms) {
    return sim_true(&p->process, sim_local(&p->process, from) + ms * HF_MS);
}

static hf_time in_ms(const sim_program *p, int64_t ms) {
    return later_by(p, sim_now(), ms);
}

/* ---- the fenced resource ----------------------------------------------- */

typedef struct write {
    sim_program *program;
    uint32_t thread, name, claim;
    uint64_t token;
} write;

static uint64_t *mark_of(uint32_t name) {
    return &scene.fence[name / 100 * MOST_NAMES % 64 + name % MOST_NAMES];
}

static void write_arrives(void *arg) {
    write *one = arg;
    uint64_t *mark = mark_of(one->name);
    bool ok = one->token >= *mark;

    if (ok)
        *mark = one->token;
    sim_record((hf_record){.process = one->program->process.number,
                           .thread = one->thread,
                           .saw = HF_SAW_WRITE,
                           .name = one->name,
                           .claim = one->claim,
                           .token = one->token,
                           .code = ok ? HF_OK : HF_ELOST});
    free(one);
}

static void write_to_it(handle *h, uint64_t token) {
    write *one = malloc(sizeof *one);

    if (!one)
        abort();
    *one = (write){h->program, sim_thread_of(sim_self()), h->name, h->claim,
                   token};
    sim_after(sim_between(100000, 5 * HF_MS), write_arrives, one);
}

/* ---- locks ------------------------------------------------------------- */

static void on_state(void *arg, hf_lock *lock, hf_state state, int why) {
    handle *h = arg;

    (void)lock;
    if (state != HF_STATE_LOST)
        return;
    h->lost = true;
    note(h->program, (hf_record){.saw = HF_SAW_LOST,
                                 .kind = (uint8_t)h->kind,
                                 .name = h->name,
                                 .claim = h->claim,
                                 .token = h->token,
                                 .code = why});
}

static uint32_t class_of(hf_kind kind) {
    return kind == HF_SPIN ? HF_LOCK : kind == HF_READ ? HF_WRITE : kind;
}

static handle *handle_of(sim_worker *k, hf_kind kind, uint32_t i) {
    static const char *const words[HF_KINDS] = {[HF_LOCK] = "lock",
                                                [HF_FAIR] = "fair",
                                                [HF_WRITE] = "file",
                                                [HF_PERMIT] = "permit"};
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    handle *h = &k->handles[kind][i];
    char name[40];

    if (h->lock)
        return h;
    o.kind = kind;
    if (sim_one_in(3))
        o.lease_ms = h->lease_ms =
            (int)sim_between(scene.lease_ms / 2, scene.lease_ms);
    else if (sim_one_in(10))
        o.max_hold_ms = (int)sim_between(500, 5000);
    if (sim_one_in(3))
        o.flags |= HF_NO_COHORT;
    if ((kind == HF_READ || kind == HF_WRITE) && sim_one_in(2))
        o.flags |= HF_WRITERS_FIRST;
    if (kind == HF_PERMIT)
        o.permits = h->permits = (int)sim_between(1, 2);
    h->program = k->program;
    h->kind = kind;
    h->name = class_of(kind) * 100 + i;
    snprintf(name, sizeof name, "%s-%u", words[class_of(kind)], i);
    if (hf_lock_new(&h->lock, k->program->client, name, &o, NULL) < 0)
        abort();
    hf_lock_on_state(h->lock, on_state, h);
    return h;
}

static int pick_wait(void) {
    switch (sim_below(8)) {
    case 0:
    case 1:
        return 0;
    case 2:
        return (int)sim_between(1, 50);
    case 3:
        return sim_one_in(2) ? 20000 : 60000;
    default:
        return (int)sim_between(50, 4000);
    }
}

static hf_record about(const handle *h, hf_saw saw, hf_verb verb,
                       uint32_t call) {
    return (hf_record){.saw = (uint16_t)saw,
                       .verb = (uint8_t)verb,
                       .call = call,
                       .kind = (uint8_t)h->kind,
                       .name = h->name,
                       .claim = h->claim,
                       .permits = h->permits};
}

static void ask(handle *h, uint32_t call, int wait_ms) {
    hf_record r = about(h, HF_SAW_ASK, HF_DO_ACQUIRE, call);

    r.until = in_ms(h->program, wait_ms ? wait_ms : TIMEOUT_MS);
    /* By the slowest clock, and what the answer takes. */
    r.value = h->lease_ms * HF_MS + h->lease_ms * HF_MS / 100;
    note(h->program, r);
}

static void answer(handle *h, uint32_t call, int rc) {
    hf_record r = about(h, HF_SAW_ANSWER, HF_DO_ACQUIRE, call);
    hf_time now = sim_now();

    r.code = rc;
    if (rc == HF_OK) {
        h->token = r.token = hf_lock_token(h->lock);
        r.until = later_by(h->program, now, hf_lock_remaining_ms(h->lock));
    }
    note(h->program, r);
}

static void look(handle *h) {
    hf_record r = about(h, HF_SAW_HELD, 0, 0);
    int64_t left;

    r.at = sim_now();
    if (!hf_lock_is_held(h->lock))
        return;
    left = hf_lock_remaining_ms(h->lock);
    if (left <= 0)
        return;
    r.value = later_by(h->program, r.at, left) - r.at;
    note(h->program, r);
}

/* Once more, and once less. */
static void reenter(handle *h) {
    uint64_t before = hf_lock_token(h->lock), token;
    int rc, holds;

    if (!before || h->kind == HF_PERMIT)
        return;
    rc = hf_lock_try(h->lock, NULL);
    holds = hf_lock_holds(h->lock);
    token = hf_lock_token(h->lock); /* if it is held now, it was so before */
    if (rc == HF_OK) {
        if (token && token != before)
            complain("a token changed when its owner came again");
        if (token && holds != 2)
            complain("two acquires are not two holds");
        rc = hf_lock_release(h->lock, NULL);
        if (rc != HF_OK && rc != HF_ELOST)
            complain("a hold that was entered again cannot be left");
    } else if (rc != HF_ELOST && !h->program->process.dead) {
        complain("an owner was refused");
    }
}

static void do_something(handle *h) {
    uint64_t token;

    switch (sim_below(8)) {
    case 0:
        reenter(h);
        break;
    case 1:
        if (!h->lease_ms)
            hf_lock_extend(h->lock, scene.lease_ms, NULL);
        break;
    case 2:
    case 3:
    case 4:
        if (hf_lock_is_held(h->lock) && (token = hf_lock_token(h->lock)) &&
            h->kind != HF_READ && h->kind != HF_PERMIT)
            write_to_it(h, token);
        break;
    default:
        break;
    }
}

static void hold(handle *h) {
    sim_program *p = h->program;
    hf_time lease = hf__sooner(scene.lease_ms * HF_MS, 3 * HF_SECOND);
    hf_time left =
        sim_one_in(3) ? sim_between(0, 2 * lease) : sim_between(0, lease / 8);

    while (left > 0 && !p->process.dead) {
        hf_time piece = sim_between(0, lease / 3);

        piece = piece < left ? piece : left;
        sim_sleep(piece);
        left -= piece;
        look(h);
        if (h->lost && !sim_one_in(4))
            return;
        do_something(h);
    }
}

/* ---- as an event loop does --------------------------------------------- */

static void on_over(void *arg, int rc, const hf_error *err) {
    handle *h = arg;

    (void)err;
    if (h->over)
        complain("a call was told twice");
    h->over = true;
    h->rc = rc;
}

/* Goes round until the call is over; the others of this program do, too, and
 * whoever is first is told for all. */
static int await(handle *h, int begun) {
    if (begun != HF_OK)
        complain("a call could not be begun");
    while (!h->over) {
        hf_process(h->program->client);
        sim_sleep(HF_MS);
    }
    return h->rc;
}

static int acquire(handle *h, int wait_ms) {
    if (!h->begins)
        return hf_lock_acquire(h->lock, wait_ms, NULL);
    h->over = false;
    return await(h, hf_lock_acquire_async(h->lock, wait_ms, on_over, h, NULL));
}

static int release(handle *h) {
    if (!h->begins)
        return hf_lock_release(h->lock, NULL);
    h->over = false;
    return await(h, hf_lock_release_async(h->lock, on_over, h, NULL));
}

/* ---- taking and giving back -------------------------------------------- */

static void give_back(handle *h) {
    uint32_t call = begin_call(h->program);
    hf_record r = about(h, HF_SAW_ASK, HF_DO_RELEASE, call);

    note(h->program, r);
    if (h->kind != HF_FAIR && sim_one_in(16)) /* seen a little later */
        r.code = hf_lock_release_after(h->lock, (int)sim_between(1, 200), NULL);
    else
        r.code = release(h);
    r.saw = HF_SAW_ANSWER;
    note(h->program, r);
    if (r.code == HF_ENOT_OWNER)
        complain("the owner was told that it is none");
}

/* false: it was not to be had. */
static bool take(handle *h, int wait_ms) {
    sim_program *p = h->program;
    uint32_t call = begin_call(p);
    int rc;

    h->claim = ++p->claims;
    h->token = 0;
    h->lost = false;
    ask(h, call, wait_ms);
    h->waiting = true;
    rc = acquire(h, wait_ms);
    h->waiting = false;
    answer(h, call, rc);
    return rc == HF_OK;
}

static void use_lock(sim_worker *k, hf_kind kind) {
    handle *h = handle_of(k, kind, (uint32_t)sim_below((uint64_t)scene.names));

    if (take(h, pick_wait())) {
        hold(h);
        give_back(h);
    }
}

/* On a name that threads want, too. */
static void use_loop(sim_worker *k) {
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_WRITE, HF_READ};
    static const char *const names[HF_KINDS] = {
        [HF_LOCK] = "lock-0", [HF_FAIR] = "fair-0", [HF_WRITE] = "file-0"};
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    handle *h = &k->looped[o.kind = kinds[sim_below(4)]];

    if (!h->lock) {
        *h = (handle){.program = k->program,
                      .kind = o.kind,
                      .name = class_of(o.kind) * 100,
                      .begins = true};
        o.flags = HF_OWNER_HANDLE;
        if (hf_lock_new(&h->lock, k->program->client, names[class_of(o.kind)],
                        &o, NULL) < 0)
            abort();
        hf_lock_on_state(h->lock, on_state, h);
    }
    if (take(h, pick_wait())) {
        hold(h);
        give_back(h);
    }
}

/* A writer takes the read side as well and releases the write side first. */
static void use_file(sim_worker *k) {
    uint32_t i = (uint32_t)sim_below((uint64_t)scene.names);
    handle *writer = handle_of(k, HF_WRITE, i);
    handle *reader = handle_of(k, HF_READ, i);
    bool reads;

    if (!take(writer, pick_wait()))
        return;
    hold(writer);
    reads = take(reader, sim_one_in(2) ? 0 : 1000);
    give_back(writer);
    if (reads) {
        hold(reader);
        give_back(reader);
    }
}

/* Taken and given back as fast as can be, by all threads of a process: then a
 * hold passes from one to the next without the store. */
static void use_hot(sim_worker *k) {
    handle *h = &k->hot;

    if (!h->lock) {
        h->program = k->program;
        h->name = HOT;
        if (hf_lock_new(&h->lock, k->program->client, "hot", NULL, NULL) < 0)
            abort();
        hf_lock_on_state(h->lock, on_state, h);
    }
    for (int i = 0; i < 10 && !k->program->process.dead; i++)
        if (take(h, 4000)) {
            uint64_t token = hf_lock_token(h->lock);

            sim_sleep(sim_between(0, HF_MS / 2));
            if (token && sim_one_in(4))
                write_to_it(h, token);
            give_back(h);
        }
}

/* Of what it does not hold, through a handle of its own or another's. */
static void misuse(sim_worker *k) {
    sim_program *p = k->program;
    sim_worker *other = &p->workers[sim_below((uint64_t)p->n_workers)];
    static const hf_kind kinds[] = {HF_LOCK, HF_FAIR, HF_WRITE, HF_READ};
    hf_kind kind = kinds[sim_below(4)];
    uint32_t i = (uint32_t)sim_below((uint64_t)scene.names);
    handle *h = other->handles[kind][i].lock ? &other->handles[kind][i] :
                                               handle_of(k, kind, i);
    uint32_t call = begin_call(p);
    hf_record r = about(h, HF_SAW_ASK, HF_DO_RELEASE, call);

    r.claim = ++p->claims;
    note(p, r);
    r.code = hf_lock_release(h->lock, NULL);
    r.saw = HF_SAW_ANSWER;
    note(p, r);
    if (r.code != HF_ENOT_OWNER)
        complain("somebody released what it does not hold");
}

static void on_both(void *arg, hf_lock *lock, hf_state state, int why) {
    handle *both = arg;

    for (int i = 0; i < 2; i++)
        on_state(&both[i], lock, state, why);
}

/* Two at once.  A user sees only that it has both, so only that is written
 * down; and they are locks that nobody takes alone, who would be kept out of
 * one for no reason that is known. */
static void use_both(sim_worker *k) {
    sim_program *p = k->program;
    hf_lock_options o = HF_LOCK_OPTIONS_INIT;
    handle both[2] = {0};
    hf_lock *members[2], *multi;
    uint32_t first = (uint32_t)sim_below(3), calls[2];
    int rc;

    for (uint32_t i = 0; i < 2; i++) {
        char name[40];

        both[i] = (handle){.program = p,
                           .kind = HF_LOCK,
                           .name = PAIRS + (first + i) % 3,
                           .claim = ++p->claims};
        snprintf(name, sizeof name, "pair-%u", both[i].name);
        if (hf_lock_new(&both[i].lock, p->client, name, &o, NULL) < 0)
            abort();
        members[i] = both[i].lock;
    }
    if (hf_multi_new(&multi, members, 2, NULL) < 0)
        abort();
    hf_lock_on_state(multi, on_both, both);
    rc = hf_lock_acquire(multi, pick_wait(), NULL);
    for (int i = 0; i < 2 && rc == HF_OK; i++) {
        calls[i] = begin_call(p);
        ask(&both[i], calls[i], 1);
        answer(&both[i], calls[i], rc);
    }
    if (rc == HF_OK) {
        sim_sleep(sim_between(0, HF_SECOND));
        for (int i = 0; i < 2; i++) {
            if (!both[i].lost) /* it may be one of them only */
                look(&both[i]);
            note(p, about(&both[i], HF_SAW_ASK, HF_DO_RELEASE,
                          calls[i] = begin_call(p)));
        }
        rc = hf_lock_release(multi, NULL);
        for (int i = 0; i < 2; i++) {
            hf_record r =
                about(&both[i], HF_SAW_ANSWER, HF_DO_RELEASE, calls[i]);

            r.code = rc;
            note(p, r);
        }
    }
    hf_lock_free(multi);
    for (int i = 0; i < 2; i++)
        hf_lock_free(both[i].lock);
}

/* ---- numbers ----------------------------------------------------------- */

static hf_semaphore *semaphore_of(sim_worker *k, int i) {
    static const char *const names[] = {"semaphore-0", "permit-0"};

    if (!k->semaphores[i] &&
        hf_semaphore_new(&k->semaphores[i], k->program->client, names[i],
                         NULL) < 0)
        abort();
    return k->semaphores[i];
}

/* Whether there are some now. */
static bool set_permits(sim_worker *k, int i) {
    hf_record r = {.saw = HF_SAW_ASK,
                   .verb = HF_DO_SET,
                   .call = begin_call(k->program),
                   .kind = (uint8_t)(i ? HF_PERMIT : HF_SEMAPHORE),
                   .name = i ? HF_PERMIT * 100 : HF_SEMAPHORE * 100,
                   .value = SIM_PERMITS};

    note(k->program, r);
    r.code = hf_semaphore_set(semaphore_of(k, i), SIM_PERMITS, 0, NULL);
    r.saw = HF_SAW_ANSWER;
    note(k->program, r);
    return r.code >= 0;
}

static bool have_permits(sim_worker *k, int i) {
    return (k->permits_set[i] && !sim_one_in(4)) ||
           (k->permits_set[i] = set_permits(k, i));
}

static void use_permits(sim_worker *k) {
    handle *h = handle_of(k, HF_PERMIT, 0);

    if (have_permits(k, 1) && take(h, pick_wait())) {
        hold(h);
        give_back(h);
    }
}

static void use_semaphore(sim_worker *k) {
    sim_program *p = k->program;
    hf_semaphore *sem = semaphore_of(k, 0);
    int wait_ms = pick_wait(), n = (int)sim_between(1, 2);
    hf_record r = {
        .kind = HF_SEMAPHORE, .name = HF_SEMAPHORE * 100, .permits = n};

    if (!have_permits(k, 0))
        return;
    r.verb = HF_DO_ACQUIRE;
    r.saw = HF_SAW_ASK;
    r.call = begin_call(p);
    r.claim = ++p->claims;
    r.until = in_ms(p, wait_ms ? wait_ms : TIMEOUT_MS);
    note(p, r);
    r.code = hf_semaphore_acquire(sem, n, wait_ms, NULL);
    r.saw = HF_SAW_ANSWER;
    r.until = r.code == HF_OK ? 1000000 * HF_SECOND : 0;
    note(p, r);
    if (r.code != HF_OK || p->process.dead)
        return;
    sim_sleep(sim_between(0, HF_SECOND));
    r.verb = HF_DO_RELEASE;
    r.saw = HF_SAW_ASK;
    r.call = begin_call(p);
    r.until = r.value = r.code = 0;
    note(p, r);
    r.code = hf_semaphore_release(sem, n, NULL);
    r.saw = HF_SAW_ANSWER;
    note(p, r);
}

/* ---- the latch --------------------------------------------------------- */

/* One after the other, each used once: set by one, counted down by as many as
 * it was set to, waited for by the rest. */
static hf_latch *latch_of(sim_worker *k, uint32_t number) {
    char name[40];

    if (k->latch && k->latch_number == number)
        return k->latch;
    hf_latch_free(k->latch);
    snprintf(name, sizeof name, "latch-%u", number);
    k->latch_number = number;
    if (hf_latch_new(&k->latch, k->program->client, name, NULL) < 0)
        abort();
    return k->latch;
}

static void next_barrier(uint32_t after) {
    if (scene.barrier.number != after)
        return;
    memset(&scene.barrier, 0, sizeof scene.barrier);
    scene.barrier.number = after + 1;
}

static void set_latch(sim_worker *k, uint32_t number, hf_record r) {
    struct sim_barrier *b = &scene.barrier;
    int count = b->count = (int)sim_between(1, 4);
    hf_latch *latch = latch_of(k, number);

    r.value = count;
    r.verb = HF_DO_SET;
    note(k->program, r);
    r.code = hf_latch_set(latch, count, NULL);
    r.saw = HF_SAW_ANSWER;
    note(k->program, r);
    if (r.code == HF_OK && !k->program->process.dead)
        b->is_set = true;
    else
        next_barrier(number);
}

static void count_latch(sim_worker *k, uint32_t number, hf_record r) {
    struct sim_barrier *b = &scene.barrier;
    hf_latch *latch;

    b->begun++;
    latch = latch_of(k, number);
    r.verb = HF_DO_COUNT;
    note(k->program, r);
    r.code = hf_latch_count_down(latch, NULL);
    r.saw = HF_SAW_ANSWER;
    note(k->program, r);
    if (b->number == number && ++b->ended == b->count)
        next_barrier(number);
}

static void await_latch(sim_worker *k, uint32_t number, hf_record r) {
    hf_latch *latch = latch_of(k, number);
    int wait_ms = pick_wait();

    r.verb = HF_DO_AWAIT;
    r.until = in_ms(k->program, wait_ms ? wait_ms : TIMEOUT_MS);
    note(k->program, r);
    k->in_latch = true;
    r.code = hf_latch_wait(latch, wait_ms, NULL);
    k->in_latch = false;
    r.saw = HF_SAW_ANSWER;
    r.until = 0;
    note(k->program, r);
}

static void use_latch(sim_worker *k) {
    struct sim_barrier *b = &scene.barrier;
    uint32_t number = b->number;
    hf_record r = {.saw = HF_SAW_ASK,
                   .kind = HF_LATCH,
                   .call = begin_call(k->program),
                   .name = HF_LATCH * 100 + number,
                   .claim = ++k->program->claims};

    if (b->count == 0)
        set_latch(k, number, r);
    else if (b->is_set && b->begun < b->count && sim_one_in(2))
        count_latch(k, number, r);
    else if (b->is_set)
        await_latch(k, number, r);
}

/* ---- threads ----------------------------------------------------------- */

static void act(sim_worker *k) {
    if (sim_one_in(100))
        k->program->hot_until = sim_now() + 300 * HF_MS;
    if (sim_now() < k->program->hot_until) {
        use_hot(k);
        return;
    }
    switch (sim_below(22)) {
    case 0:
        misuse(k);
        break;
    case 20:
    case 21:
        use_loop(k);
        break;
    case 1:
        use_lock(k, HF_SPIN);
        break;
    case 2:
        use_both(k);
        break;
    case 3:
    case 4:
        use_semaphore(k);
        break;
    case 5:
    case 6:
        use_latch(k);
        break;
    case 7:
    case 8:
        use_permits(k);
        break;
    case 9:
        use_file(k);
        break;
    case 10:
        use_lock(k, HF_WRITE);
        break;
    case 11:
    case 12:
    case 13:
        use_lock(k, HF_READ);
        break;
    case 14:
    case 15:
    case 16:
        use_lock(k, HF_FAIR);
        break;
    default:
        use_lock(k, HF_LOCK);
        break;
    }
}

static void *worker_run(void *arg) {
    sim_worker *k = arg;
    sim_program *p = k->program;

    while (!scene.stops && !p->process.dead) {
        act(k);
        if (!p->process.dead)
            sim_sleep(sim_one_in(2) ? sim_between(0, HF_SECOND) :
                                      sim_between(0, 20 * HF_MS));
    }
    p->running--;
    return NULL;
}

static void cancel_waits(sim_worker *k) {
    for (int kind = 0; kind < HF_KINDS; kind++)
        for (int i = 0; i < MOST_NAMES; i++)
            if (k->handles[kind][i].waiting)
                hf_lock_cancel(k->handles[kind][i].lock);
    for (int kind = 0; kind < HF_KINDS; kind++)
        if (k->looped[kind].waiting)
            hf_lock_cancel(k->looped[kind].lock);
    if (k->hot.waiting)
        hf_lock_cancel(k->hot.lock);
    if (k->in_latch)
        hf_latch_cancel(k->latch);
    if (k->semaphores[0])
        hf_semaphore_cancel(k->semaphores[0]);
}

static void close_worker(sim_worker *k) {
    for (int kind = 0; kind < HF_KINDS; kind++)
        for (int i = 0; i < MOST_NAMES; i++)
            hf_lock_free(k->handles[kind][i].lock);
    for (int kind = 0; kind < HF_KINDS; kind++)
        hf_lock_free(k->looped[kind].lock);
    for (int i = 0; i < 2; i++)
        hf_semaphore_free(k->semaphores[i]);
    hf_latch_free(k->latch);
    hf_lock_free(k->hot.lock);
}

/* Changes minds while the others work, and a ghost's all the time. */
static void wait_for_workers(sim_program *p) {
    while (p->running) {
        sim_suspend(sim_now() + (p->process.dead ?
                                     100 * HF_MS :
                                     sim_between(0, 4 * HF_SECOND)));
        for (int i = 0; i < p->n_workers; i++)
            if (p->process.dead || sim_one_in(8))
                cancel_waits(&p->workers[i]);
    }
    for (int i = 0; i < p->n_workers; i++)
        sim_world.thread_join((pthread_t)(uintptr_t)p->workers[i].fiber);
}

static void *program_run(void *arg) {
    sim_program *p = arg;
    hf_options o = HF_OPTIONS_INIT;

    o.lease_ms = scene.lease_ms;
    o.timeout_ms = TIMEOUT_MS;
    o.patience_ms = (int)sim_between(1000, 15000);
    if (sim_open(&p->client, &p->link, &o, NULL) < 0)
        abort();
    note(p, (hf_record){.saw = HF_SAW_BORN});
    p->n_workers = p->running = (int)sim_between(1, MOST_WORKERS);
    p->workers = calloc((size_t)p->n_workers, sizeof *p->workers);
    if (!p->workers)
        abort();
    for (int i = 0; i < p->n_workers; i++) {
        p->workers[i].program = p;
        p->workers[i].fiber =
            sim_spawn(&p->process, worker_run, &p->workers[i]);
    }
    wait_for_workers(p);
    for (int i = 0; i < p->n_workers; i++)
        close_worker(&p->workers[i]);
    free(p->workers);
    p->workers = NULL;
    hf_close(p->client);
    p->client = NULL;
    p->ended = true;
    return NULL;
}

void sim_program_begin(sim_program *p, uint32_t number) {
    memset(p, 0, sizeof *p);
    p->process.number = number;
    p->process.offset = sim_between(HF_SECOND, 100000 * HF_SECOND);
    p->process.ppm = (int32_t)sim_between(-4000, 4000);
    sim_spawn(&p->process, program_run, p);
}

void sim_program_kill(sim_program *p) {
    sim_record((hf_record){.saw = HF_SAW_KILLED, .process = p->process.number});
    p->process.dead = true;
    p->process.paused_until = 0;
    if (p->link)
        sim_link_kill(p->link);
}
