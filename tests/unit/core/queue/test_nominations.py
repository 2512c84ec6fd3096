"""Who has a node kept for it, and who is told when it is not kept any more."""

from __future__ import annotations

import pytest
from tests.unit.core.queue.stage import Gate, Stage

from bayplan.config.feature_gates import read_feature_gates
from bayplan.config.releases import RELEASES
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.nominations import Nominations
from bayplan.testing.builders import pod
from bayplan.testing.pods import PodBuilder

KEPT = "n1"


def names_on(stage: Stage, node_name: str) -> list[str]:
    return [info.name for info in stage.queue.nominations.on(node_name)]


def nominated(stage: Stage, builder: PodBuilder, node_name: str) -> None:
    """A preemptor: failed, parked, a node kept for it in memory."""
    queued = stage.parked(builder)
    stage.queue.nominate(queued, node_name, stage.now)


@pytest.mark.parametrize(
    ("told", "given", "expected"),
    [
        pytest.param("", "n2", "n2", id="override"),
        pytest.param("n1", "n2", "n2", id="override another"),
        pytest.param("n1", "", "", id="override with none"),
        pytest.param("n1", None, "n1", id="what the status says"),
        pytest.param("", None, "", id="the status says nothing"),
    ],
)
def test_modes(told: str, given: str | None, expected: str) -> None:
    stage = Stage()
    queued = stage.parked(pod("p").nominated(told))
    stage.queue.nominate(queued, given, stage.now)
    assert stage.queue.nominations.node_of(queued.info) == expected
    assert len(stage.queue.nominations) == bool(expected)


def test_a_pod_that_comes_with_a_nomination_is_believed() -> None:
    stage = Stage()
    stage.add(pod("a").nominated(KEPT))
    stage.add(pod("b").nominated(KEPT))
    assert names_on(stage, KEPT) == ["a", "b"]
    assert len(stage.cache.nominated[KEPT]) == 2, "the cache knows as well"


@pytest.mark.parametrize(("version", "kept"), [("1.36", []), ("1.37", ["gated"])])
def test_since_1_37_a_pod_behind_its_gate_keeps_its_node(version: str, kept: list[str]) -> None:
    stage = Stage(gates=(Gate("default/gated"),), feature_gates=read_feature_gates(None, RELEASES[version]))
    stage.add(pod("gated").nominated(KEPT))
    assert names_on(stage, KEPT) == kept


def test_nominating_again_moves_to_the_end() -> None:
    stage = Stage()
    a = stage.add(pod("a").nominated(KEPT))
    stage.add(pod("b").nominated(KEPT))
    stage.update(a, pod("a").nominated(KEPT).labels(x="y"))
    assert names_on(stage, KEPT) == ["b", "a"]


@pytest.mark.parametrize(
    ("told_before", "told_after", "expected"),
    [("", "", KEPT), ("", "n2", "n2"), ("n2", "", ""), ("n2", "n2", "n2"), (KEPT, "n2", "n2")],
)
def test_an_update_that_knows_of_no_nomination_leaves_the_one_in_memory(
    told_before: str, told_after: str, expected: str
) -> None:
    nominations, info = Nominations(), Stage().info
    old, new = pod("p").nominated(told_before).obj(), pod("p").nominated(told_after).obj()
    nominations.set(old, info(old), KEPT)
    nominations.update(info(old), new, info(new))
    assert nominations.node_of(info(new)) == expected


def test_a_pod_on_a_node_is_not_nominated() -> None:
    nominations, thing = Nominations(), pod("p").node("n1").obj()
    nominations.set(thing, Stage().info(thing), "n2")
    assert len(nominations) == 0


def test_a_pod_that_is_gone_is_not_nominated() -> None:
    stage = Stage()
    stage.add("p")
    queued = stage.pop()
    stage.queue.delete("default/p", stage.now)
    stage.fail(queued, "Room")
    stage.queue.nominate(queued, KEPT, stage.now)
    assert len(stage.queue.nominations) == 0


def test_deleting_ends_it() -> None:
    stage = Stage()
    nominated(stage, pod("p"), KEPT)
    stage.queue.delete("default/p", stage.now)
    assert names_on(stage, KEPT) == []
    assert stage.cache.nominated == {}


def test_assuming_ends_it_before_the_cache_takes_the_pod() -> None:
    stage = Stage()
    thing = stage.add(pod("p").nominated(KEPT))
    queued = stage.pop()
    stage.queue.assume(queued, KEPT, stage.now)
    stage.cache.add_pod(thing, KEPT, queued.info)
    assert stage.cache.nominated == {}
    assert queued.state is PodState.ASSUMED


def test_an_update_in_flight_waits_for_the_return() -> None:
    stage = Stage()
    old = stage.add(pod("p"))
    queued = stage.pop()
    stage.update(old, pod("p").nominated(KEPT))
    assert len(stage.queue.nominations) == 0
    stage.fail(queued, "Room")
    stage.queue.nominate(queued, None, stage.now)
    assert names_on(stage, KEPT) == ["p"]


@pytest.mark.parametrize(("told", "told_later", "expected"), [("", "", KEPT), ("n2", "n2", KEPT), ("n2", "n3", "n3")])
def test_an_attempt_that_changes_nothing_keeps_what_no_watch_has_shown_yet(
    told: str, told_later: str, expected: str
) -> None:
    """But it believes what the watch has shown while the pod was tried."""
    stage = Stage()
    old = stage.add(pod("p").nominated(told))
    queued = stage.pop()
    stage.fail(queued, "Room")
    stage.queue.nominate(queued, KEPT, stage.now)
    stage.queue.activate(["default/p"], stage.now)
    assert stage.pop() is queued
    if told_later != told:
        stage.update(old, pod("p").nominated(told_later))
    stage.fail(queued, "Room")
    stage.queue.nominate(queued, None, stage.now)
    assert stage.queue.nominations.node_of(queued.info) == expected


# ---------------------------------------------------------------- those who stood back are told


class Standoff(Stage):
    """A preemptor of priority 5 has n1 kept; the pods below, at and above its priority were refused."""

    def __init__(self) -> None:
        super().__init__()
        for name, priority in (("low", 1), ("equal", 5), ("high", 9)):
            self.parked(pod(name).priority(priority))
        self.wait(5)
        self.preemptor = self.parked(pod("preemptor").priority(5))
        self.queue.nominate(self.preemptor, KEPT, self.now)

    def woken(self) -> list[str]:
        rested = (PodState.UNSCHEDULABLE, None)
        return [n for n in ("low", "equal", "high", "preemptor") if self.place(n) not in rested]


def test_a_pod_that_is_skipped_has_its_node_kept_until_it_is_gone() -> None:
    """It is being deleted, and so not tried; whoever stood back for it hears when that is over."""
    stage = Standoff()
    stage.queue.activate([stage.preemptor.key], stage.now)
    stage.queue.skip(stage.pop(), stage.now)
    assert names_on(stage, KEPT) == ["preemptor"]
    assert stage.woken() == []
    stage.queue.delete(stage.preemptor.key, stage.now)
    assert names_on(stage, KEPT) == []
    assert stage.cache.nominated == {}
    assert stage.woken() == ["low", "equal"]


def test_of_a_pod_that_is_skipped_only_its_place_is_kept() -> None:
    """It is in no queue any longer, where upstream looks up what it needs and how important it is."""
    stage = Standoff()
    stage.queue.activate([stage.preemptor.key], stage.now)
    stage.queue.skip(stage.pop(), stage.now)
    row = stage.cache.pods.rows_by_key["default/preemptor"]
    assert (stage.cache.nominated.place_of(row), stage.cache.pods.priorities[row]) == ((KEPT, 0), 0)


def test_nobody_is_woken_by_a_new_nomination() -> None:
    assert Standoff().woken() == []


def test_deletion_wakes_even_if_the_api_never_heard_of_the_nomination() -> None:
    stage = Standoff()
    stage.queue.delete("default/preemptor", stage.now)
    assert stage.woken() == ["low", "equal"]


def test_binding_elsewhere_by_somebody_else_wakes() -> None:
    stage = Standoff()
    stage.queue.delete("default/preemptor", stage.now, bound_to="n2")
    assert stage.woken() == ["low", "equal"]


def test_binding_to_the_kept_node_wakes_nobody() -> None:
    stage = Standoff()
    stage.queue.delete("default/preemptor", stage.now, bound_to=KEPT)
    assert stage.woken() == []


def test_a_change_of_the_status_wakes_the_pod_itself_too() -> None:
    stage = Standoff()
    told = stage.update(stage.preemptor.pod, pod("preemptor").priority(5).nominated(KEPT))
    assert stage.woken() == []
    stage.update(told, pod("preemptor").priority(5))
    assert stage.woken() == ["low", "equal", "preemptor"]


def test_behind_a_gate_the_loss_of_its_own_place_is_not_remembered() -> None:
    """A preemptor whose victims are being evicted is woken by their end, not by a more important pod's claim."""
    gate = Gate()
    stage = Stage(gates=(gate,))
    queued = stage.parked(pod("p").nominated(KEPT))
    gate.shut.add("default/p")
    stage.update(queued.pod, pod("p"))
    gate.shut.clear()
    stage.queue.release("default/p", stage.now)
    assert stage.place("p") is PodState.UNSCHEDULABLE


def test_a_status_that_names_another_node_than_memory_wakes() -> None:
    stage = Standoff()
    stage.update(stage.preemptor.pod, pod("preemptor").priority(5).nominated("n2"))
    assert stage.woken() == ["low", "equal"]


@pytest.mark.parametrize(("node_name", "woken"), [("n2", ["low", "equal"]), ("", ["low", "equal"]), (KEPT, [])])
def test_nominating_elsewhere_wakes(node_name: str, woken: list[str]) -> None:
    stage = Standoff()
    stage.queue.nominate(stage.preemptor, node_name, stage.now)
    assert stage.woken() == woken


@pytest.mark.parametrize(("node_name", "woken"), [("n2", ["low", "equal"]), (KEPT, [])])
def test_taking_another_node_wakes(node_name: str, woken: list[str]) -> None:
    stage = Standoff()
    stage.queue.activate(["default/preemptor"], stage.now)
    queued = stage.pop()
    stage.queue.assume(queued, node_name, stage.now)
    assert [name for name in stage.woken() if name != "preemptor"] == woken
