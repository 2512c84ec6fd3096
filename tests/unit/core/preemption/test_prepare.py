"""What is to be done for a chosen candidate: actions as plain data, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.preemption_attempts import tried

from bayplan.core.actions import ClearNomination, Evict
from bayplan.core.columns.nominated import known_by_name
from bayplan.core.preemption.prepare import prepare
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder


def wanting() -> PodBuilder:
    return pod("wanting").cpu("4").priority(100).uid("abc-123")


def actions(pending: PodBuilder, *things: Any) -> Sequence[ClearNomination | Evict]:
    done = tried(pending, node("n"), *things)
    (row,) = done.searched.tied_rows
    return prepare(done.pod, done.view, int(row), done.searched.victims_on(int(row)))


def victim(name: str, priority: int) -> PodBuilder:
    return pod(name).cpu("1").priority(priority).running("n")


def test_victims_go_in_order_of_importance() -> None:
    """Nothing else is done: the nomination goes out with the preemptor's condition."""
    done = actions(wanting(), victim("low", 1), victim("high", 50))
    assert [(type(action), action.pod, action.node) for action in done] == [
        (Evict, "default/high", "n"),
        (Evict, "default/low", "n"),
    ]


def test_what_an_eviction_says() -> None:
    first = actions(wanting().scheduler("default-scheduler"), victim("v", 1))[0]
    assert first == Evict(
        pod="default/v",
        uid=victim("v", 1).obj().metadata.uid,
        node="n",
        condition_reason="PreemptionByScheduler",
        condition_message="default-scheduler: preempting to accommodate a higher priority pod",
        note="Preempted by pod abc-123 on node n",
    )


def test_the_message_names_the_scheduler_of_the_pod() -> None:
    first = actions(wanting().scheduler("batch"), victim("v", 1))[0]
    assert isinstance(first, Evict)
    assert first.condition_message == "batch: preempting to accommodate a higher priority pod"


def test_lower_nominations_on_the_node_end_first() -> None:
    """Pods of equal priority keep theirs, and so do pods nominated elsewhere."""
    nominated = [
        pod("lower").priority(99).nominated("n"),
        pod("equal").priority(100).nominated("n"),
        pod("elsewhere").priority(1).nominated("m"),
    ]
    done = actions(wanting(), node("m").unschedulable(), victim("v", 1), *nominated)
    assert done[0] == ClearNomination("default/lower", "n")
    assert [action.pod for action in done] == ["default/lower", "default/v"]


def test_nothing_is_known_of_the_nomination_of_a_pod_that_is_in_no_queue() -> None:
    skipped = known_by_name(pod("skipped").obj())
    skipped.status.nominated_node_name = "n"
    assert [action.pod for action in actions(wanting(), victim("v", 1), skipped)] == ["default/v"]


def test_terminating_victims_are_left_to_leave() -> None:
    done = actions(wanting(), victim("leaving", 50).terminating(), victim("v", 1))
    assert [action.pod for action in done] == ["default/v"]


def test_with_all_victims_leaving_nothing_is_done() -> None:
    """Lower nominations too stay until their pods find out by themselves."""
    done = actions(wanting(), victim("leaving", 50).terminating(), pod("lower").priority(1).nominated("n"))
    assert done == []
