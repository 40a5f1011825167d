# SPDX-License-Identifier: MIT
"""What all that can be held has in common: one lock, or several as one.

It belongs to whoever takes it: with the plain verbs the thread, with those for
asyncio the task.  Threads and tasks may share the object, as they share one of
threading or asyncio, and exclude each other.  In the library a thread can own
through a handle that others use as well; a task cannot, and has a handle of its
own from its acquire to its release.
"""
from __future__ import annotations

import asyncio
import ctypes
import threading
import warnings
import weakref
from typing import Any, Callable, Dict, Optional, Set, Type, TypeVar

from . import _interrupt, _native, aio
from ._handle import Handle, callback, library, meaning
from .durations import UNSET, Duration, Unset, Wait, milliseconds, wait_ms
from .errors import Busy, Error, Lost, Misuse, NotOwner, Usage, check, from_code
from .looking import State

Self = TypeVar("Self", bound="Claim")
OnLost = Callable[[Lost], object]

ANYBODY = object()  # owns what belongs to the object itself


class Claim:
    name: str

    def __init__(self, pump: aio.AnyPump, wait: Optional[Duration],
                 on_lost: Optional[OnLost], *, anybody: bool,
                 apart: bool) -> None:
        self._pump = pump
        self._wait_ms = wait_ms(wait)
        self._on_lost = on_lost
        self._anybody = anybody  # whoever has the object may release it
        self._apart = apart and not anybody  # a handle for each thread
        self._waits = False  # a task does, through what belongs to anybody
        self._own: Dict[object, Handle] = {}  # of threads and tasks
        self._entered: Dict[object, int] = {}  # how often, by owner
        self._handles: Set[Handle] = set()  # all there are
        finalize = weakref.finalize(self, _dropped, self._handles,
                                    self._entered, self.name)
        finalize.atexit = False  # their client is closed then, and they before
        self._common = self._new(anybody, None)

    # ---- owners and their handles ------------------------------------------

    def _make(self, by_handle: bool) -> Handle:
        raise NotImplementedError

    def _new(self, by_handle: bool, loop: Optional[aio.Loop]) -> Handle:
        handle = self._make(by_handle)
        self._handles.add(handle)
        if self._on_lost:
            tell_of_loss(handle, self, loop)
        return handle

    def _thread(self) -> object:
        return ANYBODY if self._anybody else threading.current_thread()

    def _task(self) -> object:
        return ANYBODY if self._anybody else asyncio.current_task()

    def _asks(self) -> object:
        """The task that asks if it holds anything here, else the thread."""
        if self._own and _in_task():
            task = self._task()
            if task in self._own:
                return task
        return self._thread()

    def _handle(self, owner: object) -> Handle:
        return self._own.get(owner, self._common)

    def _enter(self, owner: object) -> None:
        self._entered[owner] = self._entered.get(owner, 0) + 1

    def _leave(self, owner: object, n: int = 1) -> None:
        """n entries less; a handle of its own goes with the last."""
        left = self._entered.get(owner, 0) - n
        if left > 0:
            self._entered[owner] = left
            return
        self._entered.pop(owner, None)
        handle = self._own.pop(owner, None)
        if handle:
            self._handles.discard(handle)
            handle.free()

    def _released(self, owner: object, why: Error) -> None:
        """Whatever the store says, it is given up here; unless it was not
        ours to release."""
        if not isinstance(why, (Misuse, NotOwner)):
            self._leave(owner)

    # ---- for threads -------------------------------------------------------

    def _ms(self, wait: Wait) -> int:
        return self._wait_ms if isinstance(wait, Unset) else wait_ms(wait)

    def _ask(self, ms: int) -> int:
        owner = self._thread()
        if self._apart and owner not in self._own:
            self._own[owner] = self._new(False, None)
        handle = self._handle(owner)
        before = self._entered.get(owner, 0)
        failure = _native.Failure()
        try:
            rc = check(_interrupt.wait(
                lambda ms: int(handle.call(library.hf_lock_acquire, ms,
                                           ctypes.byref(failure))),
                handle.cancel, ms), failure)
        except BaseException:
            # A signal's handler may raise when the grant has come already.
            if (not handle.closed
                    and handle.call(library.hf_lock_holds) > before):
                handle.call(library.hf_lock_release, None)
            self._leave(owner, 0)
            raise
        if rc == _native.OK:
            self._enter(owner)
        else:
            self._leave(owner, 0)
        return rc

    def acquire(self, wait: Wait = UNSET) -> None:
        """Takes it, waiting at most so long: None for ever, 0 not at all.
        Raises Busy (only if it does not wait), Timeout, Cancelled, Down …"""
        if self._ask(self._ms(wait)) == _native.BUSY:
            raise Busy(f"{self.name}: somebody else holds it or is first")

    def try_acquire(self) -> bool:
        """Whether it is ours now, without waiting."""
        return self._ask(0) == _native.OK

    def release(self) -> None:
        """Gives one hold back.  Raises Lost if it had been lost before, and
        NotOwner if the caller does not hold it."""
        self._give(library.hf_lock_release)

    def release_after(self, delay: Duration) -> None:
        """As release, but others get in only after `delay`."""
        self._give(library.hf_lock_release_after,
                   milliseconds(delay, "a delay"))

    def _give(self, verb: Callable[..., int], *args: object) -> None:
        owner = self._thread()
        try:
            self._change(verb, *args)
        except Error as why:
            self._released(owner, why)
            raise
        self._leave(owner)

    def extend(self, lease: Duration) -> None:
        """Sets the lease anew, counted from now."""
        self._change(library.hf_lock_extend, milliseconds(lease, "a lease"))

    def _change(self, verb: Callable[..., int], *args: object) -> None:
        failure = _native.Failure()
        check(self._handle(self._thread()).call(
            verb, *args, ctypes.byref(failure)), failure)

    def cancel(self) -> None:
        """Ends every wait that is under way through this object."""
        for handle in list(self._handles):
            if not handle.closed:
                handle.cancel()

    def __enter__(self: Self) -> Self:
        self.acquire()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 *_: object) -> None:
        try:
            self.release()
        except Error:
            if kind is None:  # else that one tells more
                raise

    # ---- for asyncio -------------------------------------------------------

    async def _ask_async(self, ms: int) -> int:
        owner = self._task()
        if self._waits:
            raise Usage(f"{self.name}: another task waits through this object "
                        "already; give each its own")
        if not self._anybody and owner not in self._own:
            self._own[owner] = self._new(True, asyncio.get_running_loop())
        handle = self._handle(owner)
        self._waits = self._anybody
        try:
            rc = await aio.run(
                self._pump, handle, library.hf_lock_acquire_async, ms,
                undo=lambda: aio.run(self._pump, handle,
                                     library.hf_lock_release_async))
        except BaseException:
            self._leave(owner, 0)
            raise
        finally:
            self._waits = False
        if rc == _native.OK:
            self._enter(owner)
        else:
            self._leave(owner, 0)
        return rc

    async def acquire_async(self, wait: Wait = UNSET) -> None:
        """As acquire, for the running task.  Cancelling the task cancels the
        wait, and nothing of it is left in the store."""
        if await self._ask_async(self._ms(wait)) == _native.BUSY:
            raise Busy(f"{self.name}: somebody else holds it or is first")

    async def try_acquire_async(self) -> bool:
        """As try_acquire."""
        return await self._ask_async(0) == _native.OK

    async def release_async(self) -> None:
        """As release; not held any more from the moment of the call."""
        await self._give_async(library.hf_lock_release_async)

    async def release_after_async(self, delay: Duration) -> None:
        """As release_after."""
        await self._give_async(library.hf_lock_release_after_async,
                               milliseconds(delay, "a delay"))

    async def _give_async(self, verb: Callable[..., int],
                          *args: object) -> None:
        owner = self._task()
        try:
            await self._change_async(verb, *args)
        except Error as why:
            self._released(owner, why)
            raise
        except BaseException:  # cancelled: it was given back all the same
            self._leave(owner)
            raise
        self._leave(owner)

    async def extend_async(self, lease: Duration) -> None:
        """As extend."""
        await self._change_async(library.hf_lock_extend_async,
                                 milliseconds(lease, "a lease"))

    async def _change_async(self, verb: Callable[..., int],
                            *args: object) -> None:
        owner = self._task()
        if owner is not ANYBODY and owner not in self._own:
            raise NotOwner(f"this task does not hold {self.name}")
        await aio.run(self._pump, self._handle(owner), verb, *args)

    async def __aenter__(self: Self) -> Self:
        await self.acquire_async()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        *_: object) -> None:
        try:
            await self.release_async()
        except Error:
            if kind is None:
                raise

    # ---- answered from memory, for the thread or task that asks -------------

    @property
    def held(self) -> bool:
        """Whether who asks holds it, by our own clock."""
        return bool(self._of_asker(library.hf_lock_is_held))

    @property
    def remaining(self) -> float:
        """Of the lease, in seconds; 0 if it is not held."""
        return float(self._of_asker(library.hf_lock_remaining_ms)) / 1000

    @property
    def holds(self) -> int:
        """How often it was entered."""
        return int(self._of_asker(library.hf_lock_holds))

    def check(self) -> None:
        """Raises Lost, or NotOwner, unless it is held."""
        if self.held:
            return
        if self._asks() in self._entered:
            raise Lost(f"{self.name} is lost")
        raise NotOwner(f"{self.name} is not held by the caller")

    def lost_fd(self) -> int:
        """A descriptor that is readable while a lost hold has not been
        released.  Poll it, do not read it."""
        fd = int(self._of_asker(library.hf_lock_lost_fd))
        if fd < 0:
            raise from_code(fd)
        return fd

    def _of_asker(self, function: Callable[..., Any], *args: object) -> Any:
        return self._handle(self._asks()).call(function, *args)

    def close(self) -> None:
        """Ends its waits, releases what is held, and frees it."""
        self._own.clear()
        self._entered.clear()
        for handle in list(self._handles):
            handle.free()

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name!r}>"


def _in_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _dropped(handles: Set[Handle], entered: Dict[object, int],
             name: str) -> None:
    """Nobody has the object any more, and so nobody could release it."""
    if entered and not all(handle.closed for handle in handles):
        warnings.warn(f"{name} is held, and nobody has the object any more: "
                      "it is released", ResourceWarning, stacklevel=2)
    for handle in handles:
        handle.free()


def tell_of_loss(handle: Handle, whom: Any, loop: Optional[aio.Loop],
                 lock_of: Callable[[int], int] = int) -> None:
    """As long as the handle lives, to whom._on_lost; in the loop, if any."""
    number = handle.numbers.add((weakref.ref(whom), loop))
    handle.call(lambda pointer: library.hf_lock_on_state(
        lock_of(pointer), _c_on_state, number))


def _on_state(number: int, _lock: int, state: int, why: int) -> None:
    with callback():
        _changed(number, state, why)


_c_on_state = _native.StateFn(_on_state)


def _changed(number: int, state: int, why: int) -> None:
    found = meaning(number)
    if state != State.LOST or not found:
        return
    whom, loop = found[0](), found[1]
    if whom is None:
        return
    because = _native.text(library.hf_strerror(why))
    lost = Lost(f"{whom.name} is lost: {because}")
    if loop is None:
        whom._on_lost(lost)
        return
    try:
        loop.call_soon_threadsafe(whom._on_lost, lost)
    except RuntimeError:
        pass  # it is closed
