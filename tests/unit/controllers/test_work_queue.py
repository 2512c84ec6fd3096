"""Work queues and tallies: what is due, in which order, and how many there are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.workload_stage import TEMPLATE

from bayplan.controllers.tally import Tally
from bayplan.controllers.work_queue import (
    BURST_MAX,
    RETRY_MAX_NS,
    RETRY_MIN_NS,
    WRITES_MAX,
    Reconciler,
    Refused,
    WorkQueue,
)
from bayplan.controllers.workloads.replica_set import ReplicaSetController
from bayplan.model.pod import Pod
from bayplan.store.errors import Conflict
from bayplan.store.log import WatchEvent
from bayplan.store.objects import Store
from bayplan.testing.builders import replica_set


class Stubborn(Reconciler[str]):
    """Is refused so many times, then succeeds."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self._refused_times = refusals
        self.tried_at: list[int] = []

    def observe(self, change: WatchEvent, now: int) -> None:
        self._queue.add(change.kind)

    def start(self) -> None:
        self._queue.add("key")

    def _sync(self, store: Store, key: str, now: int) -> None:
        self.tried_at.append(now)
        if len(self.tried_at) <= self._refused_times:
            raise Conflict("another write came first")


def run(reconciler: Stubborn) -> None:
    store, now = Store(), 0
    while (due := reconciler.wake_at()) is not None:
        now = max(now, due)
        reconciler.reconcile(store, now)


def test_keys_keep_their_order() -> None:
    """A key is due once, where it was first added."""
    queue: WorkQueue[str] = WorkQueue()
    for key in ("b", "a", "b", "c"):
        queue.add(key)
    assert queue.wake_at() == 0
    assert queue.take(5) == ["b", "a", "c"]
    assert queue.take(5) == []
    assert queue.wake_at() is None


def test_later_keys() -> None:
    """The earliest of several times counts, and a key marked meanwhile comes before those that fell due."""
    queue: WorkQueue[str] = WorkQueue()
    queue.add_at("a", 10)
    queue.add_at("a", 20)
    queue.add_at("b", 7)
    assert queue.wake_at() == 7
    assert queue.take(6) == []
    queue.add("c")
    assert queue.take(10) == ["c", "b", "a"]
    assert queue.wake_at() is None


def test_refused_keys_are_tried_again_more_and_more_rarely() -> None:
    """The wait doubles from five milliseconds."""
    stubborn = Stubborn(refusals=3)
    stubborn.start()
    run(stubborn)
    assert stubborn.tried_at == [0, RETRY_MIN_NS, 3 * RETRY_MIN_NS, 7 * RETRY_MIN_NS]


def test_a_refusal_is_remembered_until_it_is_overcome() -> None:
    """With its words, and the time of the first one."""
    stubborn = Stubborn(refusals=2)
    stubborn.start()
    for now in (1, 1 + RETRY_MIN_NS):
        stubborn.reconcile(Store(), now)
        assert stubborn.refusals == {"key": Refused(1, "another write came first")}
    stubborn.reconcile(Store(), 1 + 3 * RETRY_MIN_NS)
    assert stubborn.refusals == {}


def test_the_longest_wait() -> None:
    """Waits do not grow for ever."""
    stubborn = Stubborn(refusals=25)
    stubborn.start()
    run(stubborn)
    assert stubborn.tried_at[-1] - stubborn.tried_at[-2] == RETRY_MAX_NS


def test_many_writes_are_not_made_at_once() -> None:
    """A controller with much to write pauses, stays due, and has it all in the end."""
    store, controller = Store(), ReplicaSetController()
    sizes = {"a": 1200, "b": 700, "c": 900, "d": 100}
    for name, replicas in sizes.items():
        store.create(replica_set(name).replicas(replicas).template(TEMPLATE).manifest().obj(), 0)
    news, written = store.watch(since=0, essential=True), []
    while True:
        for change in news.read():
            controller.observe(change, 0)
        if controller.wake_at() is None:
            break
        before = store.resource_version
        controller.reconcile(store, 0)
        written.append(store.resource_version - before)
    assert max(written) <= WRITES_MAX + BURST_MAX + 1
    assert len(written) > 1
    assert store.count(Pod) == sum(sizes.values())


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 7))))
def test_tally(notes: list[tuple[str, int]]) -> None:
    """Counts and names are those of the last marks of each name."""
    tally = Tally()
    last: dict[str, int] = {}
    for name, marks in notes:
        assert tally.note(name, marks) == (last.get(name, 0) != marks)
        last[name] = marks
    for wanted in (1, 2, 4, 3, 7):
        having = {name for name, marks in last.items() if marks & wanted == wanted}
        assert tally.having(wanted) == len(having)
        assert set(tally.names_having(wanted)) == having
    assert bool(tally) == any(last.values())
