"""A search for points with the least of some figures: Optuna proposes, runs are done, Optuna is told.

Takes a design with objectives and results so far; gives the points to run next, a few at a time. How many that are does
not depend on the machine, and Optuna draws from the seed, so a search that is resumed proposes the same points again.
Does not run anything. Needs the extra `bayplan[optuna]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from bayplan.analysis.simulation.results.libraries import library
from bayplan.analysis.sweeping.axes import Axis
from bayplan.analysis.sweeping.design import MORE, Design, Point
from bayplan.analysis.sweeping.sweep_result import SweepResult
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.near_matches import did_you_mean, near

#: Points that are proposed before any of them is known.
_TOGETHER: Final = 4


class ParameterSearch:
    """One search. Raises LibraryMissingError without Optuna."""

    def __init__(self, planned: Design) -> None:
        assert planned.search is not None
        self._optuna: Any = library("optuna")
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._axes = planned.axes
        self._left = planned.search.count - 1
        self._points: list[Point] = [*planned.points]
        sampler = self._optuna.samplers.TPESampler(seed=planned.search.seed)
        directions = ["minimize"] * len(planned.search.objectives)
        self._study: Any = self._optuna.create_study(directions=directions, sampler=sampler)
        self._distributions = {axis.name: self._distribution(axis) for axis in planned.axes}
        self._study.enqueue_trial({axis.name: _drawn(axis, planned.points[0][axis.name]) for axis in planned.axes})
        self._asked: list[tuple[Any, int]] = [(self._study.ask(self._distributions), 0)]  # trials, and their points

    def next_points(self, result: SweepResult) -> Sequence[Point]:
        """All points so far with a few more; none when the search is over."""
        _check_objectives(result)
        costs = result.costs()
        for trial, place in self._asked:
            if np.isnan(costs[place]).any():
                self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            else:
                self._study.tell(trial, costs[place].tolist())
        if self._left <= 0:
            return []
        number = min(_TOGETHER, self._left)
        self._left -= number
        self._asked = [self._propose() for _ in range(number)]
        return self._points

    def _propose(self) -> tuple[Any, int]:
        """A trial; one that repeats a point costs no runs."""
        trial = self._study.ask(self._distributions)
        point = _point(self._axes, trial.params)
        if point not in self._points:
            self._points.append(point)
        return trial, self._points.index(point)

    def _distribution(self, axis: Axis) -> Any:
        made = self._optuna.distributions
        if axis.bounds is None:
            return made.CategoricalDistribution(tuple(range(len(axis.values))))
        low, high = axis.bounds
        if axis.is_whole:
            return made.IntDistribution(int(low), int(high), log=axis.is_logarithmic)
        return made.FloatDistribution(low, high, log=axis.is_logarithmic)


def _check_objectives(result: SweepResult) -> None:
    """Raises InvalidObject for a figure that no run has, unless none has any."""
    for objective in result.preparation.design.objectives:
        name = objective.removeprefix(MORE)
        if result.figures and name not in result.figures:
            hint = did_you_mean(near(name, result.figures))
            raise InvalidObject([Fault("", "", "sample.objectives", f"no run has a figure {name!r}{hint}")])


def _drawn(axis: Axis, value: Any) -> Any:
    """What Optuna has drawn for a value: of listed ones the place."""
    return axis.values.index(value) if axis.bounds is None else value


def _point(axes: Sequence[Axis], drawn: Mapping[str, Any]) -> Point:
    return {axis.name: _value(axis, drawn[axis.name]) for axis in axes}


def _value(axis: Axis, drawn: Any) -> Any:
    if axis.bounds is None:
        return axis.values[drawn]
    return drawn if axis.is_whole else float(f"{drawn:.6g}")
