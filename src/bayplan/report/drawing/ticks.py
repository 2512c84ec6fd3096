"""Round numbers for axes."""

from __future__ import annotations

import math


def round_ticks(low: float, high: float, at_most: int, *, whole: bool = False) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers."""
    span = high - low
    if span <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / at_most))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= at_most)
    if whole:
        step = max(1.0, step)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float) -> str:
    return f"{value:,.10g}"


def short(value: float) -> str:
    """A coordinate with as many digits as a screen can show."""
    return f"{value:.6g}"
