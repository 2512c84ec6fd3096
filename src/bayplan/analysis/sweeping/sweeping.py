"""`bayplan.sweep`: axes in, all runs and what they say out.

Puts the parts together: a design of the axes, an engine that does the runs, a directory that keeps them. An interrupt
is raised after everything that is done has been kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Protocol

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.inputs.traces import Trace
from bayplan.analysis.simulation.replaying.recorded_life import RecordedLife
from bayplan.analysis.sweeping.axes import read_axes
from bayplan.analysis.sweeping.design import design, read_sampling
from bayplan.analysis.sweeping.kept_figures import kept
from bayplan.analysis.sweeping.local_engine import LocalEngine, Task
from bayplan.analysis.sweeping.preparing import Base, Preparation
from bayplan.analysis.sweeping.ray_engine import RayEngine
from bayplan.analysis.sweeping.run_store import RunStore
from bayplan.analysis.sweeping.runs import RunOutcome, Story
from bayplan.analysis.sweeping.searching import ParameterSearch
from bayplan.analysis.sweeping.sweep_result import SweepResult
from bayplan.config.feature_gates import GateSettings, settings_of
from bayplan.config.loading import ConfigSource

ENGINES: Final = ("local", "ray")

#: Called after each run: runs done, runs in total, and how many of them failed.
Progress = Callable[[int, int, int], None]


class Engine(Protocol):
    """Does runs in any order; closing the generator ends what is under way."""

    def run(self, story: Story, tasks: Iterable[Task]) -> Generator[RunOutcome, None, None]: ...


def sweep(
    cluster: Cluster | None,
    axes: Mapping[str, Any],
    *,
    timeline: str | Path | Iterable[PlannedCommand] | None = None,
    trace: str | Trace | None = None,
    recording: str | Path | RecordedLife | None = None,
    nodes: str | Sequence[str] = (),
    config: ConfigSource = None,
    feature_gates: GateSettings = None,
    until: float | str | None = None,
    wakeups: str | None = None,
    sample: str | Mapping[str, Any] = "grid",
    baseline: Mapping[str, Any] | None = None,
    measures: Sequence[str] = (),
    engine: str | Engine = "local",
    processes: int | None = None,
    address: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> SweepResult:
    """Simulates a cluster under many settings, each with every seed. Raises InvalidObject for invalid input.

    Args:
        axes: name -> values: `{"seed": [1, 2, 3], "weight.NodeResourcesFit": [1, 10]}`; see the guide for all axes.
        sample: "grid" for all combinations, or `{"random": 50}` or `{"latin": 50, "seed": 7}` for so many of them; or
            `{"search": 40, "objectives": ["waiting.critical.p99", "nodeHours"]}` (with Optuna).
        baseline: values of the combination that others are compared with; None: the first one.
        measures: figures to report; none: those that differ.
        engine: "local" (processes of this machine) or "ray".
        processes: of engine local; None: one for each CPU.
        address: of the Ray cluster; None: one that this process is connected to, or a new one on this machine.
        out: a directory for the results, which become Parquet files as they come in.
        resume: do only the runs that the directory does not have, or that failed.
        progress: called after each run: runs done, in total, and failed.
        cluster, timeline, trace, recording, config, feature_gates, until, wakeups: as for `simulate`; an axis of the
            same name replaces it.
        nodes: nodes to add, such as "8cpu,32Gi=5".
    """
    base = Base(
        Cluster([]) if cluster is None else cluster,
        timeline=timeline if isinstance(timeline, str | Path) else list(timeline) if timeline else None,
        trace=trace,
        recording=recording,
        nodes=nodes,
        config=config,
        feature_gates=settings_of(feature_gates),
        until=until,
        wakeups=wakeups,
        has_version=cluster is not None,
    )
    planned = design(read_axes(axes), read_sampling(sample), baseline)
    runner = engine_named(engine, processes, address) if isinstance(engine, str) else engine
    store = RunStore(out, resume=resume) if out is not None else None
    return do_sweep(Preparation(base, planned), runner, store, measures, progress)


def engine_named(name: str, processes: int | None = None, address: str | None = None) -> Engine:
    """Raises ValueError for an engine that does not exist, RayMissingError for one that is not installed."""
    if name not in ENGINES:
        raise ValueError(f"engine must be {' or '.join(ENGINES)}, not {name!r}")
    return RayEngine(address) if name == "ray" else LocalEngine(processes)


def do_sweep(
    preparation: Preparation,
    engine: Engine,
    store: RunStore | None = None,
    measures: Sequence[str] = (),
    progress: Progress | None = None,
) -> SweepResult:
    """All runs that the store does not have. Runs that are equal are done once."""
    known = dict(store.found) if store is not None else {}
    search = ParameterSearch(preparation.design) if preparation.design.search is not None else None
    result = _sweep_points(preparation, engine, store, known, measures, progress)
    while search is not None and (points := search.next_points(result)):
        known |= result.outcomes
        result = _sweep_points(preparation.with_points(points), engine, store, known, measures, progress)
    if store is not None:
        store.finish(result.table)
    return result


def _sweep_points(
    preparation: Preparation,
    engine: Engine,
    store: RunStore | None,
    known: Mapping[str, RunOutcome],
    measures: Sequence[str],
    progress: Progress | None,
) -> SweepResult:
    names = preparation.names
    outcomes = {name: known[name] for name in names if name in known and not known[name].error}
    failed = 0

    def tasks() -> Iterator[Task]:
        handed_out = set(outcomes)
        for place, name in enumerate(names):
            if name not in handed_out:
                handed_out.add(name)
                yield name, preparation.spec_at(place)

    total = len(set(names))
    with closing(engine.run(preparation.story, tasks())) as running:
        for outcome in running:
            if store is not None:
                store.add(outcome)
            outcomes[outcome.run] = kept(outcome)
            failed += bool(outcome.error)
            if progress is not None:
                progress(len(outcomes), total, failed)
    return SweepResult(preparation, outcomes, measures)
