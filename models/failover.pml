/* SPDX-License-Identifier: MIT
 *
 * failover.pml - a lock on a master with replicas, and what is done so that a
 * failover does not give it to two: never two clients, each within the
 * validity that it computed.
 *
 * A replica copies the state of the master at any moment, until the master is
 * cut off; later some replica is promoted.  The old master never learns of
 * it.  Client A stays with it (it is cut off together with the master, or has
 * not heard yet), client B asks the new one.  As in lease.pml time is what is
 * left and what has passed, and it passes at any moment; a client counts its
 * lease from before its request left.
 *
 *   WAIT=n          a grant counts only when n replicas have it,
 *   RENEWALS_TOO    and so does a renewal
 *   MIN_REPLICAS    a master without replicas refuses writes after LAG
 *   LOCK_DELAY=n    a new master grants nothing for n
 *   REPLICAS=n      (1) how many there are; any of them is promoted */
#define LEASE 2
#define LAG   2
#ifndef REPLICAS
#define REPLICAS 1
#endif
#ifndef WAIT
#define WAIT 0
#endif
#ifndef LOCK_DELAY
#define LOCK_DELAY 0
#endif
#define LONG (LEASE + LAG) /* and everything longer */

/* For how long A owns it, by the old master and by each replica; at the
 * promoted one that may be B.  `current`: the replica has the last write. */
byte master, replica[REPLICAS];
bool current[REPLICAS];
bool cut, promoted;
byte chosen; /* the replica that was promoted */
byte since_cut, since_promotion;

/* The clients: how long ago the request left that brought the grant, and the
 * one that is under way. */
byte age_a, asked_a, age_b;
bool holds_a, holds_b;
bool one_valid = true;

inline grow_older(a) {
    if
    :: a < LONG -> a++
    :: else
    fi
}

inline come_closer(a) {
    if
    :: a > 0 -> a--
    :: else
    fi
}

active proctype Time() {
    byte i;
end:
    do
    :: d_step {
           come_closer(master);
           for (i : 0 .. REPLICAS - 1) {
               come_closer(replica[i])
           }
           i = 0;
           grow_older(age_a);
           grow_older(asked_a);
           grow_older(age_b);
           if
           :: cut -> grow_older(since_cut)
           :: else
           fi;
           if
           :: promoted -> grow_older(since_promotion)
           :: else
           fi
       }
    od
}

active [REPLICAS] proctype Replication() {
end:
    do
    :: d_step { !cut && !current[_pid - 1] ->
                replica[_pid - 1] = master; current[_pid - 1] = true }
    od
}

active proctype Failover() {
    cut = true;
    atomic {
        select(chosen : 0 .. REPLICAS - 1);
        promoted = true
    }
}

/* ---- the clients ------------------------------------------------------- */

inline judge() {
    one_valid = !(holds_a && age_a < LEASE && holds_b && age_b < LEASE);
    assert(one_valid)
}

#ifdef MIN_REPLICAS
#define WRITABLE (since_cut < LAG)
#else
#define WRITABLE true
#endif

inline write_master(lease) {
    master = lease;
    for (i : 0 .. REPLICAS - 1) {
        current[i] = false
    }
    i = 0
}

#if REPLICAS > 1
#define COPIES (current[0] + current[1])
#else
#define COPIES current[0]
#endif

/* A waits until enough have it, and stops waiting at some time. */
inline counted(n) {
    if
    :: COPIES >= n; enough = true
    :: n > 0; enough = false
    fi
}

inline acquire() {
    asked_a = 0;
    if
    :: d_step { master == 0 && WRITABLE -> write_master(LEASE) }
       counted(WAIT);
       atomic {
           if
           :: enough ->
               age_a = asked_a;
               holds_a = true;
               judge()
           :: else
           fi;
           asked_a = LONG
       }
    :: asked_a = LONG
    fi
}

inline renew() {
    asked_a = 0;
    if
    :: d_step { master > 0 && WRITABLE -> write_master(LEASE) }
#ifdef RENEWALS_TOO
       counted(WAIT);
#else
       counted(0);
#endif
       atomic {
           if
           :: enough && age_a < LEASE ->
               age_a = asked_a;
               judge()
           :: else
           fi;
           asked_a = LONG
       }
    :: asked_a = LONG
    fi
}

/* The release may be refused or lost. */
inline release() {
    d_step { holds_a = false; age_a = LONG }
    if
    :: d_step { master > 0 && WRITABLE -> write_master(0) }
    :: true
    fi
}

active proctype A() {
    byte i;
    bool enough;
end:
    do
    :: atomic { !holds_a -> enough = false }
       acquire()
    :: atomic { holds_a && age_a < LEASE -> enough = false }
       renew()
    :: release()
    od
}

active proctype B() {
end:
    do
    :: promoted;
       age_b = 0;
       if
       :: atomic { replica[chosen] == 0 && since_promotion >= LOCK_DELAY ->
                   replica[chosen] = LEASE; holds_b = true; judge() }
          d_step { holds_b = false; replica[chosen] = 0 }
       :: true
       fi;
       age_b = LONG
    od
}
