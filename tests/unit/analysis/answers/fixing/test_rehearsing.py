"""Fixes are played to their end for the whole workload, as the printed commands would change it."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.fixing.answer import Fix, Fixes, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
from bayplan.testing.builders import deployment, job, node, pod, priority_class, replica_set, stateful_set
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

HOST = "kubernetes.io/hostname"


def fixes_of(*things: Builder[Any], name: str) -> Fixes:
    return Cluster([thing.obj() for thing in things]).fix(name)


def owned(owned: PodBuilder, kind: str, name: str) -> PodBuilder:
    """As a controller makes it; a Deployment has a ReplicaSet between."""
    if kind != "Deployment":
        return owned.owner(kind, name)
    return owned.owner("ReplicaSet", f"{name}-abc").labels({"pod-template-hash": "abc"})


def by_kind(answer: Fixes) -> dict[RemedyKind, Fix]:
    return {fix.changes[0].kind: fix for fix in answer.fixes if len(fix.changes) == 1}


def test_no_fix_evicts_a_sibling() -> None:
    """Two replicas that keep apart, and one node: with a higher class, the second would only replace the first."""
    answer = fixes_of(
        node("n").label(HOST, "n"),
        priority_class("high", 1000),
        deployment("dns").replicas(2).template(pod("pattern").labels(app="dns").pod_anti_affinity(HOST, "app=dns")),
        owned(pod("dns-1").labels(app="dns").pod_anti_affinity(HOST, "app=dns"), "Deployment", "dns").running("n"),
        name="deployment/dns",
    )
    assert answer.pending == 1
    # Without the rule, a new pod would still be kept away by the old one that has it: the rollout gets stuck.
    assert by_kind(answer).keys() == {RemedyKind.ADD_NODE}
    assert all(not fix.victims for fix in answer.fixes)


def test_each_fix_says_how_many_pending_pods_it_helps() -> None:
    """Ten pods of 3 cores: an uncordoned node has room for one of them, smaller requests help all."""
    answer = fixes_of(
        node("small").capacity(cpu="10"),
        node("cordoned").capacity(cpu="4").unschedulable(),
        pod("busy").cpu("9").running("small"),
        deployment("nightly").replicas(10).template(pod("pattern").labels(app="w").cpu("3")),
        name="deployment/nightly",
    )
    found = by_kind(answer)
    assert answer.pending == 10
    assert (found[RemedyKind.UNCORDON].fixed, found[RemedyKind.UNCORDON].nodes) == (1, ("cordoned",))
    assert (found[RemedyKind.REQUEST].fixed, found[RemedyKind.REQUEST].changes[0].after) == (10, 100)
    assert [fix.fixed for fix in answer.fixes] == sorted((fix.fixed for fix in answer.fixes), reverse=True)


def test_a_fix_for_all_pods_comes_first() -> None:
    answer = fixes_of(
        node("n").label("pool", "general").capacity(cpu="9"),
        node("cordoned").label("pool", "generall").capacity(cpu="1").unschedulable(),
        deployment("web").replicas(3).template(pod("pattern").labels(app="w").cpu("1").node_selector(pool="generall")),
        name="deployment/web",
    )
    (first, second, *_) = answer.fixes
    assert (first.changes[0].kind, first.fixed) == (RemedyKind.NODE_SELECTOR, 3)
    assert (second.changes[0].kind, second.fixed) == (RemedyKind.UNCORDON, 1)


def test_who_is_evicted_and_gets_no_other_node() -> None:
    answer = fixes_of(
        node("n").capacity(cpu="4"),
        priority_class("high", 1000),
        replica_set("low").template(pod("pattern").labels(app="w").cpu("4")),
        pod("low-1").cpu("4").owner("ReplicaSet", "low").running("n"),
        pod("x").cpu("4"),
        name="x",
    )
    raised = by_kind(answer)[RemedyKind.PRIORITY]
    assert (raised.victims, raised.left_pending) == (("default/low-1",), ("default/low-1",))


def test_a_pod_that_is_moved_away_and_comes_back_is_no_fix() -> None:
    """Its controller creates it again, with the higher priority it has: it takes the room that was made."""
    answer = fixes_of(
        node("n").capacity(cpu="4"),
        pod("big-1").cpu("4").priority(9).owner("ReplicaSet", "big").running("n"),
        pod("x").cpu("4"),
        name="x",
    )
    assert RemedyKind.FREE not in by_kind(answer)


WORKLOADS: dict[str, Builder[Any]] = {
    "Deployment": deployment("w").replicas(2).template(pod("pattern").labels(app="w").cpu("9")),
    "StatefulSet": stateful_set("w").replicas(2).template(pod("pattern").labels(app="w").cpu("9")),
    "ReplicaSet": replica_set("w").replicas(2).template(pod("pattern").labels(app="w").cpu("9")),
    "Job": job("w").set(parallelism=2).template(pod("pattern").labels(app="w").cpu("9")),
}


@pytest.mark.parametrize("kind", WORKLOADS)
@pytest.mark.parametrize("exist", [False, True], ids=["planned", "pending"])
def test_the_template_is_what_changes(kind: str, exist: bool) -> None:
    names = ("w-0", "w-1") if kind == "StatefulSet" else ("w-a", "w-b")
    pods = [owned(pod(name).labels(app="w").cpu("9"), kind, "w") for name in names] if exist else []
    answer = fixes_of(
        node("n").capacity(cpu="16"), node("m").capacity(cpu="8"), WORKLOADS[kind], *pods, name=f"{kind}/w"
    )
    # On the node of 16 cores there is room for one pod of 9: the other needs a change.
    assert (answer.fits_on, answer.fitting, answer.pending) == ("", 1, 1)
    assert by_kind(answer)[RemedyKind.REQUEST].fixed == 1


def test_a_request_that_is_lowered_for_all() -> None:
    for kind, workload in WORKLOADS.items():
        answer = fixes_of(node("n").capacity(cpu="8"), node("m").capacity(cpu="8"), workload, name=f"{kind}/w")
        lowered = by_kind(answer)[RemedyKind.REQUEST]
        assert (kind, lowered.fixed, set(lowered.nodes)) == (kind, 2, {"n", "m"})


def test_nothing_of_the_cluster_is_changed() -> None:
    objects: list[Object] = [
        node("n").unschedulable().obj(),
        deployment("web").replicas(2).template(pod("pattern").labels(app="w").cpu("1")).obj(),
    ]
    cluster = Cluster(objects)
    assert cluster.fix("deployment/web") == cluster.fix("deployment/web")
    assert cluster.pending_pods() == ["default/web-new-1", "default/web-new-2"]
