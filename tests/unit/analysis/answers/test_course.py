"""What happens after something has happened: rounds, victims that come back, budgets between rounds."""

from __future__ import annotations

from tests.support.changed_clusters import course_of, owned
from tests.support.devices import asks, claim_of, device_class, held, with_claims

from bayplan import Cluster
from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Arrival, Course, DepartureCause
from bayplan.model.conditions import is_ready
from bayplan.model.kinds import Object
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.testing import builders as make

ONE, TWO = make.node("a").capacity(cpu="2"), make.node("b").capacity(cpu="2")


def test_a_victim_that_comes_back_evicts_the_next_one() -> None:
    course = course_of(
        ONE,
        TWO,
        owned("low").cpu("2").priority(1).running("b"),
        owned("middle").cpu("2").priority(2).running("a").labels(only="a"),
        make.pod("high").cpu("2").priority(3).node_selector({"kubernetes.io/hostname": "a"}),
    )
    course.settle()
    assert [(each.pod, each.node, each.by) for each in course.departures] == [
        ("default/middle", "a", "default/high"),
        ("default/low", "b", "default/middle"),
    ]
    assert course.arrivals == [
        Arrival("default/high", "a", ("default/middle",)),
        Arrival("default/middle", "b", ("default/low",)),
    ]
    assert course.message("default/low").startswith("0/2 nodes are available: 2 Insufficient cpu")


def test_a_bare_victim_is_gone() -> None:
    course = course_of(ONE, make.pod("low").cpu("2").running("a"), make.pod("high").cpu("2").priority(1))
    course.settle()
    assert (course.knows("default/low"), course.is_pending("default/low")) == (False, False)
    (departure,) = course.departures
    assert (departure.cause, departure.comes_back) == (DepartureCause.PREEMPTED, False)


def test_pods_that_waited_in_vain_are_tried_again_once_somebody_has_left() -> None:
    """The victims leave room behind that the preemptor does not need."""
    course = course_of(
        make.node("a").capacity(cpu="4", pods=10),
        make.pod("victim").cpu("4").priority(1).running("a"),
        make.pod("polite").cpu("1").priority(9).never_preempts(),
        make.pod("high").cpu("2").priority(5),
    )
    course.settle()
    assert [arrival.pod for arrival in course.arrivals] == ["default/high", "default/polite"]


def test_a_pod_is_evicted_in_vain_for_devices_that_cannot_be_given_again() -> None:
    """The claim's device is no longer offered: it is taken back, and the victim of the same attempt is gone."""
    here = NodeSelectorRequirement(key="metadata.name", operator="In", values=["a"])
    claim = held(claim_of("mine", asks("r")), "a", "d0")
    assert claim.status.allocation is not None
    selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[here])])
    claim.status.allocation.node_selector = selector
    low, high = owned("low").cpu("2").running("a"), make.pod("high").cpu("2").priority(1)
    objects: list[Object] = [
        ONE.obj(),
        TWO.obj(),
        device_class(),
        claim,
        low.obj(),
        with_claims(high.obj(), "mine"),
    ]
    course = Course(Asking.about(Cluster(objects)))
    course.settle()
    assert [(each.pod, each.by) for each in course.departures] == [("default/low", "default/high")]
    assert [arrival.pod for arrival in course.arrivals] == ["default/low"]
    assert "2 cannot allocate all claims" in course.message("default/high")


def test_budgets_are_counted_between_rounds() -> None:
    """Both nodes look the same to the second preemptor, but for the budget that the first one has used up."""
    course = course_of(
        ONE,
        TWO,
        make.budget("b").selects(app="x").allows(1),
        owned("x1").labels(app="x").cpu("2").running("a"),
        make.pod("y").cpu("2").priority(1).running("b"),
    )
    course.add([make.pod("first").cpu("2").priority(5).obj()])
    course.settle()
    assert [each.pod for each in course.departures] == ["default/x1"]
    assert course.departures[0].breaks == ()
    course.add([make.pod("second").cpu("2").priority(6).obj()])
    course.settle()
    assert [each.pod for each in course.departures[1:]] == ["default/y"]


def test_a_budget_that_is_broken_is_named() -> None:
    low = owned("low").labels(app="x").cpu("2").running("a")
    course = course_of(ONE, make.budget("b").selects(app="x").allows(0), low, make.pod("high").cpu("2").priority(1))
    course.settle()
    assert course.departures[0].breaks == ("default/b",)


def test_deleting_a_pod_breaks_no_budget() -> None:
    """Budgets protect against evictions, not against those who know what they do."""
    course = course_of(ONE, make.budget("b").selects(app="x").allows(0), owned("p").labels(app="x").running("a"))
    course.remove(["default/p"], DepartureCause.DELETED, "Pod default/p", for_good=False)
    assert course.departures[0].breaks == ()
    assert course.is_pending("default/p")


def test_what_is_removed_for_good_does_not_come_back() -> None:
    course = course_of(ONE, owned("runs").running("a"), owned("waits").cpu("9"))
    course.remove(["default/runs", "default/waits"], DepartureCause.SCALED_DOWN, "somebody", for_good=True)
    assert (course.pods, course.waiting) == ({}, {})
    assert [each.node for each in course.departures] == ["a", ""]


def test_a_pod_that_waits_is_made_again_if_somebody_does() -> None:
    course = course_of(ONE, owned("p").cpu("9"), make.pod("bare").cpu("9"))
    course.remove(["default/p", "default/bare"], DepartureCause.DELETED, "", for_good=False)
    assert list(course.waiting) == ["default/p"]
    assert [each.pod for each in course.departures] == ["default/bare"]


def test_a_pod_that_got_a_node_runs_and_is_ready() -> None:
    course = course_of(ONE, make.pod("p"))
    course.settle()
    pod = course.pods["default/p"]
    assert (pod.spec.node_name, pod.status.phase, is_ready(pod)) == ("a", "Running", True)


def test_pods_of_other_schedulers_are_left_to_them() -> None:
    foreign = owned("low").cpu("2").scheduler("else").running("a")
    course = course_of(
        ONE, TWO, foreign, make.pod("high").cpu("2").priority(1).node_selector({"kubernetes.io/hostname": "a"})
    )
    course.settle()
    assert course.is_pending("default/low")
    assert course.message("default/low") == "left to scheduler 'else', which the configuration does not have"


def test_a_pod_that_preemption_looked_for_in_vain_loses_its_nomination() -> None:
    course = course_of(ONE, make.pod("p").cpu("9").nominated("a"))
    course.settle()
    assert course.waiting["default/p"].pod.status.nominated_node_name == ""


def test_pods_of_a_node_are_listed_by_name() -> None:
    course = course_of(ONE, *(make.pod(name).cpu("100m").running("a") for name in "cab"))
    assert [pod.metadata.name for pod in course.pods_on("a")] == ["a", "b", "c"]
    assert course.pods_on("nowhere") == []
