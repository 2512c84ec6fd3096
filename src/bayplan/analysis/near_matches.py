"""Names that do not exist, and the ones that were probably meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches

#: How alike two names have to be, from 0 to 1: a letter too many in a short word passes, another word does not.
_ALIKE = 0.8


def meant(written: str, existing: Iterable[str]) -> str | None:
    """What was probably meant by a name; None if it exists, or nothing is like it."""
    known = set(existing)
    if written in known:
        return None
    by_lower_case = {name.lower(): name for name in sorted(known)}
    found = get_close_matches(written.lower(), by_lower_case, n=1, cutoff=_ALIKE)
    return by_lower_case[found[0]] if found else None


def meant_pair(key: str, value: str, existing: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    """Another value of the key, or another key with the value."""
    if (key, value) in existing:
        return None
    other_value = meant(value, [each for each_key, each in existing if each_key == key])
    if other_value is not None:
        return key, other_value
    other_key = meant(key, [each for each, each_value in existing if each_value == value])
    return (other_key, value) if other_key is not None else None
