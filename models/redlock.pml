/* SPDX-License-Identifier: MIT
 *
 * redlock.pml - Redlock in time: three servers, two clients who try again for
 * ever, and never both within the validity that each of them computed.
 *
 * As in lease.pml time is what is left and what has passed; it passes at any
 * moment, for everybody at the same rate.  The servers are asked in any order.
 * A request or its answer may be lost, and asked again.  The number under
 * which a client owns a server is new for each attempt: what is left of an
 * earlier attempt belongs to nobody, and is ended by a release that comes at
 * some time or by its lease.
 *
 *   NOT_REDUCED  the validity is counted from the grant instead of from
 *                before the first request
 *   TWO_STEPS    the release looks for its owner in one request and deletes
 *                in another
 *   EXTEND       a holder may set its lease anew, on a majority and before
 *                its validity ends, and come back to servers that forgot it
 *   FORGETS      a server may restart empty, any number of times,
 *   DELAY=n      and stays out for n then: it gives no votes
 *   JOIN_EARLY   but holders come back to it at once
 *   JUMP         the clock of one server jumps ahead by one, once */
#define NODES 3
#ifndef TTL
#define TTL 2
#endif
#ifndef DELAY
#define DELAY 0
#endif

/* The servers: by whom owned, for how long, and out for how long.  Clients
 * are 1 and 2. */
#define NOBODY  0
#define EARLIER 3 /* an attempt that is over */
byte owner[NODES], left[NODES], out[NODES];
bool may_jump = true;

/* The clients: how long ago the attempt and the extension began.  TTL stands
 * for everything that is too long. */
byte age[3], extension[3];
bool holds[3];
bool one_valid = true;

#define VALID(c) (holds[c] && age[c] < TTL)
#define FREE(k)  (owner[k] == NOBODY && out[k] == 0)
#define BIT(k)   (1 << (k))
#define MOST(n)  (n == 3 || n >= 5) /* two or three bits of the three */

/* ---- time, and what befalls the servers -------------------------------- */

inline grow_older(a) {
    if
    :: a < TTL -> a++
    :: else
    fi
}

inline come_closer(k) {
    if
    :: left[k] > 1 -> left[k]--
    :: left[k] == 1 -> left[k] = 0; owner[k] = NOBODY
    :: else
    fi;
    if
    :: out[k] > 0 -> out[k]--
    :: else
    fi
}

inline pass_time() {
    d_step {
        come_closer(0);
        come_closer(1);
        come_closer(2);
        grow_older(age[1]);
        grow_older(age[2]);
        grow_older(extension[1]);
        grow_older(extension[2])
    }
}

/* A release arrives late; the server forgets; its clock jumps. */
#define BEFALLS(k)                                                             \
    :: d_step { owner[k] == EARLIER -> owner[k] = NOBODY; left[k] = 0 }        \
    FORGETTING(k)                                                              \
    JUMPING(k)

#ifdef FORGETS
#define FORGETTING(k)                                                          \
    :: d_step { owner[k] != NOBODY -> owner[k] = NOBODY; left[k] = 0;          \
                out[k] = DELAY }
#else
#define FORGETTING(k)
#endif

#ifdef JUMP
#define JUMPING(k)                                                             \
    :: d_step { may_jump && left[k] > 0 -> may_jump = false; come_closer(k) }
#else
#define JUMPING(k)
#endif

active proctype World() {
end:
    do
    :: pass_time()
    BEFALLS(0)
    BEFALLS(1)
    BEFALLS(2)
    od
}

/* ---- the clients ------------------------------------------------------- */

/* Granted, by this request or by an earlier one whose answer was lost; the
 * answer of this one may be lost as well. */
#define ASK(k)                                                                 \
    :: atomic { !(got & BIT(k)) && (FREE(k) || owner[k] == me) ->              \
                owner[k] = me; left[k] = TTL;                                  \
                if :: got = got | BIT(k) :: true fi }

#define CONFIRM(k)                                                             \
    :: atomic { !(got & BIT(k)) && owner[k] == me ->                           \
                left[k] = TTL; got = got | BIT(k) }

/* Where nobody has it any more the holder enters itself again; it has asked for
 * that while its lock was valid, but this may be later. */
#ifdef JOIN_EARLY
#define MAY_JOIN(k) (owner[k] == NOBODY)
#else
#define MAY_JOIN(k) FREE(k)
#endif
#define JOIN(k)                                                                \
    :: d_step { holds[me] && MAY_JOIN(k) -> owner[k] = me; left[k] = TTL }

inline forget(k) {
    if
    :: owner[k] == me -> owner[k] = EARLIER
    :: else
    fi
}

inline leave() {
    d_step {
        holds[me] = false;
        age[me] = TTL;
        forget(0);
        forget(1);
        forget(2)
    }
#ifdef TWO_STEPS
    if
    :: owner[0] == EARLIER;
       d_step { owner[0] = NOBODY; left[0] = 0 }
    :: else
    fi
#endif
}

inline judge() {
    one_valid = !(VALID(1) && VALID(2));
    assert(one_valid)
}

proctype Client(byte me) {
    byte got; /* the servers that have said yes */
end:
    do
    ::
        age[me] = 0;
        do
        ASK(0)
        ASK(1)
        ASK(2)
        :: break
        od;
        atomic {
            if
            :: MOST(got) && age[me] < TTL ->
                holds[me] = true;
#ifdef NOT_REDUCED
                age[me] = 0;
#endif
                judge()
            :: else
            fi;
            got = 0
        }
#ifdef EXTEND
        do
        JOIN(0)
        JOIN(1)
        JOIN(2)
        :: VALID(me) ->
            extension[me] = 0;
            do
            CONFIRM(0)
            CONFIRM(1)
            CONFIRM(2)
            :: break
            od;
            atomic {
                if
                :: MOST(got) && age[me] < TTL ->
                    age[me] = extension[me];
                    judge()
                :: else
                fi;
                extension[me] = TTL;
                got = 0
            }
        :: break
        od;
#endif
        leave()
    od
}

init {
    atomic {
        extension[1] = TTL;
        extension[2] = TTL;
        run Client(1);
        run Client(2)
    }
}
