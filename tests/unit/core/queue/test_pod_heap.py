"""The heap of pods."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.queue.pod_heap import PodHeap
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.testing.builders import pod

INFO = Cache(gates=DEFAULT_GATES).info


def record(number: int, timestamp: int) -> QueuedPod:
    thing = pod(f"p{number}").obj()
    return QueuedPod(thing, INFO(thing), number, timestamp)


def push(heap: PodHeap[int, QueuedPod], queued: QueuedPod) -> None:
    heap.push(queued, queued.timestamp)


def refresh(heap: PodHeap[int, QueuedPod], queued: QueuedPod) -> None:
    heap.remove(queued)
    push(heap, queued)


def popped(heap: PodHeap[int, QueuedPod]) -> list[int]:
    numbers = []
    while (first := heap.pop()) is not None:
        numbers.append(first.number)
    return numbers


def test_equal_orders_go_by_arrival() -> None:
    heap = PodHeap()
    for number in (3, 1, 2):
        push(heap, record(number, timestamp=7))
    assert popped(heap) == [1, 2, 3]


def test_a_removed_pod_never_comes_out() -> None:
    heap = PodHeap()
    records = [record(number, timestamp=number) for number in range(3)]
    for queued in records:
        push(heap, queued)
    heap.remove(records[0])
    assert len(heap) == 2
    assert popped(heap) == [1, 2]


def test_a_pod_that_went_elsewhere_and_came_back_comes_out_once() -> None:
    heap, other = PodHeap(), PodHeap()
    queued = record(0, timestamp=5)
    push(heap, queued)
    heap.remove(queued)
    push(other, queued)
    assert heap.first() is None
    other.remove(queued)
    push(heap, queued)
    assert popped(heap) == [0]
    assert popped(other) == []


def test_a_changed_pod_finds_its_new_position() -> None:
    heap = PodHeap()
    records = [record(number, timestamp=number) for number in range(3)]
    for queued in records:
        push(heap, queued)
    records[0].timestamp = 9
    refresh(heap, records[0])
    assert popped(heap) == [1, 2, 0]


def test_dead_entries_are_swept_out() -> None:
    """A thousand changes of one pod leave no thousand entries."""
    heap = PodHeap()
    queued = record(0, timestamp=0)
    push(heap, queued)
    for time in range(1000):
        queued.timestamp = -time
        refresh(heap, queued)
    assert len(heap._entries) < 100
    assert popped(heap) == [0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), st.integers(0, 5)), max_size=200))
def test_agrees_with_a_sorted_list(steps: list[tuple[int, int, int]]) -> None:
    heap, living = PodHeap(), dict[int, QueuedPod]()
    for action, number, time in steps:
        if action == 0 and number not in living:
            living[number] = record(number, time)
            push(heap, living[number])
        elif action == 1 and number in living:
            heap.remove(living.pop(number))
        elif action == 2 and number in living:
            living[number].timestamp = time
            refresh(heap, living[number])
        elif action == 3 and living:
            first = min(living.values(), key=lambda queued: (queued.timestamp, queued.number))
            assert heap.pop() is living.pop(first.number)
        elif action == 4:
            older = [queued for queued in living.values() if queued.timestamp < time]
            assert [*heap.pop_below(time)] == sorted(older, key=lambda queued: (queued.timestamp, queued.number))
            living = {number: queued for number, queued in living.items() if queued.timestamp >= time}
        assert len(heap) == len(living)
    assert popped(heap) == [q.number for q in sorted(living.values(), key=lambda q: (q.timestamp, q.number))]
