"""Any sequence of steps leaves the queue as it leaves the slow one: nothing lost or doubled, same order, same times."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.examples import examples
from tests.unit.core.queue.slow_queue import SlowPod, SlowQueue
from tests.unit.core.queue.stage import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETE,
    SECOND,
    START,
    VICTIM,
    Gate,
    Stage,
    choosy,
)

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import ActionType, ClusterEvent, EventResource
from bayplan.core.lifecycle import FLYING, PodState
from bayplan.core.queue.queued_pod import Group, QueuedPod
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
SIZES = st.sampled_from(["small", "large"])
NODES = st.sampled_from(["n1", "n2"])
#: Who refused and who of them waits; mostly somebody, as errors lead to one place only.
REFUSALS = st.sampled_from(
    [
        (("Room",), ()),
        (("Room",), ()),
        (("Own",), ()),
        (("Room", "Own"), ()),
        (("Room",), ("Wait",)),
        ((), ("Wait",)),
        (("Wait", "Room"), ("Room",)),
        ((), ()),
    ]
)
WAITS = st.sampled_from([1, SECOND // 3, SECOND, 3 * SECOND, 29 * SECOND, 151 * SECOND])
NEWS = {
    "node small": (NODE_ADD, None, node("small").obj(), ("node", "small")),
    "node large": (NODE_ADD, None, node("large").obj(), ("node", "large")),
    "pod gone": (ASSIGNED_POD_DELETE, VICTIM, None, ("pod gone", "")),
    "pod came": (ASSIGNED_POD_ADD, None, VICTIM, ("nothing", "")),
    "label": (NODE_LABEL, node("n").obj(), node("n").obj(), ("label", "")),
    "taint": (NODE_TAINT, node("n").obj(), node("n").obj(), ("taint", "")),
}


def fits_its_size(info: PodInfo, old: Object | None, new: Object | None) -> bool:
    assert isinstance(new, Node)
    return new.metadata.name == info.shape.labels["size"]


def is_itself(info: PodInfo, old: Object | None, new: Object | None) -> bool:
    assert isinstance(new, Pod)
    return new.metadata.uid == info.uid


ROOM = choosy("Room", (NODE_ADD, fits_its_size), POD_DELETE)
OWN = choosy("Own", (ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL), is_itself))
WAIT = choosy("Wait", NODE_LABEL)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.stage = Stage([ROOM, OWN, WAIT], gates=(self.gate,))
        self.queue = self.stage.queue
        self.slow = SlowQueue(START)
        self.flying: list[tuple[QueuedPod, SlowPod]] = []
        self.uids = 0

    def built(self, slow: SlowPod, size: str) -> PodBuilder:
        return pod(slow.name).uid(slow.uid).priority(slow.priority).labels(size=size)

    @property
    def now(self) -> int:
        return self.stage.now

    @initialize(
        offset=st.sampled_from([0, SECOND // 2, SECOND - 1]),
        kinds=st.lists(st.tuples(st.integers(0, 2), SIZES), min_size=5, max_size=5),
    )
    def start(self, offset: int, kinds: list[tuple[int, str]]) -> None:
        self.stage.now += offset
        for name, (priority, size) in zip("abcde", kinds, strict=True):
            self.add(name, priority, size)

    @rule(name=NAMES, priority=st.integers(0, 2), size=SIZES)
    def add(self, name: str, priority: int, size: str) -> None:
        if self.slow.find(name) is None:
            self.uids += 1
            uid = f"uid-{self.uids}"
            self.stage.add(pod(name).uid(uid).priority(priority).labels(size=size))
            self.slow.add(name, uid, priority, size, self.now)

    @rule(name=NAMES, size=SIZES)
    def relabel(self, name: str, size: str) -> None:
        found = self.slow.find(name)
        if found is not None:
            old = self.built(found, found.newest_size or found.size).obj()
            self.stage.update(old, self.built(found, size))
            self.slow.relabel(name, size, self.now)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.queue.delete(f"default/{name}", self.now)
        self.slow.delete(name, self.now)

    @rule()
    def pop(self) -> None:
        queued, expected = self.queue.pop(self.now), self.slow.pop(self.now)
        assert (queued and queued.info.uid) == (expected and expected.uid)
        if queued is not None and expected is not None:
            assert queued.attempts == expected.attempts
            self.flying.append((queued, expected))

    @rule(nanoseconds=WAITS)
    def pop_later(self, nanoseconds: int) -> None:
        """The queue has to see by itself that time has brought somebody back."""
        self.stage.now += nanoseconds
        self.slow.tick(self.now)
        self.pop()

    @rule(refusals=st.lists(REFUSALS, min_size=1, max_size=5))
    def try_some(self, refusals: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
        for refusal in refusals:
            self.pop()
            if self.flying:
                self.fail(refusal, -1, None)

    @precondition(lambda self: self.flying)
    @rule(refusal=REFUSALS, which=st.integers(0, 4), kept=st.none() | NODES | st.just(""))
    def fail(self, refusal: tuple[tuple[str, ...], tuple[str, ...]], which: int, kept: str | None) -> None:
        rejectors, pending = refusal
        queued, slow = self.flying.pop(which % len(self.flying))
        self.queue.return_failed(queued, rejectors, pending, self.now)
        self.slow.fail(slow, set(rejectors), set(pending), self.now)
        assert (queued.state is PodState.GONE) == slow.is_gone
        if kept is not None and not slow.is_gone:
            self.queue.nominate(queued, kept, self.now)
            self.slow.nominate(slow, kept, self.now)

    @rule(rejectors=st.sampled_from([("Room",), ("Own",), ("Room", "Own"), ("Own", "Room")]))
    def refuse_at_once(self, rejectors: tuple[str, ...]) -> None:
        flying_before = len(self.flying)
        self.pop()
        if len(self.flying) > flying_before and self.flying[-1][1].uid not in self.slow.kept:
            queued, slow = self.flying.pop()
            self.queue.return_refused(queued, rejectors, self.now)
            self.slow.fail(slow, set(rejectors), set(), self.now)

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 4), node_name=NODES)
    def bind(self, which: int, node_name: str) -> None:
        queued, slow = self.flying.pop(which % len(self.flying))
        self.queue.assume(queued, node_name, self.now)
        self.queue.done(queued)
        queued.enter(PodState.BINDING)
        self.slow.bind(slow, node_name, self.now)

    @rule(news=st.sampled_from(sorted(NEWS)))
    def happen(self, news: str) -> None:
        cluster_event, old, new, event = NEWS[news]
        self.queue.move(cluster_event, old, new, self.now)
        self.slow.happen(event, self.now)

    @rule(name=NAMES)
    def shut(self, name: str) -> None:
        self.gate.shut.add(f"default/{name}")
        self.slow.shut.add(name)

    @rule(name=NAMES, tells=st.booleans())
    def open(self, name: str, tells: bool) -> None:
        self.gate.shut.discard(f"default/{name}")
        self.slow.shut.discard(name)
        if tells:
            self.queue.release(f"default/{name}", self.now)
            self.slow.release(name, self.now)

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        self.queue.activate([f"default/{name}"], self.now)
        self.slow.activate(name, self.now)

    @rule(nanoseconds=WAITS)
    def wait(self, nanoseconds: int) -> None:
        self.stage.now += nanoseconds
        self.queue.tick(self.now)
        self.slow.tick(self.now)

    @invariant()
    def groups_are_those_of_the_pods_as_they_are(self) -> None:
        parked, gathered = self.queue._parked, 0
        for queued in parked.all():
            assert queued.gathering is parked._by_group[Group.of(queued)]
            assert queued.gathering.members[queued.key] is queued
            gathered += 1
        assert (
            gathered
            == len(parked)
            == sum(queued.state in (PodState.UNSCHEDULABLE, PodState.GATED) for queued in self.queue.resting.values())
        )

    @invariant()
    def plugins_are_blamed_for_those_who_rest_because_of_them(self) -> None:
        waiting = Counter(plugin for queued in self.queue.resting.values() for plugin in queued.rejectors)
        blamed = self.queue.figures.rejected
        assert waiting == Counter({plugin: count for (plugin, _), count in blamed.items() if count})

    @invariant()
    def every_pod_is_in_the_same_one_place(self) -> None:
        places = {
            queued.info.uid: queued.state.value for queued in self.queue.queued_pods() if queued.state not in FLYING
        }
        assert places == {found.uid: found.place for found in self.slow.pods}
        uids = [queued.info.uid for queued in self.queue.queued_pods()]
        assert sorted(uids) == sorted(found.uid for found in self.slow.pods + self.slow.flying)
        counted = {place.value: count for place, count in self.queue.counts().items()}
        assert counted == {place: list(places.values()).count(place) for place in counted}

    @invariant()
    def time_brings_back_the_same(self) -> None:
        assert self.queue.wake_at() == self.slow.wake_at()

    @invariant()
    def the_same_nodes_are_kept(self) -> None:
        kept = {info.uid: node_name for node_name in ("n1", "n2") for info in self.queue.nominations.on(node_name)}
        assert kept == self.slow.kept
        assert sum(len(rows) for rows in self.stage.cache.nominated.values()) == len(kept)

    @invariant()
    def rejections_are_counted_right(self) -> None:
        waiting = [plugin for found in self.slow.pods for plugin in found.rejectors]
        counted = {plugin: count for (plugin, _), count in self.queue.figures.rejected.items() if count}
        assert counted == {plugin: waiting.count(plugin) for plugin in waiting}

    def teardown(self) -> None:
        """When all is over nothing is left behind."""
        for queued, _ in self.flying:
            self.queue.discard(queued)
        for found in list(self.slow.pods):
            self.queue.delete(f"default/{found.name}", self.now)
        assert self.queue.in_flight_counts() == (0, 0)
        assert list(self.queue.queued_pods()) == []
        assert len(self.queue.nominations) == 0 or self.flying


QueueMachine.TestCase.settings = examples(150, stateful_step_count=50, deadline=None)
TestQueueAgainstSlowQueue = QueueMachine.TestCase
