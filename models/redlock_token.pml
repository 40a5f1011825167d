/* SPDX-License-Identifier: MIT
 *
 * redlock_token.pml - the fencing token on Redlock, without any clock.
 *
 * Every attempt is a client of its own.  At any moment and in any order a
 * server may work off a request, also one of an attempt that has long given
 * up, and any tenure may end.  A server grants a value above its last one by
 * any amount: its clock, or the client's hint.  A client takes the highest of
 * any majority of its grants, writes it back to a majority, and only then
 * reports it.  A server that says "higher" makes it try with that value.
 *
 * Claimed when an attempt reports its token:
 *   unique           no other attempt has reported the same one
 *   in_tenure_order  on each server that confirmed both, the one who owned it
 *                    later has the higher token
 *   in_time_order    it is higher than every one that was reported before
 *                    this attempt began
 *
 * Only the order of the values matters, so they are kept as ranks without
 * gaps, and "any amount" is meant as it is said.  Four shortcuts more keep the
 * search small and hide nothing.  A tenure ends when the next one begins: a
 * server without an owner could only refuse, and a request that is refused
 * might as well be on its way still.  An attempt begins with its first grant:
 * later than it asked, so more was reported before it.  It chooses its token
 * right after a grant, if at all: what is sent then may take any time.  It
 * reports right after a confirmation, if at all: earlier than it might, so
 * more must be above it.
 *
 *   JOIN             who has reported comes back to a server that no longer
 *                    knows it, and writes its token there if it is not below
 *   RESEND           a question may be worked off any number of times; the
 *                    order of tenures is not judged then
 *   EITHER           and either of its answers may be counted
 *   ONE_ROUND        a majority that granted one and the same value, the
 *                    highest counted, needs no writing back
 *   NO_WRITE_BACK    report the highest of the majority, and that is it
 *   NO_OWNER_CHECK   write back also where somebody else is the owner now
 *   NO_REFUSAL       write back also over a higher value
 *   LOSES            a server forgets its owner and its last value, once */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef NODES
#define NODES 3
#endif
#define BIT(k) (1 << (k))

/* A set has most of the servers: two bits of three, three of five. */
#define ONE_OF(m, k) (((m) >> (k)) & 1)
#define MOST(m)                                                                \
    (2 * (ONE_OF(m, 0) + ONE_OF(m, 1) + ONE_OF(m, 2) + ONE_OF(m, 3) +          \
          ONE_OF(m, 4)) > NODES)

/* Everything that is compared: ranks, 0 where there is none.  The last value
 * of a server, the grants of an attempt until it has chosen, its token from
 * then on. */
#define VALUES        (NODES + ATTEMPTS * NODES + ATTEMPTS)
#define LAST(k)       value[k]
#define GRANTED(a, k) value[NODES + (a)*NODES + (k)]
#define TOKEN(a)      value[NODES + ATTEMPTS * NODES + (a)]
byte value[VALUES];

/* The servers: the owner, 0 for none and else the attempt and 1. */
byte owner[NODES];
bool may_lose = true;

/* The attempts; sets are bits. */
#define IDLE       0
#define ASKING     1
#define CONFIRMING 2
#define REPORTED   3
byte phase[ATTEMPTS];
byte owned[ATTEMPTS];          /* the servers that it owned at some time  */
byte confirmed[ATTEMPTS];      /* the servers that have confirmed         */
byte earlier[ATTEMPTS];        /* attempts reported before this one began */
byte before[ATTEMPTS * NODES]; /* attempts that owned that server earlier */
bool raised[ATTEMPTS];         /* it tried a lower token before           */
#define BEFORE(a, k) before[(a)*NODES + (k)]

bool unique = true, in_tenure_order = true, in_time_order = true;

/* ---- ranks ------------------------------------------------------------- */

/* Makes room: what is at `rank` or above moves up. */
inline move_up(rank) {
    for (i : 0 .. VALUES - 1) {
        if
        :: value[i] >= rank -> value[i]++
        :: else
        fi
    }
    i = 0
}

/* A gap is a rank that nobody has any more. */
inline close_gaps() {
    d_step {
        rank = VALUES;
        do
        :: rank == 0 -> break
        :: else ->
            found = false;
            for (i : 0 .. VALUES - 1) {
                found = found || value[i] == rank
            }
            if
            :: found
            :: else ->
                for (i : 0 .. VALUES - 1) {
                    if
                    :: value[i] > rank -> value[i]--
                    :: else
                    fi
                }
            fi;
            rank--
        od;
        i = 0;
        found = false
    }
}

/* Any value above the last one of server k: one that exists, or between two,
 * or above all. */
inline raise(k) {
    d_step {
        for (i : 0 .. VALUES - 1) {
            if
            :: value[i] > j -> j = value[i]
            :: else
            fi
        }
        i = 0
    }
    select(rank : LAST(k) + 1 .. j + 1);
    j = 0;
    if
    :: true
    :: d_step { move_up(rank) }
    fi;
    LAST(k) = rank;
    rank = 0
}

/* ---- servers that do not differ ---------------------------------------- */

inline swap(x, y) {
    j = x;
    x = y;
    y = j
}

inline swap_bits(set, k) {
    if
    :: ((set >> k) & 1) != ((set >> (k + 1)) & 1) -> set = set ^ (3 << k)
    :: else
    fi
}

/* The state of a server, but for `before`, as one number. */
inline weigh(k, weight) {
    weight = LAST(k) * 4 + owner[k];
    for (i : 0 .. ATTEMPTS - 1) {
        weight = (weight << 7) + (GRANTED(i, k) << 2) +
                 (((owned[i] >> k) & 1) << 1) + ((confirmed[i] >> k) & 1)
    }
}

/* Puts server k and the next one in order. */
inline settle(k) {
    weigh(k, one);
    weigh(k + 1, two);
    if
    :: one > two ->
        swap(LAST(k), LAST(k + 1));
        swap(owner[k], owner[k + 1]);
        for (i : 0 .. ATTEMPTS - 1) {
            swap(GRANTED(i, k), GRANTED(i, k + 1));
            swap(BEFORE(i, k), BEFORE(i, k + 1));
            swap_bits(owned[i], k);
            swap_bits(confirmed[i], k)
        }
    :: else
    fi;
    i = 0;
    j = 0;
    one = 0;
    two = 0
}

inline sort() {
    for (few : 1 .. NODES - 1) {
        for (k : 0 .. NODES - 1 - few) {
            settle(k)
        }
    }
    few = 0;
    k = 0
}

/* ---- the claims -------------------------------------------------------- */

inline judge(a, b) {
#ifndef RESEND
    for (i : 0 .. NODES - 1) {
        if
        :: !(confirmed[a] & confirmed[b] & BIT(i))
        :: else ->
            if
            :: BEFORE(a, i) & BIT(b) ->
                in_tenure_order = in_tenure_order && TOKEN(b) < TOKEN(a)
            :: else ->
                in_tenure_order = in_tenure_order && TOKEN(a) < TOKEN(b)
            fi
        fi
    }
    i = 0
#else
    skip
#endif
}

inline report(a) {
    d_step {
        for (b : 0 .. ATTEMPTS - 1) {
            if
            :: phase[b] == REPORTED ->
                unique = unique && TOKEN(a) != TOKEN(b);
                judge(a, b);
                in_time_order = in_time_order &&
                                (!(earlier[a] & BIT(b)) || TOKEN(b) < TOKEN(a))
            :: else
            fi
        }
        b = 0;
        phase[a] = REPORTED
    }
    assert(unique);
    assert(in_tenure_order);
    assert(in_time_order)
}

/* ---- the clients ------------------------------------------------------- */

inline begin(a) {
    if
    :: phase[a] == IDLE ->
        phase[a] = ASKING;
        for (i : 0 .. ATTEMPTS - 1) {
            if
            :: phase[i] == REPORTED -> earlier[a] = earlier[a] | BIT(i)
            :: else
            fi
        }
        i = 0
    :: else
    fi
}

/* The grants of `a` that are not above that of server k, and those that are
 * the same, into `few` and `same`. */
inline compare(a, k) {
    for (i : 0 .. NODES - 1) {
        if
        :: GRANTED(a, i) && GRANTED(a, i) <= GRANTED(a, k) ->
            few = few | BIT(i);
            if
            :: GRANTED(a, i) == GRANTED(a, k) -> same = same | BIT(i)
            :: else
            fi
        :: else
        fi
    }
    i = 0
}

/* Takes the grant of server k, if it is the highest of some majority. */
inline choose(a, k) {
    d_step { compare(a, k) }
    if
    :: MOST(few) ->
        TOKEN(a) = GRANTED(a, k);
        phase[a] = CONFIRMING;
        for (i : 0 .. NODES - 1) {
            GRANTED(a, i) = 0
        }
        i = 0;
        if
#ifdef NO_WRITE_BACK
        :: confirmed[a] = few; report(a)
#else
#ifdef ONE_ROUND
        :: MOST(same) -> confirmed[a] = same; report(a)
#endif
        :: true
#endif
        fi
    :: else
    fi;
    few = 0;
    same = 0
}

/* ---- the servers ------------------------------------------------------- */

/* A tenure begins; where one of `a` is confirmed already, that one is judged.
 * In the table of who came before whom each is known by its last tenure. */
inline enter(a, k) {
    owner[k] = a + 1;
#ifndef RESEND
    owned[a] = owned[a] | BIT(k);
    if
    :: confirmed[a] & BIT(k)
    :: else ->
        BEFORE(a, k) = 0;
        for (i : 0 .. ATTEMPTS - 1) {
            BEFORE(i, k) = BEFORE(i, k) & ~BIT(a);
            if
            :: i != a && (owned[i] & BIT(k)) ->
                BEFORE(a, k) = BEFORE(a, k) | BIT(i)
            :: else
            fi
        }
        i = 0
    fi
#endif
}

inline grant(a, k) {
    d_step {
        begin(a);
        enter(a, k)
    }
    raise(k);
    if
    :: phase[a] == ASKING ->
        if
        :: GRANTED(a, k) = LAST(k)
#ifdef EITHER
        :: GRANTED(a, k)
#endif
        fi;
        if
        :: true
        :: select(j : 0 .. NODES - 1); choose(a, j); j = 0
        fi
    :: else
    fi
}

/* Also the renewal, which changes nothing once the token is there. */
inline confirm(a, k) {
    if
#ifndef NO_REFUSAL
    :: LAST(k) > TOKEN(a) -> /* higher */
        if
        :: phase[a] == CONFIRMING ->
            TOKEN(a) = LAST(k);
            confirmed[a] = 0;
            raised[a] = true
        :: else
        fi
#endif
    :: else ->
        LAST(k) = TOKEN(a);
        if
        :: phase[a] == CONFIRMING ->
            confirmed[a] = confirmed[a] | BIT(k);
            if
            :: MOST(confirmed[a]) -> report(a)
            :: true
            fi
        :: else
        fi
    fi
}

/* An answer "higher" has made `a` try again; what it sent before that may
 * still arrive. */
inline confirm_late(a, k) {
    select(rank : LAST(k) + 1 .. TOKEN(a));
    if
    :: true
    :: d_step { move_up(rank) }
    fi;
    LAST(k) = rank;
    rank = 0
}

/* The server has no owner any more, or soon: its tenure may end now.  Over a
 * higher value one may come back as well, but writes nothing then. */
inline join(a, k) {
    d_step {
        enter(a, k);
        if
        :: LAST(k) <= TOKEN(a) ->
            LAST(k) = TOKEN(a);
            confirmed[a] = confirmed[a] | BIT(k);
            for (j : 0 .. ATTEMPTS - 1) {
                if
                :: j != a && phase[j] == REPORTED -> judge(a, j)
                :: else
                fi
            }
            j = 0
        :: else
        fi
    }
    assert(in_tenure_order)
}

/* ---- what may happen, at any moment ------------------------------------ */

/* Attempts do not differ but in the order in which they begin. */
#define MAY_ASK(a, k)                                                          \
    (AGAIN(a, k) && (a == 0 || phase[a - 1] != IDLE))
#ifdef RESEND
#define AGAIN(a, k) (owner[k] != a + 1)
#else
#define AGAIN(a, k) (!(owned[a] & BIT(k)))
#endif

#ifdef NO_OWNER_CHECK
#define OWNS(a, k) true
#else
#define OWNS(a, k) (owner[k] == a + 1)
#endif
#define MAY_CONFIRM(a, k)                                                      \
    (phase[a] >= CONFIRMING && !(confirmed[a] & BIT(k)) && OWNS(a, k))
#define MAY_BE_LATE(a, k) (raised[a] && OWNS(a, k) && LAST(k) < TOKEN(a))
#define MAY_JOIN(a, k) (phase[a] == REPORTED && owner[k] != a + 1)

active proctype World() {
    byte a, b, k, i, j, rank, few, same;
    int one, two;
    bool found;
end:
    do
    :: atomic {
           select(a : 0 .. ATTEMPTS - 1);
           select(k : 0 .. NODES - 1);
           if
           :: MAY_ASK(a, k) -> grant(a, k)
           :: MAY_CONFIRM(a, k) -> confirm(a, k)
           :: MAY_BE_LATE(a, k) -> confirm_late(a, k)
#ifdef JOIN
           :: MAY_JOIN(a, k) -> join(a, k)
#endif
           :: else
           fi;
           close_gaps();
           d_step {
               a = 0;
               k = 0;
               sort()
           }
       }
#ifdef LOSES
    :: atomic {
           may_lose;
           may_lose = false;
           select(k : 0 .. NODES - 1);
           owner[k] = 0;
           LAST(k) = 0;
           close_gaps();
           k = 0
       }
#endif
    od
}
