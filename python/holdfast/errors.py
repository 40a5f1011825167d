# SPDX-License-Identifier: MIT
"""What can go wrong, by how sure it is.

    NotDone   certainly without effect; try again when cured
    Doubt     done or not; asking again is safe
    NotHeld   the caller does not hold it (any more)
    Misuse    the program or its settings must change

Below these there is a class for every code of the library.
"""
from __future__ import annotations

from typing import ClassVar, Dict, Optional, Type

from . import _native


class Error(Exception):
    """An answer of the library that is not success.

    code   the library's number, as HF_ETIMEOUT
    name   its name, "TIMEOUT"
    text   a sentence that names the thing and the next step
    """

    CODE: ClassVar[int] = 0
    NAME: ClassVar[str] = ""

    def __init__(self, text: str, code: Optional[int] = None,
                 name: Optional[str] = None) -> None:
        super().__init__(text)
        self.text = text
        self.code = self.CODE if code is None else code
        self.name = self.NAME if name is None else name


class NotDone(Error):
    """Certainly without effect."""


class Doubt(Error):
    """No answer: the request may have taken effect."""

    CODE, NAME = -14, "DOUBT"


class NotHeld(Error):
    """The caller does not hold it (any more)."""


class Misuse(Error):
    """The program or its settings must change."""


class Busy(NotDone):
    """Somebody was first."""

    CODE, NAME = 1, "BUSY"


class Timeout(NotDone):
    """The time allowed ran out while waiting."""

    CODE, NAME = -1, "TIMEOUT"


class Cancelled(NotDone):
    """The wait was cancelled."""

    CODE, NAME = -2, "CANCELLED"


class Down(NotDone):
    """The store cannot be reached."""

    CODE, NAME = -3, "DOWN"


class Starting(NotDone):
    """The store is still loading its data."""

    CODE, NAME = -4, "STARTING"


class ReadOnly(NotDone):
    """The store accepts no writes here."""

    CODE, NAME = -5, "READ_ONLY"


class Full(NotDone):
    """The store has no room to write."""

    CODE, NAME = -6, "FULL"


class Crowded(NotDone):
    """The store takes no more connections."""

    CODE, NAME = -7, "CROWDED"


class Auth(NotDone):
    """The store refused the credentials."""

    CODE, NAME = -8, "AUTH"


class Forbidden(NotDone):
    """The user may not do this in the store."""

    CODE, NAME = -9, "FORBIDDEN"


class Tls(NotDone):
    """The connection could not be made secure."""

    CODE, NAME = -10, "TLS"


class Store(NotDone):
    """The store reported an error."""

    CODE, NAME = -11, "STORE"


class NoMemory(NotDone):
    """Out of memory."""

    CODE, NAME = -12, "NO_MEMORY"


class System(NotDone):
    """The operating system refused."""

    CODE, NAME = -13, "SYSTEM"


class Lost(NotHeld):
    """The lease ended, or somebody took the lock away."""

    CODE, NAME = -15, "LOST"


class NotOwner(NotHeld):
    """The caller does not hold it."""

    CODE, NAME = -16, "NOT_OWNER"


class Free(NotHeld):
    """Nobody holds it."""

    CODE, NAME = -17, "FREE"


class Usage(Misuse):
    """The call makes no sense as it was made."""

    CODE, NAME = -18, "USAGE"


class Name(Misuse):
    """The name cannot be used."""

    CODE, NAME = -19, "NAME"


class Uri(Misuse):
    """The address of the store cannot be used."""

    CODE, NAME = -20, "URI"


class NoStore(Misuse):
    """This store is not part of this installation."""

    CODE, NAME = -21, "NO_STORE"


class Cannot(Misuse):
    """This store, or this library, cannot do that."""

    CODE, NAME = -22, "CANNOT"


class Forked(Misuse):
    """The client belongs to the parent process."""

    CODE, NAME = -23, "FORKED"


class Replicas(NotDone):
    """Too few replicas confirmed it."""

    CODE, NAME = -24, "REPLICAS"


class Minority(NotDone):
    """No majority of the servers granted it."""

    CODE, NAME = -25, "MINORITY"


class Deadlock(NotDone):
    """Who holds it waits, in the end, for the caller."""

    CODE, NAME = -26, "DEADLOCK"


CLASSES: Dict[int, Type[Error]] = {
    1: NotDone, 2: Doubt, 3: NotHeld, 4: Misuse,
}
CODES: Dict[int, Type[Error]] = {
    error.CODE: error
    for error in (
        Busy, Timeout, Cancelled, Down, Starting, ReadOnly, Full, Crowded,
        Auth, Forbidden, Tls, Store, NoMemory, System, Doubt, Lost, NotOwner,
        Free, Usage, Name, Uri, NoStore, Cannot, Forked, Replicas, Minority,
        Deadlock,
    )
}


def from_code(code: int, text: str = "") -> Error:
    """The error of a code, also of one that a newer library has."""
    library = _native.library
    text = text or _native.text(library.hf_strerror(code))
    known = CODES.get(code)
    if known:
        return known(text)
    sure = CLASSES.get(library.hf_error_class(code), Error)
    return sure(text, code, _native.text(library.hf_error_name(code)))


def check(rc: int, failure: _native.Failure) -> int:
    """Raises what is below zero; what is not is an answer."""
    if rc >= 0:
        return rc
    raise from_code(rc, _native.text(failure.text))
