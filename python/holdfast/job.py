# SPDX-License-Identifier: MIT
"""The scheduled job: many hosts start it at the same time, one runs it."""
from __future__ import annotations

import asyncio
import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional, Type

from . import _native, aio
from ._handle import Handle, library
from .claim import OnLost, tell_of_loss
from .durations import Duration, option_ms
from .errors import Busy, Error, NotOwner, Usage, check

if TYPE_CHECKING:
    from .client import Client


class Job:
    """`with client.job(…):` runs its body on one host and raises Busy on the
    others; begin() and end() are its two halves."""

    def __init__(self, client: Client, name: str,
                 at_least: Optional[Duration],
                 at_most: Optional[Duration],
                 on_lost: Optional[OnLost]) -> None:
        self.name = name
        self._on_lost = on_lost
        self.client = client
        self._options = _native.JobOptions(
            ctypes.sizeof(_native.JobOptions),
            option_ms(at_least, "a shortest time"),
            option_ms(at_most, "a longest time"))
        self._handle: Optional[Handle] = None

    # ---- beginning -----------------------------------------------------------

    def begin(self) -> bool:
        """Whether it is for us to run: then end it.  False: skip it, another
        host runs it or has just done so."""
        pointer = self._pointer()
        failure = _native.Failure()
        with self.client._handle as client:
            rc = check(library.hf_job_begin(
                ctypes.byref(pointer), client, _native.raw(self.name),
                ctypes.byref(self._options), ctypes.byref(failure)), failure)
            if rc == _native.OK:
                self._adopt(pointer, None)
            return rc == _native.OK

    async def begin_async(self) -> bool:
        """As begin."""
        pointer = self._pointer()
        name = _native.raw(self.name)

        def begin(client: int, *done: object) -> int:
            return int(library.hf_job_begin_async(
                ctypes.byref(pointer), client, name,
                ctypes.byref(self._options), *done))

        loop = asyncio.get_running_loop()
        return await aio.run(
            self.client._pump, self.client._handle, begin, keep=pointer,
            adopt=lambda: self._adopt(pointer, loop),
            undo=self.end_async) == _native.OK

    def _pointer(self) -> ctypes.c_void_p:
        if self._handle and not self._handle.closed:
            raise Usage(f"{self.name} has begun, and has not ended")
        return ctypes.c_void_p()

    def _adopt(self, pointer: ctypes.c_void_p,
               loop: Optional[aio.Loop]) -> None:
        handle = Handle(pointer.value or 0, _end, self.client._handle)
        self._handle = handle
        weakref.finalize(self, handle.free).atexit = False
        if self._on_lost:
            tell_of_loss(handle, self, loop, library.hf_job_lock)

    # ---- ending --------------------------------------------------------------

    def _ends(self) -> int:
        pointer = self._handle.surrender() if self._handle else None
        if pointer is None:
            raise NotOwner(f"{self.name} is not run by us")
        return pointer

    def end(self) -> None:
        """Raises Lost if it took longer than `at_most`, or was lost in another
        way: somebody else may have run it meanwhile."""
        failure = _native.Failure()
        with self.client._handle:
            check(library.hf_job_end(self._ends(), ctypes.byref(failure)),
                  failure)

    async def end_async(self) -> None:
        """As end."""

        def end(_client: int, *done: object) -> int:
            job = self._ends()
            rc = int(library.hf_job_end_async(job, *done))
            if rc != _native.OK:  # it has not begun
                library.hf_job_end(job, None)
            return rc

        await aio.run(self.client._pump, self.client._handle, end)

    # ---- what a job is in --------------------------------------------------

    def __enter__(self) -> Job:
        if not self.begin():
            raise self._busy()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 *_: object) -> None:
        try:
            self.end()
        except Error:
            if kind is None:  # else that one tells more
                raise

    async def __aenter__(self) -> Job:
        if not await self.begin_async():
            raise self._busy()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        *_: object) -> None:
        try:
            await self.end_async()
        except Error:
            if kind is None:
                raise

    def _busy(self) -> Busy:
        return Busy(f"{self.name}: another host runs it, or has just done so")

    # ---- while it runs -------------------------------------------------------

    @property
    def token(self) -> int:
        """0 if it does not run, or is lost."""
        return int(self._of_lock(library.hf_lock_token))

    @property
    def held(self) -> bool:
        """Whether nobody else can have begun it meanwhile."""
        return bool(self._of_lock(library.hf_lock_is_held))

    @property
    def remaining(self) -> float:
        """Of its lease, in seconds."""
        return float(self._of_lock(library.hf_lock_remaining_ms)) / 1000

    def _of_lock(self, function: Callable[..., Any]) -> Any:
        handle = self._handle
        if handle is None or handle.closed:
            return 0
        return handle.call(lambda job: function(library.hf_job_lock(job)))

    def __repr__(self) -> str:
        return f"<holdfast.Job {self.name!r}>"


def _end(job: int) -> None:
    library.hf_job_end(job, None)
