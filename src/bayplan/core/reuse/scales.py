"""Local scores that are normalized over the feasible nodes, and how long a normalized score lasts.

What `normalize` makes of a score depends on that score and on the lowest and highest one (see `Reads`). So a normalized
score lasts until a node with one of these two drops out, or one comes in that lies outside: a `Scale` remembers a node
for each of the two, and notices. The raw scores themselves belong to whoever made them, and change in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, every_row, row_array
from bayplan.core.framework.contract import NormalizePlugin, ScorePlugin, State
from bayplan.core.scoring import check_range
from bayplan.core.snapshot import View

#: Where raw scores stay below, there is a table of the normalized ones.
TABLE_LENGTH_MAX = 1024


@dataclass(slots=True)
class Scaled:
    """A local score plugin whose scores are normalized over the feasible nodes."""

    plugin: ScorePlugin
    normalizer: NormalizePlugin
    state: State
    weight: int
    raw: IntArray  # (nodes,); empty where all nodes have the same
    uniform: int | None  # the raw score of every node where all are equal
    constant: int = 0  # the weighted score of every node then
    #: No raw score lies, or has lain, outside.
    floor: int = 0
    ceiling: int = 0

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
        score = self.plugin.score(self.state, view, row_array([row])).item()
        if self.uniform is not None:
            if score == self.uniform:
                return
            self.raw = np.full(view.nodes.count, self.uniform, dtype=np.int64)
            self.floor = self.ceiling = self.uniform
            self.uniform = None
        self.raw[row] = score
        self.floor, self.ceiling = min(self.floor, score), max(self.ceiling, score)


def scaled_scores(plugin: ScorePlugin, normalizer: NormalizePlugin, state: State, weight: int, view: View) -> Scaled:
    """The scores of all nodes."""
    raw = plugin.score(state, view, every_row(view.nodes.count))
    alive = np.flatnonzero(view.nodes.alive)
    of_alive = raw[alive]
    if not len(alive) or np.count_nonzero(of_alive == of_alive[0]) < len(alive):
        return Scaled(plugin, normalizer, state, weight, raw, None, floor=int(raw.min()), ceiling=int(raw.max()))
    scores = normalizer.normalize(state, of_alive[:1], alive[:1])
    check_range(plugin.name, scores)
    return Scaled(plugin, normalizer, state, weight, raw[:0].copy(), of_alive.item(0), constant=weight * scores.item())


class Scale:
    """The lowest and the highest raw score among the feasible nodes, of which there is at least one.

    The scores it gives are multiples of `unit`: what one more point is worth to whoever adds them up.
    """

    __slots__ = ("_high", "_high_row", "_low", "_low_row", "_table", "_unit", "scaled")

    def __init__(self, scaled: Scaled, feasible_rows: RowArray, unit: int = 1) -> None:
        raw = scaled.raw[feasible_rows]
        lowest, highest = int(raw.argmin()), int(raw.argmax())
        self.scaled = scaled
        self._unit = unit
        self._low, self._high = raw.item(lowest), raw.item(highest)
        self._low_row, self._high_row = feasible_rows.item(lowest), feasible_rows.item(highest)  # nodes that have them
        self._table: IntArray | None = None

    def spans_same(self, other: Scale) -> bool:
        return self._low == other._low and self._high == other._high

    def spans(self, rows: RowArray) -> bool:
        """Whether these rows, all feasible, have the same lowest and highest score."""
        raw = self.scaled.raw[rows]
        return bool(raw.min() == self._low and raw.max() == self._high)

    def weighted_if_it_holds(self, rows: RowArray, passed: BoolArray) -> IntArray | None:
        """(rows,) scores after these rows have changed, None when it is no longer right. Raises CycleError.

        `passed` (nodes,) says which are feasible.
        """
        raw, low_row, high_row = self.scaled.raw, self._low_row, self._high_row
        if raw.item(low_row) != self._low or raw.item(high_row) != self._high:
            return None
        if not (passed.item(low_row) and passed.item(high_row)):
            return None
        here = raw.take(rows)
        if self.scaled.floor < self._low or self.scaled.ceiling > self._high:
            outside = (here < self._low) | (here > self._high)
            if np.count_nonzero(outside) and np.count_nonzero(outside & passed[rows]):
                return None
        return self._weighted(here)

    def weighted(self, rows: RowArray) -> IntArray:
        """(rows,) scores; those of rows that are not feasible mean nothing. Raises CycleError."""
        return self._weighted(self.scaled.raw[rows])

    def _weighted(self, raw: IntArray) -> IntArray:
        """(rows,) scores for raw ones."""
        table = self._by_raw_score()
        return table.take(raw, mode="clip") if table is not None else self._normalized(raw.clip(self._low, self._high))

    def _by_raw_score(self) -> IntArray | None:
        """(raw scores,) what each comes to, from the lowest to the highest; None where some are negative or large."""
        if self._table is None and self._low >= 0 and self._high < TABLE_LENGTH_MAX:
            scores = self._normalized(np.arange(self._low, self._high + 1))
            self._table = np.concatenate((np.zeros(self._low, dtype=np.int64), scores))
        return self._table

    def _normalized(self, raw: IntArray) -> IntArray:
        """(scores,) weighted ones for raw ones."""
        rows = np.full(len(raw) + 2, self._low_row)
        rows[-1] = self._high_row
        return self.scaled.normalized(np.append(raw, (self._low, self._high)), rows)[:-2] * self._unit
