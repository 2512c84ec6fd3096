"""A simulation's result, indexed for drawing: classes by priority with their colours, who evicted whom, time's unit.

Takes the plain data of a result and changes nothing in it. Knows neither HTML nor plots. A pod's key may stand for
several pods one after another (recreated under the same name), so events are matched by key and time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from bayplan.report.durations import TimeUnit, unit_for

Plain = Mapping[str, Any]
FORMAT = "bayplan simulation v1"
NO_CLASS = "(no class)"

#: Okabe and Ito's colours, told apart by colour-blind readers too; yellow is left out, it is lost on white.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#7A5195", "#8C6D31", "#666666")
ALARM = "#D55E00"
#: Of the pods, the first to come that may be left out of sight at first, and how much of the time that must save.
_FEW_PODS = 0.02
_LONG_BEFORE = 0.5


class SimulationView:
    """What several parts of the report ask of the same result."""

    def __init__(self, result: Plain) -> None:
        if result.get("format") != FORMAT:
            raise ValueError(f"not a simulation's result: its format is {result.get('format')!r}, not {FORMAT!r}")
        self.result = result
        self.pods: Sequence[Plain] = result["pods"]
        self.preemptions: Sequence[Plain] = result["preemptions"]
        self.seconds: float = result["seconds"]
        self.unit: TimeUnit = unit_for(self.seconds)

    @cached_property
    def shown_from(self) -> float:
        """Where time axes begin at first: nearly all pods come later. 0 unless that leaves out most of the time."""
        created = sorted(float(pod["created"]) for pod in self.pods)
        first = created[int(len(created) * _FEW_PODS)] if created else 0.0
        return first if first > _LONG_BEFORE * self.seconds else 0.0

    @cached_property
    def seen_closer(self) -> float:
        """How many times closer than the whole run is looked at."""
        return self.seconds / max(self.seconds - self.shown_from, 1e-9) if self.shown_from else 1.0

    @cached_property
    def classes(self) -> dict[str, int]:
        """Class -> priority, the most important first."""
        known = {name or NO_CLASS: int(priority) for name, priority in self.result["classes"].items()}
        for pod in self.pods:
            known.setdefault(class_name(pod), int(pod["priority"]))
        for name in self.result["summary"]["waiting"]:
            known.setdefault(name or NO_CLASS, 0)
        return dict(sorted(known.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def colours(self) -> dict[str, str]:
        """Class -> its colour, the same in every plot."""
        return {name: PALETTE[position % len(PALETTE)] for position, name in enumerate(self.classes)}

    @cached_property
    def class_by_key(self) -> dict[str, str]:
        return {pod["key"]: class_name(pod) for pod in self.pods}

    @cached_property
    def nodes(self) -> dict[str, list[Plain]]:
        """Node -> its lives, in the order in which people count: node-2 before node-10."""
        lives: defaultdict[str, list[Plain]] = defaultdict(list)
        for node in self.result["nodes"]:
            lives[node["name"]].append(node)
        return {name: lives[name] for name in sorted(lives, key=_as_counted)}

    @cached_property
    def placed(self) -> list[Plain]:
        """Pods that had a node of this run, by the time they got it."""
        return sorted(
            (pod for pod in self.pods if pod["node"] in self.nodes and pod["bound"] is not None),
            key=lambda pod: (pod["bound"], pod["key"]),
        )

    def end_of(self, pod: Plain) -> float:
        """When the pod gave its place back, or the end of the run."""
        return self.seconds if pod["ended"] is None else float(pod["ended"])

    def preemption_of(self, pod: Plain) -> int | None:
        """Position of the preemption that took this pod: the last one that named it before it ended."""
        if pod["end"] != "preempted":
            return None
        named = self._preemptions_by_victim.get(pod["key"], [])
        before = [position for position in named if self.preemptions[position]["t"] <= self.end_of(pod)]
        return before[-1] if before else None

    @cached_property
    def _preemptions_by_victim(self) -> dict[str, list[int]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, preemption in enumerate(self.preemptions):
            for victim in preemption["victims"]:
                found[victim["pod"]].append(position)
        return dict(found)


def class_name(pod: Plain) -> str:
    return str(pod["class"] or NO_CLASS)


def owner_name(pod: Plain) -> str:
    """The workload, or the pod itself when nothing recreates it."""
    return str(pod["owner"] or pod["key"])


def _as_counted(name: str) -> tuple[list[tuple[int, int, str]], str]:
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts], name
