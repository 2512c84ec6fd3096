"""Cron schedules as CronJobs write them: text in, the next time after a given one out.

Five fields (minute, hour, day of the month, month, day of the week) of numbers, names, lists, ranges and steps, or a
word such as `@hourly` or `@every 90m`. Meaning and complaints are those of Kubernetes (robfig/cron v3): a day counts
if both day fields allow it, or either if neither is left open; wall-clock times that a zone skips do not happen, and
those it repeats happen twice. The zone is an argument; there is no clock and no list of zones here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from bayplan.model.durations import parse_duration
from bayplan.model.time_units import SECOND

_YEARS_AHEAD: Final = 5
"""A schedule with no time in the years to come (the 30th of February) has none at all."""
_CLOCK_STEP: Final = 900
"""Clocks change, and hours begin, at full quarters of an hour or after."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class ScheduleError(ValueError):
    """The text is not a schedule."""


class _Bounds(NamedTuple):
    least: int
    most: int
    names: Mapping[str, int]


_FIELDS: Final = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "


@dataclass(frozen=True, slots=True)
class EverySoOften:
    """`@every 90m`: a fixed time after the last."""

    step_ns: int

    def next_after(self, at: int, zone: tzinfo = UTC) -> int | None:  # noqa: ARG002
        """When it is due next, in nanoseconds; always in the future."""
        return at - at % SECOND + self.step_ns


@dataclass(frozen=True, slots=True)
class WallClock:
    """Minutes of chosen days."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether one of the two day fields is enough."""

    def next_after(self, at: int, zone: tzinfo = UTC) -> int | None:
        """The first time after `at` (both in nanoseconds), or None if there is none for years, or the calendar ends."""
        try:
            found = self._first_after(at // SECOND, zone)
        except (OverflowError, ValueError):  # Python knows the years 1 to 9999
            return None
        return None if found is None else found * SECOND

    def _first_after(self, after: int, zone: tzinfo) -> int | None:
        # From the day before on: where clocks are turned back at midnight, its end comes twice.
        start = datetime.fromtimestamp(after, zone).date() - timedelta(days=1)
        found = (self._first_on(day, after, zone) for day in self._days_from(start))
        return next((second for second in found if second is not None), None)

    def _days_from(self, start: date) -> Iterator[date]:
        day, last_year = start, start.year + _YEARS_AHEAD
        while day.year <= last_year:
            if day.month not in self.months:
                day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
                continue
            if self._is_day(day):
                yield day
            day += timedelta(days=1)

    def _is_day(self, day: date) -> bool:
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (in_month or in_week) if self.either_day else (in_month and in_week)

    def _first_on(self, day: date, after: int, zone: tzinfo) -> int | None:
        midnight, end = _second(day, zone), _second(day + timedelta(days=1), zone, fold=1)
        if end - midnight == 24 * 3600:
            return self._first_on_plain(midnight, after)
        return self._first_on_odd(max(midnight, after - after % 60 + 60), end, zone)

    def _first_on_plain(self, midnight: int, after: int) -> int | None:
        """On a day of 24 hours the clock says how much of it has passed."""
        passed = max((after - midnight) // 60 + 1, 0)
        for hour in self.hours:
            if hour < passed // 60:
                continue
            least = passed % 60 if hour == passed // 60 else 0
            for minute in self.minutes:
                if minute >= least:
                    return midnight + hour * 3600 + minute * 60
        return None

    def _first_on_odd(self, start: int, end: int, zone: tzinfo) -> int | None:
        """On a day on which clocks are changed there is nothing for it but to look at the clock."""
        at = start
        while at < end:
            shown = datetime.fromtimestamp(at, zone)
            if shown.hour not in self.hours:
                at += _CLOCK_STEP - at % _CLOCK_STEP
            elif shown.minute in self.minutes and shown.month in self.months and self._is_day(shown.date()):
                return at
            else:
                at += 60
        return None


Schedule: TypeAlias = EverySoOften | WallClock


@lru_cache(maxsize=4096)
def parse_schedule(text: str) -> Schedule:
    """The schedule; raises ScheduleError with the words of Kubernetes."""
    if not text:
        raise ScheduleError("empty spec string")
    if "TZ" in text:
        raise ScheduleError("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    if text.startswith("@"):
        if text.startswith(_EVERY):
            return EverySoOften(_parse_every(text))
        if text not in _WORDS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = _WORDS[text]
    parts = text.split()
    if len(parts) != len(_FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    minutes, hours, days, months, weekdays = (
        _parse_field(part, bounds) for part, bounds in zip(parts, _FIELDS, strict=True)
    )
    return WallClock(
        minutes=tuple(sorted(minutes.values)),
        hours=tuple(sorted(hours.values)),
        days=days.values,
        months=months.values,
        weekdays=weekdays.values,
        either_day=not days.is_open and not weekdays.is_open,
    )


class _Field(NamedTuple):
    values: frozenset[int]
    is_open: bool
    """Written as a star, so that the other day field decides alone."""


def _parse_field(text: str, bounds: _Bounds) -> _Field:
    values: set[int] = set()
    is_open = False
    for part in filter(None, text.split(",")):
        found, part_is_open = _parse_range(part, bounds)
        values.update(found)
        is_open = is_open or part_is_open
    return _Field(frozenset(values), is_open)


def _parse_range(text: str, bounds: _Bounds) -> tuple[range, bool]:
    stretch, *steps = text.split("/")
    first, *ends = stretch.split("-")
    is_open = first in ("*", "?")
    if is_open:
        start, end = bounds.least, bounds.most
    else:
        if len(ends) > 1:
            raise ScheduleError(f"too many hyphens: {text}")
        start = _parse_number(first, bounds.names)
        end = _parse_number(ends[0], bounds.names) if ends else start
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = _parse_number(steps[0], {}) if steps else 1
    if steps and not ends:
        end = bounds.most
    _check_range(text, start, end, step, bounds)
    return range(start, end + 1, step), is_open and step == 1


def _check_range(text: str, start: int, end: int, step: int, bounds: _Bounds) -> None:
    if start < bounds.least:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({bounds.least}): {text}")
    if end > bounds.most:
        raise ScheduleError(f"end of range ({end}) above maximum ({bounds.most}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")


def _parse_number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    digits = text.removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        raise ScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(digits)


def _parse_every(text: str) -> int:
    duration = text.removeprefix(_EVERY)
    try:
        step_ns = parse_duration(duration)
    except ValueError:
        raise ScheduleError(f'failed to parse duration {text}: time: invalid duration "{duration}"') from None
    return max(step_ns // SECOND, 1) * SECOND


def _second(day: date, zone: tzinfo, fold: int = 0) -> int:
    """When the day's first second is, or would be; of two such the first, or the other if `fold` is 1."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone, fold=fold).timestamp())
