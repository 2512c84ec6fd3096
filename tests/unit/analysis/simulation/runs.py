"""Results of runs, as small as a test needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan.analysis.simulation.results.run_format import (
    ClusterSeries,
    End,
    Fragmentation,
    NodeRow,
    PodFigures,
    PodRow,
    RecordedPreemption,
    Run,
    Summary,
    Victim,
    Waits,
)

Plain = dict[str, Any]


def pod(key: str, node: str | None = "n1", bound: float | None = 1.0, **changed: Any) -> PodRow:
    """Placed after a second and running; without a node it waits."""
    made = PodRow(
        key=f"default/{key}", class_name="low", priority=10, owner="", node=node, created=0.0,
        bound=bound if node else None, started=None, ended=None, end=End.RUNNING if node else End.PENDING,
        waiting=bound if node else None, cpu=1000, memory=0,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changed)


def node(name: str, until: float | None = None, **allocatable: int) -> NodeRow:
    return NodeRow(name, 0.0, until, allocatable or {"cpu": 4000})


def preemption(preemptor: str, *victims: str, at: float = 50.0, **changed: Any) -> RecordedPreemption:
    made = RecordedPreemption(
        t=at, preemptor=f"default/{preemptor}", priority=1000, node="n1",
        victims=[Victim(f"default/{key}", 10, []) for key in victims],
        decided="the only node where evicting pods makes room", record=None,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changed)


def run(pods: Iterable[PodRow] = (), preemptions: Iterable[RecordedPreemption] = (), **changed: Any) -> Run:
    """A run of a hundred seconds; its summary counts the pods given."""
    pods = list(pods)
    made = Run(
        seed=0, configs="default", inputs="same", seconds=100.0, partial=False, classes={"high": 1000, "low": 10},
        summary=summary(pods),
        series=ClusterSeries(
            t=[0.0, 50.0], queue={"active": [0, 1], "backoff": [0, 2]}, used={"cpu": [0.25, 0.75]},
            running=[0, 1], fragmentation=[0.0, 0.0],
        ),
        nodes=[node("n1")], pods=pods, preemptions=list(preemptions), chains=[], loops=[], waiting=[], notes=[],
    )  # fmt: skip
    return msgspec.structs.replace(made, **changed)


def summary(pods: list[PodRow], **changed: Any) -> Summary:
    """All quantiles are the longest wait: who needs others sets them."""
    ends = Counter(pod.end for pod in pods)
    waits: dict[str, list[float]] = {}
    for pod in pods:
        if pod.bound is not None:
            waits.setdefault(pod.class_name, []).append(pod.bound - pod.created)
    made = Summary(
        pods=PodFigures(
            created=len(pods), placed=sum(map(len, waits.values())),
            finished=ends[End.FINISHED], failed=ends[End.FAILED], deleted=ends[End.DELETED],
            preempted=ends[End.PREEMPTED], pending=ends[End.PENDING],
        ),
        waiting={name: Waits(len(those), *[max(those)] * 4) for name, those in waits.items()},
        evictions={"preemption": ends[End.PREEMPTED]} if ends[End.PREEMPTED] else {},
        evictions_by_preemptor={}, budgets_broken=0, utilization={"cpu": 0.5}, fragmentation=Fragmentation(0.0, 0.0),
    )  # fmt: skip
    return msgspec.structs.replace(made, **changed)


def plain(made: Run) -> Plain:
    """As a file holds it."""
    found: Plain = msgspec.to_builtins(made)
    return found
