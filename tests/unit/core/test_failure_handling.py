"""What a pod is told when an attempt was in vain, and how it is told the same again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.queue.stage import Stage

from bayplan.core.decision import Decision
from bayplan.core.diagnosis import NO_NODES, Diagnosis
from bayplan.core.failure_handling import return_refused_again, return_unschedulable
from bayplan.testing.builders import pod

MESSAGES = st.sampled_from(
    ["0/1 nodes are available: 1 Too many pods.", "0/2 nodes are available.", NO_NODES, "x" * 2000]
)
NOMINATIONS = st.sampled_from([None, "", "n1"])


def refused(stage: Stage, message: str, nominated: str | None) -> Decision:
    """What the pod that is next is told; it is tried again at once."""
    queued = stage.pop()
    decision = return_unschedulable(stage.queue, queued, Diagnosis(message, ("Room",)), nominated, stage.now)
    stage.wait(60)
    stage.queue.activate([queued.key], stage.now)
    return decision


@given(st.lists(st.tuples(MESSAGES, NOMINATIONS), min_size=1, max_size=8))
def test_a_pod_is_told_what_one_would_be_told_that_was_never_refused_before(
    refusals: list[tuple[str, str | None]],
) -> None:
    stage = Stage()
    stage.add(pod("p").uid("u"))
    for message, nominated in refusals:
        fresh = Stage()
        fresh.add(pod("p").uid("u"))
        assert refused(stage, message, nominated) == refused(fresh, message, nominated)


def test_the_same_refusal_is_not_put_together_twice() -> None:
    stage = Stage()
    stage.add("p")
    assert refused(stage, "nothing fits", "") is refused(stage, "nothing fits", "")


@given(
    st.lists(st.tuples(MESSAGES.filter(lambda message: message != NO_NODES), st.sampled_from([None, ""])), max_size=8)
)
def test_one_that_is_refused_like_another_is_told_the_same_and_waits_the_same(
    refusals: list[tuple[str, str | None]],
) -> None:
    told: list[list[Decision]] = []
    stages = Stage(), Stage()
    for stage, return_refused in zip(stages, (return_unschedulable, return_refused_again), strict=True):
        stage.add(pod("p").uid("u"))
        refused(stage, "nothing fits", "")  # the other one
        told.append([])
        for message, nominated in refusals:
            queued = stage.pop()
            told[-1].append(return_refused(stage.queue, queued, Diagnosis(message, ("Room",)), nominated, stage.now))
            stage.wait(6 * 60)
    assert told[0] == told[1]
    assert stages[0].queue.figures.incoming == stages[1].queue.figures.incoming
    assert stages[0].queue.wake_at() == stages[1].queue.wake_at()
