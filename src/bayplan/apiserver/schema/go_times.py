"""What Go says about a text that is no time: the words a client gets for a malformed timestamp.

Takes the text of a field; gives the message of Go's `time.Parse` for RFC 3339, or an empty text if it is a time. The
time itself is not computed: documents keep times as they were written.
"""

import re
from functools import lru_cache

from bayplan.model.timestamps import parse_time

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_MICROSECONDS = r"\.[0-9]{6}"
# Parts in the order in which Go reads them: its name of the part, what it looks like, the largest value.
_DATE_AND_TIME: tuple[tuple[str, str, int | None], ...] = (
    ("2006", r"[0-9]{4}", None),
    ("-", "-", None),
    ("01", r"[0-9]{2}", 12),
    ("-", "-", None),
    ("02", r"[0-9]{2}", 31),
    ("T", "T", None),
    ("15", r"[0-9]{2}", 23),
    (":", ":", None),
    ("04", r"[0-9]{2}", 59),
    (":", ":", None),
    ("05", r"[0-9]{2}", 59),
)
_NAMES_OF_PARTS = {"01": "month", "02": "day", "15": "hour", "04": "minute", "05": "second"}
_ZONE = r"Z|[+-][0-9]{2}:[0-9]{2}"


@lru_cache(maxsize=4_096)  # thousands of writes share their times
def time_fault(text: str, *, micro: bool = False) -> str:
    """Why this is no time, in Go's words; empty if it is one."""
    why = _why_not(text, micro)
    if not why:
        return ""
    return f'parsing time "{text}"{why}' if why.startswith(": ") else f'parsing time "{text}" as {why}'


def _why_not(text: str, micro: bool) -> str:
    layout = _MICRO_LAYOUT if micro else _LAYOUT
    rest = text
    for part, pattern, largest in _DATE_AND_TIME:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            return f'"{layout}": cannot parse "{rest}" as "{part}"'
        if largest is not None and int(match[0]) > largest:
            return f": {_NAMES_OF_PARTS[part]} out of range"
        rest = rest[match.end() :]
    fraction = re.match(_MICROSECONDS if micro else r"(?:\.[0-9]+)?", rest, re.ASCII)
    if fraction is None:
        return f'"{layout}": cannot parse "{rest}" as ".000000"'
    rest = rest[fraction.end() :]
    zone = re.match(_ZONE, rest, re.ASCII)
    if zone is None:
        return f'"{layout}": cannot parse "{rest}" as "Z07:00"'
    if rest[zone.end() :]:
        return f': extra text: "{rest[zone.end() :]}"'
    return _range_fault(text)


def _range_fault(text: str) -> str:
    """Days that a month does not have, and month 0."""
    try:
        parse_time(text)
    except ValueError:
        return ": month out of range" if text[5:7] == "00" else ": day out of range"
    return ""
