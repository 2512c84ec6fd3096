"""How long recorded pods took to start, ran and took to stop, for the pods of a run that stand for them.

Takes recorded rows first. In a run it is a controller that only listens: each new pod gets the life of the recorded pod
of its name, else of the next one of its workload. A pod that was cut short in the recording may live longer now; then
its annotation says how long, or what was usual in its workload.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from bayplan.analysis.simulation.recording.pod_ledger import PodLedger
from bayplan.analysis.simulation.results.run_format import End, PodRow
from bayplan.controllers.delays import Delays
from bayplan.controllers.nodes.kubelet import annotated_exit_codes, annotated_run_seconds
from bayplan.controllers.ownership import is_terminal
from bayplan.core.columns.shapes import PodInfo
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import Store, WatchEvent


@dataclass(frozen=True, slots=True)
class Life:
    """What is known of a recorded pod, in nanoseconds; None for what was not seen."""

    start_ns: int | None = None
    run_ns: int | None = None  # until it ended by itself
    stop_ns: int | None = None
    has_failed: bool = False
    node: str = ""  # that it got in the end


class RecordedLives:
    """Lives by name and by workload, in order of creation; made of the rows of a ledger of what was recorded."""

    def __init__(self, rows: Sequence[PodRow], started: Mapping[int, int], stops: Mapping[int, int]) -> None:
        """By row: when pods of the first list had started, in nanoseconds before; and how long pods took to stop."""
        self.by_key: defaultdict[str, list[Life]] = defaultdict(list)
        self.by_owner: defaultdict[str, list[Life]] = defaultdict(list)
        runs: defaultdict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            life = _life_of(row, started.get(number, 0), stops.get(number))
            self.by_key[row.key].append(life)
            if row.owner:
                self.by_owner[row.owner].append(life)
                if life.run_ns is not None:
                    runs[row.owner].append(life.run_ns)
        self.usual_run_ns = {owner: round(median(found)) for owner, found in runs.items()}


def _life_of(row: PodRow, ran_before: int, stop_ns: int | None) -> Life:
    if row.ended is None or row.evicted is not None or row.end not in (End.FINISHED, End.FAILED):
        run_ns = None
    else:
        run_ns = _between(row.started if row.started is not None else row.ended, row.ended) + ran_before
    start_ns = None if row.bound is None or row.started is None or not row.created else _between(row.bound, row.started)
    return Life(start_ns, run_ns, stop_ns, run_ns is not None and row.end is End.FAILED, row.node or "")


def _between(since: float, until: float) -> int:
    return max(round((until - since) * SECOND), 0)


class LivesAgain:
    """Who lives which life in one run: what kubelets ask, and a controller that only listens, before they do."""

    name: ClassVar[str] = "recorded lives"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "ReplicaSet"})

    def __init__(self, lives: RecordedLives, otherwise: Delays, started_at: int) -> None:
        self._usual = lives.usual_run_ns
        self._otherwise = otherwise
        self._by_key = {key: deque(found) for key, found in lives.by_key.items()}
        self._by_owner = {owner: deque(found) for owner, found in lives.by_owner.items()}
        self._taken: set[int] = set()  # ids of lives, which the recording keeps alive
        self._lives = lives
        self._given: dict[str, tuple[Life, str]] = {}  # by uid, with the workload
        self._ledger = PodLedger(started_at)

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        pod, ledger = change.new, self._ledger
        ledger.observe(change)
        if not isinstance(pod, Pod):
            return
        if change.type == ADDED:
            owner = ledger.pods[ledger.rows[pod.metadata.uid]].owner
            life = self._next(self._by_key.get(f"{pod.metadata.namespace}/{pod.metadata.name}"))
            life = life or self._next(self._by_owner.get(owner) if owner else None)
            if life is not None or owner:
                self._given[pod.metadata.uid] = life or Life(), owner
        elif change.type == DELETED or is_terminal(pod):
            self._given.pop(pod.metadata.uid, None)

    def reconcile(self, store: Store, now: int) -> None:
        """Nothing to do."""

    def wake_at(self) -> int | None:
        return None

    def _next(self, lives: deque[Life] | None) -> Life | None:
        """A life may be in two queues, and is lived once."""
        while lives:
            life = lives.popleft()
            if id(life) not in self._taken:
                self._taken.add(id(life))
                return life
        return None

    def _of(self, pod: Pod) -> tuple[Life, str]:
        return self._given.get(pod.metadata.uid, (Life(), ""))

    def node_of(self, pod: PodInfo) -> str:
        """Where the recorded pod was; "" if it is not known."""
        given = self._given.get(pod.uid)
        return "" if given is None else given[0].node

    # What kubelets ask.

    def run_seconds(self, pod: Pod) -> float | None:
        life, owner = self._of(pod)
        if life.run_ns is not None:
            return life.run_ns / SECOND
        annotated = annotated_run_seconds(pod)
        if annotated is not None or owner not in self._usual:
            return annotated
        return self._usual[owner] / SECOND

    def exit_codes(self, pod: Pod) -> Mapping[str, int]:
        life, _ = self._of(pod)
        if life.run_ns is None:
            return annotated_exit_codes(pod)
        return {container.name: 1 for container in pod.spec.containers} if life.has_failed else {}

    def start_ns(self, pod: Pod) -> int:
        found = self._of(pod)[0].start_ns
        return self._otherwise.start_ns(pod) if found is None else found

    def stop_ns(self, pod: Pod) -> int:
        found = self._of(pod)[0].stop_ns
        return self._otherwise.stop_ns(pod) if found is None else found

    def provision_ns(self, claim: PersistentVolumeClaim) -> int:
        return self._otherwise.provision_ns(claim)


def ran_before(pod: Pod, started_at: int) -> int:
    """For how long a pod of the first list had been running."""
    start = pod.status.start_time
    return 0 if start is None or pod.status.phase != "Running" else max(started_at - parse_time(start), 0)
