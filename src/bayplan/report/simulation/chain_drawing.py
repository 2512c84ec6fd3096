"""Chains of preemptions as one drawing: preemptors, victims, and the victims' replacements that preempt in turn.

Takes chains of pod keys and returns an SVG: one column for each step, chains with a common beginning joined to a tree.
Draws only the given chains; which of many are worth a look is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from bayplan.report.markup import tag

_BOX_WIDTH, _BOX_HEIGHT = 210, 24
_COLUMN, _ROW = 270, 32


@dataclass
class _Step:
    key: str
    followers: dict[str, _Step] = field(default_factory=dict)
    row: float = 0.0


def draw_chains(chains: Sequence[Sequence[str]], look_of: Mapping[str, str], shortened: Mapping[str, str]) -> Markup:
    """An `<svg>`; `look_of` and `shortened` give each pod's color and the name that fits a box."""
    first = _Step("")
    for chain in chains:
        step = first
        for key in chain:
            step = step.followers.setdefault(key, _Step(key))
    rows = _give_rows(first, 0)
    parts: list[Markup] = []
    for step in first.followers.values():
        _draw(step, 0, look_of, shortened, parts)
    width = _COLUMN * max((len(chain) for chain in chains), default=1) - (_COLUMN - _BOX_WIDTH) + 4
    height = rows * _ROW
    return tag(
        "svg",
        _arrow_head(),
        parts,
        class_="chains",
        role="img",
        aria_label="chains of preemptions",
        width=width,
        height=height,
        viewBox=f"-2 -2 {width} {height}",
    )


def _arrow_head() -> Markup:
    marker = tag(
        "marker",
        tag("path", d="M0,0 L8,4 L0,8 z"),
        id="arrow",
        viewBox="0 0 8 8",
        refX=8,
        refY=4,
        markerWidth=8,
        markerHeight=8,
        orient="auto",
    )
    return tag("defs", marker)


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
    step: _Step, column: int, look_of: Mapping[str, str], shortened: Mapping[str, str], parts: list[Markup]
) -> None:
    left, top = column * _COLUMN, step.row * _ROW
    box = {"x": left, "y": f"{top:g}", "width": _BOX_WIDTH, "height": _BOX_HEIGHT, "rx": 4}
    name = tag("text", shortened[step.key], x=left + 8, y=f"{top + 16:g}")
    parts.append(tag("g", tag("title", step.key), tag("rect", class_=look_of[step.key], **box), name))
    for follower in step.followers.values():
        parts.append(_arrow(left + _BOX_WIDTH, top + _BOX_HEIGHT / 2, follower.row * _ROW + _BOX_HEIGHT / 2))
        _draw(follower, column + 1, look_of, shortened, parts)


def _arrow(left: float, start: float, end: float) -> Markup:
    right = left + _COLUMN - _BOX_WIDTH
    middle = (left + right) / 2
    curve = f"M{left:g},{start:g} C{middle:g},{start:g} {middle:g},{end:g} {right - 1:g},{end:g}"
    return tag("path", class_="arrow", d=curve, marker_end="url(#arrow)")
