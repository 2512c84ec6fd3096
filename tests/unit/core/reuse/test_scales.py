"""Normalized scores last while the lowest and the highest raw one do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.core.columns import IntArray, RowArray, row_array
from bayplan.core.framework.verdict import CycleError
from bayplan.core.reuse import scales
from bayplan.core.reuse.scales import Scale, Scaled

RAW = [3, 7, 5, 3, 11, 7]


class Between:
    """0 for the lowest score, 100 for the highest."""

    name = "Between"

    def normalize(self, state: Any, scores: IntArray, rows: RowArray) -> IntArray:
        span = int(scores.max() - scores.min()) or 1
        normal: IntArray = (scores - scores.min()) * 100 // span
        return normal


def scaled(raw: list[int]) -> Scaled:
    plugin: Any = Between()
    numbers = np.array(raw, dtype=np.int64)
    ends = {"floor": min(raw), "ceiling": max(raw)}
    return Scaled(plugin, plugin, None, 2, numbers, None, **ends)


def scale_of(raw: list[int], passed: list[bool]) -> tuple[Scale, Any]:
    mask = np.array(passed)
    return Scale(scaled(raw), np.flatnonzero(mask)), mask


ALL = [True] * len(RAW)
#: A change of one node, and whether the scores of the others are what they were.
CASES = {
    "another score in between": (2, 6, True, True),
    "the only highest falls": (4, 9, True, False),
    "the only highest goes": (4, 11, False, False),
    "the lowest that is remembered rises": (0, 4, True, False),
    "another lowest rises": (3, 4, True, True),
    "lower than the lowest": (1, 2, True, False),
    "higher than the highest": (1, 12, True, False),
    "lower than the lowest, and gone": (1, 2, False, True),
    "one in between goes": (2, 5, False, True),
}


@pytest.mark.parametrize(("row", "raw", "passes", "holds"), CASES.values(), ids=CASES)
def test_it_holds_while_both_ends_do(row: int, raw: int, passes: bool, holds: bool) -> None:
    scale, passed = scale_of(RAW, ALL)
    scale.scaled.raw[row] = raw
    scale.scaled.floor, scale.scaled.ceiling = min(scale.scaled.floor, raw), max(scale.scaled.ceiling, raw)
    passed[row] = passes
    rows = row_array([row, 5])
    found = scale.weighted_if_it_holds(rows, passed)
    assert (found is not None) == holds


@pytest.mark.parametrize("table_length_max", [0, 1024])
@pytest.mark.parametrize("raw", [RAW, [score - 9 for score in RAW], [7] * 6], ids=["above zero", "below", "equal"])
def test_scores_are_those_of_all_feasible_nodes(
    raw: list[int], table_length_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scales, "TABLE_LENGTH_MAX", table_length_max)
    passed = [True, True, True, True, False, True]
    scale, mask = scale_of(raw, passed)
    rows = np.flatnonzero(mask)
    expected = (2 * Between().normalize(None, np.array(raw)[rows], rows)).tolist()
    assert scale.weighted(rows).tolist() == expected
    assert scale.weighted(rows[1:3]).tolist() == expected[1:3]


@pytest.mark.parametrize(("rows", "spans"), [([0, 4], True), ([3, 4, 5], True), ([0, 1], False), ([4, 1], False)])
def test_it_spans_rows_with_the_same_ends(rows: list[int], spans: bool) -> None:
    assert scale_of(RAW, ALL)[0].spans(row_array(rows)) == spans


def test_a_score_out_of_range_ends_the_attempt() -> None:
    scale, _ = scale_of(RAW, ALL)
    scale.scaled.normalizer.normalize = lambda state, scores, rows: scores * 100  # type: ignore[method-assign]
    with pytest.raises(CycleError, match="returns an invalid score"):
        scale.weighted(row_array([1]))
