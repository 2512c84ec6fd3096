"""Runs side by side: what changed for which class, which pods ended elsewhere, which preemptions only one run had.

Takes results of runs, as objects or as the plain data that `simulate -o json` writes. The first run is the base, and
every other one is held against it; see `pod_matching` for which pods count as the same. Runs are compared whatever they
are of, with a warning where seed, input or length differ. Nothing is run here, and nothing is read or written.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, TypeAlias

from bayplan.analysis.simulation.recording.pod_ledger import PENDING, PREEMPTED
from bayplan.analysis.simulation.results.pod_matching import Matching, match_pods, match_preemptions
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.results.run_files import RUNS_FORMAT, check_run

FORMAT = "bayplan comparison v1"
#: Delays are drawn anew as soon as runs differ in anything, so that nearly every time differs a little.
SAME_TIME_SECONDS = 1.0
QUANTILES = ("p50", "p90", "p99", "max")
_ENDING = re.compile(r"\.(json|ya?ml)$")

#: What can have changed for a pod, the gravest first.
PLACED, PREEMPTION, NODE, TIME = "placed", "preempted", "node", "time"
KINDS = (PLACED, PREEMPTION, NODE, TIME)

Plain: TypeAlias = Mapping[str, Any]
Run: TypeAlias = SimulationResult | Plain


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Several runs, and what is different; `differences` and the rest stand in `to_dict`."""

    names: list[str]
    runs: list[Plain]
    plain: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """Why the runs may not be comparable."""
        return list(self.plain["warnings"])

    @property
    def differences(self) -> list[dict[str, Any]]:
        """One for each run but the first, against the first."""
        return list(self.plain["differences"])

    def to_dict(self) -> dict[str, Any]:
        """The comparison alone, as the reports take it."""
        return self.plain

    def with_runs(self) -> dict[str, Any]:
        """The runs with all they hold, and the comparison."""
        return {"format": RUNS_FORMAT, "runs": self.runs, "comparison": self.plain}

    def report(self, path: str | Path) -> None:
        """Write the HTML report; needs the extra `bayplan[report]`."""
        # By name, as reports stand above analyses: nothing here may depend on them.
        import_module("bayplan.report.comparison.page").write_comparison(self.runs, self.plain, path)


def compare(base: Run, run: Run, *more: Run, names: Sequence[str] | None = None) -> Comparison:
    """Holds every run against the first.

    Args:
        base: a result of `bayplan.simulate`, or its plain data (`to_dict`, or JSON that was read).
        run: another one; there may be `more`.
        names: what to call the runs, one for each; without it, their configurations.
    """
    runs = [_plain(one, f"run {place}") for place, one in enumerate((base, run, *more), 1)]
    called = list(names) if names is not None else short_names(one["configs"] for one in runs)
    if len(called) != len(runs):
        raise ValueError(f"{len(called)} names for {len(runs)} runs")
    plain = {
        "format": FORMAT,
        "sameTimeSeconds": SAME_TIME_SECONDS,
        "warnings": _warnings(called, runs),
        "runs": [_head(name, one) for name, one in zip(called, runs, strict=True)],
        "classes": _classes(runs),
        "differences": [_difference(runs[0], other, place) for place, other in enumerate(runs[1:], 1)],
    }
    return Comparison(called, runs, plain)


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


def _plain(run: Run, source: str) -> Plain:
    return run.to_dict() if isinstance(run, SimulationResult) else check_run(run, source)


def _head(name: str, run: Plain) -> dict[str, Any]:
    return {
        "name": name,
        **{field: run[field] for field in ("configs", "seed", "inputs", "seconds", "partial")},
        "nodes": len({node["name"] for node in run["nodes"]}),
        "loops": len(run["loops"]),
        "chains": len(run["chains"]),
        "summary": run["summary"],
    }


# ---------------------------------------------------------------- warnings


def _warnings(names: Sequence[str], runs: Sequence[Plain]) -> list[str]:
    base = runs[0]
    said = []
    for name, run in list(zip(names, runs, strict=True))[1:]:
        pair = f"{names[0]} and {name}"
        if run["inputs"] != base["inputs"]:
            said.append(f"The inputs of {pair} differ (objects, timeline or trace): they are not the same story.")
        if run["seed"] != base["seed"]:
            seeds = f"{base['seed']} and {run['seed']}"
            said.append(f"The seeds of {pair} differ ({seeds}): some of the differences are chance.")
        if run["seconds"] != base["seconds"]:
            lengths = f"{base['seconds']:,.0f} s and {run['seconds']:,.0f} s"
            said.append(f"{pair} do not cover the same time ({lengths}): counts do not compare.")
    said += [
        f"{name} ended early: it shows only a part of its run."
        for name, run in zip(names, runs, strict=True)
        if run["partial"]
    ]
    return said


# ---------------------------------------------------------------- classes


def _classes(runs: Sequence[Plain]) -> list[dict[str, Any]]:
    """Every class that had a pod in any run, the most important first, with its figures in each run."""
    priorities: dict[str, int] = {}
    for run in runs:
        for name, priority in run["classes"].items():
            priorities.setdefault(name, priority)
    by_run = [_class_figures(run) for run in runs]
    present = {name for figures in by_run for name in figures}
    order = sorted(present, key=lambda name: (-priorities.get(name, 0), name))
    nothing = _no_figures()
    return [
        {
            "class": name,
            "priority": priorities.get(name, 0),
            "runs": [figures.get(name, nothing) for figures in by_run],
        }
        for name in order
    ]


def _no_figures() -> dict[str, Any]:
    return {"placed": 0, "preempted": 0, "pending": 0, **dict.fromkeys(QUANTILES)}


def _class_figures(run: Plain) -> dict[str, dict[str, Any]]:
    figures: defaultdict[str, dict[str, Any]] = defaultdict(_no_figures)
    for pod in run["pods"]:
        one = figures[pod["class"]]
        one["preempted"] += pod["end"] == PREEMPTED
        one["pending"] += pod["end"] == PENDING
    for name, waited in run["summary"]["waiting"].items():
        figures[name]["placed"] = waited["count"]
        figures[name].update({quantile: waited[quantile] for quantile in QUANTILES})
    return dict(figures)


# ---------------------------------------------------------------- one run against the base


def _difference(base: Plain, run: Plain, place: int) -> dict[str, Any]:
    pods = match_pods(base["pods"], run["pods"])
    return {
        "base": 0,
        "run": place,
        "summary": _summary_difference(base["summary"], run["summary"]),
        "pods": _pod_difference(base["pods"], run["pods"], pods),
        "preemptions": _preemption_difference(base, run, pods),
    }


def _summary_difference(base: Plain, run: Plain) -> dict[str, Any]:
    """Each figure of the run less the base's."""
    return {
        "pods": _minus(run["pods"], base["pods"]),
        "waiting": {
            name: _wait_difference(base["waiting"].get(name), run["waiting"].get(name))
            for name in dict.fromkeys([*base["waiting"], *run["waiting"]])
        },
        "evictions": _minus(run["evictions"], base["evictions"]),
        "evictionsByPreemptor": {
            name: number
            for name, number in _minus(run["evictionsByPreemptor"], base["evictionsByPreemptor"]).items()
            if number
        },
        "budgetsBroken": run["budgetsBroken"] - base["budgetsBroken"],
        "utilisation": _minus(run["utilisation"], base["utilisation"]),
        "fragmentation": _minus(run["fragmentation"], base["fragmentation"]),
    }


def _minus(of: Plain, less: Plain) -> dict[str, Any]:
    return {name: _rounded(of.get(name, 0) - less.get(name, 0)) for name in dict.fromkeys([*less, *of])}


def _wait_difference(base: Plain | None, run: Plain | None) -> dict[str, Any]:
    counts = [one["count"] if one else 0 for one in (base, run)]
    return {"count": counts[1] - counts[0]} | {
        quantile: _rounded(run[quantile] - base[quantile]) if base and run else None for quantile in QUANTILES
    }


def _rounded(number: float) -> float:
    return number if isinstance(number, int) else round(number, 6)


def _pod_difference(base: Sequence[Plain], run: Sequence[Plain], matching: Matching) -> dict[str, Any]:
    changes = [
        _change(base[left], run[right], kinds)
        for left, right in matching.pairs
        if (kinds := _changed(base[left], run[right]))
    ]
    # Stable: those of equal weight stay in order of creation.
    changes.sort(key=lambda one: (KINDS.index(one["changed"][0]), -one["priority"]))
    return {
        "inBoth": len(matching.pairs),
        "changed": len(changes),
        "counts": _change_counts(changes),
        "changes": changes,
        "onlyInBase": [_lone(base[place]) for place in matching.only_base],
        "onlyInRun": [_lone(run[place]) for place in matching.only_run],
    }


def _changed(base: Plain, run: Plain) -> list[str]:
    found = set()
    if (base["bound"] is None) != (run["bound"] is None):
        found.add(PLACED)
    elif base["bound"] is not None:
        if base["node"] != run["node"]:
            found.add(NODE)
        if abs(base["bound"] - run["bound"]) >= SAME_TIME_SECONDS:
            found.add(TIME)
    if (base["end"] == PREEMPTED) != (run["end"] == PREEMPTED):
        found.add(PREEMPTION)
    return [kind for kind in KINDS if kind in found]


def _change(base: Plain, run: Plain, kinds: list[str]) -> dict[str, Any]:
    both_bound = base["bound"] is not None and run["bound"] is not None
    return {
        "pod": base["key"],
        "podInRun": run["key"],  # another name where a controller made it up
        "owner": base["owner"],
        "class": base["class"],
        "priority": base["priority"],
        "changed": kinds,
        "base": _fate(base),
        "inRun": _fate(run),
        "boundLater": _rounded(run["bound"] - base["bound"]) if both_bound else None,
    }


def _fate(pod: Plain) -> dict[str, Any]:
    return {field: pod[field] for field in ("node", "created", "bound", "ended", "end")}


def _lone(pod: Plain) -> dict[str, Any]:
    return {"pod": pod["key"], "owner": pod["owner"], "class": pod["class"], "priority": pod["priority"], **_fate(pod)}


def _change_counts(changes: Sequence[Plain]) -> dict[str, int]:
    """How many changed in which way; a pod may count more than once."""
    return {
        "node": sum(NODE in one["changed"] for one in changes),
        "time": sum(TIME in one["changed"] for one in changes),
        "placedOnlyInBase": sum(PLACED in one["changed"] and one["base"]["bound"] is not None for one in changes),
        "placedOnlyInRun": sum(PLACED in one["changed"] and one["inRun"]["bound"] is not None for one in changes),
        "preemptedOnlyInBase": sum(PREEMPTION in one["changed"] and one["base"]["end"] == PREEMPTED for one in changes),
        "preemptedOnlyInRun": sum(PREEMPTION in one["changed"] and one["inRun"]["end"] == PREEMPTED for one in changes),
    }


def _preemption_difference(base: Plain, run: Plain, pods: Matching) -> dict[str, Any]:
    matching = match_preemptions(base, run, pods)
    return {
        "inBoth": len(matching.pairs),
        "onlyInBase": [_without_record(base["preemptions"][place]) for place in matching.only_base],
        "onlyInRun": [_without_record(run["preemptions"][place]) for place in matching.only_run],
    }


def _without_record(preemption: Plain) -> dict[str, Any]:
    """What was tried stands in the run itself, and is long."""
    return {field: preemption[field] for field in ("t", "preemptor", "priority", "node", "victims", "decided")}
