"""Figures over seeds: means with bootstrap intervals, paired differences to a baseline, main effects of axes.

Takes a matrix for each figure (points by seeds, NaN where a run failed); gives estimates. All points are resampled with
the same seeds, so that what a seed does to all of them cancels out in differences. A sign-flip test says whether a
difference is real: it is exact for few seeds, where a bootstrap interval is too narrow. Over all points, at most one in
twenty of the differences called real is chance (Benjamini-Hochberg). The same runs give the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

from bayplan.analysis.sweeping.summary_format import Effect, EffectLevel, Estimate, Label, MeanDifference

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2_000
_FLIPS_EXACT: Final = 12  # seeds; beyond that, a sample of all sign flips is taken
_FLIPS: Final = 10_000
_BINS: Final = 5
_VALUES_MAX: Final = 8  # of an axis before numbers are put into bins

Matrix = npt.NDArray[np.float64]


def estimates(matrix: Matrix) -> list[Estimate | None]:
    """The mean of each row with its interval; None for a row without any value."""
    low, high = _interval(_resampled(matrix))
    counts = np.count_nonzero(~np.isnan(matrix), axis=1)
    return [
        Estimate(_rounded(np.nanmean(row)), _rounded(least), _rounded(most), int(count)) if count else None
        for row, least, most, count in zip(matrix, low, high, counts, strict=True)
    ]


def differences(matrix: Matrix, baseline: int) -> list[MeanDifference | None]:
    """Each row less that of the baseline; None for the baseline, and where no seed has both."""
    paired = matrix - matrix[baseline]
    paired[baseline] = np.nan
    found = estimates(paired)
    p_values = [
        1.0 if estimate is None else _sign_flip(row[~np.isnan(row)])
        for row, estimate in zip(paired, found, strict=True)
    ]
    tested = [place for place, estimate in enumerate(found) if estimate is not None]
    real = _discoveries([p_values[place] for place in tested])
    verdicts = dict(zip(tested, real, strict=True))
    return [
        None
        if estimate is None
        else MeanDifference(
            estimate.mean, estimate.low, estimate.high, estimate.seeds, _rounded(p_values[place]), verdicts[place]
        )
        for place, estimate in enumerate(found)
    ]


def effect(axis: str, measure: str, values: Sequence[Label], matrix: Matrix) -> Effect | None:
    """What an axis does to a figure; `values` has the axis' value of each row. None if there is one level only."""
    levels: list[EffectLevel] = []
    explained = 0.0
    usable = ~np.isnan(matrix)
    if not usable.any():
        return None
    overall = float(np.nanmean(matrix))
    for label, rows in _levels(values):
        if not usable[rows].any():
            continue
        by_seed = _column_means(matrix[rows])
        (estimate,) = estimates(by_seed[np.newaxis, :])
        if estimate is not None:
            levels.append(EffectLevel(label, estimate))
            explained += np.count_nonzero(usable[rows]) * (float(np.nanmean(matrix[rows])) - overall) ** 2
    if len(levels) < 2:
        return None
    total = float(np.nansum((matrix - overall) ** 2))
    means = [level.estimate.mean for level in levels]
    share = min(explained / total, 1.0) if total > 0 else 0.0
    return Effect(axis, measure, levels, _rounded(max(means) - min(means)), _rounded(share))


def _column_means(matrix: Matrix) -> Matrix:
    """NaN for columns without any value."""
    present = ~np.isnan(matrix)
    counts = present.sum(axis=0)
    sums = np.where(present, matrix, 0.0).sum(axis=0)
    means: Matrix = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def _levels(values: Sequence[Label]) -> list[tuple[str, list[int]]]:
    """Rows by value, numbers in order and others as they come; many different numbers are put into a few bins."""
    distinct = list(dict.fromkeys(values))
    numbers = [value for value in distinct if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(distinct):
        return [(str(value), [row for row, each in enumerate(values) if each == value]) for value in distinct]
    bins = np.array_split(sorted(numbers), min(len(numbers), _BINS if len(numbers) > _VALUES_MAX else _VALUES_MAX))
    column = np.array(values, dtype=np.float64)
    return [
        (_range_text(each[0], each[-1]), np.flatnonzero((each[0] <= column) & (column <= each[-1])).tolist())
        for each in bins
    ]


def _range_text(low: float, high: float) -> str:
    return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"


# ---------------------------------------------------------------- resampling


def _resampled(matrix: Matrix) -> Matrix:
    """(rows, resamples): the mean of each row in each resample of the seeds, NaN where it has none of them."""
    seeds = matrix.shape[1]
    draws = np.random.default_rng(seeds).integers(0, seeds, (RESAMPLES, seeds))
    weights = np.zeros((seeds, RESAMPLES))
    np.add.at(weights, (draws.ravel(), np.repeat(np.arange(RESAMPLES), seeds)), 1.0)
    present = ~np.isnan(matrix)
    counts = present.astype(np.float64) @ weights
    sums = np.where(present, matrix, 0.0) @ weights
    means: Matrix = np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan)
    return means


def _interval(means: Matrix) -> tuple[Matrix, Matrix]:
    tail = (1 - CONFIDENCE) / 2
    bounds = np.full((2, len(means)), np.nan)
    usable = ~np.isnan(means).all(axis=1)
    if usable.any():
        bounds[:, usable] = np.nanquantile(means[usable], (tail, 1 - tail), axis=1)
    return bounds[0], bounds[1]


def _sign_flip(values: Matrix) -> float:
    """How often the mean would be as far from 0 as it is if each difference could as well have the other sign."""
    count = len(values)
    if count == 0 or not values.any():
        return 1.0
    if count <= _FLIPS_EXACT:
        signs = np.array(list(product((1.0, -1.0), repeat=count)))
    else:
        signs = np.random.default_rng(count).choice((1.0, -1.0), (_FLIPS, count))
        signs[0] = 1.0  # what was observed counts
    sums = np.abs(signs @ values)
    return float(np.mean(sums >= abs(values.sum()) * (1 - 1e-12)))


def _discoveries(p_values: Sequence[float]) -> list[bool]:
    """Benjamini-Hochberg: of those that are called real, at most a share of 1 - CONFIDENCE is chance."""
    order = np.argsort(p_values, kind="stable")
    last = -1
    for rank, place in enumerate(order, 1):
        if p_values[place] <= (1 - CONFIDENCE) * rank / len(p_values):
            last = rank
    real = set(order[: max(last, 0)].tolist())
    return [place in real for place in range(len(p_values))]


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")


def pareto_front(costs: Matrix) -> list[int]:
    """The rows that no other row beats: at most as much of everything, and less of something. NaN is in no front."""
    rows = [place for place in range(len(costs)) if not np.isnan(costs[place]).any()]
    known = costs[rows]
    return [
        place for place in rows if not ((known <= costs[place]).all(axis=1) & (known < costs[place]).any(axis=1)).any()
    ]
