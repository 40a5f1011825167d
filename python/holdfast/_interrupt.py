# SPDX-License-Identifier: MIT
"""Waits that a signal ends.

Python runs the handlers of signals in the main thread, between two steps of it;
a wait inside of the library is one step, and Ctrl-C would have to wait, too.
So while the main thread waits there, another one hears of signals and cancels
the wait.  Then the handler runs; if it raises nothing the wait begins anew, for
what is left of its time.

What nobody owns another thread can wait for, which is better: the wait goes on
while a handler runs, and what was granted when one raises can be given back.
"""
from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import Callable, Optional

from . import _native
from .errors import Cancelled, Error

AGAIN = 0.02  # s; a wait that had not begun when it was cancelled


class _Listener:
    """A thread that is told of signals by the descriptor they wake."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.cancel: Optional[Callable[[], object]] = None
        self.heard = False
        self._turn = threading.Lock()  # a cancel is for this wait, not the next
        self._in, self._out = socket.socketpair()
        self._out.setblocking(False)
        threading.Thread(target=self._run, name="holdfast signals",
                         daemon=True).start()

    def _run(self) -> None:
        while self._in.recv(64):
            while self._cancelled():
                time.sleep(AGAIN)

    def _cancelled(self) -> bool:
        with self._turn:
            if self.cancel is None:
                return False
            self.heard = True
            try:
                self.cancel()
            except Error:  # closed: the wait ends anyway
                pass
            return True

    def wait(self, step: Callable[[], int],
             cancel: Callable[[], object]) -> int:
        self.heard = False
        self.cancel = cancel
        others = signal.set_wakeup_fd(self._out.fileno(),
                                      warn_on_full_buffer=False)
        try:
            if others != -1:  # an event loop's: it is not ours to take
                signal.set_wakeup_fd(others)
            return step()
        finally:
            with self._turn:
                self.cancel = None
            if others == -1:
                signal.set_wakeup_fd(-1)


_listener: Optional[_Listener] = None


def _at_ease(wait_ms: int) -> bool:
    """No signal can come in the way."""
    return (wait_ms == 0
            or threading.current_thread() is not threading.main_thread())


def wait(step: Callable[[int], int], cancel: Callable[[], object],
         wait_ms: int) -> int:
    """What step(wait_ms) answers, in which the library waits."""
    global _listener
    if _at_ease(wait_ms):
        return step(wait_ms)
    if _listener is None or _listener.pid != os.getpid():
        _listener = _Listener()
    by = time.monotonic() + wait_ms / 1000
    while True:
        left = wait_ms
        if wait_ms != _native.FOREVER:
            left = max(1, round((by - time.monotonic()) * 1000))
        rc = _listener.wait(lambda: step(left), cancel)
        if rc != Cancelled.CODE or not _listener.heard:
            return rc


class _Errand(threading.Thread):
    """Has what its step answered or raised.

    join() is not to be asked whether it is over: interrupted by a signal, it
    takes a thread that runs for one that has ended (Python 3.11).
    """

    def __init__(self, step: Callable[[], int]) -> None:
        super().__init__(name="holdfast waits", daemon=True)
        self._step = step
        self.over = threading.Event()
        self.answer: Optional[int] = None
        self.error: Optional[BaseException] = None

    def run(self) -> None:
        try:
            self.answer = self._step()
        except BaseException as error:
            self.error = error
        finally:
            self.over.set()


def wait_apart(step: Callable[[int], int], cancel: Callable[[], object],
               undo: Callable[[], object], wait_ms: int) -> int:
    """The same, by another thread; undo() gives back what it was granted."""
    if _at_ease(wait_ms):
        return step(wait_ms)
    errand = _Errand(lambda: step(wait_ms))
    errand.start()
    try:
        errand.over.wait()
    except BaseException:
        while not errand.over.is_set():
            cancel()
            errand.over.wait(AGAIN)
        if errand.answer == _native.OK:
            undo()
        raise
    if errand.error:
        raise errand.error
    assert errand.answer is not None
    return errand.answer
