# SPDX-License-Identifier: MIT
"""Locks that many processes on many machines share through a store they
already run.

    import holdfast

    with holdfast.lock("nightly") as lock:
        write_report(lock.token)

The C library libholdfast.so.1 does the work; this is its face in Python, for
threads and for asyncio.
"""
from __future__ import annotations

import asyncio
import ctypes
import functools
import os
import threading
from typing import Any, Optional, Union

from . import _native
from ._native import LibraryMissing
from .client import Client, open, sized
from .counting import Count, Latch, Semaphore
from .durations import Duration
from .errors import (
    Auth, Busy, Cancelled, Cannot, Crowded, Deadlock, Doubt, Down, Error,
    Forbidden, Forked, Free, Full, Lost, Minority, Misuse, Name, NoMemory,
    NoStore, NotDone, NotHeld, NotOwner, ReadOnly, Replicas, Starting, Store,
    System, Timeout, Tls, Uri, Usage, check,
)
from .guards import Guard, guard, guard_text
from .job import Job
from .locks import ALL, MAJORITY, Lock, Multi
from .looking import (
    Ability, Event, EventKind, Fact, Kind, LogEntry, LogLevel, Place, Presence,
    Rule, Sample, SampleType, Stuck, Verdict, log_to,
)

__all__ = [
    "ALL", "Ability", "Auth", "Busy", "Cancelled", "Cannot", "Client", "Count",
    "Crowded", "Deadlock", "Doubt", "Down", "Duration", "Error", "Event",
    "EventKind", "Fact", "Forbidden", "Forked", "Free", "Full", "Guard", "Job",
    "Kind", "Latch", "LibraryMissing", "Lock", "LogEntry", "LogLevel", "Lost",
    "MAJORITY", "Minority", "Misuse", "Multi", "Name", "NoMemory", "NoStore",
    "NotDone", "NotHeld", "NotOwner", "Place", "Presence", "ReadOnly",
    "Replicas", "Rule", "Sample", "SampleType", "Semaphore", "Starting",
    "Store", "Stuck", "System", "Timeout", "Tls", "Uri", "Usage", "Verdict",
    "check_uri", "default", "default_store", "guard", "guard_text",
    "library_version", "lock", "log_to", "multi", "open", "open_async",
    "redact", "stores",
]
__version__ = "1.0.0"


class _Default:
    """The client of those who open none.  A child of fork has its own."""

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.client: Optional[Client] = None

    def get(self) -> Client:
        with self.mutex:
            if self.client is None or self.client.closed:
                self.client = open()
            return self.client


_default = _Default()


def _after_fork() -> None:
    _default.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_after_fork)


def default() -> Client:
    """The client of the store in $HOLDFAST_STORE, or of the embedded store of
    this host; opened when it is first needed, closed when Python ends."""
    return _default.get()


def lock(name: str, **options: Any) -> Lock:
    """A lock of the default client; options as of Client.lock()."""
    return default().lock(name, **options)


def multi(*locks: Union[Lock, str], wait: Optional[Duration] = None,
          owner: str = "caller", on_lost: Any = None) -> Multi:
    """Several locks as one, of any clients; names are the default's."""
    return Multi(tuple(one if isinstance(one, Lock) else lock(one)
                       for one in locks), wait, owner, on_lost)


async def open_async(store: Optional[str] = None, **options: Any) -> Client:
    """As open, beside the loop."""
    return await asyncio.get_running_loop().run_in_executor(
        None, functools.partial(open, store, **options))


def library_version() -> str:
    """Of the C library that runs."""
    return _native.text(_native.library.hf_version())


def default_store() -> str:
    """The embedded store's address, if none is given."""
    return _native.text(sized(_native.library.hf_default_store))


def check_uri(uri: str) -> None:
    """Reads an address as open() does, and opens nothing.  Raises Uri, or
    NoStore."""
    failure = _native.Failure()
    check(_native.library.hf_uri_check(_native.raw(uri),
                                       ctypes.byref(failure)), failure)


def redact(uri: str) -> str:
    """The address with every secret in it replaced by ***."""
    return _native.text(sized(functools.partial(
        _native.library.hf_uri_redact, _native.raw(uri))))


def stores() -> list[str]:
    """The schemes that this installation can open."""
    return _native.text(_native.library.hf_stores()).split()
