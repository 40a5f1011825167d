/* SPDX-License-Identifier: MIT
 *
 * lease.pml - the plain lease lock: one store, a few clients, a thing that
 * they write to.
 *
 * Time is counted as what is left and what has passed, not as a date, so it
 * has no end and the search stays finite.  It may pass at any moment: between
 * two steps of a client lies a pause of any length.  What a client does in one
 * atomic step is what a script or a statement does in the store.  Looking at
 * the clock and writing are two steps, as they are in every program.
 *
 *   CHECK      look at the own clock just before the work
 *   RENEW      the lease may be renewed once before that
 *   FENCE      what is written to refuses a token below one it has seen
 *   PROMPT     no time passes while a client works: what nobody can promise
 *   EXCLUSION  claim: at most one client is at work
 *   ORDER      claim: writes are accepted in the order of their tokens
 *   REFUSAL    claim: no write is ever refused.  It must break under FENCE,
 *              or else ORDER holds there for want of stale writes */
#ifndef CLIENTS
#define CLIENTS 2
#endif
#define ROUNDS 2 /* grants that each client asks for */
#define TTL    2

/* The store.  Whoever owns it has the newest token. */
byte owner, left, token;

/* The clients: how long ago the request left that brought the grant, and the
 * one that may renew it.  TTL stands for everything that is too long. */
byte age[CLIENTS + 1], asked[CLIENTS + 1];

/* What they write to: the newest token it took, and how many are at it. */
byte taken, working;

/* The claims. */
bool one_at_work = true, in_token_order = true, none_refused = true;

inline grow_older(a) {
    if
    :: a < TTL -> a++
    :: else
    fi
}

active proctype Time() {
    byte i;
end:
    do
    :: atomic {
#ifdef PROMPT
           working == 0;
#endif
           if
           :: left == 1 -> left = 0; owner = 0
           :: left > 1 -> left--
           :: else
           fi;
           for (i : 1 .. CLIENTS) {
               grow_older(age[i]);
               grow_older(asked[i])
           }
           i = 0
       }
    od
}

inline write_something() {
    if
#ifdef FENCE
    :: mine < taken ->
        none_refused = false
#endif
    :: else ->
        in_token_order = mine >= taken;
        taken = mine
    fi;
#ifdef ORDER
    assert(in_token_order);
#endif
#ifdef REFUSAL
    assert(none_refused);
#endif
}

proctype Client(byte me) {
    byte rounds, mine;
    do
    :: rounds < ROUNDS ->
        rounds++;
ask:
        age[me] = 0; /* the request leaves */
        if
        :: atomic { owner == 0 -> owner = me; left = TTL; token++;
                    mine = token }
        :: owner != 0 -> goto ask
        fi;
#ifdef RENEW
        if
        :: true
        :: asked[me] = 0;
           if
           :: atomic { owner == me && token == mine -> left = TTL;
                       age[me] = asked[me] }
           :: else
           fi
        fi;
#endif
        atomic {
#ifdef CHECK
            if
            :: age[me] < TTL
            :: else -> goto leave
            fi;
#endif
            working++;
            one_at_work = working <= 1
#ifdef EXCLUSION
            ;
            assert(one_at_work)
#endif
        }
        atomic { write_something() }
        working--;
leave:
        atomic {
            if
            :: owner == me && token == mine -> owner = 0; left = 0
            :: else
            fi;
            mine = 0; age[me] = 0; asked[me] = 0
        }
    :: else -> break
    od
}

init {
    byte i;
    atomic {
        for (i : 1 .. CLIENTS) {
            run Client(i)
        }
    }
}
