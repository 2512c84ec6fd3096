"""Go duration strings (`1h2m`, `1.5s`, `300ms`) to integer nanoseconds, and back.

Reads the text of a metav1.Duration; fractions of a nanosecond are cut off as Go does. Anything that Go's
ParseDuration refuses is a ValueError. Bare numbers are refused, except `0`. `parse_span` also reads what answers print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bayplan.model.quantity import INT64_MAX
from bayplan.model.time_units import HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND

NANOSECONDS_BY_UNIT = {
    "ns": 1,
    "us": MICROSECOND,
    "µs": MICROSECOND,  # U+00B5, the micro sign
    "μs": MICROSECOND,  # U+03BC, the Greek letter
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}

#: What answers print, and Go does not know.
_PRINTED_UNITS = {"d": 24 * HOUR, "min": MINUTE}

_DIGITS: Final = 18  # of a fraction; more cannot change the nanoseconds of an hour
#: Between a number and its unit, and between parts; not inside a number.
_SPACE = re.compile(r"(?<=[0-9])\s+(?=[a-zµμ])|(?<=[a-z])\s+(?=[0-9])")
_PART = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<unit>[^0-9.]+)")


class Duration(int):
    """Nanoseconds; a field of this type is written as a Go duration string."""


def parse_duration(text: str) -> Duration:
    """The nanoseconds of a Go duration string."""
    return _parsed(text, text, NANOSECONDS_BY_UNIT)


def parse_span(text: str) -> Duration:
    """The nanoseconds of a Go duration, or of one as answers print it: `2d`, `149 d 7 h`, `3 min 5 s`."""
    return _parsed(_SPACE.sub("", text.strip()), text, NANOSECONDS_BY_UNIT | _PRINTED_UNITS)


def _parsed(written: str, text: str, units: Mapping[str, int]) -> Duration:
    sign, unsigned = _split_sign(written)
    if unsigned == "0":
        return Duration(0)
    total = position = 0
    while position < len(unsigned):
        part = _PART.match(unsigned, position)
        if part is None:
            raise ValueError(f"invalid duration {text!r}")
        total += _part_nanoseconds(part, text, units)
        position = part.end()
    if position == 0 or total > INT64_MAX:
        raise ValueError(f"invalid duration {text!r}")
    return Duration(sign * total)


def _split_sign(text: str) -> tuple[int, str]:
    if text[:1] in ("+", "-"):
        return (-1 if text[0] == "-" else 1), text[1:]
    return 1, text


def _part_nanoseconds(part: re.Match[str], text: str, units: Mapping[str, int]) -> int:
    whole: str = part["whole"]
    fraction: str = part["fraction"] or ""
    unit: str = part["unit"]
    if not whole and not fraction:
        raise ValueError(f"invalid duration {text!r}")
    if unit not in units:
        raise ValueError(f"unknown unit {unit!r} in duration {text!r}")
    scale = units[unit]
    return int(whole or "0") * scale + int(fraction.ljust(_DIGITS, "0")[:_DIGITS]) * scale // 10**_DIGITS


def format_duration(nanoseconds: int) -> str:
    """The text that Go's Duration.String gives: `5m57s`, `1.5s`, `300ms`, `0s`."""
    if nanoseconds < 0:
        return f"-{format_duration(-nanoseconds)}"
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < SECOND:
        unit = next(unit for unit in ("ms", "µs", "ns") if nanoseconds >= NANOSECONDS_BY_UNIT[unit])
        return f"{_decimal(nanoseconds, NANOSECONDS_BY_UNIT[unit])}{unit}"
    hours, rest = divmod(nanoseconds, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    leading = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{leading}{_decimal(rest, SECOND)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    fraction = f"{part:0{len(str(unit)) - 1}}".rstrip("0") if part else ""
    return f"{whole}.{fraction}" if fraction else str(whole)
