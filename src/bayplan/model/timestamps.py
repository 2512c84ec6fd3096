"""Times as Kubernetes writes them, RFC 3339, turned into integer nanoseconds since 1970.

Pure text to integer: no clock, no local zone. Fractions finer than a nanosecond are cut off, as Go does.
"""

import re
from functools import lru_cache

from bayplan.model.time_units import MICROSECOND, SECOND

_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_0000_TO_1970 = 719_528
_FIRST_SECOND, _LAST_SECOND = -62_167_219_200, 253_402_300_799  # 0000-01-01T00:00:00Z, 9999-12-31T23:59:59Z

# Of the seconds that were asked for: thousands of writes share one, and reading a dict is as cheap as it gets.
_texts: dict[int, str] = {}
_TEXTS_MAX = 4_096


@lru_cache(maxsize=8_192)
def parse_time(text: str) -> int:
    """Nanoseconds since the epoch; ValueError when the text is not an RFC 3339 time."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time (such as 2026-01-31T12:00:00Z)")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    _check_ranges(text, year, month, day, hour, minute, second)
    seconds = (_days_since_epoch(year, month, day) * 24 + hour) * 3600 + minute * 60 + second
    seconds -= _offset_seconds(text, match)
    fraction_ns = int((match[7] or "").ljust(9, "0")[:9])
    return seconds * SECOND + fraction_ns


def _check_ranges(text: str, year: int, month: int, day: int, hour: int, minute: int, second: int) -> None:
    date_is_real = 1 <= month <= 12 and 1 <= day <= _days_in_month(year, month)
    if not date_is_real or hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{text!r} is not a valid time")


def _offset_seconds(text: str, match: re.Match[str]) -> int:
    if match[8]:
        return 0
    hours, minutes = int(match[10]), int(match[11])
    if hours > 23 or minutes > 59:
        raise ValueError(f"{text!r} has an invalid UTC offset")
    return (hours * 3600 + minutes * 60) * (-1 if match[9] == "-" else 1)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in_month(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _DAYS_IN_MONTH[month - 1]


@lru_cache(maxsize=4_096)  # as with `_date`
def _days_since_epoch(year: int, month: int, day: int) -> int:
    leap_days_before = (year + 3) // 4 - (year + 99) // 100 + (year + 399) // 400
    days_of_months_before = sum(_days_in_month(year, earlier) for earlier in range(1, month))
    return year * 365 + leap_days_before - _DAYS_0000_TO_1970 + days_of_months_before + day - 1


def format_time(nanoseconds: int) -> str:
    """The RFC 3339 text of a time, in UTC and whole seconds, as Kubernetes writes it.

    Years have four digits: what is beyond them is written as the first or last second that has a text.
    """
    second = nanoseconds // SECOND
    try:
        return _texts[second]
    except KeyError:
        if len(_texts) >= _TEXTS_MAX:
            _texts.clear()
        text = _texts[second] = _format_second(min(max(second, _FIRST_SECOND), _LAST_SECOND))
        return text


def format_micro_time(nanoseconds: int) -> str:
    """The text of a time with microseconds, as Kubernetes writes a MicroTime."""
    return f"{format_time(nanoseconds)[:-1]}.{nanoseconds // MICROSECOND % 1_000_000:06}Z"


def _format_second(second: int) -> str:
    days, second_of_day = divmod(second, 24 * 3600)
    hour, rest = divmod(second_of_day, 3600)
    return f"{_date(days)}T{hour:02}:{rest // 60:02}:{rest % 60:02}Z"


@lru_cache(maxsize=4_096)  # thousands of pods started on the same few days
def _date(days_since_epoch: int) -> str:
    # The guess may be a year too high, never too low: 365.2425 days make an average year.
    year = 1970 + days_since_epoch * 10_000 // 3_652_425 + 1
    while _days_since_epoch(year, 1, 1) > days_since_epoch:
        year -= 1
    day = days_since_epoch - _days_since_epoch(year, 1, 1)
    month = 1
    while day >= _days_in_month(year, month):
        day -= _days_in_month(year, month)
        month += 1
    return f"{year:04}-{month:02}-{day + 1:02}"
