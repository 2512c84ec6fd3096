"""Runs side by side: what changed for which class, which pods ended elsewhere, which preemptions only one run had.

Takes results of runs, as objects or as the plain data that `simulate -o json` writes. The first run is the base, and
every other one is compared with it; see `pod_matching` for which pods count as the same. Runs are compared whatever
they are of, with a warning where seed, input or length differ. Nothing is run here, and nothing is read or written.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from bayplan.analysis.simulation.results.differences import (
    ChangeCounts,
    ChangedPreemption,
    ChangeKind,
    ClassFigures,
    ComparedClass,
    ComparedRun,
    ComparedRuns,
    Comparison,
    Fate,
    LonePod,
    PodChange,
    PodDifference,
    RunDifference,
    SummaryDifference,
    WaitDifference,
)
from bayplan.analysis.simulation.results.pod_matching import Matching, match_pods, match_preemptions
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_files import as_run
from bayplan.analysis.simulation.results.run_format import End, PodRow, PoolFigures, Run, Summary, Waits

#: Delays are drawn again as soon as runs differ in anything, so that nearly every time differs a little.
SAME_TIME_SECONDS = 1.0
_NO_NODES = PoolFigures(0, 0, 0, 0.0, 0.0)
_ENDING = re.compile(r"\.(json|ya?ml)$")

FiguresT = TypeVar("FiguresT", bound=Struct)
NumberT = TypeVar("NumberT", int, float)
AnyRun: TypeAlias = SimulationResult | Run | Mapping[str, Any]


def compare(base: AnyRun, run: AnyRun, *more: AnyRun, names: Sequence[str] | None = None) -> ComparedRuns:
    """Compares every run with the first.

    Args:
        base: a result of `bayplan.simulate`, or its plain data (`to_dict`, or JSON that was read).
        run: another one; there may be `more`.
        names: what to call the runs, one for each; without it, their configurations.
    """
    runs = [_typed(given, f"run {place}") for place, given in enumerate((base, run, *more), 1)]
    called = list(names) if names is not None else short_names(run.configs for run in runs)
    if len(called) != len(runs):
        raise ValueError(f"{len(called)} names for {len(runs)} runs")
    comparison = Comparison(
        same_time_seconds=SAME_TIME_SECONDS,
        warnings=_warnings(called, runs),
        runs=[_head(name, run) for name, run in zip(called, runs, strict=True)],
        classes=_classes(runs),
        differences=[_difference(runs[0], other, place) for place, other in enumerate(runs[1:], 1)],
    )
    return ComparedRuns(runs, comparison)


def short_names(paths: Iterable[str]) -> list[str]:
    """File names without folder and ending, unless that would make two files the same; the same twice is numbered."""
    whole = list(paths)
    short = [_ENDING.sub("", PurePath(path).name) or path for path in whole]
    chosen = short if len(set(short)) == len(set(whole)) else whole
    seen: Counter[str] = Counter()
    numbered = []
    for name in chosen:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return numbered


def _typed(run: AnyRun, source: str) -> Run:
    if isinstance(run, SimulationResult):
        return run.run
    return run if isinstance(run, Run) else as_run(run, source)


def _head(name: str, run: Run) -> ComparedRun:
    return ComparedRun(
        name=name,
        configs=run.configs,
        seed=run.seed,
        inputs=run.inputs,
        seconds=run.seconds,
        partial=run.partial,
        nodes=len({node.name for node in run.nodes}),
        loops=len(run.loops),
        chains=len(run.chains),
        summary=run.summary,
        wakeups=run.wakeups,
    )


# ---------------------------------------------------------------- warnings


def _warnings(names: Sequence[str], runs: Sequence[Run]) -> list[str]:
    base = runs[0]
    said = []
    for name, run in zip(names[1:], runs[1:], strict=True):
        pair = f"{names[0]} and {name}"
        if run.inputs != base.inputs:
            said.append(f"The inputs of {pair} differ (objects, timeline or trace): they are not the same story.")
        if run.seed != base.seed:
            seeds = f"{base.seed} and {run.seed}"
            said.append(f"The seeds of {pair} differ ({seeds}): some of the differences are chance.")
        if run.seconds != base.seconds:
            lengths = f"{base.seconds:,.0f} s and {run.seconds:,.0f} s"
            said.append(f"{pair} do not cover the same time ({lengths}): counts do not compare.")
    said += [
        f"{name} ended early: it shows only a part of its run."
        for name, run in zip(names, runs, strict=True)
        if run.partial
    ]
    return said


# ---------------------------------------------------------------- classes


def _classes(runs: Sequence[Run]) -> list[ComparedClass]:
    """Every class that had a pod in any run, the most important first, with its figures in each run."""
    priorities: dict[str, int] = {}
    for run in reversed(runs):  # the first run that knows a class counts
        priorities |= run.classes
    by_run = [_class_figures(run) for run in runs]
    present = {name for figures in by_run for name in figures}
    order = sorted(present, key=lambda name: (-priorities.get(name, 0), name))
    return [
        ComparedClass(name, priorities.get(name, 0), [figures.get(name, ClassFigures()) for figures in by_run])
        for name in order
    ]


def _class_figures(run: Run) -> Mapping[str, ClassFigures]:
    figures: defaultdict[str, ClassFigures] = defaultdict(ClassFigures)
    for pod in run.pods:
        of_class = figures[pod.class_name]
        of_class.preempted += pod.end is End.PREEMPTED
        of_class.pending += pod.end is End.PENDING
    for name, waits in run.summary.waiting.items():
        of_class = figures[name]
        of_class.placed = waits.count
        of_class.p50, of_class.p90, of_class.p99, of_class.max = waits.quantiles
    return figures


# ---------------------------------------------------------------- one run against the base


def _difference(base: Run, run: Run, place: int) -> RunDifference:
    pods = match_pods(base.pods, run.pods)
    return RunDifference(
        base=0,
        run=place,
        summary=_summary_difference(base.summary, run.summary),
        pods=_pod_difference(base.pods, run.pods, pods),
        preemptions=_preemption_difference(base, run, pods),
    )


def _summary_difference(base: Summary, run: Summary) -> SummaryDifference:
    by_preemptor = _minus(run.evictions_by_preemptor, base.evictions_by_preemptor)
    return SummaryDifference(
        pods=_figures_minus(run.pods, base.pods),
        waiting={
            name: _wait_difference(base.waiting.get(name), run.waiting.get(name))
            for name in dict.fromkeys([*base.waiting, *run.waiting])
        },
        evictions=_minus(run.evictions, base.evictions),
        evictions_by_preemptor={name: number for name, number in by_preemptor.items() if number},
        budgets_broken=run.budgets_broken - base.budgets_broken,
        utilization=_minus(run.utilization, base.utilization),
        fragmentation=_figures_minus(run.fragmentation, base.fragmentation),
        node_hours=round(run.node_hours - base.node_hours, 6),
        cost=round(run.cost - base.cost, 6),
        pools={
            name: _figures_minus(run.pools.get(name, _NO_NODES), base.pools.get(name, _NO_NODES))
            for name in dict.fromkeys([*base.pools, *run.pools])
        },
    )


def _minus(of: Mapping[str, NumberT], less: Mapping[str, NumberT]) -> dict[str, NumberT]:
    return {name: round(of.get(name, 0) - less.get(name, 0), 6) for name in dict.fromkeys([*less, *of])}


def _figures_minus(of: FiguresT, less: FiguresT) -> FiguresT:
    return type(of)(*(round(figure - other, 6) for figure, other in zip(astuple(of), astuple(less), strict=True)))


def _wait_difference(base: Waits | None, run: Waits | None) -> WaitDifference:
    if base is None or run is None:
        return WaitDifference((run.count if run else 0) - (base.count if base else 0))
    return WaitDifference(*astuple(_figures_minus(run, base)))


def _pod_difference(base: Sequence[PodRow], run: Sequence[PodRow], matching: Matching) -> PodDifference:
    changes = [
        _pod_change(base[left], run[right], kinds)
        for left, right in matching.pairs
        if (kinds := _changed(base[left], run[right]))
    ]
    gravity = {kind: place for place, kind in enumerate(ChangeKind)}
    # Stable: those of equal weight stay in order of creation.
    changes.sort(key=lambda change: (gravity[change.changed[0]], -change.priority))
    return PodDifference(
        in_both=len(matching.pairs),
        changed=len(changes),
        counts=_change_counts(changes),
        changes=changes,
        only_in_base=[_lone(base[place]) for place in matching.only_base],
        only_in_run=[_lone(run[place]) for place in matching.only_run],
    )


def _changed(base: PodRow, run: PodRow) -> list[ChangeKind]:
    found = set()
    if base.bound is None or run.bound is None:
        if base.bound is not run.bound:
            found.add(ChangeKind.PLACED)
    else:
        if base.node != run.node:
            found.add(ChangeKind.NODE)
        if abs(base.bound - run.bound) >= SAME_TIME_SECONDS:
            found.add(ChangeKind.TIME)
    if (base.end is End.PREEMPTED) != (run.end is End.PREEMPTED):
        found.add(ChangeKind.PREEMPTED)
    return [kind for kind in ChangeKind if kind in found]


def _pod_change(base: PodRow, run: PodRow, kinds: list[ChangeKind]) -> PodChange:
    later = None if base.bound is None or run.bound is None else round(run.bound - base.bound, 6)
    return PodChange(
        pod=base.key,
        pod_in_run=run.key,
        owner=base.owner,
        class_name=base.class_name,
        priority=base.priority,
        changed=kinds,
        base=_fate(base),
        in_run=_fate(run),
        bound_later=later,
    )


def _fate(pod: PodRow) -> Fate:
    return Fate(pod.node, pod.created, pod.bound, pod.ended, pod.end)


def _lone(pod: PodRow) -> LonePod:
    return LonePod(pod.key, pod.owner, pod.class_name, pod.priority, *astuple(_fate(pod)))


def _change_counts(changes: Sequence[PodChange]) -> ChangeCounts:
    placed = [change for change in changes if ChangeKind.PLACED in change.changed]
    preempted = [change for change in changes if ChangeKind.PREEMPTED in change.changed]
    return ChangeCounts(
        node=sum(ChangeKind.NODE in change.changed for change in changes),
        time=sum(ChangeKind.TIME in change.changed for change in changes),
        placed_only_in_base=sum(change.base.bound is not None for change in placed),
        placed_only_in_run=sum(change.in_run.bound is not None for change in placed),
        preempted_only_in_base=sum(change.base.end is End.PREEMPTED for change in preempted),
        preempted_only_in_run=sum(change.in_run.end is End.PREEMPTED for change in preempted),
    )


def _preemption_difference(base: Run, run: Run, pods: Matching) -> ChangedPreemption:
    matching = match_preemptions(base, run, pods)
    return ChangedPreemption(
        in_both=len(matching.pairs),
        only_in_base=[base.preemptions[place].without_record() for place in matching.only_base],
        only_in_run=[run.preemptions[place].without_record() for place in matching.only_run],
    )
