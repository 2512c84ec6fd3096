"""Spans of time as people say them, and the unit in which a whole run is best drawn.

Pure text and numbers; knows nothing of clusters. Seconds come in as floats, as results hold them.
"""

from __future__ import annotations

from dataclasses import dataclass

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@dataclass(frozen=True)
class TimeUnit:
    """What one unit of a time axis is."""

    name: str
    seconds: float

    def of(self, seconds: float) -> float:
        """Seconds in this unit, rounded to what a screen can show."""
        return round(seconds / self.seconds, 5)


_UNITS = (TimeUnit("days", _DAY), TimeUnit("hours", _HOUR), TimeUnit("minutes", _MINUTE))


def unit_for(seconds: float) -> TimeUnit:
    """The largest unit of which the run has at least three."""
    return next((unit for unit in _UNITS if seconds >= 3 * unit.seconds), TimeUnit("seconds", 1.0))


def duration_text(seconds: float | None) -> str:
    """`450 ms`, `12.3 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`; a dash for a time that never came."""
    if seconds is None:
        return "–"
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms" if seconds > 0 else "0 s"
    if seconds < 59.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < _HOUR:
        return _two_parts(whole, _MINUTE, "min", 1, "s")
    if whole < 2 * _DAY:
        return _two_parts(whole, _HOUR, "h", _MINUTE, "min")
    return _two_parts(whole, _DAY, "d", _HOUR, "h")


def _two_parts(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {large_name}" + (f" {rest} {small_name}" if rest else "")
