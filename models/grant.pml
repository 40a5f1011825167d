/* SPDX-License-Identifier: MIT
 *
 * grant.pml - a name that is given to the next in line unasked, who may be dead.
 *
 * The store has the name, who holds it and what is left of its lease, and the
 * line.  Who leaves gives the name to the first in the line: an offer, which
 * ends soon by itself, and a note.  That one may have heard of it, or be
 * paused, dead, or about to give up.  An end comes in silence: whoever asks
 * next finds the name free, and passes it on.
 *
 * Two ways to take an offer: the note makes the waiter ask, and to ask is to
 * confirm (the databases); or it says when the offer was made, and is believed
 * from then on for as long as the offer lasts (the fair lock of Redis).
 *
 * What a client asks of the store is one step; between any two steps lies a
 * pause of any length, as long as something runs out.  Who sleeps looks again
 * by itself; only a look that would find something is a step, so that a run in
 * which nobody ever finds anything stops: an invalid end state.
 *
 *   BELIEVED        the note is believed; else it makes one ask
 *   DIES=n          so many clients may die, at any step
 *   NAPS            one who lives may be taken for dead and lose its place
 *   LOSSY           one note may get lost
 *   QUITS=n         so many waits may end without a grant
 *   NO_END          an offer lasts until it is taken
 *   NOT_GIVEN_BACK  who gives up leaves its place, but not what it was offered
 *   TWO_STEPS       who gives up looks first, and then leaves what it saw
 *   LATE_BELIEF     a note is believed from when it is heard
 *   OLD_NOTE        a note of an earlier wait is believed
 *   UNCHECKED       the giver does not look whether the next one lives
 *   KEEPS_PLACE     who misses an offer stays in the line
 *   BLIND_CONFIRM   who asks because of a note holds, whoever does by then
 *   NO_LOOK         who sleeps waits for a note
 *
 * Claimed: never two who hold, by their own clocks; everybody gets in who does
 * not give up or die; who gave up leaves nothing behind; one who died is
 * offered the name once at most, and never when it is known to be dead. */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef DIES
#define DIES 0
#endif
#ifndef QUITS
#define QUITS 0
#endif
#define OFFER 1
#define TTL   2
#define NEVER 2 /* an age at which nothing is believed */

/* The store. */
byte holder, left; /* who, counted from 1, and for how long */
bool offered;      /* and not confirmed */
byte line[CLIENTS], waits;
bool gone[CLIENTS];  /* its place is over, or nobody listens there */
bool noted[CLIENTS]; /* a note for it is on its way… */
byte made[CLIENTS];  /* …and so old */

/* The clients. */
mtype = { OUT, ASKS, WAITS, HOLDS, LEAVES, DEAD };
mtype phase[CLIENTS] = OUT;
byte asked[CLIENTS]; /* how long ago, while there is no answer */
byte since[CLIENTS]; /* how long ago it asked for what it believes in */
bool brief[CLIENTS]; /* that is an offer */

/* What may still happen, and what has. */
byte may_die = DIES, may_quit = QUITS, deaths, wasted;
#ifdef NAPS
bool may_nap = true;
#endif
#ifdef LOSSY
bool may_lose = true;
#endif

bool one_holder = true, nothing_left = true, given_to_the_living = true,
     once_each = true;

#define BELIEVES(c)                                                            \
    (phase[c] == HOLDS && since[c] < (brief[c] -> OFFER : TTL))
#if CLIENTS == 2
#define IS_IN(c)                                                               \
    ((waits > 0 && line[0] == (c)) || (waits > 1 && line[1] == (c)))
#else
#define IS_IN(c)                                                               \
    ((waits > 0 && line[0] == (c)) || (waits > 1 && line[1] == (c)) ||         \
     (waits > 2 && line[2] == (c)))
#endif
/* To look would find something. */
#define SEES(c) (holder == 0 || holder == (c) + 1 || !IS_IN(c))

inline judge() {
    k = 0;
    for (i : 0 .. CLIENTS - 1) {
        k = k + (BELIEVES(i) -> 1 : 0)
    }
    one_holder = k <= 1;
    assert(one_holder);
    i = 0;
    k = 0
}

/* ---- the store --------------------------------------------------------- */

inline step_out(who) {
    k = 0;
    for (i : 0 .. CLIENTS - 1) {
        if
        :: i < waits && line[i] != who -> line[k] = line[i]; k++
        :: else
        fi
    }
    for (i : 0 .. CLIENTS - 1) {
        line[i] = (i < k -> line[i] : 0)
    }
    waits = k;
    i = 0;
    k = 0
}

inline let_go() {
    holder = 0;
    left = 0;
    offered = false
}

inline offer(who) {
    given_to_the_living = !gone[who];
    assert(given_to_the_living);
    nothing_left = phase[who] != OUT;
    assert(nothing_left);
    holder = who + 1;
    left = OFFER;
    offered = true;
    noted[who] = true;
    made[who] = 0;
#ifndef KEEPS_PLACE
    step_out(who)
#endif
}

/* The name is free: the first who lives gets it. */
inline give() {
    do
    :: holder == 0 && waits > 0 ->
        next = line[0];
        if
#ifndef UNCHECKED
        :: gone[next] -> step_out(next)
        :: !gone[next] -> offer(next)
#else
        :: offer(next)
#endif
        fi
    :: else -> break
    od;
    next = 0
}

inline take() {
    holder = me + 1;
    left = TTL;
    offered = false;
    step_out(me);
    got = true
}

/* Who holds already has a fresh lease, who finds nobody before it holds, and
 * the others stand in line. */
inline attempt() {
    gone[me] = false;
    if
    :: holder == me + 1 || (holder == 0 && waits == 0) -> take()
#ifdef BLIND_CONFIRM
    :: called && holder != 0 && holder != me + 1 -> take()
#endif
    :: else ->
        if
        :: !IS_IN(me) -> line[waits] = me; waits++
        :: else
        fi;
        if
        :: holder == 0 && line[0] == me -> take()
        :: holder == 0 && line[0] != me -> give()
        :: holder != 0
        fi
    fi
}

/* The only way out, of the line and of holding. */
inline release() {
    step_out(me);
    if
    :: holder == me + 1 -> let_go(); give()
    :: else
    fi
}

/* ---- time, and what it does -------------------------------------------- */

#define RUNS(c)                                                                \
    (asked[c] < NEVER || since[c] < NEVER || (noted[c] && made[c] < NEVER))
#ifdef NO_END
#define LEASE_RUNS (left > 0 && !offered)
#else
#define LEASE_RUNS (left > 0)
#endif
#if CLIENTS == 2
#define SOMETHING_RUNS (LEASE_RUNS || RUNS(0) || RUNS(1))
#else
#define SOMETHING_RUNS (LEASE_RUNS || RUNS(0) || RUNS(1) || RUNS(2))
#endif
#define OLDER(a) (a < NEVER -> a + 1 : NEVER)

/* It ends in silence. */
inline lapse() {
    wasted = (offered && phase[holder - 1] == DEAD -> wasted + 1 : wasted);
    once_each = wasted <= deaths;
    let_go()
}

inline pass() {
    left = (LEASE_RUNS -> left - 1 : left);
    for (i : 0 .. CLIENTS - 1) {
        asked[i] = OLDER(asked[i]);
        since[i] = OLDER(since[i]);
        made[i] = (noted[i] -> OLDER(made[i]) : 0)
    }
    i = 0;
    if
    :: holder != 0 && left == 0 -> lapse()
    :: else
    fi
}

/* Who died is known to be dead at last. */
#define IS_FOUND(c) d_step { phase[c] == DEAD && !gone[c] -> gone[c] = true }
#define IS_MISSED(c)                                                           \
    d_step { may_nap && phase[c] == WAITS -> may_nap = false; gone[c] = true }
#define LOSES(c)                                                               \
    d_step { may_lose && noted[c] -> may_lose = false; noted[c] = false;       \
             made[c] = 0 }

active proctype World() {
    byte i;
end:
    do
    :: d_step { SOMETHING_RUNS -> pass() }
       assert(once_each)
    :: IS_FOUND(0)
    :: IS_FOUND(1)
#ifdef NAPS
    :: IS_MISSED(0)
    :: IS_MISSED(1)
#endif
#ifdef LOSSY
    :: LOSES(0)
    :: LOSES(1)
#endif
#if CLIENTS == 3
    :: IS_FOUND(2)
#ifdef NAPS
    :: IS_MISSED(2)
#endif
#ifdef LOSSY
    :: LOSES(2)
#endif
#endif
    od
}

/* ---- the clients ------------------------------------------------------- */

#define CAN_DIE(when)                                                          \
    atomic { may_die > 0 && (when) -> may_die--; deaths++; goto dead }

/* Before the question leaves. */
#define GO_ASK                                                                 \
    phase[me] = ASKS;                                                          \
    asked[me] = 0

#define GO_AWAY                                                                \
    phase[me] = LEAVES;                                                        \
    since[me] = NEVER;                                                         \
    brief[me] = false

/* The store answers, and then the answer is there.  Who learns too late that
 * it holds gives it back. */
inline ask() {
    if
    :: d_step { attempt() }
    :: CAN_DIE(true)
    fi;
    d_step {
        if
        :: got && asked[me] < TTL ->
            since[me] = asked[me];
            brief[me] = false;
            phase[me] = HOLDS
        :: got && asked[me] >= TTL -> phase[me] = LEAVES
        :: !got -> phase[me] = WAITS
        fi;
        asked[me] = NEVER;
        called = false;
        got = false;
        judge()
    }
}

#ifdef LATE_BELIEF
#define AGE_OF_NOTE 0
#else
#define AGE_OF_NOTE made[me]
#endif

inline hear() {
    if
#ifdef BELIEVED
    :: AGE_OF_NOTE < OFFER ->
        since[me] = AGE_OF_NOTE;
        brief[me] = true;
        phase[me] = HOLDS;
        judge()
#endif
    :: else -> called = true; GO_ASK
    fi;
    noted[me] = false;
    made[me] = 0
}

/* What was over when the answer came is not brought back. */
inline renew() {
    d_step {
        if
        :: holder == me + 1 -> left = TTL; offered = false; got = true
        :: else
        fi
    }
    d_step {
        if
        :: got && BELIEVES(me) -> since[me] = asked[me]; brief[me] = false
        :: else -> GO_AWAY
        fi;
        asked[me] = NEVER;
        got = false;
        judge()
    }
}

inline be_out() {
    nothing_left = holder != me + 1 && !IS_IN(me);
    assert(nothing_left);
#ifndef OLD_NOTE
    noted[me] = false;
    made[me] = 0;
#endif
    phase[me] = OUT;
    brief[me] = false;
    quits = false
}

inline leave() {
#ifdef TWO_STEPS
    got = holder == me + 1;
    d_step {
        if
        :: got -> release()
        :: !got -> step_out(me)
        fi;
        got = false;
        be_out()
    }
#else
    d_step {
#ifdef NOT_GIVEN_BACK
        if
        :: quits -> step_out(me)
        :: !quits -> release()
        fi;
#else
        release();
#endif
        be_out()
    }
#endif
}

proctype Client(byte me) {
    byte next, i, k;
    bool got, called, quits;
    do
    :: d_step { phase[me] == OUT -> GO_ASK }
    :: phase[me] == ASKS -> ask()
    :: d_step { phase[me] == WAITS && noted[me] -> hear() }
#ifndef NO_LOOK
    :: d_step { phase[me] == WAITS && SEES(me) -> GO_ASK }
#endif
    :: d_step { phase[me] == WAITS && may_quit > 0 ->
           may_quit--; quits = true; phase[me] = LEAVES }
    :: d_step { phase[me] == HOLDS && since[me] > 0 -> asked[me] = 0 } renew()
    :: d_step { phase[me] == HOLDS -> GO_AWAY }
    :: phase[me] == LEAVES -> leave()
    :: CAN_DIE(phase[me] != OUT && phase[me] != ASKS)
    od;
dead:
    atomic {
        phase[me] = DEAD;
        asked[me] = NEVER;
        since[me] = NEVER;
        brief[me] = false;
        noted[me] = false;
        made[me] = 0
    }
}

init {
    byte c;
    atomic {
        for (c : 0 .. CLIENTS - 1) {
            asked[c] = NEVER;
            since[c] = NEVER;
            run Client(c)
        }
        c = 0
    }
}
