"""A queue on a small stage: plugins made to order, pods by name, and a clock that a test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.requeue import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, Hint
from bayplan.core.framework.verdict import SUCCESS, Status, unresolvable
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.hints import NamedPlugin, QueueProfile, Reactions
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.release import V1_36
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

SECOND = 10**9
MS = 10**6
#: A whole second, as backoff works in those.
START = 1_700_000_000 * SECOND

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
POD_DELETE = ClusterEvent(EventResource.POD, ActionType.DELETE)
ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)

NEW_NODE = node("new").obj()
VICTIM = pod("victim").node("n1").obj()


class Silent:
    """A plugin that says nothing of cluster events."""

    name: ClassVar[str] = "Silent"


class Choosy:
    """A plugin that registers what a test gives it."""

    name: ClassVar[str]
    given: ClassVar[tuple[ClusterEventWithHint, ...]]

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return self.given


def choosy(name: str, *events_to_register: tuple[ClusterEvent, Hint | None] | ClusterEvent) -> NamedPlugin:
    given = tuple(
        ClusterEventWithHint(r) if isinstance(r, ClusterEvent) else ClusterEventWithHint(*r) for r in events_to_register
    )
    made: NamedPlugin = type(name, (Choosy,), {"name": name, "given": given})()
    return made


class CountingHint:
    """Answers by the pod, and remembers whom it was asked about."""

    def __init__(self, answer: Callable[[PodInfo], bool] = lambda _: False) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def __call__(self, info: PodInfo, old: Object | None, new: Object | None) -> bool:
        self.asked.append(info.key)
        return self.answer(info)


def never(info: PodInfo, old: Object | None, new: Object | None) -> bool:
    return False


class Gate:
    """Keeps out the pods whose keys are in `shut`; looks at gated pods again when a pod is deleted."""

    name: ClassVar[str] = "Gate"

    def __init__(self, *shut: str) -> None:
        self.shut = set(shut)
        self.asked: list[str] = []

    def pre_enqueue(self, pod: PodInfo) -> Status:
        self.asked.append(pod.key)
        return unresolvable("not yet") if pod.key in self.shut else SUCCESS

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (ClusterEventWithHint(POD_DELETE, never),)


#: Rejects for want of room: new nodes and deleted pods help.
ROOM = choosy("Room", NODE_ADD, POD_DELETE)
#: Rejects for labels of nodes.
LABELS = choosy("Labels", NODE_LABEL)


class Stage:
    """One queue with its plugins; pods are named `default/<name>`."""

    def __init__(
        self,
        plugins: Iterable[NamedPlugin] = (ROOM, LABELS),
        gates: tuple[Gate, ...] = (),
        *,
        started_at: int = START,
        parked_max_ns: int = 300 * SECOND,
        initial_backoff_ns: int = SECOND,
        max_backoff_ns: int = 10 * SECOND,
        pops_from_backoff: bool = True,
        feature_gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.now = started_at
        self.cache = Cache(gates=feature_gates)
        self.queue = SchedulingQueue(
            {"default-scheduler": QueueProfile(gates, Reactions((*plugins, *gates), V1_36))},
            PrioritySort().sort_key,
            started_at=started_at,
            parked_max_ns=parked_max_ns,
            initial_backoff_ns=initial_backoff_ns,
            max_backoff_ns=max_backoff_ns,
            mirror=self.cache,
            gates=replace(feature_gates, scheduler_pop_from_backoff_q=pops_from_backoff),
        )

    def wait(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)

    def info(self, thing: Pod) -> PodInfo:
        return self.cache.info(thing)

    def add(self, builder: PodBuilder | str) -> Pod:
        thing = (pod(builder) if isinstance(builder, str) else builder).obj()
        self.queue.add(thing, self.info(thing), self.now)
        return thing

    def update(self, old: Pod, builder: PodBuilder) -> Pod:
        new = builder.obj()
        self.queue.update(old, new, self.info(new), self.now)
        return new

    def pop(self) -> QueuedPod:
        queued = self.queue.pop(self.now)
        assert queued is not None, "nothing to pop"
        return queued

    def popped(self) -> str | None:
        """The name of the next pod, which is then forgotten."""
        queued = self.queue.pop(self.now)
        if queued is None:
            return None
        self.queue.discard(queued)
        return queued.info.name

    def all_popped(self) -> list[str]:
        names: list[str] = []
        while (name := self.popped()) is not None:
            names.append(name)
        return names

    def fail(self, queued: QueuedPod, *rejectors: str, pending: tuple[str, ...] = ()) -> PodState:
        return self.queue.return_failed(queued, rejectors, pending, self.now)

    def parked(self, builder: PodBuilder | str, *rejectors: str) -> QueuedPod:
        """A pod that failed once and rests; nothing else may be active."""
        self.add(builder)
        queued = self.pop()
        self.fail(queued, *(rejectors or ("Room",)))
        assert queued.state is PodState.UNSCHEDULABLE
        return queued

    def happens(self, cluster_event: ClusterEvent, old: Object | None = None, new: Object | None = None) -> None:
        self.queue.move(cluster_event, old, new, self.now)

    def place(self, name: str) -> PodState | None:
        found = self.queue.find(f"default/{name}")
        return None if found is None else found.state
