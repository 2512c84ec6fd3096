"""Local scores that are normalised over the feasible nodes, and how long a normalised score lasts.

What `normalize` makes of a score depends on that score and on the lowest and highest one (see `Reads`). So a normalised
score lasts until a node with one of these two drops out, or one comes in that lies outside: a `Scale` remembers a node
for each of the two, and notices. The raw scores themselves belong to whoever made them, and change in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, row_array
from bayplan.core.framework.contract import NormalizePlugin, ScorePlugin, State
from bayplan.core.framework.profile import OneRow
from bayplan.core.scoring import check_range
from bayplan.core.snapshot import View


@dataclass(slots=True)
class Scaled:
    """A local score plugin whose scores are normalised over the feasible nodes."""

    plugin: ScorePlugin
    normalizer: NormalizePlugin
    state: State
    weight: int
    score_one: OneRow
    raw: IntArray  # (nodes,); empty where all nodes have the same
    uniform: int | None  # the raw score of every node where all are equal
    constant: int = 0  # the weighted score of every node then

    @property
    def varies(self) -> bool:
        return self.uniform is None

    def weighted(self, rows: RowArray) -> IntArray | int:
        """(rows,) when these are the feasible nodes."""
        return self.constant if self.uniform is not None else self.normalized(self.raw[rows], rows)

    def normalized(self, raw: IntArray, rows: RowArray) -> IntArray:
        scores = self.normalizer.normalize(self.state, raw, rows)
        check_range(self.plugin.name, scores)
        return scores * self.weight

    def refresh_one(self, view: View, row: int) -> None:
        """The node object has changed."""
        score = self.score_one(self.state, view, row)
        if self.uniform is not None:
            if score == self.uniform:
                return
            self.raw = np.full(view.nodes.count, self.uniform, dtype=np.int64)
            self.uniform = None
        self.raw[row] = score


def scaled_scores(
    plugin: ScorePlugin, normalizer: NormalizePlugin, state: State, weight: int, one: OneRow, view: View, rows: RowArray
) -> Scaled:
    """Scores of `rows`, which are all rows of the table."""
    raw = plugin.score(state, view, rows)
    alive = np.flatnonzero(view.nodes.alive)
    of_alive = raw[alive]
    if not len(alive) or np.count_nonzero(of_alive == of_alive[0]) < len(alive):
        return Scaled(plugin, normalizer, state, weight, one, raw, None)
    scores = normalizer.normalize(state, of_alive[:1], alive[:1])
    check_range(plugin.name, scores)
    return Scaled(
        plugin, normalizer, state, weight, one, raw[:0].copy(), of_alive.item(0), constant=weight * scores.item()
    )


class Scale:
    """The lowest and the highest raw score among the feasible nodes, of which there is at least one."""

    __slots__ = ("_known", "_rows", "high", "low", "scaled")

    def __init__(self, scaled: Scaled, feasible_rows: RowArray) -> None:
        raw = scaled.raw[feasible_rows]
        ends = (int(raw.argmin()), int(raw.argmax()))
        self.scaled = scaled
        self.low, self.high = raw.item(ends[0]), raw.item(ends[1])
        self._rows: RowArray = feasible_rows[row_array(ends)]  # nodes that have them
        self._known: dict[int, int] = {}  # weighted scores by raw score

    def spans_same(self, other: Scale) -> bool:
        return self.low == other.low and self.high == other.high

    def spans(self, rows: RowArray) -> bool:
        """Whether these rows, all feasible, have the same lowest and highest score."""
        raw = self.scaled.raw[rows]
        return bool(raw.min() == self.low and raw.max() == self.high)

    def holds(self, passed: BoolArray, changed: RowArray) -> bool:
        """Whether it is still right after these rows have changed."""
        raw, (low_row, high_row) = self.scaled.raw, self._rows.tolist()
        if not (passed[low_row] and passed[high_row] and raw[low_row] == self.low and raw[high_row] == self.high):
            return False
        within = (raw[changed] >= self.low) & (raw[changed] <= self.high)
        return bool((within | ~passed[changed]).all())

    def weighted(self, rows: RowArray) -> IntArray:
        """(rows,) of some rows that are feasible."""
        scaled = self.scaled
        raw = np.concatenate((scaled.raw[rows], (self.low, self.high)))
        return scaled.normalized(raw, np.concatenate((rows, self._rows)))[: len(rows)]

    def weighted_one(self, row: int) -> int:
        raw = self.scaled.raw.item(row)
        known = self._known.get(raw)
        if known is None:
            known = self._known[raw] = self.weighted(row_array([row])).item()
        return known
