# SPDX-License-Identifier: MIT
"""The C library: where it is found, and its declarations.

All of this repeats include/holdfast.h; tests/test_header.py compares them.
Options begin with their size, so that a library of another age knows which of
them it was given.  A function that the library does not have is an error when
it is called, not before: an older library serves whoever does without it.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int,
    c_int64, c_size_t, c_uint, c_uint64, c_void_p,
)
from typing import Any, Callable, Dict, Optional, Tuple

FILE = "libholdfast.so.1"
PACKAGE = "libholdfast1"

OK = 0
BUSY = 1
FOREVER = -1

OWNER_HANDLE = 1
POST_RELEASE = 2
NO_REENTRY = 4
WRITERS_FIRST = 8
NO_COHORT = 16
DEADLOCK = 32


class Failure(Structure):  # hf_error
    _fields_ = [("code", c_int), ("text", c_char * 240)]


class EventRecord(Structure):  # hf_event
    _fields_ = [
        ("kind", c_int), ("name", c_char_p), ("token", c_uint64),
        ("code", c_int), ("store", c_char_p), ("waited_us", c_int64),
        ("held_us", c_int64),
    ]


class Label(Structure):  # hf_label
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class LogRecord(Structure):  # hf_log_entry
    _fields_ = [
        ("level", c_int), ("text", c_char_p), ("fields", POINTER(Label)),
        ("n_fields", c_size_t),
    ]


EventFn = CFUNCTYPE(None, c_void_p, POINTER(EventRecord))
LogFn = CFUNCTYPE(None, c_void_p, POINTER(LogRecord))
StateFn = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_int)
DoneFn = CFUNCTYPE(None, c_void_p, c_int, POINTER(Failure))


class Options(Structure):  # hf_options
    _fields_ = [
        ("size", c_size_t), ("lease_ms", c_int), ("renew_ms", c_int),
        ("timeout_ms", c_int), ("patience_ms", c_int), ("spin_us", c_int),
        ("why", c_char_p), ("host", c_char_p), ("program", c_char_p),
        ("on_event", EventFn), ("event_arg", c_void_p), ("inside", c_char_p),
        ("hidden", c_bool), ("stats_names", c_char_p), ("loop", c_bool),
        ("on_log", LogFn), ("log_arg", c_void_p), ("log_level", c_int),
    ]


class LockOptions(Structure):  # hf_lock_options
    _fields_ = [
        ("size", c_size_t), ("kind", c_int), ("flags", c_uint),
        ("lease_ms", c_int), ("watchdog_ms", c_int), ("renew_ms", c_int),
        ("max_hold_ms", c_int), ("permits", c_int), ("backoff_ms", c_int),
        ("max_backoff_ms", c_int), ("replicas", c_int),
    ]


class EscalateOptions(Structure):  # hf_escalate_options
    _fields_ = [
        ("size", c_size_t), ("permission_ms", c_int), ("after_ms", c_int),
        ("back_ms", c_int),
    ]


class JobOptions(Structure):  # hf_job_options
    _fields_ = [
        ("size", c_size_t), ("at_least_ms", c_int), ("at_most_ms", c_int),
    ]


class PlaceRecord(Structure):  # hf_place
    _fields_ = [
        ("name", c_char_p), ("kind", c_char_p), ("owner", c_char_p),
        ("holds", c_bool), ("foreign", c_bool), ("token", c_uint64),
        ("lease_ms", c_int64), ("since_ms", c_int64), ("host", c_char_p),
        ("program", c_char_p), ("user", c_char_p), ("why", c_char_p),
        ("pid", c_int64), ("count", c_int64), ("permits", c_int),
        ("client", c_char_p), ("lost", c_bool),
    ]


class PresenceRecord(Structure):  # hf_presence
    _fields_ = [
        ("client", c_char_p), ("host", c_char_p), ("program", c_char_p),
        ("user", c_char_p), ("why", c_char_p), ("pid", c_int64),
        ("holds", c_size_t), ("waits", c_size_t), ("waits_ms", c_int64),
    ]


class StuckRecord(Structure):  # hf_stuck
    _fields_ = [
        ("wants", c_char_p), ("kind", c_char_p), ("client", c_char_p),
        ("host", c_char_p), ("program", c_char_p), ("user", c_char_p),
        ("why", c_char_p), ("pid", c_int64), ("thread", c_uint64),
        ("since_ms", c_int64), ("asked", c_bool),
    ]


class SampleRecord(Structure):  # hf_sample
    _fields_ = [
        ("metric", c_char_p), ("help", c_char_p), ("type", c_int),
        ("labels", POINTER(Label)), ("n_labels", c_size_t),
        ("value", c_double), ("bounds", POINTER(c_double)),
        ("counts", POINTER(c_uint64)), ("n", c_size_t), ("sum", c_double),
        ("count", c_uint64),
    ]


class RuleRecord(Structure):  # hf_rule
    _fields_ = [
        ("servers", c_char_p), ("text", c_char_p), ("about", c_char_p),
    ]


PlaceFn = CFUNCTYPE(None, c_void_p, POINTER(PlaceRecord))
PresenceFn = CFUNCTYPE(None, c_void_p, POINTER(PresenceRecord))
StuckFn = CFUNCTYPE(None, c_void_p, POINTER(StuckRecord), c_size_t)
SampleFn = CFUNCTYPE(None, c_void_p, POINTER(SampleRecord))
FactFn = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)
RuleFn = CFUNCTYPE(None, c_void_p, POINTER(RuleRecord))

# Of each struct its name in the header, for the test.
STRUCTS = {
    "hf_error": Failure, "hf_event": EventRecord, "hf_label": Label,
    "hf_log_entry": LogRecord, "hf_options": Options,
    "hf_lock_options": LockOptions, "hf_escalate_options": EscalateOptions,
    "hf_job_options": JobOptions, "hf_place": PlaceRecord,
    "hf_presence": PresenceRecord, "hf_stuck": StuckRecord,
    "hf_sample": SampleRecord, "hf_rule": RuleRecord,
}

_err = POINTER(Failure)
_out = POINTER(c_void_p)
_done = (DoneFn, c_void_p, _err)

# name: what it returns, and what it takes
FUNCTIONS: Dict[str, Tuple[Any, Tuple[Any, ...]]] = {
    "hf_version": (c_char_p, ()),
    "hf_stores": (c_char_p, ()),
    "hf_error_class": (c_int, (c_int,)),
    "hf_error_name": (c_char_p, (c_int,)),
    "hf_strerror": (c_char_p, (c_int,)),
    "hf_open": (c_int, (_out, c_char_p, POINTER(Options), _err)),
    "hf_escalate_to": (c_int, (_out, c_char_p, c_char_p, POINTER(Options),
                               POINTER(EscalateOptions), _err)),
    "hf_close": (None, (c_void_p,)),
    "hf_store": (c_char_p, (c_void_p,)),
    "hf_can": (c_uint, (c_void_p, c_int)),
    "hf_default_store": (c_size_t, (c_char_p, c_size_t)),
    "hf_uri_check": (c_int, (c_char_p, _err)),
    "hf_uri_redact": (c_size_t, (c_char_p, c_char_p, c_size_t)),
    # the lock
    "hf_lock_new": (c_int, (_out, c_void_p, c_char_p, POINTER(LockOptions),
                            _err)),
    "hf_multi_new": (c_int, (_out, _out, c_size_t, _err)),
    "hf_lock_free": (None, (c_void_p,)),
    "hf_lock_acquire": (c_int, (c_void_p, c_int, _err)),
    "hf_lock_cancel": (None, (c_void_p,)),
    "hf_lock_release": (c_int, (c_void_p, _err)),
    "hf_lock_release_after": (c_int, (c_void_p, c_int, _err)),
    "hf_lock_extend": (c_int, (c_void_p, c_int, _err)),
    "hf_lock_force_release": (c_int, (c_void_p, c_char_p, _err)),
    "hf_lock_is_held": (c_bool, (c_void_p,)),
    "hf_lock_remaining_ms": (c_int64, (c_void_p,)),
    "hf_lock_holds": (c_int, (c_void_p,)),
    "hf_lock_token": (c_uint64, (c_void_p,)),
    "hf_lock_owner": (c_size_t, (c_void_p, c_char_p, c_size_t)),
    "hf_lock_last_token": (c_int, (c_void_p, POINTER(c_uint64), _err)),
    "hf_lock_on_state": (None, (c_void_p, StateFn, c_void_p)),
    "hf_lock_lost_fd": (c_int, (c_void_p,)),
    "hf_lock_store": (c_char_p, (c_void_p,)),
    # the semaphore
    "hf_semaphore_new": (c_int, (_out, c_void_p, c_char_p, _err)),
    "hf_semaphore_free": (None, (c_void_p,)),
    "hf_semaphore_set": (c_int, (c_void_p, c_int, c_int, _err)),
    "hf_semaphore_acquire": (c_int, (c_void_p, c_int, c_int, _err)),
    "hf_semaphore_cancel": (None, (c_void_p,)),
    "hf_semaphore_release": (c_int, (c_void_p, c_int, _err)),
    "hf_semaphore_release_if_set": (c_int, (c_void_p, c_int, _err)),
    "hf_semaphore_add": (c_int, (c_void_p, c_int, _err)),
    "hf_semaphore_resize": (c_int, (c_void_p, c_int, _err)),
    "hf_semaphore_drain": (c_int, (c_void_p, POINTER(c_int64), _err)),
    "hf_semaphore_count": (c_int, (c_void_p, POINTER(c_int64),
                                   POINTER(c_int64), _err)),
    "hf_semaphore_delete": (c_int, (c_void_p, _err)),
    # the latch
    "hf_latch_new": (c_int, (_out, c_void_p, c_char_p, _err)),
    "hf_latch_free": (None, (c_void_p,)),
    "hf_latch_set": (c_int, (c_void_p, c_int, _err)),
    "hf_latch_count_down": (c_int, (c_void_p, _err)),
    "hf_latch_count": (c_int, (c_void_p, POINTER(c_int64), _err)),
    "hf_latch_wait": (c_int, (c_void_p, c_int, _err)),
    "hf_latch_cancel": (None, (c_void_p,)),
    "hf_latch_delete": (c_int, (c_void_p, _err)),
    # the scheduled job
    "hf_job_begin": (c_int, (_out, c_void_p, c_char_p, POINTER(JobOptions),
                             _err)),
    "hf_job_lock": (c_void_p, (c_void_p,)),
    "hf_job_end": (c_int, (c_void_p, _err)),
    # the guard
    "hf_guard_text": (c_char_p, (c_char_p,)),
    "hf_guard_enter": (c_int, (_out, c_char_p, c_uint64, c_int, _err)),
    "hf_guard_check": (c_int, (c_void_p, _err)),
    "hf_guard_fd": (c_int, (c_void_p,)),
    "hf_guard_leave": (None, (c_void_p,)),
    # event loops
    "hf_fd": (c_int, (c_void_p,)),
    "hf_process": (c_int, (c_void_p,)),
    "hf_lock_acquire_async": (c_int, (c_void_p, c_int, *_done)),
    "hf_lock_release_async": (c_int, (c_void_p, *_done)),
    "hf_lock_release_after_async": (c_int, (c_void_p, c_int, *_done)),
    "hf_lock_extend_async": (c_int, (c_void_p, c_int, *_done)),
    "hf_semaphore_acquire_async": (c_int, (c_void_p, c_int, c_int, *_done)),
    "hf_semaphore_release_async": (c_int, (c_void_p, c_int, *_done)),
    "hf_latch_wait_async": (c_int, (c_void_p, c_int, *_done)),
    "hf_latch_count_down_async": (c_int, (c_void_p, *_done)),
    "hf_job_begin_async": (c_int, (_out, c_void_p, c_char_p,
                                   POINTER(JobOptions), *_done)),
    "hf_job_end_async": (c_int, (c_void_p, *_done)),
    # looking
    "hf_list": (c_int, (c_void_p, c_char_p, PlaceFn, c_void_p, _err)),
    "hf_clients": (c_int, (c_void_p, PresenceFn, c_void_p, _err)),
    "hf_deadlocks": (c_int, (c_void_p, StuckFn, c_void_p, _err)),
    "hf_stats": (c_int, (c_void_p, SampleFn, c_void_p, _err)),
    "hf_stats_text": (c_size_t, (c_void_p, c_char_p, c_size_t)),
    "hf_examine": (c_int, (c_void_p, FactFn, c_void_p, _err)),
    "hf_rights": (c_int, (c_void_p, c_char_p, RuleFn, c_void_p, _err)),
}


class LibraryMissing(ImportError):
    """The C library cannot be loaded."""


class Library:
    """The functions, by name.  ctypes lets other threads run meanwhile."""

    def __init__(self, file: str) -> None:
        self._cdll = _load(file)
        self._file = file

    def __getattr__(self, name: str) -> Callable[..., Any]:
        restype, argtypes = FUNCTIONS[name]
        try:
            function = getattr(self._cdll, name)
        except AttributeError:
            return self._absent(name)
        function.restype = restype
        function.argtypes = argtypes
        setattr(self, name, function)
        return function  # type: ignore[no-any-return]

    def _absent(self, name: str) -> Callable[..., Any]:
        from .errors import Cannot

        def refuse(*_args: object) -> Any:
            version = text(self.hf_version())
            raise Cannot(f"{self._file} {version} has no {name}: this wants "
                         f"a newer one, upgrade the package {PACKAGE}")

        return refuse


def _load(file: str) -> ctypes.CDLL:
    try:
        cdll = ctypes.CDLL(file)
    except OSError as why:
        raise LibraryMissing(
            f"the holdfast library cannot be loaded ({why}): install the "
            f"package {PACKAGE}, or let HOLDFAST_LIBRARY name the file"
        ) from None
    if not hasattr(cdll, "hf_version"):
        raise LibraryMissing(f"{file} is not holdfast's library: it has no "
                             "hf_version")
    return cdll


def text(raw: Optional[bytes]) -> str:
    """What strangers wrote need not be UTF-8."""
    return (raw or b"").decode(errors="backslashreplace")


def raw(value: Optional[str]) -> Optional[bytes]:
    """For a char *; a NUL would end it early, unseen."""
    if value is None:
        return None
    if "\0" in value:
        from .errors import Usage

        raise Usage(f"{value!r} has a NUL in it")
    return value.encode(errors="surrogateescape")


library = Library(os.environ.get("HOLDFAST_LIBRARY") or FILE)
