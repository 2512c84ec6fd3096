"""Names that do not exist, and the ones that were probably meant.

Takes what somebody wrote and the names that exist; gives the closest ones, whatever their case. One measure serves
kinds, labels, taints, resources and the names of objects alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

#: How alike two names have to be, from 0 to 1: a letter too many in a short word passes, another word does not. A test
#: compares this with the kinds that Kubernetes has.
_ALIKE = 0.8
_SHOWN_MAX = 3
#: Of fewer letters, other names have the same by chance.
_SWAPPED_MIN = 3


def near(written: str, existing: Iterable[str]) -> list[str]:
    """Names like this one, best first; one with the same letters in another order comes before all others."""
    by_lower_case = {name.lower(): name for name in sorted(existing)}
    wanted = written.lower()
    letters = sorted(wanted)
    swapped = [name for name in by_lower_case if len(name) >= _SWAPPED_MIN and sorted(name) == letters]
    close = get_close_matches(wanted, by_lower_case, n=_SHOWN_MAX, cutoff=_ALIKE)
    return [by_lower_case[name] for name in dict.fromkeys([*swapped, *close])][:_SHOWN_MAX]


def did_you_mean(names: Sequence[str]) -> str:
    """The end of an error message; empty if nothing is like what was written."""
    return f"; did you mean {' or '.join(names)}?" if names else ""


def meant(written: str, existing: Iterable[str]) -> str | None:
    """What was probably meant by a name; None if it exists, or nothing is like it."""
    known = set(existing)
    return None if written in known else next(iter(near(written, known)), None)


def meant_pair(key: str, value: str, existing: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    """Another value of the key, or another key with the value."""
    if (key, value) in existing:
        return None
    other_value = meant(value, [each for each_key, each in existing if each_key == key])
    if other_value is not None:
        return key, other_value
    other_key = meant(key, [each for each, each_value in existing if each_value == value])
    return (other_key, value) if other_key is not None else None
