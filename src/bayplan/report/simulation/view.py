"""A run, indexed for drawing: classes with their colors, preemptions by victim, nodes in order, the unit of time.

Takes a run and changes nothing in it. Knows neither HTML nor plots. A key may belong to several pods one after
another (recreated under the same name), so events are matched by key and time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from bayplan.analysis.simulation.results.run_format import End, NodeRow, PodRow, Run
from bayplan.report.durations import TimeUnit, unit_for

#: Colors that the page's style has for classes.
_LOOKS = 8
#: The share of early pods that may be hidden at first, and the share of the time that this must save.
_FEW_PODS = 0.02
_LONG_BEFORE = 0.5


@dataclass(frozen=True, slots=True)
class Stay:
    """A pod's time on its node."""

    pod: PodRow
    node: str
    since: float
    until: float


class SimulationView:
    """What several parts of the report ask of the same run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seconds = run.seconds
        self.unit: TimeUnit = unit_for(self.seconds)

    @cached_property
    def shown_from(self) -> float:
        """Where time axes start: nearly all pods arrive later. 0 unless that leaves out most of the time."""
        created = sorted(pod.created for pod in self.run.pods)
        first = created[int(len(created) * _FEW_PODS)] if created else 0.0
        return first if first > _LONG_BEFORE * self.seconds else 0.0

    @cached_property
    def seen_closer(self) -> float:
        """The zoom factor relative to the whole run."""
        return self.seconds / max(self.seconds - self.shown_from, 1e-9) if self.shown_from else 1.0

    @cached_property
    def looks(self) -> dict[str, str]:
        """Class -> the name of its color, the same in every plot."""
        return {name: f"c{position % _LOOKS}" for position, name in enumerate(self.run.classes)}

    @cached_property
    def class_by_key(self) -> dict[str, str]:
        return {pod.key: pod.class_name for pod in self.run.pods}

    @cached_property
    def nodes(self) -> dict[str, list[NodeRow]]:
        """Node -> its lives, in natural order: node-2 before node-10."""
        lives: defaultdict[str, list[NodeRow]] = defaultdict(list)
        for node in self.run.nodes:
            lives[node.name].append(node)
        return {name: lives[name] for name in sorted(lives, key=_as_counted)}

    @cached_property
    def stays(self) -> list[Stay]:
        """Pods that had a node of this run, by the time they got it."""
        stays = [
            Stay(pod, pod.node, pod.bound, self.end_of(pod))
            for pod in self.run.pods
            if pod.node is not None and pod.node in self.nodes and pod.bound is not None
        ]
        return sorted(stays, key=lambda stay: (stay.since, stay.pod.key))

    def end_of(self, pod: PodRow) -> float:
        """When the pod freed its resources, or the end of the run."""
        return self.seconds if pod.ended is None else pod.ended

    def preemption_of(self, pod: PodRow) -> int | None:
        """Position of the preemption that evicted this pod: the last one that named it before it ended."""
        if pod.end is not End.PREEMPTED:
            return None
        named = self._preemptions_by_victim.get(pod.key, [])
        before = [position for position in named if self.run.preemptions[position].t <= self.end_of(pod)]
        return before[-1] if before else None

    @cached_property
    def _preemptions_by_victim(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, preemption in enumerate(self.run.preemptions):
            for victim in preemption.victims:
                found[victim.pod].append(position)
        return dict(found)


def _as_counted(name: str) -> tuple[list[tuple[int, int, str]], str]:
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name
