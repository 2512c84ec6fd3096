"""Which combinations of values are run: all of them, or a sample.

Takes axes; gives points (one value of each axis but the seed) and seeds. Every point is run with every seed, so that
points can be compared seed by seed. The same arguments give the same sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from bayplan.analysis.simulation.results.libraries import LibraryMissingError, require
from bayplan.analysis.sweeping.axes import SEED, Axis, label_of
from bayplan.model.errors import Fault, InvalidObject

GRID: Final = "grid"
RANDOM: Final = "random"
LATIN: Final = "latin"
SEARCH: Final = "search"
OBJECTIVES: Final = "objectives"
#: In front of an objective of which more is better.
MORE: Final = "max "
RUNS_MAX: Final = 1_000_000

Point = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How points are chosen; `count` is their number, for a grid 0."""

    kind: str = GRID
    count: int = 0
    seed: int = 0
    objectives: tuple[str, ...] = ()  # of a search


@dataclass(frozen=True, slots=True)
class Design:
    """Points in the order in which they are run; each is run with every seed."""

    axes: tuple[Axis, ...]  # without the seed
    points: tuple[Point, ...]
    seeds: tuple[int, ...]
    baseline: int = 0  # the point that others are compared with
    objectives: tuple[str, ...] = ()  # figures of which less is better, or more if they say so
    search: Sampling | None = None  # how points after the first are to be found

    def __len__(self) -> int:
        return len(self.points) * len(self.seeds)

    def labels(self, point: int) -> dict[str, Any]:
        """What a table says of the point."""
        return {name: label_of(value) for name, value in self.points[point].items()}


def read_sampling(given: Any, source: str = "") -> Sampling:
    """`grid`, `{random: 50}`, `{latin: 50, seed: 7}`, or a search. Raises InvalidObject."""
    if given in (None, GRID):
        return Sampling()
    if isinstance(given, Mapping) and SEARCH in given:
        return _search(given, source)
    if isinstance(given, Mapping):
        kinds = [kind for kind in (RANDOM, LATIN) if kind in given]
        if len(kinds) == 1 and given.keys() <= {kinds[0], SEED}:
            count, seed = given[kinds[0]], given.get(SEED, 0)
            if isinstance(count, int) and isinstance(seed, int) and 0 < count <= RUNS_MAX and seed >= 0:
                return Sampling(kinds[0], count, seed)
    message = f"expected grid, or a number of points such as {{random: 50}} or {{latin: 50, seed: 7}}, not {given!r}"
    raise InvalidObject([Fault(source, "", "sample", message)])


def _search(given: Mapping[str, Any], source: str) -> Sampling:
    """`{search: 40, objectives: [waiting.critical.p99, max utilization.cpu], seed: 7}`."""
    count, seed, objectives = given[SEARCH], given.get(SEED, 0), given.get(OBJECTIVES)
    faults = [(f"sample.{name}", "unknown field") for name in given if name not in (SEARCH, SEED, OBJECTIVES)]
    if not isinstance(count, int) or not 0 < count <= RUNS_MAX:
        faults.append((f"sample.{SEARCH}", f"expected a number of points, not {count!r}"))
    if not isinstance(seed, int) or seed < 0:
        faults.append((f"sample.{SEED}", f"expected a whole number, not {seed!r}"))
    if not isinstance(objectives, Sequence) or isinstance(objectives, str) or not objectives:
        expected = f"expected a list of figures such as nodeHours (less is better) or {MORE}pods.placed"
        faults.append((f"sample.{OBJECTIVES}", expected))
    if faults:
        raise InvalidObject(Fault(source, "", field, problem) for field, problem in faults)
    assert objectives is not None
    try:
        require("optuna")
    except LibraryMissingError as error:
        raise InvalidObject([Fault(source, "", "sample", str(error))]) from error
    return Sampling(SEARCH, count, seed, tuple(str(name) for name in objectives))


def design(
    axes: Sequence[Axis], sampling: Sampling, baseline: Mapping[str, Any] | None = None, source: str = ""
) -> Design:
    """Raises InvalidObject for a grid of bounds, too many runs, and a baseline that is no point."""
    seeds = next((axis.values for axis in axes if axis.name == SEED), (0,))
    others = tuple(axis for axis in axes if axis.name != SEED)
    if sampling.kind == GRID:
        endless = [axis.name for axis in others if axis.bounds is not None]
        if endless:
            message = "from and to need a sample ({random: N} or {latin: N}); for a grid, list the values"
            raise InvalidObject([Fault(source, "", f"axes.{name}", message) for name in endless])
        points = _grid(others, len(seeds), source)
    elif sampling.kind == SEARCH:
        points = [_first_point(others, baseline or {})]
    else:
        points = _sample(others, sampling)
    if len(points) * len(seeds) > RUNS_MAX:
        raise InvalidObject([Fault(source, "", "axes", f"more than {RUNS_MAX:,} runs")])
    found = _baseline(points, baseline or {}, source)
    is_search = sampling.kind == SEARCH
    return Design(others, tuple(points), seeds, found, sampling.objectives, sampling if is_search else None)


def _first_point(axes: Sequence[Axis], wanted: Mapping[str, Any]) -> Point:
    """Where a search begins: the baseline, and where it says nothing the first value of each axis."""
    return {
        axis.name: wanted.get(axis.name, axis.values[0] if axis.values else (axis.bounds or (0,))[0]) for axis in axes
    }


def _grid(axes: Sequence[Axis], seeds: int, source: str) -> list[Point]:
    size = seeds
    for axis in axes:
        size *= len(axis.values)
    if size > RUNS_MAX:
        raise InvalidObject([Fault(source, "", "axes", f"{size:,} runs; at most {RUNS_MAX:,}")])
    names = [axis.name for axis in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in axes))]


def _sample(axes: Sequence[Axis], sampling: Sampling) -> list[Point]:
    """Points of a sample that are drawn twice are run once."""
    draws = np.random.default_rng(sampling.seed)
    columns = []
    for _ in axes:
        if sampling.kind == LATIN:
            # One draw in each of `count` equal parts, in random order.
            shares = (draws.permutation(sampling.count) + draws.random(sampling.count)) / sampling.count
        else:
            shares = draws.random(sampling.count)
        columns.append(shares)
    points: list[Point] = []
    for place in range(sampling.count):
        point = {axis.name: _value(axis, float(shares[place])) for axis, shares in zip(axes, columns, strict=True)}
        if point not in points:
            points.append(point)
    return points


def _value(axis: Axis, share: float) -> Any:
    """The value at a share of the axis, from 0 to just below 1."""
    if axis.bounds is None:
        return axis.values[int(share * len(axis.values))]
    low, high = axis.bounds
    if axis.is_whole and not axis.is_logarithmic:
        return int(low) + int(share * (int(high) - int(low) + 1))
    found = low * (high / low) ** share if axis.is_logarithmic else low + share * (high - low)
    return round(found) if axis.is_whole else float(f"{found:.6g}")


def _baseline(points: Sequence[Point], wanted: Mapping[str, Any], source: str) -> int:
    """The first point with these values."""
    if unknown := [name for name in wanted if name not in points[0]]:
        raise InvalidObject([Fault(source, "", f"baseline.{name}", "no such axis") for name in unknown])
    for place, point in enumerate(points):
        if all(label_of(point[name]) == label_of(value) for name, value in wanted.items()):
            return place
    raise InvalidObject([Fault(source, "", "baseline", "no run has these values")])
