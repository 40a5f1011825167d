# SPDX-License-Identifier: MIT
"""asyncio: what the library begins, and an event loop is told the end of.

The loop reads the client's descriptor while something that began in it has not
ended, and no longer; so a client may serve several loops, one after the other
or at a time.  Which of them runs hf_process does not matter: each end is told
to its own loop.
"""
from __future__ import annotations

import asyncio
import ctypes
import threading
from typing import Any, Awaitable, Callable, Dict, Optional, Tuple

from . import _native
from ._handle import Handle, library, meaning
from .errors import Cancelled, check, from_code

Loop = asyncio.AbstractEventLoop


class Pump:
    """Runs what is due in a client, for the loops that wait for it."""

    def __init__(self, client: Handle) -> None:
        self._client = client
        self._turn = threading.Lock()  # hf_process is for one at a time
        self._reads: Dict[Loop, int] = {}
        self._fd = -1
        client.before_free.append(self.stop)

    def begin(self, loop: Loop) -> None:
        if self._fd < 0:
            fd = self._client.call(library.hf_fd)
            if fd < 0:
                raise from_code(fd)
            self._fd = fd
        n = self._reads.get(loop, 0)
        if n == 0:
            loop.add_reader(self._fd, self._process)
        self._reads[loop] = n + 1

    def end(self, loop: Loop) -> None:
        n = self._reads.get(loop, 0)
        if n > 1:
            self._reads[loop] = n - 1
        elif n == 1:
            del self._reads[loop]
            if not loop.is_closed():
                loop.remove_reader(self._fd)

    def _process(self) -> None:
        if not self._turn.acquire(blocking=False):
            return  # another loop is at it; the descriptor stays readable
        try:
            if not self._client.closed:
                self._client.call(library.hf_process)
        finally:
            self._turn.release()

    def stop(self) -> None:
        """The client closes, and its descriptor may be somebody else's then:
        nobody may look at that on our behalf."""
        for loop in list(self._reads):
            _in_loop(loop, self._forget, loop)

    def _forget(self, loop: Loop) -> None:
        if self._reads.pop(loop, 0):
            loop.remove_reader(self._fd)


def _in_loop(loop: Loop, function: Callable[..., object],
             *args: object) -> None:
    """Now if we are in it, else when it comes to that."""
    try:
        here: Optional[Loop] = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        function(*args)
        return
    try:
        loop.call_soon_threadsafe(function, *args)
    except RuntimeError:
        pass  # it is closed, and nobody waits in it


class _Operation:
    """Something that has begun.  Its future has the result, and a text if
    that is an error."""

    def __init__(self, pump: Pump, handle: Handle) -> None:
        self._pump = pump
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Tuple[int, str]] = (
            self._loop.create_future())
        self.number = handle.numbers.add(self)
        handle.on_free.append(self._freed)

    def done(self, rc: int, text: str) -> None:
        _in_loop(self._loop, self._settle, rc, text)

    def _freed(self) -> None:
        """The library tells nothing of what it has freed."""
        self.done(Cancelled.CODE, "the lock or its client was closed")

    def _settle(self, rc: int, text: str) -> None:
        if not self.future.done():
            self.future.set_result((rc, text))

    def over(self) -> None:
        self._pump.end(self._loop)
        if not self._handle.closed:
            self._handle.numbers.forget(self.number)
            self._handle.on_free.remove(self._freed)


def _done(number: int, rc: int, failure: Any) -> None:
    operation = meaning(number)
    if operation:
        text = _native.text(failure.contents.text) if failure else ""
        operation.done(rc, text)


_c_done = _native.DoneFn(_done)


async def run(pump: Pump, handle: Handle, function: Callable[..., int],
              *args: object,
              undo: Optional[Callable[[], Awaitable[object]]] = None) -> int:
    """Begins function(handle, *args) and answers what it ends with.  Who is
    cancelled meanwhile cancels it and stays until it has ended; if it was done
    all the same it is undone, so that nothing of it is left."""
    failure = _native.Failure()
    pump.begin(asyncio.get_running_loop())
    operation = _Operation(pump, handle)
    try:
        check(handle.call(function, *args, _c_done, operation.number,
                          ctypes.byref(failure)), failure)
        try:
            await asyncio.shield(operation.future)
        except asyncio.CancelledError:
            await _end(operation, handle)
            if undo and operation.future.result()[0] == _native.OK:
                await undo()
            raise
    finally:
        operation.over()
    rc, text = operation.future.result()
    if rc < 0:
        raise from_code(rc, text)
    return rc


async def _end(operation: _Operation, handle: Handle) -> None:
    if not handle.closed:
        handle.cancel()
    while not operation.future.done():
        try:
            await asyncio.wait([operation.future])
        except asyncio.CancelledError:
            pass  # once is enough
