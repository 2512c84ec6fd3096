"""Time zones by name, as a CronJob's `timeZone` gives them.

Takes an IANA name, gives the zone or None. What is known is what this machine, or the package tzdata, has on file.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo


@lru_cache(maxsize=1024)
def find_time_zone(name: str | None) -> tzinfo | None:
    """The zone; UTC if none is named, None if it is unknown."""
    if name in (None, "UTC", "Etc/UTC"):
        return UTC
    assert name is not None
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # unknown, no proper name, a folder of zones
        return None
