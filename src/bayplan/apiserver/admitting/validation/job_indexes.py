"""Indexes of a Job as its fields write them: `1,3-5`. Upstream: pkg/apis/batch/validation/validation.go (v1.36)."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Final

_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


class IndexFault(ValueError):  # noqa: N818
    """What is wrong with the text, in the server's words."""


def count_indexes(text: str, completions: int) -> int:
    """How many indexes there are; raises IndexFault unless they are in order and below the completions."""
    if not text:
        return 0
    last, total = None, 0
    for part in text.split(","):
        first, end = _interval(part, completions)
        if last is not None and last >= first:
            raise IndexFault(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def first_overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that is in both, as far as they can be read."""
    found = [
        max(one[0], other[0])
        for one, other in product(_intervals(completed, completions), _intervals(failed, completions))
        if one[0] <= other[1] and other[0] <= one[1]
    ]
    return min(found, default=None)


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_interval(part, completions))
        except IndexFault:
            continue
    return found


def _interval(text: str, completions: int) -> tuple[int, int]:
    parts = text.split("-")
    if len(parts) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise IndexFault(f"the fragment {json.dumps(text, ensure_ascii=False)} {why}")
    numbers = [_index(part, completions) for part in parts]
    if len(numbers) > 1 and numbers[0] >= numbers[1]:
        raise IndexFault(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int) -> int:
    quoted = json.dumps(text, ensure_ascii=False)
    if not _NUMBER.fullmatch(text) or abs(int(text)) >= 2**63:
        raise IndexFault(f"cannot convert string to integer for index: {quoted}")
    if int(text) >= completions:
        raise IndexFault(f"too large index: {quoted}")
    return int(text)
