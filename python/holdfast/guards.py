# SPDX-License-Identifier: MIT
"""The checking half of the token: a file that refuses older ones."""
from __future__ import annotations

import ctypes
import os
import weakref
from typing import Optional, Union

from . import _native
from ._handle import Handle, library
from .durations import Duration, wait_ms
from .errors import Busy, check, from_code


class Guard:
    """We are inside: nobody with an older token is, or will ever be."""

    def __init__(self, path: Union[str, os.PathLike[str]], token: int,
                 wait: Optional[Duration]) -> None:
        self.path = os.fspath(path)
        pointer = ctypes.c_void_p()
        failure = _native.Failure()
        rc = check(library.hf_guard_enter(
            ctypes.byref(pointer), os.fsencode(self.path), token,
            wait_ms(wait), ctypes.byref(failure)), failure)
        if rc == _native.BUSY:
            raise Busy(f"{self.path}: somebody with an older token is inside")
        self._handle = Handle(pointer.value or 0, library.hf_guard_leave)
        weakref.finalize(self, self._handle.free).atexit = False

    def check(self) -> None:
        """Raises Lost if a newer one waits until we leave."""
        failure = _native.Failure()
        check(self._handle.call(library.hf_guard_check,
                                ctypes.byref(failure)), failure)

    def fileno(self) -> int:
        """Readable when a newer one comes: then, and once after having asked
        for it, check."""
        fd: int = self._handle.call(library.hf_guard_fd)
        if fd < 0:
            raise from_code(fd)
        return fd

    def leave(self) -> None:
        self._handle.free()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


def guard(path: Union[str, os.PathLike[str]], token: int,
          wait: Optional[Duration] = None) -> Guard:
    """Enters, to change `path` with this token.  Raises Lost: a newer one has
    been here, change nothing; Timeout, and if wait is 0 Busy: somebody with an
    older one is still inside, and is told to leave."""
    return Guard(path, token, wait)


def guard_text(system: str) -> Optional[str]:
    """What to install in "postgresql", "mariadb", "sqlite" or "redis" so that
    it refuses older tokens; None for anything else."""
    found = library.hf_guard_text(_native.raw(system))
    return None if found is None else _native.text(found)
