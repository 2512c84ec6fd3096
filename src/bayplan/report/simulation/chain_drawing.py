"""Chains of preemptions as one drawing: preemptors, victims, and the victims' replacements that preempt in turn.

Takes chains of pod keys and returns an SVG: one column for each step, chains with a common beginning joined to a tree.
Draws only the given chains; which of many are worth a look is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

_BOX_WIDTH, _BOX_HEIGHT = 210, 24
_COLUMN, _ROW = 270, 32


@dataclass
class _Step:
    key: str
    followers: dict[str, _Step] = field(default_factory=dict)
    row: float = 0.0


def draw_chains(chains: Sequence[Sequence[str]], colour_of: Mapping[str, str], shortened: Mapping[str, str]) -> str:
    """An `<svg>`; `colour_of` and `shortened` give each pod's colour and the name that fits a box."""
    first = _Step("")
    for chain in chains:
        step = first
        for key in chain:
            step = step.followers.setdefault(key, _Step(key))
    rows = _give_rows(first, 0)
    parts: list[str] = []
    for step in first.followers.values():
        _draw(step, 0, colour_of, shortened, parts)
    width = _COLUMN * max((len(chain) for chain in chains), default=1) - (_COLUMN - _BOX_WIDTH) + 4
    return (
        f'<svg class="chains" role="img" aria-label="chains of preemptions" width="{width}" height="{rows * _ROW}" '
        f'viewBox="-2 -2 {width} {rows * _ROW}">{_ARROW}{"".join(parts)}</svg>'
    )


_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" fill="#52606D"/></marker></defs>'
)


def _give_rows(step: _Step, next_row: int) -> int:
    """Leaves take rows one after another, a step is centered on its followers."""
    if not step.followers:
        step.row = next_row
        return next_row + 1
    for follower in step.followers.values():
        next_row = _give_rows(follower, next_row)
    rows = [follower.row for follower in step.followers.values()]
    step.row = (rows[0] + rows[-1]) / 2
    return next_row


def _draw(
    step: _Step, column: int, colour_of: Mapping[str, str], shortened: Mapping[str, str], parts: list[str]
) -> None:
    left, top = column * _COLUMN, step.row * _ROW
    parts.append(
        f'<g><title>{escape(step.key)}</title><rect x="{left}" y="{top:g}" width="{_BOX_WIDTH}" '
        f'height="{_BOX_HEIGHT}" rx="4" fill="#FFFFFF" stroke="{escape(colour_of[step.key])}" stroke-width="2"/>'
        f'<text x="{left + 8}" y="{top + 16:g}">{escape(shortened[step.key])}</text></g>'
    )
    for follower in step.followers.values():
        _draw_arrow(left + _BOX_WIDTH, top + _BOX_HEIGHT / 2, follower.row * _ROW + _BOX_HEIGHT / 2, parts)
        _draw(follower, column + 1, colour_of, shortened, parts)


def _draw_arrow(left: float, start: float, end: float, parts: list[str]) -> None:
    right = left + _COLUMN - _BOX_WIDTH
    middle = (left + right) / 2
    parts.append(
        f'<path d="M{left:g},{start:g} C{middle:g},{start:g} {middle:g},{end:g} {right - 1:g},{end:g}" fill="none" '
        f'stroke="#52606D" stroke-width="1.5" marker-end="url(#arrow)"/>'
    )
