/* SPDX-License-Identifier: MIT
 *
 * wake.pml - waiting without missing the release.
 *
 * A waiter subscribes, tries, and sleeps until it hears of a release.  A
 * release frees the lock and posts to the box of everybody who has subscribed
 * by then; a box holds one message.  A run that stops while somebody still
 * waits is a deadlock, and the search reports it as an invalid end state.
 *
 * `timeout` is true when nothing else can happen: the latest moment at which
 * a timer may fire, and so the least help it can give.
 *
 *   TRY_FIRST  try, then subscribe: the order that comes to mind first
 *   LOSSY      one message may get lost
 *   DIES       one holder may die; its lease ends later, and nobody posts
 *   TIMER      a sleeper also wakes by itself after a while */
#define WAITERS 3

bool held, subscribed[WAITERS], box[WAITERS];
bool dead; /* the holder is, and its lease has not ended yet */
#ifdef LOSSY
bool may_lose = true;
#endif
#ifdef DIES
bool may_die = true;
#endif

inline post(i) {
    if
    :: subscribed[i] -> box[i] = true
#ifdef LOSSY
    :: subscribed[i] && may_lose -> may_lose = false
#endif
    :: else
    fi
}

inline release() {
    atomic {
        held = false;
        post(0);
        post(1);
        post(2)
    }
}

inline subscribe() {
    subscribed[_pid] = true
}

inline try() {
    if
    :: atomic { !held -> held = true; goto work }
    :: held
    fi
}

/* The identities of active processes count from 0: they are the indices. */
active [WAITERS] proctype Waiter() {
again:
#ifdef TRY_FIRST
    try();
    subscribe();
#else
    subscribe();
    try();
#endif
    if
    :: box[_pid] -> box[_pid] = false
#ifdef TIMER
    :: timeout
#endif
    fi;
    goto again;
work:
    if
    :: release()
#ifdef DIES
    :: atomic { may_die -> may_die = false; dead = true }
#endif
    fi;
    subscribed[_pid] = false;
    box[_pid] = false
}

/* The store ends the lease of a dead holder, and tells nobody. */
active proctype Lease() {
end:
    do
    :: atomic { dead && timeout -> dead = false; held = false }
    od
}
