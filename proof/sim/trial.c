/* SPDX-License-Identifier: MIT
 *
 * trial.c - the nemesis, and the judgement.
 *
 * For the most part of a trial things go wrong.  Then everything is healed,
 * the programs come to their ends, and nothing of them may be left. */
#include "trial.h"

#include <stdio.h>
#include <string.h>

#include "../checker.h"

enum {
    TROUBLE_S = 90,     /* so long things go wrong */
    ENDING_S = 120,     /* by then everybody has come to an end */
    SETTLED_MS = 13000, /* and a lease */
    PROMPT_MS = 1000,
    STEP_BACK_MS = 25000,
    MOST_PROGRAMS = 96,
    PAUSE_S = 8
};

#define US INT64_C(1000)

#define GOOD_NET                                                               \
    { .least = 80 * US, .most = 3 * HF_MS }
#define BAD_NET                                                                \
    {                                                                          \
        .least = 80 * US, .most = 3 * HF_MS, .slow = 10,                       \
        .slowest = 600 * HF_MS, .lose_request = 10, .lose_reply = 10,          \
        .lose_notice = 20, .repeat = 10                                        \
    }
#define CALM_WEATHER                                                           \
    { .preempt = 50, .late = 200, .lateness = HF_MS }
#define ROUGH_WEATHER                                                          \
    { .preempt = 20, .late = 50, .lateness = 5 * HF_MS }

const sim_profile sim_profiles[] = {
    {.name = "calm",
     .text = "nothing goes wrong",
     .network = GOOD_NET,
     .weather = CALM_WEATHER,
     .idle_ms = 400},
    {.name = "lossy",
     .text = "messages are lost, late and repeated",
     .network = BAD_NET,
     .weather = ROUGH_WEATHER,
     .idle_ms = 10000},
    {.name = "deaths",
     .text = "processes are killed and stopped",
     .network = GOOD_NET,
     .weather = ROUGH_WEATHER,
     .kill = 15,
     .pause = 10,
     .idle_ms = 7000},
    {.name = "cuts",
     .text = "connections are cut, clients cut off, the server restarts",
     .network = GOOD_NET,
     .weather = ROUGH_WEATHER,
     .cut = 10,
     .partition = 15,
     .restart = 25,
     .idle_ms = 10000},
    {.name = "storm",
     .text = "all of these at once",
     .network = BAD_NET,
     .weather = ROUGH_WEATHER,
     .kill = 20,
     .pause = 15,
     .cut = 15,
     .partition = 20,
     .restart = 40,
     .idle_ms = 15000},
    {.name = "amnesia",
     .text = "the server restarts and knows nothing",
     .network = BAD_NET,
     .weather = ROUGH_WEATHER,
     .kill = 40,
     .forget = 25,
     .unsafe = true,
     .idle_ms = 30000},
    {.name = "failover",
     .text = "a copy that lacks the last writes takes over",
     .network = BAD_NET,
     .weather = ROUGH_WEATHER,
     .kill = 40,
     .failover = 20,
     .unsafe = true,
     .idle_ms = 30000},
    {.name = "clock",
     .text = "the server's clock jumps",
     .network = GOOD_NET,
     .weather = ROUGH_WEATHER,
     .kill = 40,
     .step = 15,
     .unsafe = true,
     .idle_ms = 30000},
};
const size_t sim_n_profiles = sizeof sim_profiles / sizeof sim_profiles[0];

static struct {
    const sim_profile *profile;
    sim_program programs[MOST_PROGRAMS];
    uint32_t n;
    bool trouble;
} t;

bool sim_is_possible(const sim_profile *profile, sim_flavour flavour) {
    return flavour != SIM_SESSION || (!profile->forget && !profile->failover);
}

/* ---- the nemesis ------------------------------------------------------- */

static void fault(sim_fault which, hf_saw saw) {
    if (saw == HF_SAW_FAULT)
        sim_faults[which]++;
    sim_record((hf_record){.saw = (uint16_t)saw, .value = which});
}

/* One that lives and is open; NULL: this time none. */
static sim_program *victim(void) {
    sim_program *p = &t.programs[sim_below(t.n)];

    return p->link && !p->ended && !p->process.dead && p->workers ? p : NULL;
}

static void begin_one(void *arg) {
    (void)arg;
    if (t.trouble && t.n < MOST_PROGRAMS) {
        sim_program_begin(&t.programs[t.n], t.n + 1);
        t.n++;
    }
}

static void kill_one(void) {
    sim_program *p = victim();

    if (!p || t.n == MOST_PROGRAMS)
        return;
    sim_faults[SIM_KILL]++;
    sim_program_kill(p);
    sim_after(sim_between(0, 5 * HF_SECOND), begin_one, NULL);
}

static void resume(void *arg) {
    sim_program *p = arg;

    if (!p->process.dead)
        sim_record(
            (hf_record){.saw = HF_SAW_RESUMED, .process = p->process.number});
}

static void pause_one(void) {
    sim_program *p = victim();
    hf_time lasts;

    if (!p || p->process.paused_until > sim_now())
        return;
    sim_faults[SIM_PAUSE]++;
    lasts = sim_one_in(2) ? sim_between(HF_MS, HF_SECOND) :
                            sim_between(HF_MS, PAUSE_S * HF_SECOND);
    p->process.paused_until = sim_now() + lasts;
    sim_record((hf_record){.saw = HF_SAW_PAUSED, .process = p->process.number});
    sim_after(lasts, resume, p);
}

static void cut_one(void) {
    sim_program *p = victim();

    if (!p)
        return;
    fault(SIM_CUT, HF_SAW_FAULT);
    sim_link_cut(p->link);
    fault(SIM_CUT, HF_SAW_HEALED);
}

static void partition_ends(void *arg) {
    (void)arg;
    fault(SIM_PARTITION, HF_SAW_HEALED);
}

static void partition_one(void) {
    sim_program *p = victim();
    hf_time lasts = sim_between(100 * HF_MS, 8 * HF_SECOND);

    if (!p || sim_link_is_cut_off(p->link))
        return;
    fault(SIM_PARTITION, HF_SAW_FAULT);
    sim_link_partition(p->link, lasts);
    sim_after(lasts, partition_ends, NULL);
}

static void restart_ends(void *arg) {
    (void)arg;
    fault(SIM_RESTART, HF_SAW_HEALED);
}

static void restart(sim_fault which, hf_time lost) {
    hf_time away = sim_between(10 * HF_MS, 3 * HF_SECOND);

    fault(which, HF_SAW_FAULT);
    sim_server_restart(away, lost);
    sim_after(away, restart_ends, NULL);
}

static void step(void) {
    fault(SIM_STEP, HF_SAW_FAULT);
    sim_server_step(sim_between(-20 * HF_SECOND, 60 * HF_SECOND));
    fault(SIM_STEP, HF_SAW_HEALED);
}

static void strike(sim_fault which) {
    switch (which) {
    case SIM_KILL:
        kill_one();
        break;
    case SIM_PAUSE:
        pause_one();
        break;
    case SIM_CUT:
        cut_one();
        break;
    case SIM_PARTITION:
        partition_one();
        break;
    case SIM_RESTART:
        restart(which, 0);
        break;
    case SIM_FORGOT:
        restart(which, SIM_FORGETS);
        break;
    case SIM_FAILOVER:
        restart(which, sim_between(1, 500 * HF_MS));
        break;
    default:
        step();
    }
}

static int mean_of(sim_fault which) {
    const sim_profile *p = t.profile;

    switch (which) {
    case SIM_KILL:
        return p->kill;
    case SIM_PAUSE:
        return p->pause;
    case SIM_CUT:
        return p->cut;
    case SIM_PARTITION:
        return p->partition;
    case SIM_RESTART:
        return p->restart;
    case SIM_FORGOT:
        return p->forget;
    case SIM_FAILOVER:
        return p->failover;
    case SIM_STEP:
        return p->step;
    default:
        return 0;
    }
}

static void strikes(void *arg);

static void plan(sim_fault which) {
    if (mean_of(which))
        sim_after(sim_between(HF_MS, 2 * mean_of(which) * HF_SECOND), strikes,
                  (void *)(uintptr_t)which);
}

static void strikes(void *arg) {
    sim_fault which = (sim_fault)(uintptr_t)arg;

    if (!t.trouble)
        return;
    strike(which);
    plan(which);
}

/* ---- the trial --------------------------------------------------------- */

static void placed(uint32_t process, uint32_t call) {
    sim_record(
        (hf_record){.saw = HF_SAW_PLACED, .process = process, .call = call});
}

static void run(uint64_t seed, sim_flavour flavour) {
    const sim_profile *profile = t.profile;
    uint32_t programs;

    sim_begin(seed, profile->weather);
    sim_server_begin(flavour, profile->network, profile->failover > 0, placed);
    memset(&sim_scene_now, 0, sizeof sim_scene_now);
    sim_scene_now.unsafe = profile->unsafe;
    sim_scene_now.names = (int)sim_between(1, 4);
    sim_scene_now.lease_ms =
        (int)sim_between(500, sim_one_in(4) ? 30000 : 5000);
    t.n = 0;
    t.trouble = true;
    programs = (uint32_t)sim_between(2, 5);
    for (uint32_t i = 0; i < programs; i++)
        begin_one(NULL);
    for (int which = 0; which < SIM_N_FAULTS; which++)
        plan((sim_fault)which);
    sim_run(TROUBLE_S * HF_SECOND);
}

/* What the dead left goes by itself meanwhile, and what was done in doubt;
 * without those nothing may be left at all. */
static int64_t settling_ms(void) {
    const sim_profile *p = t.profile;

    int64_t ms = SETTLED_MS + sim_scene_now.lease_ms;

    if (p->step)
        return ms + STEP_BACK_MS;
    return p->kill || p->cut || p->network.lose_reply ? ms : PROMPT_MS;
}

/* Heals everything and waits for the end. */
static void end(void) {
    hf_time by = sim_now() + ENDING_S * HF_SECOND;
    int64_t left;

    t.trouble = false;
    sim_scene_now.stops = true;
    sim_server_network((sim_network)GOOD_NET);
    while (sim_living() && sim_now() < by)
        sim_run(sim_now() + HF_SECOND);
    if (sim_living())
        sim_record((hf_record){.saw = HF_SAW_LEFTOVER,
                               .code = HF_LEFT_THREAD,
                               .value = sim_living()});
    sim_run(sim_now() + settling_ms() * HF_MS);
    left = sim_server_leftovers();
    if (left)
        sim_record((hf_record){
            .saw = HF_SAW_LEFTOVER, .code = HF_LEFT_IN_STORE, .value = left});
}

/* The longest lease or session, by the slowest clock; one that is counted by a
 * clock that is set back lasts so much longer. */
static int64_t longest_lease(sim_flavour flavour) {
    int64_t ms = sim_scene_now.lease_ms;

    if (flavour == SIM_SESSION && ms < 4000)
        ms = 4000;
    return ms * HF_MS / 100 * 102 +
           (t.profile->step ? STEP_BACK_MS * HF_MS : 0);
}

static hf_promise promise_of(const sim_profile *profile, sim_flavour flavour) {
    hf_promise p = {.idle_ns = profile->idle_ms * HF_MS,
                    .late_ns = 1500 * HF_MS,
                    .lease_ns = longest_lease(flavour),
                    .place_ns = 11 * HF_SECOND,
                    .permits = SIM_PERMITS};

    /* Who does not hear that it was its turn loses it. */
    p.waived[HF_INV_FAIRNESS] = profile->network.lose_notice > 0;
    if (profile->unsafe) {
        p.waived[HF_INV_EXCLUSION] = true;
        p.waived[HF_INV_READERS] = true;
        p.waived[HF_INV_PERMITS] = true;
        p.waived[HF_INV_LATCH] = true;
        p.waived[HF_INV_FAIRNESS] = true;
        p.waived[HF_INV_TOLD] = true;
    }
    return p;
}

static void say(uint64_t seed, const char *invariant, const char *text) {
    printf("seed %llu, invariant %s: %s\n", (unsigned long long)seed, invariant,
           text);
}

static int judge(uint64_t seed, sim_flavour flavour, sim_sum *sum) {
    hf_promise promise = promise_of(t.profile, flavour);
    hf_history *h = &sim_scene_now.history;
    hf_verdict v;
    int bad = 0;

    if (hf_check(h, &promise, &v) < 0) {
        say(seed, "none", "the checker has no memory");
        return 1;
    }
    sum->grants += v.grants;
    sum->losses += v.losses;
    sum->records += h->n;
    if (v.of[HF_INV_HANDOFF].worst > sum->idle)
        sum->idle = v.of[HF_INV_HANDOFF].worst;
    if (v.of[HF_INV_TIMELY].worst > sum->late)
        sum->late = v.of[HF_INV_TIMELY].worst;
    for (int i = 0; i < HF_INV_N; i++)
        if (v.of[i].broken && !promise.waived[i]) {
            say(seed, hf_invariant_name((hf_invariant)i),
                hf_invariant_text((hf_invariant)i));
            bad = 1;
        }
    if (sim_scene_now.broken) {
        say(seed, "USE", sim_scene_now.why);
        bad = 1;
    }
    if (bad && sim_traces)
        hf_verdict_print(stdout, &v, &promise, h);
    return bad;
}

int sim_trial(uint64_t seed, const sim_profile *profile, sim_flavour flavour,
              sim_sum *sum) {
    int bad;

    t.profile = profile;
    run(seed, flavour);
    end();
    bad = judge(seed, flavour, sum);
    sum->trials++;
    sum->bad += (uint64_t)bad;
    sum->operations += sim_scene_now.operations;
    sum->simulated += sim_now();
    sim_server_end();
    sim_end();
    hf_history_free(&sim_scene_now.history);
    return bad;
}
