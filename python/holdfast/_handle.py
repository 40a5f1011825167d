# SPDX-License-Identifier: MIT
"""Pointers into the library, and when they are freed.

A handle has parents, without which it cannot be: a lock its client, several
locks as one their members.  Freeing a parent frees its children first.  Nobody
is inside of the library with a pointer while that is freed: who waits there is
cancelled, and awaited.

Whatever the library calls back comes with a number, under which stands what is
meant; so the few functions that C calls live as long as this module, and what
they lead to until the handle is freed.
"""
from __future__ import annotations

import atexit
import itertools
import os
import threading
import weakref
from collections import deque
from contextlib import contextmanager
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Set

from . import _native
from .errors import Usage

library = _native.library
MISSED = 0.02  # s; who was not yet waiting when it was cancelled is so again


class _Shared:
    """What a child of fork must have anew: its other threads are gone."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.changed = threading.Condition(self.mutex)
        self.roots: Set[Handle] = set()  # which have no parent
        self.orphans: Deque[Handle] = deque()


_callback = threading.local()


@contextmanager
def callback() -> Iterator[None]:
    """In it the library may hold locks of its own: nothing is freed there,
    not even by the garbage collector."""
    _callback.depth = getattr(_callback, "depth", 0) + 1
    try:
        yield
    finally:
        _callback.depth -= 1


def in_callback() -> bool:
    return getattr(_callback, "depth", 0) > 0


_next_number = itertools.count(1)
_meant: Dict[int, Any] = {}


def meaning(number: int) -> Any:
    """What stands under the number, or None: it is gone."""
    return _meant.get(number)


class Numbers:
    """Numbers for what C is given, until they are forgotten."""

    def __init__(self) -> None:
        self._all: Set[int] = set()

    def add(self, meant: object) -> int:
        number = next(_next_number)
        _meant[number] = meant
        self._all.add(number)
        return number

    def forget(self, number: int) -> None:
        _meant.pop(number, None)
        self._all.discard(number)

    def forget_all(self) -> None:
        for number in list(self._all):
            self.forget(number)


class Handle:
    def __init__(
        self, pointer: int, free: Callable[[int], object], *parents: Handle,
        cancel: Optional[Callable[[int], object]] = None,
        numbers: Optional[Numbers] = None,
    ) -> None:
        self._pointer: Optional[int] = pointer
        self._free = free
        self._cancel = cancel
        self._parents = parents
        self._children: Set[Handle] = set()
        self._users: List[int] = []
        self.numbers = numbers or Numbers()
        self._pid = os.getpid()
        self.before_free: List[Callable[[], object]] = []
        self.on_free: List[weakref.WeakMethod[Any]] = []
        with _shared.changed:
            for parent in parents:
                parent._children.add(self)
            if not parents:
                _shared.roots.add(self)

    def __reduce__(self) -> str:
        raise TypeError("what holdfast made belongs to this process: open a "
                        "client in the other one")

    @property
    def closed(self) -> bool:
        return self._pointer is None

    @property
    def forked(self) -> bool:
        return self._pid != os.getpid()

    def __enter__(self) -> int:
        if _shared.orphans and not in_callback():
            _free_orphans()
        with _shared.mutex:
            if self._pointer is None:
                raise Usage("it is closed")
            self._users.append(threading.get_ident())
            return self._pointer

    def __exit__(self, *_: object) -> None:
        with _shared.mutex:
            self._users.remove(threading.get_ident())
            if self._pointer is None:
                _shared.changed.notify_all()

    def call(self, function: Callable[..., Any], *args: object) -> Any:
        """The function's answer, for our pointer and these."""
        with self as pointer:
            return function(pointer, *args)

    def cancel(self) -> None:
        if self._cancel:
            self.call(self._cancel)

    def free(self) -> None:
        """For any thread, and more than once."""
        if in_callback():
            _shared.orphans.append(self)
            return
        pointer = self._close()
        if pointer is None:
            return
        for tell in self.before_free:
            tell()
        for child in list(self._children):
            child.free()
        with _shared.changed:
            while self._children:  # another thread is at it
                _shared.changed.wait()
        if not self.forked:
            self._free(pointer)
        self._gone()

    def surrender(self) -> Optional[int]:
        """The pointer, which somebody else frees; None: it is freed."""
        pointer = self._close()
        if pointer is not None:
            self._gone()
        return pointer

    def _gone(self) -> None:
        self.numbers.forget_all()
        with _shared.changed:
            for parent in self._parents:
                parent._children.discard(self)
            _shared.roots.discard(self)
            _shared.changed.notify_all()
        for known in list(self.on_free):
            tell = known()
            if tell:
                tell()

    def _close(self) -> Optional[int]:
        """The pointer, for whoever is the first to want it freed; nobody uses
        it then.  This thread itself may, below us: a signal's handler."""
        me = threading.get_ident()
        with _shared.changed:
            pointer, self._pointer = self._pointer, None
            if pointer is None or self.forked:
                return pointer
            while any(user != me for user in self._users):
                if self._cancel:
                    self._cancel(pointer)
                _shared.changed.wait(MISSED)
        return pointer


def _free_orphans() -> None:
    while _shared.orphans:
        try:
            handle = _shared.orphans.popleft()
        except IndexError:  # another thread was first
            return
        handle.free()


def _free_all() -> None:
    """At the end: no thread of the library may outlive the interpreter."""
    for root in list(_shared.roots):
        root.free()


def _after_fork() -> None:
    global _shared
    _shared = _Shared()


_shared = _Shared()
atexit.register(_free_all)
os.register_at_fork(after_in_child=_after_fork)
