"""How runs of a simulation differ, as typed data: what `compare -o json` writes, and what its reports read.

The first run is the base. Figures that differ are those of the later run less those of the base. Nothing is computed
here.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from bayplan.analysis.showing import Shown
from bayplan.analysis.simulation.results.run_files import RUNS_FORMAT
from bayplan.analysis.simulation.results.run_format import End, JsonStruct, PreemptionHead, Run, Summary, SummaryOf

FORMAT = "bayplan comparison v1"


class ChangeKind(StrEnum):
    """What can have changed for a pod, the gravest first."""

    PLACED = "placed"
    PREEMPTED = "preempted"
    NODE = "node"
    TIME = "time"


class ComparedRun(JsonStruct):
    """One of the runs, without its rows."""

    name: str
    configs: str
    seed: int
    inputs: str
    seconds: float
    partial: bool
    nodes: int
    loops: int
    chains: int
    summary: Summary
    wakeups: str


class ClassFigures(JsonStruct):
    """Pods of a class in one run. None where none was placed."""

    placed: int = 0
    preempted: int = 0
    pending: int = 0
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    max: float | None = None

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.placed, self.preempted, self.pending

    @property
    def quantiles(self) -> tuple[float | None, ...]:
        return self.p50, self.p90, self.p99, self.max


class ComparedClass(JsonStruct):
    class_name: str
    priority: int
    runs: list[ClassFigures]


class WaitDifference(JsonStruct):
    """None where one of the runs had no pod that got a node."""

    count: int
    p50: float | None = None
    p90: float | None = None
    p99: float | None = None
    max: float | None = None


SummaryDifference = SummaryOf[WaitDifference]


class Fate(JsonStruct):
    """What became of a pod in one run."""

    node: str | None
    created: float
    bound: float | None
    ended: float | None
    end: End


class PodChange(JsonStruct):
    """A pod that is in both runs, and went another way."""

    pod: str
    pod_in_run: str  # another name where a controller made it up
    owner: str
    class_name: str
    priority: int
    changed: list[ChangeKind]
    base: Fate
    in_run: Fate
    bound_later: float | None


class LonePod(JsonStruct):
    """A pod that only one of the runs had."""

    pod: str
    owner: str
    class_name: str
    priority: int
    node: str | None
    created: float
    bound: float | None
    ended: float | None
    end: End


class ChangeCounts(JsonStruct):
    """How many pods changed in which way; a pod may count more than once."""

    node: int
    time: int
    placed_only_in_base: int
    placed_only_in_run: int
    preempted_only_in_base: int
    preempted_only_in_run: int


class PodDifference(JsonStruct):
    in_both: int
    changed: int
    counts: ChangeCounts
    changes: list[PodChange]  # the gravest first
    only_in_base: list[LonePod]
    only_in_run: list[LonePod]


class ChangedPreemption(JsonStruct):
    in_both: int
    only_in_base: list[PreemptionHead]
    only_in_run: list[PreemptionHead]


class RunDifference(JsonStruct):
    """A run against the base; both are positions among the runs."""

    base: int
    run: int
    summary: SummaryDifference
    pods: PodDifference
    preemptions: ChangedPreemption


class Comparison(JsonStruct, tag_field="format", tag=FORMAT):
    same_time_seconds: float
    warnings: list[str]  # why the runs may not be comparable
    runs: list[ComparedRun]
    classes: list[ComparedClass]
    differences: list[RunDifference]  # one for each run but the first


class ComparedRuns(Shown, JsonStruct, tag_field="format", tag=RUNS_FORMAT):
    """What `bayplan.compare` gives: the runs with all that they hold, and how they differ."""

    runs: list[Run]
    comparison: Comparison

    @property
    def warnings(self) -> list[str]:
        return self.comparison.warnings

    @property
    def differences(self) -> list[RunDifference]:
        return self.comparison.differences

    def to_dict(self) -> dict[str, Any]:
        """The comparison alone, as plain data."""
        plain: dict[str, Any] = msgspec.to_builtins(self.comparison)
        return plain
