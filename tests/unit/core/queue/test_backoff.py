"""Penalties: their lengths, their whole seconds, and who may leave early."""

from __future__ import annotations

import pytest
from tests.unit.core.queue.stage import MS, NEW_NODE, NODE_ADD, SECOND, START, Gate, Stage

from bayplan.core.lifecycle import PodState
from bayplan.testing.builders import pod


def test_an_error_is_retried_when_the_recorded_scheduler_did() -> None:
    """In an empty cluster: failures at :34.92, :36.00, :39.00, :44.00, :53.00, and the next at :04.00."""
    stage = Stage(started_at=START + 34_920 * MS)
    stage.add("p")
    failures = [stage.now]
    for _ in range(5):
        stage.fail(stage.pop())
        assert stage.place("p") is PodState.BACKOFF
        wake_at = stage.queue.wake_at()
        assert wake_at is not None
        stage.now = wake_at - 1
        assert stage.queue.pop(stage.now) is None
        stage.now = wake_at
        failures.append(stage.now)
    assert [(at - START) // (10 * MS) for at in failures] == [3492, 3600, 3900, 4400, 5300, 6400]


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (70, 10)], ids=str)
def test_the_penalty_doubles_up_to_its_maximum(failures: int, seconds: int) -> None:
    stage = Stage()
    stage.add("p")
    queued = stage.pop()
    queued.unschedulable_count = failures - 1
    stage.fail(queued, "Room")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.BACKOFF
    # Equality still waits, so that the way out is the whole second after.
    assert stage.queue.wake_at() == START + (seconds + 1) * SECOND


@pytest.mark.parametrize(("initial", "longest", "seconds"), [(3, 10, [3, 6, 10]), (20, 10, [10, 10]), (1, 0, [])])
def test_configured_penalties(initial: int, longest: int, seconds: list[int]) -> None:
    stage = Stage(initial_backoff_ns=initial * SECOND, max_backoff_ns=longest * SECOND)
    stage.add("p")
    for expected in seconds:
        failed_at = stage.now
        stage.fail(stage.pop())
        wake_at = stage.queue.wake_at()
        assert wake_at == failed_at + (expected + 1) * SECOND
        stage.now = wake_at
    if not longest:
        assert stage.fail(stage.pop()) is PodState.ACTIVE


@pytest.mark.parametrize("fraction_ms", [0, 1, 500, 999])
def test_both_ends_are_whole_seconds(fraction_ms: int) -> None:
    stage = Stage(started_at=START + fraction_ms * MS)
    stage.add("p")
    stage.fail(stage.pop())
    assert stage.queue.wake_at() == START + 2 * SECOND


def test_errors_count_apart_and_start_again_after_a_refusal() -> None:
    stage = Stage()
    stage.add("p")
    for _ in range(3):
        stage.fail(queued := stage.pop())
        stage.wait(20)
    assert (queued.consecutive_errors, queued.unschedulable_count) == (3, 0)
    stage.fail(stage.pop(), "Room")
    assert (queued.consecutive_errors, queued.unschedulable_count) == (0, 1)


def test_a_refused_pod_is_popped_early_when_nothing_is_active() -> None:
    stage = Stage()
    stage.parked("refused")
    stage.happens(NODE_ADD, None, NEW_NODE)
    stage.add("fresh")
    assert stage.place("refused") is PodState.BACKOFF
    assert stage.all_popped() == ["fresh", "refused"]
    assert stage.queue.figures.incoming["active", "PopFromBackoffQ"] == 1


def test_a_pod_that_failed_by_error_is_never_popped_early() -> None:
    stage = Stage()
    stage.add("broken")
    stage.fail(stage.pop())
    stage.parked("refused")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.all_popped() == ["refused"]
    stage.wait(2)
    assert stage.all_popped() == ["broken"]


def test_early_pops_go_by_whole_second_then_by_priority() -> None:
    """Pods whose penalties end in the same second compete by priority; one of an earlier second comes before them."""
    stage = Stage()
    stage.parked("early")
    stage.wait(1.1)
    stage.parked("low", "Room")
    stage.wait(0.5)
    stage.parked(pod("high").priority(10), "Room")
    stage.now = START + 1_900 * MS
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert [stage.place(name) for name in ("early", "low", "high")] == [PodState.BACKOFF] * 3
    assert stage.all_popped() == ["early", "high", "low"]


def test_finished_pods_of_both_heaps_become_active() -> None:
    stage = Stage()
    stage.parked("refused")
    stage.happens(NODE_ADD, None, NEW_NODE)
    stage.add(pod("broken").priority(5))
    stage.fail(stage.pop())
    stage.queue.flush_backoff(START + 2 * SECOND - 1)
    assert stage.queue.counts()[PodState.BACKOFF] == 2
    stage.queue.flush_backoff(START + 2 * SECOND)
    assert stage.queue.counts()[PodState.ACTIVE] == 2
    assert stage.all_popped() == ["broken", "refused"]


def test_a_pod_whose_penalty_is_over_skips_the_backoff() -> None:
    stage = Stage()
    stage.parked("p")
    stage.wait(2)
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.ACTIVE


# Without popping from the backoff (the gate SchedulerPopFromBackoffQ).


def test_without_early_pops_a_refused_pod_waits_for_its_turn() -> None:
    """Penalties end at any time; pods come out at the next second since the start, not of the wall clock."""
    stage = Stage(started_at=START + 300 * MS, pops_from_backoff=False)
    stage.wait(0.4)
    stage.parked("p")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.BACKOFF
    assert not stage.queue.has_next
    assert stage.all_popped() == []
    assert stage.queue.wake_at() == START + 2_300 * MS
    stage.now = START + 2_300 * MS - 1
    assert stage.all_popped() == []
    stage.now += 1
    assert stage.all_popped() == ["p"]


def test_without_early_pops_nobody_competes_in_the_backoff() -> None:
    """Both come out with the same tick, and only then priority decides."""
    stage = Stage(pops_from_backoff=False)
    stage.parked("low", "Room")
    stage.wait(0.5)
    stage.parked(pod("high").priority(10), "Room")
    stage.happens(NODE_ADD, None, NEW_NODE)
    stage.now = START + 1_999 * MS
    assert stage.all_popped() == []
    stage.now = START + 2 * SECOND
    assert stage.all_popped() == ["high", "low"]


def test_without_early_pops_gates_are_asked_when_the_penalty_is_over() -> None:
    gate = Gate()
    stage = Stage(gates=(gate,), pops_from_backoff=False)
    stage.parked("p")
    gate.shut.add("default/p")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.BACKOFF
    stage.wait(2)
    assert stage.all_popped() == []
    assert stage.place("p") is PodState.GATED
    early = Stage(gates=(gate,))
    gate.shut.clear()
    early.parked("p")
    gate.shut.add("default/p")
    early.happens(NODE_ADD, None, NEW_NODE)
    assert early.place("p") is PodState.GATED
