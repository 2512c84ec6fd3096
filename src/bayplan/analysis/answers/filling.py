"""Replicas placed one after another until one fits nowhere, and why that one does not.

Takes patterns of pods with their shares and a cache to place them in; each round places as many of each pattern as its
share says. The scheduler's own code decides on every single one of them, so that counts are what would happen and no
estimate. Evicting others is a mode of its own: without it pods are placed as if their policy were never to preempt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bayplan.admission.priority import PREEMPT_NEVER
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.pod_patterns import PodPattern
from bayplan.analysis.placement import PlacedPod
from bayplan.analysis.shortage import Shortage, shortages
from bayplan.core.cache import Cache
from bayplan.core.cycle import attempt
from bayplan.core.diagnosis import failure_groups, fit_error
from bayplan.core.explain import Explanation
from bayplan.core.framework.verdict import SUCCESS
from bayplan.model.pod import Pod
from bayplan.model.structs import replace as replace_struct

_EXAMPLES_MAX = 3


@dataclass(frozen=True, slots=True)
class FillingObstacle:
    """What some nodes lack, or have against the pod."""

    reason: str  # in the scheduler's words
    nodes: int
    examples: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"reason": self.reason, "nodes": self.nodes, "examples": list(self.examples)}


@dataclass(frozen=True, slots=True)
class Stop:
    """The first replica that fits nowhere."""

    pattern: str
    message: str
    obstacles: tuple[FillingObstacle, ...]  # those of most nodes first
    shortages: tuple[Shortage, ...]
    by_node: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the same reasons, for each node

    def to_dict(self) -> dict[str, Any]:
        return {
            "pod": self.pattern,
            "message": self.message,
            "obstacles": [obstacle.to_dict() for obstacle in self.obstacles],
            "shortages": [shortage.to_dict() for shortage in self.shortages],
        }


class Filling:
    """Replicas of patterns in a cache."""

    def __init__(self, asking: Asking, cache: Cache, patterns: Sequence[PodPattern]) -> None:
        self._asking = asking
        self._cache = cache
        self._patterns = patterns
        self._calm = [_without_preemption(pattern) for pattern in patterns]
        self._turns = [at for at, pattern in enumerate(patterns) for _ in range(pattern.share)]
        self._numbers = [0] * len(patterns)  # replicas made so far, placed or not
        self._placer = asking.placer(cache, tries_gated=True)
        self.placed: list[tuple[int, PlacedPod]] = []  # with the position of the pattern
        self._own: set[str] = set()

    def start_afresh(self) -> None:
        """Nodes came or went."""
        self._placer = self._asking.placer(self._cache, tries_gated=True)

    @property
    def rounds(self) -> int:
        """Complete rounds: for one pattern the number of its replicas, unless its share is more than one."""
        return len(self.placed) // len(self._turns)

    def counts(self) -> list[int]:
        """Replicas that were placed, by pattern."""
        counted = Counter(at for at, _ in self.placed)
        return [counted[at] for at in range(len(self._patterns))]

    def by_node(self) -> dict[str, list[int]]:
        """Node -> replicas there, by pattern; nodes without any are left out."""
        found: dict[str, list[int]] = {}
        for at, placed in self.placed:
            found.setdefault(placed.node or "", [0] * len(self._patterns))[at] += 1
        return found

    def fill(self, *, rounds: int | None = None, preempting: bool = False) -> PlacedPod | None:
        """Place replicas until one does not fit, which is returned, or there are this many complete rounds.

        A replica that would evict another one does not fit either.
        """
        goal = None if rounds is None else rounds * len(self._turns)
        while goal is None or len(self.placed) < goal:
            at = self._turns[len(self.placed) % len(self._turns)]
            outcome = self._placer.place(self._next_pod(at, preempting))
            if outcome.node is None or not self._own.isdisjoint(outcome.victims):
                return outcome
            self._own.add(outcome.pod)
            self.placed.append((at, outcome))
        return None

    def why(self) -> Stop:
        """What stands in the way of the next replica, which was found to fit nowhere."""
        at = self._turns[len(self.placed) % len(self._turns)]
        pod = self._next_pod(at, preempting=False)
        info, view = self._cache.info(pod), self._cache.view()
        found = attempt(self._asking.profile_of(pod), info, view)
        obstacles: dict[str, tuple[int, list[str]]] = {}
        by_node: dict[str, tuple[str, ...]] = {}
        for status, rows in failure_groups(found.filtered, view) if found.filtered is not None else ():
            on_nodes = [view.nodes.names[row] for row in rows.tolist()]
            names = on_nodes[:_EXAMPLES_MAX]
            by_node.update(dict.fromkeys(on_nodes, tuple(status.reasons)))
            for reason in status.reasons:
                count, examples = obstacles.get(reason, (0, []))
                obstacles[reason] = (count + len(rows), [*examples, *names][:_EXAMPLES_MAX])
        listed = (FillingObstacle(reason, count, tuple(names)) for reason, (count, names) in obstacles.items())
        ordered = tuple(sorted(listed, key=lambda obstacle: (-obstacle.nodes, obstacle.reason)))
        short = tuple(shortages(Explanation(found, view, SUCCESS)))
        # Without what would be said about preemption, which is not what was asked.
        message = found.message if found.filtered is None else fit_error(found.filtered, view, "")
        return Stop(self._patterns[at].name, message, ordered, short, by_node)

    def take_back(self, count: int) -> None:
        """Keep only the first `count` replicas."""
        taken = self.placed[count:]
        del self.placed[count:]
        self._own.difference_update(placed.pod for _, placed in taken)

    def _next_pod(self, at: int, preempting: bool) -> Pod:
        self._numbers[at] += 1
        pattern = (self._patterns if preempting else self._calm)[at]
        pod, along = pattern.replica(self._numbers[at])
        for obj in along:
            self._cache.add(obj)
        return pod


def _without_preemption(pattern: PodPattern) -> PodPattern:
    pod = replace_struct(pattern.pod, spec=replace_struct(pattern.pod.spec, preemption_policy=PREEMPT_NEVER))
    return replace(pattern, pod=pod)
