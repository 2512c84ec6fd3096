"""Formats of text that schemas of custom resources and expressions name: UUIDs, dates, base64.

Upstream: kube-openapi/pkg/validation/strfmt/default.go and time.go (v1.36), whose patterns these are.
"""

from __future__ import annotations

import re
from typing import Final

from bayplan.model.timestamps import parse_time

_is_uuid = re.compile("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE).fullmatch
_is_base64 = re.compile(
    r"(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})"
).fullmatch
_is_full_date = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch
_time_of_day = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))").fullmatch
_LATEST: Final = ("23", "59", "59")


def is_uuid(text: str) -> bool:
    return _is_uuid(text) is not None


def is_base64(text: str) -> bool:
    return _is_base64(text) is not None


def is_date(text: str) -> bool:
    if not _is_full_date(text):
        return False
    try:
        parse_time(f"{text}T00:00:00Z")
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """A date and a time of day with its zone; whether the zone makes sense is not asked."""
    day, _, rest = text.lower().partition("t")
    # Upstream splits at every T, and looks at the part after the first.
    found = _time_of_day(rest.partition("t")[0])
    return is_date(day) and found is not None and all(map(str.__le__, found.groups()[:3], _LATEST))
