"""Fixes from one end to the other: one obstacle, one change that takes it away."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.fixing.answer import Fix, Fixes, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from bayplan.testing.builders import claim, daemon_set, deployment, node, pod, priority_class
from bayplan.testing.building import Builder

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BUSY = pod("busy").cpu("3").priority(1000).running("n")


def fixes_of(*things: Builder[Any], name: str = "x") -> Fixes:
    return Cluster([thing.obj() for thing in things]).fix(name)


def kinds(answer: Fixes) -> list[tuple[RemedyKind, ...]]:
    return [tuple(change.kind for change in fix.changes) for fix in answer.fixes]


def only(answer: Fixes, kind: RemedyKind) -> Fix:
    (fix,) = [fix for fix in answer.fixes if [change.kind for change in fix.changes] == [kind]]
    return fix


def change_of(answer: Fixes, kind: RemedyKind) -> tuple[str, object, object]:
    change = only(answer, kind).changes[0]
    return change.what, change.before, change.after


@pytest.mark.parametrize(
    ("things", "kind", "expected"),
    [
        pytest.param(
            [node("n"), BUSY, pod("x").cpu("1333m")], RemedyKind.REQUEST, ("cpu", 1333, 1000), id="the largest request"
        ),
        pytest.param(
            [node("n"), pod("x").cpu("5")], RemedyKind.REQUEST, ("cpu", 5000, 4000), id="more than a node has"
        ),
        pytest.param(
            [node("n"), pod("x").request({"nvidia.com/gpu": 1})],
            RemedyKind.REQUEST,
            ("nvidia.com/gpu", 1, 0),
            id="what no node has",
        ),
        pytest.param(
            [node("n").taint("gpu", "yes"), pod("x")],
            RemedyKind.TOLERATION,
            ("gpu=yes:NoSchedule", None, None),
            id="a taint",
        ),
        pytest.param(
            [node("n").taint("gpu", "yes"), pod("x")],
            RemedyKind.UNTAINT,
            ("n", "gpu=yes:NoSchedule", None),
            id="or no taint",
        ),
        pytest.param([node("n").unschedulable(), pod("x")], RemedyKind.UNCORDON, ("n", None, None), id="a cordon"),
        pytest.param(
            [node("n").label("a", "b"), pod("x").node_selector({"a": "b", "disk": "ssd"})],
            RemedyKind.NODE_SELECTOR,
            ("disk=ssd", None, None),
            id="one label of a node selector",
        ),
        pytest.param(
            [node("n").label("a", "b"), pod("x").node_affinity("a=b,disk=ssd")],
            RemedyKind.NODE_AFFINITY,
            ("disk in (ssd)", None, None),
            id="one expression of a term",
        ),
        pytest.param(
            [node("n").label(HOST, "n"), pod("x").pod_affinity(HOST, "app=y")],
            RemedyKind.POD_AFFINITY,
            (HOST, None, None),
            id="an affinity to nobody",
        ),
        pytest.param(
            [node("n"), pod("y").labels(app="y").running("n"), pod("x").pod_anti_affinity(HOST, "app=y")],
            RemedyKind.POD_ANTI_AFFINITY,
            (HOST, None, None),
            id="an anti-affinity to somebody",
        ),
        pytest.param(
            [node("n"), pod("y").port(80).running("n"), pod("x").port(80)],
            RemedyKind.HOST_PORT,
            ("80/TCP", None, None),
            id="a port that is taken",
        ),
        pytest.param([node("n"), pod("x").gate("a", "b")], RemedyKind.GATES, ("a, b", None, None), id="gates"),
        pytest.param(
            [
                node("n"),
                pod("y").cpu("4").running("n"),
                priority_class("low", 0),
                priority_class("mid", 5),
                pod("x").cpu("1"),
            ],
            RemedyKind.PRIORITY,
            ("mid", 0, 5),
            id="the lowest class that is high enough",
        ),
        pytest.param(
            [
                node("n"),
                pod("y").cpu("4").running("n"),
                priority_class("high", 9),
                pod("x").cpu("1").priority(9).never_preempts(),
            ],
            RemedyKind.PRIORITY,
            ("high", 9, 9),
            id="a class of the same value that may preempt",
        ),
        pytest.param(
            [node("big").capacity(cpu="9"), node("n"), BUSY, pod("b").cpu("9").running("big"), pod("x").cpu("2")],
            RemedyKind.ADD_NODE,
            ("n", None, None),
            id="one more of the smallest kind that helps",
        ),
    ],
)
def test_what_is_in_the_way_is_named(
    things: list[Builder[Any]], kind: RemedyKind, expected: tuple[str, object, object]
) -> None:
    assert change_of(fixes_of(*things), kind) == expected


def skewed() -> list[Builder[Any]]:
    running = [pod(f"y{number}").labels(app="y").cpu("1").running("a") for number in range(3)]
    wanting = pod("x").labels(app="y").cpu("1").spread(ZONE, "app=y", max_skew=1)
    return [node("a").zone("a"), node("b").zone("b").unschedulable(), *running, wanting]


def test_a_skew_is_raised_no_more_than_needed() -> None:
    answer = fixes_of(*skewed())
    assert change_of(answer, RemedyKind.SKEW) == (ZONE, 1, 4)
    assert change_of(answer, RemedyKind.SPREAD) == (ZONE, "DoNotSchedule", "ScheduleAnyway")


def test_a_freed_node_says_who_has_to_leave_and_all_is_as_before() -> None:
    small = pod("small").cpu("1").priority(1000).running("n")
    answer = fixes_of(node("n"), BUSY, small, pod("x").cpu("1500m"))
    assert only(answer, RemedyKind.FREE).victims == ("default/busy",)
    assert change_of(answer, RemedyKind.REQUEST) == ("cpu", 1500, 0)


def test_the_system_s_classes_are_for_the_system() -> None:
    things = (node("n"), pod("y").cpu("4").running("n"), pod("x", "kube-system").cpu("1"), pod("x").cpu("1"))
    assert (RemedyKind.PRIORITY,) not in kinds(fixes_of(*things))
    answer = fixes_of(*things, name="kube-system/x")
    assert change_of(answer, RemedyKind.PRIORITY)[0] == "system-cluster-critical"


def test_a_new_node_has_the_daemons_of_its_kind() -> None:
    """Without them there would be room."""
    agent = daemon_set("agent")
    things = (node("n"), BUSY, pod("agent-1").cpu("1").priority(1000).owner(agent).running("n"))
    assert (RemedyKind.ADD_NODE,) in kinds(fixes_of(*things, pod("x").cpu("3")))
    assert (RemedyKind.ADD_NODE,) not in kinds(fixes_of(*things, pod("x").cpu("3001m")))


def test_the_smallest_change_comes_first() -> None:
    answer = fixes_of(node("n"), BUSY, pod("x").cpu("1100m"))
    assert kinds(answer) == [(RemedyKind.REQUEST,), (RemedyKind.ADD_NODE,), (RemedyKind.FREE,)]
    assert [fix.price for fix in answer.fixes] == sorted(fix.price for fix in answer.fixes)


def test_pairs_are_found_where_single_changes_are_few() -> None:
    answer = fixes_of(node("n").taint("gpu"), pod("x").node_selector(disk="ssd"))
    assert kinds(answer)[0] == (RemedyKind.NODE_SELECTOR, RemedyKind.TOLERATION)


def test_a_pair_is_no_larger_than_it_must_be() -> None:
    answer = fixes_of(node("n").capacity(cpu="4", memory="8Gi"), pod("x").cpu("4001m").memory("9Gi"))
    (pair,) = answer.fixes
    assert [change.after for change in pair.changes] == [4000, 8 << 30]


def test_an_edit_and_something_around_the_pod() -> None:
    answer = fixes_of(node("n").unschedulable(), pod("x").node_selector(disk="ssd"))
    assert (RemedyKind.NODE_SELECTOR, RemedyKind.UNCORDON) in kinds(answer)


def test_a_larger_set_where_no_pair_helps() -> None:
    things = (node("n").taint("gpu").label("a", "b"), pod("y").port(80).running("n"))
    wanting = pod("x").cpu("5").port(80).node_selector(a="b", disk="ssd").pod_affinity(HOST, "app=z")
    (fix,) = fixes_of(*things, wanting).fixes
    needed = {
        RemedyKind.REQUEST,
        RemedyKind.TOLERATION,
        RemedyKind.NODE_SELECTOR,
        RemedyKind.HOST_PORT,
        RemedyKind.POD_AFFINITY,
    }
    assert {change.kind for change in fix.changes} == needed
    assert [(change.what, change.after) for change in fix.changes if change.after] == [("cpu", 4000)]
    assert "a=b" not in {change.what for change in fix.changes}


def test_a_pod_that_needs_no_fix() -> None:
    fits = fixes_of(node("n"), pod("x"))
    assert (fits.is_fine, fits.fits_on, fits.fixes) == (True, "n", ())
    runs = fixes_of(node("n"), pod("x").running("n"))
    assert (runs.is_fine, runs.runs_on, runs.fixes) == (True, "n", ())


def test_a_pod_that_preempts_is_fine_and_what_spares_the_others_is_shown() -> None:
    answer = fixes_of(node("n"), pod("y").cpu("4").running("n"), pod("x").cpu("1").priority(5))
    assert (answer.is_fine, answer.fits_on, answer.victims) == (True, "n", ("default/y",))
    assert kinds(answer) == [(RemedyKind.ADD_NODE,), (RemedyKind.REQUEST,)]


def test_what_nothing_helps() -> None:
    elsewhere = NodeSelectorRequirement(key="metadata.name", operator="In", values=["gone"])
    answer = fixes_of(node("n"), pod("x").node_affinity(NodeSelectorTerm(match_fields=[elsewhere])))
    assert (answer.is_fine, answer.fixes) == (False, ())
    assert "NodeAffinity" in answer.message


def test_a_cluster_without_nodes() -> None:
    answer = fixes_of(pod("x"))
    assert (answer.is_fine, answer.fixes, answer.message) == (False, (), "no nodes available to schedule pods")


def test_a_daemon_keeps_its_node() -> None:
    """That it must not run elsewhere is not an obstacle to be dropped."""
    agent = daemon_set("agent").template(pod("t").cpu("5").labels(app="agent"))
    answer = fixes_of(node("n"), agent, name="daemonset/agent")
    assert [kind for kind, *_ in kinds(answer)] == [RemedyKind.REQUEST]


def test_taints_of_kubernetes_are_not_to_be_tolerated() -> None:
    answer = fixes_of(node("n").taint("node.kubernetes.io/not-ready"), pod("x"))
    assert not {(RemedyKind.TOLERATION,), (RemedyKind.UNTAINT,)} & set(kinds(answer))


def test_a_pod_that_has_finished_is_bad_input() -> None:
    with pytest.raises(InvalidObject, match="Succeeded: the pod has finished"):
        fixes_of(node("n"), pod("x").running("n").phase("Succeeded"))


def test_the_next_pod_of_a_workload() -> None:
    web = deployment("web").template(pod("t").cpu("5").labels(app="web")).replicas(1)
    answer = fixes_of(node("n"), web, name="deployment/web")
    assert (answer.workload, kinds(answer)[0]) == ("deployment/web", (RemedyKind.REQUEST,))


def test_a_claim_that_waits_for_its_volume_is_no_reason_to_fail() -> None:
    answer = fixes_of(node("n"), claim("data"), pod("x").claim("data").cpu("5"))
    assert not answer.is_fine


def test_a_request_is_lowered_until_all_pending_pods_fit() -> None:
    """3 cores are enough for the first of them, on the node that has most room; each of the two gets 1."""
    web = deployment("web").replicas(2).template(pod("t").labels(app="web").cpu("4"))
    nodes = [node("large").capacity(cpu="3"), node("small").capacity(cpu="1")]
    answer = fixes_of(*nodes, web, name="deployment/web")
    lowered = [fix for fix in answer.fixes if fix.changes[0].kind is RemedyKind.REQUEST]
    assert [(fix.fixed, fix.changes[0].after) for fix in lowered] == [(2, 1500)]


def test_a_request_that_only_some_pods_fit_with() -> None:
    """However little the second one asks for, its node has no place for another pod."""
    web = deployment("web").replicas(2).template(pod("t").labels(app="web").cpu("4"))
    answer = fixes_of(node("n").capacity(cpu="3", pods=1), web, name="deployment/web")
    lowered = next(fix for fix in answer.fixes if fix.changes[0].kind is RemedyKind.REQUEST)
    assert (lowered.fixed, answer.pending, lowered.changes[0].after) == (1, 2, 3000)


def test_a_skew_is_raised_until_all_pending_pods_fit() -> None:
    pattern = pod("t").labels(app="web").spread("zone", "app=web")
    web = deployment("web").replicas(3).template(pattern)
    zones = [node("a").label("zone", "a"), node("b").label("zone", "b").capacity(cpu="0", pods=0)]
    answer = fixes_of(*zones, web, name="deployment/web")
    raised = next(fix for fix in answer.fixes if fix.changes[0].kind is RemedyKind.SKEW)
    assert (answer.fitting, raised.fixed, answer.pending, raised.changes[0].after) == (1, 2, 2, 3)
