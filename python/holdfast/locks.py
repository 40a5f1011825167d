# SPDX-License-Identifier: MIT
"""The lock, of whatever kind, and several of them as one."""
from __future__ import annotations

import contextlib
import ctypes
from typing import TYPE_CHECKING, Optional, Tuple, Union

from . import _native, aio
from ._handle import Handle, library
from .claim import Claim, OnLost
from .durations import Duration, option_ms
from .errors import Usage, check
from .looking import Kind

if TYPE_CHECKING:
    from .client import Client

MAJORITY = -1
ALL = -2


class Lock(Claim):
    """A name in a store; client.lock() makes it."""

    def __init__(
        self, client: Client, name: str, *, kind: Union[Kind, str],
        wait: Optional[Duration], lease: Optional[Duration],
        watchdog: Optional[Duration], renew: Optional[Duration],
        max_hold: Optional[Duration], permits: int,
        backoff: Optional[Duration], max_backoff: Optional[Duration],
        replicas: int, owner: str, flags: int, on_lost: Optional[OnLost],
    ) -> None:
        if owner not in ("caller", "handle"):
            raise Usage(f"an owner {owner!r}: it is 'caller' or 'handle'")
        self.name = name
        self.client = client
        self.kind = _kind(kind)
        self._options = _native.LockOptions(
            ctypes.sizeof(_native.LockOptions), self.kind, flags,
            option_ms(lease, "a lease"), option_ms(watchdog, "a lease"),
            option_ms(renew, "a renewal"), option_ms(max_hold, "a hold"),
            permits, option_ms(backoff, "a pause"),
            option_ms(max_backoff, "a pause"), replicas)
        # Permits are their handle's: a thread that found another's would
        # enter with it.
        super().__init__(client._pump, wait, on_lost,
                         anybody=owner == "handle",
                         apart=self.kind is Kind.PERMIT)

    def _make(self, by_handle: bool) -> Handle:
        options = _native.LockOptions.from_buffer_copy(self._options)
        if by_handle:
            options.flags |= _native.OWNER_HANDLE
        pointer = ctypes.c_void_p()
        failure = _native.Failure()
        with self.client._handle as client:
            check(library.hf_lock_new(
                ctypes.byref(pointer), client, _native.raw(self.name),
                ctypes.byref(options), ctypes.byref(failure)), failure)
            return Handle(pointer.value or 0, library.hf_lock_free,
                          self.client._handle, cancel=library.hf_lock_cancel)

    @property
    def token(self) -> int:
        """Above every earlier one of this name; 0 if it is not held."""
        return int(self._of_asker(library.hf_lock_token))

    @property
    def owner(self) -> str:
        """As the store knows who asks; "" if it is not held."""
        buffer = ctypes.create_string_buffer(256)
        self._of_asker(library.hf_lock_owner, buffer, 256)
        return _native.text(buffer.value)

    @property
    def store(self) -> str:
        """The address of the store in which it lives."""
        return _native.text(self._common.call(library.hf_lock_store))

    def last_token(self) -> int:
        """The last one granted under this name, to whomever; asks the store."""
        token = ctypes.c_uint64()
        failure = _native.Failure()
        check(self._common.call(library.hf_lock_last_token,
                                ctypes.byref(token),
                                ctypes.byref(failure)), failure)
        return token.value

    def force_release(self, owner: Optional[str] = None) -> None:
        """For operators: frees the name, whoever holds it, and voids his
        token.  Raises Free if there was nothing."""
        failure = _native.Failure()
        check(self._common.call(library.hf_lock_force_release,
                                _native.raw(owner), ctypes.byref(failure)),
              failure)


class Multi(Claim):
    """Several locks as one, of whatever kinds and stores: held while all of
    them are.  The locks given say which; they are not taken themselves, and
    may be used beside it."""

    def __init__(self, locks: Tuple[Lock, ...], wait: Optional[Duration],
                 owner: str, on_lost: Optional[OnLost]) -> None:
        if not locks:
            raise Usage("several locks as one: there are none")
        if owner not in ("caller", "handle"):
            raise Usage(f"an owner {owner!r}: it is 'caller' or 'handle'")
        self.locks = locks
        self.name = " + ".join(lock.name for lock in locks)
        clients = {lock.client: None for lock in locks}  # each once
        super().__init__(aio.Pumps(client._pump for client in clients),
                         wait, on_lost,
                         anybody=owner == "handle",
                         apart=any(lock.kind is Kind.PERMIT for lock in locks))

    def _make(self, by_handle: bool) -> Handle:
        members = [lock._make(by_handle) for lock in self.locks]
        try:
            return _MultiHandle(members)
        except BaseException:
            for member in members:
                member.free()
            raise

    @property
    def tokens(self) -> Tuple[int, ...]:
        """Of the members, as they were given; 0 where one is not held."""
        handle = self._handle(self._asks())
        assert isinstance(handle, _MultiHandle)
        return tuple(member.call(library.hf_lock_token)
                     for member in handle.members)


class _MultiHandle(Handle):
    """Takes its members with it."""

    def __init__(self, members: list[Handle]) -> None:
        self.members = members
        pointer = ctypes.c_void_p()
        failure = _native.Failure()
        with contextlib.ExitStack() as used:  # nobody frees one meanwhile
            pointers = (ctypes.c_void_p * len(members))(
                *(used.enter_context(member) for member in members))
            check(library.hf_multi_new(ctypes.byref(pointer), pointers,
                                       len(members), ctypes.byref(failure)),
                  failure)
            super().__init__(pointer.value or 0, library.hf_lock_free,
                             *members, cancel=library.hf_lock_cancel)

    def _gone(self) -> None:
        super()._gone()
        for member in self.members:
            member.free()


def _kind(kind: Union[Kind, str]) -> Kind:
    if isinstance(kind, Kind):
        return kind
    try:
        return Kind[kind.upper()]
    except KeyError:
        known = ", ".join(k.name.lower() for k in Kind)
        raise Usage(f"there is no kind {kind!r}: {known}") from None
