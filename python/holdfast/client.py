# SPDX-License-Identifier: MIT
"""The client: this program's tie to one store."""
from __future__ import annotations

import asyncio
import ctypes
import functools
import math
import os
import sys
import weakref
from typing import Any, Callable, List, Optional, Union

from . import _native, looking
from ._handle import Handle, Numbers, callback, in_callback, library, meaning
from .aio import Pump
from .claim import OnLost
from .counting import Latch, Semaphore
from .durations import Duration, microseconds, option_ms
from .errors import Usage, check
from .job import Job
from .locks import Lock, Multi
from .looking import Ability, Fact, Kind, LogLevel, Verdict

OnEvent = Callable[[looking.Event], object]
OnLog = Callable[[looking.LogEntry], object]


class Client:
    """A tie to one store, for all threads; holdfast.open() makes it."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._pump = Pump(handle)
        weakref.finalize(self, handle.free).atexit = False

    @property
    def store(self) -> str:
        """Its address as it was resolved, without secrets."""
        return _native.text(self._handle.call(library.hf_store))

    @property
    def closed(self) -> bool:
        return self._handle.closed

    def close(self) -> None:
        """Ends the waits of its locks, releases and frees them, and itself."""
        if in_callback():
            raise Usage("a callback of the library cannot close its client")
        self._handle.free()

    async def close_async(self) -> None:
        """As close, beside the loop."""
        self._pump.stop()
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_async()

    def __repr__(self) -> str:
        return f"<holdfast.Client {'closed' if self.closed else self.store}>"

    # ---- what it makes -------------------------------------------------------

    def lock(
        self, name: str, *, kind: Union[Kind, str] = Kind.LOCK,
        wait: Optional[Duration] = None, lease: Optional[Duration] = None,
        watchdog: Optional[Duration] = None, renew: Optional[Duration] = None,
        max_hold: Optional[Duration] = None, permits: int = 0,
        backoff: Optional[Duration] = None,
        max_backoff: Optional[Duration] = None, replicas: int = 0,
        owner: str = "caller", reentrant: bool = True,
        post_release: bool = False, writers_first: bool = False,
        cohort: bool = True, give_way: bool = False,
        on_lost: Optional[OnLost] = None,
    ) -> Lock:
        """A lock; asks nothing of the store yet.

        kind      lock, simple, fair, spin, read, write, permit
        wait      for `with` and acquire(): None for ever, 0 only tries
        lease     a fixed one, not renewed; None: it is kept alive
        watchdog, renew     the lease that is kept alive, and how often
        max_hold  renewal ends after this
        replicas  so many must have confirmed each grant; MAJORITY, ALL
        owner     "caller": the thread, or the task; "handle": whoever has the
                  object may release it
        reentrant, post_release, writers_first, cohort, give_way
                  HF_NO_REENTRY, …, HF_DEADLOCK of holdfast.h
        on_lost   called with a Lost, on the library's thread; in the loop, if
                  it is a task's"""
        flags = (
            (0 if reentrant else _native.NO_REENTRY)
            | (_native.POST_RELEASE if post_release else 0)
            | (_native.WRITERS_FIRST if writers_first else 0)
            | (0 if cohort else _native.NO_COHORT)
            | (_native.DEADLOCK if give_way else 0))
        return Lock(
            self, name, kind=kind, wait=wait, lease=lease, watchdog=watchdog,
            renew=renew, max_hold=max_hold, permits=permits, backoff=backoff,
            max_backoff=max_backoff, replicas=replicas, owner=owner,
            flags=flags, on_lost=on_lost)

    def read(self, name: str, **options: Any) -> Lock:
        """The read side of a read-write lock; options as of lock()."""
        return self.lock(name, kind=Kind.READ, **options)

    def write(self, name: str, **options: Any) -> Lock:
        """The write side of a read-write lock."""
        return self.lock(name, kind=Kind.WRITE, **options)

    def permit(self, name: str, permits: int = 1, **options: Any) -> Lock:
        """Permits of a semaphore that return when their process dies."""
        return self.lock(name, kind=Kind.PERMIT, permits=permits, **options)

    def multi(self, *locks: Union[Lock, str],
              wait: Optional[Duration] = None, owner: str = "caller",
              on_lost: Optional[OnLost] = None) -> Multi:
        """Several locks as one: of any store, or names in this one."""
        return Multi(tuple(lock if isinstance(lock, Lock) else self.lock(lock)
                           for lock in locks), wait, owner, on_lost)

    def semaphore(self, name: str) -> Semaphore:
        return Semaphore(self, name)

    def latch(self, name: str) -> Latch:
        return Latch(self, name)

    def job(self, name: str, *, at_least: Optional[Duration] = None,
            at_most: Optional[Duration] = None,
            on_lost: Optional[OnLost] = None) -> Job:
        """A scheduled job: the name stays taken for `at_least`, however soon
        it ends, and counts as lost after `at_most`.  on_lost as of lock()."""
        return Job(self, name, at_least, at_most, on_lost)

    # ---- looking ---------------------------------------------------------------

    def _tell(self, function: Callable[..., int], type_: Any,
              fn: Callable[..., object], *args: object) -> None:
        failure = _native.Failure()

        def told(_arg: int, *what: Any) -> None:
            with callback():
                fn(*what)

        c_fn = type_(told)  # until the call returns
        check(self._handle.call(function, *args, c_fn, None,
                                ctypes.byref(failure)), failure)

    def list(self, name: Optional[str] = None) -> List[looking.Place]:
        """Every claim on the name, the holder first and the waiters in order;
        on every name if None."""
        found: List[looking.Place] = []
        self._tell(library.hf_list, _native.PlaceFn,
                   lambda p: found.append(looking.place(p.contents)),
                   _native.raw(name))
        return found

    def clients(self) -> List[looking.Presence]:
        """Every client of the store that is known."""
        found: List[looking.Presence] = []
        self._tell(library.hf_clients, _native.PresenceFn,
                   lambda p: found.append(looking.presence(p.contents)))
        return found

    def deadlocks(self) -> List[List[looking.Stuck]]:
        """Every circle of claims that wait for each other."""
        found: List[List[looking.Stuck]] = []
        self._tell(library.hf_deadlocks, _native.StuckFn,
                   lambda s, n: found.append(
                       [looking.stuck(s[i]) for i in range(n)]))
        return found

    def stats(self) -> List[looking.Sample]:
        """What this client has done, as numbers; asks nothing of the store."""
        found: List[looking.Sample] = []
        self._tell(library.hf_stats, _native.SampleFn,
                   lambda s: found.append(looking.sample(s.contents)))
        return found

    def stats_text(self) -> str:
        """The same as text, in Prometheus' format."""
        return _native.text(sized(
            functools.partial(self._handle.call, library.hf_stats_text)))

    def can(self, kind: Union[Kind, str]) -> Ability:
        """What the store can do for a kind."""
        known = kind if isinstance(kind, Kind) else Kind[kind.upper()]
        return Ability(self._handle.call(library.hf_can, known) & 31)

    def examine(self) -> List[Fact]:
        """The guarantee that the store gives, in words."""
        found: List[Fact] = []
        self._tell(library.hf_examine, _native.FactFn,
                   lambda level, what, words: found.append(Fact(
                       Verdict(level), _native.text(what),
                       _native.text(words))))
        return found

    def rights(self, prefix: Optional[str] = None) -> List[looking.Rule]:
        """The least that a user of the store must be allowed."""
        found: List[looking.Rule] = []
        self._tell(library.hf_rights, _native.RuleFn,
                   lambda r: found.append(looking.rule(r.contents)),
                   _native.raw(prefix))
        return found


def sized(write: Callable[[Any, int], int]) -> bytes:
    """Of a function that writes like snprintf, and may have grown."""
    size = 256
    while True:
        buffer = ctypes.create_string_buffer(size)
        n = write(buffer, size)
        if n < size:
            return buffer.value
        size = n + 1024


def open(
    store: Optional[str] = None, *, lease: Optional[Duration] = None,
    renew: Optional[Duration] = None, timeout: Optional[Duration] = None,
    patience: Optional[Duration] = None, spin: Optional[Duration] = None,
    why: Optional[str] = None, host: Optional[str] = None,
    program: Optional[str] = None, inside: Optional[str] = None,
    hidden: bool = False, stats_names: Optional[str] = None,
    on_event: Optional[OnEvent] = None, on_log: Optional[OnLog] = None,
    log_level: LogLevel = LogLevel.INFO, escalate_to: Optional[str] = None,
    permission: Optional[Duration] = None, after: Optional[Duration] = None,
    back: Optional[Duration] = None,
) -> Client:
    """Opens a client of the store; None means $HOLDFAST_STORE, or else the
    embedded store of this host.  Options as hf_options has them, in seconds.
    With `escalate_to`, a second store for bad times: permission, after and
    back as hf_escalate_options has them, `back` also math.inf: never.

    on_event and on_log run on whatever thread it happens on; what they raise
    goes to sys.unraisablehook.  on_log calls nothing of holdfast."""
    options = _native.Options(
        size=ctypes.sizeof(_native.Options),
        lease_ms=option_ms(lease, "a lease"),
        renew_ms=option_ms(renew, "a renewal"),
        timeout_ms=option_ms(timeout, "a timeout"),
        patience_ms=option_ms(patience, "a patience"),
        spin_us=microseconds(spin),
        why=_native.raw(why), host=_native.raw(host),
        program=_native.raw(_program() if program is None else program),
        inside=_native.raw(inside),
        hidden=hidden, stats_names=_native.raw(stats_names))
    numbers = Numbers()
    if on_event:
        options.on_event = _c_on_event
        options.event_arg = numbers.add(on_event)
    if on_log:
        options.on_log = _c_on_log
        options.log_arg = numbers.add(on_log)
        options.log_level = log_level
    pointer = ctypes.c_void_p()
    failure = _native.Failure()
    try:
        if escalate_to is None:
            rc = library.hf_open(
                ctypes.byref(pointer), _native.raw(store),
                ctypes.byref(options), ctypes.byref(failure))
        else:
            rc = library.hf_escalate_to(
                ctypes.byref(pointer), _native.raw(store),
                _native.raw(escalate_to), ctypes.byref(options),
                ctypes.byref(_escalate(permission, after, back)),
                ctypes.byref(failure))
        check(rc, failure)
    except BaseException:
        numbers.forget_all()
        raise
    return Client(Handle(pointer.value or 0, library.hf_close,
                         numbers=numbers))


def _program() -> Optional[str]:
    """The script's name says more than the interpreter's."""
    script = os.path.basename(sys.argv[0]) if sys.argv else ""
    return None if script in ("", "-c", "-m", "-") else script


def _escalate(permission: Optional[Duration], after: Optional[Duration],
              back: Optional[Duration]) -> _native.EscalateOptions:
    return _native.EscalateOptions(
        ctypes.sizeof(_native.EscalateOptions),
        option_ms(permission, "a permission"), option_ms(after, "a delay"),
        _native.FOREVER if back == math.inf else option_ms(back, "a delay"))


def _on_event(number: int, record: Any) -> None:
    with callback():
        tell = meaning(number)
        if tell:
            tell(looking.event(record.contents))


def _on_log(number: int, record: Any) -> None:
    with callback():
        tell = meaning(number)
        if tell:
            tell(looking.log_entry(record.contents))


_c_on_event = _native.EventFn(_on_event)
_c_on_log = _native.LogFn(_on_log)
