"""The rules of the queue over plain lists, obviously right and slow: every cluster event is shown to every pod.

Knows the four plugins of the machine that compares it with the real queue, and nothing of shapes, groups or heaps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SECOND = 10**9
FLUSH_PERIOD = 30 * SECOND + 600_000
OLD = 300 * SECOND

#: (what, name): a node of a size came, a pod went, a node's labels or taints changed, a pod's own labels changed,
#: or a wildcard for one pod ("" for all).
Event = tuple[str, str]


@dataclass(eq=False)
class SlowPod:
    name: str
    uid: str
    priority: int
    size: str
    number: int
    timestamp: int
    place: str = "new"
    attempts: int = 0
    refusals: int = 0
    errors: int = 0
    rejectors: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    gated: bool = False
    held: int = 0
    flushed_at: int = 0
    newest_size: str = ""
    seen: list[Event] = field(default_factory=list)  # while in flight
    is_gone: bool = False


class SlowQueue:
    def __init__(self, started_at: int) -> None:
        self.started_at = started_at
        self.pods: list[SlowPod] = []  # in a place
        self.flying: list[SlowPod] = []
        self.kept: dict[str, str] = {}  # uid -> node
        self.shut: set[str] = set()
        self.numbers = 0

    # ---------------------------------------------------------------- rules

    def worth(self, pod: SlowPod, event: Event) -> int:
        """0 nothing, 1 after backoff, 2 immediately."""
        what, name = event
        if not pod.rejectors:
            return 1
        if what == "wildcard":
            return int(name in ("", pod.uid))
        helped = set()
        if "Room" in pod.rejectors and (what in ("pod gone", "taint") or (what == "node" and name == pod.size)):
            helped.add("Room")
        if "Own" in pod.rejectors and what == "relabel" and name == pod.uid:
            helped.add("Own")
        if "Wait" in pod.rejectors and what == "label":
            helped.add("Wait")
        if helped & pod.pending:
            return 2
        return int(bool(helped))

    def ends_at(self, pod: SlowPod) -> int:
        failures = pod.errors or pod.refusals
        if failures == 0:
            return -1
        seconds = [1, 2, 4, 8, 10][min(failures, 5) - 1]
        return (pod.timestamp + seconds * SECOND) // SECOND

    def requeue(self, pod: SlowPod, strategy: int, now: int) -> None:
        if strategy == 0:
            pod.place, pod.gated = "unschedulable", False
        elif pod.name in self.shut:
            pod.place, pod.gated = "gated", True
            pod.held = max(pod.held, strategy)
            pod.rejectors.add("Gate")
        else:
            pod.gated, pod.held = False, 0
            backs_off = strategy == 1 and self.ends_at(pod) >= now // SECOND
            pod.place = "backoff" if backs_off else "active"

    def happen(self, event: Event, now: int, priority_max: int = 10**9, except_name: str = "") -> None:
        for pod in self.pods:
            if pod.place not in ("unschedulable", "gated") or pod.priority > priority_max or pod.name == except_name:
                continue
            if pod.gated and event[0] != "pod gone":
                continue
            strategy = self.worth(pod, event)
            if strategy:
                self.requeue(pod, strategy, now)
        for pod in self.flying:
            pod.seen.append(event)

    def give_back(self, pod: SlowPod, taken: str, now: int) -> None:
        kept = self.kept.pop(pod.uid, "")
        if kept and kept != taken:
            self.happen(("pod gone", ""), now, pod.priority, pod.name)

    # ---------------------------------------------------------------- doors

    def find(self, name: str) -> SlowPod | None:
        for pod in self.pods + [pod for pod in self.flying if not pod.is_gone]:
            if pod.name == name:
                return pod
        return None

    def add(self, name: str, uid: str, priority: int, size: str, now: int) -> None:
        pod = SlowPod(name, uid, priority, size, self.numbers, now)
        self.numbers += 1
        self.requeue(pod, 2, now)
        self.pods.append(pod)

    def relabel(self, name: str, size: str, now: int) -> None:
        pod = self.find(name)
        assert pod is not None
        event = ("relabel" if size != (pod.newest_size or pod.size) else "nothing", pod.uid)
        if pod in self.flying:
            pod.newest_size = size
            for other in self.flying:
                other.seen.append(event)
            return
        pod.size = size
        if pod.place in ("unschedulable", "gated"):
            strategy = self.worth(pod, event)
            if strategy:
                self.requeue(pod, strategy, now)

    def delete(self, name: str, now: int) -> None:
        pod = self.find(name)
        if pod is None:
            return
        pod.is_gone = True
        if pod in self.pods:
            self.pods.remove(pod)
        self.give_back(pod, "", now)

    def pop(self, now: int) -> SlowPod | None:
        self.tick(now)
        active = [pod for pod in self.pods if pod.place == "active"]
        early = [pod for pod in self.pods if pod.place == "backoff" and pod.rejectors]
        if active:
            pod = min(active, key=lambda p: (-p.priority, p.timestamp, p.number))
        elif early:
            pod = min(early, key=lambda p: (self.ends_at(p), -p.priority, p.timestamp, p.number))
        else:
            return None
        self.pods.remove(pod)
        pod.place, pod.attempts, pod.seen = "in flight", pod.attempts + 1, []
        pod.rejectors, pod.pending, pod.held = set(), set(), 0
        pod.newest_size = ""
        self.flying.append(pod)
        return pod

    def fail(self, pod: SlowPod, rejectors: set[str], pending: set[str], now: int) -> None:
        self.flying.remove(pod)
        if pod.is_gone:
            return
        pod.size = pod.newest_size or pod.size
        pod.rejectors, pod.pending = rejectors | pending, set(pending)
        if pod.rejectors:
            pod.refusals, pod.errors = pod.refusals + 1, 0
        else:
            pod.errors += 1
        pod.timestamp, pod.flushed_at = now, 0
        strategy = max([self.worth(pod, event) for event in pod.seen], default=0) if pod.rejectors else 1
        self.requeue(pod, strategy, now)
        self.pods.append(pod)

    def nominate(self, pod: SlowPod, node: str, now: int) -> None:
        if self.kept.get(pod.uid, "") != node:
            self.give_back(pod, node, now)
        if node:
            self.kept[pod.uid] = node

    def bind(self, pod: SlowPod, node: str, now: int) -> None:
        self.give_back(pod, node, now)
        self.flying.remove(pod)

    def activate(self, name: str, now: int) -> None:
        pod = self.find(name)
        if pod is None:
            return
        if pod in self.flying:
            for other in self.flying:
                other.seen.append(("wildcard", pod.uid))
        elif pod.place != "active":
            self.requeue(pod, 2, now)

    def release(self, name: str, now: int) -> None:
        pod = self.find(name)
        if pod is not None and pod.place == "gated":
            self.requeue(pod, pod.held, now)

    def tick(self, now: int) -> None:
        flush_at = now - (now - self.started_at) % FLUSH_PERIOD
        old = [
            pod
            for pod in self.pods
            if pod.place in ("unschedulable", "gated") and flush_at - max(pod.timestamp, pod.flushed_at) > OLD
        ]
        for pod in old:
            pod.flushed_at = flush_at
            self.requeue(pod, 1, flush_at)
        if old:
            for pod in self.flying:
                pod.seen.append(("wildcard", ""))
        for pod in self.pods:
            if pod.place == "backoff" and self.ends_at(pod) < now // SECOND:
                pod.place = "active"

    def wake_at(self) -> int | None:
        times = [(self.ends_at(pod) + 1) * SECOND for pod in self.pods if pod.place == "backoff"]
        for pod in self.pods:
            if pod.place in ("unschedulable", "gated"):
                at = self.started_at
                while at - max(pod.timestamp, pod.flushed_at) <= OLD:
                    at += FLUSH_PERIOD
                times.append(at)
        return min(times, default=None)
