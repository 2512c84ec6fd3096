"""Counts that may be written as shares of a total: `3` or `25%`."""

from __future__ import annotations


def scaled_value(value: int | str, total: int, *, round_up: bool) -> int:
    """The count; what is neither a number nor a percentage is none, as an API server would have refused it."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    if digits == value or not (digits.isascii() and digits.isdecimal()):
        return 0
    product = int(digits) * total
    return -(-product // 100) if round_up else product // 100
