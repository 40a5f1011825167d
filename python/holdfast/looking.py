# SPDX-License-Identifier: MIT
"""What the library tells of: places, clients, circles, numbers, events."""
from __future__ import annotations

import enum
import logging
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Tuple

from . import _native
from ._native import text
from .durations import seconds


class Kind(enum.IntEnum):
    LOCK = 0
    SIMPLE = 1
    FAIR = 2
    SPIN = 3
    READ = 4
    WRITE = 5
    PERMIT = 6
    SEMAPHORE = 7
    LATCH = 8


class State(enum.IntEnum):
    HELD = 0
    DOUBT = 1
    LOST = 2


class EventKind(enum.IntEnum):
    GRANTED = 0
    RELEASED = 1
    RENEWED = 2
    DOUBT = 3
    LOST = 4
    UNRELEASED = 5
    WEAKER = 6
    MOVING = 7
    MOVED = 8
    REFUSED = 9


class LogLevel(enum.IntEnum):
    NONE = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4


class SampleType(enum.IntEnum):
    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


class Verdict(enum.IntEnum):
    FACT = 0
    GOOD = 1
    WARN = 2


class Ability(enum.IntFlag):
    HOLD = 1
    ORDER = 2
    WAKE = 4
    NOTICE = 8
    REPLICATE = 16


@dataclass(frozen=True)
class Event:
    """What happened.  `waited` and `held` are seconds."""

    kind: EventKind
    name: str
    token: int
    code: int
    store: str
    waited: float
    held: float


def event(e: _native.EventRecord) -> Event:
    return Event(EventKind(e.kind), text(e.name), e.token, e.code,
                 text(e.store), e.waited_us / 1e6, e.held_us / 1e6)


@dataclass(frozen=True)
class LogEntry:
    level: LogLevel
    text: str
    fields: Dict[str, str]


def _labels(first: Any, n: int) -> Dict[str, str]:
    return {text(first[i].name): text(first[i].value) for i in range(n)}


def log_entry(e: _native.LogRecord) -> LogEntry:
    return LogEntry(LogLevel(e.level), text(e.text),
                    _labels(e.fields, e.n_fields))


_LEVELS = {
    LogLevel.ERROR: logging.ERROR, LogLevel.WARN: logging.WARNING,
    LogLevel.INFO: logging.INFO, LogLevel.DEBUG: logging.DEBUG,
}


def log_to(logger: logging.Logger) -> Callable[[LogEntry], None]:
    """An on_log that writes to `logger`; the fields stand behind the text, and
    as `holdfast` in the record."""

    def write(entry: LogEntry) -> None:
        level = _LEVELS.get(entry.level, logging.DEBUG)
        more = "".join(f" {name}={value!r}"
                       for name, value in entry.fields.items())
        logger.log(level, "%s%s", entry.text, more,
                   extra={"holdfast": entry.fields})

    return write


@dataclass(frozen=True)
class Place:
    """One claim in the line of a name.  `lease` and `since` are seconds, None
    if unknown; `count` is of a semaphore or a latch."""

    name: str
    kind: str
    owner: str
    holds: bool
    foreign: bool
    token: int
    lease: Optional[float]
    since: Optional[float]
    host: str
    program: str
    user: str
    why: str
    pid: int
    count: int
    permits: int
    client: str
    lost: bool


def place(p: _native.PlaceRecord) -> Place:
    return Place(
        text(p.name), text(p.kind), text(p.owner), p.holds, p.foreign, p.token,
        seconds(p.lease_ms), seconds(p.since_ms), text(p.host),
        text(p.program), text(p.user), text(p.why), p.pid, p.count, p.permits,
        text(p.client), p.lost)


@dataclass(frozen=True)
class Presence:
    """A client of the store; `longest` is the longest of its waits."""

    client: str
    host: str
    program: str
    user: str
    why: str
    pid: int
    holds: int
    waits: int
    longest: Optional[float]


def presence(p: _native.PresenceRecord) -> Presence:
    return Presence(text(p.client), text(p.host), text(p.program),
                    text(p.user), text(p.why), p.pid, p.holds, p.waits,
                    seconds(p.waits_ms))


@dataclass(frozen=True)
class Stuck:
    """One of a circle: it wants what the next one holds."""

    wants: str
    kind: str
    client: str
    host: str
    program: str
    user: str
    why: str
    pid: int
    thread: int
    since: Optional[float]
    asked: bool


def stuck(s: _native.StuckRecord) -> Stuck:
    return Stuck(text(s.wants), text(s.kind), text(s.client), text(s.host),
                 text(s.program), text(s.user), text(s.why), s.pid, s.thread,
                 seconds(s.since_ms), s.asked)


@dataclass(frozen=True)
class Sample:
    """One number.  A histogram has `bounds` and, one more, `counts`."""

    metric: str
    help: str
    type: SampleType
    labels: Dict[str, str]
    value: float
    bounds: Tuple[float, ...]
    counts: Tuple[int, ...]
    sum: float
    count: int


def sample(s: _native.SampleRecord) -> Sample:
    histogram = s.type == SampleType.HISTOGRAM
    return Sample(
        text(s.metric), text(s.help), SampleType(s.type),
        _labels(s.labels, s.n_labels), s.value,
        tuple(s.bounds[:s.n]) if histogram else (),
        tuple(s.counts[:s.n + 1]) if histogram else (), s.sum, s.count)


@dataclass(frozen=True)
class Fact:
    level: Verdict
    what: str
    text: str


@dataclass(frozen=True)
class Rule:
    servers: str
    text: str
    about: str


def rule(r: _native.RuleRecord) -> Rule:
    return Rule(text(r.servers), text(r.text), text(r.about))
