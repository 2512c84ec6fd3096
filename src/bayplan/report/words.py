"""Counts and lists as English words. Pure text; knows little about clusters."""

from __future__ import annotations

from collections.abc import Sequence

_CAUSES_OF_EVICTION = {"node": "node failure or taint", "device": "device taint"}


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 node`, `3 nodes`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], at_most: int | None = None, *, last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 more`."""
    if at_most is not None and len(names) > at_most:
        return f"{', '.join(names[:at_most])} {last} {len(names) - at_most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def examples(names: Sequence[str], at_most: int) -> str:
    """`a, b, c` or `a, b, c, +9`: shorter than `listed`, for cells of tables."""
    shown = ", ".join(names[:at_most])
    return shown if len(names) <= at_most else f"{shown}, +{len(names) - at_most:,}"


def amount_text(amount: float) -> str:
    """Of hours or money: `1,234.5`, `0.25`."""
    return f"{amount:,.2f}".removesuffix("0").removesuffix(".0")


def violations(count: int) -> str:
    return counted(count, "budget violation") if count else "no budget violations"


def eviction_cause(cause: str) -> str:
    """What a result calls `node`, pods of a node that failed or got a NoExecute taint, or `device`, users of one."""
    return _CAUSES_OF_EVICTION.get(cause, cause)
