/* SPDX-License-Identifier: MIT
 *
 * escalation.pml - a lock that goes over from one store to another and back.
 *
 * Two stores, each with the one lock: who has it and what is left of the
 * lease.  The second also keeps which epochs are closed and, for each epoch, a
 * gate with the leases of those who may be active in it.  Clients come and go
 * as they like; anybody may close an epoch at any moment, which stands for a
 * first store that cannot be reached by some, by all or by nobody, and for its
 * recovery.  What a client asks of a store is one step; between any two steps
 * lies a pause of any length.  A lease is counted from before the request.
 *
 *   LOOK_FIRST  a client looks whether the epoch is closed before it has the
 *               permission, not after
 *   NO_DRAIN    permissions of the epoch before are not waited out
 *   LATE_LOCK   a hold drops its old permission before it has the lock of the
 *               other store
 *   UNCHECKED   the lock of the other store counts although the hold was over
 *               when it came
 *   REUSE       a lock left behind in a store still counts on the way back
 *   TOKENS      claim: every token is above all before it
 *   PLAIN_TOKEN the token is the store's own
 *
 * Claimed: never two who hold, by their own clocks.  What does not matter any
 * more is set to a fixed value, so that fewer states differ. */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef EPOCHS
#define EPOCHS 3 /* the last one stays open */
#endif
#ifndef GRANTS
#define GRANTS 1 /* TOKENS: that each client asks for; else without end */
#endif
#define PERMISSION 1
#define TTL        2
#define NEVER      3 /* an age at which nothing is believed */
#define BIG        32

#define SIDE(epoch) ((epoch) % 2)

/* The stores. */
byte owner[2], left[2], token[2];
byte closed;                    /* so many epochs are */
byte gate[CLIENTS * EPOCHS];    /* what is left of each permission */
#define GATE(c, epoch) gate[(c) * EPOCHS + (epoch)]

/* The clients: how long ago they asked for what they believe in. */
byte asked[CLIENTS], allowed[CLIENTS], locked[CLIENTS * 2];
#define LOCKED(c, side) locked[(c) * 2 + (side)]

mtype = { OUTSIDE, ENTERING, ACTIVE, LEAVING };
mtype phase[CLIENTS] = OUTSIDE;
byte epoch[CLIENTS], lives[CLIENTS];
bool held[CLIENTS];

byte last; /* token told */
bool one_holder = true, tokens_grow = true;

#define MAY(c) (allowed[c] < PERMISSION)
#define BELIEVES(c) (held[c] && MAY(c) && LOCKED(c, lives[c]) < TTL)
#ifdef LATE_LOCK
#define HOLDS(c) BELIEVES(c)
#else
#define HOLDS(c)                                                               \
    (BELIEVES(c) &&                                                            \
     (phase[c] != ENTERING || LOCKED(c, SIDE(epoch[c])) < TTL))
#endif

/* The answer is there. */
#define ANSWERED asked[me] = NEVER

/* Nothing is held (any more). */
#define LET_GO                                                                 \
    held[me] = false;                                                          \
    lives[me] = 0;                                                             \
    LOCKED(me, 0) = NEVER;                                                     \
    LOCKED(me, 1) = NEVER

#ifdef TOKENS
#define COUNT(side) token[side]++
#else
#define COUNT(side) skip
#endif

inline judge() {
    d_step {
        n = 0;
        for (i : 0 .. CLIENTS - 1) {
            n = n + (HOLDS(i) -> 1 : 0)
        }
        one_holder = n <= 1;
        i = 0;
        n = 0
    }
    assert(one_holder)
}

inline grow_older(a) {
    a = (a < NEVER -> a + 1 : a)
}

inline run_out(side) {
    left[side] = (left[side] > 0 -> left[side] - 1 : 0);
    owner[side] = (left[side] == 0 -> 0 : owner[side])
}

/* The second store is the one that does not forget.  The first may, while
 * nobody uses it. */
#define NOBODY_IN(e) (GATE(0, e) == 0 && GATE(1, e) == 0)
#define UNUSED (closed == 1 && NOBODY_IN(0))

active proctype World() {
    byte i;
end:
    do
    :: d_step {
           run_out(0);
           run_out(1);
           for (i : 0 .. CLIENTS * EPOCHS - 1) {
               gate[i] = (gate[i] > 0 -> gate[i] - 1 : 0)
           }
           for (i : 0 .. CLIENTS - 1) {
               grow_older(asked[i]);
               grow_older(allowed[i])
           }
           for (i : 0 .. CLIENTS * 2 - 1) {
               grow_older(locked[i])
           }
           i = 0
       }
    :: d_step { UNUSED && owner[0] != 0 ->
           owner[0] = 0; left[0] = 0; token[0] = 0 }
    od
}

/* ---- what a client asks of the stores ---------------------------------- */

/* The epoch after this one, without anything in hand. */
inline begin_anew() {
    atomic {
        GATE(me, e) = 0;
        e = (e < closed -> e + 1 : e);
        epoch[me] = e;
        phase[me] = OUTSIDE;
        allowed[me] = NEVER;
        LET_GO
    }
}

/* The permission has ended, and we see it. */
inline fall_out() {
    phase[me] = OUTSIDE;
    allowed[me] = NEVER;
    LET_GO
}

inline enter() {
#ifdef LOOK_FIRST
    over = closed > e;
#endif
    asked[me] = 0;
    atomic { GATE(me, e) = PERMISSION; allowed[me] = asked[me]; ANSWERED }
#ifndef LOOK_FIRST
    over = closed > e;
#endif
    if
    :: over -> begin_anew()
    :: !over && e == 0 -> phase[me] = ACTIVE
    :: !over && e > 0 -> phase[me] = ENTERING
    fi;
    over = false
}

inline come_in() {
    if
    :: atomic {
#ifndef NO_DRAIN
           NOBODY_IN(e - 1) ->
#else
           true ->
#endif
           if
           :: HOLDS(me) ->
               lives[me] = SIDE(e);
#ifndef REUSE
               LOCKED(me, 1 - SIDE(e)) = NEVER;
#endif
               phase[me] = ACTIVE
           :: !HOLDS(me) && MAY(me) -> LET_GO; phase[me] = ACTIVE
           :: else -> fall_out()
           fi
       }
       judge()
    :: true /* not yet */
    fi
}

/* The permission, and the lock that is held. */
inline renew() {
    asked[me] = 0;
    atomic {
        if
        :: GATE(me, e) > 0 && MAY(me) ->
            GATE(me, e) = PERMISSION;
            allowed[me] = asked[me]
        :: else -> fall_out()
        fi;
        ANSWERED
    }
    if
    :: held[me] ->
        asked[me] = 0;
        atomic {
            if
            :: owner[lives[me]] == me + 1 && HOLDS(me) ->
                left[lives[me]] = TTL;
                LOCKED(me, lives[me]) = asked[me]
            :: else -> LET_GO
            fi;
            ANSWERED
        }
        judge()
    :: else
    fi
}

inline acquire() {
#ifdef TOKENS
    grants++;
#endif
    asked[me] = 0;
    atomic {
        if
        :: owner[SIDE(e)] == 0 ->
            owner[SIDE(e)] = me + 1;
            left[SIDE(e)] = TTL;
            COUNT(SIDE(e));
            mine = token[SIDE(e)];
            got = true
        :: else
        fi
    }
    atomic { /* the answer is there */
        if
        :: got && MAY(me) && asked[me] < TTL ->
            held[me] = true;
            lives[me] = SIDE(e);
            LOCKED(me, SIDE(e)) = asked[me];
#ifdef TOKENS
#ifndef PLAIN_TOKEN
            mine = mine + e * BIG;
#endif
            tokens_grow = mine > last;
            last = mine
#endif
        :: else
        fi;
        mine = 0;
        got = false;
        ANSWERED
    }
    assert(tokens_grow);
    judge()
}

inline release() {
    LET_GO;
    atomic {
        if
        :: owner[SIDE(e)] == me + 1 -> owner[SIDE(e)] = 0; left[SIDE(e)] = 0
        :: else
        fi
    }
}

/* The lock of the other store, while we hold in this epoch. */
inline carry() {
    asked[me] = 0;
    atomic {
        if
        :: owner[SIDE(e + 1)] == 0 || owner[SIDE(e + 1)] == me + 1 ->
            owner[SIDE(e + 1)] = me + 1;
            left[SIDE(e + 1)] = TTL; /* its token is nobody's */
            got = true
        :: else
        fi
    }
    atomic {
        if
#ifdef UNCHECKED
        :: got ->
#else
        :: got && HOLDS(me) ->
#endif
            LOCKED(me, SIDE(e + 1)) = asked[me]
        :: else
        fi;
        got = false;
        ANSWERED
    }
}

/* UNCHECKED: the new permission is taken for the old one's continuation. */
inline cross() {
    asked[me] = 0;
    GATE(me, e + 1) = PERMISSION;
    atomic {
        if
#ifdef UNCHECKED
        :: true ->
#else
        :: MAY(me) ->
#endif
            e++;
            epoch[me] = e;
            allowed[me] = asked[me];
            phase[me] = ENTERING
        :: else -> GATE(me, e + 1) = 0
        fi;
        ANSWERED
    }
    if
    :: phase[me] == ENTERING -> GATE(me, e - 1) = 0
    :: else
    fi;
#ifdef LATE_LOCK
    if
    :: phase[me] == ENTERING ->
        asked[me] = 0;
        atomic {
            if
            :: owner[SIDE(e)] == 0 || owner[SIDE(e)] == me + 1 ->
                owner[SIDE(e)] = me + 1;
                left[SIDE(e)] = TTL;
                LOCKED(me, SIDE(e)) = asked[me]
            :: else
            fi;
            ANSWERED
        }
    :: else
    fi;
#endif
    judge()
}

inline leave() {
    if
    :: !HOLDS(me) -> begin_anew()
#ifdef LATE_LOCK
    :: HOLDS(me) && e < EPOCHS - 1 -> cross()
#else
    :: HOLDS(me) && e < EPOCHS - 1 && LOCKED(me, SIDE(e + 1)) >= TTL -> carry()
    :: HOLDS(me) && e < EPOCHS - 1 && LOCKED(me, SIDE(e + 1)) < TTL -> cross()
#endif
    fi
}

#ifdef TOKENS
#define MAY_ASK (grants < GRANTS)
#else
#define MAY_ASK true
#endif

proctype Client(byte me) {
    byte e, grants, mine, i, n;
    bool over, got;
end:
    do
    :: phase[me] == OUTSIDE -> enter()
    :: phase[me] == ENTERING -> come_in()
    :: phase[me] == ACTIVE && e < closed -> phase[me] = LEAVING
    :: phase[me] == ACTIVE && e == closed && e < EPOCHS - 1 ->
        atomic { closed = (closed == e -> e + 1 : closed); phase[me] = LEAVING }
    :: phase[me] == LEAVING -> leave()
    :: phase[me] == ACTIVE && !held[me] && MAY_ASK -> acquire()
    :: phase[me] == ACTIVE && held[me] -> release()
    :: phase[me] != OUTSIDE -> renew()
    :: atomic { phase[me] != OUTSIDE && !MAY(me) -> fall_out() }
    od
}

init {
    byte c;
    atomic {
#ifdef TOKENS
        token[0] = 8; /* the clocks of the two have nothing to do with each
                         other */
#endif
        for (c : 0 .. CLIENTS * 2 - 1) {
            locked[c] = NEVER
        }
        for (c : 0 .. CLIENTS - 1) {
            asked[c] = NEVER;
            allowed[c] = NEVER;
            run Client(c)
        }
        c = 0
    }
}
