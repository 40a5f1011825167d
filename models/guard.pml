/* SPDX-License-Identifier: MIT
 *
 * guard.pml - the guard of a file: those who are about to change it, each with
 * a token, and the locks on the bytes of a file by which they come in.
 *
 * Two have the same token: one holder, twice.  Reading and replacing the record
 * are two steps.  Whoever is killed, which may be between any two, has no locks
 * any more.
 *
 *   DIES          anybody may be killed at any step
 *   RECORD_FIRST  the record is looked at before the own byte is locked
 *   NO_WAIT       older ones that are inside are not waited for
 *   UNLOCKED      the record is raised without the lock for that
 *   NEWEST        claim: whoever comes in, or is inside, has the newest token
 *                 that ever came in
 *   REFUSAL       claim: nobody is refused.  It must break */
#define VISITORS 4
#define TOKEN(i) (i == 4 -> 2 : i) /* 1, 2, 3, and 2 again */

byte record;    /* the highest token seen                    */
bool raising;   /* byte 0 is locked                          */
byte locked[4]; /* by so many, shared: the byte of the token */
byte newest;    /* that ever came in                         */
byte inside[4];

/* The claims. */
bool only_the_newest = true, none_refused = true;

#ifdef DIES
#define OR_DIE :: goto leave
#else
#define OR_DIE
#endif

inline lock_own_byte() {
    atomic { locked[t]++; has_byte = true }
}

inline raise_record() {
#ifndef UNLOCKED
    if
    :: atomic { !raising -> raising = true; has_raising = true }
    OR_DIE
    fi;
#endif
    seen = record;
    if
    :: seen > t -> none_refused = false; goto leave
    :: seen <= t
    OR_DIE
    fi;
    if
    :: seen < t -> record = t
    :: seen == t
    fi;
#ifndef UNLOCKED
    atomic { raising = false; has_raising = false }
#endif
}

proctype Visitor(byte me) {
    byte t = TOKEN(me), seen;
    bool has_byte, has_raising, is_inside;
#ifdef RECORD_FIRST
    raise_record();
    lock_own_byte();
#else
    lock_own_byte();
    raise_record();
#endif
#ifndef NO_WAIT
    do
    :: t == 1 || (locked[1] == 0 && (t == 2 || locked[2] == 0)) -> break
    :: record > t -> none_refused = false; goto leave
    OR_DIE
    od;
#endif
    atomic {
        only_the_newest = only_the_newest && newest <= t &&
                          (t <= 1 || inside[1] == 0) &&
                          (t <= 2 || inside[2] == 0);
        if
        :: newest < t -> newest = t
        :: else
        fi;
        inside[t]++;
        is_inside = true;
#ifdef NEWEST
        assert(only_the_newest);
#endif
    }
leave:
    /* In one step, as the kernel does it, whether it ends or is killed. */
    atomic {
        if
        :: is_inside -> inside[t]--
        :: else
        fi;
        if
        :: has_byte -> locked[t]--
        :: else
        fi;
        if
        :: has_raising -> raising = false
        :: else
        fi;
#ifdef REFUSAL
        assert(none_refused);
#endif
    }
}

init {
    byte i;
    atomic {
        for (i : 1 .. VISITORS) {
            run Visitor(i)
        }
    }
}
