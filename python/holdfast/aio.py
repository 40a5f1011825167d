# SPDX-License-Identifier: MIT
"""asyncio: what the library begins, and an event loop is told the end of.

The loop reads the client's descriptor while something that began in it has not
ended, and no longer; so a client may serve several loops, one after the other
or at a time.  Which of them runs hf_process does not matter: each end is told
to its own loop.

What is under way belongs to its loop, as a socket does on which a task waits:
everybody else knows it weakly.  So it goes with a loop that is closed, its task
is closed, and the library no longer waits.
"""
from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import weakref
from typing import (
    Any, Awaitable, Callable, Iterable, List, Optional, Set, Tuple, Union,
)

from . import _native
from ._handle import Handle, library, meaning
from .errors import Cancelled, Error, Usage, check, from_code

Loop = asyncio.AbstractEventLoop


class _Reader:
    """What a loop has of a client: a descriptor of its own for the same, which
    stays what it is until the loop has let go of it, whoever closes the
    client; and what is under way."""

    def __init__(self, process: Callable[[], None], fd: int) -> None:
        self._process = process
        self.fd = os.dup(fd)
        self.close = weakref.finalize(self, os.close, self.fd)
        self.operations: Set[_Operation] = set()

    def __call__(self) -> None:
        self._process()


class Pump:
    """Runs what is due in a client, for the loops that wait for it."""

    def __init__(self, client: Handle) -> None:
        self._client = client
        self._turn = threading.Lock()  # hf_process is for one at a time
        self._readers: weakref.WeakKeyDictionary[
            Loop, weakref.ref[_Reader]] = weakref.WeakKeyDictionary()
        self._stopped: List[_Reader] = []  # for what has not heard of it yet
        client.before_free.append(self.stop)

    @property
    def loops(self) -> List[Loop]:
        """That read the descriptor now."""
        return [loop for loop in list(self._readers) if self._reader(loop)]

    def _reader(self, loop: Loop) -> Optional[_Reader]:
        known = self._readers.get(loop)
        return known() if known else None

    def _new_reader(self, loop: Loop) -> _Reader:
        with self._client as pointer:
            fd = library.hf_fd(pointer)
            if fd < 0:
                raise from_code(fd)
            reader = _Reader(self._process, fd)
        loop.add_reader(reader.fd, reader)
        self._readers[loop] = weakref.ref(reader)
        return reader

    def begin(self, loop: Loop, operation: _Operation) -> None:
        reader = self._reader(loop) or self._new_reader(loop)
        reader.operations.add(operation)

    def end(self, loop: Loop, operation: _Operation) -> None:
        reader = self._reader(loop)
        if reader:
            reader.operations.discard(operation)
            if not reader.operations:
                self._forget(loop)

    def _forget(self, loop: Loop) -> Optional[_Reader]:
        reader = self._reader(loop)
        self._readers.pop(loop, None)
        if reader:
            if not loop.is_closed():
                loop.remove_reader(reader.fd)
            reader.close()
        return reader

    def _process(self) -> None:
        if not self._turn.acquire(blocking=False):
            return  # another loop is at it; the descriptor stays readable
        try:
            self._client.call(library.hf_process)
        except Usage:
            pass  # another thread has just closed it
        finally:
            self._turn.release()

    def stop(self) -> None:
        """The client closes: nobody looks at its descriptor any more."""
        for loop in self.loops:
            _in_loop(loop, self._stop, loop)

    def _stop(self, loop: Loop) -> None:
        reader = self._forget(loop)
        if reader:
            self._stopped.append(reader)


class Pumps:
    """Of several clients: it is not said by which of them several locks as one
    are told."""

    def __init__(self, pumps: Iterable[Pump]) -> None:
        self._pumps = list(pumps)

    def begin(self, loop: Loop, operation: _Operation) -> None:
        try:
            for pump in self._pumps:
                pump.begin(loop, operation)
        except BaseException:
            self.end(loop, operation)
            raise

    def end(self, loop: Loop, operation: _Operation) -> None:
        for pump in self._pumps:
            pump.end(loop, operation)


AnyPump = Union[Pump, Pumps]


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

    def __init__(self, pump: AnyPump, handle: Handle, keep: object,
                 adopt: Optional[Callable[[], object]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pump = pump
        self._handle = handle
        self._keep = keep  # what the library writes to
        self._adopt = adopt
        self.future: asyncio.Future[Tuple[int, str]] = (
            self._loop.create_future())
        pump.begin(self._loop, self)
        self.number = handle.numbers.add(weakref.ref(self))
        self._on_free = weakref.WeakMethod(self._freed)
        handle.on_free.append(self._on_free)

    def done(self, rc: int, text: str) -> None:
        if rc == _native.OK and self._adopt:
            self._adopt()
        _in_loop(self._loop, self._settle, rc, text)

    def _freed(self) -> None:
        """The library tells nothing of what it has freed."""
        self.done(Cancelled.CODE, "the lock or its client was closed")

    def _settle(self, rc: int, text: str) -> None:
        if not self.future.done():
            self.future.set_result((rc, text))

    def over(self) -> None:
        """Nobody waits for it any more.  If it has not ended, because its loop
        was closed, what the library writes to stays as long as the handle."""
        self._pump.end(self._loop, self)
        if not self.future.done():
            self._handle.numbers.add(self._keep)
        self._handle.numbers.forget(self.number)
        self._handle.on_free.remove(self._on_free)


def _done(number: int, rc: int, failure: Any) -> None:
    known = meaning(number)
    operation = known() if known else None
    if operation:
        text = _native.text(failure.contents.text) if failure else ""
        operation.done(rc, text)


_c_done = _native.DoneFn(_done)


async def run(pump: AnyPump, handle: Handle, function: Callable[..., int],
              *args: object, keep: object = None,
              adopt: Optional[Callable[[], object]] = None,
              undo: Optional[Callable[[], Awaitable[object]]] = None) -> int:
    """Begins function(handle, *args) and answers what it ends with.  Who is
    cancelled meanwhile cancels it and stays until it has ended; if it was done
    all the same it is undone, so that nothing of it is left.  adopt() takes
    what the library made, before anybody can close the client."""
    failure = _native.Failure()
    operation = _Operation(pump, handle, keep, adopt)
    try:
        try:
            check(handle.call(function, *args, _c_done, operation.number,
                              ctypes.byref(failure)), failure)
        except BaseException:  # it has not begun, and will not be told
            operation.future.cancel()
            raise
        try:
            await asyncio.shield(operation.future)
        except asyncio.CancelledError:
            await _end(operation, handle)
            if undo and operation.future.result()[0] == _native.OK:
                try:
                    await undo()
                except Error:
                    pass  # the library goes on trying; we are cancelled
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
