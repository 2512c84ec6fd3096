"""What a sweep gives: a row for each run, statistics over seeds, and any run again.

Takes the preparation and the outcomes by run. The table is the same whichever engine did the runs, in whichever order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayplan.analysis.showing import Shown
from bayplan.analysis.simulation.results.columns import Column, Columns
from bayplan.analysis.simulation.results.comparison import compare
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_format import Run
from bayplan.analysis.sweeping.axes import SEED
from bayplan.analysis.sweeping.design import MORE
from bayplan.analysis.sweeping.preparing import Preparation
from bayplan.analysis.sweeping.runs import RunOutcome, simulated
from bayplan.analysis.sweeping.statistics import CONFIDENCE, Matrix, differences, effect, estimates, pareto_front
from bayplan.analysis.sweeping.summary_format import (
    AxisSummary,
    Effect,
    FailedRun,
    Label,
    PointSummary,
    SweepSummary,
)

#: What reports show unless a sweep says otherwise, if it differs between runs at all.
_MEASURES = (
    *("pods.pending", "pods.preempted", "budgetsBroken", "utilization.cpu", "fragmentation.mean", "nodeHours"),
    "cost",
)
_WAITS = ("p50", "p99")


@dataclass(repr=False)
class SweepResult(Shown):
    """All runs of a sweep; those that were not done are missing from the table."""

    preparation: Preparation
    outcomes: Mapping[str, RunOutcome]
    wanted: Sequence[str] = ()  # measures to report; none: those that differ

    @property
    def places(self) -> list[int]:
        """The runs that were done."""
        return [place for place, name in enumerate(self.preparation.names) if name in self.outcomes]

    @cached_property
    def table(self) -> Columns:
        """A row for each run: its axes, its error or figures. A run is `place` for `simulate` and `compare`."""
        design, places = self.preparation.design, self.places
        done = [self.outcomes[self.preparation.names[place]] for place in places]
        seeds = len(design.seeds)
        columns: dict[str, Column] = {
            "place": np.array(places, dtype=np.int64),
            "run": np.array([outcome.run for outcome in done], dtype=np.str_),
        }
        for axis in design.axes:
            columns[axis.name] = _array([design.labels(place // seeds)[axis.name] for place in places])
        columns[SEED] = np.array([design.seeds[place % seeds] for place in places], dtype=np.int64)
        columns["error"] = np.array([outcome.error for outcome in done], dtype=np.str_)
        columns["digest"] = np.array([outcome.digest for outcome in done], dtype=np.str_)
        columns["partial"] = np.array([outcome.partial for outcome in done], dtype=np.bool_)
        for name in self.figures:
            columns[name] = np.array([outcome.figures.get(name, np.nan) for outcome in done], dtype=np.float64)
        return Columns(columns)

    @cached_property
    def figures(self) -> list[str]:
        """All figures that any run has."""
        return sorted({name for outcome in self.outcomes.values() for name in outcome.figures})

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`; needs the extra `bayplan[pandas]`."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`; needs the extra `bayplan[polars]`."""
        return self.table.to_polars()

    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`; needs the extra `bayplan[arrow]`."""
        return self.table.to_arrow()

    def simulate(self, place: int) -> SimulationResult:
        """The whole run of a row, done again."""
        return simulated(self.preparation.story, self.preparation.spec_at(place))

    def compare(self, base: int, run: int) -> ComparedRuns:
        """Two runs side by side, as `bayplan.compare` does."""
        names = [f"run {place}" for place in (base, run)]
        return compare(self.simulate(base), self.simulate(run), names=names)

    def worst_run(self) -> Run | None:
        """The run with the most of the first figure, done again; None if all have the same."""
        summary = self.summary
        seeds = [(place, each.worst_seed) for place, each in enumerate(summary.points) if each.worst_seed is not None]
        if not seeds or not summary.measures:
            return None
        measure = summary.measures[0]
        figures = {place: summary.points[place].figures.get(measure) for place, _ in seeds}
        place, seed = max(seeds, key=lambda each: found.mean if (found := figures[each[0]]) is not None else 0.0)
        return self.simulate(place * len(summary.seeds) + summary.seeds.index(seed)).run

    @cached_property
    def summary(self) -> SweepSummary:
        """Means, differences and effects."""
        design = self.preparation.design
        matrices = {name: self._matrix(name) for name in self.figures}
        by_figure = {name: estimates(matrix) for name, matrix in matrices.items()}
        compared = {name: differences(matrix, design.baseline) for name, matrix in matrices.items()}
        measures = self._measures(matrices)
        failures = self._failures()
        points = []
        for place in range(len(design.points)):
            runs = self._outcomes_of(place)
            points.append(
                PointSummary(
                    settings=design.labels(place),
                    runs=sum(outcome is not None for outcome in runs),
                    failed=sum(outcome is not None and bool(outcome.error) for outcome in runs),
                    figures={name: found for name, rows in by_figure.items() if (found := rows[place])},
                    differences={name: apart for name, rows in compared.items() if (apart := rows[place])},
                    worst_seed=self._worst_seed(measures, matrices, place),
                )
            )
        return SweepSummary(
            axes=[AxisSummary(axis.name, self._values(axis.name)) for axis in design.axes],
            seeds=list(design.seeds),
            runs=len(self.places),
            failed=len(failures),
            missing=len(design) - len(self.places),
            confidence=CONFIDENCE,
            baseline=design.baseline,
            measures=measures,
            points=points,
            effects=self._effects(measures, matrices),
            failures=failures,
            objectives=list(design.objectives),
            front=pareto_front(self.costs()) if design.objectives else [],
        )

    def costs(self) -> Matrix:
        """(points, objectives) means over seeds, as numbers of which less is better; NaN where a run failed."""
        columns = []
        for objective in self.preparation.design.objectives:
            mean = self._matrix(objective.removeprefix(MORE)).mean(axis=1)
            columns.append(-mean if objective.startswith(MORE) else mean)
        return np.column_stack(columns)

    def _outcomes_of(self, point: int) -> list[RunOutcome | None]:
        seeds = len(self.preparation.design.seeds)
        return [self.outcomes.get(name) for name in self.preparation.names[point * seeds : (point + 1) * seeds]]

    def _matrix(self, name: str) -> Matrix:
        """(points, seeds), NaN where there is no figure."""
        rows = [
            [np.nan if outcome is None else outcome.figures.get(name, np.nan) for outcome in self._outcomes_of(point)]
            for point in range(len(self.preparation.design.points))
        ]
        return np.array(rows, dtype=np.float64)

    def _measures(self, matrices: Mapping[str, Matrix]) -> list[str]:
        if self.wanted:
            return [name for name in self.wanted if name in matrices]
        waits = [name for name in self.figures if name.startswith("waiting.") and name.endswith(_WAITS)]
        named = [name for name in (*_MEASURES, *waits) if name in matrices]
        differing = [name for name in named if np.nanmax(matrices[name]) > np.nanmin(matrices[name])]
        return differing or named[:2]

    def _worst_seed(self, measures: Sequence[str], matrices: Mapping[str, Matrix], point: int) -> int | None:
        for name in measures:
            row = matrices[name][point]
            if not np.isnan(row).all() and np.nanmax(row) > np.nanmin(row):
                return self.preparation.design.seeds[int(np.nanargmax(row))]
        return None

    def _values(self, axis: str) -> list[Label]:
        design = self.preparation.design
        return list(dict.fromkeys(design.labels(point)[axis] for point in range(len(design.points))))

    def _effects(self, measures: Sequence[str], matrices: Mapping[str, Matrix]) -> list[Effect]:
        design = self.preparation.design
        labels = [design.labels(point) for point in range(len(design.points))]
        found = [
            effect(axis.name, measure, [each[axis.name] for each in labels], matrices[measure])
            for axis in design.axes
            for measure in measures
        ]
        return [each for each in found if each is not None]

    def _failures(self) -> list[FailedRun]:
        design, names = self.preparation.design, self.preparation.names
        seeds = len(design.seeds)
        return [
            FailedRun(names[place], design.labels(place // seeds), design.seeds[place % seeds], outcome.error)
            for place in self.places
            if (outcome := self.outcomes[names[place]]).error
        ]


def _array(labels: Sequence[Label]) -> Column:
    """Numbers if all are, otherwise texts."""
    if all(isinstance(label, int) for label in labels):
        return np.array(labels, dtype=np.int64)
    if all(isinstance(label, int | float) for label in labels):
        return np.array(labels, dtype=np.float64)
    return np.array([str(label) for label in labels], dtype=np.str_)
