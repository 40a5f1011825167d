# SPDX-License-Identifier: MIT
"""The semaphore and the latch: numbers under a name, which nobody owns.

A task that waits does so through a handle of its own, so that cancelling it
ends its wait and no other.
"""
from __future__ import annotations

import ctypes
import functools
import weakref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from . import _interrupt, _native, aio
from ._handle import Handle, library
from .durations import Duration, option_ms, wait_ms
from .errors import Busy, check

if TYPE_CHECKING:
    from .client import Client


class _Number:
    def __init__(self, client: Client, name: str, new: Callable[..., int],
                 free: Callable[..., None],
                 cancel: Callable[..., None]) -> None:
        self.name = name
        self.client = client
        self._verbs = new, free, cancel
        self._handle = self._make()
        weakref.finalize(self, self._handle.free).atexit = False

    def _make(self) -> Handle:
        new, free, cancel = self._verbs
        pointer = ctypes.c_void_p()
        failure = _native.Failure()
        with self.client._handle as client:
            check(new(ctypes.byref(pointer), client, _native.raw(self.name),
                      ctypes.byref(failure)), failure)
            return Handle(pointer.value or 0, free, self.client._handle,
                          cancel=cancel)

    def _ask(self, verb: Callable[..., int], *args: object) -> int:
        failure = _native.Failure()
        return check(self._handle.call(verb, *args, ctypes.byref(failure)),
                     failure)

    def _wait(self, verb: Callable[..., int], wait: Optional[Duration],
              *args: object, undo: Callable[[], object] = lambda: None) -> bool:
        failure = _native.Failure()
        return check(_interrupt.wait_apart(
            lambda ms: int(self._handle.call(verb, *args, ms,
                                             ctypes.byref(failure))),
            self._handle.cancel, undo, wait_ms(wait)), failure) == _native.OK

    async def _ask_async(
        self, verb: Callable[..., int], *args: object,
        undo: Optional[Callable[[Handle], Any]] = None,
    ) -> bool:
        handle = self._make()
        try:
            return await aio.run(
                self.client._pump, handle, verb, *args,
                undo=undo and functools.partial(undo, handle)) == _native.OK
        finally:
            handle.free()

    def cancel(self) -> None:
        """Ends every wait of threads that is under way through it."""
        self._handle.cancel()

    def close(self) -> None:
        """Ends these waits and frees it; the number stays as it is."""
        self._handle.free()

    def __repr__(self) -> str:
        return f"<holdfast.{type(self).__name__} {self.name!r}>"


class Count(NamedTuple):
    available: int
    leased: int


class Semaphore(_Number):
    """Permits that are nobody's: whoever likes gives them back.  For permits
    that return when their holder dies see client.permit()."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__(client, name, library.hf_semaphore_new,
                         library.hf_semaphore_free,
                         library.hf_semaphore_cancel)

    def set(self, permits: int, ttl: Optional[Duration] = None) -> bool:
        """Sets their number if nobody has; whether it was us."""
        return self._ask(library.hf_semaphore_set, permits,
                         option_ms(ttl, "a time to live")) == _native.OK

    def acquire(self, n: int = 1, wait: Optional[Duration] = None) -> None:
        """Takes n together.  Raises Busy (only if wait is 0), Timeout …"""
        if not self._wait(library.hf_semaphore_acquire, wait, n,
                          undo=lambda: self.release(n)):
            raise self._busy(n)

    def try_acquire(self, n: int = 1) -> bool:
        return self._wait(library.hf_semaphore_acquire, 0, n)

    def release(self, n: int = 1) -> None:
        """Gives n, whether they were taken before or not."""
        self._ask(library.hf_semaphore_release, n)

    def release_if_set(self, n: int = 1) -> None:
        """The same, but Free if there is no such semaphore."""
        self._ask(library.hf_semaphore_release_if_set, n)

    def add(self, n: int) -> None:
        """Changes their number by n."""
        self._ask(library.hf_semaphore_add, n)

    def resize(self, n: int) -> None:
        """Changes their number to n, those that are leased counted in."""
        self._ask(library.hf_semaphore_resize, n)

    def drain(self) -> int:
        """Takes all that are free; how many that were."""
        taken = ctypes.c_int64()
        self._ask(library.hf_semaphore_drain, ctypes.byref(taken))
        return taken.value

    def count(self) -> Count:
        """What is free, and what is leased."""
        available, leased = ctypes.c_int64(), ctypes.c_int64()
        self._ask(library.hf_semaphore_count, ctypes.byref(available),
                  ctypes.byref(leased))
        return Count(available.value, leased.value)

    def delete(self) -> None:
        """Raises Free if there was none."""
        self._ask(library.hf_semaphore_delete)

    async def acquire_async(self, n: int = 1,
                            wait: Optional[Duration] = None) -> None:
        """As acquire; cancelled, it leaves the number as it was."""
        if not await self._take(n, wait):
            raise self._busy(n)

    async def try_acquire_async(self, n: int = 1) -> bool:
        return await self._take(n, 0)

    async def _take(self, n: int, wait: Optional[Duration]) -> bool:
        return await self._ask_async(
            library.hf_semaphore_acquire_async, n, wait_ms(wait),
            undo=lambda handle: aio.run(
                self.client._pump, handle, library.hf_semaphore_release_async,
                n))

    async def release_async(self, n: int = 1) -> None:
        """As release."""
        await self._ask_async(library.hf_semaphore_release_async, n)

    def _busy(self, n: int) -> Busy:
        return Busy(f"{self.name} has no {n} permits free")


class Latch(_Number):
    """Closed while its count is above zero; one never set is open."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__(client, name, library.hf_latch_new,
                         library.hf_latch_free, library.hf_latch_cancel)

    def set(self, count: int) -> bool:
        """Sets the count if it is not set; whether it was us."""
        return self._ask(library.hf_latch_set, count) == _native.OK

    def count_down(self) -> None:
        """One less; at zero it opens and is gone."""
        self._ask(library.hf_latch_count_down)

    def count(self) -> int:
        count = ctypes.c_int64()
        self._ask(library.hf_latch_count, ctypes.byref(count))
        return count.value

    def wait(self, wait: Optional[Duration] = None) -> None:
        """Until it opens.  Raises Busy (only if wait is 0), Timeout …"""
        if not self._wait(library.hf_latch_wait, wait):
            raise Busy(f"{self.name} is closed")

    def is_open(self) -> bool:
        return self._wait(library.hf_latch_wait, 0)

    def delete(self) -> None:
        """Opens it, whatever the count.  Raises Free if it was not set."""
        self._ask(library.hf_latch_delete)

    async def wait_async(self, wait: Optional[Duration] = None) -> None:
        """As wait."""
        if not await self._ask_async(library.hf_latch_wait_async,
                                     wait_ms(wait)):
            raise Busy(f"{self.name} is closed")

    async def count_down_async(self) -> None:
        """As count_down."""
        await self._ask_async(library.hf_latch_count_down_async)
