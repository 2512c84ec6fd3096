"""Spans of time in tables: `45s`, `3m20s`, `5d`, as Kubernetes words them for people.

Takes times as documents hold them (RFC 3339 text, or nothing) and `now` in nanoseconds.
"""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.tables.columns import Document
from bayplan.model.time_units import HOUR, MINUTE, SECOND
from bayplan.model.timestamps import parse_time

UNKNOWN: Final = "<unknown>"
_DAY_HOURS, _YEAR_HOURS = 24, 24 * 365


def age(document: Document, now: int) -> str:
    """Time since the object was created."""
    return since(document["metadata"].get("creationTimestamp"), now)


def since(time: str | None, now: int) -> str:
    """Time since then; a time that is not set is unknown."""
    return human_duration(now - parse_time(time)) if time else UNKNOWN


def between(start: str, end: str) -> str:
    return human_duration(parse_time(end) - parse_time(start))


def human_duration(nanoseconds: int) -> str:
    """Two or three significant figures; clocks may differ by less than two seconds."""
    # Upstream: apimachinery/pkg/util/duration/duration.go (v1.36).
    if nanoseconds < 2 * MINUTE:
        return _seconds(nanoseconds)
    if nanoseconds < 10 * MINUTE:
        return _two_units(nanoseconds // SECOND, 60, "m", "s")
    if nanoseconds < 3 * HOUR:
        return f"{nanoseconds // MINUTE}m"
    if nanoseconds < 8 * HOUR:
        return _two_units(nanoseconds // MINUTE, 60, "h", "m")
    return _hours(nanoseconds // HOUR)


def _seconds(nanoseconds: int) -> str:
    if nanoseconds <= -2 * SECOND:
        return "<invalid>"
    return f"{max(nanoseconds, 0) // SECOND}s"


def _hours(hours: int) -> str:
    if hours < 2 * _DAY_HOURS:
        return f"{hours}h"
    if hours < 8 * _DAY_HOURS:
        return _two_units(hours, _DAY_HOURS, "d", "h")
    if hours < 2 * _YEAR_HOURS:
        return f"{hours // _DAY_HOURS}d"
    if hours < 8 * _YEAR_HOURS:
        return _two_units(hours // _DAY_HOURS, 365, "y", "d")
    return f"{hours // _YEAR_HOURS}y"


def _two_units(count: int, per_larger: int, larger: str, smaller: str) -> str:
    whole, rest = divmod(count, per_larger)
    return f"{whole}{larger}{rest}{smaller}" if rest else f"{whole}{larger}"


def named_age(document: Document, now: int) -> list[Any]:
    """The cells of kinds that show nothing but their name and age."""
    return [document["metadata"].get("name", ""), age(document, now)]
