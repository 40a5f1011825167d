# SPDX-License-Identifier: MIT
"""Durations: seconds here, whole milliseconds in the library."""
from __future__ import annotations

import enum
import math
from datetime import timedelta
from typing import Optional, Union

from ._native import FOREVER
from .errors import Usage

Duration = Union[int, float, timedelta]
MOST_MS = 2**31 - 1


class Unset(enum.Enum):
    """For a wait that is not said, where None means for ever."""

    UNSET = "as the lock was made"


UNSET = Unset.UNSET
Wait = Union[None, Duration, Unset]


def _seconds(duration: Duration) -> float:
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    return float(duration)


def milliseconds(duration: Duration, what: str) -> int:
    """Rounded up, so that a little does not become nothing."""
    seconds = _seconds(duration)
    if not 0 <= seconds * 1000 <= MOST_MS:
        raise Usage(f"{what} of {seconds} s: from 0 to {MOST_MS // 1000} s "
                    "make sense")
    return math.ceil(round(seconds * 1000, 3))


def wait_ms(wait: Optional[Duration]) -> int:
    """None waits for ever, 0 only tries."""
    return FOREVER if wait is None else milliseconds(wait, "a wait")


def option_ms(duration: Optional[Duration], what: str) -> int:
    """None is the library's default, which it knows as 0."""
    if duration is None:
        return 0
    ms = milliseconds(duration, what)
    if ms == 0:
        raise Usage(f"{what} of 0 s makes no sense")
    return ms


def seconds(ms: int) -> Optional[float]:
    """Of the library's, in which -1 is none."""
    return None if ms < 0 else ms / 1000


def microseconds(duration: Optional[Duration]) -> int:
    """None is 0: never."""
    return 0 if duration is None else round(_seconds(duration) * 1e6)
