"""Which pod of one run is which pod of another: rows of pods and preemptions in, pairs out.

A pod with a name from a user is found by that name; several pods of the same name are matched in order. Generated
names differ as soon as two runs do, so the remaining pods are matched within their workload, in order of creation.
What happened to the pods does not matter here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from bayplan.analysis.simulation.results.run_format import PodRow, RecordedPreemption, Run


@dataclass(frozen=True, slots=True)
class Matching:
    """Positions in both lists that match, and those without a match; each in the order of its list."""

    pairs: list[tuple[int, int]]
    only_base: list[int]
    only_run: list[int]


def match_pods(base: Sequence[PodRow], run: Sequence[PodRow]) -> Matching:
    """Pods as results hold them, in order of creation."""
    by_name = _paired(list(_named(base)), list(_named(run)))
    owners = [base[place].owner for place in by_name.only_base]
    other_owners = [run[place].owner for place in by_name.only_run]
    # A pod without a workload is not a replica: it gets a unique mark.
    by_owner = _paired(
        [owner or ("base", place) for place, owner in enumerate(owners)],
        [owner or ("run", place) for place, owner in enumerate(other_owners)],
    )
    replicas = [(by_name.only_base[left], by_name.only_run[right]) for left, right in by_owner.pairs]
    return Matching(
        sorted(by_name.pairs + replicas),
        [by_name.only_base[place] for place in by_owner.only_base],
        [by_name.only_run[place] for place in by_owner.only_run],
    )


def match_preemptions(base: Run, run: Run, pods: Matching) -> Matching:
    """Preemptions are the same when the same pod made the same pods go, wherever and whenever that was."""
    partners = {right: left for left, right in pods.pairs}
    base_lives, run_lives = _Lives(base.pods), _Lives(run.pods)

    def of_base(key: str, at: float) -> Hashable:
        return base_lives.at(key, at)

    def of_run(key: str, at: float) -> Hashable:
        place = run_lives.at(key, at)
        return partners.get(place, ("only in run", place))

    return _paired(
        [_who(preemption, of_base) for preemption in base.preemptions],
        [_who(preemption, of_run) for preemption in run.preemptions],
    )


def _who(preemption: RecordedPreemption, pod_at: Callable[[str, float], Hashable]) -> Hashable:
    victims = frozenset(pod_at(victim.pod, preemption.t) for victim in preemption.victims)
    return pod_at(preemption.preemptor, preemption.t), victims


def _named(pods: Sequence[PodRow]) -> Iterator[Hashable]:
    """The key of each pod, and how many of that key were before it."""
    seen: Counter[str] = Counter()
    for pod in pods:
        yield pod.key, seen[pod.key]
        seen[pod.key] += 1


def _paired(base: Sequence[Hashable], run: Sequence[Hashable]) -> Matching:
    """The first of a mark with the first of the same mark, the second with the second."""
    waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for place, mark in enumerate(base):
        waiting[mark].append(place)
    pairs, only_run = [], []
    for place, mark in enumerate(run):
        if waiting[mark]:
            pairs.append((waiting[mark].popleft(), place))
        else:
            only_run.append(place)
    alone = sorted(place for places in waiting.values() for place in places)
    return Matching(sorted(pairs), alone, only_run)


class _Lives:
    """The pods of a run by key and time."""

    def __init__(self, pods: Sequence[PodRow]) -> None:
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._created: defaultdict[str, list[float]] = defaultdict(list)
        for place, pod in enumerate(pods):
            self._places[pod.key].append(place)
            self._created[pod.key].append(pod.created)

    def at(self, key: str, seconds: float) -> int:
        """The place of the newest pod of this key that was there by then; -1 for a key that no pod has."""
        places = self._places.get(key)
        if not places:
            return -1
        return places[max(bisect_right(self._created[key], seconds) - 1, 0)]
